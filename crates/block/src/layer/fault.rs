//! Faults of what is below: requests that are late, a device that hangs, ranges that cannot be read or written, a device
//! that is gone.
//!
//! # Model
//! Without a fault requests pass unchanged. Faults of several kinds may be in force at once.
//!
//! *Slow*: a share `ratio` of the requests that arrive end `by` later than they would. Which ones follows from `seed`, the
//! time of arrival and the address, so the same requests are late whatever else happens. The time counts as `overhead`.
//!
//! *Stuck*: nothing is answered for a time. Requests that arrive wait in front of the device (`queue`). Requests in it
//! whose end was not announced end when the time is over, at the earliest (`overhead`).
//!
//! *Bad*: blocks that cannot be read, or written, or both. A request that touches one is carried out, and then fails. Blocks
//! that cannot be read become good when they are written, as a drive does that gives them a spare place.
//!
//! *Weak*: blocks that the drive reads only after it has tried for some time. A read that touches one ends `takes` later
//! (`overhead`) and is good; the drive says that it has recovered an error. A write makes them well.
//!
//! *Busy*: no further requests are taken for a time. What arrives waits in front of the device (`queue`), as a host has it
//! wait that is told to come again; what is in the device goes on. A front end that can say BUSY does so.
//!
//! *Predicted failure*: nothing changes but what a SCSI drive says of itself.
//!
//! *Gone*: requests fail at once, also those in the device whose end was not announced. When it is back, it has the data
//! that it had.
//!
//! All of it may change during a run (`slow`, `stuck`, `bad`, `weak`, `busy`, `gone`, `predicts_failure`).
//!
//! Statistics: `slowed`, `stuck`, `bad`, `weak`, `busy` and `gone` (requests concerned), and the times `stuck` and `busy`.
//! # Source
//! Fail-slow faults: H. S. Gunawi and others, "Fail-slow at scale", FAST 2018, which lists shares of slow requests, pauses,
//! and devices that come back. Unreadable blocks that writing repairs: SBC-4, automatic write reassignment (AWRE).
//! # Validity
//! The mechanics know nothing of these faults: an arm does not move again for a late request. A head or an arm that fails
//! is a change of the drive (`fail`).

use super::statistics::counts;
use super::{
    not_supported, Context, ErrorKind, Flow, Layer, LayerCompletion, LowerCount, Request, Setting, Statistics,
};
use headstack_drive::Command;
use headstack_engine::random::nth;
use headstack_schema::{Choice, OneOf, SpecError, Table};
use headstack_units::{Span, Time};
use rangemap::{RangeMap, RangeSet};
use slab::Slab;
use std::ops::Range;

/// The layer's name.
pub const NAME: &str = "fault";

#[derive(Table)]
#[table(
    model = "requests that are late, hang or fail, on purpose",
    example = "slow = { ratio = 0.1, by = \"200 ms\" }",
    facts = LowerCount::One, build = |own, context| Ok(Box::new(Fault::new(context, &own)?))
)]
pub(super) struct Parameters {
    /// Chooses the requests that are slow.
    #[param(default)]
    seed: u64,
    /// Requests that are late, from the beginning.
    slow: Option<Slow>,
    /// Blocks that are bad from the beginning.
    #[param(default)]
    bad: Vec<Bad>,
}

/// A setting of a fault layer.
#[derive(Debug, Clone, PartialEq, OneOf)]
pub enum FaultSetting {
    /// Fault: `{ ratio = 0.01, by = "300 ms", lasts = "1 min" }`: this share of the requests ends so much later, which
    /// ones follows from the layer's `seed`; without `lasts` until the next change.
    Slow(Slow),
    /// Fault: `{ lasts = "3 s" }`: nothing is answered for this time.
    // `None`: until the next change.
    Stuck(Option<Stuck>),
    /// Fault: `{ unit = 0, block = 2048, blocks = 8, fails = "reads" }`: 512-byte blocks whose `reads`, `writes` or
    /// `all` fail; what is written can be read again. `none`: they are good again.
    Bad(Bad),
    /// Fault: `true`: requests fail at once; `false`: the device is back with its data.
    // Back, it is not stuck either.
    Gone(bool),
    /// Fault: `{ lasts = "3 s" }`: what arrives waits for this time; what is in the drive goes on.
    Busy(Busy),
    /// Fault: blocks whose reads end so much later and are good, until they are written. `{ block = 2048, blocks = 8,
    /// takes = "700 ms" }`; 0 s: they are well again.
    Weak(Weak),
    /// Fault: whether a SCSI disk says that it is about to fail; nothing else changes.
    PredictsFailure(bool),
}

/// A share of the requests is late.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Slow {
    /// The share; 0 ends it.
    #[param(range = 0.0..=1.0)]
    pub ratio: f64,
    /// How much later they end.
    #[param(default, range = Span::ZERO..=MOST)]
    pub by: Span,
    /// For how long; until the next change if absent.
    #[param(range = Span::ZERO..=MOST)]
    pub lasts: Option<Span>,
}

/// The device answers nothing for a time.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Stuck {
    /// For how long.
    #[param(range = Span::ZERO..=MOST)]
    pub lasts: Span,
}

/// Blocks that are bad, or good again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Table)]
pub struct Bad {
    /// Unit of the layer.
    #[param(default)]
    pub unit: u32,
    /// First 512-byte block.
    pub block: u64,
    /// Number of 512-byte blocks.
    #[param(default = 1)]
    pub blocks: u64,
    /// Which requests fail there.
    #[param(default)]
    pub fails: Fails,
}

/// Which requests to a bad block fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Fails {
    /// Reads, until the block is written.
    #[default]
    Reads,
    /// Writes.
    Writes,
    /// All.
    All,
    /// None: the block is good again.
    None,
}

/// The device takes no further requests for a time.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Busy {
    /// For how long.
    #[param(range = Span::ZERO..=MOST)]
    pub lasts: Span,
}

/// Blocks that are read only after the drive has tried for some time.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Weak {
    /// Unit of the layer.
    #[param(default)]
    pub unit: u32,
    /// First 512-byte block.
    pub block: u64,
    /// Number of 512-byte blocks.
    #[param(default = 1)]
    pub blocks: u64,
    /// How much longer a read takes; 0 s: they are well again.
    #[param(range = Span::ZERO..=MOST)]
    pub takes: Span,
}

/// What a fault layer has a SCSI drive say of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultSigns {
    /// It is busy before this time.
    pub busy_until: Time,
    /// It is about to fail.
    pub predicts_failure: bool,
    /// Some of its blocks are weak.
    pub has_weak: bool,
}

/// How a device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultState {
    /// It answers.
    Well,
    /// It answers nothing.
    Stuck,
    /// It is gone.
    Gone,
}

/// Longest fault: a century.
const MOST: Span = Span(100 * 366 * 86_400 * 1_000_000_000);

/// A request that is held, or that is in the layer below.
struct Passing {
    /// Its number at this layer.
    request: u32,
    /// Its number at the layer below, once it is there.
    given: Option<u32>,
    /// How much later it ends.
    late: Span,
    /// It has failed already; what the layer below says of it is ignored.
    is_orphan: bool,
}

/// Bad blocks of a unit.
#[derive(Clone, Default)]
struct BadBlocks {
    reads: RangeSet<u64>,
    writes: RangeSet<u64>,
    /// Blocks that are read after some time.
    weak: RangeMap<u64, Span>,
}

/// Faults of the devices below, one for each unit.
pub struct Fault {
    members: Vec<u64>,
    seed: u64,
    slow: Slow,
    slow_until: Time,
    bad: Vec<BadBlocks>,
    is_gone: bool,
    /// Nothing is answered before this time; [`Time::ZERO`] if the device is not stuck.
    stuck_until: Time,
    /// No further requests are taken before this time.
    busy_until: Time,
    predicts_failure: bool,
    passing: Slab<Passing>,
    /// Requests that wait for a device that is stuck, in order of arrival.
    held: Vec<u32>,
    /// Requests that wait for a device that is busy, in order of arrival.
    postponed: Vec<u32>,
    /// Requests of which the layer below has said, while the device is stuck, how they end.
    kept: Vec<u32>,
    counts: Counts,
}

counts! { slowed, stuck, bad, weak, busy, gone; stuck_ns = "stuck"; busy_ns = "busy" }

/// A share between 0 and 1 that follows from a seed and two numbers.
fn share(seed: u64, a: u64, b: u64) -> f64 {
    (nth(nth(seed, 1) ^ nth(a, 2) ^ nth(b, 3), 0) >> 11) as f64 / (1u64 << 53) as f64
}

impl Fault {
    fn new(context: Context, p: &Parameters) -> Result<Fault, SpecError> {
        let mut fault = Fault {
            bad: vec![BadBlocks::default(); context.members.len()],
            members: context.members,
            seed: p.seed,
            slow: NOT_SLOW,
            slow_until: Time::NEVER,
            is_gone: false,
            stuck_until: Time::ZERO,
            busy_until: Time::ZERO,
            predicts_failure: false,
            passing: Slab::new(),
            held: Vec::new(),
            postponed: Vec::new(),
            kept: Vec::new(),
            counts: Counts::default(),
        };
        if let Some(slow) = p.slow {
            fault.be_slow(Time::ZERO, slow);
        }
        for (i, bad) in p.bad.iter().enumerate() {
            let key = format!("bad[{i}]");
            fault.be_bad(bad).map_err(|e| e.within(&key))?;
        }
        Ok(fault)
    }

    fn be_slow(&mut self, now: Time, slow: Slow) {
        self.slow = slow;
        self.slow_until = slow.lasts.map_or(Time::NEVER, |lasts| now + lasts);
    }

    /// Blocks of a unit.
    fn range_of(&self, unit: u32, block: u64, blocks: u64) -> Result<Range<u64>, SpecError> {
        let Some(size) = (self.members.get(unit as usize)).copied() else {
            let need = format!("a unit below {}", self.members.len());
            return Err(SpecError::new("unit", unit, need));
        };
        if blocks == 0 || blocks > size || block > size - blocks {
            let got = format!("{blocks} from {block}");
            let need = format!("1 or more, inside the {size} of the unit");
            return Err(SpecError::new("blocks", got, need));
        }
        Ok(block..block + blocks)
    }

    fn be_weak(&mut self, weak: &Weak) -> Result<(), SpecError> {
        let range = self.range_of(weak.unit, weak.block, weak.blocks)?;
        let of = &mut self.bad[weak.unit as usize].weak;
        match weak.takes > Span::ZERO {
            true => of.insert(range, weak.takes),
            false => of.remove(range),
        }
        Ok(())
    }

    fn be_bad(&mut self, bad: &Bad) -> Result<(), SpecError> {
        let range = self.range_of(bad.unit, bad.block, bad.blocks)?;
        let of = &mut self.bad[bad.unit as usize];
        let (reads, writes) = match bad.fails {
            Fails::Reads => (true, false),
            Fails::Writes => (false, true),
            Fails::All => (true, true),
            Fails::None => (false, false),
        };
        for (set, fails) in [(&mut of.reads, reads), (&mut of.writes, writes)] {
            match fails {
                true => set.insert(range.clone()),
                false => set.remove(range.clone()),
            }
        }
        Ok(())
    }

    fn is_stuck(&self, now: Time) -> bool {
        now < self.stuck_until
    }

    /// How much later a request ends that arrives at `now`.
    fn lateness(&mut self, now: Time, request: &Request) -> Span {
        let may = self.slow.ratio > 0.0 && now < self.slow_until;
        match may && share(self.seed, now.0, request.lba) < self.slow.ratio {
            true => self.slow.by,
            false => Span::ZERO,
        }
    }

    /// The error of a request that the layer below has carried out; a write repairs what could not be read.
    fn error_of(&mut self, request: &Request) -> Option<ErrorKind> {
        let of = self.bad.get_mut(request.unit as usize)?;
        let range = request.lba..request.lba + u64::from(request.blocks);
        let first = |set: &RangeSet<u64>| set.overlapping(&range).next().map(|r| r.start);
        let found = match request.command {
            Command::Read | Command::ReadThrough => first(&of.reads),
            Command::Flush => None,
            _ => first(&of.writes),
        };
        let Some(start) = found else {
            if matches!(request.command, Command::Write | Command::WriteThrough) {
                if !of.reads.is_empty() {
                    of.reads.remove(range.clone());
                }
                if !of.weak.is_empty() {
                    of.weak.remove(range);
                }
            }
            return None;
        };
        Some(ErrorKind::Medium { lba: start.max(request.lba) })
    }

    /// How much longer a read takes because of the blocks that it touches.
    fn retries(&self, request: &Request) -> Span {
        let of = self.bad.get(request.unit as usize);
        let Some(of) = of.filter(|of| !of.weak.is_empty() && request.command.reads()) else { return Span::ZERO };
        let range = request.lba..request.lba + u64::from(request.blocks);
        let all = of.weak.overlapping(&range).map(|(_, takes)| *takes);
        all.max().unwrap_or(Span::ZERO)
    }

    /// The device takes requests again.
    fn take_postponed(&mut self, flow: &mut Flow) {
        let now = flow.now;
        for slot in std::mem::take(&mut self.postponed) {
            let arrival = flow[self.passing[slot as usize].request].done.arrival;
            self.counts.busy_ns += u128::from(now.0 - arrival.0);
            match self.is_stuck(now) {
                true => self.held.push(slot),
                false => self.release(slot, flow),
            }
        }
    }

    /// A request that waits in front of the device, or that a hanging device has, ends at once.
    fn give_up(&mut self, slot: usize, flow: &mut Flow) {
        let passing = &mut self.passing[slot];
        let (request, given) = (passing.request, passing.given);
        passing.is_orphan = true;
        let list = |all: &mut Vec<u32>| all.retain(|s| *s as usize != slot);
        match given {
            Some(given) => flow.abort(given),
            None => {
                list(&mut self.held);
                list(&mut self.postponed);
                self.passing.remove(slot);
            }
        }
        self.end_early(request, ErrorKind::Aborted, flow);
    }

    /// A request ends now, for this reason.
    fn end_early(&mut self, request: u32, why: ErrorKind, flow: &mut Flow) {
        let now = flow.now;
        let done = &mut flow[request].done;
        let arrival = done.arrival;
        *done = LayerCompletion { arrival, admitted: arrival, ..LayerCompletion::at_once(now, Some(why)) };
        done.components.queue = now.span_from(arrival);
        flow.end(request);
    }

    /// Gives a request to the layer below.
    fn release(&mut self, slot: u32, flow: &mut Flow) {
        let passing = &mut self.passing[slot as usize];
        let given = flow.open_as(slot, flow[passing.request].request, slot);
        passing.given = Some(given);
        flow.submit(flow[given].request.unit, given);
    }

    /// The device answers again.
    fn go_on(&mut self, flow: &mut Flow) {
        let now = flow.now;
        self.stuck_until = Time::ZERO;
        for request in std::mem::take(&mut self.kept) {
            let done = &mut flow[request].done;
            let held = now.since(done.completion);
            self.counts.stuck_ns += held.0 as u128;
            done.components.overhead += held;
            done.completion = done.completion.max(now);
            flow.end(request);
        }
        for slot in std::mem::take(&mut self.held) {
            let arrival = flow[self.passing[slot as usize].request].done.arrival;
            self.counts.stuck_ns += u128::from(now.0 - arrival.0);
            self.release(slot, flow);
        }
    }

    /// The device is gone: what it has and what waits for it fails.
    fn leave(&mut self, flow: &mut Flow) {
        self.is_gone = true;
        (self.stuck_until, self.busy_until) = (Time::ZERO, Time::ZERO);
        self.held.clear();
        self.postponed.clear();
        for request in std::mem::take(&mut self.kept) {
            self.fail(request, flow);
        }
        let slots: Vec<usize> = self.passing.iter().map(|(slot, _)| slot).collect();
        for slot in slots {
            let passing = &mut self.passing[slot];
            if std::mem::replace(&mut passing.is_orphan, true) {
                continue;
            }
            let (request, given) = (passing.request, passing.given);
            self.fail(request, flow);
            match given {
                Some(given) => flow.abort(given),
                None => drop(self.passing.remove(slot)),
            }
        }
    }

    /// A request fails because the device is gone.
    fn fail(&mut self, request: u32, flow: &mut Flow) {
        self.counts.gone += 1;
        self.end_early(request, ErrorKind::Gone, flow);
    }
}

/// Nothing is slow.
const NOT_SLOW: Slow = Slow { ratio: 0.0, by: Span::ZERO, lasts: None };

impl Layer for Fault {
    fn name(&self) -> &str {
        NAME
    }

    fn units(&self) -> Vec<u64> {
        self.members.clone()
    }

    fn submit(&mut self, request: u32, flow: &mut Flow) {
        if self.is_gone {
            return self.fail(request, flow);
        }
        let now = flow.now;
        let late = self.lateness(now, &flow[request].request);
        let slot = self.passing.insert(Passing { request, given: None, late, is_orphan: false }) as u32;
        if self.is_stuck(now) {
            self.counts.stuck += 1;
            self.held.push(slot);
        } else if now < self.busy_until {
            self.counts.busy += 1;
            self.postponed.push(slot);
        } else {
            self.release(slot, flow);
        }
    }

    fn ended(&mut self, given: u32, flow: &mut Flow) {
        let own = self.passing.remove(flow[given].above as usize);
        if own.is_orphan {
            flow.close(given);
            return;
        }
        let released = flow[given].done.arrival;
        flow[given].above = own.request;
        let request = flow.take_over(given);
        let asked = flow[request].request;
        let retries = self.retries(&asked);
        self.counts.weak += u64::from(retries > Span::ZERO);
        let late = own.late + retries;
        let done = &mut flow[request].done;
        done.completion += late;
        done.components.queue += released.span_from(done.arrival);
        done.components.overhead += late;
        if done.error.is_none() {
            done.error = self.error_of(&asked);
            self.counts.bad += u64::from(done.error.is_some());
        }
        self.counts.slowed += u64::from(own.late > Span::ZERO);
        if done.completion < self.stuck_until {
            self.counts.stuck += 1;
            self.kept.push(request);
        } else {
            flow.end(request);
        }
    }

    fn passes_on(&self) -> bool {
        true
    }

    /// When the device answers again by itself, if something waits for that.
    fn next_event(&self) -> Time {
        let stuck = if self.held.is_empty() && self.kept.is_empty() { Time::NEVER } else { self.stuck_until };
        match self.postponed.is_empty() {
            true => stuck,
            false => stuck.min(self.busy_until),
        }
    }

    fn happen(&mut self, flow: &mut Flow) {
        let now = flow.now;
        if now >= self.busy_until {
            self.take_postponed(flow);
        }
        if !self.is_stuck(now) {
            self.go_on(flow);
        }
    }

    fn abort(&mut self, request: u32, flow: &mut Flow) {
        if let Some(i) = self.kept.iter().position(|kept| *kept == request) {
            self.kept.remove(i);
            return self.end_early(request, ErrorKind::Aborted, flow);
        }
        let mine = |(_, p): &(usize, &Passing)| p.request == request && !p.is_orphan;
        let Some((slot, passing)) = self.passing.iter().find(mine) else { return };
        match passing.given {
            // What is in the device ends soon, unless that hangs.
            Some(given) if !self.is_stuck(flow.now) => flow.abort(given),
            _ => self.give_up(slot, flow),
        }
    }

    fn set(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError> {
        let now = flow.now;
        let Setting::Fault(setting) = setting else {
            return Err(not_supported("a fault layer", setting, &FaultSetting::names()));
        };
        match setting {
            FaultSetting::Slow(slow) => self.be_slow(now, *slow),
            FaultSetting::Stuck(Some(stuck)) => self.stuck_until = now + stuck.lasts,
            FaultSetting::Stuck(None) => self.stuck_until = Time::NEVER,
            FaultSetting::Bad(bad) => self.be_bad(bad).map_err(|e| e.within("setting"))?,
            FaultSetting::Gone(true) => self.leave(flow),
            FaultSetting::Gone(false) => {
                self.is_gone = false;
                self.go_on(flow);
            }
            FaultSetting::Busy(busy) => self.busy_until = now + busy.lasts,
            FaultSetting::Weak(weak) => self.be_weak(weak).map_err(|e| e.within("setting"))?,
            FaultSetting::PredictsFailure(predicts) => self.predicts_failure = *predicts,
        }
        Ok(())
    }

    fn reset_statistics(&mut self, _now: Time) {
        self.counts = Counts::default();
    }

    fn add_counts(&self, all: &mut Statistics) {
        self.counts.add_to(all);
    }

    fn fault(&self) -> Option<&Fault> {
        Some(self)
    }
}

/// What a host sees of it.
impl Fault {
    /// What it has a SCSI drive say.
    pub fn signs(&self) -> FaultSigns {
        FaultSigns {
            busy_until: self.busy_until,
            predicts_failure: self.predicts_failure,
            has_weak: self.bad.iter().any(|of| !of.weak.is_empty()),
        }
    }

    /// The first of these blocks of a unit that are read only after some time.
    pub fn weak(&self, unit: u32, blocks: Range<u64>) -> Option<u64> {
        let of = self.bad.get(unit as usize)?;
        let first = of.weak.overlapping(&blocks).next()?.0.start;
        Some(first.max(blocks.start))
    }

    /// How it is at `now`.
    pub fn state(&self, now: Time) -> FaultState {
        match (self.is_gone, self.is_stuck(now)) {
            (true, _) => FaultState::Gone,
            (false, true) => FaultState::Stuck,
            (false, false) => FaultState::Well,
        }
    }
}
