//! Two windows, as RAPL and chassis have them: for a short time the power may be above the cap, as long as its mean over a long
//! one is not.
//!
//! # Model
//! `m` is the mean of the power with exponential weights of time constant `over`. The limit of the moment is `cap + (cap - m)`, at
//! most the burst's cap and as far below the cap as that is above it. So a group that drew less may draw more for a while, one
//! that drew more draws less, and power at the limit brings `m` to the cap.

use crate::config::Burst;
use headstack_units::{Span, Watts};

/// The windows of a group.
#[derive(Debug, Clone)]
pub struct Windows {
    burst: Burst,
    tolerance: Watts,
    mean_w: Option<f64>,
    /// The mean that counts: it follows the other once that is away by more than the tolerance, because policies begin anew with
    /// each cap.
    counted_w: Option<f64>,
}

impl Windows {
    /// Before any reading.
    pub fn new(burst: Burst, tolerance: Watts) -> Windows {
        Windows { burst, tolerance, mean_w: None, counted_w: None }
    }

    /// The power at the meters, `passed` after the last call.
    pub fn see(&mut self, watts: Watts, passed: Span) {
        let weight = 1.0 - (-passed.as_secs_f64().max(0.0) / self.burst.over.as_secs_f64()).exp();
        let before_w = self.mean_w.unwrap_or(watts.0);
        let mean_w = before_w + weight * (watts.0 - before_w);
        let near = |counted: &f64| (counted - mean_w).abs() <= self.tolerance.0;
        self.counted_w = Some(self.counted_w.filter(near).unwrap_or(mean_w));
        self.mean_w = Some(mean_w);
    }

    /// What holds now under this cap, which it is itself before any reading.
    pub fn limit(&self, cap: Watts) -> Watts {
        let most_w = (self.burst.cap.0 - cap.0).max(0.0);
        let saved_w = self.counted_w.map_or(0.0, |mean_w| cap.0 - mean_w);
        Watts(cap.0 + saved_w.clamp(-most_w, most_w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
