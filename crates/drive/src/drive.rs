//! A drive as its host sees it: requests go in, completions with all shares of their response time come out.

use crate::command::{Command, Completion, DriveRequest, Fault};
use crate::counters::Counters;
use crate::design::DriveDesign;
use crate::limits::parameters::LimitsSpec;
use crate::mapping::zoned::Zones;
use crate::mechanics::Mechanics;
use crate::meter::{DriveEnergy, Meter};
use crate::models::Models;
use crate::options::DriveOptions;
use crate::phase::{ActiveByWork, ActiveTime};
use crate::roles::RoleUse;
use crate::spec::DriveSpec;
use crate::tags::{AwaitingTag, Tags};
use crate::unit::{ServiceUnit, Step};
use control::Control;
use headstack_engine::{ByMode, SpecError};
use headstack_units::{Lba, Time};
use listener::{Listener, Watched};
use split::Split;
use std::ops::Range;
use std::sync::Arc;

mod control;
mod limits;
mod listener;
mod shown;
mod split;
mod zones;

pub use control::{Failure, Setting};
pub use listener::Watch;
pub use shown::{ArmShown, Buffered, HeadSetShown, UnitShown};
pub use zones::ZoneRules;

/// One drive: its shared design and its own state.
// In this order in memory: what each command needs is together (docs/design/decisions.md, closed loops).
#[repr(C)]
pub struct Drive {
    units: Vec<ServiceUnit>,
    done: Vec<Completion>,
    way: Way,
    /// Power conditions and changes while running; `None` as long as the drive has no timers and no change
    /// was asked for. It comes by [`Drive::controlled`] alone.
    control: Option<Box<Control>>,
    /// The immutable part of the drive.
    pub design: Arc<DriveDesign>,
    /// Tags of the command queues: one queue for each unit if units have their own, else one for all.
    tags: Vec<Tags>,
    split: Split,
    meter: Meter,
    listener: Option<Listener>,
    /// It comes and goes by [`Drive::set_watched`] alone.
    watched: Option<Watched>,
    /// Its duration limits, once they were changed.
    limits: Option<Box<LimitsSpec>>,
    /// The zones of a host-managed drive.
    zones: Option<Box<Zones>>,
}

/// The way of commands to the units, by what stands there. Each way may have what stands on those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// Nothing stands before the one unit: a command goes there at once.
    Direct,
    /// The one unit gets what the zones admit.
    Zoned,
    /// Units and tags are handled in order of time.
    Ordered,
    /// There are power conditions or changes.
    Controlled,
    /// Somebody watches.
    Watched,
}

impl Drive {
    /// Builds one drive of the built-in models: arms at their initial positions, buffer empty, platter at the
    /// start phase. Other models, and many drives that share their tables: [`DriveDesign::drive`].
    ///
    /// # Errors
    /// Values that do not fit together, by dotted key.
    pub fn builtin(spec: &DriveSpec, options: &DriveOptions) -> Result<Drive, SpecError> {
        DriveDesign::new(spec, &Models::builtin())?.drive(options)
    }

    pub(crate) fn of_units(design: Arc<DriveDesign>, units: Vec<ServiceUnit>, zones: Option<Zones>) -> Drive {
        let queues = if design.own_queues { units.len() } else { 1 };
        let at_once = units.iter().map(ServiceUnit::at_work_at_once).sum();
        let mut drive = Drive {
            tags: (0..queues).map(|_| Tags::new(&design.common.spec.queue)).collect(),
            meter: Meter::new(design.common.watts, design.common.conditions, at_once),
            control: Control::of(&design.common.conditions),
            listener: None,
            watched: None,
            limits: None,
            way: Way::Watched,
            zones: zones.map(Box::new),
            design,
            units,
            split: Split::default(),
            done: Vec::new(),
        };
        drive.way = drive.find_way();
        drive
    }

    /// Finds the way of commands.
    fn find_way(&self) -> Way {
        if self.watched.is_some() {
            Way::Watched
        } else if self.control.is_some() {
            Way::Controlled
        } else if self.units.len() > 1 || !self.tags[0].unlimited() {
            Way::Ordered
        } else if self.zones.is_some() {
            Way::Zoned
        } else {
            Way::Direct
        }
    }

    /// The mechanics of the first unit, for formulas and plots. All units are alike.
    pub fn mechanics(&self) -> &Mechanics {
        &self.units[0].server.mechanics
    }

    /// The largest value that [`Setting::ArmsInMotion`] can have.
    pub fn most_arms_in_motion(&self) -> u32 {
        let most = self.units.iter().map(ServiceUnit::most_arms_in_motion);
        most.min().unwrap_or(1)
    }

    /// Number of waiting commands or parts of commands; those in service are not counted.
    pub fn queue_len(&self) -> usize {
        let inside: usize = self.units.iter().map(ServiceUnit::queue_len).sum();
        let held = self.control.as_ref().map_or(0, |c| c.held());
        inside + self.tags.iter().map(|t| t.awaiting.len()).sum::<usize>() + held
    }

    /// The parts that the drive has deconfigured so far, in order of time.
    pub fn faults(&self) -> Vec<Fault> {
        let mut all: Vec<Fault> = self.units.iter().flat_map(|u| &u.faults.known).copied().collect();
        all.sort_by_key(|f| f.deconfigured);
        all
    }

    /// Everything that the drive has counted so far.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        self.units.iter().for_each(|u| sum.add(&u.counted()));
        sum
    }

    /// What was done with the arms' roles up to `until`; `None` where they never change.
    pub fn role_use(&self, until: Time) -> Option<RoleUse> {
        let mut sum = None;
        for unit in &self.units {
            unit.add_role_use(until, self.units.len(), &mut sum);
        }
        sum
    }

    /// Submits a command at `now`, to which the drive must have been advanced.
    ///
    /// A request that is empty or reaches past the end of the drive completes at once with an error.
    #[inline(always)]
    pub fn submit(&mut self, now: Time, request: DriveRequest) {
        match (self.way, &mut self.units[..]) {
            (Way::Direct, [unit]) => match unit.accept(now, &request) {
                Some(c) => self.done.push(c),
                None => unit.enqueue_at_once(now, request),
            },
            _ => self.submit_indirectly(now, request),
        }
    }

    /// Whether [`Drive::serve_at_once`] serves usual commands, as long as the drive is not changed.
    pub fn serves_in_sequence(&self) -> bool {
        self.way == Way::Direct && self.units[0].serves_in_sequence()
    }

    /// Serves a command that arrives at `now`, to which the drive must have been advanced, and returns its completion, as
    /// [`Drive::submit`] and then [`Drive::advance`] to `before` would. `None`, and nothing done, if that cannot be told
    /// from the command alone: other commands wait, its service begins at `before` or later, the drive may choose a later
    /// command first, or the command is unusual. Until `before`, the drive must not be changed or asked for its state.
    #[inline(always)]
    pub fn serve_at_once(&mut self, now: Time, request: &DriveRequest, before: Time) -> Option<&Completion> {
        match (self.way == Way::Direct && self.done.is_empty(), &mut self.units[..]) {
            (true, [unit]) => unit.serve_at_once(now, request, before),
            _ => None,
        }
    }

    // Not inlined, so that drives without zones and parts are as fast as without it.
    #[inline(never)]
    fn submit_indirectly(&mut self, now: Time, request: DriveRequest) {
        match self.way {
            Way::Watched => self.submit_watched(now, request),
            Way::Controlled => self.submit_controlled(now, request),
            _ => self.submit_now(now, request),
        }
    }

    #[inline]
    fn submit_now(&mut self, now: Time, request: DriveRequest) {
        if self.admit_to_zones(now, &request) {
            match self.units.len() {
                1 => self.place(now, 0, request),
                _ => self.submit_parts(now, request),
            }
        }
    }

    #[inline]
    fn place(&mut self, now: Time, unit: usize, request: DriveRequest) {
        if let Some(c) = self.units[unit].accept(now, &request) {
            if let Some(control) = &mut self.control {
                control.completes(c.completion);
            }
            let whole = match self.units.len() {
                1 => Some(c),
                _ => self.split.part_done(unit, &c),
            };
            self.done.extend(whole);
        } else if self.tags[0].unlimited() {
            self.units[unit].enqueue(now, now, request);
        } else {
            let queue = self.queue_of(unit);
            let tags = &mut self.tags[queue];
            if tags.admits(now) {
                tags.take();
                self.units[unit].enqueue(now, now, request);
            } else {
                tags.awaiting.push_back(AwaitingTag { unit, arrival: now, request });
            }
        }
    }

    /// Index of the queue that a unit's commands go to.
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
        if !flush && (request.blocks == 0 || past.is_none_or(|p| p > self.design.capacity_blocks())) {
            self.done.push(Completion::refused(&request, now));
            return;
        }
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
                // Contiguous pieces on one unit form one part.
                match parts.iter_mut().rev().find(|p| p.0 == unit) {
                    Some((_, p)) if p.lba.0 + p.blocks as u64 == at => p.blocks += blocks,
                    _ => parts.push((unit, DriveRequest { lba: Lba(at), blocks, ..request })),
                }
                lba += blocks as u64;
            }
        }
        let name = self.split.begin(request.id, parts.len() as u32);
        for (unit, mut part) in parts {
            part.id = name;
            self.place(now, unit, part);
        }
    }

    /// The earliest time at which [`Drive::advance`] would do something; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn next_event(&self) -> Time {
        if !self.done.is_empty() {
            return Time::ZERO;
        }
        match (self.way <= Way::Zoned, &self.units[..]) {
            (true, [unit]) => unit.next_event(),
            _ => self.next_event_generally(),
        }
    }

    #[inline(never)]
    fn next_event_generally(&self) -> Time {
        let (_, served) = self.next_unit();
        let next = match self.next_admission() {
            Some((at, _)) => served.min(at),
            None => served,
        };
        match &self.control {
            Some(control) => next.min(control.effective_at.unwrap_or(Time::NEVER)),
            None => next,
        }
    }

    /// When the next command outside a queue gets a tag because one in service completes, and of which queue.
    #[inline]
    fn next_admission(&self) -> Option<(Time, usize)> {
        match &self.tags[..] {
            [tags] => tags.next_admission().map(|at| (at, 0)),
            queues => next_admission_of(queues),
        }
    }

    /// Starts every service that begins before `until`, and gives its completion to `sink`. A command that
    /// arrives at `until` must be submitted afterwards. Completions may lie after `until`.
    #[inline(always)]
    pub fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        if !self.done.is_empty() {
            self.done.iter().for_each(&mut *sink);
            self.done.clear();
        }
        match (self.way <= Way::Zoned, &mut self.units[..]) {
            (true, [unit]) => loop {
                if let Step::Nothing = unit.step(until, sink) {
                    return;
                }
            },
            _ => match self.way {
                Way::Watched => self.advance_watched(until, sink),
                Way::Controlled => self.advance_controlled(until, sink),
                _ => self.advance_in_order(until, sink),
            },
        }
    }

    /// As [`Drive::advance`]; what completes is reported by the next call of that.
    pub fn bring_to(&mut self, until: Time) {
        // Nearly always the drive was advanced so far already.
        if self.next_event() < until {
            let mut done = std::mem::take(&mut self.done);
            self.advance(until, &mut |c| done.push(*c));
            self.done = done;
        }
    }

    /// As [`Drive::go_in_order`].
    #[inline(never)]
    fn advance_in_order(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        self.go_in_order(until, sink);
    }

    /// Handles units and tags in order of time, so that a freed tag admits a command at the right moment.
    #[inline(always)]
    fn go_in_order(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        loop {
            let (unit, served) = self.next_unit();
            // A tag that is freed before the next service starts admits a command first.
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
                        self.tags[queue].serve(part.completion);
                        self.refill(queue, served);
                    }
                    match self.units.len() {
                        1 => sink(&part),
                        _ => self.split.part_done(unit, &part).iter().for_each(&mut *sink),
                    }
                }
            }
        }
    }

    /// The unit with the earliest event, and the time of that event.
    #[inline]
    fn next_unit(&self) -> (usize, Time) {
        match &self.units[..] {
            [unit] => (0, unit.next_event()),
            units => next_of(units),
        }
    }

    /// Admits commands to a queue at `now`, in order of arrival, as far as its depth allows.
    #[inline]
    fn refill(&mut self, queue: usize, now: Time) {
        if !self.tags[queue].awaiting.is_empty() {
            self.admit_waiting(queue, now);
        }
    }

    // Not inlined: nearly always none waits.
    #[inline(never)]
    fn admit_waiting(&mut self, queue: usize, now: Time) {
        while let Some(next) = self.tags[queue].admit(now) {
            let unit = &mut self.units[next.unit];
            unit.not_before(now);
            unit.enqueue(next.arrival, now, next.request);
        }
    }

    /// Time in each active state up to `until`, summed over all assemblies.
    fn active_until(&mut self, until: Time) -> ActiveByWork {
        let mut sum = ActiveByWork::default();
        for unit in &mut self.units {
            unit.add_active(until, &mut sum);
        }
        sum
    }

    /// Time and energy by state from the last [`Drive::reset_statistics`] to `until`. The drive must have
    /// been advanced to `until` and not much further. A service in progress counts with the part before
    /// `until`.
    pub fn energy(&mut self, until: Time) -> DriveEnergy {
        self.look(until);
        let active = self.active_until(until);
        let low = self.low_power_until(until);
        self.meter.read(until, &active, low.as_ref())
    }

    /// The joules of [`Drive::energy`] in each state.
    pub fn joules(&mut self, until: Time) -> ByMode {
        self.look(until);
        let mut active = ActiveTime::default();
        let units = self.units.iter_mut();
        units.for_each(|unit| unit.add_active_time(until, &mut active));
        let low = match self.control {
            None => None,
            Some(_) => self.low_power_until(until),
        };
        if let Some(joules) = self.meter.joules(until, &active, low.as_ref()) {
            return joules;
        }
        let active = self.active_until(until);
        self.meter.read(until, &active, low.as_ref()).joules()
    }

    /// Restarts the count of time and energy at `now`, as at the end of a warm-up.
    pub fn reset_statistics(&mut self, now: Time) {
        self.note_restart(now);
        let active = self.active_until(now);
        let low = self.low_power_until(now);
        self.meter.reset(now, active, low.unwrap_or_default());
    }

    /// Commands that a queue holds at once; 0 for all.
    pub fn queue_depth(&self) -> u32 {
        self.tags.first().map_or(0, Tags::depth)
    }

    /// Gives those of the blocks to `sink` whose data are in the buffer and not on the medium, at the time to which the
    /// drive was advanced. A range may be given in pieces, and in any order.
    pub fn unwritten(&self, blocks: Range<u64>, sink: &mut dyn FnMut(Range<u64>)) {
        let mut lba = blocks.start;
        while lba < blocks.end {
            let (unit, at, run) = match self.units.len() {
                1 => (0, lba, blocks.end - lba),
                _ => self.design.addresses.locate(lba),
            };
            let run = run.min(blocks.end - lba);
            self.units[unit].unwritten(at..at + run, &mut |found| {
                sink(lba + (found.start - at)..lba + (found.end - at));
            });
            lba += run;
        }
    }

    /// Whether buffered writes are not yet on the medium.
    pub fn destage_pending(&self) -> bool {
        self.units.iter().any(ServiceUnit::destage_pending)
    }
}

// Not inlined, these two, so that a drive of one unit is as fast as without them.

/// The unit with the earliest event, and the time of that event.
#[inline(never)]
fn next_of(units: &[ServiceUnit]) -> (usize, Time) {
    let next = units.iter().map(ServiceUnit::next_event).enumerate();
    next.min_by_key(|(_, t)| *t).unwrap_or((0, Time::NEVER))
}

/// The next admission to one of several queues, and to which.
#[inline(never)]
fn next_admission_of(queues: &[Tags]) -> Option<(Time, usize)> {
    let queues = queues.iter().enumerate();
    queues.filter_map(|(q, tags)| tags.next_admission().map(|at| (at, q))).min()
}
