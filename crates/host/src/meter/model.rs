//! Power of drives from what Linux counts, where there is no meter.

use super::{Reading, Source};
use crate::clock;
use crate::config::Model;
use crate::stat::{Counts, Pairs, Seen, Stat};
use headstack_units::Time;

/// The sum of several drives.
pub struct Modelled {
    model: Box<dyn Fn(usize) -> Model + Send>,
    stats: Stat,
    pairs: Pairs,
    /// The reading that the last counts gave.
    reading: Reading,
}

impl Modelled {
    /// All drives have this model; `stats` has what Linux counts.
    pub fn new(model: Model, stats: Stat) -> Modelled {
        Modelled::of_each(stats, move |_| model)
    }

    /// Each drive has a model of its own.
    pub fn of_each(stats: Stat, model: impl Fn(usize) -> Model + Send + 'static) -> Modelled {
        Modelled {
            model: Box::new(model),
            stats,
            pairs: Pairs::default(),
            reading: Err("counts are not read yet".into()),
        }
    }

    /// What the drives drew between the last two readings of their counts. While one of them cannot be compared
    /// with an earlier one the sum is not known: a drive would be missing in it.
    fn compare(&self) -> Reading {
        let mut watts = 0.0;
        for (i, (before, seen)) in self.pairs.each().enumerate() {
            let seen = seen.ok_or("counts are not read yet")?;
            if seen.counts.is_none() {
                // It is not there and draws nothing.
                continue;
            }
            let compared = before.and_then(|before| seen.since(&before));
            let (old, new, span) = compared.ok_or("no earlier counts to compare with")?;
            watts += (self.model)(i).watts(&old, &new, span.as_secs_f64());
        }
        Ok(watts)
    }

    /// The reading at this time, with these last counts. Another thread reads them, so there need not be newer ones each time;
    /// until then the reading stays the same, as long as they are not old.
    #[doc(hidden)]
    pub fn see(&mut self, now: Time, seen: Vec<Option<Seen>>) -> Reading {
        if self.pairs.take(seen) {
            self.reading = self.compare();
        }
        let age = self.pairs.oldest().map(|t| now.since(t));
        match age.filter(|&age| age > self.stats.old_after()) {
            Some(age) => Err(format!("counts are {:.0} s old", age.as_secs_f64())),
            None => self.reading.clone(),
        }
    }
}

impl Model {
    /// Mean power of one drive between two readings of its counts.
    #[doc(hidden)]
    pub fn watts(&self, before: &Counts, after: &Counts, seconds: f64) -> f64 {
        let n = |before: u64, after: u64| after.wrapping_sub(before) as f64;
        let busy = (n(before.busy_ms, after.busy_ms) * 1e-3 / seconds).min(1.0);
        let energy_j = n(before.reads, after.reads) * self.read.0 + n(before.writes, after.writes) * self.write.0;
        self.idle.0 + busy * self.busy.0 + energy_j / seconds
    }
}

impl Source for Modelled {
    fn read(&mut self) -> Reading {
        // In this order: no reading is of a time to come.
        let seen = self.stats.last();
        self.see(clock::now(), seen)
    }
}
