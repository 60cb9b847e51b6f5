//! Power-capping policies: each turns the readings of one meter into settings of the drives that it measures.
//!
//! # Contract
//! - A step depends only on the policy's state and its input: no clock, no file, no random numbers. It
//!   allocates nothing and does not block.
//! - Every step commands a complete setting for each drive, one that its [`Device`] accepts.
//! - Readings and caps may be missing, NaN, negative, huge, repeated or out of order at any time. The rules for
//!   them are the same for all policies that use readings: see [`Guard`](crate::Guard).
//! - While the mean of each period is within the policy's tolerance of the cap, the settings do not change. A policy that knows the
//!   throughput of the setting in use may try a faster one.
//! - After a fault of the meter or the cap, the number of periods until the policy reaches its final setting
//!   for constant power does not depend on the length of the fault.
//!
//! To add one: write `crates/control/src/policy/NAME.rs` with a function `plugin`, and add `NAME` to the list. The contract
//! tests (`crates/control/tests/it/contract.rs`) run on every entry.

use crate::{Command, Device, Params, Sample};
use headstack_schema::{plugins, EffectiveParameter, Plugin, Reader, SpecError, TableSchema};
use headstack_units::{Span, Time, Watts};
use serde_json::Value;

/// The input of a policy in one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Input {
    /// The current time.
    pub now: Time,
    /// The highest power that the meter should show; `None` if there is no cap.
    pub cap: Option<Watts>,
    /// The meter's latest reading.
    pub sample: Sample,
}

/// The status of a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Status {
    /// There is no cap.
    Uncapped,
    /// The policy controls the power by its readings.
    Regulating,
    /// The power is above the cap by so much, and no setting that the policy knows or can try keeps it.
    Unreachable {
        /// Watts above the cap.
        excess: Watts,
    },
    /// No setting keeps the cap; the rate of requests is limited.
    Limiting,
    /// The power is above the cap, and settings that should lower it are in force or being tried.
    Settling,
    /// The power is above the cap, and the last change that was to lower it has raised it.
    WrongSign,
    /// No reading or cap has counted for a period or longer; the last setting stays in force.
    Holding,
    /// The meter is lost; the drives have the safe setting.
    Lost,
}

/// A power-capping policy; the contract is in this module's description.
pub trait Policy: Send {
    /// One step. `commands` has one entry per drive, in the order in which the policy was built. The policy writes
    /// every entry and reads none.
    fn step(&mut self, input: &Input, commands: &mut [Command]) -> Status;

    /// Whether drives have their settings without capping until the power is above a cap, as far as it decides.
    fn begins_open(&self) -> bool {
        false
    }

    /// What it has learned about the drives of a model, the place of its map, to be kept for a later run; `None` if it learns
    /// nothing, or has no such map. The form is that policy's own.
    fn memory(&self, model: usize) -> Option<Value> {
        let _ = model;
        None
    }

    /// Takes what [`Policy::memory`] gave `since` ago. Returns the number of settings that it can use.
    ///
    /// # Errors
    /// A document that is no such memory, in words; then nothing is taken.
    fn recall(&mut self, model: usize, document: &Value, since: Span) -> Result<usize, SpecError> {
        let _ = (model, document, since);
        Err(SpecError::new("", "a memory", "none for this policy"))
    }

    /// Its timers and what it has in force, so that another run can go on where this one was interrupted; `None` if it has none.
    fn state(&self) -> Option<Value> {
        None
    }

    /// Goes on from what [`Policy::state`] gave `since` ago, for the same drives.
    ///
    /// # Errors
    /// A document that is no such state, in words; then it begins anew.
    fn resume(&mut self, state: &Value, since: Span) -> Result<(), SpecError> {
        let _ = (state, since);
        Err(SpecError::new("", "a state", "none for this policy"))
    }
}

/// What is known of a policy before it is built.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Number of drives that it caps.
    pub drives: Drives,
    /// What it must be able to set on each drive.
    pub needs: &'static [Need],
    read: Read,
}

/// Reads the parameters of a policy and builds it for its drives: values out of bounds and a wrong number of drives are
/// errors.
pub type Read = fn(&mut Reader, &[Device]) -> Result<Box<dyn Policy>, SpecError>;

impl Facts {
    /// The policy, and all parameters that it takes from the table, also those that the table leaves out.
    ///
    /// # Errors
    /// Unknown keys, values out of bounds, a wrong number of drives.
    pub fn build_and_tell(
        &self,
        table: &Params,
        devices: &[Device],
    ) -> Result<(Box<dyn Policy>, Vec<EffectiveParameter>), SpecError> {
        let mut reader = Reader::new(table);
        let policy = (self.read)(&mut reader, devices)?;
        Ok((policy, reader.finish()?))
    }

    /// The parameters for one drive with Linux's default settings, where the table gives none. Empty if the policy has
    /// a parameter that must be given.
    fn parameters(&self) -> TableSchema {
        let built = self.build_and_tell(&Params::new(), &[Device::default()]);
        let taken = built.map(|(_, taken)| taken).unwrap_or_default();
        TableSchema { fields: taken.into_iter().map(|t| t.field).collect(), ..TableSchema::default() }
    }
}

/// A policy for so many drives that must be able to set `needs`.
pub fn policy(
    [name, summary, example]: [&'static str; 3],
    drives: Drives,
    needs: &'static [Need],
    read: Read,
) -> Plugin<dyn Policy> {
    let facts = Facts { drives, needs, read };
    let build = move |table: &Params, devices: &[Device]| Ok(facts.build_and_tell(table, devices)?.0);
    Plugin::undeclared(name, summary, example, facts, move || facts.parameters(), build)
}

/// A setting of a drive that a policy cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// The sizes of the queues: places at the host, and depth.
    Queues,
    /// A limit on the rate of requests or bytes.
    RateLimit,
}

/// Number of drives that a policy caps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drives {
    /// One, with its own meter.
    One,
    /// One or more behind one meter.
    Several,
}

plugins! {
    dyn Policy = "capping policy", for<'a> &'a [Device], facts Facts;
    feed_forward, learning, none, pcap_agile, pcap_base, pcap_s, throttle
}

/// The only drive of a policy that caps one.
///
/// # Errors
/// No drive, or several.
fn only<'a>(devices: &'a [Device], name: &str) -> Result<&'a Device, SpecError> {
    match devices {
        [device] => Ok(device),
        _ => {
            let need = format!("1 for {name}; pcap-s, feed-forward and learning cap several behind one meter");
            Err(SpecError::new("drives", devices.len(), need))
        }
    }
}

/// At least one drive.
///
/// # Errors
/// None, or more than the 10,000 that a policy may have.
fn several(devices: &[Device]) -> Result<(), SpecError> {
    match devices.len() {
        1..=10_000 => Ok(()),
        n => Err(SpecError::new("drives", n, "1 to 10000")),
    }
}

/// Reads `efficiency`.
pub(crate) fn efficiency(reader: &mut Reader, usual: f64) -> Result<f64, SpecError> {
    let doc = "Efficiency of the power supply between the meter and the drives.";
    reader.number(("efficiency", doc), usual, 0.1..=1.0)
}

/// Reads `settle`.
pub(crate) fn settle(reader: &mut Reader, period: Span) -> Result<Span, SpecError> {
    let doc = "Time after a change in which readings do not count.";
    reader.number(("settle", doc), Span(2_000_000_000.min(period.0 / 2)), Span::ZERO..=period)
}

/// The number of drives in each tier, best tier first; one tier unless the table has `tiers`.
///
/// # Errors
/// Numbers that do not add up to the number of drives.
pub(crate) fn read_tiers(reader: &mut Reader, drives: usize) -> Result<Vec<usize>, SpecError> {
    let one = u32::try_from(drives).ok().map(|n| vec![n]);
    let tiers = reader
        .list(("tiers", "Numbers of drives in each tier, best tier first."), one, 1..=10_000)?
        .unwrap_or_default();
    let tiers: Vec<usize> = tiers.into_iter().map(|n| n as usize).collect();
    match tiers.iter().sum::<usize>() {
        sum if sum == drives => Ok(tiers),
        sum => {
            let need = format!("numbers of drives that add up to {drives}");
            Err(SpecError::new("tiers", format!("a sum of {sum}"), need))
        }
    }
}
