//! A unit: one queue and the assemblies that serve it. It is a whole drive, one of its stacks, or one
//! assembly with surfaces of its own.
//!
//! # Model
//! Up to `arms_in_motion` commands are in service at once, one per assembly. The scheduler chooses among the
//! commands and the free assemblies. A fault without warning costs the first command that meets it
//! `fault_recovery`; then the part is deconfigured and another one serves the command. A command whose place
//! no head reaches any more fails, unless the buffer has its data.

use crate::background::media_scan::Scanning;
use crate::buffer::{Blocks, SectorSize};
use crate::command::{Command, Completion, DriveRequest};
use crate::counters::Counters;
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::models::Models;
use crate::options::DriveOptions;
use crate::parallelism::ArmChoice;
use crate::phase::{ActiveByWork, ActiveTime, Phase};
use crate::power::seek_energy::SeekEnergy;
use crate::queue::{Arrival, Queue, Waiting};
use crate::scheduler::{self, Scheduler};
use crate::service::{self, CommandServer, Shared, Task};
use crate::spec::DriveSpec;
use crate::unit_plan::UnitPlan;
use choice::Reach;
use faults::Faults;
use headstack_engine::SpecError;
use headstack_units::{Lba, Time};
use limited::Limited;
use roles::Roles;
use rules::{Rules, Way};
use std::ops::Range;
use std::sync::Arc;
use write_admission::WriteAdmission;

mod choice;
mod faults;
mod limited;
mod roles;
mod rules;
mod settings;
mod shown;
mod simple;
mod write_admission;

/// One queue, its assemblies, and a clock.
// It has more fields than other types because what most units do without, from `faults` on, has nothing else in common
// that would make it a part with a name.
// In this order in memory: what each command needs is together (docs/design/decisions.md, closed loops).
#[repr(C)]
pub(crate) struct ServiceUnit {
    /// Whether the command that arrived last was a write.
    last_was_write: bool,
    /// The size of a physical sector.
    size: SectorSize,
    /// Earliest start of the next service.
    free: Time,
    /// Until this time the drive recovers, and reads are not served from the buffer.
    closed_until: Time,
    capacity_blocks: u64,
    rules: Rules,
    queue: Queue,
    scheduler: Box<dyn Scheduler>,
    pub server: CommandServer,
    pub faults: Faults,
    /// The policy that changes the arms' roles; `None` if they never change.
    roles: Option<Box<Roles>>,
    /// Writes on their way into the buffer; `None` if writes do not wait there.
    write_admission: Option<Box<WriteAdmission>>,
    /// Limits and priorities of commands; `None` if the unit heeds no hints.
    limited: Option<Box<Limited>>,
    /// The state of all head sets, for a choice among several assemblies.
    standing: Vec<Arm>,
    /// Number of the unit's first assembly in the drive.
    pub first_assembly: u32,
}

impl ServiceUnit {
    /// From now on all commands are served by the code for all units. Returns the kind of unit that this is.
    pub fn serve_generally(&mut self) -> u8 {
        self.rules.ask_at_least(Way::Simple);
        std::mem::replace(&mut self.server.kind, service::GENERAL)
    }

    /// When choices at `at` expect that read-ahead has stopped, and when it has if it is stopped.
    pub fn stops_read_ahead(&mut self, at: Time) -> (Time, Time) {
        self.server.run_background(at);
        (self.server.earliest_moves(at).0, self.server.stop_read_ahead(at))
    }

    /// Builds a unit at rest with an empty buffer.
    ///
    /// # Errors
    /// Settings that do not fit together, by dotted key.
    pub fn new(
        spec: &DriveSpec,
        shared: &Arc<Shared>,
        models: &Models,
        plan: &UnitPlan,
        mechanics: Mechanics,
        options: &DriveOptions,
    ) -> Result<ServiceUnit, SpecError> {
        let size = SectorSize::of(spec.geometry.sector_size);
        let assemblies = plan.arms.len();
        let limit = match spec.parallelism.arms_in_motion as usize {
            0 => assemblies,
            n => n.min(assemblies),
        };
        let (table, roles) = Roles::new(spec, models, plan.first_arm)?;
        let compat = options.compat_disksim_40;
        let mut server = CommandServer::new((spec, shared.clone()), models, plan, mechanics, limit, compat, &table)?;
        // Where roles change, a head set that serves everything now may serve less later.
        server.arms.restricted |= roles.is_some();
        let capacity_blocks = server.mapping.capacity(&server.mechanics) * size.blocks();
        let scheduler = scheduler::build(&spec.queue, &models.schedulers)?;
        let needs = scheduler.needs();
        let planned = faults::planned(spec, plan, options.seed);
        let one_at_a_time = limit == 1
            && server.arms.scanning == Scanning::No
            && planned.is_empty()
            && !server.arms.restricted
            && spec.parallelism.arm_choice == ArmChoice::Positioning;
        let limited = Limited::new(&spec.duration_limits);
        let mut rules = Rules::new(spec, &server, limit, one_at_a_time);
        rules.follow(needs, &server.arms.head_sets);
        rules.heed_limits(limited.is_some());
        let mut unit = ServiceUnit {
            queue: Queue::new(needs),
            scheduler,
            rules,
            size,
            capacity_blocks,
            free: Time::ZERO,
            closed_until: Time::ZERO,
            last_was_write: false,
            faults: Faults::new(planned, server.arms.head_sets.len()),
            roles,
            write_admission: server.deferred_writes().then(Box::default),
            limited,
            standing: Vec::new(),
            first_assembly: 0,
            server,
        };
        unit.locate_waiting();
        Ok(unit)
    }

    /// From now on the energy of seeks is counted by distance.
    pub fn weigh_seeks(&mut self, law: SeekEnergy) {
        let law = law.over(self.server.mechanics.seek.positions());
        for assembly in &mut self.server.arms.assemblies {
            assembly.mechanism.timeline.weigh_seeks(law);
        }
    }

    /// Number of waiting commands; those in service are not counted.
    #[inline]
    pub fn queue_len(&self) -> usize {
        let held = self.limited.as_ref().map_or(0, |l| l.held.len());
        self.queue.len + self.write_admission.as_ref().map_or(0, |e| e.writes.len()) + held
    }

    /// How many assemblies can work at once: serving, following, or scanning the medium.
    pub fn at_work_at_once(&self) -> usize {
        if self.server.arms.follows || self.rules.limit > 1 {
            return self.server.arms.assemblies.len();
        }
        1 + usize::from(self.always_scans())
    }

    /// Adds the time in each active state up to `until`, over all assemblies.
    pub fn add_active(&mut self, until: Time, sum: &mut ActiveByWork) {
        self.bring_to(until);
        self.server.add_active(until, sum);
    }

    /// The same, over all kinds of work.
    pub fn add_active_time(&mut self, until: Time, sum: &mut ActiveTime) {
        self.bring_to(until);
        self.server.add_active_time(until, sum);
    }

    /// From `now` on, phases are kept for [`ServiceUnit::tell`]. Returns until when each assembly is at work.
    pub fn listen(&mut self, now: Time) -> Vec<Time> {
        self.bring_to(now);
        let ends = self.server.arms.assemblies.iter_mut().map(|a| {
            a.mechanism.timeline.listen();
            a.mechanism.timeline.latest().end.max(now)
        });
        ends.collect()
    }

    /// For each assembly, the start of work that [`ServiceUnit::tell`] will tell later.
    pub fn begun(&self) -> impl Iterator<Item = Time> + '_ {
        self.server.arms.assemblies.iter().map(|a| a.jobs.begun())
    }

    /// Gives all phases that were not told yet to `sink`.
    pub fn tell(&mut self, sink: &mut dyn FnMut(&Phase)) {
        self.server.tell(self.first_assembly, sink);
    }

    /// What the unit has counted up to now.
    pub fn counted(&self) -> Counters {
        let mut sum = self.server.buffer.counted;
        sum.add(&self.server.mapping.counted(&self.server.mechanics));
        let assemblies = self.server.arms.assemblies.iter();
        for scan in assemblies.filter_map(|a| a.jobs.media_scan.as_ref()) {
            sum.add(&scan.counted);
        }
        sum
    }

    pub fn destage_pending(&self) -> bool {
        self.server.destage_pending() || self.write_admission.as_ref().is_some_and(|e| !e.writes.is_empty())
    }

    /// Gives those of the blocks to `sink` whose data are in the buffer and not on the medium.
    pub fn unwritten(&self, blocks: Range<u64>, sink: &mut dyn FnMut(Range<u64>)) {
        let range = Blocks::new(Lba(blocks.start), Lba(blocks.end));
        let mut told = |b: Blocks| sink(b.start.0..b.past.0);
        self.server.buffer.unwritten.in_range(range, &mut told);
    }

    /// Whether blocks wait to be moved by cleaning, or a checkpoint to be written.
    pub fn log_work_pending(&self) -> bool {
        let mapping = &self.server.mapping;
        mapping.wants_cleaning() || mapping.checkpoint_from().is_some()
    }

    /// Examines a command that arrives at `now`. Returns its completion if it is served at once. Otherwise it
    /// must be given to [`ServiceUnit::enqueue`].
    #[inline(always)]
    pub fn accept(&mut self, now: Time, request: &DriveRequest) -> Option<Completion> {
        if request.command == Command::Flush {
            return None;
        }
        if self.is_outside(request) {
            return Some(Completion::refused(request, now));
        }
        let open = self.rules.check_arrivals && now >= self.closed_until;
        if open && request.command == Command::Read {
            if self.limited.as_ref().is_some_and(|l| l.is_shut(now)) {
                return None;
            }
            self.bring_to(now);
            let sectors = self.sectors(request);
            let after_write = self.last_was_write;
            let blocks = blocks_of(request);
            self.server.done = self.server.read_at_arrival(now, after_write, sectors, blocks)?;
            self.last_was_write = false;
            self.sign(request.id, now, now);
            if self.limited.is_some() {
                self.meets_limit(request.hint, false);
            }
            return Some(self.server.done);
        }
        None
    }

    /// Whether a request is empty or reaches past the end of the unit.
    #[inline]
    fn is_outside(&self, request: &DriveRequest) -> bool {
        let past = request.lba.0.checked_add(request.blocks as u64);
        request.blocks == 0 || past.is_none_or(|p| p > self.capacity_blocks)
    }

    /// First physical sector and number of sectors.
    #[inline]
    fn sectors(&self, request: &DriveRequest) -> (u64, u32) {
        let (first, past) = self.size.sectors_of(blocks_of(request));
        (first, (past - first) as u32)
    }

    /// Adds an accepted command that arrived at `arrival` to the queue. Its processing begins at `admitted`,
    /// when it was admitted to the drive's queue.
    #[inline(always)]
    pub fn enqueue(&mut self, arrival: Time, admitted: Time, request: DriveRequest) {
        match self.limited {
            None => self.enqueue_now(arrival, admitted, request),
            Some(_) => self.enqueue_limited(arrival, admitted, request),
        }
    }

    /// The arrival of a command after the one that arrived last.
    #[inline(always)]
    fn arrival(&self, arrival: Time, admitted: Time) -> Arrival {
        Arrival {
            at: arrival,
            decoding_since: admitted.after(self.rules.per_request),
            after_write: self.last_was_write,
        }
    }

    #[inline(never)]
    fn enqueue_now(&mut self, arrival: Time, admitted: Time, request: DriveRequest) {
        let (mechanics, mapping) = (&self.server.mechanics, &self.server.mapping);
        let flush = request.command == Command::Flush;
        let sectors = if flush { (0, 0) } else { self.sectors(&request) };
        let arrival = self.arrival(arrival, admitted);
        if !flush {
            self.last_was_write = request.command.writes();
        }
        if let (Some(write_admission), Command::Write) = (&mut self.write_admission, request.command) {
            write_admission.push(request, arrival);
            return;
        }
        self.queue.push(request, arrival, sectors, |place| {
            match flush {
                true => *place = Place::default(),
                // Every sector below the capacity has a place.
                false => drop(mapping.locate_into(mechanics, sectors.0, place)),
            }
        });
        if self.write_admission.is_some() {
            self.note_waiting();
        }
    }

    /// No service starts before `now`, to which all units have been brought.
    pub fn not_before(&mut self, now: Time) {
        self.free = self.free.max(now);
    }

    /// The earliest time at which [`ServiceUnit::step`] would do something; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_event(&self) -> Time {
        if self.rules.way > Way::Simple {
            return self.next_unlimited().min(self.limit_event());
        }
        self.next_command()
    }

    /// The same, without the times of limits.
    #[inline(never)]
    fn next_unlimited(&self) -> Time {
        let command = self.next_command();
        match &self.write_admission {
            None => command,
            Some(write_admission) => command.min(write_admission.next()),
        }
    }

    /// Earliest start of the next service.
    #[inline]
    fn next_command(&self) -> Time {
        if self.queue.is_empty() {
            return Time::NEVER;
        }
        self.next_start(self.queue.oldest())
    }

    /// When the next service starts, not before the clock: what held it back may have ended just when the drive was
    /// looked at. While a pass is in progress, a drive that can choose waits for its end,
    /// and then chooses among all commands that have arrived. A single write, or one that continues the pass,
    /// is taken at once, because its data can enter the buffer.
    #[inline]
    fn next_start(&self, oldest: usize) -> Time {
        let first = &self.queue.items[oldest];
        let ready = first.arrival.decoding_since.max(self.free);
        let start = ready.max(self.server.times.now);
        if self.rules.in_order || self.server.arms.at_once > 1 {
            return start;
        }
        let writing = self.server.writing_until();
        if writing <= start || self.is_taken_at_once(first) {
            return start;
        }
        writing
    }

    /// Whether the buffer takes a write while older data are still being written to the medium.
    fn is_taken_at_once(&self, oldest: &Waiting) -> bool {
        let alone = self.queue.len == 1;
        oldest.request.command == Command::Write
            && (self.rules.fcfs || alone || self.server.continues_writing(oldest.sector))
    }

    /// Serves one command, if its service can start before `until`. The completion goes to `sink`.
    #[inline(always)]
    pub fn step(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) -> Step {
        let step = match (self.rules.way <= Way::Simple, &self.limited) {
            (true, _) => self.step_simple(until),
            (false, None) => self.step_unlimited(until),
            (false, Some(_)) => self.step_limited(until),
        };
        if let Step::Done = step {
            sink(&self.server.done);
        }
        step
    }

    #[inline(never)]
    fn step_unlimited(&mut self, until: Time) -> Step {
        match self.write_admission {
            Some(_) => self.step_with_buffer(until),
            None => self.step_command(until),
        }
    }

    #[inline(always)]
    fn step_command(&mut self, until: Time) -> Step {
        if self.queue.is_empty() {
            return Step::Nothing;
        }
        let oldest = self.queue.oldest();
        let start = self.next_start(oldest);
        if start >= until {
            return Step::Nothing;
        }
        if self.server.cleans_bands() && self.waits_for_step(start, oldest) {
            return Step::Again;
        }
        if self.rules.way == Way::General {
            return self.step_general(start, oldest);
        }
        let index = self.serve_next(start, oldest);
        if self.limited.is_some() {
            self.serves_limited(index, start);
        }
        Step::Done
    }

    /// Whether a step of cleaning that begins before `start` holds back the next service. It may not have begun yet,
    /// because the background was not brought up to that time.
    #[inline(never)]
    fn waits_for_step(&mut self, start: Time, oldest: usize) -> bool {
        self.bring_to(start);
        self.next_start(oldest) > start
    }

    /// Serves the waiting command number `index` at `start`. The result is in the server's `done`.
    #[inline(always)]
    fn serve(&mut self, start: Time, index: usize) {
        let reversal_cylinder = if self.rules.in_order { None } else { self.scheduler.reversal_cylinder() };
        let waiting = &self.queue.items[index];
        let usual = self.server.is_usual(&waiting.place, waiting.count)
            && reversal_cylinder.is_none()
            && waiting.request.command != Command::Flush
            && self.partial_sectors(&waiting.request) == 0;
        match (usual, self.server.kind) {
            (true, service::BARE) => self.serve_as::<{ service::BARE }>(start, index, None),
            (true, service::CACHED) => self.serve_as::<{ service::CACHED }>(start, index, None),
            (true, service::BUFFERED) => self.serve_as::<{ service::BUFFERED }>(start, index, None),
            _ => self.serve_as::<{ service::GENERAL }>(start, index, reversal_cylinder),
        }
    }

    /// As [`ServiceUnit::serve`], with the code for a unit of kind `K`.
    // Not inlined, so that it is compiled together with the service.
    #[inline(never)]
    fn serve_as<const K: u8>(&mut self, start: Time, index: usize, reversal_cylinder: Option<u32>) {
        let waiting = &self.queue.items[index];
        let found;
        let place = match K == service::GENERAL && self.server.mapping.moves_writes() {
            false => Some(&waiting.place),
            true => {
                found = self.server.find(start, waiting.sector, waiting.count);
                found.as_ref()
            }
        };
        let task = Task {
            start,
            decoding_since: waiting.arrival.decoding_since,
            after_write: waiting.arrival.after_write,
            sector: waiting.sector,
            count: waiting.count,
            place,
            reversal_cylinder,
            blocks: blocks_of(&waiting.request),
            partial: match K {
                service::GENERAL => self.partial_sectors(&waiting.request),
                _ => 0,
            },
        };
        self.server.execute::<K>(&task, waiting.request.command);
        let (id, arrival) = (waiting.request.id, waiting.arrival.at);
        self.sign(id, arrival, start);
        self.queue.remove(index);
    }

    /// How many of a command's first and last sectors are written in part: 0 to 2.
    #[inline]
    fn partial_sectors(&self, request: &DriveRequest) -> u32 {
        if self.size.blocks() == 1 || !request.command.writes() {
            return 0;
        }
        self.size.edges(blocks_of(request)).1 as u32
    }

    /// A step of a unit whose assemblies may be busy, limited or failed.
    #[inline(never)]
    fn step_general(&mut self, start: Time, oldest: usize) -> Step {
        self.bring_to(start);
        if self.faults.degraded {
            // Commands that no assembly can serve any more fail at once, without waiting for their turn.
            let lost = self.queue.by_age().find(|i| self.is_out_of_reach(*i, start));
            if let Some(index) = lost {
                return self.give_up(index, start);
            }
        }
        if self.roles.is_some() && self.change_roles(start) {
            return Step::Again;
        }
        let usable = self.usable(start);
        let choice = self.choose(start, oldest, usable);
        let item = self.queue.items[choice.index];
        if item.request.command == Command::Flush {
            return self.flush(choice.index, start);
        }
        let (needed, hit) = (self.surfaces_of(&item), is_held(&self.server, &item, start));
        let head_set = match self.head_set_for(&item, choice.arm as usize, needed, usable, start) {
            Reach::With(head_set) => head_set,
            Reach::Later(at) => {
                self.free = at;
                return Step::Again;
            }
            Reach::Never if hit => choice.arm as usize,
            Reach::Never => return self.give_up(choice.index, start),
        };
        let assembly = self.server.arms.head_sets[head_set].assembly;
        if !hit && self.faults.meets(head_set, needed) {
            // The command meets the fault: the drive tries to recover, then deconfigures the part.
            self.free = start.after(self.rules.recovery);
            self.server.arms.assemblies[assembly as usize].serves_until = self.free;
            self.server.happens(start);
            self.deconfigure(assembly, start.after(self.rules.recovery));
            return Step::Again;
        }
        self.server.take_over(head_set, start);
        let before = *self.server.arm();
        if self.always_scans() {
            // Blocks that pass before the command is taken are not affected by its transfer.
            self.server.scan_on(start);
        }
        self.serve(start, choice.index);
        if self.scans() {
            self.scan_beside(&item, &before);
        }
        // A read from the buffer needs no arm; the data of every write go to the medium sooner or later.
        let writes = item.request.command.writes();
        let roles = self.roles.iter_mut().filter(|_| self.server.done.mechanical || writes);
        roles.for_each(|roles| roles.note(start, writes));
        // A read from the buffer may be assigned to an assembly that is still busy.
        let busy_until = &mut self.server.arms.assemblies[assembly as usize].serves_until;
        *busy_until = self.server.done.completion.max(*busy_until);
        self.free = self.next_free();
        if self.limited.is_some() {
            self.serves_limited(choice.index, start);
        }
        Step::Done
    }

    /// A flush is a barrier: commands in service complete first.
    fn flush(&mut self, index: usize, start: Time) -> Step {
        let all = self.services().max().unwrap_or_default();
        if all > start {
            self.free = all;
            return Step::Again;
        }
        let item = self.queue.items[index];
        self.server.flush(start);
        self.sign(item.request.id, item.arrival.at, start);
        self.queue.remove(index);
        self.free = self.server.done.completion;
        self.serve_all_until(self.free);
        Step::Done
    }

    /// Lets the scan use the command just served: the rotational wait of the arm, which started at `before`,
    /// or the time of the scan's own arm.
    fn scan_beside(&mut self, item: &Waiting, before: &Arm) {
        let outcome = self.server.done;
        let c = &outcome.components;
        let write = item.request.command.writes();
        let begin = outcome.arrival.after(c.queue + c.overhead);
        if self.always_scans() {
            let end = begin.after(c.seek + c.rotation + c.transfer);
            self.server.scan_beside(end, (end.before(c.transfer), end));
        } else if outcome.mechanical {
            let seek = self.server.mechanics.move_time(before, item.place.cylinder, item.place.head, write);
            // Only a wait after a single movement is used; passes with track switches are left alone.
            if c.seek == seek {
                self.server.scan_in_wait(begin, before, (item.sector, &item.place, write));
            }
        }
    }

    /// When each assembly has completed its command in service.
    fn services(&self) -> impl Iterator<Item = Time> + '_ {
        self.server.arms.assemblies.iter().map(|a| a.serves_until)
    }

    fn serves_until(&self, assembly: u32) -> Time {
        self.server.arms.assemblies[assembly as usize].serves_until
    }

    /// Every assembly takes part in a service that ends at `end`.
    fn serve_all_until(&mut self, end: Time) {
        let assemblies = self.server.arms.assemblies.iter_mut();
        assemblies.for_each(|a| a.serves_until = end);
    }

    /// When fewer than `limit` commands are in service: the `limit`-th latest end.
    fn next_free(&self) -> Time {
        if self.rules.limit == self.server.arms.assemblies.len() {
            return self.services().min().unwrap_or_default();
        }
        let mut ends: Vec<Time> = self.services().collect();
        ends.sort_unstable_by(|a, b| b.cmp(a));
        ends[self.rules.limit - 1]
    }

    /// Brings faults and the background up to `now`.
    pub fn bring_to(&mut self, now: Time) {
        self.meet_faults(now);
        self.server.run_background(now);
    }

    /// Lets the faults up to `now` occur, each after the background work before it.
    fn meet_faults(&mut self, now: Time) {
        while let Some(fault) = self.faults.next(now) {
            self.server.happens(fault.at);
            if self.faults.happen(fault, &self.server.arms.head_sets) {
                self.deconfigure(fault.assembly, fault.at);
            }
        }
    }

    /// Deconfigures everything that has failed on an assembly. Buffered writes whose place no head reaches
    /// any more are lost.
    fn deconfigure(&mut self, assembly: u32, at: Time) {
        let server = &mut self.server;
        self.faults.deconfigure(assembly, at, &mut server.arms.head_sets);
        server.arms.restricted = true;
        if !server.buffer.unwritten.is_empty() {
            // Data may be dropped now. The drive did not rest before.
            self.free = self.free.max(at);
        }
        server.drop_unreachable();
        if self.roles.is_some() {
            self.roles_after_fault(at);
        }
    }

    /// Completes the result of a service: number, arrival, arm, and the wait before `start`.
    #[inline]
    fn sign(&mut self, id: u64, arrival: Time, start: Time) {
        let done = &mut self.server.done;
        done.id = id;
        done.arrival = arrival;
        done.components.queue += start.span_from(arrival);
        done.arm = (self.first_assembly + self.server.arms.active as u32) as u8;
    }
}

/// Whether a command is a read that the buffer alone would serve at `now`.
fn is_held(server: &CommandServer, item: &Waiting, now: Time) -> bool {
    item.request.command == Command::Read
        && server.would_hit(now, item.sector, item.sector + item.count as u64, blocks_of(&item.request))
}

/// The 512-byte blocks of a request.
#[inline]
fn blocks_of(request: &DriveRequest) -> Blocks {
    let past = request.lba.0 + u64::from(request.blocks);
    Blocks::new(request.lba, Lba(past))
}

/// The result of a step.
pub(crate) enum Step {
    /// No service can start yet.
    Nothing,
    /// The state changed, but no command completed.
    Again,
    /// One command completed.
    Done,
}
