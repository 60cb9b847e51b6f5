//! Power of drives from what Linux counts, where there is no meter.

use super::{Reading, Source};
use crate::clock;
use crate::config::Model;
use crate::stat::{Counts, Stat};
use headstack_units::Time;

/// The sum of several drives.
pub struct Modelled {
    model: Box<dyn Fn(usize) -> Model + Send>,
    stats: Stat,
    last: Option<(Time, Vec<Option<Counts>>)>,
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
            last: None,
        }
    }
}

impl Model {
    /// Mean power of one drive between two readings of its counts.
    fn watts(&self, before: &Counts, after: &Counts, seconds: f64) -> f64 {
        let n = |before: u64, after: u64| after.wrapping_sub(before) as f64;
        let busy = (n(before.busy_ms, after.busy_ms) * 1e-3 / seconds).min(1.0);
        let energy_j = n(before.reads, after.reads) * self.read.0
            + n(before.writes, after.writes) * self.write.0;
        self.idle.0 + busy * self.busy.0 + energy_j / seconds
    }
}

impl Source for Modelled {
    fn read(&mut self) -> Reading {
        let (now, counts) = (clock::now(), self.stats.counts());
        let last = self.last.replace((now, counts.clone()));
        let Some((then, before)) = last else {
            return Err("the first reading is the next one".into());
        };
        let seconds = now.since(then).as_secs_f64();
        if seconds <= 0.0 {
            return Err("no time has passed".into());
        }
        let mut watts = 0.0;
        for (i, pair) in before.iter().zip(&counts).enumerate() {
            // A drive that is not there draws nothing.
            if let (Some(before), Some(after)) = pair {
                watts += (self.model)(i).watts(before, after, seconds);
            }
        }
        Ok(watts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headstack_units::{Joules, Watts};

    /// 5 W, 2 W more for half of the time, and 100 reads of 10 mJ and 10 writes of 20 mJ in 2 s.
    #[test]
    fn power_is_the_sum_of_idle_busy_and_requests() {
        let model = Model {
            idle: Watts(5.0),
            busy: Watts(2.0),
            read: Joules(0.01),
            write: Joules(0.02),
        };
        let before = Counts {
            reads: u64::MAX - 49,
            ..Counts::default()
        };
        let after = Counts {
            reads: 50,
            writes: 10,
            busy_ms: 1000,
            ..before
        };
        let watts = model.watts(&before, &after, 2.0);
        assert!((watts - (5.0 + 1.0 + 0.5 + 0.1)).abs() < 1e-9, "{watts}");
    }
}
