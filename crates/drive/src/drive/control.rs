//! What a host can change while a drive runs, and when each change takes effect.
//!
//! # Model
//! Each call has a time `now`, to which the drive must have been advanced. An announced completion is never
//! revoked: a service that has begun ends as announced.
//!
//! | call | takes effect |
//! |---|---|
//! | [`Setting::QueueDepth`] | at once; commands that hold a tag keep it |
//! | [`Setting::Scheduler`] | at the next choice; waiting commands keep their age |
//! | [`Setting::ArmsInMotion`] | at the next start: none while that many commands are in service |
//! | [`Setting::DurationLimits`], [`Setting::HeededHints`] | at once, for waiting commands as well; a service that has begun keeps its limit |
//! | [`Setting::IdleTimer`] | at once; a drive that is in the condition stays there until a command comes |
//! | [`Setting::PowerCondition`], [`Setting::SpindleSpeed`] | when the drive has finished all commands that reached it before, buffered writes included; later commands wait for the change |
//! | [`Drive::fail`] | at once; a command in service is still completed |
//! | [`Drive::abort`] | at once, if the command waits; a command in service continues |
//!
//! An idle drive changes its power condition at once. The time that a command waits for a power condition or
//! a change of speed is part of its `queue` share.

use super::{Drive, DriveDesign};
use crate::bounds::{bounded, MOST_COMMANDS, MOST_PAUSE};
use crate::command::{Command, Completion, DriveRequest};
use crate::limits::parameters::{Heeded, LimitsSpec};
use crate::low_power::LowPower;
use crate::power::conditions::{Condition, ConditionTime, Conditions, LONGEST_TIMER};
use crate::spec::{FaultSpec, Params};
use crate::unit::ServiceUnit;
use headstack_engine::SpecError;
use headstack_schema::{OneOf, Table};
use headstack_units::{Lba, Rpm, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of the flush that the drive issues before a change. No request of a host may have it meanwhile.
const OWN: u64 = u64::MAX;

/// A setting of a drive that its host can change.
#[derive(Debug, Clone, PartialEq, OneOf)]
#[allow(missing_docs)]
pub enum Setting {
    /// Commands that each drive holds at once; 0: all.
    // Each queue has so many, if units have their own.
    QueueDepth(u32),
    /// Name of the scheduler.
    #[param(model)]
    Scheduler {
        name: String,
        /// Parameters of the scheduler.
        parameters: Params,
    },
    /// Commands in service at once, from 1 to the number for which the drive was built.
    // For each unit, from 1 to the number in the drive file.
    ArmsInMotion(u32),
    /// Duration limits and priorities: the whole table of a drive.
    DurationLimits(LimitsSpec),
    /// Which hints of commands the drives heed.
    // Limits and their counts stay.
    HeededHints(Heeded),
    /// Power condition that the drives enter, one that they have.
    PowerCondition(Condition),
    /// Timer of a low-power condition: `{ condition = "standby", after = "10 s" }`. Without `after` as in the drive's
    /// file.
    // A drive whose file has no timers counts the time from the first such setting on.
    IdleTimer {
        /// `idle_a`, `idle_b`, `idle_c` or `standby`.
        condition: Condition,
        /// Time without work; absent: as the drive's file has it.
        after: Option<Span>,
    },
    /// `{ speed = "5400 rpm", takes = "2 s" }`: the new speed, and the time to reach it.
    // It changes linearly. The drive serves nothing meanwhile and draws its old idle power.
    SpindleSpeed {
        /// The new speed.
        speed: Rpm,
        /// How long the change takes.
        #[param(default)]
        takes: Span,
    },
}

/// A part that fails: a head, or an arm assembly with all of its heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Table)]
pub struct Failure {
    /// Disk stack, from 0.
    #[param(default)]
    pub stack: u32,
    /// Arm assembly of the stack, from 0.
    #[param(default)]
    pub arm: u32,
    /// Surface whose head fails; the whole assembly if absent.
    pub surface: Option<u32>,
    /// The drive is warned: it takes the part out of use before a command needs it.
    #[param(default)]
    pub warning: bool,
}

/// The state of a drive whose power condition changes, or for which a change was asked.
pub(super) struct Control {
    pub low_power: LowPower,
    /// The change that waits until the drive has finished its commands.
    order: Option<ControlChange>,
    /// When the drive has finished its commands, and the change takes effect; known some time before.
    pub effective_at: Option<Time>,
    /// Commands and changes that arrived after it.
    held: VecDeque<Held>,
    /// The latest completion that the host was told of.
    last_end: Time,
}

/// A change that takes effect when the drive has finished its commands.
#[derive(Clone)]
enum ControlChange {
    Condition(Condition),
    Speed(Arc<DriveDesign>, Span),
}

/// A command or a change that waits for an earlier change.
enum Held {
    Request(Time, DriveRequest),
    Change(Time, ControlChange),
}

impl Control {
    /// The state for these conditions; `None` if they have no timer.
    pub fn of(conditions: &Conditions) -> Option<Box<Control>> {
        conditions.has_timer().then(|| Box::new(Control::new(*conditions, Time::ZERO)))
    }

    /// The state of a drive that has no completion after `now`.
    fn new(conditions: Conditions, now: Time) -> Control {
        Control {
            low_power: LowPower::new(conditions),
            order: None,
            effective_at: None,
            held: VecDeque::new(),
            last_end: now,
        }
    }

    /// Number of commands that wait for a change.
    pub fn held(&self) -> usize {
        let requests = self.held.iter().filter(|h| matches!(h, Held::Request(..)));
        requests.count()
    }

    /// Records a completion.
    pub fn completes(&mut self, end: Time) {
        self.last_end = self.last_end.max(end);
    }
}

impl Drive {
    /// Changes a setting at `now`. The table in this module's description says when it takes effect.
    ///
    /// # Errors
    /// A setting that the drive does not have or cannot take. The drive then stays as it was.
    pub fn set(&mut self, now: Time, setting: Setting) -> Result<(), SpecError> {
        self.look(now);
        // Accounts for the rest up to now with the settings of before.
        self.rest_at(now);
        match setting {
            Setting::QueueDepth(depth) => {
                bounded("setting.queue_depth", depth, 0..=MOST_COMMANDS)?;
                self.set_depth(now, depth);
                Ok(())
            }
            Setting::Scheduler { name, parameters } => {
                let mut queue = self.design.common.spec.queue.clone();
                queue.scheduler = name;
                queue.scheduler_parameters = parameters;
                let schedulers = &self.design.models().schedulers;
                self.units.iter_mut().try_for_each(|u| u.set_scheduler(now, &queue, schedulers))
            }
            Setting::ArmsInMotion(limit) => {
                for unit in &mut self.units {
                    unit.check_arms_in_motion(limit)?;
                }
                self.units.iter_mut().for_each(|u| u.set_arms_in_motion(now, limit));
                Ok(())
            }
            Setting::DurationLimits(limits) => self.set_limits(now, limits),
            Setting::HeededHints(enabled) => {
                let limits = LimitsSpec { enabled, ..self.duration_limits().clone() };
                self.set_limits(now, limits)
            }
            Setting::PowerCondition(condition) => {
                if !self.design.common.conditions.has(condition) {
                    return Err(no_condition("setting.power_condition", condition));
                }
                self.order(now, ControlChange::Condition(condition))
            }
            Setting::IdleTimer { condition, after } => self.set_timer(now, condition, after),
            Setting::SpindleSpeed { speed, takes } => {
                let key = "setting.spindle_speed.takes";
                bounded(key, takes, Span::ZERO..=MOST_PAUSE)?;
                let design = self.design.at_speed(speed)?;
                self.order(now, ControlChange::Speed(design, takes))
            }
        }
    }

    /// [`Setting::IdleTimer`].
    fn set_timer(&mut self, now: Time, condition: Condition, after: Option<Span>) -> Result<(), SpecError> {
        if condition == Condition::Active || !self.design.common.conditions.has(condition) {
            return Err(no_condition("setting.idle_timer.condition", condition));
        }
        let timer = match after {
            None => self.design.common.conditions.timer(condition),
            Some(after) => {
                let key = "setting.idle_timer.after";
                Some(bounded(key, after, Span(1)..=LONGEST_TIMER)?)
            }
        };
        self.controlled(now);
        if let Some(control) = &mut self.control {
            control.low_power.set_timer(condition, timer);
        }
        Ok(())
    }

    /// Makes a part fail at `now`.
    ///
    /// # Errors
    /// The drive does not have the part, or it cannot work without parts.
    pub fn fail(&mut self, now: Time, part: Failure) -> Result<(), SpecError> {
        self.look(now);
        self.rest_at(now);
        let design = self.design.clone();
        let fault = FaultSpec {
            at: Some(Span(now.0.min(i64::MAX as u64) as i64)),
            mean_time_to_failure: None,
            stack: part.stack,
            arm: part.arm,
            surface: part.surface,
            warning: part.warning,
        };
        let mut spec = design.common.spec.clone();
        spec.parallelism.faults = vec![fault];
        crate::unit_plan::units(&spec)?;
        // Faults of the description that have occurred by now come first.
        self.units.iter_mut().for_each(|u| u.bring_to(now));
        for (unit, (plan, _)) in self.units.iter_mut().zip(&design.units) {
            unit.check_faults(&spec, plan)?;
            unit.fail(now, &spec, plan);
        }
        Ok(())
    }

    /// Aborts a waiting command: it completes at `now` with an error. False if no command of this number
    /// waits as a whole.
    pub fn abort(&mut self, now: Time, id: u64) -> bool {
        self.look(now);
        let n_told = self.done.len();
        let is_aborted = self.abort_now(now, id);
        self.tell_done(n_told);
        is_aborted
    }

    fn abort_now(&mut self, now: Time, id: u64) -> bool {
        self.rest_at(now);
        if let Some(control) = &mut self.control {
            let named = |h: &Held| matches!(h, Held::Request(_, r) if r.id == id);
            if let Some(Held::Request(arrival, request)) =
                control.held.iter().position(named).and_then(|i| control.held.remove(i))
            {
                self.done.push(Completion::ended(&request, arrival, now));
                control.completes(now);
                return true;
            }
        }
        self.abort_waiting(now, id)
    }

    /// Commands beyond a smaller depth keep their tags; a larger depth admits waiting commands.
    fn set_depth(&mut self, now: Time, depth: u32) {
        let was_unlimited = self.tags[0].unlimited();
        for queue in 0..self.tags.len() {
            let own = self.design.own_queues;
            let units = self.units.iter().enumerate().filter(|(u, _)| !own || *u == queue);
            if was_unlimited {
                // With an unlimited depth, tags are not counted.
                let waiting = units.clone().map(|(_, u)| u.queue_len()).sum();
                let ends = units.flat_map(|(_, u)| u.service_ends(now)).collect();
                self.tags[queue].count(waiting, ends);
            }
            self.tags[queue].set_depth(depth);
            self.refill(queue, now);
        }
        self.way = self.find_way();
    }

    /// [`Drive::abort`] of a command that waits in a queue or for a tag.
    fn abort_waiting(&mut self, now: Time, id: u64) -> bool {
        let in_parts = self.units.len() > 1;
        let mut name = id;
        if in_parts {
            let Some((of_parts, parts)) = self.split.find(id) else { return false };
            name = of_parts;
            // A part may be in service, although none has completed.
            let units = self.units.iter().map(|u| u.count_waiting(name));
            let tags = self.tags.iter().map(|t| t.count_outside(name));
            if units.chain(tags).sum::<usize>() < parts {
                return false;
            }
        }
        let mut found = None;
        for unit in 0..self.units.len() {
            let queue = self.queue_of(unit);
            while in_parts || found.is_none() {
                let Some(waiting) = self.units[unit].take_waiting(now, name) else { break };
                self.tags[queue].give_back();
                found = Some(waiting);
            }
        }
        for tags in &mut self.tags {
            while in_parts || found.is_none() {
                match tags.take_outside(name) {
                    Some(waiting) => found = Some(waiting),
                    None => break,
                }
            }
        }
        let Some((request, arrival)) = found else { return false };
        if let Some(control) = &mut self.control {
            control.completes(now);
        }
        if in_parts {
            self.split.end(name);
        }
        self.done.push(Completion::ended(&DriveRequest { id, ..request }, arrival, now));
        for queue in 0..self.tags.len() {
            self.refill(queue, now);
        }
        true
    }

    /// Starts a change: now, or when the drive has finished its commands.
    ///
    /// # Errors
    /// The drive scans the medium, which such a change would interrupt.
    fn order(&mut self, now: Time, order: ControlChange) -> Result<(), SpecError> {
        let scans = match order {
            ControlChange::Condition(_) => self.units.iter().any(ServiceUnit::always_scans),
            ControlChange::Speed(..) => self.units.iter().any(ServiceUnit::scans),
        };
        if scans {
            let need = "a drive that does not scan the medium all the time";
            return Err(SpecError::new("setting", "a change of the spindle", need));
        }
        self.controlled(now);
        if self.control.as_ref().is_some_and(|c| c.order.is_some()) {
            if let Some(control) = &mut self.control {
                control.held.push_back(Held::Change(now, order));
            }
            return Ok(());
        }
        self.begin_order(now, order);
        Ok(())
    }

    /// Creates the state of control if the drive has none.
    fn controlled(&mut self, now: Time) {
        if self.control.is_none() {
            let mut control = Control::new(self.design.common.conditions, now);
            if self.listener.is_some() {
                control.low_power.listen();
            }
            self.control = Some(Box::new(control));
            self.way = self.find_way();
        }
    }

    fn begin_order(&mut self, now: Time, order: ControlChange) {
        let idle = self.rest_at(now);
        let Some(control) = &mut self.control else { return };
        // A drive that is still recovering for a command is not idle.
        if idle && control.low_power.rest.reported_until <= now {
            self.take_effect(now, order);
            return;
        }
        control.order = Some(order);
        let flush =
            DriveRequest { id: OWN, command: Command::Flush, lba: Lba(0), blocks: 0, ..DriveRequest::default() };
        self.submit_now(now, flush);
    }

    /// Carries out a change. The drive has finished its commands at `now`. A pass of background work that has begun is
    /// completed first, and no other begins before the change.
    fn take_effect(&mut self, now: Time, order: ControlChange) {
        self.units.iter_mut().for_each(|u| u.bring_to(now));
        let ends = self.units.iter().map(|u| u.busy_end());
        let at = ends.fold(now, Time::max);
        self.units.iter_mut().for_each(|u| u.recovers_until(at));
        let Some(control) = &mut self.control else { return };
        control.order = None;
        control.low_power.rests_since(at);
        match order {
            ControlChange::Condition(condition) => control.low_power.ask(at, condition),
            ControlChange::Speed(design, takes) => self.change_speed(at, design, takes),
        }
    }

    /// Changes the speed of all spindles, starting at `at` and taking `takes`. The drive has no commands.
    fn change_speed(&mut self, at: Time, design: Arc<DriveDesign>, takes: Span) {
        let speed = design.common.spec.geometry.rotation_speed;
        let ready = match &mut self.control {
            Some(control) => control.low_power.wake(at),
            None => at,
        };
        let then = ready + takes;
        // Nor does background work begin while it recovers.
        self.units.iter_mut().for_each(|u| u.recovers_until(ready));
        let active = self.active_until(ready);
        let low = self.low_power_until(ready);
        self.meter.change(then, active, low.unwrap_or_default(), (design.common.watts, design.common.conditions));
        for (unit, (_, mechanics)) in self.units.iter_mut().zip(&design.units) {
            unit.change_speed(mechanics, speed, (ready, then));
            unit.recovers_until(then);
        }
        if let Some(control) = &mut self.control {
            control.low_power.set_design(design.common.conditions);
            control.last_end = control.last_end.max(then);
        }
        self.design = design;
    }

    /// Whether the drive is idle at `now`. If so, its power conditions are brought up to that time.
    pub(super) fn rest_at(&mut self, now: Time) -> bool {
        let Some(control) = &self.control else { return false };
        if now <= control.low_power.rest.reported_until {
            return control.order.is_none() && self.idle_since(now).is_some();
        }
        let since = match control.order {
            None => self.idle_since(now),
            Some(_) => None,
        };
        if let (Some(since), Some(control)) = (since, &mut self.control) {
            control.low_power.rests_since(since);
            control.low_power.go_on(now);
        }
        since.is_some()
    }

    /// Since when the drive has been idle; `None` if it is not idle at `now`.
    fn idle_since(&mut self, now: Time) -> Option<Time> {
        let mut since = self.control.as_ref().map_or(Time::ZERO, |c| c.last_end);
        if self.tags.iter().any(|t| !t.awaiting.is_empty()) {
            return None;
        }
        for unit in &mut self.units {
            since = since.max(unit.idle_since(now)?);
        }
        (since <= now).then_some(since)
    }

    /// Submits a command to a drive that may rest; it waits if there is a change to come first.
    #[inline]
    pub(super) fn submit_controlled(&mut self, now: Time, request: DriveRequest) {
        if let Some(control) = self.control.as_mut().filter(|c| c.order.is_some()) {
            return control.held.push_back(Held::Request(now, request));
        }
        self.wake(now);
        self.submit_now(now, request);
    }

    /// Starts the recovery of a resting drive for a command that arrives at `now`.
    #[inline(always)]
    fn wake(&mut self, now: Time) {
        let rests = match &self.control {
            // Nearly always: it works, or its work ends just now.
            Some(c) if c.last_end >= now && c.low_power.is_active_at(now) => return,
            Some(c) => now < c.low_power.rest.reported_until || self.rest_at(now),
            None => false,
        };
        let Some(control) = self.control.as_mut().filter(|_| rests) else { return };
        let ready = control.low_power.wake(now);
        if ready > now {
            self.units.iter_mut().for_each(|u| u.recovers_until(ready));
        }
    }

    /// [`Drive::advance`] for a drive with power conditions or a change in progress.
    #[inline(never)]
    pub(crate) fn advance_controlled(&mut self, until: Time, sink: &mut dyn FnMut(&Completion)) {
        loop {
            let mut own = None;
            let mut last = Time::ZERO;
            self.go_in_order(until, &mut |c| {
                last = last.max(c.completion);
                match c.id {
                    OWN => own = Some(c.completion),
                    _ => sink(c),
                }
            });
            let Some(control) = &mut self.control else { return };
            control.last_end = control.last_end.max(last);
            control.effective_at = own.or(control.effective_at);
            // A flush is announced when it starts. What the host looks at before its end is the drive of before.
            let Some(at) = control.effective_at.filter(|at| *at < until) else { return };
            control.effective_at = None;
            if let Some(order) = control.order.take() {
                self.take_effect(at, order);
            }
            self.release(at);
            if !self.done.is_empty() {
                let done = std::mem::take(&mut self.done);
                done.iter().for_each(&mut *sink);
            }
        }
    }

    /// Submits what has waited for a change, up to the next change.
    fn release(&mut self, changed: Time) {
        while let Some(held) = self.control.as_mut().and_then(|c| c.held.pop_front()) {
            match held {
                Held::Request(arrival, request) => {
                    self.wake(arrival.max(changed));
                    let before = self.done.len();
                    self.submit_now(arrival, request);
                    // What needs no mechanism (a refusal, a hit in the buffer) has waited for the change as well.
                    let at_once = self.done.iter_mut().skip(before);
                    at_once.for_each(|done| done.held_until(changed));
                }
                Held::Change(at, order) => {
                    self.begin_order(at.max(changed), order);
                    if self.control.as_ref().is_some_and(|c| c.order.is_some()) {
                        return;
                    }
                }
            }
        }
    }

    /// The power condition at `now`: the one that the drive is in, entering or leaving.
    pub fn power_condition(&mut self, now: Time) -> Condition {
        self.rest_at(now);
        match &self.control {
            Some(control) if control.order.is_none() => control.low_power.condition_at(now),
            _ => Condition::Active,
        }
    }

    /// Time in low-power conditions up to `until`; `None` if the drive never had any.
    pub(crate) fn low_power_until(&mut self, until: Time) -> Option<ConditionTime> {
        self.rest_at(until);
        let control = self.control.as_ref();
        control.map(|c| c.low_power.time_until(until))
    }
}

/// The error of a setting with a condition that the drive does not have.
fn no_condition(key: &str, condition: Condition) -> SpecError {
    let need = "a condition whose power and recovery the drive's file gives";
    SpecError::new(key, condition.name(), need)
}
