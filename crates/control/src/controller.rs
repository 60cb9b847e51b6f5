//! The control loop: passes readings to a policy and its commands to the drives.

use crate::{Actuator, Command, Device, Held, Input, Policy, Progress, Sensor, Status};
use headstack_schema::SpecError;
use headstack_units::{Span, Time, Watts};
use serde_json::Value;

/// The longest time between two tries of a command that a drive does not take.
const LONGEST_RETRY: Span = Span(30_000_000_000);

/// Time between two looks whether a drive still has its command.
const READ_EVERY: Span = Span(10_000_000_000);

/// A policy and the state of its drives. The same code runs in a simulation and on a live system.
pub struct Controller {
    policy: Box<dyn Policy>,
    devices: Vec<Device>,
    commands: Vec<Command>,
    orders: Vec<Order>,
    is_resting: bool,
}

/// The last command to one drive.
#[derive(Debug, Clone, Copy, Default)]
struct Order {
    given: Option<Command>,
    state: State,
    /// Tries of this command that failed, one after another.
    failures: u32,
    /// When it is read back next.
    next_read: Time,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum State {
    /// Nothing was ordered yet.
    #[default]
    None,
    InForce,
    Pending,
    /// It may be tried again then.
    Failed(Time),
}

impl Order {
    fn became(&mut self, progress: Progress, now: Time) {
        self.state = match progress {
            Progress::Done => State::InForce,
            Progress::Pending => State::Pending,
            Progress::Failed { retry_after } => {
                // Twice as long after each failure.
                let doubled = retry_after.non_negative().saturating_mul(1 << self.failures.min(5));
                self.failures = self.failures.saturating_add(1);
                State::Failed(now + Span(doubled.min(LONGEST_RETRY.non_negative()) as i64))
            }
        };
        if self.state == State::InForce {
            self.failures = 0;
            self.next_read = now + READ_EVERY;
        }
    }

    /// Looks whether somebody else has changed a setting, when it is time.
    fn read_back(&mut self, drive: usize, now: Time, actuator: &mut dyn Actuator) {
        let in_force = self.given.filter(|_| self.state == State::InForce);
        let Some(command) = in_force.filter(|_| now >= self.next_read) else { return };
        match actuator.read(drive, &command) {
            Held::Unknown => {}
            Held::Same => self.next_read = now + READ_EVERY,
            Held::Other => self.state = State::None,
        }
    }

    /// Whether `wanted` is to be given to the drive now.
    fn is_due(&self, wanted: &Command, now: Time) -> bool {
        match self.state {
            State::None => true,
            State::Pending => false,
            State::InForce => self.given != Some(*wanted),
            State::Failed(again) => now >= again,
        }
    }
}

impl Controller {
    /// A controller of `devices`; `policy` must have been built for them.
    pub fn new(policy: Box<dyn Policy>, devices: &[Device]) -> Controller {
        Controller {
            policy,
            devices: devices.to_vec(),
            commands: devices.iter().map(|d| d.open).collect(),
            orders: vec![Order::default(); devices.len()],
            is_resting: false,
        }
    }

    /// From now on drives have their settings without capping, whatever the policy commands; or those of the policy again. A
    /// policy that itself begins there is left alone: see [`Policy::begins_open`].
    pub fn rest(&mut self, is_resting: bool) {
        self.is_resting = is_resting && !self.policy.begins_open();
    }

    /// Whether the policy's commands are held back.
    pub fn is_resting(&self) -> bool {
        self.is_resting
    }

    /// One step at `now`: reads the sensor, runs the policy and applies changed commands. `cap` is the highest
    /// power that the meter should show, or `None` for no cap. Call it about once for each reading of the meter.
    ///
    /// A command is applied once, because Linux empties the queue for each change of `nr_requests`. One that failed is
    /// tried again after the time that the drive's actuator gives, twice as long after each further failure, at most 30 s.
    /// While one is pending the drive gets no other. Every ten seconds it is read back, and given again if somebody else has
    /// changed a setting.
    pub fn step(
        &mut self,
        now: Time,
        cap: Option<Watts>,
        sensor: &mut dyn Sensor,
        actuator: &mut dyn Actuator,
    ) -> Status {
        let sample = sensor.read(now);
        let status = self.policy.step(&Input { now, cap, sample }, &mut self.commands);
        for (i, device) in self.devices.iter().enumerate() {
            let wanted = if self.is_resting { device.open } else { device.clamp(self.commands[i]) };
            self.orders[i].read_back(i, now, actuator);
            give(&mut self.orders[i], i, wanted, now, actuator);
        }
        status
    }

    /// Gives every drive its setting without capping again. Call it until it returns true: then all have it. A drive
    /// that fails is tried again at the next call.
    pub fn release(&mut self, now: Time, actuator: &mut dyn Actuator) -> bool {
        for (i, device) in self.devices.iter().enumerate() {
            let order = &mut self.orders[i];
            if let State::Failed(_) = order.state {
                order.state = State::Failed(now);
            }
            give(order, i, device.open, now, actuator);
        }
        let open = self.devices.iter().map(|d| Some(d.open));
        self.in_force().zip(open).all(|(is, open)| is == open)
    }

    /// The drive's setting may have been changed since it was read back: its command is given again at the next step.
    pub fn forget(&mut self, drive: usize) {
        if let Some(order) = self.orders.get_mut(drive) {
            if order.state == State::InForce {
                order.state = State::None;
            }
        }
    }

    /// The command in force on each drive; `None` if it has not taken its last command, or has had none.
    pub fn in_force(&self) -> impl Iterator<Item = Option<Command>> + '_ {
        let in_force = |o: &Order| o.given.filter(|_| o.state == State::InForce);
        self.orders.iter().map(in_force)
    }

    /// The last command of each drive, in force or not.
    pub fn given(&self) -> impl Iterator<Item = Option<Command>> + '_ {
        self.orders.iter().map(|o| o.given)
    }

    /// How often each drive has failed to take its command since it last took one.
    pub fn failures(&self) -> impl Iterator<Item = u32> + '_ {
        self.orders.iter().map(|o| o.failures)
    }

    /// What the policy has learned; see [`Policy::memory`].
    pub fn memory(&self, model: usize) -> Option<Value> {
        self.policy.memory(model)
    }

    /// Gives the policy what it had learned `since` ago; see [`Policy::recall`].
    ///
    /// # Errors
    /// A document that is no such memory.
    pub fn recall(&mut self, model: usize, document: &Value, since: Span) -> Result<usize, SpecError> {
        self.policy.recall(model, document, since)
    }

    /// The policy's state; see [`Policy::state`].
    pub fn state(&self) -> Option<Value> {
        self.policy.state()
    }

    /// The policy goes on from its state `since` ago; see [`Policy::resume`].
    ///
    /// # Errors
    /// A document that is no such state.
    pub fn resume(&mut self, state: &Value, since: Span) -> Result<(), SpecError> {
        self.policy.resume(state, since)
    }

    /// The settings without capping, and the bounds, of each drive.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }
}

/// Gives a drive a command, if it has another one and is ready for it.
fn give(order: &mut Order, drive: usize, wanted: Command, now: Time, actuator: &mut dyn Actuator) {
    if order.state == State::Pending {
        order.became(actuator.poll(drive), now);
    }
    if order.is_due(&wanted, now) {
        order.given = Some(wanted);
        order.became(actuator.apply(drive, &wanted), now);
    }
}
