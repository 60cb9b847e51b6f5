use headstack_block::layer::elevator::bfq::habits::*;
use headstack_units::Time;

/// The first request counts as a seek; with 19 more among the last 32 a process is seeky.
#[test]
fn twenty_seeks_of_the_last_32_requests_are_many() {
    let mut habits = Habits::new(Time::ZERO);
    let mut at = 0;
    for n in 1..40 {
        at += 10_000;
        habits.see_place(at, at + 8);
        assert_eq!(habits.is_seeky(), n >= 19, "{n} seeks");
    }
    assert!(habits.is_totally_seeky());
    for n in 1..=32 {
        habits.see_place(habits.position + 800, habits.position + 808);
        assert_eq!(habits.is_seeky(), n < 13, "{n} near");
    }
}

/// Think times of 5 ms are longer than half of 8 ms, but known only after three of them.
#[test]
fn a_think_time_is_known_after_three() {
    let ms = 1_000_000;
    for (think, long) in [(5 * ms, true), (3 * ms, false)] {
        let mut habits = Habits::new(Time::ZERO);
        for n in 1..=5u64 {
            let now = Time(habits.last_end.0 + think);
            habits.see_think_time(now, 8 * ms);
            habits.judge_think_time(8 * ms);
            habits.last_end = now;
            assert_eq!(!habits.has_short_think_time, long && n >= 3, "{think} ns, {n}");
        }
    }
}
