//! Checkpoints of a log: its map is written to the medium from time to time.
//!
//! # Model
//! `recovery.rs` of the log decides what is written; this job decides when. Each part, at most a track, is one pass. It
//! starts when the mechanism is idle. If a checkpoint is late, it no longer waits: the assembly that has written writes
//! one part after each write.

use super::{Activity, BackgroundJob, JobContext};
use crate::mapping::Mapping;
use crate::phase::Work;
use crate::service::pass::{self, LayoutPlaces};
use headstack_units::Time;

/// The checkpoints of one assembly.
#[derive(Debug, Default)]
pub(crate) struct Checkpoint {
    /// Whether this assembly writes them.
    pub on: bool,
}

impl JobContext<'_> {
    /// Writes a part of a checkpoint, not before `at`. Returns its end; `None` if there is nothing to write.
    fn write_checkpoint(&mut self, at: Time) -> Option<Time> {
        let at = at.max(self.mechanism.timeline.free);
        let Mapping::Log(log) = &mut *self.mapping else { return None };
        let order = log.next_part(self.mechanics, at)?;
        let pass = carry_out!(self, &order, Work::Checkpoint, &mut LayoutPlaces);
        if let Mapping::Log(log) = &mut *self.mapping {
            log.part_ends();
        }
        Some(pass.end)
    }

    /// Writes a part of a checkpoint after a write, if the checkpoint is late.
    pub fn write_late_checkpoint(&mut self) {
        if matches!(&*self.mapping, Mapping::Log(log) if log.checkpoint_is_late()) {
            self.write_checkpoint(self.mechanism.timeline.free);
        }
    }
}

impl BackgroundJob for Checkpoint {
    #[inline]
    fn due(&self, context: &JobContext) -> Time {
        if !self.on {
            return Time::NEVER;
        }
        let Some(after) = context.mapping.checkpoint_from() else { return Time::NEVER };
        context.unless_wanted(context.mechanism.timeline.free.max(context.times.happened).max(after))
    }

    fn begin(&mut self, context: &mut JobContext, at: Time) -> Activity {
        Activity::step(context.write_checkpoint(at))
    }
}
