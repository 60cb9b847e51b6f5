//! Changes of a system while it runs: the time, the drives or layers concerned, and the setting.
//!
//! # Model
//! Times count from the arrival of the first request. A change is applied before a request that arrives at the
//! same time; simultaneous changes are applied in the order of the experiment.
//! [`Drive::set`](headstack_drive::Drive::set) states when a drive applies a change and what happens to its
//! commands; each layer's file states it for the layer.

mod schedule;

use headstack_block::layer::tree::listed_from;
use headstack_block::layer::{Bad, Busy, FailedZone, LayerSpec, Setting, Slow, Stuck, Weak};
use headstack_control::RateLimit;
use headstack_drive::power::conditions::Condition;
use headstack_drive::spec::Params;
use headstack_drive::{Heeded, LimitsSpec, Part};
use headstack_schema::{did_you_mean, Columns, Kind, SpecError, Table};
use headstack_units::{Bandwidth, Frequency, Rpm, Span};
use serde::Serialize;
use serde_json::Value;

pub use headstack_block::target::Target;
pub use schedule::{dry_run, dry_run_layers, Schedule};

/// One entry of `[[system.change]]`: a time, the drives or layers concerned, and one setting.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct Change {
    /// Time after the arrival of the first request, before a request that arrives at the same time; 0 or more.
    pub at: Span,
    /// Drive numbers from 0; all drives if absent.
    pub drives: Option<Vec<u32>>,
    /// Entry of the system's `layers`: its number from 0, or its name if only one layer has it; of an organisation with
    /// redundancy its name.
    pub layer: Option<Value>,
    /// Instances of that layer, from 0; all if absent.
    pub instances: Option<Vec<u32>>,
    /// Commands that each drive holds at once; 0: all.
    pub queue_depth: Option<u32>,
    /// Name of the scheduler.
    #[param(kind = Kind::Name("scheduler"))]
    pub scheduler: Option<String>,
    /// Parameters of the scheduler.
    #[param(kind = Kind::Parameters("scheduler"))]
    pub scheduler_parameters: Option<Params>,
    /// Commands in service at once, from 1 to the number for which the drive was built.
    pub arms_in_motion: Option<u32>,
    /// Duration limits and priorities: the whole table of a drive.
    pub duration_limits: Option<LimitsSpec>,
    /// Which hints of commands the drives heed.
    pub heeded_hints: Option<Heeded>,
    /// Power condition that the drives enter, one that they have.
    pub power_condition: Option<Condition>,
    /// Timer of a low-power condition: `{ condition = "standby", after = "10 s" }`. Without `after` as in the drive's
    /// file.
    pub idle_timer: Option<IdleTimer>,
    /// `{ speed = "5400 rpm", takes = "2 s" }`: the new speed, and the time to reach it.
    pub spindle_speed: Option<SpindleSpeed>,
    /// A head that fails, or without `surface` the whole assembly; all keys may be left out.
    pub fail: Option<Failure>,
    /// A zone of a host-managed drive that fails. `{ block = 524288, becomes = "read-only" }`: the one that begins
    /// there; also `"offline"`.
    pub fail_zone: Option<FailedZone>,
    /// Host queue: places; in `legacy` queues at once, in `blk-mq` when all requests have completed.
    pub nr_requests: Option<u32>,
    /// Host queue: most requests below it at once.
    pub depth: Option<u32>,
    /// Host queue: time to the deadline of reads that arrive from now on.
    pub read_expire: Option<Span>,
    /// Host queue with `blk-mq` places: another elevator, once all requests have completed; the number of places is
    /// then the usual one.
    #[param(kind = Kind::Name("elevator"))]
    pub elevator: Option<String>,
    /// Parameters of the elevator.
    #[param(kind = Kind::Parameters("elevator"))]
    pub elevator_parameters: Option<Params>,
    /// Volume: a member that fails or is removed.
    pub member_gone: Option<u32>,
    /// Volume: a missing member that returns; blocks written meanwhile are stale on it.
    pub member_back: Option<u32>,
    /// Volume: a missing member that is replaced by an empty one; all its blocks are stale.
    pub member_replaced: Option<u32>,
    /// Volume: most that is rebuilt of stale data in a second; 0: not at all.
    pub rebuild_rate: Option<Bandwidth>,
    /// Link: bandwidth in each direction, for transfers that begin afterwards.
    pub bandwidth: Option<Bandwidth>,
    /// Throttle: requests per second; 0: no limit.
    pub iops_limit: Option<Frequency>,
    /// Throttle: bytes per second; 0: no limit.
    pub bandwidth_limit: Option<Bandwidth>,
    /// Fault: `{ ratio = 0.01, by = "300 ms", lasts = "1 min" }`: this share of the requests ends so much later, which
    /// ones follows from the layer's `seed`; without `lasts` until the next change.
    pub slow: Option<Slow>,
    /// Fault: `{ lasts = "3 s" }`: nothing is answered for this time.
    pub stuck: Option<Stuck>,
    /// Fault: `{ unit = 0, block = 2048, blocks = 8, fails = "reads" }`: 512-byte blocks whose `reads`, `writes` or
    /// `all` fail; what is written can be read again. `none`: they are good again.
    pub bad: Option<Bad>,
    /// Fault: `true`: requests fail at once; `false`: the device is back with its data.
    pub gone: Option<bool>,
    /// Fault: `{ lasts = "3 s" }`: what arrives waits for this time; what is in the drive goes on.
    pub busy: Option<Busy>,
    /// Fault: blocks whose reads end so much later and are good, until they are written. `{ block = 2048, blocks = 8,
    /// takes = "700 ms" }`; 0 s: they are well again.
    pub weak: Option<Weak>,
    /// Fault: whether a SCSI disk says that it is about to fail; nothing else changes.
    pub predicts_failure: Option<bool>,
}

/// Timer of a low-power condition of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct IdleTimer {
    /// `idle_a`, `idle_b`, `idle_c` or `standby`.
    pub condition: Condition,
    /// Time without work; absent: as the drive's file has it.
    pub after: Option<Span>,
}

/// New speed of all spindles of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct SpindleSpeed {
    /// The new speed.
    pub speed: Rpm,
    /// How long the change takes.
    #[param(default)]
    pub takes: Span,
}

/// A part that fails: a head, or an arm assembly with all of its heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Table)]
pub struct Failure {
    /// Disk stack, from 0.
    #[param(default)]
    pub stack: u32,
    /// Arm assembly of the stack, from 0.
    #[param(default)]
    pub arm: u32,
    /// Surface whose head fails; the whole assembly if absent.
    pub surface: Option<u32>,
    /// The drive is warned: it takes the part out of use before a command needs it.
    #[param(default)]
    pub warning: bool,
}

/// A change that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    at: Span,
    /// What it applies to.
    pub target: Target,
    /// What it sets.
    pub setting: Setting,
    /// Place in the experiment, `system[0].change[2]`, and the key there.
    place: String,
    key: &'static str,
}

impl Planned {
    /// The error of a drive or a layer, with the place of the change in the experiment.
    pub fn located(&self, mut error: SpecError) -> SpecError {
        error.key = match error.key.strip_prefix("instances") {
            Some(which) => format!("{}.instances{which}", self.place),
            None => {
                // A drive reports a failed part as if it were an entry of its `faults`.
                let inside = error.key.split_once("faults[0]");
                let inside = inside.map_or("", |(_, rest)| rest);
                format!("{}.{}{inside}", self.place, self.key)
            }
        };
        error
    }
}

/// Numbers of a system's changes, warm-up included: those applied, and those due only after the last
/// completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Columns)]
#[columns("Changes")]
pub struct ChangeCounts {
    /// Changes applied.
    pub n_done: u64,
    /// Changes not applied.
    pub n_after_end: u64,
}

/// Checks the changes of a system of `count` drives under `layers` and puts them in order of time; `key` is the
/// system's place in the experiment.
///
/// # Errors
/// Times before the first request, drives and layers that do not exist, and entries without exactly one setting.
pub fn plan(changes: &[Change], count: u32, layers: &[LayerSpec], key: &str) -> Result<Vec<Planned>, SpecError> {
    let mut planned = Vec::with_capacity(changes.len());
    for (i, change) in changes.iter().enumerate() {
        let place = format!("{key}.change[{i}]");
        let one = one(change, count, layers, &place);
        planned.push(one.map_err(|e| e.within(&place))?);
    }
    planned.sort_by_key(|p| p.at);
    Ok(planned)
}

fn one(change: &Change, count: u32, layers: &[LayerSpec], place: &str) -> Result<Planned, SpecError> {
    if change.at.0 < 0 {
        return Err(SpecError::new("at", change.at, "0 s or more"));
    }
    let (key, setting) = only(change)?;
    if change.scheduler_parameters.is_some() && key != "scheduler" {
        let need = "scheduler beside them";
        return Err(SpecError::new("scheduler_parameters", key, need));
    }
    if change.elevator_parameters.is_some() && key != "elevator" {
        let need = "elevator beside them";
        return Err(SpecError::new("elevator_parameters", key, need));
    }
    let target = match setting {
        Setting::Drive(_) | Setting::FailPart(_) | Setting::FailZone(_) => drives(change, count, key)?,
        _ => layer(change, layers, key)?,
    };
    Ok(Planned { at: change.at, target, setting, place: place.to_string(), key })
}

/// The one setting of an entry, with its key.
fn only(change: &Change) -> Result<(&'static str, Setting), SpecError> {
    let mut set: Vec<(&str, Setting)> = settings(change).filter_map(|(name, setting)| Some((name, setting?))).collect();
    let names: Vec<&str> = set.iter().map(|(name, _)| *name).collect();
    match set.pop() {
        Some(only) if set.is_empty() => Ok(only),
        _ => {
            let got = match names.is_empty() {
                true => "nothing that changes".to_string(),
                false => names.join(" and "),
            };
            let all: Vec<&str> = settings(change).map(|(name, _)| name).collect();
            let all = all.join(", ");
            Err(SpecError::new("", got, format!("one of {all}")))
        }
    }
}

/// The drives of an entry.
fn drives(change: &Change, count: u32, key: &str) -> Result<Target, SpecError> {
    for (other, given) in [("layer", change.layer.is_some()), ("instances", change.instances.is_some())] {
        if given {
            let need = format!("no such key: drives says which drives change their {key}");
            return Err(SpecError::new(other, "a value", need));
        }
    }
    let drives = numbers("drives", "drive", &change.drives)?;
    for (i, drive) in drives.iter().enumerate() {
        if *drive >= count {
            let need = format!("a drive below {count}");
            return Err(SpecError::new(format!("drives[{i}]"), drive, need));
        }
    }
    Ok(Target::Drives(drives))
}

/// The layers of an entry.
fn layer(change: &Change, layers: &[LayerSpec], key: &str) -> Result<Target, SpecError> {
    if change.drives.is_some() {
        let need = format!("no such key: layer says which layers change their {key}");
        return Err(SpecError::new("drives", "a value", need));
    }
    if layers.is_empty() {
        let need = "a system with layers, or an organisation with redundancy";
        return Err(SpecError::new(key, "a setting of a layer", need));
    }
    let number = layer_number(change.layer.as_ref(), layers)?;
    Ok(Target::Layers {
        level: (layers.len() - number) as u32,
        instances: numbers("instances", "layer", &change.instances)?,
    })
}

/// Index in `layers` of the layer that a number or a name refers to.
fn layer_number(given: Option<&Value>, layers: &[LayerSpec]) -> Result<usize, SpecError> {
    let first = listed_from(layers);
    let choices = || {
        let all = layers.iter().enumerate();
        let choice = |(i, l): (usize, &LayerSpec)| match l.is_organisation {
            true => format!("{:?} (the organisation)", l.name),
            false => format!("{} ({})", i - first, l.name),
        };
        all.map(choice).collect::<Vec<String>>().join(", ")
    };
    let Some(given) = given else {
        let need = format!("one of {}", choices());
        return Err(SpecError::new("layer", "nothing", need));
    };
    let (found, hint) = match given {
        Value::String(name) => {
            let of_name = layers.iter().enumerate().filter(|(_, l)| l.name == *name);
            let found: Vec<usize> = of_name.map(|(i, _)| i).collect();
            if found.len() > 1 {
                let got = format!("{given}, which there is {} times", found.len());
                let need = format!("a number: one of {}", choices());
                return Err(SpecError::new("layer", got, need));
            }
            let names = layers.iter().map(|l| l.name.as_str());
            (found.first().copied(), did_you_mean(name, names))
        }
        number => {
            let number = number.as_u64().and_then(|n| usize::try_from(n).ok());
            let index = number.and_then(|n| n.checked_add(first));
            (index.filter(|i| *i < layers.len()), String::new())
        }
    };
    found.ok_or_else(|| {
        let need = format!("one of {}, by number or name{hint}", choices());
        SpecError::new("layer", given, need)
    })
}

/// A list of numbers; an error if it is given but empty.
fn numbers(key: &str, what: &str, given: &Option<Vec<u32>>) -> Result<Vec<u32>, SpecError> {
    match given {
        Some(list) if list.is_empty() => {
            let need = format!("at least one {what}, or no such key: all");
            Err(SpecError::new(key, "none", need))
        }
        list => Ok(list.clone().unwrap_or_default()),
    }
}

/// A setting that an entry can have, by key.
type Named = (&'static str, Option<Setting>);

/// All settings that an entry can have: those of drives, then those of layers.
fn settings(change: &Change) -> impl Iterator<Item = Named> {
    of_drives(change).into_iter().chain(of_layers(change))
}

/// The settings of drives.
fn of_drives(change: &Change) -> [Named; 10] {
    use headstack_drive::Setting as Of;
    let drive = |setting: Option<Of>| setting.map(Setting::Drive);
    let scheduler = |name: &String| Of::Scheduler {
        name: name.clone(),
        parameters: change.scheduler_parameters.clone().unwrap_or_default(),
    };
    let limits = |l: LimitsSpec| Of::DurationLimits(Box::new(l));
    let speed = |s: SpindleSpeed| Of::SpindleSpeed { speed: s.speed, takes: s.takes };
    let timer = |t: IdleTimer| Of::IdleTimer { condition: t.condition, after: t.after };
    let part = |f: Failure| Part { stack: f.stack, arm: f.arm, surface: f.surface, warning: f.warning };
    [
        ("queue_depth", drive(change.queue_depth.map(Of::QueueDepth))),
        ("scheduler", drive(change.scheduler.as_ref().map(scheduler))),
        ("arms_in_motion", drive(change.arms_in_motion.map(Of::ArmsInMotion))),
        ("duration_limits", drive(change.duration_limits.clone().map(limits))),
        ("heeded_hints", drive(change.heeded_hints.map(Of::HeededHints))),
        ("power_condition", drive(change.power_condition.map(Of::PowerCondition))),
        ("idle_timer", drive(change.idle_timer.map(timer))),
        ("spindle_speed", drive(change.spindle_speed.map(speed))),
        ("fail", change.fail.map(part).map(Setting::FailPart)),
        ("fail_zone", change.fail_zone.map(Setting::FailZone)),
    ]
}

/// The settings of layers.
fn of_layers(change: &Change) -> [Named; 18] {
    let elevator = |name: &String| Setting::Elevator {
        name: name.clone(),
        parameters: change.elevator_parameters.clone().unwrap_or_default(),
    };
    let iops = |rate: Frequency| match rate.0 > 0.0 {
        true => Setting::Rate(RateLimit::Requests(rate)),
        false => Setting::Rate(RateLimit::Unlimited),
    };
    let bytes = |rate: Bandwidth| match rate.0 > 0.0 {
        true => Setting::Rate(RateLimit::Bytes(rate)),
        false => Setting::Rate(RateLimit::Unlimited),
    };
    let rate = |rate: Bandwidth| Setting::RebuildRate(Some(rate).filter(|r| r.0 > 0.0));
    [
        ("nr_requests", change.nr_requests.map(Setting::Requests)),
        ("depth", change.depth.map(Setting::Depth)),
        ("read_expire", change.read_expire.map(Setting::ReadExpire)),
        ("elevator", change.elevator.as_ref().map(elevator)),
        ("member_gone", change.member_gone.map(Setting::MemberGone)),
        ("member_back", change.member_back.map(Setting::MemberBack)),
        ("member_replaced", change.member_replaced.map(Setting::MemberReplaced)),
        ("rebuild_rate", change.rebuild_rate.map(rate)),
        ("bandwidth", change.bandwidth.map(Setting::Bandwidth)),
        ("iops_limit", change.iops_limit.map(iops)),
        ("bandwidth_limit", change.bandwidth_limit.map(bytes)),
        ("slow", change.slow.map(Setting::Slow)),
        ("stuck", change.stuck.map(Some).map(Setting::Stuck)),
        ("bad", change.bad.map(Setting::Bad)),
        ("gone", change.gone.map(Setting::Gone)),
        ("busy", change.busy.map(Setting::Busy)),
        ("weak", change.weak.map(Setting::Weak)),
        ("predicts_failure", change.predicts_failure.map(Setting::PredictsFailure)),
    ]
}
