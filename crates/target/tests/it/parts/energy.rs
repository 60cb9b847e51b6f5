use headstack_target::energy::*;
use headstack_units::{Span, Time};

#[test]
fn mean_power_over_an_interval() {
    let mut e = Energy::default();
    assert_eq!(e.watts(&[0], SAMPLE), 0.0);
    // 5 W for a second, then 9 W; a second drive has 1 W.
    let s = |tenths: u64| Time(tenths * 100_000_000);
    for tenths in 0..=20u64 {
        assert!(e.is_due(s(tenths)));
        let first = 0.5 * tenths.min(10) as f64 + 0.9 * tenths.saturating_sub(10) as f64;
        e.add(s(tenths), vec![first, 0.1 * tenths as f64]);
    }
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    close(e.watts(&[0], SAMPLE), 9.0);
    close(e.watts(&[0], Span(1_000_000_000)), 9.0);
    close(e.watts(&[0], Span(2_000_000_000)), 7.0);
    close(e.watts(&[0, 1], Span(2_000_000_000)), 8.0);
    // Longer than what is known.
    close(e.watts(&[1], Span(9_000_000_000)), 1.0);
    close(e.joules(&[0, 1]), 16.0);
    assert!(!e.is_due(Time(s(20).0 + 1)));
}
