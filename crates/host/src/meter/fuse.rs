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
struct Filter {
    over_s: f64,
    /// Unknown before the first reading of the meter.
    correction_w: Option<f64>,
    /// Sum and number of what the model said since the last reading of the meter, and the time of that.
    sum_w: f64,
    n: u32,
    corrected: Option<Time>,
}

impl Filter {
    fn new(over: Span) -> Filter {
        Filter { over_s: over.as_secs_f64(), correction_w: None, sum_w: 0.0, n: 0, corrected: None }
    }

    /// What the model says, and the last reading of the meter with its time. `None` before there was one.
    fn see(&mut self, model_w: f64, meter: Option<(Time, f64)>) -> Option<f64> {
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
    pub(super) fn new(
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// What one drive draws: 8 W, and 3 W more under load, which begins at 100 s and ends at 200 s, and so on.
    fn truth(s: u64) -> f64 {
        8.0 + 3.0 * (s / 100 % 2) as f64
    }

    /// A model that is 2 W too low and sees five sixths of the load; a meter each 20 s that shows the mean of the 20 s before,
    /// in steps of 1 W. Its own readings are up to 3 W wrong after a change of the load. Both together are wrong by at most the
    /// part of a change that the model misses (0.5 W) and half a step of the meter, once the correction is made; a change is seen
    /// in the same second. A model alone stays 2 W wrong.
    #[test]
    fn changes_are_seen_at_once_and_the_level_is_that_of_the_meter() {
        let mut filter = Filter::new(Span(60 * SECOND as i64));
        let (mut meter, mut most_w, mut meter_most_w) = (None, 0.0_f64, 0.0_f64);
        for s in 1..=2000 {
            if s % 20 == 0 {
                let mean = (s - 19..=s).map(truth).sum::<f64>() / 20.0;
                meter = Some((Time(s * SECOND), mean.round()));
            }
            let model_w = 6.0 + 2.5 * (s / 100 % 2) as f64;
            let fused = filter.see(model_w, meter);
            assert_eq!(fused.is_some(), s >= 20, "{s} s");
            if let (Some(fused), Some((_, meter_w)), true) = (fused, meter, s > 300) {
                most_w = most_w.max((fused - truth(s)).abs());
                meter_most_w = meter_most_w.max((meter_w - truth(s)).abs());
            }
        }
        assert!(most_w <= 1.0, "{most_w} W, the meter alone {meter_most_w} W");
        assert!(meter_most_w >= 2.9, "{meter_most_w} W");
    }

    /// The correction of a model that is suddenly 1 W off is e^(-t / over) of that after `t`.
    #[test]
    fn the_time_constant_is_what_it_says() {
        let mut filter = Filter::new(Span(50 * SECOND as i64));
        filter.see(5.0, Some((Time(0), 5.0)));
        for s in 1..=100 {
            let got = filter.see(5.0, Some((Time(s * SECOND), 6.0))).expect("a reading");
            let want = 6.0 - (-(s as f64) / 50.0).exp();
            assert!((got - want).abs() < 1e-9, "{s} s: {got} {want}");
        }
        // The same reading once more changes nothing.
        let before = filter.see(5.0, None).expect("a reading");
        assert_eq!(filter.see(5.0, Some((Time(100 * SECOND), 60.0))), Some(before));
    }

    struct Constant(f64);

    impl Source for Constant {
        fn read(&mut self) -> Reading {
            Ok(self.0)
        }
    }

    /// Without its meter the model is no meter.
    #[test]
    fn a_meter_that_was_silent_for_long_is_lost() {
        let at = |time: Time, failure: Option<&str>| {
            let meter = Arc::new(Mutex::new(Last {
                good: (time > Time::ZERO).then_some((time, 7.0)),
                failure: failure.map(str::to_string),
            }));
            let (over, interval) = (Span(60 * SECOND as i64), Span(20 * SECOND as i64));
            let now = || Time(1000 * SECOND);
            Fused::new(Box::new(Constant(5.0)), meter, over, interval, now).read()
        };
        assert_eq!(at(Time(900 * SECOND), None), Ok(7.0));
        assert_eq!(at(Time(899 * SECOND), None), Err("the meter is silent".into()));
        assert_eq!(at(Time(899 * SECOND), Some("gone")), Err("gone".into()));
        assert_eq!(at(Time::ZERO, None), Err("the meter has shown nothing yet".into()));
    }
}
