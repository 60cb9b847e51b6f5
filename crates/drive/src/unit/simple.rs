//! The way of a command through a simple unit, which is nearly every unit.
//!
//! # Model
//! A unit is simple if one assembly works at a time, all parts reach all places and none fails, no command has a limit
//! or a priority, writes do not wait in the buffer, and no step of cleaning holds back a service. What a unit that is
//! not simple asks for each command is not asked here.

use super::{ServiceUnit, Step};
use crate::command::{Command, DriveRequest};
use headstack_units::Time;

impl ServiceUnit {
    /// Notes whether the unit is simple; to be called whenever that may change.
    pub(super) fn note_simple(&mut self) {
        self.simple = self.rules.plain
            && self.limited.is_none()
            && self.write_admission.is_none()
            && !self.server.cleans_bands();
    }

    /// [`ServiceUnit::enqueue`] of a simple unit.
    #[inline(always)]
    pub(super) fn enqueue_simple(&mut self, now: Time, request: DriveRequest) {
        if request.command == Command::Flush {
            return self.enqueue_now(now, now, request);
        }
        let sectors = self.sectors(&request);
        let arrival = self.arrival(now, now);
        self.last_was_write = request.command.writes();
        let (mechanics, mapping) = (&self.server.mechanics, &self.server.mapping);
        self.queue.push(request, arrival, sectors, |place| {
            // Every sector below the capacity has a place.
            mapping.locate_into(mechanics, sectors.0, place);
        });
    }

    /// [`ServiceUnit::step`] of a simple unit, without giving the completion to anyone.
    #[inline(always)]
    pub(super) fn step_simple(&mut self, until: Time) -> Step {
        if self.queue.is_empty() {
            return Step::Nothing;
        }
        let oldest = self.queue.oldest();
        let start = self.next_start(oldest);
        if start >= until.0 {
            return Step::Nothing;
        }
        self.serve_next(start, oldest);
        Step::Done
    }

    /// Serves the command whose turn it is at `start` in a unit with one assembly at work. Returns its number.
    #[inline(always)]
    pub(super) fn serve_next(&mut self, start: u64, oldest: usize) -> usize {
        let mut index = oldest;
        if !self.rules.in_order {
            let choice = self.choose(start, oldest, u64::MAX);
            // With one head set there is nothing to take over.
            if self.server.arms.head_sets.len() > 1 {
                self.server.take_over(choice.arm as usize, start);
            }
            index = choice.index;
        }
        self.serve(start, index);
        self.free = self.server.done.completion.0;
        index
    }
}
