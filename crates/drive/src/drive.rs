//! A drive as its host sees it: requests go in, completions with every share of their time come out.

use headstack_units::{Lba, Time};

/// What the host asks of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Read blocks.
    Read,
    /// Write blocks.
    Write,
    /// Put everything written before on the medium.
    Flush,
}

/// One command to a drive. Blocks are 512 bytes whatever the physical sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriveRequest {
    /// The host's name for it; comes back in the [`Completion`].
    pub id: u64,
    /// What to do.
    pub command: Command,
    /// First 512-byte block.
    pub lba: Lba,
    /// Number of 512-byte blocks; ignored by [`Command::Flush`].
    pub blocks: u32,
}

/// Where the response time of one request went, in nanoseconds. The six shares add up to the
/// response time exactly; work that overlaps is charged to the part that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Components {
    /// Waiting for other requests, and for the mechanism to come free.
    pub queue: u64,
    /// Command processing.
    pub overhead: u64,
    /// Arm movement, head switch and settling.
    pub seek: u64,
    /// Waiting for the platter.
    pub rotation: u64,
    /// Sectors passing under the head, track switches inside the transfer included.
    pub transfer: u64,
    /// The link, where it is not hidden behind the medium.
    pub bus: u64,
}

/// One request done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// The host's name for the request.
    pub id: u64,
    /// When it reached the drive.
    pub arrival: Time,
    /// When the host was told that it is done.
    pub completion: Time,
    /// Where the time went.
    pub components: Components,
    /// Served wholly from the buffer (reads) or completed in it (writes).
    pub cache_hit: bool,
    /// Whether the request itself used the mechanism before it completed.
    pub mechanical: bool,
    /// Cylinders that the arm moved for it.
    pub seek_distance: u32,
    /// Which arm assembly of the drive served it, counted from 0 through all stacks.
    pub arm: u8,
    /// Set when it could not be served: outside the drive, or nothing reaches the surface.
    pub error: bool,
}

impl Completion {
    /// Whether an arm moved for it.
    #[inline]
    pub fn moved(&self) -> bool {
        self.mechanical && self.seek_distance > 0
    }
}

/// Time in each state and the energy of it, from time zero to `until`.
///
/// Where a drive works on several commands at once, the seconds are averaged over as many as it can
/// have in service, so that they still add up to the time that has passed; each active state's
/// energy holds its share of the idle power for that time and what the state adds, for every
/// assembly in it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DriveEnergy {
    /// Seconds spinning without positioning or transferring.
    pub idle_s: f64,
    /// Seconds seeking (switches and settling included), background work included.
    pub seek_s: f64,
    /// Seconds waiting for rotation.
    pub rotation_s: f64,
    /// Seconds transferring.
    pub transfer_s: f64,
    /// Seconds spun down.
    pub standby_s: f64,
    /// Joules in each of these states, same order.
    pub idle_j: f64,
    /// See `idle_j`.
    pub seek_j: f64,
    /// See `idle_j`.
    pub rotation_j: f64,
    /// See `idle_j`.
    pub transfer_j: f64,
    /// See `idle_j`.
    pub standby_j: f64,
}

use crate::mechanics::Mechanics;
use crate::parallelism;
use crate::power::{Shape, StateWatts};
use crate::service::Busy;
use crate::spec::{ArmShare, DriveSpec};
use crate::unit::{refused, Coming, Step, Unit};
use headstack_engine::random;
use headstack_engine::SpecError;
use headstack_units::Turn;
use rand::RngCore;
use std::collections::VecDeque;

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

/// A head or an assembly that the drive has deconfigured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// When it failed, or was about to.
    pub failed: Time,
    /// When the drive took it out of use.
    pub deconfigured: Time,
    /// Disk stack.
    pub stack: u32,
    /// Assembly of the stack.
    pub arm: u32,
    /// Surface of the head; `None`: the whole assembly.
    pub surface: Option<u32>,
    /// Whether the drive was warned.
    pub warning: bool,
}

/// One drive: mechanics, buffer, queue and clock.
pub struct Drive {
    units: Vec<Unit>,
    addresses: Addresses,
    /// Waiting commands that the schedulers see; of each unit where they have queues of their own.
    depth: usize,
    own_queues: bool,
    /// Commands beyond the queue depth, with their unit, in order of arrival.
    beyond: VecDeque<Beyond>,
    /// Commands in parts on several units, and places in the list that are free.
    joins: Vec<Join>,
    free_joins: Vec<usize>,
    done: Vec<Completion>,
    watts: StateWatts,
    counted_from: u64,
    counted: Busy,
}

/// A command for which the queue has no place yet.
#[derive(Debug, Clone, Copy)]
struct Beyond {
    unit: usize,
    arrival: Time,
    request: DriveRequest,
}

/// How addresses fall on the units.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    /// Blocks of one unit, units per stack, stacks.
    unit: u64,
    shares: u64,
    stacks: u64,
    /// Blocks that lie on one stack before the next one's turn.
    stripe: u64,
}

impl Addresses {
    fn capacity(&self) -> u64 {
        self.unit * self.shares * self.stacks
    }

    /// Unit and block of an address, and how many blocks follow there without a gap.
    fn locate(&self, lba: u64) -> (usize, u64, u64) {
        let stack_blocks = self.unit * self.shares;
        // The end of the stripes that fill every stack; what is left of each stack follows in order.
        let even = stack_blocks / self.stripe * self.stripe * self.stacks;
        let (stack, at, run) = if lba < even {
            let (number, inside) = (lba / self.stripe, lba % self.stripe);
            let at = number / self.stacks * self.stripe + inside;
            (number % self.stacks, at, self.stripe - inside)
        } else {
            let rest = stack_blocks % self.stripe;
            let (stack, inside) = ((lba - even) / rest, (lba - even) % rest);
            (stack, stack_blocks - rest + inside, rest - inside)
        };
        let (share, inside) = (at / self.unit, at % self.unit);
        let unit = stack * self.shares + share;
        (unit as usize, inside, run.min(self.unit - inside))
    }
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
    /// Builds a drive at rest: arms at their start, buffer empty, platter at the start phase.
    ///
    /// # Errors
    /// Whatever in the description does not fit together, by dotted key.
    pub fn new(spec: &DriveSpec, options: &DriveOptions) -> Result<Drive, SpecError> {
        let plans = parallelism::units(spec)?;
        let mut units = Vec::with_capacity(plans.len());
        let mut first_assembly = 0;
        for plan in &plans {
            let phase = if plan.stack == 0 || options.synchronized_spindles {
                options.start_phase
            } else {
                let mut stream = random::stream(options.seed, &format!("spindle-{}", plan.stack));
                Turn(stream.next_u64())
            };
            let coming = coming(spec, plan, options.seed);
            let mut unit = Unit::new(spec, plan, phase, options, coming)?;
            unit.first_assembly = first_assembly;
            first_assembly += plan.arms.len() as u32;
            units.push(unit);
        }
        let unit = units.iter().map(Unit::capacity_blocks).min().unwrap_or(0);
        let shares = match spec.parallelism.arm_share {
            ArmShare::All => 1,
            ArmShare::OwnShare => spec.dash.arms as u64,
        };
        let stack_blocks = unit * shares;
        let stripe = match spec.parallelism.stack_unit.0 / 512 {
            0 => stack_blocks,
            n => n.min(stack_blocks),
        };
        let watts = crate::power::build(&spec.power, &Shape::of(spec))?;
        Ok(Drive {
            addresses: Addresses {
                unit,
                shares,
                stacks: spec.dash.stacks as u64,
                stripe,
            },
            units,
            depth: if spec.queue.depth == 0 {
                usize::MAX
            } else {
                spec.queue.depth as usize
            },
            own_queues: spec.parallelism.logical_units,
            beyond: VecDeque::new(),
            joins: Vec::new(),
            free_joins: Vec::new(),
            done: Vec::new(),
            watts,
            counted_from: 0,
            counted: Default::default(),
        })
    }

    /// Number of 512-byte blocks that the drive offers.
    pub fn capacity_blocks(&self) -> u64 {
        self.addresses.capacity()
    }

    /// Sizes in blocks of the logical units that the host sees, one after another in the drive's
    /// addresses: usually one. Stacks that addresses are striped over are one unit.
    pub fn logical_units(&self) -> Vec<u64> {
        let a = &self.addresses;
        let in_order = a.stacks == 1 || a.stripe == a.unit * a.shares;
        if self.own_queues && a.shares > 1 && in_order {
            vec![a.unit; (a.shares * a.stacks) as usize]
        } else {
            vec![self.capacity_blocks()]
        }
    }

    /// The moving parts of the first unit (all are alike), for formulas and plots.
    pub fn mechanics(&self) -> &Mechanics {
        self.units[0].mechanics()
    }

    /// Commands or parts of them that wait, those in service not counted.
    pub fn queue_len(&self) -> usize {
        self.units.iter().map(Unit::queue_len).sum::<usize>() + self.beyond.len()
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

    /// Bytes that the scan of the medium has read beside the host's commands.
    pub fn scanned_bytes(&self) -> u64 {
        self.units.iter().map(Unit::scanned_bytes).sum()
    }

    /// Gives the drive a command at `now`, which never decreases from call to call.
    ///
    /// A request that is empty or reaches past the end completes at once as an error.
    #[inline(always)]
    pub fn submit(&mut self, now: Time, request: DriveRequest) {
        if self.units.len() > 1 {
            return self.submit_parts(now, request);
        }
        self.place(now, 0, request);
    }

    #[inline(always)]
    fn place(&mut self, now: Time, unit: usize, request: DriveRequest) {
        if let Some(c) = self.units[unit].accept(now, &request) {
            let whole = match self.units.len() {
                1 => Some(c),
                _ => self.part_done(&c),
            };
            self.done.extend(whole);
        } else if self.has_room(unit) && self.nobody_before(unit) {
            self.units[unit].enqueue(now, request);
        } else {
            self.beyond.push_back(Beyond {
                unit,
                arrival: now,
                request,
            });
        }
    }

    /// Whether the queue that a unit's commands go to has a place.
    #[inline]
    fn has_room(&self, unit: usize) -> bool {
        let waiting = if self.own_queues || self.units.len() == 1 {
            self.units[unit].queue_len()
        } else {
            self.units.iter().map(Unit::queue_len).sum()
        };
        waiting < self.depth
    }

    /// Whether no command waits for the place that this unit's next command would take.
    #[inline]
    fn nobody_before(&self, unit: usize) -> bool {
        self.beyond.is_empty() || (self.own_queues && self.beyond.iter().all(|b| b.unit != unit))
    }

    #[inline(never)]
    fn submit_parts(&mut self, now: Time, request: DriveRequest) {
        let past = request.lba.0.checked_add(request.blocks as u64);
        let flush = request.command == Command::Flush;
        if !flush && (request.blocks == 0 || past.is_none_or(|p| p > self.capacity_blocks())) {
            self.done.push(refused(&request, now));
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
                let (unit, at, run) = self.addresses.locate(lba);
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
        match &self.units[..] {
            [unit] => unit.next_event(),
            units => units
                .iter()
                .map(Unit::next_event)
                .min()
                .unwrap_or(Time::NEVER),
        }
    }

    /// Starts the service of every command whose service begins before `until`; what arrives at
    /// `until` itself is to be submitted first. Completions may lie after `until`.
    #[inline(always)]
    pub fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        if !self.done.is_empty() {
            self.done.iter().for_each(&mut *sink);
            self.done.clear();
        }
        if self.units.len() > 1 {
            return self.advance_many(until, sink);
        }
        loop {
            match self.units[0].step(until, sink) {
                Step::Nothing => return,
                Step::Again => {}
                Step::Done => {
                    if let Some(next) = self.beyond.pop_front() {
                        self.units[0].enqueue(next.arrival, next.request);
                    }
                }
            }
        }
    }

    /// The units in order of time, so that each command that starts makes room in a shared queue
    /// at its time.
    #[inline(never)]
    fn advance_many(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        loop {
            let next = self.units.iter().map(Unit::next_event).enumerate();
            let Some((unit, time)) = next.min_by_key(|(_, t)| *t) else {
                return;
            };
            if time >= until {
                return;
            }
            let mut part = Completion::default();
            match self.units[unit].step(until, &mut |c| part = *c) {
                Step::Nothing => return,
                Step::Again => {}
                Step::Done => {
                    self.refill(time);
                    if let Some(whole) = self.part_done(&part) {
                        sink(&whole);
                    }
                }
            }
        }
    }

    /// Lets commands in at `now` as far as the queue depth allows, in order of arrival.
    fn refill(&mut self, now: Time) {
        let mut i = 0;
        while i < self.beyond.len() {
            if self.has_room(self.beyond[i].unit) {
                if let Some(next) = self.beyond.remove(i) {
                    let unit = &mut self.units[next.unit];
                    unit.not_before(now);
                    unit.enqueue(next.arrival, next.request);
                }
            } else if self.own_queues {
                i += 1;
            } else {
                return;
            }
        }
    }

    fn busy_until(&mut self, until: u64) -> Busy {
        let mut sum = Busy::default();
        for unit in &mut self.units {
            sum.add(&unit.busy_until(until));
        }
        sum
    }

    /// Time and energy by state since the last [`Drive::reset_statistics`], up to `until`.
    pub fn energy(&mut self, until: Time) -> DriveEnergy {
        let busy = self.busy_until(until.0);
        let at_once = self.units.iter().map(Unit::limit).sum::<usize>().max(1) as f64;
        let s = |a: u64, b: u64| a.saturating_sub(b) as f64 * 1e-9;
        let w = &self.watts;
        // Seconds of assemblies; what the state adds to idle is paid for each of them.
        let state = |now: u64, before: u64, watts: f64| {
            let arm_s = s(now, before);
            let mean_s = arm_s / at_once;
            (mean_s, mean_s * w.idle + arm_s * (watts - w.idle))
        };
        let (seek_s, seek_j) = state(busy.seek, self.counted.seek, w.seek);
        let (rotation_s, rotation_j) = state(busy.rotation, self.counted.rotation, w.rotation);
        let (transfer_s, transfer_j) = state(busy.transfer, self.counted.transfer, w.transfer);
        let total = s(until.0, self.counted_from);
        let idle_s = (total - seek_s - rotation_s - transfer_s).max(0.0);
        DriveEnergy {
            idle_s,
            seek_s,
            rotation_s,
            transfer_s,
            standby_s: 0.0,
            idle_j: idle_s * w.idle,
            seek_j,
            rotation_j,
            transfer_j,
            standby_j: 0.0,
        }
    }

    /// Starts counting time and energy anew at `now`, as at the end of a warm-up.
    pub fn reset_statistics(&mut self, now: Time) {
        self.counted = self.busy_until(now.0);
        self.counted_from = now.0;
    }

    /// Whether written data are still on their way to the medium.
    pub fn destage_pending(&self) -> bool {
        self.units.iter().any(Unit::destage_pending)
    }
}

/// The faults of a unit, the first one last.
fn coming(spec: &DriveSpec, plan: &parallelism::UnitPlan, seed: u64) -> Vec<Coming> {
    let gang = spec.dash.surfaces;
    let mut list = Vec::new();
    for (i, f) in spec.parallelism.faults.iter().enumerate() {
        let arms = plan.first_arm..plan.first_arm + plan.arms.len() as u32;
        if f.stack != plan.stack || !arms.contains(&f.arm) {
            continue;
        }
        let own = plan.geometry.surfaces * gang;
        let surfaces = match f.surface {
            None => u64::MAX,
            // A head of the assembly that this unit has no surface for takes nothing away.
            Some(s) if s < plan.first_surface || s >= plan.first_surface + own => continue,
            Some(s) => 1 << ((s - plan.first_surface) / gang),
        };
        let at = match (f.at, f.mean_time_to_failure) {
            (Some(t), _) => t.non_negative(),
            (None, Some(mean)) => {
                let bits = random::stream(seed, &format!("fault-{i}")).next_u64();
                let uniform = ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
                (-uniform.ln() * mean.0 as f64) as u64
            }
            (None, None) => continue,
        };
        list.push(Coming {
            at,
            assembly: f.arm - plan.first_arm,
            surfaces,
            warning: f.warning,
            report: Fault {
                failed: Time(at),
                deconfigured: Time(at),
                stack: f.stack,
                arm: f.arm,
                surface: f.surface,
                warning: f.warning,
            },
        });
    }
    list.sort_by_key(|f| std::cmp::Reverse(f.at));
    list
}
