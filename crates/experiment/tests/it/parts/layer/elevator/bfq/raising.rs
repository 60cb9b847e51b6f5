use headstack_block::layer::elevator::bfq::habits::Habits;
use headstack_block::layer::elevator::bfq::raising::*;
use headstack_block::layer::elevator::bfq::rate::PeakRate;
use headstack_units::Time;

const MS: u64 = 1_000_000;

/// By hand: seven processes are no large burst, the eighth makes one of all, and the ninth belongs to it; 181 ms later a
/// new one begins.
#[test]
fn eight_new_processes_are_a_burst() {
    let mut bursts = Bursts::default();
    for queue in 0..7 {
        let now = Time(u64::from(queue) * 180 * MS);
        assert!(bursts.comes(now, queue).is_empty(), "{queue}");
    }
    let at = |n: u64| Time(6 * 180 * MS + n * MS);
    assert_eq!(bursts.comes(at(100), 7), (0..8).collect::<Vec<_>>());
    assert_eq!(bursts.comes(at(200), 8), [8]);
    assert!(bursts.comes(at(381), 9).is_empty());
}

fn arrive(raise: &mut Raise, ms: u64) -> bool {
    let arrival = Arrival {
        now: Time(ms * MS),
        is_sync: true,
        is_first: false,
        at_drive: 0,
        habits: &Habits::new(Time::ZERO),
        rate: &PeakRate::new(),
    };
    let was_raised = raise.is_raised();
    let interactive = raise.arrives(&arrival);
    raise.note_arrival(arrival.now, was_raised, interactive);
    interactive
}

/// A disk at two thirds of the usual rate is given three halves of 7 s.
#[test]
fn a_new_process_is_raised_until_its_time_is_over() {
    let (mut raise, rate) = (Raise::new(Time::ZERO), PeakRate::new());
    assert!(arrive(&mut raise, 0));
    assert_eq!(raise.factor(), 30);
    for (ms, factor) in [(10_400, 30), (10_600, 1)] {
        raise.update(Time(ms * MS), &rate);
        assert_eq!(raise.factor(), factor, "at {ms} ms");
    }
    // The same after 120,000 sectors.
    let mut raise = Raise::new(Time::ZERO);
    arrive(&mut raise, 0);
    raise.serve(120_001);
    raise.update(Time(MS), &rate);
    assert_eq!(raise.factor(), 1);
}

/// 700 sectors are what 7,000 per second give in 100 ms. A process that asks again sooner is not soft real time.
#[test]
fn a_process_that_asks_for_little_is_soft_real_time() {
    for (ms, factor) in [(100, 1), (101, 3000)] {
        let mut raise = Raise::new(Time::ZERO);
        arrive(&mut raise, 0);
        raise.end(Time::ZERO);
        raise.serve(700);
        raise.empty_since = Some(Time(10 * MS));
        raise.set_soft_from(Time(10 * MS), 8 * MS);
        assert!(!arrive(&mut raise, ms));
        assert_eq!(raise.factor(), factor, "at {ms} ms");
    }
}
