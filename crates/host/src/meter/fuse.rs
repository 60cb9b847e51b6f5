//! A slow meter and a model of the drives together: a complementary filter.
//!
//! # Model
//! The reading is what the model says now, and a correction. Between two readings of the meter the correction stays, so that a
//! change of the load is seen at once. With each new reading of the meter, `dt` after the one before, the correction moves by
//! `1 - exp(-dt / over)` of the way to the difference between the meter and the mean of the model since then. So what the model
//! does not know (its level, longer or shorter seeks, the supply) is the meter's after some times `over`, and the steps and the
//! age of the meter's readings count for little.

use super::{Last, Reading, Source};
use headstack_units::{Span, Time};
use std::sync::{Arc, Mutex, PoisonError};

/// A meter that was silent for so many of its intervals corrects nothing more, and the model alone is no meter.
const SILENT: i64 = 5;

/// The filter.
#[derive(Debug)]
pub struct Filter {
    over_s: f64,
    /// Unknown before the first reading of the meter.
    correction_w: Option<f64>,
    /// Sum and number of what the model said since the last reading of the meter, and the time of that.
    sum_w: f64,
    n: u32,
    corrected: Option<Time>,
}

impl Filter {
    pub fn new(over: Span) -> Filter {
        Filter { over_s: over.as_secs_f64(), correction_w: None, sum_w: 0.0, n: 0, corrected: None }
    }

    /// What the model says, and the last reading of the meter with its time. `None` before there was one.
    pub fn see(&mut self, model_w: f64, meter: Option<(Time, f64)>) -> Option<f64> {
        self.sum_w += model_w;
        self.n += 1;
        if let Some((time, meter_w)) = meter.filter(|m| self.corrected.is_none_or(|t| m.0 > t)) {
            let error_w = meter_w - self.sum_w / f64::from(self.n);
            let passed_s = self.corrected.map(|t| time.since(t).as_secs_f64());
            self.correction_w = Some(match (self.correction_w, passed_s) {
                (Some(before_w), Some(s)) => before_w + (1.0 - (-s / self.over_s).exp()) * (error_w - before_w),
                _ => error_w,
            });
            self.corrected = Some(time);
            (self.sum_w, self.n) = (0.0, 0);
        }
        self.correction_w.map(|w| (model_w + w).max(0.0))
    }
}

/// A model that a meter corrects.
pub struct Fused {
    model: Box<dyn Source>,
    /// Of the meter, which has a thread of its own.
    meter: Arc<Mutex<Last>>,
    filter: Filter,
    /// A meter silent for longer is lost.
    silent_after: Span,
    now: fn() -> Time,
}

impl Fused {
    /// A model, and a meter that is read after each `interval`.
    pub fn new(
        model: Box<dyn Source>,
        meter: Arc<Mutex<Last>>,
        over: Span,
        interval: Span,
        now: fn() -> Time,
    ) -> Fused {
        Fused { model, meter, filter: Filter::new(over), silent_after: Span(interval.0.saturating_mul(SILENT)), now }
    }
}

impl Source for Fused {
    fn read(&mut self) -> Reading {
        let Last { good, failure } = self.meter.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let model_w = self.model.read()?;
        let fused_w = self.filter.see(model_w, good);
        match (fused_w, good) {
            (Some(watts), Some((time, _))) if (self.now)().since(time) <= self.silent_after => Ok(watts),
            (_, Some(_)) => Err(failure.unwrap_or_else(|| "the meter is silent".into())),
            _ => Err(failure.unwrap_or_else(|| "the meter has shown nothing yet".into())),
        }
    }
}
