//! A power meter between the power supply and the mains.
//!
//! # Model
//! At the end of each interval the meter takes a reading: the mean power of the drives in the interval, divided by the
//! efficiency of the power supply, plus noise, rounded to the resolution. A reading can be fetched after `delay`. The
//! meter gives the latest reading that can be fetched, with the time at which it was taken.
//! # Source
//! The WattsUp meters of FAST 2016, section 3.1: one value a second, in tenths of a watt.
//! # Validity
//! The efficiency does not depend on the load.

use super::Capping;
use headstack_control::{Sample, Sensor, Work};
use headstack_engine::random::stream;
use headstack_units::{Span, Time, Watts};
use rand_distr::{Distribution, StandardNormal};
use std::collections::VecDeque;

/// The meter of one system.
pub(super) struct Meter {
    efficiency: f64,
    noise_w: f64,
    resolution_w: f64,
    delay: Span,
    random: rand_xoshiro::Xoshiro256PlusPlus,
    /// The latest reading that can be fetched, and behind it those that cannot be fetched yet.
    readings: VecDeque<Sample>,
}

impl Meter {
    pub fn new(table: &Capping, seed: u64) -> Meter {
        Meter {
            efficiency: table.efficiency,
            noise_w: table.noise.0,
            resolution_w: table.resolution.0,
            delay: table.delay,
            random: stream(seed, "capping.meter"),
            readings: VecDeque::new(),
        }
    }

    /// The power at the meter for this power of the drives.
    pub fn before_supply(&self, drives_w: f64) -> f64 {
        drives_w / self.efficiency
    }

    /// Takes a reading of the drives' mean power up to `now`.
    pub fn take(&mut self, now: Time, drives_w: f64, work: Option<Work>) {
        let mut shown = self.before_supply(drives_w);
        if self.noise_w > 0.0 {
            let normal: f64 = StandardNormal.sample(&mut self.random);
            shown += self.noise_w * normal;
        }
        if self.resolution_w > 0.0 {
            shown = (shown / self.resolution_w).round() * self.resolution_w;
        }
        let sample = Sample::new(now, Watts(shown));
        self.readings.push_back(Sample { work, ..sample });
    }
}

impl Sensor for Meter {
    fn read(&mut self, now: Time) -> Sample {
        let can_be_fetched = |s: &Sample| s.time + self.delay <= now;
        while self.readings.get(1).is_some_and(can_be_fetched) {
            self.readings.pop_front();
        }
        match self.readings.front() {
            Some(latest) if can_be_fetched(latest) => *latest,
            _ => Sample::missing(now),
        }
    }
}
