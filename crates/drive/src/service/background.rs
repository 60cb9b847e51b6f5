//! What the mechanism does between commands: read-ahead, and writing buffered data out.

use super::{Busy, Core};
use crate::layout::Place;
use crate::mechanics::Mechanics;
use crate::spec::ReadAhead;

/// A run of sectors being read ahead on one track.
#[derive(Debug, Clone, Copy)]
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
    fn at(&self, sectors: u32) -> u64 {
        self.first + Mechanics::pass_ns(sectors, self.sector_ns)
    }
}

/// Read-ahead in progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadingAhead {
    pub segment: usize,
    /// Sector after the last one read.
    pub next: u64,
    /// Where that is, until the first run, if it is known.
    pub place: Option<Place>,
    /// Ends before this sector.
    pub limit: u64,
    /// Cannot be interrupted before this sector.
    pub at_least: u64,
    /// When the mechanism is free for the next run.
    pub time: u64,
    pub run: Option<Run>,
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
    Reading(ReadingAhead),
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
            Background::Reading(mut r) => {
                if self.read_ahead_until(&mut r, until) {
                    self.background = Background::None;
                } else {
                    self.background = Background::Reading(r);
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
    fn next_run(&mut self, r: &mut ReadingAhead, needed: u64) -> bool {
        if r.next >= r.limit.max(needed) {
            return false;
        }
        let known = r.place.take();
        let Some(place) = known.or_else(|| self.mechanics.layout.locate(r.next)) else {
            return false;
        };
        if !self.reaches(&place) {
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
        let arm = &mut self.arms[self.active];
        let seek = self
            .mechanics
            .move_ns(arm, place.cylinder, place.head, false);
        arm.cylinder = place.cylinder;
        arm.head = place.head;
        let there = r.time + seek;
        let first = there + self.mechanics.wait_ns(arm, place.angle, there);
        let phase = arm.angle;
        self.mechanics.skip_rest(arm, place.angle, there);
        self.keep_in_phase(phase);
        self.carry();
        let count = (place.run as u64).min(r.limit.max(needed) - r.next) as u32;
        r.run = Some(Run {
            begun: r.time,
            there,
            first,
            count,
            done: 0,
            sector_ns: place.sector_ns,
        });
        true
    }

    fn charge_run(&mut self, run: &Run, until: u64) {
        self.busy.seek += run.there.min(until) - run.begun.min(until);
        self.busy.rotation += run.first.min(until).saturating_sub(run.there);
        self.busy.transfer += run.at(run.count).min(until).saturating_sub(run.first);
    }

    /// Reads ahead until `until`; true when the limit is reached before.
    fn read_ahead_until(&mut self, r: &mut ReadingAhead, until: u64) -> bool {
        loop {
            if r.run.is_none() && (r.time >= until || !self.next_run(r, 0)) {
                return r.time < until;
            }
            let Some(mut run) = r.run else { return true };
            let passed = if until <= run.first {
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
                r.run = Some(run);
                return false;
            }
            r.time = run.at(run.count);
            r.run = None;
            self.charge_run(&run, u64::MAX);
        }
    }

    /// Continues read-ahead until sector `past` is read, whatever its limit; returns its time.
    /// `each(first_index, last_index, time of first, sector_ns)` sees every piece.
    pub(crate) fn read_ahead_to(
        &mut self,
        r: &mut ReadingAhead,
        past: u64,
        mut each: impl FnMut(u64, u64, u64, f64),
    ) -> u64 {
        let mut end = r.time;
        while r.next < past {
            if r.run.is_none() && !self.next_run(r, past) {
                break;
            }
            let Some(mut run) = r.run else { break };
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
                r.time = end;
                r.run = None;
                self.charge_run(&run, u64::MAX);
            } else {
                r.run = Some(run);
            }
        }
        let size = self.segments.size;
        let s = &mut self.segments.list[r.segment];
        s.end = s.end.max(r.next);
        s.bound(size);
        end
    }

    /// Stops read-ahead for a command at `at`; returns when the mechanism can be commanded.
    #[inline]
    pub(crate) fn stop_read_ahead(&mut self, at: u64) -> u64 {
        match self.background {
            Background::Reading(r) => self.stop_reading(r, at),
            _ => 0,
        }
    }

    /// Stops read-ahead for other work of the mechanism, which is free when it has stopped.
    pub(super) fn end_read_ahead(&mut self, at: u64) {
        let free = self.stop_read_ahead(at);
        self.mechanism_free = self.mechanism_free.max(free);
    }

    fn stop_reading(&mut self, mut r: ReadingAhead, at: u64) -> u64 {
        self.background = Background::None;
        let mut at = at;
        let least = r.at_least.min(r.limit);
        if r.next < least {
            at = at.max(self.read_ahead_to(&mut r, least, |_, _, _, _| {}));
        }
        if let Some((when, _)) = self.segments.list[r.segment].whole_track {
            if at < when {
                self.segments.list[r.segment].whole_track = None;
            }
        }
        let Some(run) = r.run else { return 0 };
        let free = self.run_stops(&run, at);
        self.charge_run(&run, free.max(run.begun));
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
