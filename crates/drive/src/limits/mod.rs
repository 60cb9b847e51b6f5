//! Duration limits and priorities of commands: which times apply to a waiting command, and what happens when one has passed.
//!
//! # Model
//! A command names one of seven limits, of those for its direction ([`Hint`]). All times count from its receipt, when it was
//! admitted to the drive's queue. A limit has three times, each with a policy:
//!
//! - *inactive*: until its service begins;
//! - *active*: from then until status is sent;
//! - *guideline*: a wish for its turn. It is missed if the service begins later: the guideline comes on top of the time that
//!   a read takes without a queue, so a command that does not wait misses none.
//!
//! A time that has passed with the policy *abort* or *complete-unavailable* ends the command. If its service has begun, the
//! movement and the transfer are completed all the same, and the next service begins after them. *Continue-next-limit* puts
//! the command under the limit with the next number, whose times count from receipt as well: one that has passed acts at
//! once. What starts at the very moment at which a time ends has met it. A write that the buffer takes, and a read that it
//! serves at arrival, meet their limits. The order in which commands are served is the scheduler's
//! ([`View::deadlines`](crate::scheduler::View)).
//!
//! On SAS an ended command costs nothing else. On SATA the host has to read a log, and sends no commands meanwhile. After a
//! command that ended without data it first waits for all others that it has sent. A command that failed is an error of
//! native command queueing: what waits in the drive goes back to the host, which sends it again after reading the log, so
//! that its times begin anew.
//! # Source
//! SPC-6 and ACS-5 as described by the tools of Western Digital (cdl-tools) and by the descriptions of the pages T2A and T2B;
//! cost of errors: Linux, `libata` (native command queueing errors, and the log of successful commands with sense data).
//! # Validity
//! Whether the times of the next limit count from receipt is not published. Recovery from errors of the medium is not
//! modelled, so `abort-recovery` is the same as `abort`. What a drive does with the mechanism when an active time ends is not
//! published. A drive with several units counts and waits in each of them.

pub mod parameters;

use crate::command::{Completion, Components, Hint, LimitIndex};
use crate::sense::LimitEnd;
use headstack_schema::Columns;
use headstack_units::{Span, Time};
use parameters::{DurationLimit, Heeded, LimitsSpec, Policy, Transport};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No limit is in force.
const UNLIMITED: u8 = LimitIndex::COUNT as u8;

/// What a drive has counted of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Columns)]
pub struct LimitCounts {
    /// Commands that named it and have ended.
    pub n_commands: u64,
    /// Those that met all times that applied to them.
    pub n_met: u64,
    /// Inactive times that were exceeded, with a policy other than `complete-earliest`.
    pub n_inactive: u64,
    /// Active times, likewise.
    pub n_active: u64,
    /// Guidelines, likewise.
    pub n_guideline: u64,
}

impl LimitCounts {
    /// Adds what another unit has counted.
    pub fn add(&mut self, other: &LimitCounts) {
        self.n_commands += other.n_commands;
        self.n_met += other.n_met;
        self.n_inactive += other.n_inactive;
        self.n_active += other.n_active;
        self.n_guideline += other.n_guideline;
    }
}

/// Counts by limit: reads first, then writes.
pub type CountsByLimit = [[LimitCounts; LimitIndex::COUNT]; 2];

/// The times of one descriptor; [`Span::FOREVER`] without one.
#[derive(Debug, Clone, Copy)]
struct Times {
    inactive: Span,
    active: Span,
    guideline: Span,
    /// Policies of the three.
    policies: [Policy; 3],
}

impl Times {
    const NO: Span = Span::FOREVER;
    const NONE: Times =
        Times { inactive: Times::NO, active: Times::NO, guideline: Times::NO, policies: [Policy::CompleteEarliest; 3] };

    fn of(limit: &DurationLimit, guidelines: bool) -> Times {
        let or_none = |time: Option<Span>| time.unwrap_or(Span::FOREVER);
        Times {
            inactive: or_none(limit.inactive),
            active: or_none(limit.active),
            guideline: or_none(limit.guideline.filter(|_| guidelines)),
            policies: [limit.inactive_policy, limit.active_policy, limit.guideline_policy],
        }
    }
}

/// A waiting command, by its number in the queue.
#[derive(Debug, Clone, Copy)]
struct State {
    /// Different for each command; 0: no limit and no priority.
    serial: u32,
    write: bool,
    /// The limit that it named, as a place in the list; [`UNLIMITED`] for a priority.
    named: u8,
    /// The limit in force.
    at: u8,
    missed: bool,
    received: Time,
    /// After how long it should be served: the shorter one of guideline and inactive time in force.
    target: Span,
    /// When a time has passed that ends it.
    expires: Time,
    /// The policy by which it then ends, and whether the time is a guideline.
    end: (Policy, bool),
    /// When it goes on under another limit.
    changes: Time,
}

const VACANT: State = State {
    serial: 0,
    write: false,
    named: UNLIMITED,
    at: UNLIMITED,
    missed: false,
    received: Time::ZERO,
    target: Span::FOREVER,
    expires: Time::NEVER,
    end: (Policy::CompleteEarliest, false),
    changes: Time::NEVER,
};

/// What a time that has passed does.
#[doc(hidden)]
pub enum Passed {
    /// The command with this number in the queue ends so.
    Ends(usize, LimitEnd),
    /// Nothing else.
    Nothing,
}

/// The limits of a unit, and the waiting commands that they apply to.
#[doc(hidden)]
pub struct Limits {
    heeded: Heeded,
    times: [[Times; LimitIndex::COUNT]; 2],
    priority_target: Span,
    /// Share of the performance that guidelines may cost.
    pub performance: f64,
    pub is_sata: bool,
    /// Time of reading a log.
    pub log_read: Span,
    states: Vec<State>,
    serial: u32,
    /// Waiting commands that have a target.
    targets: usize,
    /// When times pass: the time, the number of the command, and its serial. Those of commands that have left are skipped.
    passing: BinaryHeap<Reverse<(Time, u32, u32)>>,
    pub counts: CountsByLimit,
}

impl Limits {
    /// The limits of a description; `None` if it heeds no hints.
    pub fn new(spec: &LimitsSpec) -> Option<Limits> {
        (spec.enabled != Heeded::None).then(|| Limits::of(spec))
    }

    /// The limits of a description.
    pub fn of(spec: &LimitsSpec) -> Limits {
        let guidelines = spec.performance > 0.0;
        let times = [false, true].map(|w| spec.limits(w).map(|l| Times::of(&l, guidelines)));
        Limits {
            heeded: spec.enabled,
            times,
            priority_target: spec.priority_target,
            performance: spec.performance,
            is_sata: spec.transport == Transport::Sata,
            log_read: spec.log_read,
            states: Vec::new(),
            serial: 0,
            targets: 0,
            passing: BinaryHeap::new(),
            counts: CountsByLimit::default(),
        }
    }

    /// A command has got number `index` in the queue. It was received at `received`; what has passed before `from` acts then.
    #[inline]
    pub fn waits(&mut self, index: usize, hint: Hint, write: bool, received: Time, from: Time) {
        if index >= self.states.len() {
            self.states.resize(index + 1, VACANT);
        }
        let (named, target) = match (hint, self.heeded) {
            (Hint::Limit(limit), Heeded::Limits) => (limit.place() as u8, Span::FOREVER),
            (Hint::HighPriority, Heeded::Priority) => (UNLIMITED, self.priority_target),
            _ => {
                self.states[index] = VACANT;
                return;
            }
        };
        self.serial = self.serial.wrapping_add(1).max(1);
        self.states[index] = State { serial: self.serial, write, named, received, target, ..VACANT };
        self.targets += usize::from(target != Span::FOREVER);
        if named != UNLIMITED {
            self.enter(index, named, from);
        }
    }

    /// A limit comes into force for a command, at `from`.
    fn enter(&mut self, index: usize, at: u8, from: Time) {
        let state = &mut self.states[index];
        let times = self.times[usize::from(state.write)];
        let times = times.get(usize::from(at)).unwrap_or(&Times::NONE);
        let passes = |time: Span| (state.received + time).max(from);
        let [inactive, _, guideline] = times.policies;
        let (waits, wishes) = (passes(times.inactive), passes(times.guideline));
        let had_target = state.target != Span::FOREVER;
        state.at = at;
        state.target = times.inactive.min(times.guideline);
        (state.expires, state.changes) = (Time::NEVER, Time::NEVER);
        if times.inactive != Span::FOREVER && inactive.ends() {
            (state.expires, state.end) = (waits, (inactive, false));
        }
        if times.guideline != Span::FOREVER && guideline.ends() && wishes < state.expires {
            (state.expires, state.end) = (wishes, (guideline, true));
        }
        if times.guideline != Span::FOREVER && guideline.changes() {
            state.changes = wishes;
        }
        self.targets -= usize::from(had_target);
        self.targets += usize::from(state.target != Span::FOREVER);
        let next = state.expires.min(state.changes);
        if next != Time::NEVER {
            let entry = (next, index as u32, state.serial);
            self.passing.push(Reverse(entry));
            self.forget_the_gone();
        }
    }

    /// Keeps the memory of passing times in proportion to the commands that wait.
    fn forget_the_gone(&mut self) {
        if self.passing.len() > 4 * self.states.len() + 64 {
            let states = &self.states;
            let waits = |e: &Reverse<(Time, u32, u32)>| states[e.0 .1 as usize].serial == e.0 .2;
            self.passing.retain(waits);
        }
    }

    /// A command has left the queue without an end of its own.
    #[inline]
    pub fn leaves(&mut self, index: usize) {
        if let Some(state) = self.states.get_mut(index) {
            self.targets -= usize::from(state.target != Span::FOREVER);
            *state = VACANT;
        }
    }

    /// The commands of the queue have other numbers from now on: `order[n]` is the one that has number `n`.
    pub fn renumber(&mut self, order: &[usize]) {
        let old = std::mem::take(&mut self.states);
        let state = |i: &usize| old.get(*i).copied().unwrap_or(VACANT);
        self.states = order.iter().map(state).collect();
        self.passing.clear();
        for (i, state) in self.states.iter().enumerate() {
            let next = state.expires.min(state.changes);
            if state.serial != 0 && next != Time::NEVER {
                self.passing.push(Reverse((next, i as u32, state.serial)));
            }
        }
    }

    /// When the next time passes; [`Time::NEVER`] if none does.
    pub(crate) fn next(&mut self) -> Time {
        while let Some(Reverse((time, index, serial))) = self.passing.peek() {
            if self.states[*index as usize].serial == *serial {
                return *time;
            }
            self.passing.pop();
        }
        Time::NEVER
    }

    /// The next time passes, at its moment.
    #[inline]
    pub fn pass(&mut self) -> Passed {
        let now = self.next();
        let Some(Reverse((_, index, _))) = self.passing.pop() else { return Passed::Nothing };
        let index = index as usize;
        let state = &mut self.states[index];
        state.missed = true;
        let (at, write) = (state.at, state.write);
        if state.expires <= state.changes {
            let (policy, is_guideline) = state.end;
            self.count(write, at, |c| if is_guideline { &mut c.n_guideline } else { &mut c.n_inactive });
            let end = match policy {
                Policy::CompleteUnavailable => LimitEnd::Unavailable,
                _ => LimitEnd::AbortedBefore,
            };
            return Passed::Ends(index, end);
        }
        self.count(write, at, |c| &mut c.n_guideline);
        let times = &self.times[usize::from(write)][usize::from(at)];
        let next = match times.policies[2] {
            Policy::ContinueNextLimit => at + 1,
            _ => UNLIMITED,
        };
        self.enter(index, next, now);
        Passed::Nothing
    }

    fn count(&mut self, write: bool, at: u8, which: impl Fn(&mut LimitCounts) -> &mut u64) {
        if let Some(counts) = self.counts[usize::from(write)].get_mut(usize::from(at)) {
            *which(counts) += 1;
        }
    }

    /// The service of a command begins at `start` and would complete as `done` says. Its active time may change that.
    #[inline]
    pub fn serves(&mut self, index: usize, start: Time, done: &mut Completion) {
        let Some(state) = self.states.get(index).copied() else { return };
        if state.serial == 0 {
            return;
        }
        self.leaves(index);
        if state.named == UNLIMITED {
            return;
        }
        let times = self.times[usize::from(state.write)];
        let times = times.get(usize::from(state.at)).unwrap_or(&Times::NONE);
        let waited = start.since(state.received);
        let mut missed = state.missed || waited > times.inactive || waited > times.guideline;
        let mut end = LimitEnd::Met;
        if done.completion.since(start) > times.active {
            missed = true;
            let policy = times.policies[1];
            if policy != Policy::CompleteEarliest {
                self.count(state.write, state.at, |c| &mut c.n_active);
            }
            if policy.ends() {
                end = match policy {
                    Policy::CompleteUnavailable => LimitEnd::Unavailable,
                    _ => LimitEnd::AbortedDuring,
                };
                cut(done, start + times.active);
            }
        }
        if missed && end == LimitEnd::Met {
            end = LimitEnd::Missed;
        }
        self.ends(state.write, state.named, end, done);
    }

    /// A waiting command ends because a time has passed. `done` gets how.
    pub fn expires(&mut self, index: usize, end: LimitEnd, done: &mut Completion) {
        let State { write, named, .. } = self.states[index];
        self.leaves(index);
        self.ends(write, named, end, done);
    }

    /// A command that never waited in the queue has ended: the buffer has taken its data, or has served it.
    #[inline]
    pub fn meets(&mut self, hint: Hint, write: bool, done: &mut Completion) {
        if let (Hint::Limit(limit), Heeded::Limits) = (hint, self.heeded) {
            self.ends(write, limit.place() as u8, LimitEnd::Met, done);
        }
    }

    fn ends(&mut self, write: bool, named: u8, end: LimitEnd, done: &mut Completion) {
        self.count(write, named, |c| &mut c.n_commands);
        if end == LimitEnd::Met {
            self.count(write, named, |c| &mut c.n_met);
        }
        done.limit = end;
        done.error |= end.fails();
    }

    /// The waiting commands as the scheduler sees them; `None` if no one has a target.
    #[inline]
    pub fn deadlines(&self) -> Option<Deadlines<'_>> {
        (self.targets > 0).then_some(Deadlines { limits: self })
    }
}

/// Ends a completion early, at `at`: its shares end there.
fn cut(done: &mut Completion, at: Time) {
    let mut left = at.span_from(done.arrival);
    let mut share = |span: Span| {
        let kept = span.min(left);
        left -= kept;
        kept
    };
    let c = done.components;
    done.components = Components {
        queue: share(c.queue),
        overhead: share(c.overhead),
        seek: share(c.seek),
        rotation: share(c.rotation),
        transfer: share(c.transfer),
        bus: share(c.bus),
    };
    done.completion = at;
}

/// What the limits and priorities of waiting commands ask of the order.
#[derive(Clone, Copy)]
pub struct Deadlines<'a> {
    /// Of the unit.
    pub limits: &'a Limits,
}

/// When a command should be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// When it was received.
    pub received: Time,
    /// How long it should wait at most.
    pub wait: Span,
}

impl Target {
    /// The time until which its service should begin.
    #[inline]
    pub fn due(&self) -> Time {
        self.received + self.wait
    }
}

impl Deadlines<'_> {
    /// The target of the command with number `i` in the queue; `None` if it has none.
    #[inline]
    pub fn of(&self, i: usize) -> Option<Target> {
        let state = self.limits.states.get(i)?;
        (state.target != Span::FOREVER).then_some(Target { received: state.received, wait: state.target })
    }
}
