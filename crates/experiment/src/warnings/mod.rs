//! Checks of a run: what makes its numbers mislead.
//!
//! # Contract
//! - A check is one file with a [`Check`] (a stable name, what it finds, the way out) and a function that looks at
//!   the whole run after its end. It costs nothing while the run goes on: what it needs beyond the results, a run
//!   counts (`Facts`).
//! - A warning is true of the run, and has its numbers. A check has a test in which it fires and one in which it
//!   nearly does (`tests/python/results/test_warnings.py`).
//! - `docs/guide/warnings.md` explains each check; a test compares it with [`list`].
//!
//! To add one: write `NAME.rs` with `CHECK` and `find`, and add `NAME` to the list below. The list is the order in
//! which warnings are shown.

#[doc(hidden)]
pub mod words;

use crate::experiment::{Experiment, System, Workload};
use crate::inputs::Inputs;
use crate::result::SystemResult;
use headstack_block::layer::Setting;
use headstack_drive::power::conditions::Condition;
use headstack_drive::spec::Params;
use headstack_drive::{DriveDesign, DurationLimit, Heeded, Setting as DriveSetting};
use headstack_engine::{Check, Warning};
use headstack_sim::outcome::BeyondDevice;
use headstack_trace::{checks as of_traces, Alignment};
use headstack_units::{Bytes, Span};
use serde_json::Value;

pub(crate) use workload_too_large::in_words as too_large_in_words;

/// What checks need beyond the results of a system on a workload.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Facts {
    /// How the requests lie in sectors.
    pub alignment: Alignment,
    /// Requests beyond their device.
    pub beyond: Option<BeyondDevice>,
    /// Each drive.
    pub drives: Vec<DriveFacts>,
}

/// What checks need of a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DriveFacts {
    /// Time of one turn in seconds.
    pub turn_s: f64,
    /// Whether writes complete in its buffer.
    pub is_write_back: bool,
    /// Bytes of unwritten data for which its buffer has room; `None` if a source says how many.
    pub assumed_room: Option<Bytes>,
    /// The lowest power that it can have; `None` if that is unknown, because the spindle may change its speed.
    pub least_power_w: Option<f64>,
    /// The longest time by which a duration limit that it heeds orders commands.
    pub longest_target: Option<Span>,
}

impl DriveFacts {
    /// Of the drives of a design in a system; `policy` has the parameters of its power-capping policy.
    pub fn of(design: &DriveDesign, system: &System, policy: &Params) -> DriveFacts {
        let (spec, conditions) = (design.spec(), design.conditions());
        let changes = || {
            system.change.iter().filter_map(|c| match &c.setting {
                Setting::Drive(setting) => Some(setting),
                _ => None,
            })
        };
        let changes_speed = changes().any(|of| matches!(of, DriveSetting::SpindleSpeed { .. }));
        let rest = policy.get("rest").and_then(Value::as_str);
        // The conditions that it can enter: by timers, by the policy, by changes.
        let enters = |c: &Condition| {
            conditions.timer(*c).is_some()
                || rest == Some("unload") && *c <= Condition::IdleB
                || rest == Some("standby")
                || changes().any(|of| match of {
                    DriveSetting::PowerCondition(condition) | DriveSetting::IdleTimer { condition, .. } => {
                        condition == c
                    }
                    _ => false,
                })
        };
        let source = |key| spec.sources.get(key);
        let source = source("cache.dirty_limit").or(source("cache"));
        let is_chosen = source.is_none_or(|s| s.starts_with("chosen"));
        let low = Condition::LOW.into_iter();
        let low = low.filter(|c| conditions.has(*c) && enters(c));
        let watts = low.chain([Condition::Active]).map(|c| conditions.watts(c));
        let limits = &spec.duration_limits;
        let all = limits.reads.iter().chain(&limits.writes);
        let all = all.filter(|_| limits.enabled == Heeded::Limits);
        DriveFacts {
            longest_target: all.filter_map(DurationLimit::target).max(),
            turn_s: 60.0 / spec.geometry.rotation_speed.0,
            assumed_room: is_chosen.then(|| spec.cache.write_room(spec.geometry.sector_size)),
            is_write_back: spec.cache.enabled && spec.cache.write_back,
            least_power_w: match changes_speed {
                true => None,
                false => Some(watts.fold(f64::INFINITY, f64::min)),
            },
        }
    }
}

/// A run that has ended.
pub(crate) struct Ended<'a> {
    pub experiment: &'a Experiment,
    pub inputs: &'a Inputs<'a>,
    /// Systems first, each with all workloads.
    pub systems: &'a [SystemResult],
}

impl<'a> Ended<'a> {
    /// Each result, with the number of its system and its workload.
    fn results(&self) -> impl Iterator<Item = (usize, &'a Workload, &'a SystemResult)> + use<'a> {
        let workloads = &self.experiment.workload;
        let place = |i: usize| (i / workloads.len(), &workloads[i % workloads.len()]);
        let numbered = self.systems.iter().enumerate();
        numbered.map(move |(i, result)| {
            let (system, workload) = place(i);
            (system, workload, result)
        })
    }

    /// The first result of each system.
    fn one_each(&self) -> impl Iterator<Item = &'a SystemResult> + use<'a> {
        self.systems.iter().step_by(self.experiment.workload.len())
    }
}

/// A warning about a system on a workload.
fn about(check: &Check, result: &SystemResult, text: impl Into<String>) -> Warning {
    let warning = check.warn(text).of_system(&result.name);
    warning.on(&result.workload)
}

/// Declares the modules of the checks, the list of their descriptions, and the function that makes them all.
macro_rules! checks {
    ($($file:ident),+ $(,)?) => {
        $(mod $file;)+

        /// The checks of runs, in the order in which their warnings are shown.
        const OF_RUNS: &[Check] = &[$($file::CHECK),+];

        /// All warnings of a run that has ended.
        pub(crate) fn find(run: &Ended) -> Vec<Warning> {
            let mut found = Vec::new();
            $($file::find(run, &mut |warning| found.push(warning));)+
            found
        }
    };
}

checks! {
    interrupted,
    workload_too_large,
    failed_requests,
    overloaded,
    misaligned,
    idle_drives,
    unlike_write_caches,
    full_write_buffers,
    unreachable_cap,
    parts_out_of_use,
    unmeasured_limits,
    full_log,
    default_values,
    changed_records,
    late_changes,
    unused_keys,
}

/// Every check of runs and of traces, each once.
pub fn list() -> Vec<Check> {
    let mut all = OF_RUNS.to_vec();
    let is_new = |check: &&Check| !OF_RUNS.iter().any(|own| own.name == check.name);
    all.extend(of_traces::CHECKS.iter().filter(is_new));
    all
}
