//! One queue and the assemblies that serve it: a whole drive, one of its stacks, or one assembly
//! with surfaces of its own.
//!
//! # Model
//! Up to `arms_in_motion` commands are in service at once, one per assembly; the scheduler chooses
//! among commands and the assemblies that are free. A head or assembly that fails unannounced
//! costs the first command that meets it `fault_recovery`; then it is deconfigured and the command
//! goes to what is left. What nothing reaches any more ends as an error unless the buffer has it.

use crate::drive::{Command, Completion, Components, DriveOptions, DriveRequest, Fault};
use crate::error::SpecError;
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::media_scan::Scan;
use crate::parallelism::{ArmChoice, UnitPlan};
use crate::queue::{Queue, Waiting};
use crate::scheduler::{self, Choice, Scheduler, View};
use crate::service::{Busy, Core, Outcome, Task};
use crate::spec::{DriveSpec, HitCheck};
use headstack_units::{Time, Turn};

/// A fault of the description that is still to come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coming {
    pub at: u64,
    pub assembly: u32,
    /// Surfaces that it takes away.
    pub surfaces: u64,
    pub warning: bool,
    pub report: Fault,
}

/// What becomes of a command on its arrival.
pub(crate) enum Accepted {
    /// It is done.
    Done(Completion),
    /// It waits for the scheduler.
    Waits(Waiting),
}

/// One queue, its assemblies, and a clock.
pub(crate) struct Unit {
    core: Core,
    queue: Queue,
    scheduler: Box<dyn Scheduler>,
    fcfs: bool,
    age_limit: u64,
    per_request: u64,
    check_arrivals: bool,
    /// Blocks of 512 bytes per physical sector, as a shift.
    shift: u32,
    capacity_blocks: u64,
    /// When the next command can be taken into service.
    free: u64,
    /// One conventional arm after another: no limits, no faults, every arm reaches everything.
    plain: bool,
    arm_choice: ArmChoice,
    /// Number of commands in service at once, and when each assembly is free.
    limit: usize,
    arm_free: Vec<u64>,
    recovery: u64,
    /// Faults to come, the next one last.
    coming: Vec<Coming>,
    /// Per path: surfaces whose heads have failed without the drive knowing it yet.
    latent: Vec<u64>,
    latent_reports: Vec<Coming>,
    /// Whether some path no longer reaches all its surfaces.
    degraded: bool,
    faults: Vec<Fault>,
    scan: Option<Scan>,
    /// Number of its first assembly in the drive.
    pub first_assembly: u32,
}

impl Unit {
    /// A unit at rest, buffer empty.
    pub fn new(
        spec: &DriveSpec,
        plan: &UnitPlan,
        start_phase: Turn,
        options: &DriveOptions,
        coming: Vec<Coming>,
    ) -> Result<Unit, SpecError> {
        let mechanics = Mechanics::new(spec, &plan.geometry, start_phase)?;
        let shift = (spec.geometry.sector_size.0 / 512).trailing_zeros();
        let capacity_blocks = mechanics.layout.capacity() << shift;
        let assemblies = plan.arms.len();
        let limit = match spec.parallelism.arms_in_motion as usize {
            0 => assemblies,
            n => n.min(assemblies),
        };
        let core = Core::new(spec, plan, mechanics, limit, options.compat_disksim_40)?;
        let queue = if scheduler::positional(&spec.queue) {
            Queue::with_index(core.mechanics.seek.cylinders())
        } else {
            Queue::default()
        };
        let scan = Scan::new(spec, &core.mechanics)?;
        Ok(Unit {
            queue,
            scheduler: scheduler::build(&spec.queue)?,
            fcfs: spec.queue.scheduler == "fcfs",
            age_limit: match spec.queue.age_limit.non_negative() {
                0 => u64::MAX,
                t => t,
            },
            per_request: spec.overhead.per_request.non_negative(),
            check_arrivals: spec.cache.enabled && spec.cache.hit_check == HitCheck::Arrival,
            shift,
            capacity_blocks,
            free: 0,
            plain: limit == 1
                && scan.is_none()
                && coming.is_empty()
                && !core.restricted
                && spec.parallelism.arm_choice == ArmChoice::Positioning,
            arm_choice: spec.parallelism.arm_choice,
            limit,
            arm_free: vec![0; assemblies],
            recovery: spec.parallelism.fault_recovery.non_negative(),
            latent: vec![0; core.paths.len()],
            latent_reports: Vec::new(),
            degraded: false,
            faults: Vec::new(),
            scan,
            first_assembly: 0,
            coming,
            core,
        })
    }

    /// Number of 512-byte blocks.
    pub fn capacity_blocks(&self) -> u64 {
        self.capacity_blocks
    }

    pub fn mechanics(&self) -> &Mechanics {
        &self.core.mechanics
    }

    /// Commands that wait, those in service not counted.
    #[inline]
    pub fn queue_len(&self) -> usize {
        self.queue.len()
    }

    /// Commands, and a scan with an arm of its own, that can be in service at once.
    pub fn limit(&self) -> usize {
        self.limit + self.scan.as_ref().is_some_and(Scan::own_arm) as usize
    }

    pub fn busy_until(&mut self, until: u64) -> Busy {
        let mut busy = self.core.busy_until(until);
        if let Some(scan) = self.scan.as_mut().filter(|s| s.own_arm()) {
            if let Some(arm) = self.core.arms.last_mut() {
                scan.read_on(&self.core.mechanics, arm, until, (0, 0));
            }
            busy.add(&Busy {
                seek: scan.own.seek,
                rotation: scan.own.rotation,
                transfer: scan.own.transfer,
            });
        }
        busy
    }

    /// Bytes that the scan of the medium has read.
    pub fn scanned_bytes(&self) -> u64 {
        self.scan.as_ref().map_or(0, |s| s.blocks * s.block_bytes)
    }

    pub fn destage_pending(&self) -> bool {
        self.core.destage_pending()
    }

    /// What was deconfigured so far.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Writes that completed in the buffer and then found nothing that reaches their place.
    pub fn lost_writes(&self) -> u64 {
        self.core.lost_writes
    }

    /// Looks at a command that arrives at `now`; what waits is to be given to [`Unit::enqueue`].
    #[inline]
    pub fn accept(&mut self, now: Time, request: DriveRequest) -> Accepted {
        let arrival = now.0;
        let mut waiting = Waiting {
            request,
            arrival,
            sector: 0,
            count: 0,
            place: Place::default(),
        };
        if request.command != Command::Flush {
            let past = request.lba.0.checked_add(request.blocks as u64);
            if request.blocks == 0 || past.is_none_or(|p| p > self.capacity_blocks) {
                return Accepted::Done(refused(&request, now));
            }
            let past = request.lba.0 + request.blocks as u64;
            waiting.sector = request.lba.0 >> self.shift;
            let up = (1u64 << self.shift) - 1;
            waiting.count = (((past + up) >> self.shift) - waiting.sector) as u32;
            if self.check_arrivals && request.command == Command::Read {
                self.core.run_background(arrival);
                if let Some(o) = self
                    .core
                    .read_at_arrival(arrival, waiting.sector, waiting.count)
                {
                    return Accepted::Done(self.completion(&waiting, 0, o));
                }
            }
            match self.core.mechanics.layout.locate(waiting.sector) {
                Some(place) => waiting.place = place,
                None => return Accepted::Done(refused(&request, now)),
            }
        }
        Accepted::Waits(waiting)
    }

    /// Puts an accepted command before the scheduler.
    #[inline]
    pub fn enqueue(&mut self, waiting: Waiting) {
        self.queue.push(waiting);
    }

    /// Nothing starts before `now`, up to which all units have been brought.
    pub fn not_before(&mut self, now: Time) {
        self.free = self.free.max(now.0);
    }

    /// The earliest time at which [`Unit::step`] would do something.
    #[inline]
    pub fn next_event(&self) -> Time {
        if self.queue.is_empty() {
            return Time::NEVER;
        }
        Time(self.next_start(self.queue.oldest()))
    }

    #[inline]
    fn next_start(&self, oldest: usize) -> u64 {
        (self.queue.items()[oldest].arrival + self.per_request).max(self.free)
    }

    /// Takes one command into service, if one can start before `until`; returns whether it did
    /// anything, and the completion if there is one.
    #[inline]
    pub fn step(&mut self, until: Time) -> Step {
        if self.queue.is_empty() {
            return Step::Nothing;
        }
        let oldest = self.queue.oldest();
        let start = self.next_start(oldest);
        if start >= until.0 {
            return Step::Nothing;
        }
        if !self.plain {
            return self.step_general(start, oldest);
        }
        let choice = self.choose(start, oldest, u64::MAX);
        if choice.arm as usize != self.core.active {
            self.core.take_over(choice.arm as usize, start);
        }
        let (waiting, outcome) = self.serve(start, choice.index);
        self.free = outcome.completion;
        Step::Done(self.completion(&waiting, start, outcome))
    }

    #[inline]
    fn serve(&mut self, start: u64, index: usize) -> (Waiting, Outcome) {
        let waiting = self.queue.remove(index);
        let task = Task {
            start,
            sector: waiting.sector,
            count: waiting.count,
            place: Some(waiting.place),
            via: self.scheduler.via(),
            partial: self.shift > 0
                && waiting.request.command == Command::Write
                && (waiting.request.lba.0 | waiting.request.blocks as u64)
                    & ((1 << self.shift) - 1)
                    != 0,
        };
        let outcome = match waiting.request.command {
            Command::Read => self.core.read(&task),
            Command::Write => self.core.write(&task),
            Command::Flush => self.core.flush(start),
        };
        (waiting, outcome)
    }

    /// A step where assemblies may be busy, limited or broken.
    fn step_general(&mut self, start: u64, oldest: usize) -> Step {
        while self.coming.last().is_some_and(|f| f.at <= start) {
            if let Some(fault) = self.coming.pop() {
                self.meet(fault);
            }
        }
        if self.degraded {
            // What no assembly will ever serve must not wait for the scheduler to come to it.
            let mut waiting = self.queue.by_age();
            if let Some(index) = waiting.find(|i| self.is_out_of_reach(*i, start)) {
                drop(waiting);
                return Step::Done(self.give_up(index, start));
            }
        }
        let usable = self.usable(start);
        let choice = self.choose(start, oldest, usable);
        let item = self.queue.items()[choice.index];
        if item.request.command == Command::Flush {
            // A barrier: everything in service ends first.
            let all = self.arm_free.iter().copied().max().unwrap_or(0);
            if all > start {
                self.free = all;
                return Step::Again;
            }
            let waiting = self.queue.remove(choice.index);
            let outcome = self.core.flush_all(start);
            self.arm_free.fill(outcome.completion);
            self.free = outcome.completion;
            return Step::Done(self.completion(&waiting, start, outcome));
        }
        let needed = self.surfaces_of(&item);
        let hit = is_held(&self.core, &item, start);
        let path = match self.path_for(&item, choice.arm as usize, needed, usable, start) {
            Reach::With(path) => path,
            Reach::Later(at) => {
                self.free = at;
                return Step::Again;
            }
            Reach::Never if hit => choice.arm as usize,
            Reach::Never => return Step::Done(self.give_up(choice.index, start)),
        };
        if !hit && self.latent[path] & needed != 0 {
            // The command meets the failure: the drive tries for a while, then gives the part up.
            self.free = start + self.recovery;
            self.arm_free[self.core.paths[path].assembly as usize] = self.free;
            self.discover(path, start + self.recovery);
            return Step::Again;
        }
        self.core.take_over(path, start);
        let before = self.core.arms[path];
        let (waiting, outcome) = self.serve(start, choice.index);
        if self.scan.is_some() {
            self.scan_beside(&item, &before, start, &outcome);
        }
        let assembly = self.core.paths[path].assembly as usize;
        // A hit in the buffer may go to an assembly that is still busy.
        self.arm_free[assembly] = self.arm_free[assembly].max(outcome.completion);
        // The next choice is made no earlier than this one, though an assembly may be free since.
        self.free = self.next_free().max(start);
        Step::Done(self.completion(&waiting, start, outcome))
    }

    /// Whether nothing reaches what a waiting command touches, and the buffer does not have it.
    fn is_out_of_reach(&self, index: usize, start: u64) -> bool {
        let item = &self.queue.items()[index];
        if item.request.command == Command::Flush {
            return false;
        }
        let needed = self.surfaces_of(item);
        let mut paths = self.core.paths.iter();
        !is_held(&self.core, item, start) && !paths.any(|p| p.reaches(needed, item.place.cylinder))
    }

    /// Ends a waiting command as an error.
    fn give_up(&mut self, index: usize, start: u64) -> Completion {
        let waiting = self.queue.remove(index);
        let mut c = refused(&waiting.request, Time(start));
        c.arrival = Time(waiting.arrival);
        c.components.queue = start - waiting.arrival;
        c
    }

    /// Lets the scan use what the command that was just served left it: the wait of the arm that
    /// stood at `before`, or the time of the arm of its own.
    fn scan_beside(&mut self, item: &Waiting, before: &Arm, start: u64, outcome: &Outcome) {
        let Some(scan) = &mut self.scan else { return };
        let m = &self.core.mechanics;
        let c = &outcome.components;
        let media = c.seek + c.rotation + c.transfer;
        let write = item.request.command == Command::Write;
        let begin = start + c.queue + c.overhead;
        if scan.own_arm() {
            if let Some(arm) = self.core.arms.last_mut() {
                let end = begin + media;
                scan.read_on(m, arm, end, (end - c.transfer, end));
            }
        } else if outcome.mechanical
            && c.seek == m.move_ns(before, item.place.cylinder, item.place.head, write)
        {
            // Only a wait that follows one movement: later track switches are not taken apart.
            let target = (item.sector, item.place.cylinder, item.place.head, write);
            let end = begin + c.seek + c.rotation;
            let spent = scan.use_wait(m, before, target, begin, end);
            let busy = &mut self.core.busy;
            busy.rotation = busy.rotation.saturating_sub(spent.rotation);
            busy.seek += spent.seek;
            busy.transfer += spent.transfer;
        }
    }

    /// When fewer than `limit` commands are in service: the limit-th latest end.
    fn next_free(&self) -> u64 {
        if self.limit == self.arm_free.len() {
            return self.arm_free.iter().copied().min().unwrap_or(0);
        }
        let mut ends = self.arm_free.clone();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        ends[self.limit - 1]
    }

    /// Paths whose assembly is free at `start`, as bits.
    fn usable(&self, start: u64) -> u64 {
        let mut bits = 0;
        let own = self.scan.as_ref().is_some_and(Scan::own_arm);
        let serving = self.core.paths.len() - own as usize;
        for (i, path) in self.core.paths[..serving].iter().enumerate() {
            if self.arm_free[path.assembly as usize] <= start {
                bits |= 1 << i;
            }
        }
        bits
    }

    /// Every surface that a command touches.
    fn surfaces_of(&self, item: &Waiting) -> u64 {
        let mut surfaces = 1u64 << item.place.head;
        if !self.degraded && self.latent.iter().all(|l| *l == 0) {
            return surfaces;
        }
        let (mut at, past) = (item.sector, item.sector + item.count as u64);
        while at < past {
            let Some(place) = self.core.mechanics.layout.locate(at) else {
                break;
            };
            surfaces |= 1 << place.head;
            at += place.run as u64;
        }
        surfaces
    }

    /// The path that serves a command: the scheduler's own choice where it reaches everything.
    fn path_for(
        &self,
        item: &Waiting,
        chosen: usize,
        needed: u64,
        usable: u64,
        start: u64,
    ) -> Reach {
        let paths = &self.core.paths;
        let reaches = |i: usize| paths[i].reaches(needed, item.place.cylinder);
        if usable >> chosen & 1 == 1 && reaches(chosen) {
            return Reach::With(chosen);
        }
        let write = item.request.command == Command::Write;
        let best = (0..paths.len())
            .filter(|i| usable >> i & 1 == 1 && reaches(*i))
            .min_by_key(|i| {
                let arm = &self.core.arms[*i];
                let m = &self.core.mechanics;
                m.position(arm, &item.place, write, start).total()
            });
        if let Some(path) = best {
            return Reach::With(path);
        }
        (0..paths.len())
            .filter(|i| reaches(*i))
            .map(|i| self.arm_free[paths[i].assembly as usize])
            .min()
            .map_or(Reach::Never, Reach::Later)
    }

    /// A fault happens: announced ones are deconfigured at once.
    fn meet(&mut self, fault: Coming) {
        for (i, path) in self.core.paths.iter().enumerate() {
            if path.assembly == fault.assembly {
                self.latent[i] |= fault.surfaces & path.surfaces;
            }
        }
        self.latent_reports.push(fault);
        if fault.warning {
            let path = self.core.paths.iter();
            let first = path.clone().position(|p| p.assembly == fault.assembly);
            if let Some(first) = first {
                self.discover(first, fault.at);
            }
        }
    }

    /// Deconfigures all that has failed on the assembly of `path`.
    fn discover(&mut self, path: usize, at: u64) {
        let assembly = self.core.paths[path].assembly;
        for (i, path) in self.core.paths.iter_mut().enumerate() {
            if path.assembly == assembly {
                path.surfaces &= !self.latent[i];
                self.latent[i] = 0;
            }
        }
        self.degraded = true;
        self.core.restricted = true;
        let (now, later): (Vec<Coming>, Vec<Coming>) = self
            .latent_reports
            .drain(..)
            .partition(|f| f.assembly == assembly);
        self.latent_reports = later;
        self.faults.extend(now.into_iter().map(|f| Fault {
            deconfigured: Time(at),
            ..f.report
        }));
    }

    #[inline]
    fn choose(&mut self, start: u64, oldest: usize, usable: u64) -> Choice {
        let single = self.queue.len() == 1;
        let given = self.fcfs || (single && !self.scheduler.picks_lone());
        if given && self.core.arms.len() == 1 {
            return Choice {
                index: if single { 0 } else { oldest },
                arm: 0,
            };
        }
        let first = &self.queue.items()[oldest];
        // A flush is a barrier: what came before it is served first, then it. A command past its
        // age limit goes next, with whichever arm is there first.
        let barrier = first.request.command == Command::Flush;
        let overdue = start - first.arrival > self.age_limit;
        if barrier {
            return Choice {
                index: oldest,
                arm: self.core.active as u8,
            };
        }
        self.core.run_background(start);
        let core = &self.core;
        let queue = &self.queue;
        let hit = |i: usize| {
            let w: &Waiting = &queue.items()[i];
            is_held(core, w, start)
                || (w.request.command == Command::Read && core.would_join(start, w.sector))
        };
        let (moves, acting_delay) = core.earliest_moves(start);
        let view = View {
            mechanics: &core.mechanics,
            arms: &core.arms,
            paths: (!self.plain).then_some(&core.paths),
            usable,
            arm_choice: self.arm_choice,
            now: start,
            start: moves,
            acting: core.active,
            acting_delay,
            last_end: core.previous_end.min(u64::MAX - 1),
            hit: &hit,
        };
        if overdue {
            return Choice {
                index: oldest,
                arm: view.best_arm(queue, oldest),
            };
        }
        let choice = self.scheduler.pick(queue, &view);
        let chosen = &queue.items()[choice.index];
        if chosen.request.command == Command::Flush {
            // Everything that arrived before a flush goes first, in order of age and directly.
            self.scheduler.via();
            return Choice {
                index: oldest,
                arm: choice.arm,
            };
        }
        choice
    }

    #[inline]
    fn completion(&self, waiting: &Waiting, start: u64, outcome: Outcome) -> Completion {
        let mut components = outcome.components;
        components.queue += start.saturating_sub(waiting.arrival);
        let assembly = self.core.paths[self.core.active].assembly;
        Completion {
            id: waiting.request.id,
            arrival: Time(waiting.arrival),
            completion: Time(outcome.completion),
            components,
            cache_hit: outcome.hit,
            mechanical: outcome.mechanical,
            seek_distance: outcome.distance,
            arm: (self.first_assembly + assembly) as u8,
            error: false,
        }
    }
}

/// Whether a command is a read that the buffer alone would serve at `now`.
fn is_held(core: &Core, item: &Waiting, now: u64) -> bool {
    item.request.command == Command::Read
        && core.would_hit(now, item.sector, item.sector + item.count as u64)
}

/// What came of a step.
pub(crate) enum Step {
    /// No command can start yet.
    Nothing,
    /// Something changed but no command completed.
    Again,
    /// One command is done.
    Done(Completion),
}

/// Whether something reaches all that a command touches.
enum Reach {
    /// This path, now.
    With(usize),
    /// Not before this time.
    Later(u64),
    /// Nothing does any more.
    Never,
}

/// A command that ends as an error at `now`.
pub(crate) fn refused(request: &DriveRequest, now: Time) -> Completion {
    Completion {
        id: request.id,
        arrival: now,
        completion: now,
        components: Components::default(),
        cache_hit: false,
        mechanical: false,
        seek_distance: 0,
        arm: 0,
        error: true,
    }
}
