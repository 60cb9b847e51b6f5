//! The way of a command through a simple unit, which is nearly every unit.
//!
//! # Model
//! What other units ask for each command (`Way`) is not asked here. Where commands are served in sequence, nothing that
//! comes later has an effect on a command, except a change of the drive. So if a command can begin before the next
//! change, it is served when it arrives, and need not wait in the queue.

use super::{blocks_of, ServiceUnit, Step, Way};
use crate::command::{Command, Completion, DriveRequest};
use crate::layout::Place;
use crate::service::{self, Task};
use headstack_units::Time;

impl ServiceUnit {
    /// Whether commands may be served when they arrive.
    pub fn serves_in_sequence(&self) -> bool {
        self.rules.way == Way::InSequence
    }

    /// Serves a command that arrives at `now`, if the unit serves in sequence, no other command waits, and its service
    /// begins before `before`. Otherwise nothing happens, and the command is to be submitted as any other.
    #[inline(always)]
    pub fn serve_at_once(&mut self, now: Time, request: &DriveRequest, before: Time) -> Option<&Completion> {
        let waits = !self.serves_in_sequence() || !self.queue.is_empty();
        if waits || request.command == Command::Flush || self.is_outside(request) {
            return None;
        }
        let decoding_since = now.after(self.rules.per_request);
        let start = decoding_since.max(self.free).max(self.server.times.now);
        if start >= before {
            return None;
        }
        let served = match self.server.kind {
            service::BARE => self.serve_new::<{ service::BARE }>(now, start, request),
            service::CACHED => self.serve_new::<{ service::CACHED }>(now, start, request),
            _ => self.serve_new::<{ service::BUFFERED }>(now, start, request),
        };
        served.then_some(&self.server.done)
    }

    /// Serves a command that arrives at `now` from `start` on. The result is in the server's `done`. False, and nothing
    /// done, if it is not [usual](service::CommandServer::is_usual).
    #[inline(never)]
    fn serve_new<const K: u8>(&mut self, now: Time, start: Time, request: &DriveRequest) -> bool {
        let (sector, count) = self.sectors(request);
        let mut place = Place::default();
        let mechanics = &self.server.mechanics;
        // Every sector below the capacity has a place.
        self.server.mapping.locate_into(mechanics, sector, &mut place);
        if !self.server.is_usual(&place, count) || self.partial_sectors(request) > 0 {
            return false;
        }
        let task = Task {
            start,
            decoding_since: now.after(self.rules.per_request),
            after_write: self.last_was_write,
            sector,
            count,
            place: Some(&place),
            reversal_cylinder: None,
            blocks: blocks_of(request),
            partial: 0,
        };
        self.last_was_write = request.command.writes();
        self.server.execute::<K>(&task, request.command);
        self.sign(request.id, now, start);
        self.free = self.server.done.completion;
        true
    }

    /// Adds an accepted command that arrives at `now` and is admitted to the drive's queue at once.
    #[inline(always)]
    pub fn enqueue_at_once(&mut self, now: Time, request: DriveRequest) {
        if self.rules.way > Way::Simple || request.command == Command::Flush {
            return self.enqueue(now, now, request);
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
        if start >= until {
            return Step::Nothing;
        }
        self.serve_next(start, oldest);
        Step::Done
    }

    /// Serves the command whose turn it is at `start` in a unit with one assembly at work. Returns its number.
    #[inline(always)]
    pub(super) fn serve_next(&mut self, start: Time, oldest: usize) -> usize {
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
        self.free = self.server.done.completion;
        index
    }
}
