//! The readings of one period, and their mean or median.

use super::Reading;
use crate::Work;
use headstack_units::Frequency;

#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    n: u32,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.n = self.n.saturating_add(1);
    }
    fn get(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum / f64::from(self.n))
    }
}

/// Readings of a period of which a median is taken.
const MOST_READINGS: usize = 60;

/// The first readings of a period.
#[derive(Debug, Clone, Copy)]
struct First {
    values: [f64; MOST_READINGS],
    n: usize,
}

impl First {
    fn add(&mut self, value: f64) {
        if let Some(place) = self.values.get_mut(self.n) {
            *place = value;
            self.n += 1;
        }
    }

    fn median(mut self) -> Option<f64> {
        let values = &mut self.values[..self.n];
        values.sort_unstable_by(f64::total_cmp);
        let upper = *values.get(self.n / 2)?;
        let lower = *values.get(self.n.saturating_sub(1) / 2)?;
        Some((lower + upper) / 2.0)
    }

    /// The median distance from `middle`.
    fn distance(mut self, middle: f64) -> Option<f64> {
        for value in &mut self.values[..self.n] {
            *value = (*value - middle).abs();
        }
        self.median()
    }
}

/// What a period has so far.
#[derive(Debug, Clone)]
pub struct Period {
    power: Mean,
    response_time: Mean,
    rate: Mean,
    first: First,
    /// Whether the median of the first readings counts in place of the mean of all.
    pub is_robust: bool,
}

impl Period {
    /// A period without readings.
    pub fn new(is_robust: bool) -> Period {
        Period {
            power: Mean::default(),
            response_time: Mean::default(),
            rate: Mean::default(),
            first: First { values: [0.0; MOST_READINGS], n: 0 },
            is_robust,
        }
    }

    /// Begins another one.
    pub fn begin(&mut self) {
        *self = Period::new(self.is_robust);
    }

    /// Takes a reading.
    pub fn add(&mut self, power_w: f64, work: Option<Work>) {
        self.power.add(power_w);
        if self.is_robust {
            self.first.add(power_w);
        }
        let Some(work) = work else { return };
        self.response_time.add(work.response_time.non_negative() as f64 * 1e-9);
        if let Some(Frequency(rate)) = work.rate {
            self.rate.add(rate);
        }
    }

    /// Power, response time and rate; `None` without a reading.
    pub fn reading(&self) -> Option<Reading> {
        self.power.get().map(|mean_w| Reading {
            power_w: self.first.median().unwrap_or(mean_w),
            response_time_s: self.response_time.get(),
            rate: self.rate.get(),
        })
    }

    /// The median distance of its readings from their median; `None` with fewer than three.
    pub fn distance_w(&self) -> Option<f64> {
        let first = Some(self.first).filter(|f| f.n >= 3)?;
        first.distance(first.median()?)
    }

    /// What it has, if it has at least `n` readings and each is above this power.
    pub fn all_above(&self, n: u32, least_w: f64) -> Option<Reading> {
        let are_above = self.first.values[..self.first.n].iter().all(|w| *w > least_w);
        let is_enough = self.is_robust && self.power.n >= n;
        self.reading().filter(|_| is_enough && are_above)
    }
}
