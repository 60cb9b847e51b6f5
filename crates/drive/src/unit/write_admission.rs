//! Writes on their way into a buffer in which they wait for the mechanism.
//!
//! # Model
//! The data of a write go over the link when the write has reached the drive, whatever the mechanism does.
//! Writes use the link one at a time, in order of arrival. A write completes when all its data are in the
//! buffer. A long write is divided into pieces. If there is no room for a piece, it and all writes behind it
//! wait, and the mechanism has to make room. If commands also wait for the mechanism, passes that make room
//! and commands take turns. Passes and commands also take turns while data are older than `destage_age`.
//!
//! A flush waits until the writes that came before it are in the buffer.
//! # Validity
//! Transfers of reads, and of writes that go to the medium directly, do not delay these writes on the link.

use super::{blocks_of, ServiceUnit, Step};
use crate::buffer::Blocks;
use crate::command::{Command, Completion, Components, DriveRequest};
use crate::queue::{Arrival, Waiting};
use headstack_units::{Span, Time};
use std::collections::VecDeque;

/// A write of which some data are not in the buffer yet.
#[derive(Debug)]
pub(super) struct Write {
    request: DriveRequest,
    arrival: Arrival,
    /// The blocks that are not in the buffer yet.
    rest: Blocks,
    /// Time on the link, and processing that delayed it.
    bus: Span,
    overhead: Span,
    /// Whether it has waited for room.
    was_late: bool,
}

/// Writes on their way into the buffer, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct WriteAdmission {
    pub(super) writes: VecDeque<Write>,
    /// When the link has transferred the latest piece.
    link_free: Time,
    /// The first write does not look for room before this time.
    looks_at: Time,
    /// Whether a write had to wait for room since the queue was last empty.
    crowded: bool,
    /// Whether the last turn was a pass's, so that the next is a command's.
    command_next: bool,
}

impl WriteAdmission {
    pub fn push(&mut self, request: DriveRequest, arrival: Arrival) {
        self.writes.push_back(Write {
            request,
            arrival,
            rest: blocks_of(&request),
            bus: Span::ZERO,
            overhead: Span::ZERO,
            was_late: false,
        });
    }

    /// Whether a write had arrived by `now`.
    pub fn has_arrived(&self, now: Time) -> bool {
        self.writes.front().is_some_and(|w| w.arrival.at <= now)
    }

    /// No write enters the buffer before `ready`.
    pub fn not_before(&mut self, ready: Time) {
        self.looks_at = self.looks_at.max(ready);
    }

    /// Number of writes called `id` of which no data are in the buffer.
    pub fn count_waiting(&self, id: u64) -> usize {
        let waits = |w: &&Write| w.request.id == id && w.rest == blocks_of(&w.request);
        self.writes.iter().filter(waits).count()
    }

    /// Removes the oldest write called `id`, unless some of its data are in the buffer.
    pub fn take_waiting(&mut self, id: u64) -> Option<(DriveRequest, Time)> {
        let waits = |w: &Write| w.request.id == id && w.rest == blocks_of(&w.request);
        let index = self.writes.iter().position(waits)?;
        let write = self.writes.remove(index)?;
        Some((write.request, write.arrival.at))
    }

    /// Whether they need more than `room` blocks.
    fn exceed(&self, room: u64) -> bool {
        let mut left = room;
        self.writes.iter().any(|w| {
            let more = w.rest.count() > left;
            left = left.saturating_sub(w.rest.count());
            more
        })
    }

    /// Earliest time at which the next piece may enter the buffer.
    pub fn next(&self) -> Time {
        let first = self.writes.front();
        first.map_or(Time::NEVER, |w| w.arrival.decoding_since.max(self.link_free).max(self.looks_at))
    }
}

impl ServiceUnit {
    /// One step of a unit with a buffer in which writes wait.
    #[inline(never)]
    pub(super) fn step_with_buffer(&mut self, until: Time) -> Step {
        let command = self.next_command();
        let entry = self.write_admission.as_ref().map_or(Time::NEVER, |e| e.next());
        if command.min(entry) >= until {
            return Step::Nothing;
        }
        if entry < command || (entry == command && !self.flush_is_next()) {
            return self.enter(entry);
        }
        // A pass may have started since the last call. If so, the command waits for it.
        self.bring_to(command);
        if self.next_command() > command {
            return Step::Again;
        }
        let first = &self.queue.items[self.queue.oldest()];
        if self.flush_waits(first) {
            // Writes that came before the flush have to enter the buffer first.
            self.free = self.free.max(entry);
            return Step::Again;
        }
        if let (Command::Flush, Some(there)) = (first.request.command, self.server.on_link(command)) {
            // Data on the link were accepted before the flush.
            self.free = there;
            return Step::Again;
        }
        if self.server.overdue(command) && self.pass_has_its_turn() {
            if let Some(end) = self.server.force_destage(command) {
                self.wait_for_pass(end);
                return Step::Again;
            }
        }
        self.take_command(command.after(Span(1)))
    }

    /// Whether the next command is a flush for which no write has to enter the buffer first.
    fn flush_is_next(&self) -> bool {
        let first = &self.queue.items[self.queue.oldest()];
        first.request.command == Command::Flush && !self.flush_waits(first)
    }

    /// Whether a command can be served at `now`: it waits, and it is not a flush that has to wait for writes before it.
    fn command_is_ready(&self, now: Time) -> bool {
        self.next_command() <= now && !self.flush_waits(&self.queue.items[self.queue.oldest()])
    }

    /// Whether a command is a flush, and a write that arrived before it is not in the buffer yet.
    fn flush_waits(&self, command: &Waiting) -> bool {
        let first = self.write_admission.as_ref().and_then(|e| e.writes.front());
        command.request.command == Command::Flush && first.is_some_and(|w| w.arrival.at <= command.arrival.at)
    }

    /// Whether a pass of destaging goes first. Passes and commands alternate: if a command goes first now, a pass does next.
    fn pass_has_its_turn(&mut self) -> bool {
        let Some(write_admission) = &mut self.write_admission else { return false };
        !std::mem::take(&mut write_admission.command_next)
    }

    /// A pass uses the mechanism until `end`.
    fn wait_for_pass(&mut self, end: Time) {
        if self.rules.limit == 1 {
            self.free = self.free.max(end);
        }
        if let Some(write_admission) = &mut self.write_admission {
            write_admission.command_next = true;
        }
    }

    /// Serves the next command.
    fn take_command(&mut self, until: Time) -> Step {
        let step = self.step_command(until);
        self.note_waiting();
        match step {
            // A pass that started meanwhile goes first, and other units may have earlier events.
            Step::Nothing => Step::Again,
            step => step,
        }
    }

    /// Tells the server since when a command has been waiting for the mechanism.
    pub(super) fn note_waiting(&mut self) {
        self.server.times.wanted_since = match self.queue.is_empty() {
            true => Time::NEVER,
            false => self.queue.items[self.queue.oldest()].arrival.decoding_since,
        };
    }

    /// The next piece of the first write enters the buffer at `now`, if there is room.
    fn enter(&mut self, now: Time) -> Step {
        self.bring_to(now);
        let Some(write) = self.write_admission.as_ref().and_then(|e| e.writes.front()) else { return Step::Nothing };
        if self.faults.degraded && !self.server.reached(write.rest) {
            let (request, arrival) = (write.request, write.arrival.at);
            self.server.done = Completion::refused(&request, now);
            self.sign(request.id, arrival, now);
            if let Some(write_admission) = &mut self.write_admission {
                write_admission.writes.pop_front();
            }
            return Step::Done;
        }
        let piece = self.server.buffer.unwritten.piece_of(write.rest);
        if !self.server.has_room(now, piece) {
            return self.make_room(now);
        }
        let Arrival { decoding_since, after_write, .. } = write.arrival;
        self.keep_making_room(now);
        let (bus, tail) = self.server.admit_to_buffer(now, decoding_since, after_write);
        let there = self.server.take_in(now, bus, piece);
        let Some(write_admission) = &mut self.write_admission else { return Step::Nothing };
        write_admission.link_free = there;
        let Some(write) = write_admission.writes.front_mut() else { return Step::Nothing };
        write.bus += there.span_from(bus);
        write.overhead += bus.span_from(now);
        write.rest.start = piece.past;
        if write.rest.start < write.rest.past {
            return Step::Again;
        }
        let completion = there.after(tail);
        let (bus, overhead) = (write.bus, write.overhead + tail);
        self.server.done = Completion {
            completion,
            components: Components {
                queue: completion.span_from(write.arrival.at) - bus - overhead,
                overhead,
                bus,
                ..Components::default()
            },
            cache_hit: true,
            ..Completion::default()
        };
        let (id, arrival) = (write.request.id, write.arrival.at);
        let hint = write.request.hint;
        if let Some(roles) = &mut self.roles {
            roles.note(now, true);
        }
        write_admission.writes.pop_front();
        write_admission.crowded &= !write_admission.writes.is_empty();
        self.sign(id, arrival, arrival);
        self.meets_limit(hint, true);
        Step::Done
    }

    /// If a pass has made some room but not enough, starts the next pass at once.
    fn keep_making_room(&mut self, now: Time) {
        let room = self.server.buffer.unwritten.room();
        let crowded = self.write_admission.as_ref().is_some_and(|e| e.crowded && e.exceed(room));
        if !crowded || self.server.passes_end().is_some() || self.free > now {
            return;
        }
        if self.next_command() > now || self.pass_has_its_turn() {
            if let Some(end) = self.server.force_destage(now) {
                self.wait_for_pass(end);
            }
        }
    }

    /// There is no room for the first write at `now`: it waits for the pass in progress or for the mechanism,
    /// or a pass starts. If it is a command's turn, a command is served.
    fn make_room(&mut self, now: Time) -> Step {
        let coming = self.server.buffer.unwritten.incoming_until();
        let pass = self.server.passes_end();
        let busy = Some(self.free).filter(|t| *t > now && self.rules.limit == 1);
        let mut later = pass.or(busy);
        if later.is_none() {
            if self.command_is_ready(now) && !self.pass_has_its_turn() {
                return self.take_command(now.after(Span(1)));
            }
            later = self.server.force_destage(now);
            match later {
                Some(end) => self.wait_for_pass(end),
                // All data that are held are still on the link, or no head reaches their place any more.
                None => {
                    self.server.drop_unreachable();
                    later = coming.filter(|t| *t > now).or(self.server.next_at_rest(now));
                }
            }
        }
        if let Some(write_admission) = &mut self.write_admission {
            if let Some(write) = write_admission.writes.front_mut() {
                let again = std::mem::replace(&mut write.was_late, true);
                self.server.buffer.counted.n_full_buffer_writes += u64::from(!again);
            }
            write_admission.crowded = true;
            write_admission.looks_at = later.unwrap_or(now.after(Span(1)));
        }
        Step::Again
    }
}
