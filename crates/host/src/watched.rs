//! Drives behind a group's meters that are measured and never changed.

use crate::config;
use crate::knobs::Knobs;
use crate::meter::model::Modelled;
use crate::meter::Source;
use crate::stat::Stat;
use headstack_units::{Span, Watts};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Time constant of the mean of their power.
const MEAN_OVER_S: f64 = 30.0;

/// The drives with `control = false` and a model. The others belong to `base`.
pub struct Watched {
    modelled: Modelled,
    stats: Stat,
    mean_w: Option<f64>,
    /// What counts; it follows the mean once that is away by more than the tolerance.
    counted_w: f64,
    tolerance_w: f64,
}

impl Watched {
    /// Those of a group; `open` finds the files of a drive. None if there are none.
    ///
    /// # Errors
    /// The system has no more threads.
    pub fn start(
        group: &config::Group,
        open: impl Fn(&config::Drive) -> Option<Arc<dyn Knobs>>,
        every: Duration,
    ) -> io::Result<Option<Watched>> {
        let drives = group.drive.iter().filter(|d| !d.control);
        let found = drives.filter_map(|d| Some((open(d)?, d.model?)));
        let (knobs, models): (Vec<Arc<dyn Knobs>>, Vec<config::Model>) = found.unzip();
        if knobs.is_empty() {
            return Ok(None);
        }
        let stats = Stat::start(knobs, every)?;
        Ok(Some(Watched {
            modelled: Modelled::of_each(stats.clone(), move |i| models[i]),
            stats,
            mean_w: None,
            counted_w: 0.0,
            tolerance_w: group.tolerance.0,
        }))
    }

    /// What they draw, `passed` after the last call: constant until their mean has changed by more than the group's tolerance,
    /// because each change is another cap for the other drives.
    pub fn watts(&mut self, passed: Span) -> Watts {
        if let Ok(watts) = self.modelled.read() {
            self.take(watts, passed);
        }
        Watts(self.counted_w)
    }

    fn take(&mut self, watts: f64, passed: Span) {
        let weight = 1.0 - (-passed.as_secs_f64().max(0.0) / MEAN_OVER_S).exp();
        let before_w = self.mean_w.unwrap_or(watts);
        let mean_w = before_w + weight * (watts - before_w);
        if self.mean_w.is_none() || (mean_w - self.counted_w).abs() > self.tolerance_w {
            self.counted_w = mean_w;
        }
        self.mean_w = Some(mean_w);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stats.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From 5 W to 8 W: 1 - 1/e of the way after 30 s. What counts is never further from the mean than the tolerance, and
    /// changes seldom: 3 W in steps of at least 0.5 W are at most 6.
    #[test]
    fn what_counts_follows_the_mean_in_few_steps() {
        let mut watched = Watched {
            modelled: Modelled::of_each(Stat::default(), |_| unreachable!("there is no drive")),
            stats: Stat::default(),
            mean_w: None,
            counted_w: 0.0,
            tolerance_w: 0.5,
        };
        let second = Span(1_000_000_000);
        watched.take(5.0, second);
        assert_eq!(watched.counted_w, 5.0);
        let mut changes = 0;
        for s in 1..=300 {
            let before_w = watched.counted_w;
            watched.take(8.0, second);
            let mean_w = watched.mean_w.expect("a mean");
            let want_w = 8.0 - 3.0 * (-f64::from(s) / MEAN_OVER_S).exp();
            assert!((mean_w - want_w).abs() < 1e-9, "{s} s: {mean_w} {want_w}");
            assert!((mean_w - watched.counted_w).abs() <= 0.5, "{s} s");
            changes += u32::from(watched.counted_w != before_w);
        }
        assert!((2..=6).contains(&changes), "{changes} changes");
    }
}
