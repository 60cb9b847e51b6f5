//! Writes on their way into a buffer in which they wait for the mechanism.
//!
//! # Model
//! A write goes over the link when it has reached the drive, whatever the mechanism does, in order of
//! arrival and one at a time; it completes when all of its data are in the buffer. Long ones come in
//! pieces. A piece that finds no room waits, and those behind it: then the mechanism has to make room.
//! While commands wait for the mechanism too, a pass that makes room and a command take turns. So do a
//! pass and a command while data are older than `destage_age`.
//!
//! A flush waits until the writes that came before it are in the buffer.
//! # Validity
//! The transfers of reads and of writes that go to the medium are not in the way of these writes on the
//! link.

use super::{blocks_of, Step, Unit};
use crate::background::NEVER;
use crate::buffer::Blocks;
use crate::command::{Command, Completion, Components, DriveRequest};
use crate::queue::Arrival;
use headstack_units::Time;
use std::collections::VecDeque;

/// A write that is not wholly in the buffer yet.
#[derive(Debug)]
struct Write {
    request: DriveRequest,
    arrival: Arrival,
    /// What is not there yet.
    rest: Blocks,
    /// Time on the link, and processing that delayed it.
    bus: u64,
    overhead: u64,
}

/// Writes on their way into the buffer, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Entering {
    writes: VecDeque<Write>,
    /// When the link has brought the last piece.
    link_free: u64,
    /// The first write looks for room no earlier.
    looks_at: u64,
    /// Some have waited for room since there last were none.
    crowded: bool,
    /// A pass had its turn last, while both a pass and a command were wanted.
    command_next: bool,
}

impl Entering {
    pub fn len(&self) -> usize {
        self.writes.len()
    }

    pub fn push(&mut self, request: DriveRequest, arrival: Arrival) {
        self.writes.push_back(Write {
            request,
            arrival,
            rest: blocks_of(&request),
            bus: 0,
            overhead: 0,
        });
    }

    /// None comes in before `ready`.
    pub fn not_before(&mut self, ready: u64) {
        self.looks_at = self.looks_at.max(ready);
    }

    /// Takes the oldest write of a name out, unless some of its data are in the buffer.
    pub fn take_waiting(&mut self, id: u64) -> Option<(DriveRequest, Time)> {
        let waits = |w: &Write| w.request.id == id && w.rest == blocks_of(&w.request);
        let index = self.writes.iter().position(waits)?;
        let write = self.writes.remove(index)?;
        Some((write.request, Time(write.arrival.at)))
    }

    /// Whether they need more than so many blocks.
    fn exceed(&self, room: u64) -> bool {
        let mut left = room;
        self.writes.iter().any(|w| {
            let more = w.rest.count() > left;
            left = left.saturating_sub(w.rest.count());
            more
        })
    }

    /// When the next piece may come in.
    pub fn next(&self) -> u64 {
        let first = self.writes.front();
        first.map_or(NEVER, |w| {
            w.arrival
                .decoding_since
                .max(self.link_free)
                .max(self.looks_at)
        })
    }
}

impl Unit {
    /// One step of a unit whose writes wait in the buffer.
    #[inline(never)]
    pub(super) fn step_with_buffer(&mut self, until: Time, done: &mut Completion) -> Step {
        let command = self.next_command();
        let entry = self.entering.as_ref().map_or(NEVER, |e| e.next());
        if command.min(entry) >= until.0 {
            return Step::Nothing;
        }
        if entry < command || (entry == command && !self.flush_is_next()) {
            return self.enter(entry, done);
        }
        // Data may have set out for the medium since anybody asked; then the command waits for them.
        self.bring_to(command);
        self.free = self.free.max(command);
        if self.next_command() > command {
            return Step::Again;
        }
        let first = &self.queue.items()[self.queue.oldest()];
        if first.request.command == Command::Flush && self.enters_before(first.arrival.at) {
            // What came before the flush has to be in the buffer first.
            self.free = self.free.max(entry);
            return Step::Again;
        }
        if let (Command::Flush, Some(there)) = (first.request.command, self.core.on_link(command)) {
            // What is on the link was accepted before.
            self.free = there;
            return Step::Again;
        }
        if self.core.overdue(command) && self.pass_has_its_turn() {
            if let Some(end) = self.core.force_destage(command) {
                self.wait_for_pass(end);
                return Step::Again;
            }
        }
        self.take_command(Time(command + 1), done)
    }

    /// Whether the next command is a flush for which no write has to enter first.
    fn flush_is_next(&self) -> bool {
        let first = &self.queue.items()[self.queue.oldest()];
        first.request.command == Command::Flush && !self.enters_before(first.arrival.at)
    }

    /// Whether a write that arrived by `at` is not in the buffer yet.
    fn enters_before(&self, at: u64) -> bool {
        let first = self.entering.as_ref().and_then(|e| e.writes.front());
        first.is_some_and(|w| w.arrival.at <= at)
    }

    /// Whether a pass goes before the command that waits; if not, it will next time.
    fn pass_has_its_turn(&mut self) -> bool {
        let Some(entering) = &mut self.entering else {
            return false;
        };
        !std::mem::take(&mut entering.command_next)
    }

    /// The mechanism is taken by a pass until `end`.
    fn wait_for_pass(&mut self, end: u64) {
        if self.limit == 1 {
            self.free = self.free.max(end);
        }
        if let Some(entering) = &mut self.entering {
            entering.command_next = true;
        }
    }

    /// Serves the next command.
    fn take_command(&mut self, until: Time, done: &mut Completion) -> Step {
        let step = self.step_command(until, &mut |c| *done = *c);
        self.note_waiting();
        match step {
            // A pass that began meanwhile goes first; other units may have something to do before.
            Step::Nothing => Step::Again,
            step => step,
        }
    }

    /// The core knows since when the mechanism is wanted.
    pub(super) fn note_waiting(&mut self) {
        self.core.wanted_since = match self.queue.is_empty() {
            true => NEVER,
            false => {
                self.queue.items()[self.queue.oldest()]
                    .arrival
                    .decoding_since
            }
        };
    }

    /// At `now` the first piece of the first write comes in, if it finds room.
    fn enter(&mut self, now: u64, done: &mut Completion) -> Step {
        self.bring_to(now);
        let Some(write) = self.entering.as_ref().and_then(|e| e.writes.front()) else {
            return Step::Nothing;
        };
        if self.faults.degraded && !self.core.reached(write.rest) {
            let (request, arrival) = (write.request, write.arrival.at);
            *done = Completion::refused(&request, Time(now));
            self.sign(done, &request, arrival, now);
            if let Some(entering) = &mut self.entering {
                entering.writes.pop_front();
            }
            return Step::Done;
        }
        let piece = self.core.buffer.unwritten.piece_of(write.rest);
        if !self.core.has_room(now, piece) {
            return self.make_room(now, done);
        }
        let Arrival {
            decoding_since,
            after_write,
            ..
        } = write.arrival;
        self.keep_making_room(now);
        let (bus, tail) = self.core.admit_to_buffer(now, decoding_since, after_write);
        let there = self.core.take_in(now, bus, piece);
        let Some(entering) = &mut self.entering else {
            return Step::Nothing;
        };
        entering.link_free = there;
        let Some(write) = entering.writes.front_mut() else {
            return Step::Nothing;
        };
        write.bus += there - bus;
        write.overhead += bus - now;
        write.rest.start = piece.past;
        if write.rest.start < write.rest.past {
            return Step::Again;
        }
        let completion = there + tail;
        let (bus, overhead) = (write.bus, write.overhead + tail);
        *done = Completion {
            completion: Time(completion),
            components: Components {
                queue: completion - write.arrival.at - bus - overhead,
                overhead,
                bus,
                ..Components::default()
            },
            cache_hit: true,
            ..Completion::default()
        };
        let (request, arrival) = (write.request, write.arrival.at);
        entering.writes.pop_front();
        entering.crowded &= !entering.writes.is_empty();
        self.sign(done, &request, arrival, arrival);
        Step::Done
    }

    /// Where a pass has made some room but not enough, the next one follows it at once.
    fn keep_making_room(&mut self, now: u64) {
        let room = self.core.buffer.unwritten.room();
        let crowded = self
            .entering
            .as_ref()
            .is_some_and(|e| e.crowded && e.exceed(room));
        if !crowded || self.core.passes_end().is_some() || self.free > now {
            return;
        }
        if self.next_command() > now || self.pass_has_its_turn() {
            if let Some(end) = self.core.force_destage(now) {
                self.wait_for_pass(end);
            }
        }
    }

    /// The first write finds no room at `now`: it waits for the pass under way, or for the mechanism, or a
    /// pass begins; unless it is the turn of a command.
    fn make_room(&mut self, now: u64, done: &mut Completion) -> Step {
        let coming = self.core.buffer.unwritten.incoming_until();
        let pass = self.core.passes_end();
        let busy = Some(self.free).filter(|t| *t > now && self.limit == 1);
        let mut later = pass.or(busy);
        if later.is_none() {
            if self.next_command() <= now && !self.pass_has_its_turn() {
                // A pass that ends now may have been what the command waited for.
                self.free = self.free.max(now);
                return self.take_command(Time(now + 1), done);
            }
            later = self.core.force_destage(now);
            match later {
                Some(end) => self.wait_for_pass(end),
                // All that is held is still on the link, or nothing reaches it any more.
                None => {
                    let core = &mut self.core;
                    core.buffer.drop_unreachable(&core.mechanics, &core.paths);
                    later = coming.filter(|t| *t > now).or(core.next_at_rest(now));
                }
            }
        }
        if let Some(entering) = &mut self.entering {
            entering.crowded = true;
            entering.looks_at = later.unwrap_or(now + 1);
        }
        Step::Again
    }
}
