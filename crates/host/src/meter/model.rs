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
    fn see(&mut self, now: Time, seen: Vec<Option<Seen>>) -> Reading {
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
    fn watts(&self, before: &Counts, after: &Counts, seconds: f64) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use headstack_units::{Joules, Watts};

    /// 5 W, 2 W more for half of the time, and 100 reads of 10 mJ and 10 writes of 20 mJ in 2 s.
    #[test]
    fn power_is_the_sum_of_idle_busy_and_requests() {
        let model = Model { idle: Watts(5.0), busy: Watts(2.0), read: Joules(0.01), write: Joules(0.02) };
        let before = Counts { reads: u64::MAX - 49, ..Counts::default() };
        let after = Counts { reads: 50, writes: 10, busy_ms: 1000, ..before };
        let watts = model.watts(&before, &after, 2.0);
        assert!((watts - (5.0 + 1.0 + 0.5 + 0.1)).abs() < 1e-9, "{watts}");
    }
    /// 4 W without work and 10 mJ a read. The first readings are unknown, not 0 W; afterwards a reading is that of the time between
    /// two readings of the counts, whenever somebody asks; old counts are no reading.
    #[test]
    fn a_reading_is_of_the_time_between_two_readings_of_the_counts() {
        let model = Model { idle: Watts(4.0), busy: Watts(0.0), read: Joules(0.01), write: Joules(0.0) };
        let at = |s: f64| Time((s * 1e9) as u64);
        let seen = |s: f64, reads: u64| {
            let counts = Counts { reads, ..Counts::default() };
            vec![Some(Seen { time: at(s), counts: Some(counts) })]
        };
        let mut modelled = Modelled::new(model, Stat::default());
        assert!(modelled.see(at(0.5), vec![None]).is_err());
        assert!(modelled.see(at(1.1), seen(1.0, 0)).is_err());
        assert!(modelled.see(at(1.2), seen(1.0, 0)).is_err());
        assert_eq!(modelled.see(at(2.9), seen(2.0, 100)), Ok(5.0));
        assert_eq!(modelled.see(at(3.0), seen(2.0, 100)), Ok(5.0));
        assert_eq!(modelled.see(at(4.0), seen(4.0, 300)), Ok(5.0));
        assert_eq!(modelled.see(at(5.0), seen(5.0, 300)), Ok(4.0));
        let old = modelled.see(at(10.5), seen(5.0, 300));
        assert_eq!(old, Err("counts are 6 s old".into()));
        let gone = vec![Some(Seen { time: at(11.0), counts: None })];
        assert_eq!(modelled.see(at(11.0), gone), Ok(0.0));
        assert!(modelled.see(at(12.0), seen(12.0, 400)).is_err(), "it is new");
        assert_eq!(modelled.see(at(13.0), seen(13.0, 400)), Ok(4.0));
    }
}
