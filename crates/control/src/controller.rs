//! The control loop: passes readings to a policy and its commands to the drives.

use crate::{Actuator, Command, Device, Input, Policy, Sensor, Status};
use headstack_units::{Time, Watts};

/// A policy and the state of its drives. The same code runs in a simulation and on a live system.
pub struct Controller {
    policy: Box<dyn Policy>,
    devices: Vec<Device>,
    commands: Vec<Command>,
    in_force: Vec<Option<Command>>,
}

impl Controller {
    /// A controller of `devices`; `policy` must have been built for them.
    pub fn new(policy: Box<dyn Policy>, devices: &[Device]) -> Controller {
        Controller {
            policy,
            devices: devices.to_vec(),
            commands: devices.iter().map(|d| d.open).collect(),
            in_force: vec![None; devices.len()],
        }
    }

    /// One step at `now`: reads the sensor, runs the policy and applies changed commands. `cap` is the highest
    /// power that the meter should show, or `None` for no cap. Call it about once for each reading of the meter.
    ///
    /// A command is applied once, because Linux empties the queue for each change of `nr_requests`. A refused
    /// command is applied again at the next step.
    pub fn step(
        &mut self,
        now: Time,
        cap: Option<Watts>,
        sensor: &mut dyn Sensor,
        actuator: &mut dyn Actuator,
    ) -> Status {
        let sample = sensor.read(now);
        let status = self
            .policy
            .step(&Input { now, cap, sample }, &mut self.commands);
        for (i, device) in self.devices.iter().enumerate() {
            let wanted = device.clamp(self.commands[i]);
            if self.in_force[i] != Some(wanted) {
                self.in_force[i] = actuator.apply(i, &wanted).ok().map(|()| wanted);
            }
        }
        status
    }

    /// The command in force on each drive; `None` if it refused its last command or has had none.
    pub fn in_force(&self) -> &[Option<Command>] {
        &self.in_force
    }
}
