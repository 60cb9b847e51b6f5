//! Cleaning of a log: blocks of one cylinder after the other are read and written elsewhere.
//!
//! # Model
//! `clean.rs` of the log and the policies in `mapping/cleaning` decide which blocks move where; this job decides when.
//! Each move reads or writes one block and is never interrupted. A move starts when the mechanism has been idle for
//! `idle_after`. Then one move follows the other until a command comes.
//!
//! When cleaning is pressed (fewer cylinders are empty than `pressed` says), the assembly that has written also does
//! some moves after each write. These do not delay the command itself, but the next one waits for the mechanism.
//! # Validity
//! The buffer has room for the blocks of one track in addition to its segments. Cleaning always reads from the medium,
//! also if the buffer holds the data.

use super::{Activity, BackgroundJob, JobContext};
use crate::mapping::{Mapping, Move, Mover};
use crate::phase::Work;
use crate::service::pass::{self, Pass};
use headstack_units::{Span, Time};

/// The cleaning of one assembly.
#[derive(Debug, Default)]
pub(crate) struct Cleaning {
    /// How long the mechanism must have been idle before a move; `None` if this assembly does
    /// not clean.
    pub idle_after: Option<Span>,
}

impl JobContext<'_> {
    /// Carries out the next move, which reads or writes a block, not before `at`. Returns its end; `None` if there is
    /// nothing to do.
    pub fn clean(&mut self, at: Time) -> Option<Time> {
        let at = at.max(self.mechanism.timeline.free);
        let Mapping::Log(log) = &mut *self.mapping else { return None };
        let next = log.next_move(self.mechanics, self.mechanism.arm(), at)?;
        let order = log.order_of(&next, at);
        let pass: Pass = match next {
            Move::Read(_) => self.pass(&order, Work::Cleaning),
            Move::Write { cylinder, ready, .. } => {
                let mut places = Mover { log, cylinder, ready };
                let order = &order;
                carry_out!(self, order, Work::Cleaning, &mut places)
            }
        };
        if let Mapping::Log(log) = &mut *self.mapping {
            match next {
                Move::Read(_) => log.read_ends(pass.end),
                Move::Write { .. } => log.pass_ends(pass.end),
            }
        }
        Some(pass.end)
    }

    /// Moves some blocks after a write, if cleaning is pressed.
    pub fn clean_under_pressure(&mut self) {
        let moves = match &*self.mapping {
            Mapping::Log(log) => log.pressure(),
            Mapping::Identity | Mapping::MediaCache(_) => 0,
        };
        for _ in 0..moves {
            if self.clean(self.mechanism.timeline.free).is_none() {
                return;
            }
        }
    }
}

impl BackgroundJob for Cleaning {
    #[inline]
    fn due(&self, context: &JobContext) -> Time {
        let Some(idle_after) = self.idle_after else { return Time::NEVER };
        if !context.mapping.wants_cleaning() {
            return Time::NEVER;
        }
        let idle = context.buffer.unwritten.command_end + idle_after;
        context.unless_wanted(idle.max(context.mechanism.timeline.free).max(context.times.happened))
    }

    fn begin(&mut self, context: &mut JobContext, at: Time) -> Activity {
        let end = context.clean(at);
        if end.is_none() {
            // That there is nothing to do is found now. Until now the drive was not at rest, whoever looked at it.
            context.mechanism.timeline.hold_until(at);
        }
        Activity::step(end)
    }
}
