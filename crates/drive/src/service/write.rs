//! Writes: to the medium before completion, or completing in the buffer.

use super::pass::{AccessRequest, Pass, Supply};
use super::read::{in_buffer, mechanical};
use super::{CommandServer, Task, BARE, BUFFERED, GENERAL};
use crate::background::destage::Writing;
use crate::background::Activity;
use crate::buffer::{Blocks, Scope, Segment};
use crate::mapping::Mapping;
use crate::phase::Work;
use headstack_units::{nearest, Span, Time};

/// When a write may use the link and the mechanism.
#[derive(Debug, Clone, Copy)]
struct Admission {
    /// Start of the link transfer.
    bus: Time,
    /// Earliest start of the arm's movement.
    mech: Time,
    /// How long the write waited for the data of an earlier one.
    waited: Span,
    /// The segment whose data it continues.
    appended: Option<usize>,
    /// After its data have arrived: time to disconnect from the link, and to reselect it.
    last_disconnect: Span,
    last_reselect: Span,
}

impl CommandServer {
    /// Serves a write that does not wait in the buffer: the drive has no such buffer, or the host demands a
    /// write to the medium (`through`).
    /// The result is in `done`. `K` is the kind of the unit.
    #[inline(always)]
    pub fn write<const K: u8>(&mut self, task: &Task, through: bool) {
        self.happens_to::<K>(task.start);
        let previous_write = std::mem::replace(&mut self.previous.write, true);
        let previous_end = std::mem::replace(&mut self.previous.end, task.past());
        // It replaces older data that wait in the buffer.
        if K >= BUFFERED && self.buffer.unwritten.waits() {
            self.buffer.unwritten.settle(task.start);
            self.buffer.unwritten.dirty.remove(task.blocks);
        }
        let elsewhere = previous_write && task.sector != previous_end;
        let through = K == BARE || through || !self.shared.cache.write_back;
        self.write_now::<K>(task, elsewhere, through);
    }

    /// Writes to the medium while, or right after, the data arrive. `elsewhere`: the previous command was a
    /// write to another place.
    #[inline(always)]
    fn write_now<const K: u8>(&mut self, task: &Task, elsewhere: bool, through: bool) {
        let a = task.start;
        if K == GENERAL {
            self.stop_others(a, None, task.sector, task.past());
        }
        let mut admission = self.admit_write::<K>(task, elsewhere);
        if K == GENERAL && self.cleans_bands() {
            self.make_room(*task, &mut admission, through);
        }
        let work = if through { Work::Request } else { Work::Destage };
        let mut mech = admission.mech;
        if K == GENERAL && self.shared.timing.minimum_write > Span::ZERO && !self.mapping.moves_writes() {
            mech = mech.after(self.settling_minimum(task.sector));
        }
        let order = AccessRequest {
            place: task.place,
            write: true,
            reversal_cylinder: task.reversal_cylinder,
            on_arrival: self.shared.cache.write_on_arrival && !self.compat,
            link_ns: self.shared.timing.link_write_ns,
            supply: Some(self.supply(task, admission.bus)),
            ..AccessRequest::plain(task.sector, task.count, mech)
        };
        let pass = self.carry_out::<K>(task, &order, work);
        let arrived = pass.last_arrival;
        let segment = match K {
            BARE => None,
            _ => self.place_written::<K>(task, admission.appended),
        };
        let tail = self.shared.timing.write_completion;
        if !through {
            let assembly = &mut self.arms.assemblies[self.arms.active];
            assembly.jobs.activity =
                Activity::Destage(Writing { segment, end: pass.end, past: task.past(), range: None });
            self.done = in_buffer(a, admission.waited, admission.bus, arrived, tail);
            return;
        }
        if let (Some(i), false) = (segment, self.shared.cache.read_hits_on_written) {
            self.buffer.segments.change(i, Segment::clear);
        }
        let taken = pass.end.max(arrived.after(admission.last_disconnect));
        let completion = taken.after(admission.last_reselect + tail);
        self.done = mechanical(a, mech, admission.waited, &pass, completion);
    }

    /// Where writes go to a cache on the medium: lets the write wait until there is room for it.
    #[inline(never)]
    fn make_room(&mut self, task: Task, admission: &mut Admission, through: bool) {
        let Mapping::MediaCache(media) = &self.mapping else { return };
        let (piece, direct) = media.piece(task.sector, task.count);
        if direct {
            return;
        }
        let room = self.context(self.arms.active).0.make_room(admission.mech, piece);
        if through {
            admission.waited += room.span_from(admission.mech);
        }
        admission.mech = room;
    }

    /// Carries out the pass of a write, with the reads that sectors or blocks written in part need.
    #[inline(always)]
    fn carry_out<const K: u8>(&mut self, task: &Task, order: &AccessRequest, work: Work) -> Pass {
        if K == GENERAL && self.mapping.moves_writes() {
            return self.carry_out_elsewhere(task.blocks, *order, work);
        }
        let pass = self.pass::<K>(order, work);
        match (K, task.partial) {
            (GENERAL, 1..) => self.read_modify_write(*task, pass, work),
            _ => pass,
        }
    }

    /// Carries out the pass of a write whose blocks choose their places.
    #[inline(never)]
    fn carry_out_elsewhere(&mut self, blocks: Blocks, order: AccessRequest, work: Work) -> Pass {
        let (edges, n) = self.buffer.size.edges(blocks);
        let (mut context, _) = self.context(self.arms.active);
        let pass = context.write_pass(&order, work, &edges[..n]);
        self.buffer.unwritten.command_end = pass.end;
        self.couple(self.arms.active);
        pass
    }

    /// Adds the turns for sectors written in part: they were read in the pass and are written in the next
    /// turn. Sectors on one track share the turn.
    #[inline(never)]
    fn read_modify_write(&mut self, task: Task, mut pass: Pass, work: Work) -> Pass {
        self.buffer.counted.n_read_modify_writes += u64::from(task.partial);
        let one_track = task.place.is_some_and(|p| task.count <= p.run);
        let turns = if one_track { 1 } else { task.partial };
        let mut context = self.context(self.arms.active).0;
        for _ in 0..turns {
            context.write_in_next_turn(&mut pass, work);
        }
        self.buffer.unwritten.command_end = pass.end;
        pass
    }

    /// When link and arm may start, after earlier data have been written.
    #[inline(always)]
    fn admit_write<const K: u8>(&mut self, task: &Task, elsewhere: bool) -> Admission {
        let a = task.start;
        let t = &self.shared.timing;
        let ready = task.decoded(t.write.of(task.after_write));
        let preparation = t.preparation;
        let mut admission = Admission {
            bus: ready.after(preparation),
            mech: ready,
            waited: Span::ZERO,
            appended: None,
            last_disconnect: t.write_disconnect,
            last_reselect: t.first_reselect,
        };
        let writing = match K {
            BARE => None,
            _ => self.jobs().writing().copied(),
        };
        if let Some(w) = writing {
            admission.waited = w.end.since(a);
            if self.shared.cache.append_writes && w.past == task.sector && w.segment.is_some() {
                admission.mech = w.end;
                admission.appended = w.segment;
            } else {
                let back = ready.after(t.write_disconnect).max(w.end);
                admission.bus = back.after(t.first_reselect + preparation);
                admission.mech = ready.max(w.end);
            }
            self.finish_destage();
            // It may have been told to follow another assembly since.
            let free = self.arms.assemblies[self.arms.active].mechanism.timeline.free;
            admission.mech = admission.mech.max(free);
            return admission;
        }
        match t.extra_write_disconnect {
            Some(x) if elsewhere => {
                let reselects = [t.first_reselect, t.other_reselect];
                let command = task.decoded(x.command);
                let away = x.disconnect + x.pause;
                admission.bus = command.after(away + reselects[0] + preparation);
                admission.mech = self.command_mechanism::<K>(a, command.after(x.seek_delay));
                admission.last_disconnect = x.second_disconnect;
                admission.last_reselect = reselects[1];
            }
            _ => admission.mech = self.command_mechanism::<K>(a, ready),
        }
        admission
    }

    /// By how much the write's movement is shorter than the drive's minimum.
    #[inline(never)]
    fn settling_minimum(&self, sector: u64) -> Span {
        let minimum = self.shared.timing.minimum_write;
        let Some(place) = self.mapping.locate(&self.mechanics, sector) else { return Span::ZERO };
        let movement = self.mechanics.move_time(self.arm(), place.cylinder, place.head, true);
        (minimum - movement).max(Span::ZERO)
    }

    /// When the data of a write are in the buffer, if its link transfer starts at `bus`.
    #[inline]
    fn supply(&self, task: &Task, bus: Time) -> Supply {
        let gate = match self.shared.timing.extra_write_disconnect {
            None => 1,
            Some(x) if x.long_request_sectors > 0 && task.count >= x.long_request_sectors => {
                x.buffered_sectors_long.max(1)
            }
            Some(x) => x.buffered_sectors.max(1),
        };
        Supply {
            start: bus,
            gate,
            buffer: match self.buffer.segments.size {
                0 => u64::MAX,
                size => size,
            },
        }
    }

    /// Puts written data into a segment, and drops the old data from other segments.
    #[inline(always)]
    fn place_written<const K: u8>(&mut self, task: &Task, appended: Option<usize>) -> Option<usize> {
        let (start, end) = (task.sector, task.past());
        let (i, mut old) = self.buffer.segments.for_written(start, end, appended)?;
        if K == GENERAL && self.arms.at_once > 1 {
            // Other assemblies end their read-ahead first. They may have read some of these sectors by then.
            self.stop_others(task.start, Some(i), start, end);
            old = Some(i);
        }
        let goes_on = appended.is_some();
        let segments = &mut self.buffer.segments;
        segments.write_into((i, old), (start, end), goes_on);
        Some(i)
    }

    /// The end of the link transfer in progress at `now`; `None` if there is none.
    pub fn on_link(&self, now: Time) -> Option<Time> {
        let there = self.buffer.unwritten.incoming_until();
        there.filter(|t| *t > now)
    }

    /// Whether the buffer has room for a piece of a write at `at`.
    pub fn has_room(&mut self, at: Time, piece: Blocks) -> bool {
        self.happens(at);
        self.buffer.unwritten.has_room(piece)
    }

    /// Earliest start of the link transfer for a buffered write taken at `at`, and the overhead of its
    /// completion.
    pub fn admit_to_buffer(&self, at: Time, decoding_since: Time, after_write: bool) -> (Time, Span) {
        let t = &self.shared.timing;
        let decoded = decoding_since.after(t.write.of(after_write));
        (at.max(decoded).after(t.preparation), t.write_completion)
    }

    /// Takes a piece of a write into the buffer; its link transfer starts at `bus`. Returns when the piece
    /// has arrived. Nothing else may be on the link.
    pub fn take_in(&mut self, at: Time, bus: Time, piece: Blocks) -> Time {
        let (start, end) = self.buffer.size.sectors_of(piece);
        (self.previous.write, self.previous.end) = (true, end);
        // Read-ahead must not bring back old data over the written ones.
        let segments = &self.buffer.segments.list;
        if self.reading_ahead().is_some_and(|r| r.touches(&segments[r.segment], start, end)) {
            self.stop_read_ahead(at);
        }
        self.stop_others(at, None, start, end);
        self.buffer.segments.invalidate(start, end, None);
        let link = piece.count() as f64 * self.shared.timing.link_write_ns;
        let arrived = bus.after(Span(nearest(link / self.buffer.size.blocks() as f64)));
        self.buffer.unwritten.bring(at, piece, arrived);
        arrived
    }

    /// Makes every free assembly start a pass at `at`, to make room. Returns when the first pass ends; `None`
    /// if no data wait, or no assembly reaches them.
    pub fn force_destage(&mut self, at: Time) -> Option<Time> {
        self.happens(at);
        let all = {
            let dirty = &mut self.buffer.unwritten.dirty;
            dirty.promote(at);
            !dirty.has(Scope::Due)
        };
        if self.arms.at_once > 1 {
            for a in 0..self.arms.serving {
                if self.arms.assemblies[a].mechanism.timeline.free <= at {
                    self.force_assembly(a, at, all);
                }
            }
        } else if self.passes_end().is_none() {
            let active = self.arms.active;
            let mut sent = self.force_assembly(active, at, all);
            for a in (0..self.arms.serving).filter(|a| *a != active) {
                if sent {
                    break;
                }
                self.take_over(self.number_of(a, 0), at);
                sent = self.force_assembly(a, at, all);
            }
        }
        self.passes_end()
    }

    /// When the first of the passes in progress ends.
    pub fn passes_end(&self) -> Option<Time> {
        let passes = self.arms.assemblies.iter().filter_map(|a| a.jobs.writing());
        passes.map(|w| w.end).min()
    }

    /// When the next assembly that moves at `now` comes to rest.
    pub fn next_at_rest(&self, now: Time) -> Option<Time> {
        let serving = self.arms.assemblies[..self.arms.serving].iter();
        let ends = serving.map(|a| a.mechanism.timeline.free);
        ends.filter(|t| *t > now).min()
    }

    fn force_assembly(&mut self, a: usize, at: Time, all: bool) -> bool {
        if self.arms.assemblies[a].jobs.writing().is_some() {
            return false;
        }
        let free = self.end_read_ahead_of(a, at).max(at);
        let (mut context, jobs) = self.context(a);
        let sent = jobs.send(&mut context, free, all);
        self.couple(a);
        sent
    }

    /// Whether each track of these blocks is reached by some head set.
    pub fn reached(&self, blocks: Blocks) -> bool {
        let (mut at, past) = self.buffer.size.sectors_of(blocks);
        while at < past {
            let Some(place) = self.mapping.locate(&self.mechanics, at) else { return false };
            let mut head_sets = self.serving_head_sets().iter();
            if !head_sets.any(|p| p.reaches(1 << place.head, place.cylinder, true)) {
                return false;
            }
            at += u64::from(place.run);
        }
        true
    }

    /// Whether some buffered data are older at `now` than `destage_age`.
    pub fn overdue(&self, now: Time) -> bool {
        let age = self.shared.cache.destage_age;
        let oldest = self.buffer.unwritten.dirty.oldest();
        age > Span::ZERO && oldest.is_some_and(|t| t + age <= now)
    }
}
