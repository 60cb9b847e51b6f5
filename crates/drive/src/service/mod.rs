//! How a drive serves one command: buffer, link, mechanics, and what goes on in the background.
//!
//! # Model
//! One command is in service at a time. Commands pay overheads that depend on kind, hit or miss
//! and the direction of the previous command; link and medium overlap sector by sector; read-ahead
//! and destaging occupy the mechanism between commands and are interrupted as the drive would.
//! # Source
//! DiskSim 4.0's disk module as observed from outside (per-request equality on its validation
//! traces), with the two parameter groups that it leaves inert honoured unless `compat` is set.
//! # Validity
//! The link is private to the drive. With one command in service commands do not overlap on it;
//! assemblies that work together are limited by data channels, not by the link, read-ahead yields
//! its channel, and data that another assembly is still reading count as absent. Command decoding
//! of the next command is not hidden behind the present one.

mod arms;
mod background;
mod channels;
mod pass;
mod read;
mod segments;
#[cfg(test)]
mod tests;
mod timing;
mod write;

use crate::drive::{Completion, Components};
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::parallelism::{Parking, Path, UnitPlan};
use crate::spec::{CacheSpec, Destage, DriveSpec};
use arms::Together;
use background::{Background, ReadingAhead};
use headstack_engine::SpecError;
use headstack_units::Time;
use pass::Scratch;
use segments::Segments;
use timing::Timing;

/// Nanoseconds that the mechanism spent in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Busy {
    pub seek: u64,
    pub rotation: u64,
    pub transfer: u64,
}

impl Busy {
    pub fn add(&mut self, other: &Busy) {
        self.seek += other.seek;
        self.rotation += other.rotation;
        self.transfer += other.transfer;
    }
}

/// A command as the service sees it: physical sectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    pub start: u64,
    pub sector: u64,
    pub count: u32,
    /// Some sectors are written in part: they are read first.
    pub partial: bool,
    /// Where the first sector lies, where the queue knows it already.
    pub place: Option<&'a Place>,
    /// Cylinder that the arm goes to first.
    pub via: Option<u32>,
}

impl Task<'_> {
    #[inline]
    fn past(&self) -> u64 {
        self.sector + self.count as u64
    }
}

/// Unwritten data waiting for the mechanism.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dirty {
    pub start: u64,
    pub end: u64,
    pub ready: u64,
    pub partial: bool,
}

/// Everything that serves commands.
pub(crate) struct Core {
    pub mechanics: Mechanics,
    /// Head sets, those of one assembly next to each other, and what each reaches.
    pub arms: Vec<Arm>,
    pub paths: Vec<Path>,
    /// The one that acts.
    pub active: usize,
    /// Some path does not reach everything.
    pub restricted: bool,
    linked: bool,
    follow: bool,
    together: Option<Together>,
    /// Buffered writes whose place nothing reaches any more.
    pub lost_writes: u64,
    pub cache: CacheSpec,
    pub segments: Segments,
    pub background: Background,
    /// Where the background reads: stale otherwise.
    pub ahead: ReadingAhead,
    pub dirty: Vec<Dirty>,
    pub busy: Busy,
    pub compat: bool,
    pub previous_write: bool,
    pub previous_end: u64,
    /// When the last foreground pass ended.
    pub mechanism_free: u64,
    /// When the last destage ended.
    pub destage_free: u64,
    timing: Timing,
    scratch: Scratch,
}

impl Core {
    /// `limit` is the number of commands in service at once.
    pub fn new(
        spec: &DriveSpec,
        plan: &UnitPlan,
        mechanics: Mechanics,
        limit: usize,
        compat: bool,
    ) -> Result<Core, SpecError> {
        let c = &spec.cache;
        if c.enabled && !(1..=65_536).contains(&c.segments) {
            return Err(SpecError::new("cache.segments", c.segments, "1 to 65536"));
        }
        if c.enabled && c.segment_sectors == 0 {
            return Err(SpecError::new("cache.segment_sectors", 0, "1 or more"));
        }
        if c.enabled && c.separate_write_segment && c.segments < 2 {
            return Err(SpecError::new(
                "cache.segments",
                c.segments,
                "2 or more, one of which is for writes (separate_write_segment)",
            ));
        }
        if !(0.0..=1.0).contains(&c.read_watermark) {
            return Err(SpecError::new(
                "cache.read_watermark",
                c.read_watermark,
                "0 to 1",
            ));
        }
        if c.write_back && c.write_segments == 0 {
            return Err(SpecError::new(
                "cache.write_segments",
                0,
                "1 or more with write_back",
            ));
        }
        let (paths, arms) = arms::paths(spec, plan)?;
        Ok(Core {
            mechanics,
            active: 0,
            restricted: arms::restricted(&paths),
            linked: arms::linked(spec, &paths),
            follow: spec.parallelism.parking == Parking::Follow,
            together: arms::together(spec, plan, &paths, limit),
            lost_writes: 0,
            arms,
            paths,
            segments: Segments::new(
                if c.enabled { c.segments as usize } else { 0 },
                c.segment_sectors as u64,
                c.enabled && c.separate_write_segment,
            ),
            background: Background::None,
            ahead: ReadingAhead::default(),
            dirty: Vec::new(),
            busy: Busy::default(),
            compat,
            previous_write: false,
            previous_end: u64::MAX,
            mechanism_free: 0,
            destage_free: 0,
            timing: Timing::new(spec)?,
            cache: c.clone(),
            scratch: Scratch::default(),
        })
    }

    /// Writes that complete in the buffer and wait there for the mechanism, instead of starting
    /// on the medium while their data still arrive.
    fn deferred_writes(&self) -> bool {
        self.cache.write_back && self.cache.destage == Destage::Idle
    }

    /// Earliest start of a movement for a command that begins now, for reads and writes; and how
    /// much later the acting arm starts, because it first finishes what it does in the background.
    /// The background must have been brought up to `now`.
    pub fn earliest_moves(&self, now: u64) -> ([u64; 2], [u64; 2]) {
        let p = self.previous_write;
        let t = &self.timing;
        let ready = [now + t.read_miss.of(p), now + t.write.of(p)];
        match &self.background {
            Background::None => (ready, [0, 0]),
            Background::Writing(w) if self.together.is_none() => {
                // Whichever arm serves, the data on their way to the medium come first.
                (ready.map(|r| r.max(w.end)), [0, 0])
            }
            Background::Writing(w) => (ready, ready.map(|r| w.end.saturating_sub(r))),
            Background::Reading => {
                let free = self.ahead.run.map_or(0, |run| self.run_stops(&run, now));
                let delay = |ready: u64| {
                    if self.compat {
                        free.saturating_sub(now)
                    } else {
                        free.saturating_sub(ready)
                    }
                };
                (ready, ready.map(delay))
            }
        }
    }

    /// Whether a read would be served from the buffer alone at `now`.
    pub fn would_hit(&self, now: u64, sector: u64, past: u64) -> bool {
        self.segments
            .find(sector)
            .is_some_and(|i| self.segments.list[i].end >= past && self.visible(i, now))
            || self
                .dirty
                .iter()
                .any(|d| d.start <= sector && past <= d.end)
    }

    /// Whether a read would go on with what is being read ahead, without a movement of its own.
    pub fn would_join(&self, now: u64, sector: u64) -> bool {
        let r = &self.ahead;
        self.is_reading_ahead() && self.visible(r.segment, now) && {
            let held = self.segments.list[r.segment].start <= sector && sector < r.next;
            held || (self.cache.almost_hits && r.next == sector && r.run.is_some())
        }
    }

    #[inline]
    fn is_reading_ahead(&self) -> bool {
        matches!(self.background, Background::Reading)
    }

    /// Whether the read-ahead in progress has read or will read some of these sectors.
    fn reads_ahead_into(&self, start: u64, end: u64) -> bool {
        self.is_reading_ahead() && {
            let s = &self.segments.list[self.ahead.segment];
            s.start < end && start < self.ahead.limit.max(s.end)
        }
    }

    /// Whether a segment's data are there: not while another assembly's command still reads them.
    #[inline]
    fn visible(&self, segment: usize, now: u64) -> bool {
        self.together.is_none() || self.segments.list[segment].visible_at <= now
    }

    /// When the mechanism may be commanded: `compat` adds what a stopped read-ahead still needs to
    /// the overhead, as DiskSim does; otherwise both run in parallel.
    fn command_mechanism(&mut self, at: u64, ready: u64) -> u64 {
        let free = self.stop_read_ahead(at);
        if self.compat {
            ready + free.saturating_sub(at)
        } else {
            ready.max(free)
        }
    }

    /// Waits for data on their way to the medium; returns when they are there.
    fn finish_destage(&mut self) -> Option<u64> {
        match self.background {
            Background::Writing(w) => {
                self.end_destage(w);
                Some(w.end)
            }
            _ => None,
        }
    }

    /// Makes sure that everything written is on the medium.
    pub fn flush(&mut self, at: u64) -> Completion {
        self.run_background(at);
        let mut end = at;
        let stopped = self.stop_read_ahead(at);
        end = end.max(if self.dirty.is_empty() { at } else { stopped });
        loop {
            if let Some(e) = self.finish_destage() {
                end = end.max(e);
            }
            if self.dirty.is_empty() {
                break;
            }
            self.start_destage(end, |_| true);
        }
        Completion {
            completion: Time(end),
            components: Components {
                queue: end - at,
                ..Components::default()
            },
            cache_hit: end == at,
            mechanical: end > at,
            ..Completion::default()
        }
    }

    /// Whether work remains that no command waits for.
    pub fn destage_pending(&self) -> bool {
        !self.dirty.is_empty() || matches!(self.background, Background::Writing(_))
    }

    /// Time in each state up to `until`, background work in progress included.
    pub fn busy_until(&mut self, until: u64) -> Busy {
        self.run_background(until);
        let mut busy = self.busy;
        busy.add(&self.unbooked(until));
        if self.together.is_some() {
            busy.add(&self.unbooked_others(until));
        }
        busy
    }

    /// The time of background work in progress, up to `until`.
    fn unbooked(&self, until: u64) -> Busy {
        let mut busy = Busy::default();
        match &self.background {
            Background::Writing(w) if w.end > until && w.end > w.start => {
                // In progress: its shares in proportion to the time that has passed.
                let share = until.saturating_sub(w.start) as f64 / (w.end - w.start) as f64;
                busy.seek += (w.busy.seek as f64 * share) as u64;
                busy.rotation += (w.busy.rotation as f64 * share) as u64;
                busy.transfer += (w.busy.transfer as f64 * share) as u64;
            }
            Background::Reading => {
                if let Some(run) = self.ahead.run {
                    busy.seek += run.there.min(until) - run.begun.min(until);
                    busy.rotation += run.first.min(until).saturating_sub(run.there);
                    busy.transfer += until.saturating_sub(run.first);
                }
            }
            _ => {}
        }
        busy
    }
}
