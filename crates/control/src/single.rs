//! The control loop of one drive, for `pcap-base` and `pcap-agile`.

use crate::guard::{Guard, GuardSettings, GuardTable, OnLoss, Turn};
use crate::pcap::{Pcap, MOST};
use crate::{Command, Device, Input, Policy, Status};
use headstack_schema::{SpecError, Table};
use headstack_units::{Span, Watts};
use serde_json::Value;

/// Parameters that both have.
#[derive(Table)]
pub(crate) struct SingleTable {
    #[param(flatten)]
    pub(crate) guard: GuardTable<5>,
    /// Differences from the cap up to this change nothing.
    #[param(default = Watts(0.2), range = Watts(0.0)..=Watts(MOST))]
    pub(crate) tolerance: Watts,
}

/// A [`Pcap`] behind a [`Guard`].
pub(crate) struct Single {
    pub(crate) guard: Guard,
    pub(crate) pcap: Pcap,
    pub(crate) tolerance_w: f64,
    pub(crate) open: Command,
}

impl Single {
    pub(crate) fn new(guard: GuardSettings, tolerance: Watts, pcap: Pcap, device: &Device) -> Single {
        Single { guard: Guard::new(guard), pcap, tolerance_w: tolerance.0, open: device.clamp(device.open) }
    }
}

impl Policy for Single {
    fn step(&mut self, input: &Input, commands: &mut [Command]) -> Status {
        let turn = self.guard.turn(input);
        match turn {
            Turn::Uncapped => self.pcap.queues = self.pcap.start,
            Turn::Lost => self.pcap.queues = self.pcap.lowest(),
            Turn::Keep => {}
            Turn::Act(reading) => {
                let error_w = reading.power_w - self.guard.cap_w().unwrap_or(f64::INFINITY);
                if error_w.abs() > self.tolerance_w {
                    self.pcap.queues = self.pcap.after(error_w);
                }
            }
        }
        let is_open = turn == Turn::Lost && self.guard.settings().on_loss == OnLoss::Open;
        if let Some(command) = commands.first_mut() {
            *command = if is_open { self.open } else { self.pcap.queues.command(&self.open) };
        }
        self.guard.status(&turn)
    }

    fn state(&self) -> Option<Value> {
        Some(self.guard.state())
    }

    fn resume(&mut self, state: &Value, since: Span) -> Result<(), SpecError> {
        self.guard.resume(state, since)
    }
}
