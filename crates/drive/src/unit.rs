//! One queue and the assemblies that serve it: a whole drive, one of its stacks, or one assembly
//! with surfaces of its own.
//!
//! # Model
//! Up to `arms_in_motion` commands are in service at once, one per assembly; the scheduler chooses
//! among commands and the assemblies that are free. A head or assembly that fails unannounced
//! costs the first command that meets it `fault_recovery`; then it is deconfigured and the command
//! goes to what is left. What nothing reaches any more ends as an error unless the buffer has it.

use crate::drive::{Command, Completion, Components, DriveOptions, DriveRequest, Fault};
use crate::mechanics::{Arm, Mechanics};
use crate::media_scan::Scan;
use crate::parallelism::{ArmChoice, UnitPlan};
use crate::queue::{Queue, Waiting};
use crate::scheduler::{self, Choice, Scheduler, View};
use crate::service::{Busy, Core, Task};
use crate::spec::{DriveSpec, HitCheck};
use headstack_engine::SpecError;
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

/// One queue, its assemblies, and a clock.
pub(crate) struct Unit {
    core: Core,
    queue: Queue,
    scheduler: Box<dyn Scheduler>,
    fcfs: bool,
    /// Nothing is to be chosen: one arm takes one command after another.
    in_order: bool,
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
        let fcfs = spec.queue.scheduler == "fcfs";
        let in_order = fcfs && core.arms.len() == 1;
        let queue = if scheduler::positional(&spec.queue) {
            Queue::with_index(core.mechanics.seek.cylinders())
        } else if in_order {
            Queue::in_order()
        } else {
            Queue::default()
        };
        let scan = Scan::new(spec, &core.mechanics)?;
        Ok(Unit {
            queue,
            scheduler: scheduler::build(&spec.queue)?,
            fcfs,
            in_order,
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

    /// Looks at a command that arrives at `now`: its completion if it is done at once. Otherwise it
    /// is to be given to [`Unit::enqueue`].
    #[inline(always)]
    pub fn accept(&mut self, now: Time, request: &DriveRequest) -> Option<Completion> {
        if request.command == Command::Flush {
            return None;
        }
        let past = request.lba.0.checked_add(request.blocks as u64);
        if request.blocks == 0 || past.is_none_or(|p| p > self.capacity_blocks) {
            return Some(refused(request, now));
        }
        if self.check_arrivals && request.command == Command::Read {
            self.core.run_background(now.0);
            let (sector, count) = self.sectors(request);
            let mut done = self.core.read_at_arrival(now.0, sector, count)?;
            self.sign(&mut done, request, now.0, now.0);
            return Some(done);
        }
        None
    }

    /// First physical sector and number of sectors.
    #[inline]
    fn sectors(&self, request: &DriveRequest) -> (u64, u32) {
        let past = request.lba.0 + request.blocks as u64;
        let sector = request.lba.0 >> self.shift;
        let up = (1u64 << self.shift) - 1;
        (sector, (((past + up) >> self.shift) - sector) as u32)
    }

    /// Puts an accepted command that arrived at `arrival` before the scheduler.
    #[inline(always)]
    pub fn enqueue(&mut self, arrival: Time, request: DriveRequest) {
        let layout = &self.core.mechanics.layout;
        let flush = request.command == Command::Flush;
        let sectors = if flush {
            (0, 0)
        } else {
            self.sectors(&request)
        };
        self.queue.push(request, arrival.0, sectors, |place| {
            if !flush {
                // Every sector below the capacity has a place.
                layout.locate_into(sectors.0, place);
            }
        });
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
    /// anything. A completion goes to `sink`.
    #[inline(always)]
    pub fn step(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) -> Step {
        if self.queue.is_empty() {
            return Step::Nothing;
        }
        let oldest = self.queue.oldest();
        let start = self.next_start(oldest);
        if start >= until.0 {
            return Step::Nothing;
        }
        if !self.plain {
            let mut done = Completion::default();
            let step = self.step_general(start, oldest, &mut done);
            if let Step::Done = step {
                sink(&done);
            }
            return step;
        }
        let mut index = oldest;
        if !self.in_order {
            let choice = self.choose(start, oldest, u64::MAX);
            if choice.arm as usize != self.core.active {
                self.core.take_over(choice.arm as usize, start);
            }
            index = choice.index;
        }
        let done = self.serve(start, index);
        self.free = done.completion.0;
        sink(&done);
        Step::Done
    }

    /// Serves a waiting command from `start` on.
    #[inline(always)]
    fn serve(&mut self, start: u64, index: usize) -> Completion {
        let waiting = &self.queue.items()[index];
        let task = Task {
            start,
            sector: waiting.sector,
            count: waiting.count,
            place: Some(&waiting.place),
            via: if self.in_order {
                None
            } else {
                self.scheduler.via()
            },
            partial: self.shift > 0
                && waiting.request.command == Command::Write
                && (waiting.request.lba.0 | waiting.request.blocks as u64)
                    & ((1 << self.shift) - 1)
                    != 0,
        };
        let mut done = match waiting.request.command {
            Command::Read => self.core.read(&task),
            Command::Write => self.core.write(&task),
            Command::Flush => self.core.flush(start),
        };
        self.sign(&mut done, &waiting.request, waiting.arrival, start);
        self.queue.remove(index);
        done
    }

    /// A step where assemblies may be busy, limited or broken.
    #[inline(never)]
    fn step_general(&mut self, start: u64, oldest: usize, done: &mut Completion) -> Step {
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
                *done = self.give_up(index, start);
                return Step::Done;
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
            *done = self.core.flush_all(start);
            self.sign(done, &item.request, item.arrival, start);
            self.queue.remove(choice.index);
            self.arm_free.fill(done.completion.0);
            self.free = done.completion.0;
            return Step::Done;
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
            Reach::Never => {
                *done = self.give_up(choice.index, start);
                return Step::Done;
            }
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
        *done = self.serve(start, choice.index);
        if self.scan.is_some() {
            self.scan_beside(&item, &before, done);
        }
        let assembly = self.core.paths[path].assembly as usize;
        // A hit in the buffer may go to an assembly that is still busy.
        self.arm_free[assembly] = self.arm_free[assembly].max(done.completion.0);
        // The next choice is made no earlier than this one, though an assembly may be free since.
        self.free = self.next_free().max(start);
        Step::Done
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
        let waiting = &self.queue.items()[index];
        let mut c = refused(&waiting.request, Time(start));
        c.arrival = Time(waiting.arrival);
        c.components.queue = start - waiting.arrival;
        self.queue.remove(index);
        c
    }

    /// Lets the scan use what the command that was just served left it: the wait of the arm that
    /// stood at `before`, or the time of the arm of its own.
    fn scan_beside(&mut self, item: &Waiting, before: &Arm, outcome: &Completion) {
        let Some(scan) = &mut self.scan else { return };
        let m = &self.core.mechanics;
        let c = &outcome.components;
        let media = c.seek + c.rotation + c.transfer;
        let write = item.request.command == Command::Write;
        let begin = outcome.arrival.0 + c.queue + c.overhead;
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

    #[inline(never)]
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

    /// Adds to what came of a command's service whose it is, and its wait for the start.
    #[inline]
    fn sign(&self, done: &mut Completion, request: &DriveRequest, arrival: u64, start: u64) {
        done.id = request.id;
        done.arrival = Time(arrival);
        done.components.queue += start - arrival;
        let assembly = self.core.paths[self.core.active].assembly;
        done.arm = (self.first_assembly + assembly) as u8;
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
    Done,
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
