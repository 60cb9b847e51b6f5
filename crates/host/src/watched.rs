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
#[doc(hidden)]
pub const MEAN_OVER_S: f64 = 30.0;

/// The drives with `control = false` and a model. The others belong to `base`.
pub struct Watched {
    #[doc(hidden)]
    pub modelled: Modelled,
    #[doc(hidden)]
    pub stats: Stat,
    #[doc(hidden)]
    pub mean_w: Option<f64>,
    /// What counts; it follows the mean once that is away by more than the tolerance.
    #[doc(hidden)]
    pub counted_w: f64,
    #[doc(hidden)]
    pub tolerance_w: f64,
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

    #[doc(hidden)]
    pub fn take(&mut self, watts: f64, passed: Span) {
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
