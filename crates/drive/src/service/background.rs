//! What the mechanism does between commands: read-ahead, and writing buffered data out.

use super::segments::Segment;
use super::{Busy, Core};
use crate::layout::Place;
use crate::mechanics::Mechanics;
use crate::spec::ReadAhead;

/// A run of sectors being read ahead on one track.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    /// When the arm began to move, when it was there, when the first sector began to pass.
    pub begun: u64,
    pub there: u64,
    pub first: u64,
    pub count: u32,
    pub done: u32,
    pub sector_ns: f64,
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
            sector_ns,
        }
    }

    #[inline]
    fn at(&self, sectors: u32) -> u64 {
        self.first + Mechanics::pass_ns(sectors, self.sector_ns)
    }
}

/// Read-ahead in progress.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReadingAhead {
    pub segment: usize,
    /// Sector after the last one read.
    pub next: u64,
    /// Ends before this sector.
    pub limit: u64,
    /// Cannot be interrupted before this sector.
    pub at_least: u64,
    /// When the mechanism is free for the next run.
    pub time: u64,
    pub run: Option<Run>,
    /// What the first run will be, where it goes on with what the command read.
    pub follows: Option<Run>,
    /// Track (and cylinder) on which it began, for the rules that stop at their ends.
    pub cylinder: u32,
    pub head: u16,
}

/// Data on their way from the buffer to the medium.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Destaging {
    pub segment: Option<usize>,
    pub start: u64,
    pub end: u64,
    pub past: u64,
    pub busy: Busy,
}

/// The one thing the mechanism does in the background.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Background {
    #[default]
    None,
    /// What is in [`Core::ahead`].
    Reading,
    Writing(Destaging),
}

impl Core {
    /// Brings the background up to time `until`.
    #[inline]
    pub(crate) fn run_background(&mut self, until: u64) {
        self.run_own_background(until);
        if self.together.is_some() {
            self.run_others(until);
        }
    }

    /// The acting assembly's part of [`Core::run_background`].
    #[inline]
    pub(super) fn run_own_background(&mut self, until: u64) {
        if !matches!(self.background, Background::None) || !self.dirty.is_empty() {
            self.run_some_background(until);
        }
    }

    fn run_some_background(&mut self, until: u64) {
        match self.background {
            Background::None => {}
            Background::Writing(w) => {
                if w.end <= until {
                    self.end_destage(w);
                }
            }
            Background::Reading => {
                if self.read_ahead_until(until) {
                    self.background = Background::None;
                }
            }
        }
        if !self.dirty.is_empty() {
            self.run_destaging(until);
            // The last of them may have ended by now too.
            match self.background {
                Background::Writing(w) if w.end <= until => self.end_destage(w),
                _ => {}
            }
        }
    }

    pub(crate) fn end_destage(&mut self, w: Destaging) {
        self.busy.add(&w.busy);
        self.destage_free = w.end;
        self.background = Background::None;
        if let Some(i) = w.segment {
            let keep = self.cache.read_hits_on_written && !self.segments.separate_write;
            if !keep {
                self.segments.list[i].clear();
            }
        }
    }

    /// Starts the next run of read-ahead; false when there is none.
    fn next_run(&mut self, needed: u64) -> bool {
        let r = &mut self.ahead;
        let left = r.limit.max(needed).saturating_sub(r.next);
        let left = left.min(u64::from(u32::MAX)) as u32;
        if left == 0 {
            return false;
        }
        if let Some(mut run) = r.follows.take() {
            run.count = run.count.min(left);
            r.run = Some(run);
            return true;
        }
        let mut place = Place::default();
        if !self.mechanics.layout.locate_into(r.next, &mut place) {
            return false;
        }
        if r.next >= needed {
            let moved = match self.cache.read_ahead {
                ReadAhead::TrackEnd => place.cylinder != r.cylinder || place.head != r.head,
                ReadAhead::CylinderEnd => place.cylinder != r.cylinder,
                _ => false,
            };
            if moved {
                return false;
            }
        }
        if !self.reaches(&place) {
            return false;
        }
        let begun = self.ahead.time;
        let arm = &mut self.arms[self.active];
        let seek = self
            .mechanics
            .move_ns(arm, place.cylinder, place.head, false);
        arm.cylinder = place.cylinder;
        arm.head = place.head;
        let there = begun + seek;
        let first = there + self.mechanics.wait_ns(arm, place.angle, there);
        let phase = arm.angle;
        self.mechanics.skip_rest(arm, place.angle, there);
        self.keep_in_phase(phase);
        self.carry();
        self.ahead.run = Some(Run {
            begun,
            there,
            first,
            count: place.run.min(left),
            done: 0,
            sector_ns: place.sector_ns,
        });
        true
    }

    /// The run of read-ahead is over at `end`: its time is booked, the mechanism is free.
    #[inline]
    fn finish_run(&mut self, run: &Run, end: u64) {
        self.ahead.time = end;
        self.ahead.run = None;
        self.busy.seek += run.there - run.begun;
        self.busy.rotation += run.first - run.there;
        self.busy.transfer += end - run.first;
    }

    /// Reads ahead until `until`; true when the limit is reached before.
    fn read_ahead_until(&mut self, until: u64) -> bool {
        loop {
            if self.ahead.run.is_none() {
                if self.ahead.time >= until {
                    return false;
                }
                if !self.next_run(0) {
                    return true;
                }
            }
            let r = &mut self.ahead;
            let Some(run) = &mut r.run else { return true };
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
                r.next += (passed - run.done) as u64;
                run.done = passed;
                let size = self.segments.size;
                let s = &mut self.segments.list[r.segment];
                s.end = r.next;
                s.bound(size);
            }
            if run.done < run.count {
                return false;
            }
            let run = *run;
            self.finish_run(&run, end);
        }
    }

    /// Continues read-ahead until sector `past` is read, whatever its limit; returns its time.
    /// `each(first_index, last_index, time of first, sector_ns)` sees every piece.
    pub(crate) fn read_ahead_to(
        &mut self,
        past: u64,
        mut each: impl FnMut(u64, u64, u64, f64),
    ) -> u64 {
        let mut end = self.ahead.time;
        while self.ahead.next < past {
            if self.ahead.run.is_none() && !self.next_run(past) {
                break;
            }
            let r = &mut self.ahead;
            let Some(run) = &mut r.run else { break };
            let take = ((past - r.next).min((run.count - run.done) as u64)) as u32;
            each(
                r.next,
                r.next + take as u64,
                run.at(run.done),
                run.sector_ns,
            );
            r.next += take as u64;
            run.done += take;
            end = run.at(run.done);
            if run.done == run.count {
                let run = *run;
                self.finish_run(&run, end);
            }
        }
        let size = self.segments.size;
        let s = &mut self.segments.list[self.ahead.segment];
        s.end = s.end.max(self.ahead.next);
        s.bound(size);
        end
    }

    /// Stops read-ahead for a command at `at`; returns when the mechanism can be commanded.
    #[inline]
    pub(crate) fn stop_read_ahead(&mut self, at: u64) -> u64 {
        match self.background {
            Background::Reading => self.stop_reading(at),
            _ => 0,
        }
    }

    /// Stops read-ahead for other work of the mechanism, which is free when it has stopped.
    pub(super) fn end_read_ahead(&mut self, at: u64) {
        let free = self.stop_read_ahead(at);
        self.mechanism_free = self.mechanism_free.max(free);
    }

    fn stop_reading(&mut self, mut at: u64) -> u64 {
        self.background = Background::None;
        let least = self.ahead.at_least.min(self.ahead.limit);
        if self.ahead.next < least {
            at = at.max(self.read_ahead_to(least, |_, _, _, _| {}));
        }
        let segment = &mut self.segments.list[self.ahead.segment];
        if at < segment.whole_track {
            segment.whole_track = Segment::NEVER;
        }
        let Some(run) = self.ahead.run else { return 0 };
        let free = self.run_stops(&run, at);
        let until = free.max(run.begun);
        self.busy.seek += run.there.min(until) - run.begun;
        self.busy.rotation += run.first.min(until).saturating_sub(run.there);
        self.busy.transfer += run.at(run.count).min(until).saturating_sub(run.first);
        free
    }

    /// When a run of read-ahead that is to stop at `at` lets the mechanism go.
    pub(super) fn run_stops(&self, run: &Run, at: u64) -> u64 {
        if at < run.there {
            // A movement is always finished.
            run.there
        } else if self.cache.stop_read_ahead_in_sector {
            at
        } else if at < run.first {
            run.first
        } else {
            // The sector under the head is finished first.
            run.at(run.done + 1).min(run.at(run.count))
        }
    }
}
