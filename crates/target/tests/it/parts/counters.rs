use headstack_target::counters::*;
use std::time::Duration;

#[test]
fn long_times_are_counted_as_they_are() {
    let mut counters = Counters::new(1);
    for _ in 0..98 {
        counters.answered(Duration::from_micros(20));
    }
    assert_eq!(counters.warning(), None);
    counters.answered(Duration::from_millis(40));
    counters.answered(Duration::from_millis(50));
    let late = &counters.lateness_ns;
    // Three digits.
    assert!(late.max().abs_diff(50_000_000) <= 50_000, "{}", late.max());
    let half = late.value_at_quantile(0.5);
    assert!(half.abs_diff(20_000) <= 20, "{half}");
    assert!(counters.warning().is_some_and(|w| w.contains("2.0 %")));
}
