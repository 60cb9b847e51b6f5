//! Energy of the drives over time, sampled: mean power over an interval, as a meter shows it.

use headstack_units::{Span, Time};
use std::collections::VecDeque;

/// Simulated time between two samples, at least.
pub const SAMPLE: Span = Span(100_000_000);
/// Samples that are kept: an hour's tenth.
const MOST: usize = 3600;

/// Samples of the energy of each drive.
#[derive(Debug, Default)]
pub struct Energy {
    samples: VecDeque<(Time, Vec<f64>)>,
}

impl Energy {
    /// Whether the next sample is due.
    pub fn is_due(&self, now: Time) -> bool {
        let last = self.samples.back();
        last.is_none_or(|(at, _)| now.since(*at) >= SAMPLE)
    }

    /// Adds a sample.
    pub fn add(&mut self, now: Time, joules: Vec<f64>) {
        // A sample of the same time is replaced; one before the next is due takes the place of the last one.
        let n = self.samples.len();
        if n >= 2 && now.since(self.samples[n - 2].0) < SAMPLE {
            self.samples.pop_back();
        }
        if self.samples.len() == MOST {
            self.samples.pop_front();
        }
        self.samples.push_back((now, joules));
    }

    /// Mean power of these drives over at least `interval` before the latest sample, in watts: from the newest sample
    /// that is so old. 0 if there are not two.
    pub fn watts(&self, drives: &[u32], interval: Span) -> f64 {
        let Some((end, last)) = self.samples.back() else { return 0.0 };
        let older = |(at, _): &&(Time, Vec<f64>)| at < end && end.since(*at) >= interval;
        let from = (self.samples.iter().rev().find(older)).or_else(|| self.samples.front());
        let Some((start, first)) = from.filter(|f| f.0 < *end) else { return 0.0 };
        let of = |joules: &[f64]| -> f64 {
            let known = |d: &u32| joules.get(*d as usize).copied().unwrap_or(0.0);
            drives.iter().map(known).sum()
        };
        (of(last) - of(first)) / (end.since(*start).0 as f64 * 1e-9)
    }

    /// Energy of these drives at the latest sample, in joules.
    pub fn joules(&self, drives: &[u32]) -> f64 {
        let last = self.samples.back();
        last.map_or(0.0, |(_, joules)| {
            let known = |d: &u32| joules.get(*d as usize).copied().unwrap_or(0.0);
            drives.iter().map(known).sum()
        })
    }
}
