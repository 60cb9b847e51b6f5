//! No power capping: every drive keeps its initial setting.
//!
//! # Model
//! The command is [`Device::open`], whatever the meter shows. It has no parameters.
//! # Source
//! The baseline for comparisons.
//! # Validity
//! Any drives. A cap may be exceeded.

use super::{built, several, Drives, Facts, Input, Policy, PolicyParameters, Status};
use crate::{Command, Device};
use headstack_schema::{SpecError, Table};

#[derive(Table)]
#[table(model = "no power capping", facts = Facts::of::<Self>(Drives::Several, &[]), build = built)]
pub(super) struct Open {
    #[param(skip)]
    commands: Vec<Command>,
}

impl PolicyParameters for Open {
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
