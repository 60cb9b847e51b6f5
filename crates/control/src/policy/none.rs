//! No power capping: every drive keeps its initial setting.
//!
//! # Model
//! The command is [`Device::open`], whatever the meter shows. It has no parameters.
//! # Source
//! The baseline for comparisons.
//! # Validity
//! Any drives. A cap may be exceeded.

use super::{policy, several, Drives, Input, Policy, PolicyParameters, Status};
use crate::{Command, Device};
use headstack_schema::{NoParameters, Plugin, SpecError};

/// Registration.
pub fn plugin() -> Plugin<dyn Policy> {
    let summary = "no power capping";
    policy::<NoParameters>(["none", summary, ""], Drives::Several, &[])
}

struct Open {
    commands: Vec<Command>,
}

impl PolicyParameters for NoParameters {
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
        several(devices)?;
        let commands = devices.iter().map(|d| d.clamp(d.open)).collect();
        Ok(Box::new(Open { commands }))
    }
}

impl Policy for Open {
    fn step(&mut self, _: &Input, commands: &mut [Command]) -> Status {
        for (command, open) in commands.iter_mut().zip(&self.commands) {
            *command = *open;
        }
        Status::Uncapped
    }
}
