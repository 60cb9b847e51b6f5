//! A drive as its host sees it: requests go in, completions with every share of their time come out.

use crate::command::{Command, Completion, DriveRequest, Fault};
use crate::design::DriveDesign;
use crate::mechanics::Mechanics;
use crate::meter::{DriveEnergy, Meter};
use crate::phase::ActiveByWork;
use crate::spec::DriveSpec;
use crate::tags::{Outside, Tags};
use crate::unit::{Step, Unit};
use control::Control;
use headstack_engine::{ByMode, SpecError};
use headstack_units::{Lba, Time, Turn};
use listener::Listener;
use std::sync::Arc;

mod control;
mod listener;

pub use control::{Part, Setting};

/// What a run may ask of a drive besides its description.
#[derive(Debug, Clone, Copy, Default)]
pub struct DriveOptions {
    /// Imitate DiskSim 4.0: the switches that it leaves inert (free reads, read and write on
    /// arrival) stay off, and stopping read-ahead adds to the command overhead.
    pub compat_disksim_40: bool,
    /// Seed of whatever the drive draws at random: times of failure, phases of further spindles.
    pub seed: u64,
    /// The angle under the heads of the first stack at time zero.
    pub start_phase: Turn,
    /// All stacks have the first one's phase.
    pub synchronized_spindles: bool,
}

/// One drive: its design and its state.
pub struct Drive {
    design: Arc<DriveDesign>,
    units: Vec<Unit>,
    /// Places in the command queue: of each unit where they have queues of their own, else one for all.
    tags: Vec<Tags>,
    /// Commands in parts on several units, and places in the list that are free.
    joins: Vec<Join>,
    free_joins: Vec<usize>,
    done: Vec<Completion>,
    meter: Meter,
    /// Of a drive whose power condition may change, or that was asked to change.
    control: Option<Box<Control>>,
    listener: Option<Listener>,
}

/// A command in parts.
#[derive(Debug, Clone, Copy)]
struct Join {
    id: u64,
    remaining: u32,
    /// The part that ended last so far.
    last: Option<Completion>,
    hit: bool,
    error: bool,
}

impl Drive {
    /// Builds a drive at rest: arms at their start, buffer empty, platter at the start phase. Drives of
    /// one design are built faster, and share it, with [`DriveDesign::drive`].
    ///
    /// # Errors
    /// Whatever in the description does not fit together, by dotted key.
    pub fn new(spec: &DriveSpec, options: &DriveOptions) -> Result<Drive, SpecError> {
        DriveDesign::new(spec)?.drive(options)
    }

    pub(crate) fn of_units(design: Arc<DriveDesign>, units: Vec<Unit>) -> Drive {
        let queues = if design.own_queues { units.len() } else { 1 };
        let at_once = units.iter().map(Unit::at_work_at_once).sum();
        Drive {
            tags: (0..queues).map(|_| Tags::new(&design.spec.queue)).collect(),
            meter: Meter::new(design.watts, design.conditions, at_once),
            control: Control::of(&design.conditions),
            listener: None,
            design,
            units,
            joins: Vec::new(),
            free_joins: Vec::new(),
            done: Vec::new(),
        }
    }

    /// What does not change while it runs.
    pub fn design(&self) -> &Arc<DriveDesign> {
        &self.design
    }

    /// Number of 512-byte blocks that the drive offers.
    pub fn capacity_blocks(&self) -> u64 {
        self.design.capacity_blocks()
    }

    /// Sizes in blocks of the logical units that the host sees, see [`DriveDesign::logical_units`].
    pub fn logical_units(&self) -> Vec<u64> {
        self.design.logical_units()
    }

    /// The moving parts of the first unit (all are alike), for formulas and plots.
    pub fn mechanics(&self) -> &Mechanics {
        self.units[0].mechanics()
    }

    /// Commands or parts of them that wait, those in service not counted.
    pub fn queue_len(&self) -> usize {
        let inside: usize = self.units.iter().map(Unit::queue_len).sum();
        let held = self.control.as_ref().map_or(0, |c| c.held());
        inside + self.tags.iter().map(Tags::outside).sum::<usize>() + held
    }

    /// What the drive has taken out of use so far, in order of time.
    pub fn faults(&self) -> Vec<Fault> {
        let mut all: Vec<Fault> = self
            .units
            .iter()
            .flat_map(|u| u.faults())
            .copied()
            .collect();
        all.sort_by_key(|f| f.deconfigured);
        all
    }

    /// Writes that completed in the buffer and were lost because nothing reached their place later.
    pub fn lost_writes(&self) -> u64 {
        self.units.iter().map(Unit::lost_writes).sum()
    }

    /// Physical sectors that were written in part, and therefore read first.
    pub fn read_modify_writes(&self) -> u64 {
        self.units.iter().map(Unit::read_modify_writes).sum()
    }

    /// Bytes that the scan of the medium has read beside the host's commands.
    pub fn scanned_bytes(&self) -> u64 {
        self.units.iter().map(Unit::scanned_bytes).sum()
    }

    /// Gives the drive a command at `now`, which never decreases from call to call.
    ///
    /// A request that is empty or reaches past the end completes at once as an error.
    #[inline(always)]
    pub fn submit(&mut self, now: Time, request: DriveRequest) {
        if self.control.is_some() && !self.receive(now, request) {
            return;
        }
        self.submit_now(now, request);
    }

    #[inline(always)]
    fn submit_now(&mut self, now: Time, request: DriveRequest) {
        if self.units.len() > 1 {
            return self.submit_parts(now, request);
        }
        self.place(now, 0, request);
    }

    #[inline(always)]
    fn place(&mut self, now: Time, unit: usize, request: DriveRequest) {
        if let Some(c) = self.units[unit].accept(now, &request) {
            if let Some(control) = &mut self.control {
                control.completes(c.completion);
            }
            let whole = match self.units.len() {
                1 => Some(c),
                _ => self.part_done(&c),
            };
            self.done.extend(whole);
        } else if self.tags[0].unlimited() {
            self.units[unit].enqueue(now, now, request);
        } else {
            let queue = self.queue_of(unit);
            let tags = &mut self.tags[queue];
            if tags.admits(now.0) {
                tags.take();
                self.units[unit].enqueue(now, now, request);
            } else {
                tags.wait(Outside {
                    unit,
                    arrival: now,
                    request,
                });
            }
        }
    }

    /// The queue that a unit's commands go to.
    #[inline]
    fn queue_of(&self, unit: usize) -> usize {
        if self.design.own_queues {
            unit
        } else {
            0
        }
    }

    #[inline(never)]
    fn submit_parts(&mut self, now: Time, request: DriveRequest) {
        let past = request.lba.0.checked_add(request.blocks as u64);
        let flush = request.command == Command::Flush;
        if !flush && (request.blocks == 0 || past.is_none_or(|p| p > self.capacity_blocks())) {
            self.done.push(Completion::refused(&request, now));
            return;
        }
        let join = Join {
            id: request.id,
            remaining: 0,
            last: None,
            hit: true,
            error: false,
        };
        let slot = match self.free_joins.pop() {
            Some(i) => {
                self.joins[i] = join;
                i
            }
            None => {
                self.joins.push(join);
                self.joins.len() - 1
            }
        };
        let mut parts: Vec<(usize, DriveRequest)> = Vec::new();
        if flush {
            for unit in 0..self.units.len() {
                parts.push((unit, request));
            }
        } else {
            let mut lba = request.lba.0;
            let end = lba + request.blocks as u64;
            while lba < end {
                let (unit, at, run) = self.design.addresses.locate(lba);
                let blocks = run.min(end - lba) as u32;
                // Pieces that follow each other on a unit are one part.
                match parts.iter_mut().rev().find(|p| p.0 == unit) {
                    Some((_, p)) if p.lba.0 + p.blocks as u64 == at => p.blocks += blocks,
                    _ => parts.push((
                        unit,
                        DriveRequest {
                            lba: Lba(at),
                            blocks,
                            ..request
                        },
                    )),
                }
                lba += blocks as u64;
            }
        }
        self.joins[slot].remaining = parts.len() as u32;
        for (unit, mut part) in parts {
            part.id = slot as u64;
            self.place(now, unit, part);
        }
    }

    /// Adds a part to its command; the command's completion with the last one.
    fn part_done(&mut self, c: &Completion) -> Option<Completion> {
        let slot = c.id as usize;
        let join = &mut self.joins[slot];
        join.hit &= c.cache_hit;
        join.error |= c.error;
        if join.last.is_none_or(|l| c.completion > l.completion) {
            join.last = Some(*c);
        }
        join.remaining -= 1;
        if join.remaining > 0 {
            return None;
        }
        let join = *join;
        self.free_joins.push(slot);
        join.last.map(|last| Completion {
            id: join.id,
            cache_hit: join.hit,
            error: join.error,
            ..last
        })
    }

    /// The earliest time at which [`Drive::advance`] would do something.
    #[inline]
    pub fn next_event(&self) -> Time {
        if !self.done.is_empty() {
            return Time::ZERO;
        }
        let served = match &self.units[..] {
            [unit] => unit.next_event(),
            units => units
                .iter()
                .map(Unit::next_event)
                .min()
                .unwrap_or(Time::NEVER),
        };
        match self.next_admission() {
            Some((at, _)) => served.min(at),
            None => served,
        }
    }

    /// When a command from outside gets a tag because one in service ends, and of which queue.
    fn next_admission(&self) -> Option<(Time, usize)> {
        let queues = self.tags.iter().enumerate();
        queues
            .filter_map(|(q, tags)| tags.next_admission().map(|at| (Time(at), q)))
            .min()
    }

    /// Starts the service of every command whose service begins before `until`; what arrives at
    /// `until` itself is to be submitted first. Completions may lie after `until`.
    #[inline(always)]
    pub fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        if !self.done.is_empty() {
            self.done.iter().for_each(&mut *sink);
            self.done.clear();
        }
        if self.control.is_some() {
            return self.advance_controlled(until, sink);
        }
        if self.units.len() > 1 || !self.tags[0].unlimited() {
            return self.advance_in_order(until, sink);
        }
        loop {
            match self.units[0].step(until, sink) {
                Step::Nothing => return,
                Step::Again | Step::Done => {}
            }
        }
    }

    /// Units and tags in order of time, so that each command that frees a tag makes room at its time.
    #[inline(never)]
    fn advance_in_order(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        loop {
            let next = self.units.iter().map(Unit::next_event).enumerate();
            let (unit, served) = next.min_by_key(|(_, t)| *t).unwrap_or((0, Time::NEVER));
            // A tag that comes free before the next service starts lets a command in first.
            if let Some((free, queue)) = self.next_admission() {
                if free <= served && free < until {
                    self.refill(queue, free);
                    continue;
                }
            }
            if served >= until {
                return;
            }
            let mut part = Completion::default();
            match self.units[unit].step(until, &mut |c| part = *c) {
                Step::Nothing => return,
                Step::Again => {}
                Step::Done => {
                    if !self.tags[0].unlimited() {
                        let queue = self.queue_of(unit);
                        self.tags[queue].serve(part.completion.0);
                        self.refill(queue, served);
                    }
                    match self.units.len() {
                        1 => sink(&part),
                        _ => self.part_done(&part).iter().for_each(&mut *sink),
                    }
                }
            }
        }
    }

    /// Lets commands into a queue at `now` as far as its depth allows, in order of arrival.
    fn refill(&mut self, queue: usize, now: Time) {
        while let Some(next) = self.tags[queue].admit(now.0) {
            let unit = &mut self.units[next.unit];
            unit.not_before(now);
            unit.enqueue(next.arrival, now, next.request);
        }
    }

    /// Time in each active state up to `until`, all assemblies together.
    fn active_until(&mut self, until: u64) -> ActiveByWork {
        let mut sum = ActiveByWork::default();
        for unit in &mut self.units {
            unit.add_active(until, &mut sum);
        }
        sum
    }

    /// Time and energy by state since the last [`Drive::reset_statistics`], up to `until`. The drive
    /// must have been advanced to `until` and not much further; a service that is under way then counts
    /// for the part that has passed.
    pub fn energy(&mut self, until: Time) -> DriveEnergy {
        let active = self.active_until(until.0);
        let low = self.low_power_until(until.0);
        self.meter.read(until.0, &active, low.as_ref())
    }

    /// The joules by state of [`Drive::energy`].
    pub fn joules(&mut self, until: Time) -> ByMode {
        let active = self.active_until(until.0);
        let low = self.low_power_until(until.0);
        self.meter.joules(until.0, &active, low.as_ref())
    }

    /// Starts counting time and energy anew at `now`, as at the end of a warm-up.
    pub fn reset_statistics(&mut self, now: Time) {
        let active = self.active_until(now.0);
        let low = self.low_power_until(now.0);
        self.meter.reset(now.0, active, low.unwrap_or_default());
    }

    /// Whether written data are still on their way to the medium.
    pub fn destage_pending(&self) -> bool {
        self.units.iter().any(Unit::destage_pending)
    }
}
