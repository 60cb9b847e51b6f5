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
use headstack_schema::{check_range, plugins, read_table, Scalar, SpecError, Table};
use headstack_units::{Span, Time, Watts};
use serde_json::Value;
use std::ops::RangeInclusive;

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
    /// Builds it, and says what it takes from the table. Errors are those of [`PolicyParameters::build`].
    pub build_and_tell: fn(&Params, &[Device]) -> Built,
}

impl Facts {
    /// Those of a policy with the parameters `P` for so many drives, which must be able to set `needs`.
    pub const fn of<P: PolicyParameters>(drives: Drives, needs: &'static [Need]) -> Facts {
        Facts { drives, needs, build_and_tell: build_and_tell::<P> }
    }
}

/// Builds a policy of its parameters for these drives.
///
/// # Errors
/// Those of [`PolicyParameters::build`].
pub fn built<P: PolicyParameters>(mut parameters: P, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
    parameters.build(devices)
}

/// A policy and what it takes from a table.
pub type Built = Result<(Box<dyn Policy>, Told), SpecError>;

/// What a policy takes from a table for its drives, by key. What is not the same for all drives is left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Told {
    /// The values in force: those of the table as they stand there, and defaults.
    pub parameters: Params,
    /// The defaults, also of keys that the table has.
    pub defaults: Params,
}

/// The parameters of a policy.
pub trait PolicyParameters: Table + 'static {
    /// The policy for these drives. What was left out is filled in, unless drives have different defaults.
    ///
    /// # Errors
    /// Values out of bounds that depend on others or on the drives, and a wrong number of drives.
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError>;
}

fn build_and_tell<P: PolicyParameters>(table: &Params, devices: &[Device]) -> Built {
    let mut read: P = read_table(table)?;
    let policy = read.build(devices)?;
    let all = read.write();
    let mut told = Told::default();
    for field in P::fields() {
        let key = field.key;
        let (given, filled) = (table.get(key).filter(|value| !value.is_null()), all.get(key));
        let default = match (field.default(), given) {
            (None, Some(_)) => default_of::<P>(key, table, devices),
            (constant, _) => constant.or(filled).cloned(),
        };
        let value = given.or(filled).cloned();
        told.parameters.extend(value.map(|value| (key.into(), value)));
        told.defaults.extend(default.map(|default| (key.into(), default)));
    }
    Ok((policy, told))
}

/// What a parameter would be if the table did not have it.
fn default_of<P: PolicyParameters>(key: &str, table: &Params, devices: &[Device]) -> Option<Value> {
    let mut without = table.clone();
    without.remove(key);
    let mut read: P = read_table(&without).ok()?;
    // Others may not fit its default; it is filled in before them.
    let _ = read.build(devices);
    read.write().get(key).cloned()
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
    feed_forward: Parameters, learning: Parameters, none: Open, pcap_agile: Parameters, pcap_base: Parameters,
    pcap_s: Parameters, throttle: Parameters
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

/// The value of a parameter, `usual` where it was left out, within bounds that depend on others or on the drives.
pub(crate) fn fill<T: Scalar + Copy>(
    key: &str,
    value: &mut Option<T>,
    usual: T,
    bounds: RangeInclusive<T>,
) -> Result<T, SpecError> {
    let value = *value.get_or_insert(usual);
    check_range(key, &value, &bounds)?;
    Ok(value)
}

/// The time `settle`.
pub(crate) fn fill_settle(settle: &mut Option<Span>, period: Span) -> Result<Span, SpecError> {
    fill("settle", settle, Span(2_000_000_000.min(period.0 / 2)), Span::ZERO..=period)
}

/// Defaults of `tolerance` and `efficiency`: a drive has a meter of its own, several are behind a power supply.
pub(crate) fn usual_meter(drives: usize) -> (Watts, f64) {
    match drives {
        1 => (Watts(0.2), 1.0),
        _ => (Watts(1.0), 0.83),
    }
}

/// The number of drives in each tier, best tier first.
///
/// # Errors
/// Numbers that do not add up to the number of drives.
pub(crate) fn fill_tiers(tiers: &mut Option<Vec<u32>>, drives: usize) -> Result<Vec<usize>, SpecError> {
    let tiers = tiers.get_or_insert_with(|| vec![drives as u32]).iter();
    let tiers: Vec<usize> = tiers.map(|n| *n as usize).collect();
    match tiers.iter().sum::<usize>() {
        sum if sum == drives => Ok(tiers),
        sum => {
            let need = format!("numbers of drives that add up to {drives}");
            Err(SpecError::new("tiers", format!("a sum of {sum}"), need))
        }
    }
}

/// Refuses parameters that have a meaning only with another value of another one.
pub(crate) fn only_with<T>(with: &str, parameters: &[(&str, &Option<T>)]) -> Result<(), SpecError> {
    match parameters.iter().find(|(_, value)| value.is_some()) {
        None => Ok(()),
        Some((key, _)) => Err(SpecError::new(*key, format!("it without {with}"), "both or neither")),
    }
}
