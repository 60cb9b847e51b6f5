//! Role policies: what each arm assembly may serve, and when that changes while a drive runs.
//!
//! # Contract
//! - A policy has one or more modes. A mode says what each assembly of a stack serves. The first mode is in force at
//!   the start.
//! - `wanted` names one of these modes. The same commands at the same times give the same answers.
//! - `wanted` is called before a service, and only if a command was noted since the last call.
//! - Writes that only enter the buffer are noted, but a change waits for the next command that the mechanism serves.
//! - The unit carries out a change, whatever it costs; see [`RolePolicy::switch_time`].
//!
//! To add one: write `crates/drive/src/roles/NAME.rs` and add it to the list as [`plugins!`] says. A program adds its
//! own in [`Models`](crate::Models).

use crate::bounds::{bounded, MOST_PAUSE};
use crate::parallelism::{Dash, ParallelismSpec};
use crate::spec::{DriveSpec, Role};
use headstack_schema::{plugins, wrong_kind, Columns, Kind, ModelKind, Parameter, Params, Plugins, SpecError};
use headstack_units::{Span, Time};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// What each assembly of a stack serves, in order. Empty: all serve reads and writes.
pub type RoleTable = Vec<Vec<Role>>;

/// The roles of a drive's arms: a table, or a policy with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum RolesSpec {
    /// The roles that the assemblies always have.
    Table(RoleTable),
    /// `policy`, the name of a role policy, and its parameters.
    Policy(Params),
}

impl Default for RolesSpec {
    fn default() -> Self {
        RolesSpec::Table(Vec::new())
    }
}

impl RolesSpec {
    /// Whether no roles are given, so that all assemblies serve all commands.
    pub fn is_none(&self) -> bool {
        matches!(self, RolesSpec::Table(t) if t.is_empty())
    }

    /// The same roles, with every parameter of the policy filled in.
    pub(crate) fn filled(&self, policies: &Plugins<dyn RolePolicy>) -> RolesSpec {
        match self {
            RolesSpec::Table(_) => self.clone(),
            RolesSpec::Policy(table) => {
                let name = table.get(KEY).and_then(Value::as_str).unwrap_or_default();
                RolesSpec::Policy(policies.filled(name, table))
            }
        }
    }
}

impl Parameter for RolesSpec {
    fn kind() -> Kind {
        let policy = Kind::Keyed { of: <dyn RolePolicy>::NAME, key: KEY };
        Kind::OneOf(vec![RoleTable::kind(), policy])
    }
    fn read(value: &Value) -> Result<RolesSpec, SpecError> {
        match value {
            Value::Array(_) => Parameter::read(value).map(RolesSpec::Table),
            Value::Object(table) => Ok(RolesSpec::Policy(table.clone())),
            _ => {
                let need = "a list of roles for each arm, or a table with policy";
                Err(wrong_kind(value, need))
            }
        }
    }
    fn write(&self) -> Value {
        match self {
            RolesSpec::Table(table) => table.write(),
            RolesSpec::Policy(table) => table.write(),
        }
    }
}

/// The key of a policy's name, in the table of its parameters.
pub(crate) const KEY: &str = "policy";

/// One way to divide the commands among the assemblies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mode {
    /// Its name in results.
    pub name: &'static str,
    /// What each assembly serves.
    pub roles: RoleTable,
}

/// Decides which of its modes is in force.
pub trait RolePolicy: Send + fmt::Debug {
    /// The modes of a stack with this many assemblies.
    fn modes(&self, arms: u32) -> Vec<Mode>;

    /// At `now` a command was taken that an arm has to serve. Times never decrease.
    fn note(&mut self, now: Time, write: bool);

    /// The index of the mode that should be in force from `now` on; `current` is the mode in force.
    fn wanted(&mut self, now: Time, current: usize) -> usize;

    /// How long an assembly serves nothing after a change of its roles. 0 to 1 h.
    fn switch_time(&self) -> Span {
        Span::ZERO
    }
}

plugins! { dyn RolePolicy = "role policy", beside &[KEY]; fixed: Fixed, adaptive: Parameters }

/// A policy and its modes.
type WithModes = (Box<dyn RolePolicy>, Vec<Mode>);

/// The policy of a drive's roles and its modes, which are checked; `None` for a drive whose arms serve everything.
///
/// # Errors
/// Unknown names and parameters, and modes in which reads or writes are not served, below `parallelism.roles`.
pub(crate) fn build(spec: &DriveSpec, policies: &Plugins<dyn RolePolicy>) -> Result<Option<WithModes>, SpecError> {
    let within = |e: SpecError| e.within("parallelism.roles");
    let policy: Box<dyn RolePolicy> = match &spec.parallelism.roles {
        RolesSpec::Table(table) if table.is_empty() => return Ok(None),
        RolesSpec::Table(table) => Box::new(fixed::Fixed::new(table.clone())),
        RolesSpec::Policy(table) => policies.build("parallelism.roles", KEY, table, ())?,
    };
    bounded("switch_time", policy.switch_time(), Span::ZERO..=MOST_PAUSE).map_err(within)?;
    let modes = policy.modes(spec.dash.arms);
    for mode in &modes {
        check(&mode.roles, &spec.parallelism, spec.dash)?;
    }
    if modes.is_empty() || modes.len() > 64 {
        let got = format!("{} modes", modes.len());
        return Err(within(SpecError::new(KEY, got, "1 to 64")));
    }
    Ok(Some((policy, modes)))
}

/// Checks that there are roles for all assemblies of a stack, and that reads and writes are served.
pub(crate) fn check(roles: &RoleTable, p: &ParallelismSpec, dash: Dash) -> Result<(), SpecError> {
    if roles.is_empty() {
        return Ok(());
    }
    let fail = |got: String, need: String| Err(SpecError::new("parallelism.roles", got, need));
    if roles.len() as u32 != dash.arms {
        return fail(
            format!("roles of {} assemblies", roles.len()),
            format!("{}, as dash = \"{dash}\" says", dash.arms),
        );
    }
    for (role, name) in [(Role::Read, "read"), (Role::Write, "write")] {
        let serving = roles.iter().filter(|r| r.contains(&role)).count();
        // Assemblies with surfaces of their own cannot replace each other.
        let all = p.arm_share == crate::spec::ArmShare::OwnShare;
        if serving == 0 || (all && serving < roles.len()) {
            return fail(
                format!("{serving} assemblies with {name:?}"),
                if all { "all of them with arm_share = \"own-share\"".into() } else { "one or more".into() },
            );
        }
    }
    if let Some(none) = roles.iter().position(Vec::is_empty) {
        return Err(SpecError::new(format!("parallelism.roles[{none}]"), "[]", "\"read\", \"write\" or both"));
    }
    Ok(())
}

/// Which assemblies of a unit serve writes in every mode. The unit has `count` assemblies, numbered from `first` on in
/// their stack.
///
/// # Errors
/// As for [`build`].
pub(crate) fn writers(
    spec: &DriveSpec,
    policies: &Plugins<dyn RolePolicy>,
    (first, count): (u32, usize),
) -> Result<Vec<bool>, SpecError> {
    let modes = build(spec, policies)?.map_or(Vec::new(), |(_, modes)| modes);
    let always = |a: usize| modes.iter().all(|m| of(&m.roles, first + a as u32)[1]);
    Ok((0..count).map(always).collect())
}

/// Whether assembly `a` of a stack serves reads, and whether it serves writes.
pub(crate) fn of(roles: &RoleTable, a: u32) -> [bool; 2] {
    let own = roles.get(a as usize);
    [Role::Read, Role::Write].map(|role| own.is_none_or(|r| r.contains(&role)))
}

/// How a drive has used its roles up to a time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Columns)]
#[columns("Roles")]
pub struct RoleUse {
    /// How often the mode changed, in all stacks.
    pub n_switches: u64,
    /// Number of these changes that a failed part made necessary.
    pub n_forced: u64,
    /// Seconds in which arms served nothing because of a change, summed over all arms.
    pub switching_s: f64,
    /// Seconds in each mode; with several stacks the mean over the stacks.
    pub modes: Vec<ModeUse>,
}

/// The time in one mode.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Columns)]
#[columns("RoleMode")]
pub struct ModeUse {
    /// The mode's name.
    pub name: &'static str,
    /// Seconds.
    pub time_s: f64,
}
