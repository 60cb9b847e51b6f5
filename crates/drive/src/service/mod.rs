//! How a drive serves one command: buffer, link, mechanics and background work.
//!
//! # Model
//! The processing of a command begins when it reaches the drive, while the mechanism may serve other
//! commands. Only the part that is not done when the command's turn comes delays it. Processing time depends
//! on the kind of command, on hit or miss, and on the direction of the command that arrived before. Link and
//! medium overlap sector by sector. Background jobs use the mechanism between commands and give way as the
//! drive would.
//! # Source
//! DiskSim 4.0's disk module as observed from outside (equal for each request of its validation traces). The
//! two parameter groups that DiskSim ignores are honoured unless `compat` is set.
//! # Validity
//! The link is private to the drive. With one command in service, commands do not overlap on it. Assemblies
//! that work at the same time are limited by data channels, not by the link. Read-ahead yields its channel.
//! Data that another assembly is still reading count as absent.

pub(crate) mod assemblies;
pub mod channels;
pub mod pass;
mod read;
mod timing;
mod write;

use crate::assembly::Assembly;
use crate::background::media_scan::Scanning;
use crate::background::read_ahead::ReadAhead;
use crate::background::{Activity, JobContext, Jobs, Times};
use crate::buffer::{Blocks, Buffer, SectorSize};
use crate::command::{Command, Completion, Components};
use crate::layout::Place;
use crate::mapping::{self, From, Mapping};
use crate::mechanics::{Arm, Mechanics};
use crate::models::Models;
use crate::parallelism::HeadSet;
use crate::phase::{ActiveByWork, ActiveTime, Phase};
use crate::roles::RoleTable;
use crate::spec::{CacheSpec, Destage, DriveSpec};
use crate::unit_plan::UnitPlan;
use channels::Channels;
use headstack_engine::SpecError;
use headstack_units::{Span, Time};
use pass::Scratch;
use std::sync::Arc;
use timing::Timing;

// Kinds of units. What a unit consists of is known when it is built, and the service of a command is compiled for each
// kind, so that most questions are not asked for every command of a usual drive.

/// A command is one pass and nothing else: no buffer, no background work, places as in the layout, and no assembly
/// depends on another. Only usual commands are served by this code (`CommandServer::is_usual`).
pub const BARE: u8 = 0;
/// As [`BARE`], with segments. The background is read-ahead, and writes that go to the medium at once.
pub const CACHED: u8 = 1;
/// As [`CACHED`], also where writes wait in the buffer for an idle mechanism, or sectors are taken in the order in which
/// they pass. The unit has one assembly.
pub const BUFFERED: u8 = 2;
/// Everything else.
pub const GENERAL: u8 = 3;

/// A command as the service sees it, in physical sectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task<'a> {
    /// When its turn came.
    pub start: Time,
    /// When its processing began, and whether the command that arrived before it was a write.
    pub decoding_since: Time,
    pub after_write: bool,
    pub sector: u64,
    pub count: u32,
    /// The 512-byte blocks that the host asked for.
    pub blocks: Blocks,
    /// How many of its first and last sectors are written in part and must be read before: 0 to 2.
    pub partial: u32,
    /// The place of the first sector, if the queue knows it.
    pub place: Option<&'a Place>,
    /// A cylinder to which the arm moves first (SCAN).
    pub reversal_cylinder: Option<u32>,
}

impl Task<'_> {
    #[inline]
    fn past(&self) -> u64 {
        self.sector + self.count as u64
    }

    /// When processing that takes `overhead` is done, but not before the command's turn.
    #[inline]
    fn decoded(&self, overhead: Span) -> Time {
        self.start.max(self.decoding_since.after(overhead))
    }
}

/// The command that was served last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Previous {
    /// Whether it was a write.
    pub write: bool,
    /// The sector after its last one.
    pub end: u64,
}

/// The assemblies of a unit, and how they work together.
pub(crate) struct Arms {
    pub assemblies: Vec<Assembly>,
    /// Number of assemblies that serve commands and write buffered data. One that only scans the medium is the last.
    pub serving: usize,
    pub scanning: Scanning,
    /// The assembly that serves, or served last.
    pub active: usize,
    /// What each head set reaches. Those of one assembly are adjacent.
    pub head_sets: Vec<HeadSet>,
    /// Head sets per assembly.
    pub sets: usize,
    /// Whether some head set does not reach all places.
    pub restricted: bool,
    /// Most commands in service at once.
    pub at_once: usize,
    /// Set if there are fewer channels than commands in service.
    channels: Option<Channels>,
    /// Whether movements of one assembly affect the others.
    coupled: bool,
    /// Whether idle assemblies follow the one that works.
    pub follows: bool,
}

/// What the units of all drives of a design have in common. It stands in the memory once, so that a run with many drives
/// finds it in the processor's cache.
pub(crate) struct Shared {
    pub cache: CacheSpec,
    timing: Timing,
}

impl Shared {
    /// # Errors
    /// A link rate that is not above zero, by dotted key.
    pub fn new(spec: &DriveSpec) -> Result<Shared, SpecError> {
        Ok(Shared { cache: spec.cache.clone(), timing: Timing::new(spec)? })
    }
}

/// The part of a unit that serves commands.
// In this order in memory: what each command needs is together (docs/design/decisions.md, closed loops).
#[repr(C)]
pub(crate) struct CommandServer {
    /// Which code serves commands: [`BARE`], [`CACHED`], [`BUFFERED`] or [`GENERAL`].
    pub kind: u8,
    /// Whether an assembly cleans a log or a cache on the medium, or writes checkpoints.
    cleans: bool,
    pub compat: bool,
    pub times: Times,
    pub previous: Previous,
    pub shared: Arc<Shared>,
    pub mapping: Mapping,
    pub arms: Arms,
    pub mechanics: Mechanics,
    /// The result of the latest service. It is not a return value, because it would be copied.
    pub done: Completion,
    pub buffer: Buffer,
    scratch: Scratch,
}

impl CommandServer {
    /// Builds the command server of a unit; `at_once` is the most commands in service at once, `roles` are those at the
    /// start.
    ///
    /// # Errors
    /// Settings that do not fit together, by dotted key.
    pub fn new(
        (spec, shared): (&DriveSpec, Arc<Shared>),
        models: &Models,
        plan: &UnitPlan,
        mechanics: Mechanics,
        at_once: usize,
        compat: bool,
        roles: &RoleTable,
    ) -> Result<CommandServer, SpecError> {
        let (head_sets, arms) = assemblies::head_sets(spec, plan, &mechanics, roles)?;
        let follows = CommandServer::follows(spec, plan);
        let coupled = follows || (mechanics.scales_rotation() && plan.arms.len() > 1);
        let writers = crate::roles::writers(spec, &models.roles, (plan.first_arm, plan.arms.len()))?;
        let cleaning = mapping::cleaning_of(spec, &writers)?;
        let mut assemblies = assemblies::at_rest(arms, plan.arms.len(), coupled);
        if let Some((a, idle_after)) = cleaning {
            assemblies[a].jobs.cleaning.idle_after = Some(idle_after);
        }
        let checkpoints = mapping::checkpoints_by(spec, &writers)?;
        if let Some(a) = checkpoints {
            assemblies[a].jobs.checkpoint.on = true;
        }
        let mapping = Mapping::new(spec, models, plan, &mechanics, at_once > 1)?;
        let scanning = Scanning::new(spec, &mechanics, &mut assemblies)?;
        let mut server = CommandServer {
            cleans: cleaning.is_some() || checkpoints.is_some() || matches!(mapping, Mapping::MediaCache(_)),
            mapping,
            mechanics,
            arms: Arms {
                active: 0,
                restricted: assemblies::restricted(&head_sets),
                serving: plan.arms.len() - usize::from(scanning == Scanning::OwnArm),
                scanning,
                sets: head_sets.len() / plan.arms.len(),
                assemblies,
                at_once,
                channels: assemblies::channels(spec, at_once),
                coupled,
                follows,
                head_sets,
            },
            buffer: Buffer::new(&spec.cache, SectorSize::of(spec.geometry.sector_size)),
            compat,
            previous: Previous { write: false, end: u64::MAX },
            times: Times { now: Time::ZERO, happened: Time::ZERO, wanted_since: Time::NEVER },
            kind: GENERAL,
            done: Completion::default(),
            shared,
            scratch: Scratch::default(),
        };
        server.kind = server.find_kind();
        Ok(server)
    }

    /// Finds which code serves commands.
    fn find_kind(&self) -> u8 {
        let conventional = matches!(self.mapping, Mapping::Identity)
            && self.arms.at_once == 1
            && self.arms.sets == 1
            && self.arms.channels.is_none()
            && !self.arms.coupled
            && !self.cleans
            && !self.mechanics.scales_rotation()
            && self.shared.timing.minimum_write == Span::ZERO
            && self.arms.scanning == Scanning::No;
        let has_buffer = !self.buffer.segments.list.is_empty() || self.shared.cache.write_back;
        let c = &self.shared.cache;
        let in_order = !self.deferred_writes() && !c.read_on_arrival && !c.write_on_arrival;
        match (conventional, in_order) {
            (true, true) if !has_buffer => BARE,
            (true, true) => CACHED,
            (true, false) if self.arms.assemblies.len() == 1 => BUFFERED,
            _ => GENERAL,
        }
    }

    /// Whether a read or write of `count` sectors from `place` on is served by one pass over a single run that fits the
    /// buffer: the usual case.
    #[inline]
    pub fn is_usual(&self, place: &Place, count: u32) -> bool {
        let most = match self.buffer.segments.size {
            0 => u64::MAX,
            size => size,
        };
        (1..=place.run).contains(&count) && u64::from(count) <= most
    }

    /// Carries out a command. The result is in `done`. `K` is the kind of the unit.
    #[inline(always)]
    pub fn execute<const K: u8>(&mut self, task: &Task, command: Command) {
        match command {
            Command::Read => self.read::<K>(task),
            Command::ReadThrough => self.read_through::<K>(task),
            Command::Flush if K == GENERAL => self.flush(task.start),
            write => self.write::<K>(task, write == Command::WriteThrough),
        }
    }

    /// Assembly `a` with the shared parts of the unit, and its jobs.
    #[inline(always)]
    pub fn context(&mut self, a: usize) -> (JobContext<'_>, &mut Jobs) {
        let assembly = &mut self.arms.assemblies[a];
        let context = JobContext {
            times: self.times,
            mechanics: &self.mechanics,
            mapping: &mut self.mapping,
            cache: &self.shared.cache,
            all_head_sets: &self.arms.head_sets,
            first_head_set: a * self.arms.sets,
            restricted: self.arms.restricted,
            mechanism: &mut assembly.mechanism,
            buffer: &mut self.buffer,
            scratch: &mut self.scratch,
            channels: self.arms.channels.as_mut(),
        };
        (context, &mut assembly.jobs)
    }

    /// The head sets that serve commands.
    #[inline]
    pub fn serving_head_sets(&self) -> &[HeadSet] {
        &self.arms.head_sets[..self.arms.serving * self.arms.sets]
    }

    /// Drops the unwritten data whose place no head set reaches any more.
    pub fn drop_unreachable(&mut self) {
        let head_sets = &self.arms.head_sets[..self.arms.serving * self.arms.sets];
        self.buffer.drop_unreachable(&self.mechanics, &self.mapping, head_sets);
    }

    /// Where a command's first sector lies now, for a mapping that moves blocks.
    pub fn find(&mut self, now: Time, sector: u64, count: u32) -> Option<Place> {
        if self.cleans {
            // What cleaning has moved by now lies elsewhere.
            self.run_background(now);
        }
        self.settle_log(now);
        let log = match &mut self.mapping {
            Mapping::Identity => return None,
            Mapping::Log(log) => log,
            Mapping::MediaCache(_) => return self.mapping.locate(&self.mechanics, sector),
        };
        // Read-ahead goes on behind the command.
        let wanted = if self.buffer.segments.list.is_empty() { count } else { u32::MAX };
        let mut place = Place::default();
        let found = log.locate_into(&self.mechanics, sector, wanted, &mut place);
        found.then_some(place)
    }

    /// Brings a mapping that moves blocks up to `now`.
    fn settle_log(&mut self, now: Time) {
        if let Mapping::Log(log) = &mut self.mapping {
            let serving = self.arms.assemblies[..self.arms.serving].iter();
            let ends = serving.map(|a| a.mechanism.timeline.free);
            log.settle(&self.mechanics, now, ends.max().unwrap_or_default());
        }
    }

    /// The place that a write would get which is taken at `now`, with the head set of `usable` that has it
    /// soonest; `None` if places are fixed or no free head set writes.
    pub fn predict_write(&mut self, now: Time, usable: u64) -> Option<Place> {
        match &self.mapping {
            Mapping::Identity => return None,
            Mapping::Log(_) => {}
            Mapping::MediaCache(media) => return media.next_place(&self.mechanics),
        }
        let (moves, active_delay) = self.earliest_moves(now);
        let active = self.active_set();
        let minimum = self.shared.timing.minimum_write;
        let Mapping::Log(log) = &mut self.mapping else { return None };
        let mut best: Option<(Span, u64)> = None;
        for (i, head_set) in self.arms.head_sets.iter().enumerate() {
            if usable >> i & 1 == 0 || !head_set.writes {
                continue;
            }
            let delay = if i == active { active_delay } else { Span::ZERO };
            let arms = &self.arms.assemblies[i / self.arms.sets].mechanism.arms;
            let found = log.predict(&From {
                mechanics: &self.mechanics,
                arm: &arms[i % self.arms.sets],
                start: moves.after(delay),
                ready: Time::ZERO,
                minimum,
            });
            if let Some(found) = found {
                let cost = delay + found.cost;
                if best.is_none_or(|b| cost < b.0) {
                    best = Some((cost, found.at.slot));
                }
            }
        }
        log.place_in(&self.mechanics, best?.1, 0)
    }

    /// The active head set.
    #[inline]
    pub fn arm(&self) -> &Arm {
        self.arms.assemblies[self.arms.active].mechanism.arm()
    }

    fn jobs(&self) -> &Jobs {
        &self.arms.assemblies[self.arms.active].jobs
    }

    /// To be called when a command, data or a change arrive at `now`. Jobs that were due before have then
    /// started; a job that this event makes due does not start earlier.
    #[inline]
    pub fn happens(&mut self, now: Time) {
        self.run_background(now);
        self.times.happened = self.times.happened.max(now);
    }

    /// As [`CommandServer::happens`], for a unit of kind `K`.
    #[inline(always)]
    fn happens_to<const K: u8>(&mut self, now: Time) {
        if K >= BUFFERED {
            return self.happens(now);
        }
        if now > self.times.now {
            self.times.now = now;
            if K == CACHED && self.jobs().any_under_way() {
                self.run_usual(now);
            }
        }
    }

    /// Brings read-ahead or the write to the medium up to `until`. With kind [`CACHED`] nothing else begins.
    #[inline(never)]
    fn run_usual(&mut self, until: Time) {
        let (mut context, jobs) = self.context(self.arms.active);
        jobs.go_on(&mut context, until);
    }

    /// Brings the background up to time `until`. Results do not depend on how often this is called.
    #[inline]
    pub fn run_background(&mut self, until: Time) {
        if until <= self.times.now {
            return;
        }
        match self.kind {
            BARE => self.times.now = until,
            _ => self.run_beside(until),
        }
    }

    #[inline(never)]
    fn run_beside(&mut self, until: Time) {
        if let Some(there) = self.buffer.unwritten.incoming_until() {
            // Data on the link become dirty when they have arrived, whatever the time of the call.
            if there < until {
                self.run_until(there.max(self.times.now));
                self.buffer.unwritten.settle(there);
            }
        }
        self.run_until(until);
    }

    #[inline]
    fn run_until(&mut self, until: Time) {
        self.times.now = until;
        if self.arms.at_once > 1 {
            return self.run_together(until);
        }
        if self.arms.assemblies[self.arms.active].jobs.any_under_way() || self.buffer.unwritten.waits() || self.cleans {
            self.run_assembly(self.arms.active, until);
        }
    }

    #[inline(never)]
    fn run_assembly(&mut self, a: usize, until: Time) {
        let several = self.arms.restricted && self.buffer.unwritten.waits();
        if several || (self.cleans && self.arms.assemblies.len() > 1) {
            return self.run_in_turn(until);
        }
        let (mut context, jobs) = self.context(a);
        jobs.run(&mut context, until);
        self.couple(a);
    }

    /// Whether writes wait in the buffer for an idle mechanism, instead of going to the medium while their
    /// data arrive.
    pub fn deferred_writes(&self) -> bool {
        self.shared.cache.write_back && self.shared.cache.destage == Destage::Idle
    }

    /// For schedulers: when an assembly may start to move for a command taken at `now`, and how much later
    /// the active one may. A pass in progress is completed and read-ahead is stopped first. With one assembly
    /// the time to stop read-ahead is not predicted, as in DiskSim. The background must have been brought up
    /// to `now`.
    #[inline]
    pub fn earliest_moves(&self, now: Time) -> (Time, Span) {
        match self.kind {
            BARE => (now, Span::ZERO),
            _ => self.earliest_moves_beside(now),
        }
    }

    fn earliest_moves_beside(&self, now: Time) -> (Time, Span) {
        let writing = self.writing_until();
        if self.arms.assemblies.len() == 1 {
            return (now.max(writing), Span::ZERO);
        }
        let in_sector = self.shared.cache.stop_read_ahead_in_sector;
        let reading = self.reading_ahead();
        let stopped = reading.and_then(|r| r.stops(in_sector, now));
        let stopped = stopped.map_or(Time::ZERO, |(_, free)| free);
        let free = now.max(writing).max(stopped);
        if self.arms.at_once == 1 {
            (free, Span::ZERO)
        } else {
            (now, free.span_from(now))
        }
    }

    /// Whether a write continues the data that are being written to the medium.
    pub fn continues_writing(&self, sector: u64) -> bool {
        let writing = self.jobs().writing();
        self.shared.cache.append_writes && writing.is_some_and(|w| w.past == sector)
    }

    /// When the active assembly has written its data to the medium, or has finished a step of cleaning; 0 if it
    /// does neither.
    #[inline]
    pub fn writing_until(&self) -> Time {
        if self.kind == BARE {
            return Time::ZERO;
        }
        match &self.jobs().activity {
            Activity::Destage(writing) => writing.end,
            Activity::Step(end) if self.cleans_bands() => *end,
            _ => Time::ZERO,
        }
    }

    /// Whether a cache on the medium is cleaned, step by step.
    #[inline]
    pub fn cleans_bands(&self) -> bool {
        matches!(self.mapping, Mapping::MediaCache(_))
    }

    /// Whether the buffer alone would serve a read at `now`.
    pub fn would_hit(&self, now: Time, sector: u64, past: u64, blocks: Blocks) -> bool {
        let segments = &self.buffer.segments;
        segments.find(sector).is_some_and(|i| segments.list[i].end >= past && self.visible(i, now))
            || self.buffer.unwritten.covers(blocks, now)
    }

    /// Whether a read would be served by the read-ahead in progress, without a movement of its own.
    pub fn would_join(&self, now: Time, sector: u64) -> bool {
        self.reading_ahead().is_some_and(|r| {
            let held = self.buffer.segments.list[r.segment].start <= sector && sector < r.next;
            let almost = self.shared.cache.almost_hits && r.is_at(sector, now);
            self.visible(r.segment, now) && (held || almost)
        })
    }

    /// The read-ahead of the active assembly, if it reads ahead.
    #[inline]
    fn reading_ahead(&self) -> Option<&ReadAhead> {
        self.jobs().read_ahead()
    }

    /// Whether a segment's data can be used: not while another assembly's command still reads them.
    #[inline]
    fn visible(&self, segment: usize, now: Time) -> bool {
        self.arms.at_once == 1 || self.buffer.segments.list[segment].visible_at <= now
    }

    /// When the mechanism is free for a command whose processing is done at `ready`. With `compat`, stopping
    /// read-ahead adds to the overhead, as in DiskSim. Otherwise both take place at the same time.
    #[inline(always)]
    fn command_mechanism<const K: u8>(&mut self, at: Time, ready: Time) -> Time {
        let free = match K {
            BARE => Time::ZERO,
            _ => self.stop_read_ahead(at),
        };
        let ready = if self.compat { ready.after(free.since(at)) } else { ready.max(free) };
        ready.max(self.arms.assemblies[self.arms.active].mechanism.timeline.free)
    }

    /// Ends the pass in progress. Returns when its data are on the medium; `None` if there was none.
    #[inline]
    fn finish_destage(&mut self) -> Option<Time> {
        self.jobs().writing()?;
        self.end_destage()
    }

    #[inline(never)]
    fn end_destage(&mut self) -> Option<Time> {
        let (mut context, jobs) = self.context(self.arms.active);
        jobs.finish_destage(&mut context).map(|w| w.end)
    }

    /// Writes everything in the buffer to the medium. No data may be on the link.
    pub fn flush(&mut self, at: Time) {
        self.happens(at);
        self.buffer.unwritten.settle(at);
        let active = self.arms.active;
        let mut end = self.flush_assembly(active, at, at);
        let one = self.arms.at_once == 1;
        for a in (0..self.arms.serving).filter(|a| *a != active) {
            if one && self.buffer.unwritten.dirty.extents.is_empty() {
                break;
            }
            if one {
                // Data that the assemblies before do not reach.
                self.take_over(self.number_of(a, 0), end);
                end = self.flush_assembly(a, at, end);
            } else {
                end = end.max(self.flush_assembly(a, at, at));
            }
        }
        self.done = Completion {
            completion: end,
            components: Components { queue: end.span_from(at), ..Components::default() },
            cache_hit: end == at,
            mechanical: end > at,
            ..Completion::default()
        };
    }

    /// Lets an assembly write what it reaches, from `end` on, for a flush that came at `at`. Returns when
    /// that is done.
    fn flush_assembly(&mut self, a: usize, at: Time, mut end: Time) -> Time {
        let stopped = self.end_read_ahead_of(a, at);
        if !self.buffer.unwritten.dirty.extents.is_empty() {
            end = end.max(stopped);
        }
        loop {
            let (mut context, jobs) = self.context(a);
            if let Some(w) = jobs.finish_destage(&mut context) {
                end = end.max(w.end);
            }
            if context.buffer.unwritten.dirty.extents.is_empty() || !jobs.send(&mut context, end, true) {
                return end;
            }
            self.couple(a);
        }
    }

    /// Whether buffered data are not yet on the medium.
    pub fn destage_pending(&self) -> bool {
        self.buffer.unwritten.waits() || self.arms.assemblies.iter().any(|a| a.jobs.writing().is_some())
    }

    /// Adds the time in each active state up to `until`, over all assemblies.
    pub fn add_active(&mut self, until: Time, sum: &mut ActiveByWork) {
        self.run_background(until);
        self.scan_on(until);
        for a in &self.arms.assemblies {
            a.mechanism.timeline.add_active(until, sum);
            a.jobs.add_active(until, sum);
        }
    }

    /// The same, over all kinds of work.
    pub fn add_active_time(&mut self, until: Time, sum: &mut ActiveTime) {
        self.run_background(until);
        self.scan_on(until);
        for a in &self.arms.assemblies {
            a.mechanism.timeline.add_active_time(until, sum);
            if let Some(run) = a.jobs.under_way() {
                sum.add(&run.part(until));
            }
        }
    }

    /// Gives all phases that were not told yet to `sink`; `first` is the number of the first assembly.
    pub fn tell(&mut self, first: u32, sink: &mut dyn FnMut(&Phase)) {
        let settle = self.mechanics.write_settle.max(Span::ZERO);
        for (a, number) in self.arms.assemblies.iter_mut().zip(first..) {
            a.mechanism.timeline.tell(number, settle, sink);
        }
    }
}
