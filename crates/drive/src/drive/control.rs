//! What a host may change while a drive runs, and when each change takes effect.
//!
//! # Model
//! Each call says "at `now`", up to which the drive must have been advanced. What is announced is never
//! revoked: a service that has begun ends as its completion said.
//!
//! | call | takes effect |
//! |---|---|
//! | [`Setting::QueueDepth`] | at once; commands that already have a place keep it |
//! | [`Setting::Scheduler`] | with the next choice; waiting commands keep their age |
//! | [`Setting::ArmsInMotion`] | with the next start: none as long as that many commands are in service |
//! | [`Setting::PowerCondition`], [`Setting::SpindleSpeed`] | when the drive has done what reached it before, buffered writes included; what arrives after the call waits for it |
//! | [`Drive::fail`] | at once; a command that is in service is still completed |
//! | [`Drive::abort`] | at once, if the command waits; one in service goes on |
//!
//! An idle drive changes its power condition at once. A command that waits for a condition or for a
//! change of speed waits as part of its `queue` share.

use super::{Drive, DriveDesign, Join};
use crate::bounds::{bounded, MOST_COMMANDS, MOST_PAUSE};
use crate::command::{Command, Completion, DriveRequest};
use crate::low_power::LowPower;
use crate::power::conditions::{Condition, ConditionTime, Conditions};
use crate::spec::{FaultSpec, Params};
use crate::unit::Unit;
use headstack_engine::SpecError;
use headstack_units::{Lba, Rpm, Span, Time};
use std::collections::VecDeque;
use std::sync::Arc;

/// The name of the drive's own flush before a change; no request of a host may have it while one waits.
const OWN: u64 = u64::MAX;

/// Something of a drive that a host may change.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// Commands that the drive holds at once; 0: all. Of each queue, where units have their own.
    QueueDepth(u32),
    /// The order in which commands are taken: a name of the `scheduler` folder, with its parameters.
    Scheduler {
        /// The scheduler's name.
        name: String,
        /// Its parameters.
        parameters: Params,
    },
    /// Commands in service at once, of each unit: from 1 to what the drive was built for.
    ArmsInMotion(u32),
    /// A power condition that the drive has; [`Condition::Active`] makes it ready.
    PowerCondition(Condition),
    /// Another speed of all spindles.
    SpindleSpeed {
        /// The new speed.
        speed: Rpm,
        /// How long the change takes. The platter's speed changes evenly meanwhile, and nothing is
        /// served; the drive draws its idle power of before.
        takes: Span,
    },
}

/// A part of a drive that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Disk stack, from 0.
    pub stack: u32,
    /// Arm assembly of the stack, from 0.
    pub arm: u32,
    /// Surface whose head fails; `None`: the whole assembly.
    pub surface: Option<u32>,
    /// The drive is warned: it takes the part out of use before a command meets it.
    pub warning: bool,
}

/// The state of a drive that changes its power condition, or has been asked to change.
pub(super) struct Control {
    pub low_power: LowPower,
    /// The change that waits for the drive to finish what it has.
    order: Option<Order>,
    /// What came after it.
    held: VecDeque<Held>,
    /// The latest end of a command that the host knows of.
    last_end: u64,
}

/// A change that takes effect when the drive has finished what it has.
#[derive(Clone)]
enum Order {
    Condition(Condition),
    Speed(Arc<DriveDesign>, u64),
}

/// What waits for a change.
enum Held {
    Request(Time, DriveRequest),
    Order(Time, Order),
}

impl Control {
    /// The state that a drive with these conditions needs from the start, if any.
    pub fn of(conditions: &Conditions) -> Option<Box<Control>> {
        conditions
            .has_timer()
            .then(|| Box::new(Control::new(*conditions, 0)))
    }

    /// Nothing that the host knows of reaches beyond `now`.
    fn new(conditions: Conditions, now: u64) -> Control {
        Control {
            low_power: LowPower::new(conditions),
            order: None,
            held: VecDeque::new(),
            last_end: now,
        }
    }

    /// Commands that wait for a change.
    pub fn held(&self) -> usize {
        let requests = self.held.iter().filter(|h| matches!(h, Held::Request(..)));
        requests.count()
    }

    /// A command has been completed.
    pub fn completes(&mut self, end: Time) {
        self.last_end = self.last_end.max(end.0);
    }
}

impl Drive {
    /// Changes a setting at `now`; the table above says when that takes effect.
    ///
    /// # Errors
    /// What this drive cannot be set to; it then goes on as before.
    pub fn set(&mut self, now: Time, setting: Setting) -> Result<(), SpecError> {
        // What a drive at rest did until now stands, whatever is changed.
        self.rest_at(now.0);
        match setting {
            Setting::QueueDepth(depth) => {
                bounded("setting.queue_depth", depth, 0..=MOST_COMMANDS)?;
                self.set_depth(now, depth);
                Ok(())
            }
            Setting::Scheduler { name, parameters } => {
                let mut queue = self.design().spec().queue.clone();
                queue.scheduler = name;
                queue.scheduler_parameters = parameters;
                self.units
                    .iter_mut()
                    .try_for_each(|u| u.set_scheduler(&queue))
            }
            Setting::ArmsInMotion(limit) => {
                for unit in &mut self.units {
                    unit.check_arms_in_motion(limit)?;
                }
                self.units
                    .iter_mut()
                    .for_each(|u| u.set_arms_in_motion(now, limit));
                Ok(())
            }
            Setting::PowerCondition(condition) => {
                if !self.design.conditions.has(condition) {
                    return Err(SpecError::new(
                        "setting.power_condition",
                        condition.name(),
                        "a condition whose power and recovery the drive's file gives",
                    ));
                }
                self.order(now, Order::Condition(condition))
            }
            Setting::SpindleSpeed { speed, takes } => {
                let key = "setting.spindle_speed.takes";
                bounded(key, takes, Span::ZERO..=MOST_PAUSE)?;
                let design = self.design.at_speed(speed)?;
                self.order(now, Order::Speed(design, takes.non_negative()))
            }
        }
    }

    /// A part fails at `now`.
    ///
    /// # Errors
    /// A part that the drive does not have, or a drive that cannot go on without parts.
    pub fn fail(&mut self, now: Time, part: Part) -> Result<(), SpecError> {
        self.rest_at(now.0);
        let design = self.design().clone();
        let fault = FaultSpec {
            at: Some(Span(now.0.min(i64::MAX as u64) as i64)),
            mean_time_to_failure: None,
            stack: part.stack,
            arm: part.arm,
            surface: part.surface,
            warning: part.warning,
        };
        let mut spec = design.spec().clone();
        spec.parallelism.faults = vec![fault];
        crate::parallelism::units(&spec)?;
        for (unit, (plan, _)) in self.units.iter_mut().zip(design.units()) {
            unit.check_faults(&spec, plan)?;
            unit.fail(now, &spec, plan);
        }
        Ok(())
    }

    /// Ends a command that waits, as an error at `now`; false if none of this name waits as a whole.
    pub fn abort(&mut self, now: Time, id: u64) -> bool {
        self.rest_at(now.0);
        if let Some(control) = &mut self.control {
            let named = |h: &Held| matches!(h, Held::Request(_, r) if r.id == id);
            if let Some(Held::Request(arrival, request)) = control
                .held
                .iter()
                .position(named)
                .and_then(|i| control.held.remove(i))
            {
                self.done.push(aborted(&request, arrival, now));
                return true;
            }
        }
        self.abort_waiting(now, id)
    }

    /// Commands beyond a smaller depth keep their places; a larger one lets in who waits for one.
    fn set_depth(&mut self, now: Time, depth: u32) {
        let was_unlimited = self.tags[0].unlimited();
        for queue in 0..self.tags.len() {
            let own = self.design.own_queues;
            let units = self
                .units
                .iter()
                .enumerate()
                .filter(|(u, _)| !own || *u == queue);
            if was_unlimited {
                // Nobody has counted yet.
                let waiting = units.clone().map(|(_, u)| u.queue_len()).sum();
                let ends = units.flat_map(|(_, u)| u.service_ends(now.0)).collect();
                self.tags[queue].count(waiting, ends);
            }
            self.tags[queue].set_depth(depth);
            self.refill(queue, now);
        }
    }

    /// [`Drive::abort`] of a command that waits in a queue or for a place in one.
    fn abort_waiting(&mut self, now: Time, id: u64) -> bool {
        let in_parts = self.units.len() > 1;
        let waits = |j: &Join| j.id == id && j.remaining > 0 && j.last.is_none();
        let name = match in_parts {
            false => id,
            true => match self.joins.iter().position(waits) {
                Some(slot) => slot as u64,
                None => return false,
            },
        };
        let mut found = None;
        for unit in 0..self.units.len() {
            let queue = self.queue_of(unit);
            while in_parts || found.is_none() {
                let Some(waiting) = self.units[unit].take_waiting(now, name) else {
                    break;
                };
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
        let Some((request, arrival)) = found else {
            return false;
        };
        if in_parts {
            self.joins[name as usize].remaining = 0;
            self.free_joins.push(name as usize);
        }
        self.done
            .push(aborted(&DriveRequest { id, ..request }, arrival, now));
        for queue in 0..self.tags.len() {
            self.refill(queue, now);
        }
        true
    }

    /// Starts a change, now or when the drive has finished what it has.
    fn order(&mut self, now: Time, order: Order) -> Result<(), SpecError> {
        let scans = match order {
            Order::Condition(_) => self.units.iter().any(Unit::always_scans),
            Order::Speed(..) => self.units.iter().any(Unit::scans),
        };
        if scans {
            let need = "a drive that does not scan the medium all the time";
            return Err(SpecError::new("setting", "a change of the spindle", need));
        }
        self.controlled(now);
        if self.control.as_ref().is_some_and(|c| c.order.is_some()) {
            if let Some(control) = &mut self.control {
                control.held.push_back(Held::Order(now, order));
            }
            return Ok(());
        }
        self.begin_order(now, order);
        Ok(())
    }

    /// From now on the drive has a state of control.
    fn controlled(&mut self, now: Time) {
        if self.control.is_none() {
            let mut control = Control::new(self.design.conditions, now.0);
            if self.listener.is_some() {
                control.low_power.listen();
            }
            self.control = Some(Box::new(control));
        }
    }

    fn begin_order(&mut self, now: Time, order: Order) {
        let idle = self.rest_at(now.0);
        let Some(control) = &mut self.control else {
            return;
        };
        // A drive that is on its way to be ready for a command has that command.
        if idle && control.low_power.decided() <= now.0 {
            self.take_effect(now, order);
            return;
        }
        control.order = Some(order);
        let flush = DriveRequest {
            id: OWN,
            command: Command::Flush,
            lba: Lba(0),
            blocks: 0,
        };
        self.submit_now(now, flush);
    }

    /// The drive has nothing to do from `now` on: an order takes effect.
    fn take_effect(&mut self, now: Time, order: Order) {
        let ends = self.units.iter().map(|u| u.busy_end());
        let at = ends.fold(now.0, u64::max);
        let Some(control) = &mut self.control else {
            return;
        };
        control.order = None;
        control.low_power.rests_since(at);
        match order {
            Order::Condition(condition) => control.low_power.ask(at, condition),
            Order::Speed(design, takes) => self.change_speed(at, design, takes),
        }
    }

    /// All spindles turn at another speed, reached `takes` after `at`; the drive has no work.
    fn change_speed(&mut self, at: u64, design: Arc<DriveDesign>, takes: u64) {
        let speed = design.spec.geometry.rotation_speed;
        let ready = match &mut self.control {
            Some(control) => control.low_power.wake(at),
            None => at,
        };
        let then = ready.saturating_add(takes);
        let active = self.active_until(ready);
        let low = self.low_power_until(ready);
        self.meter.change(
            then,
            active,
            low.unwrap_or_default(),
            (design.watts, design.conditions),
        );
        for (unit, (_, mechanics)) in self.units.iter_mut().zip(design.units()) {
            unit.change_speed(mechanics, speed, (ready, then));
            unit.recovers_until(Time(then));
        }
        if let Some(control) = &mut self.control {
            control.low_power.set_design(design.conditions);
            control.last_end = control.last_end.max(then);
        }
        self.design = design;
    }

    /// Whether the drive has nothing to do at `now`; it has then gone on at rest up to there.
    pub(super) fn rest_at(&mut self, now: u64) -> bool {
        let Some(control) = &self.control else {
            return false;
        };
        if now <= control.low_power.decided() {
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

    /// Since when the drive has had nothing to do, seen at `now`.
    fn idle_since(&mut self, now: u64) -> Option<u64> {
        let mut since = self.control.as_ref().map_or(0, |c| c.last_end);
        if self.tags.iter().any(|t| t.outside() > 0) {
            return None;
        }
        for unit in &mut self.units {
            since = since.max(unit.idle_since(now)?);
        }
        (since <= now).then_some(since)
    }

    /// A command reaches a drive that may rest; false if it has to wait for a change first.
    #[inline(never)]
    pub(crate) fn receive(&mut self, now: Time, request: DriveRequest) -> bool {
        let Some(control) = &mut self.control else {
            return true;
        };
        if control.order.is_some() {
            control.held.push_back(Held::Request(now, request));
            return false;
        }
        self.wake(now);
        true
    }

    /// Makes a drive at rest ready for a command that arrives at `now`.
    fn wake(&mut self, now: Time) {
        let rests = match &self.control {
            Some(c) => now.0 < c.low_power.decided() || self.rest_at(now.0),
            None => false,
        };
        let Some(control) = self.control.as_mut().filter(|_| rests) else {
            return;
        };
        let ready = control.low_power.wake(now.0);
        if ready > now.0 {
            self.units
                .iter_mut()
                .for_each(|u| u.recovers_until(Time(ready)));
        }
    }

    /// [`Drive::advance`] of a drive that may rest, or change.
    #[inline(never)]
    pub(crate) fn advance_controlled(&mut self, until: Time, sink: &mut dyn FnMut(&Completion)) {
        loop {
            let mut own = None;
            let mut last = 0;
            self.advance_in_order(until, &mut |c| {
                last = last.max(c.completion.0);
                match c.id {
                    OWN => own = Some(c.completion),
                    _ => sink(c),
                }
            });
            let Some(control) = &mut self.control else {
                return;
            };
            control.last_end = control.last_end.max(last);
            let (Some(at), Some(order)) = (own, control.order.clone()) else {
                return;
            };
            self.take_effect(at, order);
            self.release(at);
            if !self.done.is_empty() {
                let done = std::mem::take(&mut self.done);
                done.iter().for_each(&mut *sink);
            }
        }
    }

    /// What has waited for a change goes on, up to the next one.
    fn release(&mut self, changed: Time) {
        while let Some(held) = self.control.as_mut().and_then(|c| c.held.pop_front()) {
            match held {
                Held::Request(arrival, request) => {
                    self.wake(arrival);
                    self.submit_now(arrival, request);
                }
                Held::Order(at, order) => {
                    self.begin_order(at.max(changed), order);
                    if self.control.as_ref().is_some_and(|c| c.order.is_some()) {
                        return;
                    }
                }
            }
        }
    }

    /// The power condition at `now`: the one that the drive is in, on the way into or out of.
    pub fn power_condition(&mut self, now: Time) -> Condition {
        self.rest_at(now.0);
        match &self.control {
            Some(control) if control.order.is_none() => control.low_power.condition_at(now.0),
            _ => Condition::Active,
        }
    }

    /// Time in low-power conditions up to `until`.
    pub(crate) fn low_power_until(&mut self, until: u64) -> Option<ConditionTime> {
        self.rest_at(until);
        let control = self.control.as_ref();
        control.map(|c| c.low_power.time_until(until))
    }
}

/// What the host gets of a command that it has aborted.
pub(crate) fn aborted(request: &DriveRequest, arrival: Time, now: Time) -> Completion {
    let mut done = Completion::refused(request, now);
    done.arrival = arrival;
    done.components.queue = now.0 - arrival.0;
    done
}
