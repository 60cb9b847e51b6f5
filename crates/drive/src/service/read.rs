//! Reads: hits, partial hits, misses, and the read-ahead that they start.

use super::pass::{self, AccessRequest, Pass};
use super::{CommandServer, Task, BARE, BUFFERED, GENERAL};
use crate::background::read_ahead::{ReadAhead, Run};
use crate::background::Activity;
use crate::buffer::Blocks;
use crate::command::{Completion, Components};
use crate::mechanics::Mechanics;
use crate::phase::{Track, Work};
use crate::spec::{ReadAhead as Extent, ReadAheadTrigger};
use headstack_units::{nearest, Span, Time};

impl CommandServer {
    /// The end of read-ahead into `segment` after a read from `sector` to `past`.
    #[inline]
    fn read_limit(&self, (sector, past): (u64, u64), segment: usize) -> u64 {
        let capacity = self.mapping.capacity(&self.mechanics);
        let limit = match self.shared.cache.read_ahead {
            Extent::None => past,
            Extent::NextTrack => {
                let (low, high) = self.mapping.track_bounds(&self.mechanics, past.min(capacity.saturating_sub(1)));
                let more = if self.buffer.segments.list[segment].start < low {
                    let place = self.mapping.locate(&self.mechanics, sector);
                    place.map_or(0, |p| p.sectors_per_track as u64)
                } else {
                    0
                };
                high + 1 + more
            }
            Extent::TrackEnd | Extent::CylinderEnd | Extent::Limit => past + self.read_ahead_sectors(),
        };
        limit.min(capacity)
    }

    /// Starts read-ahead at `time`, after a read from `sector` to `past`. `follows` is the rest of the run that the read
    /// ended in, if the next sectors pass without a gap.
    #[inline(always)]
    fn start_read_ahead(&mut self, (sector, past): (u64, u64), segment: usize, time: Time, follows: Option<Run>) {
        if self.shared.cache.read_ahead == Extent::None {
            return;
        }
        let next = self.buffer.segments.list[segment].end.max(past);
        let limit = self.read_limit((sector, past), segment);
        let assembly = &mut self.arms.assemblies[self.arms.active];
        let free = assembly.mechanism.timeline.free;
        let (cylinder, head) = {
            let arm = assembly.mechanism.arm();
            (arm.cylinder, arm.head)
        };
        // The arm may have followed another one since.
        let run = follows.filter(|run| run.begun >= free && limit > next);
        assembly.jobs.activity = Activity::ReadAhead(ReadAhead {
            segment,
            next,
            limit,
            at_least: next + self.shared.cache.read_ahead_minimum as u64,
            from: time.max(free),
            run: run.map(|run| run.at_most(limit - next)),
            cylinder,
            head,
        });
    }

    /// Drops the requested sectors from the segment, if the drive does so.
    #[inline]
    fn discard(&mut self, segment: usize, past: u64) {
        if self.shared.cache.discard_requested {
            self.buffer.segments.change(segment, |s| {
                s.start = s.start.max(past);
                s.end = s.end.max(s.start);
                s.whole_track = Time::NEVER;
            });
        }
    }

    /// Serves a read whose data are all in the buffer on its arrival, whatever the mechanism does. `None` if
    /// they are not.
    pub fn read_at_arrival(
        &mut self,
        at: Time,
        after_write: bool,
        (sector, count): (u64, u32),
        blocks: Blocks,
    ) -> Option<Completion> {
        let past = sector + u64::from(count);
        match self.buffer.segments.holds_at(at, sector, past) {
            Some(i) => {
                self.buffer.segments.touch(i);
                self.read_on_behind(i, past);
            }
            None if self.buffer.unwritten.covers(blocks, at) => {}
            None => return None,
        }
        let t = &self.shared.timing;
        let bus = at.after(t.read_hit.of(after_write) + t.preparation);
        let link_all = Mechanics::pass_time(count, t.link_read_ns);
        Some(in_buffer(at, Span::ZERO, bus, bus.after(link_all), t.read_completion))
    }

    /// For a hit on arrival in the data being read ahead: a drive that knows the address continues read-ahead
    /// after this command as after any other.
    fn read_on_behind(&mut self, segment: usize, past: u64) {
        if !self.shared.cache.almost_hits {
            return;
        }
        if let Extent::TrackEnd | Extent::CylinderEnd | Extent::Limit = self.shared.cache.read_ahead {
            let limit = past + self.read_ahead_sectors();
            let limit = limit.min(self.mapping.capacity(&self.mechanics));
            self.read_on_to(segment, limit);
        }
    }

    /// Read-ahead into `segment` goes on at least to `limit`. False if there is none.
    fn read_on_to(&mut self, segment: usize, limit: u64) -> bool {
        match &mut self.arms.assemblies[self.arms.active].jobs.activity {
            Activity::ReadAhead(r) if r.segment == segment => {
                r.limit = r.limit.max(limit);
                true
            }
            _ => false,
        }
    }

    /// How many sectors the drive reads ahead after a command.
    fn read_ahead_sectors(&self) -> u64 {
        match self.shared.cache.read_ahead_sectors {
            0 => self.buffer.segments.size,
            n => u64::from(n),
        }
    }

    /// Whether the buffer holds neither data for reads nor work in progress for which a read would wait.
    #[inline]
    fn holds_nothing(&self) -> bool {
        self.buffer.is_empty() && !self.jobs().any_under_way()
    }

    /// Whether a read that begins continues the one before it.
    #[inline(always)]
    fn begin_read<const K: u8>(&mut self, task: &Task) -> bool {
        let after_write = std::mem::replace(&mut self.previous.write, false);
        let previous_end = std::mem::replace(&mut self.previous.end, task.past());
        self.happens_to::<K>(task.start);
        !after_write && task.sector == previous_end
    }

    /// Serves a read, with the code for a unit of kind `K`. The result is in `done`.
    #[inline(always)]
    pub fn read<const K: u8>(&mut self, task: &Task) {
        let sequential = self.begin_read::<K>(task);
        let mut blocked = None;
        if K == BARE || self.holds_nothing() || !self.read_buffered::<K>(task, &mut blocked) {
            self.read_miss::<K>(task, blocked, sequential);
        }
    }

    /// Serves a read from the medium whatever the buffer holds. What was read is kept as that of other reads. Data in the
    /// buffer that wait to be written replace what was read, and are not written first.
    #[inline(never)]
    pub fn read_through<const K: u8>(&mut self, task: &Task) {
        let sequential = self.begin_read::<K>(task);
        let blocked = if K == BARE || self.holds_nothing() { None } else { self.finish_destage() };
        self.read_miss::<K>(task, blocked, sequential);
    }

    /// Serves a read for which the buffer or background work may have some of the data. False if they have none; then
    /// `blocked` is the end of the write to the medium that the read has to wait for.
    #[inline(always)]
    fn read_buffered<const K: u8>(&mut self, task: &Task, blocked: &mut Option<Time>) -> bool {
        let a = task.start;
        // All data are in the write buffer. If it has only some of them, everything is read from the medium,
        // and newer data in the buffer replace what was read.
        if K >= BUFFERED && self.buffer.unwritten.covers(task.blocks, a) {
            let t = &self.shared.timing;
            let bus = task.decoded(t.read_hit.of(task.after_write)).after(t.preparation);
            let link_all = Mechanics::pass_time(task.count, t.link_read_ns);
            self.done = in_buffer(a, Span::ZERO, bus, bus.after(link_all), t.read_completion);
            return true;
        }

        // A write to the medium in progress is completed first. The segments are searched afterwards, because
        // the written data may be readable then. If writes wait in the buffer, the read waits only for the
        // mechanism.
        let deferred = K >= BUFFERED && self.deferred_writes();
        if !deferred {
            *blocked = self.finish_destage();
        }
        let waited = blocked.map_or(Span::ZERO, |e| e.since(a));
        if self.shared.cache.keep_whole_track {
            self.buffer.segments.complete_tracks(a.after(waited));
        }
        let found = self.buffer.segments.find(task.sector);
        // The sector that is being read ahead at present counts as held, if the drive knows it.
        let found = found.or_else(|| {
            let reading = self.reading_ahead().filter(|_| self.shared.cache.almost_hits);
            let almost = reading.filter(|r| r.is_at(task.sector, a));
            almost.map(|r| r.segment)
        });
        match found.filter(|i| self.visible(*i, a)) {
            Some(segment) => {
                self.read_held(*task, segment, *blocked);
                true
            }
            None => {
                if deferred {
                    *blocked = self.finish_destage();
                }
                false
            }
        }
    }

    /// Serves a read of which a segment has at least the first sector, or is about to. `blocked` is the end of a write
    /// to the medium that it waited for.
    #[inline(never)]
    fn read_held(&mut self, task: Task, segment: usize, blocked: Option<Time>) {
        let task = &task;
        let (a, p) = (task.start, task.after_write);
        let t = &self.shared.timing;
        let (hit, miss) = (task.decoded(t.read_hit.of(p)), task.decoded(t.read_miss.of(p)));
        let disconnect = t.read_disconnect.of(p);
        let (reselect, preparation) = (t.first_reselect, t.preparation);
        let (link_ns, tail) = (t.link_read_ns, t.read_completion);
        let link_all = Mechanics::pass_time(task.count, link_ns);
        let past = task.past();
        let waited = blocked.map_or(Span::ZERO, |e| e.since(a));
        self.buffer.segments.touch(segment);
        let bus = match blocked {
            Some(e) => miss.after(disconnect).max(e).after(reselect + preparation),
            None => hit.after(preparation),
        };
        let (mut bus, mut waited) = (bus, waited);
        let mut whole = self.buffer.segments.list[segment].end >= past;
        let another = self.filled_by_another(segment);
        if another && !whole {
            // The forced read-ahead of the other assembly may supply the missing sectors.
            let there = self.stop_others(a, Some(segment), 0, 0);
            whole = self.buffer.segments.list[segment].end >= past;
            if whole && there > bus {
                (bus, waited) = (there, waited.max(there.span_from(a)));
            }
        }
        let limit = self.read_limit((task.sector, past), segment);
        if whole {
            if !self.read_on_to(segment, limit) {
                let mech = self.command_mechanism::<GENERAL>(a, miss).max(blocked.unwrap_or_default());
                // If writes wait in the buffer, a pass may be in progress.
                let idle = self.jobs().writing().is_none();
                if self.shared.cache.read_ahead_on_idle_hit && idle && !another {
                    self.start_read_ahead((task.sector, past), segment, mech, None);
                }
            }
            self.discard(segment, task.past());
            self.done = in_buffer(a, waited, bus, bus.after(link_all), tail);
            return;
        }

        // Partial hit: the link transfers the sectors that are held while the rest is read.
        let joined = self.read_on_for(task, segment, limit, link_ns);
        let (mech, pass, bound) = match joined {
            Some((pass, bound)) => (pass.end.before(pass.transfer), pass, bound),
            None => self.read_rest(task, segment, miss, blocked),
        };
        self.discard(segment, task.past());
        let completion = bus.after(link_all).max(bound).max(pass.end).after(tail);
        self.done = mechanical(a, mech, waited, &pass, completion);
    }

    /// Reads the rest of a partial hit from the medium, when the command has been processed at `miss` and a write to the
    /// medium has ended at `blocked`. Returns when the mechanism starts, the pass, and the earliest end that the link
    /// allows.
    fn read_rest(&mut self, task: &Task, segment: usize, miss: Time, blocked: Option<Time>) -> (Time, Pass, Time) {
        let blocked = if self.deferred_writes() { self.finish_destage() } else { blocked };
        let mech = self.command_mechanism::<GENERAL>(task.start, miss).max(blocked.unwrap_or_default());
        let past = task.past();
        let held = self.buffer.segments.list[segment].end.max(task.sector);
        let order = AccessRequest {
            reversal_cylinder: task.reversal_cylinder,
            link_ns: self.shared.timing.link_read_ns,
            ..AccessRequest::plain(held, (past - held) as u32, mech)
        };
        let pass = self.pass::<GENERAL>(&order, Work::Request);
        let size = self.buffer.segments.size;
        self.buffer.segments.change(segment, |s| {
            s.end = past;
            s.bound(size);
        });
        self.start_read_ahead((task.sector, past), segment, pass.end, None);
        (mech, pass, pass.link_bound)
    }

    /// Index of the sector that must have been read before the link starts.
    #[inline]
    fn watermark(&self, count: u32) -> u32 {
        let share = self.shared.cache.read_watermark;
        if share == 0.0 {
            return 0;
        }
        let mut base = self.buffer.segments.size.max(1);
        if self.shared.cache.watermark_of_request {
            base = base.min(u64::from(count));
        }
        ((base as f64 * share) as u32).clamp(1, count) - 1
    }

    /// Reads everything from the medium.
    #[inline(always)]
    fn read_miss<const K: u8>(&mut self, task: &Task, blocked: Option<Time>, sequential: bool) {
        let (a, p) = (task.start, task.after_write);
        let miss = task.decoded(self.shared.timing.read_miss.of(p));
        let mech = self.command_mechanism::<K>(a, miss);
        let mech = mech.max(blocked.unwrap_or_default());
        let waited = mech.span_from(miss);
        let order = AccessRequest {
            place: task.place,
            sector: task.sector,
            count: task.count,
            write: false,
            start: mech,
            reversal_cylinder: task.reversal_cylinder,
            minimum_move: self.shared.timing.minimum_read.of(p),
            on_arrival: self.shared.cache.read_on_arrival && !self.compat,
            watermark: self.watermark(task.count),
            link_ns: self.shared.timing.link_read_ns,
            supply: None,
        };
        let pass = self.pass::<K>(&order, Work::Request);
        let t = &self.shared.timing;
        let mut bus = miss;
        if !t.never_disconnect {
            bus = bus.after(t.read_disconnect.of(p)).max(pass.ready).after(t.first_reselect);
        }
        let link_all = t.preparation + Mechanics::pass_time(task.count, t.link_read_ns);
        let completion = bus.after(link_all).max(pass.link_bound).max(pass.end).after(t.read_completion);
        if K != BARE {
            if let Some(segment) = self.buffer.segments.victim() {
                self.keep_read::<K>(task, segment, &pass, completion, sequential);
            }
        }
        self.done = mechanical(a, mech, waited, &pass, completion);
    }

    /// Keeps the sectors that a pass has read in a segment, and starts read-ahead behind them. The read ends at
    /// `completion`; `sequential`: it continued the read before it.
    #[inline(always)]
    fn keep_read<const K: u8>(&mut self, task: &Task, segment: usize, pass: &Pass, completion: Time, sequential: bool) {
        if K == GENERAL {
            self.stop_others(task.start, Some(segment), 0, 0);
        }
        let size = self.buffer.segments.size;
        let trigger = match self.shared.cache.read_ahead_trigger {
            ReadAheadTrigger::Always => true,
            ReadAheadTrigger::Sequential => sequential,
        };
        let mut start = task.sector;
        if self.shared.cache.keep_passing_sectors && !self.compat && trigger {
            let passed = (pass.first_wait.0 as f64 / pass.first_sector_ns.max(1.0)) as i64;
            let low = match task.place {
                // Either no sector lies before them on the track, or those that do are not needed.
                Some(p) if p.before == p.sector || passed <= i64::from(p.before) => start - u64::from(p.before),
                _ => self.mapping.track_bounds(&self.mechanics, start).0,
            };
            start = start.saturating_sub(passed as u64).max(low);
        }
        let (mut whole_track, mut track_start) = (Time::NEVER, 0);
        if self.shared.cache.keep_whole_track && !self.compat {
            whole_track = pass.end.after(Span(self.mechanics.rotation.period_ns as i64));
            (track_start, _) = self.mapping.track_bounds(&self.mechanics, task.sector);
        }
        self.buffer.segments.reuse(segment, |s| {
            s.visible_at = completion;
            s.start = start;
            s.end = task.past();
            (s.whole_track, s.track_start) = (whole_track, track_start);
            s.bound(size);
        });
        self.discard(segment, task.past());
        if trigger {
            // If the sectors were taken in order, the next one of the run passes at once.
            let on_arrival = self.shared.cache.read_on_arrival && !self.compat;
            let in_order = !on_arrival && !self.arms.restricted;
            let rest = task.place.map_or(0, |p| p.run.saturating_sub(task.count));
            let follows = (in_order && rest > 0).then(|| Run::at_once(pass.end, rest, pass.first_sector_ns));
            self.start_read_ahead((task.sector, task.past()), segment, pass.end, follows);
        }
    }

    /// Serves the rest of a partial hit from the read-ahead into `segment`. Returns the pass, and the earliest
    /// end that the link allows; `None` if nothing is read ahead into this segment.
    fn read_on_for(&mut self, task: &Task, segment: usize, limit: u64, link_ns: f64) -> Option<(Pass, Time)> {
        let (a, past) = (task.start, task.past());
        let mut bound = Time::ZERO;
        let (mut context, jobs) = self.context(self.arms.active);
        let r = match &mut jobs.activity {
            Activity::ReadAhead(r) if r.segment == segment => r,
            _ => return None,
        };
        let begun = r.begins(context.mechanism).max(a);
        let end = r.read_to(&mut context, past, |first, last, at, sector_ns| {
            for k in [first, last - 1] {
                let media = (k - first + 1) as f64 * sector_ns;
                bound = bound.max(at.after(Span(nearest(media + (past - k) as f64 * link_ns))));
            }
        });
        r.limit = r.limit.max(limit);
        self.couple(self.arms.active);
        let mech = begun.min(end).max(a);
        let pass = Pass { end: end.max(mech), transfer: end.since(mech), ..Pass::default() };
        Some((pass, bound))
    }

    /// Carries out a pass with the active assembly.
    #[inline(always)]
    pub(super) fn pass<const K: u8>(&mut self, order: &AccessRequest, work: Work) -> Pass {
        if let (true, Some(place)) = (K != GENERAL, order.place) {
            let mechanism = &mut self.arms.assemblies[self.arms.active].mechanism;
            let arm = &mut mechanism.arms[0];
            let pass = match K {
                BUFFERED => pass::run_in_order::<false>(&self.mechanics, arm, order, place),
                _ => Some(pass::run_plain::<false>(&self.mechanics, arm, order, place)),
            };
            if let Some(pass) = pass {
                // The unit has one head set for each assembly.
                let track = Track { cylinder: place.cylinder, head: place.head, head_set: 0 };
                mechanism.add_plain_pass(self.times.now, order, work, &pass, track);
                if K == BUFFERED {
                    self.buffer.unwritten.command_end = pass.end;
                }
                return pass;
            }
        }
        let (mut context, _) = self.context(self.arms.active);
        let pass = context.pass(order, work);
        self.buffer.unwritten.command_end = pass.end;
        self.couple(self.arms.active);
        pass
    }
}

/// The completion of a command at `a` that completes in the buffer. It waited for `waited`; its data were on the link from `bus` to `done`.
#[inline]
pub(super) fn in_buffer(a: Time, waited: Span, bus: Time, done: Time, tail: Span) -> Completion {
    let queue = waited.min(bus.span_from(a));
    Completion {
        completion: done.after(tail),
        components: Components {
            queue,
            overhead: bus.span_from(a) - queue + tail,
            bus: done.span_from(bus),
            ..Components::default()
        },
        cache_hit: true,
        ..Completion::default()
    }
}

/// The completion of a command that used the mechanism from `mech` to the end of its pass.
#[inline]
pub(super) fn mechanical(a: Time, mech: Time, waited: Span, pass: &Pass, completion: Time) -> Completion {
    let queue = waited.min(mech.span_from(a));
    let media = pass.seek + pass.rotation + pass.transfer;
    Completion {
        completion,
        components: Components {
            queue,
            overhead: mech.span_from(a) - queue,
            seek: pass.seek,
            rotation: pass.rotation,
            transfer: pass.transfer,
            bus: completion.span_from(mech) - media,
        },
        mechanical: true,
        seek_distance: pass.distance,
        ..Completion::default()
    }
}
