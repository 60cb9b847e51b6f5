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
    #[doc(hidden)]
    pub mean_w: Option<f64>,
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
