//! Duration limits and priorities of a drive, as its host reads and sets them.

use super::Drive;
use crate::command::{Hint, LimitIndex};
use crate::limits::parameters::{Heeded, LimitsSpec};
use crate::limits::CountsByLimit;
use headstack_schema::{Parameter, SpecError};
use headstack_units::Time;

impl Drive {
    /// The duration limits in force: those of its file, or what [`Setting::DurationLimits`](super::Setting) has set.
    pub fn duration_limits(&self) -> &LimitsSpec {
        match &self.limits {
            Some(limits) => limits,
            None => &self.design.common.spec.duration_limits,
        }
    }

    /// What was counted of each limit, the units together, in the order reads, writes; `None` if the drive heeds no hints.
    pub fn limit_counts(&self) -> Option<CountsByLimit> {
        let mut sum: Option<CountsByLimit> = None;
        for counts in self.units.iter().filter_map(|u| u.limit_counts()) {
            let sum = sum.get_or_insert_default();
            let pairs = sum.iter_mut().flatten().zip(counts.iter().flatten());
            pairs.for_each(|(sum, more)| sum.add(more));
        }
        sum
    }

    /// What a host asks the drive for that has a limit, 0 for none, and a priority for a command, as Linux does: the limit
    /// where limits are enabled, the priority where that is.
    pub fn hint(&self, limit: u8, high_priority: bool) -> Hint {
        match self.duration_limits().enabled {
            Heeded::Limits => LimitIndex::new(limit).map_or(Hint::None, Hint::Limit),
            Heeded::Priority if high_priority => Hint::HighPriority,
            _ => Hint::None,
        }
    }

    /// [`Setting::DurationLimits`](super::Setting).
    pub(super) fn set_limits(&mut self, now: Time, limits: LimitsSpec) -> Result<(), SpecError> {
        let checked = limits.check();
        checked.map_err(|e| e.within("setting.duration_limits"))?;
        for unit in &mut self.units {
            unit.set_limits(now, &limits);
        }
        self.limits = Some(Box::new(limits));
        Ok(())
    }
}
