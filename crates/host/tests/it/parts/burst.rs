use headstack_host::burst::*;
use headstack_host::config::Burst;
use headstack_units::{Span, Watts};

/// A load of 100 W under a cap of 150 W, then one that takes what it gets, at most 170 W for short. With `m` from 100 W on:
/// 170 W until `m = 130`, which is after `T ln((170 - 100) / (170 - 130))`, then `m = 150 - 20 exp(-2 t / T)`, and the power is
/// `300 - m`. The mean never exceeds the cap by more than the tolerance.
#[test]
fn a_burst_is_paid_for() {
    let burst = Burst { cap: Watts(170.0), over: Span(60_000_000_000) };
    let (cap, step) = (Watts(150.0), Span(100_000_000));
    let mut windows = Windows::new(burst, Watts(0.1));
    assert_eq!(windows.limit(cap), cap);
    for _ in 0..6000 {
        windows.see(Watts(100.0), step);
    }
    let knee_s = 60.0 * (70.0_f64 / 40.0).ln();
    for i in 0..6000 {
        let now_s = f64::from(i) * 0.1;
        let limit = windows.limit(cap);
        let want_w = match now_s - knee_s {
            t if t <= 0.0 => 170.0,
            t => 150.0 + 20.0 * (-2.0 * t / 60.0).exp(),
        };
        assert!((limit.0 - want_w).abs() < 0.3, "{now_s} s: {limit} {want_w}");
        windows.see(limit, step);
        assert!(windows.mean_w.is_some_and(|m| m <= 150.1), "{now_s} s");
    }
}
