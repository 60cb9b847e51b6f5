//! How a drive serves one command: buffer, link, mechanics, and what goes on in the background.
//!
//! # Model
//! A command's processing begins when it reaches the drive, beside whatever the mechanism does; only
//! what is not done when its turn comes delays it. What processing takes depends on the kind of command,
//! hit or miss, and the direction of the command that arrived before. Link and medium overlap sector
//! by sector; jobs in the background use the mechanism between commands and give way as the drive
//! would.
//! # Source
//! DiskSim 4.0's disk module as observed from outside (per-request equality on its validation
//! traces), with the two parameter groups that it leaves inert honoured unless `compat` is set.
//! # Validity
//! The link is private to the drive. With one command in service commands do not overlap on it;
//! assemblies that work together are limited by data channels, not by the link, read-ahead yields
//! its channel, and data that another assembly is still reading count as absent.

pub(crate) mod assemblies;
pub(crate) mod channels;
pub(crate) mod pass;
mod read;
#[cfg(test)]
mod tests;
mod timing;
mod write;

use crate::assembly::Assembly;
use crate::background::read_ahead::ReadAhead;
use crate::background::{BackgroundJob, Jobs, Site, NEVER};
use crate::buffer::{Blocks, Buffer, Segments, Unwritten};
use crate::command::{Completion, Components};
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::parallelism::{Path, UnitPlan};
use crate::phase::{ActiveByWork, Phase};
use crate::spec::{CacheSpec, Destage, DriveSpec};
use channels::Channels;
use headstack_engine::SpecError;
use headstack_units::Time;
use pass::Scratch;
use timing::Timing;

/// A command as the service sees it: physical sectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    /// When its turn has come.
    pub start: u64,
    /// Since when it is processed, and whether the command that arrived before it was a write.
    pub decoding_since: u64,
    pub after_write: bool,
    pub sector: u64,
    pub count: u32,
    /// The blocks that the host asked for.
    pub blocks: Blocks,
    /// How many of its sectors are written in part, and therefore read first: the first, the last.
    pub partial: u32,
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

    /// When processing that takes `overhead` is done, not before the command's turn.
    #[inline]
    fn decoded(&self, overhead: u64) -> u64 {
        self.start.max(self.decoding_since + overhead)
    }
}

/// Everything that serves commands.
pub(crate) struct Core {
    pub mechanics: Mechanics,
    pub assemblies: Vec<Assembly>,
    /// The one that served last, or serves.
    pub acting: usize,
    /// What each head set reaches, those of one assembly next to each other.
    pub paths: Vec<Path>,
    /// Head sets of an assembly.
    pub sets: usize,
    /// Some head set does not reach everything.
    pub restricted: bool,
    /// Commands in service at once.
    pub at_once: usize,
    /// Where channels are fewer than commands in service.
    channels: Option<Channels>,
    /// Movements of one assembly move or turn the others.
    coupled: bool,
    /// Idle assemblies follow the one that works.
    follows: bool,
    pub cache: CacheSpec,
    pub buffer: Buffer,
    pub compat: bool,
    pub previous_write: bool,
    pub previous_end: u64,
    /// Since when a command waits for the mechanism.
    pub wanted_since: u64,
    /// When something last happened that may make a job in the background due.
    happened: u64,
    /// Nothing is asked about earlier times any more.
    clock: u64,
    timing: Timing,
    scratch: Scratch,
}

impl Core {
    /// `at_once` is the number of commands in service at once.
    pub fn new(
        spec: &DriveSpec,
        plan: &UnitPlan,
        mechanics: Mechanics,
        at_once: usize,
        compat: bool,
    ) -> Result<Core, SpecError> {
        let sector = spec.geometry.sector_size.0;
        let shift = (sector / 512).trailing_zeros();
        let (paths, arms) = assemblies::head_sets(spec, plan)?;
        let follows = Core::follows(spec, plan);
        let coupled = follows || (mechanics.scales_rotation() && plan.arms.len() > 1);
        let channels = assemblies::channels(spec, at_once);
        let c = &spec.cache;
        Ok(Core {
            mechanics,
            acting: 0,
            restricted: assemblies::restricted(&paths),
            sets: paths.len() / plan.arms.len(),
            assemblies: assemblies::at_rest(arms, plan.arms.len(), coupled),
            at_once,
            channels,
            coupled,
            follows,
            paths,
            buffer: Buffer {
                segments: Segments::new(
                    if c.enabled { c.segments as usize } else { 0 },
                    c.segment_sectors as u64,
                    c.enabled && c.separate_write_segment,
                ),
                unwritten: Unwritten::new(c, shift),
                shift,
                ..Buffer::default()
            },
            compat,
            previous_write: false,
            previous_end: u64::MAX,
            wanted_since: NEVER,
            happened: 0,
            clock: 0,
            timing: Timing::new(spec)?,
            cache: c.clone(),
            scratch: Scratch::default(),
        })
    }

    /// Assembly `a` with what the drive has only once, and its jobs.
    #[inline(always)]
    pub fn site(&mut self, a: usize) -> (Site<'_>, &mut Jobs) {
        let assembly = &mut self.assemblies[a];
        let site = Site {
            now: self.clock,
            mechanics: &self.mechanics,
            cache: &self.cache,
            all_paths: &self.paths,
            first_path: a * self.sets,
            restricted: self.restricted,
            wanted_since: self.wanted_since,
            happened: self.happened,
            mechanism: &mut assembly.mechanism,
            buffer: &mut self.buffer,
            scratch: &mut self.scratch,
            channels: self.channels.as_mut(),
        };
        (site, &mut assembly.jobs)
    }

    /// The head set that acts.
    #[inline]
    pub fn arm(&self) -> &Arm {
        self.assemblies[self.acting].mechanism.arm()
    }

    fn jobs(&self) -> &Jobs {
        &self.assemblies[self.acting].jobs
    }

    /// A command, data or a change of the drive come at `now`. What they make due in the background begins
    /// then or later; all that was due before has begun.
    #[inline]
    pub fn happens(&mut self, now: u64) {
        self.run_background(now);
        self.happened = self.happened.max(now);
    }

    /// Brings the background up to time `until`. How often somebody asks changes nothing.
    #[inline]
    pub fn run_background(&mut self, until: u64) {
        if until <= self.clock {
            return;
        }
        self.clock = until;
        if self.at_once > 1 {
            return self.run_together(until);
        }
        if self.assemblies[self.acting].jobs.any_under_way() || self.buffer.unwritten.waits() {
            self.run_assembly(self.acting, until);
        }
    }

    #[inline(never)]
    fn run_assembly(&mut self, a: usize, until: u64) {
        if self.restricted && self.buffer.unwritten.waits() {
            return self.run_in_turn(until);
        }
        let (mut site, jobs) = self.site(a);
        jobs.run(&mut site, until);
        self.couple(a);
    }

    /// Writes that complete in the buffer and wait there for the mechanism, instead of starting
    /// on the medium while their data still arrive.
    pub fn deferred_writes(&self) -> bool {
        self.cache.write_back && self.cache.destage == Destage::Idle
    }

    /// When an assembly may begin to move for a command that is taken at `now`, and how much later the
    /// acting one may, as schedulers reckon: data on their way to the medium come first, and read-ahead
    /// is stopped. Where there is one assembly the time that stopping takes is not foreseen, as in
    /// DiskSim. The background must have been brought up to `now`.
    pub fn earliest_moves(&self, now: u64) -> (u64, u64) {
        let writing = self.writing_until();
        if self.assemblies.len() == 1 {
            return (now.max(writing), 0);
        }
        let r = &self.jobs().read_ahead;
        let stopped = match r.run {
            Some(run) if self.reading_ahead() => {
                ReadAhead::run_stops(&run, self.cache.stop_read_ahead_in_sector, now)
            }
            _ => 0,
        };
        let free = now.max(writing).max(stopped);
        if self.at_once == 1 {
            (free, 0)
        } else {
            (now, free - now)
        }
    }

    /// Whether a write goes on with the data that are on their way to the medium.
    pub fn continues_writing(&self, sector: u64) -> bool {
        let writing = self.jobs().destage.writing;
        self.cache.append_writes && writing.is_some_and(|w| w.past == sector)
    }

    /// When the data that the acting assembly writes are on the medium; 0 if there are none.
    #[inline]
    pub fn writing_until(&self) -> u64 {
        self.jobs().destage.writing.map_or(0, |w| w.end)
    }

    /// Whether a read would be served from the buffer alone at `now`.
    pub fn would_hit(&self, now: u64, sector: u64, past: u64, blocks: Blocks) -> bool {
        let segments = &self.buffer.segments;
        segments
            .find(sector)
            .is_some_and(|i| segments.list[i].end >= past && self.visible(i, now))
            || self.buffer.unwritten.covers(blocks, now)
    }

    /// Whether a read would go on with what is being read ahead, without a movement of its own.
    pub fn would_join(&self, now: u64, sector: u64) -> bool {
        let r = &self.jobs().read_ahead;
        self.reading_ahead() && self.visible(r.segment, now) && {
            let held = self.buffer.segments.list[r.segment].start <= sector && sector < r.next;
            held || (self.cache.almost_hits && r.next == sector && r.reads_at(now))
        }
    }

    /// Whether the acting assembly reads ahead.
    #[inline]
    fn reading_ahead(&self) -> bool {
        self.jobs().read_ahead.is_under_way()
    }

    /// Whether a segment's data are there: not while another assembly's command still reads them.
    #[inline]
    fn visible(&self, segment: usize, now: u64) -> bool {
        self.at_once == 1 || self.buffer.segments.list[segment].visible_at <= now
    }

    /// When the mechanism may be commanded by a command that is decoded at `ready`: `compat` adds
    /// what a stopped read-ahead still needs to the overhead, as DiskSim does; otherwise both run
    /// side by side.
    fn command_mechanism(&mut self, at: u64, ready: u64) -> u64 {
        let free = self.stop_read_ahead(at);
        let ready = if self.compat {
            ready + free.saturating_sub(at)
        } else {
            ready.max(free)
        };
        ready.max(self.assemblies[self.acting].mechanism.free)
    }

    /// Waits for data on their way to the medium; returns when they are there.
    fn finish_destage(&mut self) -> Option<u64> {
        self.jobs().destage.writing?;
        let (mut site, jobs) = self.site(self.acting);
        jobs.destage.finish(&mut site).map(|w| w.end)
    }

    /// Makes sure that everything written is on the medium. Nothing is on the link.
    pub fn flush(&mut self, at: u64) -> Completion {
        self.happens(at);
        self.buffer.unwritten.settle(at);
        let acting = self.acting;
        let mut end = self.flush_assembly(acting, at, at);
        let one = self.at_once == 1;
        for a in (0..self.assemblies.len()).filter(|a| *a != acting) {
            if one && self.buffer.unwritten.dirty.is_empty() {
                break;
            }
            if one {
                // Data that the assemblies before it do not reach.
                self.take_over(self.number_of(a, 0), end);
                end = self.flush_assembly(a, at, end);
            } else {
                end = end.max(self.flush_assembly(a, at, at));
            }
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

    /// Has an assembly write what it reaches from `end` on, for a flush that came at `at`; returns when
    /// that is done.
    fn flush_assembly(&mut self, a: usize, at: u64, mut end: u64) -> u64 {
        let stopped = self.end_read_ahead_of(a, at);
        if !self.buffer.unwritten.dirty.is_empty() {
            end = end.max(stopped);
        }
        loop {
            let (mut site, jobs) = self.site(a);
            if let Some(w) = jobs.destage.finish(&mut site) {
                end = end.max(w.end);
            }
            if site.buffer.unwritten.dirty.is_empty() || !jobs.destage.send(&mut site, end, true) {
                return end;
            }
            self.couple(a);
        }
    }

    /// Whether work remains that no command waits for.
    pub fn destage_pending(&self) -> bool {
        self.buffer.unwritten.waits()
            || self
                .assemblies
                .iter()
                .any(|a| a.jobs.destage.writing.is_some())
    }

    /// Adds the time in each active state up to `until`, all assemblies together.
    pub fn add_active(&mut self, until: u64, sum: &mut ActiveByWork) {
        self.run_background(until);
        self.scan_on(until);
        for a in &self.assemblies {
            a.mechanism.timeline.add_active(until, sum);
            a.jobs.add_active(until, sum);
        }
    }

    /// Tells every phase that has not been told yet; `first` is the number of the first assembly.
    pub fn tell(&mut self, first: u32, sink: &mut dyn FnMut(&Phase)) {
        let settle = self.mechanics.write_settle_ns().max(0) as u64;
        for (a, number) in self.assemblies.iter_mut().zip(first..) {
            a.mechanism.timeline.tell(number, settle, sink);
        }
    }
}
