//! What a meter is like, as its readings tell: delay, interval, step, and how much its readings vary.

use headstack_units::Span;

/// The longest interval between two readings that a meter may have.
const MOST_INTERVAL_NS: u64 = 120_000_000_000;

/// Steps that a meter may have, in watts.
const STEPS_W: [f64; 6] = [10.0, 5.0, 2.0, 1.0, 0.5, 0.2];

/// Readings that must be multiples of a step.
const MANY: u32 = 10;

/// Weight of a period in the mean of variances.
const RECENT: f64 = 0.1;

/// Standard deviation over median distance from the mean, of normal numbers.
const NORMAL: f64 = 1.4826;

/// A meter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Meter {
    /// The longest age of a reading, and the longest time between two, with a decay.
    pub delay_ns: u64,
    pub interval_ns: u64,
    /// The place in [`STEPS_W`] of its step, and the number of readings that agreed.
    step: usize,
    n_agreed: u32,
    /// Mean variance of single readings in a period, and of the medians of periods with one setting.
    within: f64,
    between: f64,
    /// Median of the last period with the setting of now.
    last_w: Option<f64>,
}

fn decayed(longest: u64, new: u64) -> u64 {
    new.max(longest - longest / 16)
}

impl Meter {
    /// Takes a reading of this age, so long after the one before.
    pub fn see(&mut self, power_w: f64, age: Span, interval: Option<Span>) {
        if let Some(interval) = interval {
            let interval = interval.non_negative().min(MOST_INTERVAL_NS);
            self.interval_ns = decayed(self.interval_ns, interval);
        }
        self.delay_ns = decayed(self.delay_ns, age.non_negative());
        self.see_step(power_w);
    }

    fn see_step(&mut self, power_w: f64) {
        let is_multiple = |step_w: f64| {
            let steps = power_w / step_w;
            (steps - steps.round()).abs() < 1e-6
        };
        let before = self.step;
        while STEPS_W.get(self.step).is_some_and(|w| !is_multiple(*w)) {
            self.step += 1;
        }
        self.n_agreed = if self.step == before { self.n_agreed.saturating_add(1) } else { 1 };
    }

    /// Its step in watts; 0 if there is none, or too few readings.
    pub fn step_w(&self) -> f64 {
        match STEPS_W.get(self.step) {
            Some(step_w) if self.n_agreed >= MANY => *step_w,
            _ => 0.0,
        }
    }

    /// Takes a whole period with one setting: its median, and the median distance of its readings from that.
    pub fn see_period(&mut self, median_w: f64, distance_w: Option<f64>) {
        let mean = |mean: &mut f64, new: f64| *mean += RECENT * (new - *mean);
        if let Some(distance_w) = distance_w {
            mean(&mut self.within, (NORMAL * distance_w).powi(2));
        }
        if let Some(last_w) = self.last_w.replace(median_w) {
            // The difference of two has twice the variance of one.
            mean(&mut self.between, (median_w - last_w).powi(2) / 2.0);
        }
    }

    /// The drives have another setting.
    pub fn changed(&mut self) {
        self.last_w = None;
    }

    /// Standard deviation of single readings under one setting, in watts.
    pub fn scatter_w(&self) -> f64 {
        (self.within + self.between).sqrt()
    }
}
