//! Which waiting command is served next, and by which head set.
//!
//! # Model
//! The scheduler chooses among the commands and the head sets that are free. A flush is a barrier, and a command past
//! the age limit goes first. Where a mapping moves blocks, the places of waiting commands are brought up to date first.

use super::{is_held, ServiceUnit, Way};
use crate::command::Command;
use crate::layout::Place;
use crate::queue::Waiting;
use crate::scheduler::{Buffer, Choice, View};
use crate::service::{self, CommandServer};
use headstack_units::Time;
use std::ops::Range;

impl ServiceUnit {
    /// The head sets whose assembly is free at `start`, as bits.
    pub(super) fn usable(&self, start: Time) -> u64 {
        let mut bits = 0;
        for (i, head_set) in self.server.serving_head_sets().iter().enumerate() {
            if self.serves_until(head_set.assembly) <= start {
                bits |= 1 << i;
            }
        }
        bits
    }

    /// The surfaces that a command needs, as bits.
    pub(super) fn surfaces_of(&self, item: &Waiting) -> u64 {
        let mut surfaces = 1u64 << item.place.head;
        if self.faults.all_well() {
            return surfaces;
        }
        let (mut at, past) = (item.sector, item.sector + item.count as u64);
        while at < past {
            let Some(place) = self.server.mapping.locate(&self.server.mechanics, at) else { break };
            surfaces |= 1 << place.head;
            at += place.run as u64;
        }
        surfaces
    }

    /// The head set that serves a command: the scheduler's choice if it reaches all places.
    pub(super) fn head_set_for(&self, item: &Waiting, chosen: usize, needed: u64, usable: u64, start: Time) -> Reach {
        let head_sets = self.server.serving_head_sets();
        let write = item.request.command.writes();
        let reaches = |i: usize| head_sets[i].reaches(needed, item.place.cylinder, write);
        if usable >> chosen & 1 == 1 && reaches(chosen) {
            return Reach::With(chosen);
        }
        let best = (0..head_sets.len()).filter(|i| usable >> i & 1 == 1 && reaches(*i)).min_by_key(|i| {
            let arm = self.server.arm_of(*i);
            let m = &self.server.mechanics;
            m.position(arm, &item.place, write, start).total()
        });
        if let Some(head_set) = best {
            return Reach::With(head_set);
        }
        (0..head_sets.len())
            .filter(|i| reaches(*i))
            .map(|i| self.serves_until(head_sets[i].assembly))
            .min()
            .map_or(Reach::Never, Reach::Later)
    }

    /// The next command and its head set.
    #[inline(never)]
    pub(super) fn choose(&mut self, start: Time, oldest: usize, usable: u64) -> Choice {
        let given = self.rules.fcfs || (self.queue.len == 1 && !self.scheduler.picks_lone());
        if given && self.server.arms.head_sets.len() == 1 {
            return Choice { index: oldest, arm: 0 };
        }
        self.queue.place_lone();
        if self.server.mapping.moves_writes() {
            self.place_waiting(start, oldest, usable);
        }
        let first = &self.queue.items[oldest];
        // A flush is a barrier: commands that arrived before it go first, then the flush. A command past the
        // age limit is next, with the arm that is there first.
        let barrier = first.request.command == Command::Flush;
        let taken_at_once = self.rules.limit == 1 && start < self.server.writing_until();
        let overdue = start.since(first.arrival.at) > self.rules.age_limit;
        if barrier || taken_at_once {
            return Choice { index: oldest, arm: self.server.active_set() as u8 };
        }
        self.server.run_background(start);
        let (server, queue) = (&self.server, &self.queue);
        let (moves, active_delay) = server.earliest_moves(start);
        let arms = match &server.arms.assemblies[..] {
            [one] => &one.mechanism.arms,
            // Since the latest choice only the active one has moved.
            _ if server.kind == service::BARE && self.rules.way < Way::General && !self.standing.is_empty() => {
                self.standing[server.arms.active] = *server.arm();
                &self.standing
            }
            several => {
                self.standing.clear();
                self.standing.extend(several[..server.arms.serving].iter().flat_map(|a| &a.mechanism.arms));
                &self.standing
            }
        };
        let view = View {
            mechanics: &server.mechanics,
            arms,
            head_sets: (self.rules.way == Way::General).then_some(&server.arms.head_sets),
            usable,
            arm_choice: self.rules.arm_choice,
            now: start,
            start: [moves; 2],
            active_set: server.active_set(),
            active_delay: [active_delay; 2],
            last_end: server.previous.end.min(u64::MAX - 1),
            buffer: &Held { server, now: start },
            deadlines: self.limited.as_ref().and_then(|l| l.limits.deadlines()),
        };
        if overdue {
            return Choice { index: oldest, arm: view.best_arm(queue, oldest) };
        }
        let choice = self.scheduler.pick(queue, &view);
        let chosen = &queue.items[choice.index];
        if chosen.request.command == Command::Flush {
            // Commands that arrived before a flush go first, in order of age and without a detour of the arm.
            self.scheduler.reversal_cylinder();
            return Choice { index: oldest, arm: choice.arm };
        }
        choice
    }

    /// Where a mapping moves blocks: brings the places of all waiting reads up to date, and lets the mapping
    /// tell from now on which blocks move, if the scheduler looks at places.
    pub(super) fn locate_waiting(&mut self) {
        if !self.server.mapping.moves_writes() {
            return;
        }
        self.server.mapping.watch(!self.rules.fcfs);
        let all: Vec<usize> = self.queue.by_age().collect();
        for i in all {
            let w = &self.queue.items[i];
            if w.request.command.reads() {
                if let Some(place) = self.server.mapping.locate(&self.server.mechanics, w.sector) {
                    self.queue.relocate(i, place);
                }
            }
        }
    }

    /// Updates the places of waiting commands, where a mapping moves blocks: those of reads whose blocks have
    /// moved, and those of writes, which all may go to the slot that is reached soonest.
    #[inline(never)]
    fn place_waiting(&mut self, start: Time, oldest: usize, usable: u64) {
        self.server.run_background(start);
        let first = self.queue.items[oldest];
        self.server.find(start, first.sector, first.count);
        let place = self.server.predict_write(start, usable);
        let server = &mut self.server;
        if self.rules.fcfs {
            let here = if first.request.command.writes() {
                place
            } else {
                server.mapping.locate(&server.mechanics, first.sector)
            };
            if let (Some(here), false) = (here, first.request.command == Command::Flush) {
                self.queue.relocate(oldest, here);
            }
            return;
        }
        let mut changed: Vec<(usize, Place)> = Vec::new();
        while let Some((from, past)) = server.mapping.next_moved() {
            for i in self.queue.by_age() {
                let w = &self.queue.items[i];
                if !w.request.command.writes() && w.sector < past && from < w.sector + u64::from(w.count) {
                    let place = server.mapping.locate(&server.mechanics, w.sector);
                    changed.extend(place.map(|p| (i, p)));
                }
            }
        }
        if let Some(place) = place {
            let all = self.queue.by_age();
            let writes = all.filter(|i| self.queue.items[*i].request.command.writes());
            changed.extend(writes.map(|i| (i, place)));
        }
        for (i, place) in changed {
            self.queue.relocate(i, place);
        }
    }
}

/// The content of the buffer at one time, as schedulers see it.
struct Held<'a> {
    server: &'a CommandServer,
    now: Time,
}

impl Buffer for Held<'_> {
    fn is_empty(&self) -> bool {
        self.server.buffer.is_empty()
    }

    fn serves(&self, waiting: &Waiting) -> bool {
        is_held(self.server, waiting, self.now)
            || (waiting.request.command == Command::Read && self.server.would_join(self.now, waiting.sector))
    }

    fn ranges(&self, each: &mut dyn FnMut(Range<u64>)) {
        let server = self.server;
        let buffer = &server.buffer;
        let segments = buffer.segments.list.iter();
        segments.for_each(|s| each(s.start..s.end));
        buffer.unwritten.stretches(&mut |b| {
            let (first, past) = buffer.size.sectors_of(b);
            each(first..past);
        });
        // Read-ahead also serves a command that begins at its next sector.
        let assembly = &server.arms.assemblies[server.arms.active];
        if let Some(ahead) = assembly.jobs.read_ahead() {
            let s = &buffer.segments.list[ahead.segment];
            each(s.start..ahead.next.saturating_add(1));
        }
    }
}

/// Whether a head set can serve all places of a command.
pub(super) enum Reach {
    /// This one can, now.
    With(usize),
    /// One can, but not before this time.
    Later(Time),
    /// None can any more.
    Never,
}
