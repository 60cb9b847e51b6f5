//! Reading on behind a command, into the buffer.
//!
//! # Model
//! Read-ahead goes run by run: a run is the sectors of one track that follow each other without a gap.
//! It ends at its limit, at the end of a track or cylinder where the drive stops there, or when a
//! command wants the mechanism: a movement is finished first, and so is the sector under the head
//! unless the drive stops inside sectors. `read_ahead_minimum` sectors are read whatever comes.
//! # Source
//! DiskSim 4.0's disk module as observed from outside.
//! # Validity
//! One run of addresses at a time for each assembly.

use super::{BackgroundJob, Site, NEVER};
use crate::assembly::Mechanism;
use crate::buffer::{Buffer, Segment};
use crate::layout::Place;
use crate::mechanics::Mechanics;
use crate::phase::{ActiveByWork, Stretch, Work};
use crate::spec::ReadAhead as Extent;

/// A run of sectors being read ahead on one track.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    /// When the arm began to move, when it was there, when the first sector began to pass.
    pub begun: u64,
    pub there: u64,
    pub first: u64,
    pub count: u32,
    pub done: u32,
    pub distance: u32,
    pub sector_ns: f64,
    /// See [`Mechanics::late_ns`].
    pub late: u64,
}

impl Run {
    /// The sectors that pass from `time` on without a movement or a wait.
    pub fn at_once(time: u64, count: u32, sector_ns: f64) -> Run {
        Run {
            begun: time,
            there: time,
            first: time,
            count,
            done: 0,
            distance: 0,
            sector_ns,
            late: 0,
        }
    }

    /// The same without what comes after so many sectors.
    #[inline]
    pub fn at_most(mut self, sectors: u64) -> Run {
        self.count = sectors.min(u64::from(self.count)) as u32;
        self
    }

    /// When so many sectors have passed.
    #[inline]
    fn at(&self, sectors: u32) -> u64 {
        self.first + Mechanics::pass_ns(sectors, self.sector_ns).saturating_sub(self.late)
    }

    /// What the assembly does for it, until `end`.
    #[inline]
    fn stretch(&self, end: u64) -> Stretch {
        Stretch {
            work: Work::ReadAhead,
            write: false,
            start: self.begun,
            distance: self.distance,
            there: self.there.min(end),
            first: self.first.min(end),
            end,
        }
    }
}

/// Read-ahead of one assembly.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadAhead {
    /// Under way; otherwise all else is stale.
    pub active: bool,
    pub segment: usize,
    /// Sector after the last one read.
    pub next: u64,
    /// Ends before this sector.
    pub limit: u64,
    /// Cannot be interrupted before this sector.
    pub at_least: u64,
    /// When the mechanism is free for the next run.
    pub time: u64,
    /// What it reads now, or first: known in advance where it goes on with what the command read.
    pub run: Option<Run>,
    /// Track (and cylinder) on which it began, for the rules that stop at their ends.
    pub cylinder: u32,
    pub head: u16,
}

impl ReadAhead {
    /// Whether it has begun a run by `now`.
    pub fn reads_at(&self, now: u64) -> bool {
        self.run.is_some_and(|run| run.begun < now)
    }

    /// Whether it has read or will read some of these sectors.
    pub fn touches(&self, segment: &Segment, start: u64, end: u64) -> bool {
        segment.start < end && start < self.limit.max(segment.end)
    }

    /// Starts the next run; false when there is none.
    fn next_run(&mut self, site: &mut Site, needed: u64) -> bool {
        let left = self.limit.max(needed).saturating_sub(self.next);
        let left = left.min(u64::from(u32::MAX)) as u32;
        if left == 0 {
            return false;
        }
        let mut place = Place::default();
        if !site.mechanics.layout.locate_into(self.next, &mut place) {
            return false;
        }
        if self.next >= needed && self.stops_before(site.cache.read_ahead, &place) {
            return false;
        }
        if !site.reaches(place.head) {
            return false;
        }
        self.run = Some(self.move_to(site, &place, left));
        true
    }

    /// Whether the drive reads on only to the end of a track or cylinder that lies before a place.
    fn stops_before(&self, extent: Extent, place: &Place) -> bool {
        match extent {
            Extent::TrackEnd => place.cylinder != self.cylinder || place.head != self.head,
            Extent::CylinderEnd => place.cylinder != self.cylinder,
            _ => false,
        }
    }

    /// Moves to a place and waits for it: the run of at most `left` sectors there.
    fn move_to(&mut self, site: &mut Site, place: &Place, left: u32) -> Run {
        let m = site.mechanics;
        let mechanism = &mut *site.mechanism;
        let before = *mechanism.arm();
        let arm = &mut mechanism.arms[mechanism.acting];
        let begun = self.time;
        let there = begun + m.move_ns(arm, place.cylinder, place.head, false);
        arm.cylinder = place.cylinder;
        arm.head = place.head;
        let wait = m.wait_ns(arm, place.angle, there);
        let first = there + wait;
        let late = match wait {
            0 => m.late_ns(arm, place.angle, there),
            _ => 0,
        };
        m.skip_rest(arm, place.angle, there);
        let paths = &site.all_paths[site.first_path..];
        mechanism.carry(paths, m.seek.cylinders(), &before, begun);
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

    /// The run is over: the mechanism is free for the next one.
    #[inline(always)]
    fn finish_run(&mut self, site: &mut Site, done: Stretch) {
        self.time = done.end;
        self.run = None;
        site.mechanism.timeline.add(site.now, done);
        // A read that waits for these sectors decides them in advance.
        site.mechanism.free = site.mechanism.free.max(done.end);
    }

    /// Reads ahead until `until`; true when it ended before.
    #[inline(always)]
    fn read_until(&mut self, site: &mut Site, until: u64) -> bool {
        loop {
            if self.run.is_none() {
                if self.time >= until {
                    return false;
                }
                if !self.next_run(site, 0) {
                    return true;
                }
            }
            let Some(run) = &mut self.run else {
                return true;
            };
            let end = run.at(run.count);
            let passed = if until > end {
                run.count
            } else if until <= run.first {
                0
            } else {
                // A sector counts only when it has passed completely.
                let whole =
                    ((until - run.first) as i64 as f64 / run.sector_ns + 1e-9) as i64 as u64;
                whole.min(run.count as u64) as u32
            };
            if passed > run.done {
                self.next += (passed - run.done) as u64;
                run.done = passed;
                site.buffer.segments.extend(self.segment, self.next);
            }
            if run.done < run.count {
                return false;
            }
            let stretch = run.stretch(end);
            self.finish_run(site, stretch);
        }
    }

    /// Continues until sector `past` is read, whatever the limit; returns when.
    /// `each(first_index, last_index, time of first, sector_ns)` sees every piece.
    pub fn read_to(
        &mut self,
        site: &mut Site,
        past: u64,
        mut each: impl FnMut(u64, u64, u64, f64),
    ) -> u64 {
        let mut end = self.time;
        while self.next < past {
            if self.run.is_none() && !self.next_run(site, past) {
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
                let stretch = run.stretch(end);
                self.finish_run(site, stretch);
            }
        }
        site.buffer.segments.extend(self.segment, self.next);
        end
    }

    /// Whether it cannot be interrupted yet.
    #[inline]
    pub fn must_read_on(&self) -> bool {
        self.next < self.at_least.min(self.limit)
    }

    /// Ends at `at`, where it may; returns when the mechanism is free, 0 if it is. The clock stands at
    /// `now`.
    #[inline(always)]
    pub fn stop(
        &mut self,
        now: u64,
        mechanism: &mut Mechanism,
        buffer: &mut Buffer,
        in_sector: bool,
        at: u64,
    ) -> u64 {
        self.active = false;
        let segment = &mut buffer.segments.list[self.segment];
        if at < segment.whole_track {
            segment.whole_track = Segment::NEVER;
        }
        // What is known in advance holds nobody up before it has begun.
        let Some(run) = self.run.as_ref().filter(|_| self.reads_at(now)) else {
            return 0;
        };
        let free = ReadAhead::run_stops(run, in_sector, at);
        let end = free.max(run.begun).min(run.at(run.count));
        mechanism.timeline.add(now, run.stretch(end));
        mechanism.free = mechanism.free.max(free);
        free
    }

    /// When a run that is to stop at `at` lets the mechanism go.
    pub fn run_stops(run: &Run, in_sector: bool, at: u64) -> u64 {
        if at < run.there {
            // A movement is always finished.
            run.there
        } else if in_sector {
            at
        } else if at < run.first {
            run.first
        } else {
            // The sector under the head is finished first.
            run.at(run.done + 1).min(run.at(run.count))
        }
    }
}

impl BackgroundJob for ReadAhead {
    #[inline]
    fn is_under_way(&self) -> bool {
        self.active
    }

    #[inline(always)]
    fn go_on(&mut self, site: &mut Site, until: u64) -> Option<u64> {
        if !self.read_until(site, until) {
            return None;
        }
        self.active = false;
        Some(self.time)
    }

    /// The run, at the latest: then the arm may move, and others with it.
    fn ends(&self) -> u64 {
        self.run.map_or(self.time, |run| run.at(run.count))
    }

    /// The mechanism is not asked for earlier than the clock, up to which everything was read.
    fn give_way(&mut self, site: &mut Site, mut at: u64) -> u64 {
        let mut forced = 0;
        if self.must_read_on() {
            let least = self.at_least.min(self.limit);
            forced = self.read_to(site, least, |_, _, _, _| {});
            at = at.max(forced);
        }
        let in_sector = site.cache.stop_read_ahead_in_sector;
        let free = self.stop(site.now, site.mechanism, site.buffer, in_sector, at);
        free.max(forced)
    }

    fn add_active(&self, until: u64, sum: &mut ActiveByWork) {
        if let (true, Some(run)) = (self.active, self.run) {
            let end = run.at(run.count);
            sum[Work::ReadAhead as usize].add(&run.stretch(end).part(until));
        }
    }

    fn begun(&self) -> u64 {
        match (self.active, self.run) {
            (true, Some(run)) => run.stretch(run.begun).start,
            _ => NEVER,
        }
    }
}
