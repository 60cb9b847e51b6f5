use headstack_host::meter::fuse::*;
use headstack_host::meter::{Last, Reading, Source};
use headstack_units::{Span, Time};
use std::sync::{Arc, Mutex};

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
