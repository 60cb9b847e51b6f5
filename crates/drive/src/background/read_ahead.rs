//! Read-ahead: reading into the buffer what follows a command's data.
//!
//! # Model
//! Read-ahead proceeds in runs. A run is a sequence of sectors of one track without a gap. Read-ahead ends at
//! its limit, at the end of a track or cylinder if the drive stops there, or when a command claims the
//! mechanism. In that case a movement is completed first, and so is the sector under the head unless the
//! drive stops inside sectors. At least `read_ahead_minimum` sectors are always read.
//! # Source
//! DiskSim 4.0's disk module as observed from outside.
//! # Validity
//! One range of addresses at a time for each assembly.

use super::JobContext;
use crate::assembly::Mechanism;
use crate::buffer::{Buffer, Segment};
use crate::layout::Place;
use crate::mechanics::Mechanics;
use crate::phase::{MechanicalAccess, Track, Work};
use crate::spec::ReadAhead as Extent;
use headstack_units::{Span, Time};

/// A run of sectors on one track, read ahead.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    /// Start of the movement, its end, and the start of the first sector.
    pub begun: Time,
    pub there: Time,
    pub first: Time,
    pub count: u32,
    pub done: u32,
    pub distance: u32,
    pub sector_ns: f64,
    /// How late the head is for the first sector; see [`Mechanics::late_by`].
    pub late: Span,
}

impl Run {
    /// A run of sectors that starts at `time`, without a movement or a wait.
    pub fn at_once(time: Time, count: u32, sector_ns: f64) -> Run {
        Run { begun: time, there: time, first: time, count, done: 0, distance: 0, sector_ns, late: Span::ZERO }
    }

    /// The run, cut to at most `sectors` sectors.
    #[inline]
    pub fn at_most(mut self, sectors: u64) -> Run {
        self.count = sectors.min(u64::from(self.count)) as u32;
        self
    }

    /// When `sectors` sectors have passed.
    #[inline]
    fn at(&self, sectors: u32) -> Time {
        self.first.after((Mechanics::pass_time(sectors, self.sector_ns) - self.late).max(Span::ZERO))
    }

    /// The run as an access of the timeline that ends at `end`, on the track `track`.
    #[inline]
    fn access(&self, end: Time, track: Track) -> MechanicalAccess {
        MechanicalAccess {
            work: Work::ReadAhead,
            write: false,
            start: self.begun,
            distance: self.distance,
            there: self.there.min(end),
            first: self.first.min(end),
            end,
            track,
        }
    }
}

/// Read-ahead of one assembly.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadAhead {
    pub segment: usize,
    /// The sector after the last one read.
    pub next: u64,
    /// It ends before this sector.
    pub limit: u64,
    /// It cannot be interrupted before this sector.
    pub at_least: u64,
    /// The first run does not begin before this time.
    pub from: Time,
    /// The present run. The first one is set in advance if it continues on the track of the command.
    pub run: Option<Run>,
    /// Cylinder and surface on which it began, for drives that stop at the end of a track or cylinder.
    pub cylinder: u32,
    pub head: u16,
}

impl ReadAhead {
    /// Whether `sector` is the next one of a run that has begun by `now`.
    pub fn is_at(&self, sector: u64, now: Time) -> bool {
        self.next == sector && self.run.is_some_and(|run| run.begun <= now)
    }

    /// Whether a run began before `now`.
    pub fn reads_at(&self, now: Time) -> bool {
        self.run.is_some_and(|run| run.begun < now)
    }

    /// Whether it has read or will read some of the sectors `start..end` into `segment`.
    pub fn touches(&self, segment: &Segment, start: u64, end: u64) -> bool {
        segment.start < end && start < self.limit.max(segment.end)
    }

    /// Earliest start of the next run.
    #[inline]
    fn next_start(&self, mechanism: &Mechanism) -> Time {
        self.from.max(mechanism.timeline.free)
    }

    /// Start of the present run, or of the next one.
    pub fn begins(&self, mechanism: &Mechanism) -> Time {
        match &self.run {
            Some(run) => run.begun,
            None => self.next_start(mechanism),
        }
    }

    /// Starts the next run; false if there is none. Sectors before `needed` are read even beyond the limit.
    #[inline(always)]
    fn next_run(&mut self, context: &mut JobContext, needed: u64) -> bool {
        let left = self.limit.max(needed).saturating_sub(self.next);
        let left = left.min(u64::from(u32::MAX)) as u32;
        if left == 0 {
            return false;
        }
        let mut place = Place::default();
        if !context.mapping.locate_into(context.mechanics, self.next, &mut place) {
            return false;
        }
        if self.next >= needed && self.stops_before(context.cache.read_ahead, &place) {
            return false;
        }
        if !context.reaches(place.head) {
            return false;
        }
        self.run = Some(self.move_to(context, &place, left));
        true
    }

    /// Whether the drive ends read-ahead at the end of a track or cylinder that lies before `place`.
    fn stops_before(&self, extent: Extent, place: &Place) -> bool {
        match extent {
            Extent::TrackEnd => place.cylinder != self.cylinder || place.head != self.head,
            Extent::CylinderEnd => place.cylinder != self.cylinder,
            _ => false,
        }
    }

    /// Moves to a place and waits for its sector. Returns the run of at most `left` sectors there.
    #[inline(always)]
    fn move_to(&mut self, context: &mut JobContext, place: &Place, left: u32) -> Run {
        let m = context.mechanics;
        let begun = self.next_start(context.mechanism);
        let mechanism = &mut *context.mechanism;
        let before = *mechanism.arm();
        let arm = &mut mechanism.arms[mechanism.active_set];
        let there = begun.after(m.move_time(arm, place.cylinder, place.head, false));
        arm.cylinder = place.cylinder;
        arm.head = place.head;
        let wait = m.wait_time(arm, place.angle, there);
        let first = there.after(wait);
        let late = match wait {
            Span::ZERO => m.late_by(arm, place.angle, there),
            _ => Span::ZERO,
        };
        m.skip_rest(arm, place.angle, there);
        let head_sets = &context.all_head_sets[context.first_head_set..];
        mechanism.carry(head_sets, m.seek.positions(), &before, begun);
        Run {
            begun,
            there,
            first,
            count: place.run.min(left),
            done: 0,
            distance: before.cylinder.abs_diff(place.cylinder),
            sector_ns: place.sector_ns,
            late,
        }
    }

    /// Ends the run and adds it to the timeline.
    #[inline(always)]
    fn finish_run(&mut self, context: &mut JobContext, done: MechanicalAccess) {
        self.run = None;
        context.mechanism.timeline.add(context.times.now, done);
    }

    /// Reads ahead until `until`. True if read-ahead ended before.
    #[inline(always)]
    pub fn read_until(&mut self, context: &mut JobContext, until: Time) -> bool {
        let before = self.next;
        let ended = self.go_through_runs(context, until);
        if self.next > before {
            context.buffer.segments.extend(self.segment, self.next);
        }
        ended
    }

    /// As [`ReadAhead::read_until`], without putting what was read into the buffer.
    #[inline(always)]
    fn go_through_runs(&mut self, context: &mut JobContext, until: Time) -> bool {
        loop {
            if self.run.is_none() {
                if self.next_start(context.mechanism) >= until {
                    return false;
                }
                if !self.next_run(context, 0) {
                    return true;
                }
            }
            let Some(run) = &mut self.run else { return true };
            let end = run.at(run.count);
            let passed = if until > end {
                run.count
            } else if until <= run.first {
                0
            } else {
                // A sector counts as read when all of it has passed.
                let whole = (until.span_from(run.first).0 as f64 / run.sector_ns + 1e-9) as i64 as u64;
                whole.min(run.count as u64) as u32
            };
            if passed > run.done {
                self.next += (passed - run.done) as u64;
                run.done = passed;
            }
            if run.done < run.count {
                return false;
            }
            let access = run.access(end, context.mechanism.track());
            self.finish_run(context, access);
        }
    }

    /// Continues until the sectors before `past` are read, even beyond the limit. Returns when they are.
    /// Calls `each(first, past, start of first, sector_ns)` for each piece; times are in nanoseconds.
    pub fn read_to(&mut self, context: &mut JobContext, past: u64, mut each: impl FnMut(u64, u64, Time, f64)) -> Time {
        let mut end = self.next_start(context.mechanism);
        while self.next < past {
            if self.run.is_none() && !self.next_run(context, past) {
                break;
            }
            let Some(run) = &mut self.run else { break };
            let take = ((past - self.next).min((run.count - run.done) as u64)) as u32;
            let (first, last) = (self.next, self.next + take as u64);
            each(first, last, run.at(run.done), run.sector_ns);
            self.next = last;
            run.done += take;
            end = run.at(run.done);
            if run.done == run.count {
                let access = run.access(end, context.mechanism.track());
                self.finish_run(context, access);
            }
        }
        context.buffer.segments.extend(self.segment, self.next);
        end
    }

    /// The run that is interrupted at `at`, and when it releases the mechanism. A run that would begin at `at` or later
    /// does not begin.
    #[inline]
    pub fn stops(&self, in_sector: bool, at: Time) -> Option<(&Run, Time)> {
        let run = self.run.as_ref().filter(|_| self.reads_at(at))?;
        Some((run, ReadAhead::run_stops(run, in_sector, at)))
    }

    /// Whether it has not yet read its minimum, so that it cannot be interrupted.
    #[inline]
    pub fn must_read_on(&self) -> bool {
        self.next < self.at_least.min(self.limit)
    }

    /// Ends read-ahead at `at`, or as soon as it can be interrupted. Returns when the mechanism is free; 0 if
    /// no run had begun. `now` is the clock.
    #[inline(always)]
    pub fn stop(&self, now: Time, mechanism: &mut Mechanism, buffer: &mut Buffer, in_sector: bool, at: Time) -> Time {
        buffer.segments.leave_track(self.segment, at);
        let Some((run, free)) = self.stops(in_sector, at) else { return Time::ZERO };
        let end = free.max(run.begun).min(run.at(run.count));
        mechanism.timeline.add(now, run.access(end, mechanism.track()));
        mechanism.timeline.hold_until(free);
        free
    }

    /// When a run that is interrupted at `at` releases the mechanism.
    pub fn run_stops(run: &Run, in_sector: bool, at: Time) -> Time {
        if at < run.there {
            // A movement is always completed.
            run.there
        } else if in_sector {
            at
        } else if at < run.first {
            run.first
        } else {
            // The sector under the head is completed.
            run.at(run.done + 1).min(run.at(run.count))
        }
    }
}

impl ReadAhead {
    /// The end of the present run. The next one may move the arm, and assemblies that follow it.
    pub fn run_ends(&self, mechanism: &Mechanism) -> Time {
        match &self.run {
            Some(run) => run.at(run.count),
            None => self.next_start(mechanism),
        }
    }

    /// Ends read-ahead because a command claims the mechanism at `at`. Returns when the mechanism is free. `at` is not
    /// before the clock, and everything up to the clock has been read already.
    pub fn give_way(&mut self, context: &mut JobContext, mut at: Time) -> Time {
        let mut forced = Time::ZERO;
        if self.must_read_on() {
            let least = self.at_least.min(self.limit);
            forced = self.read_to(context, least, |_, _, _, _| {});
            at = at.max(forced);
        }
        let in_sector = context.cache.stop_read_ahead_in_sector;
        let (mechanism, buffer) = (&mut *context.mechanism, &mut *context.buffer);
        let free = self.stop(context.times.now, mechanism, buffer, in_sector, at);
        free.max(forced)
    }

    /// The run in progress as an access that ends when the run does. The timeline does not have it yet.
    pub fn under_way(&self) -> Option<MechanicalAccess> {
        self.run.as_ref().map(|run| run.access(run.at(run.count), Track::default()))
    }
}
