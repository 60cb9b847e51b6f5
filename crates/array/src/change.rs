//! Changes of a system while it runs: when, of which drives, and what.
//!
//! # Model
//! Times count from the arrival of the first request. A change comes before a request that arrives at the same
//! time; changes at the same time come in the order of the experiment. When a drive does what it is asked, and
//! what becomes of commands that it has, stands at [`Setting`] and [`Drive::set`](headstack_drive::Drive::set).

use crate::host::Host;
use crate::member::Member;
use headstack_drive::power::conditions::Condition;
use headstack_drive::spec::Params;
use headstack_drive::{Part, Setting};
use headstack_engine::SpecError;
use headstack_units::{Rpm, Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// One entry of `[[system.change]]`: a time, the drives, and one thing that changes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// After the arrival of the first request. 0 or more.
    pub at: Span,
    /// Which drives, from 0; all if absent.
    pub drives: Option<Vec<u32>>,
    /// Commands that each drive holds at once; 0: all.
    pub queue_depth: Option<u32>,
    /// The order in which commands are taken.
    pub scheduler: Option<String>,
    /// Parameters of that scheduler.
    pub scheduler_parameters: Option<Params>,
    /// Commands in service at once.
    pub arms_in_motion: Option<u32>,
    /// `active`, `idle_a`, `idle_b`, `idle_c` or `standby`.
    pub power_condition: Option<Condition>,
    /// Another speed of the spindles.
    pub spindle_speed: Option<SpindleSpeed>,
    /// A part that fails.
    pub fail: Option<Failure>,
}

/// Another speed of all spindles of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpindleSpeed {
    /// The new speed.
    pub speed: Rpm,
    /// How long the change takes.
    #[serde(default)]
    pub takes: Span,
}

/// A part that fails: a head, or an arm assembly with all of its heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Disk stack, from 0.
    #[serde(default)]
    pub stack: u32,
    /// Arm assembly of the stack, from 0.
    #[serde(default)]
    pub arm: u32,
    /// Surface whose head fails; the whole assembly if absent.
    pub surface: Option<u32>,
    /// The drive is warned: it takes the part out of use before a command meets it.
    #[serde(default)]
    pub warning: bool,
}

/// What happens to a drive.
#[derive(Debug, Clone, PartialEq)]
enum Action {
    Set(Setting),
    Fail(Part),
}

impl Action {
    fn apply(&self, now: Time, member: &mut impl Member) -> Result<(), SpecError> {
        match self {
            Action::Set(setting) => member.set(now, setting.clone()),
            Action::Fail(part) => member.fail(now, *part),
        }
    }
}

/// A change that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    at: Span,
    /// All if empty.
    drives: Vec<u32>,
    action: Action,
    /// Where the experiment says it: `system[0].change[2].queue_depth`.
    key: String,
}

impl Planned {
    fn concerns(&self, drive: u32) -> bool {
        self.drives.is_empty() || self.drives.contains(&drive)
    }

    /// What a drive says, at the place in the experiment.
    fn located(&self, mut error: SpecError) -> SpecError {
        // A part is named by the fault that it would be in a description.
        let inside = error
            .key
            .split_once("faults[0]")
            .map_or("", |(_, rest)| rest);
        error.key = format!("{}{inside}", self.key);
        error
    }
}

/// How many of a system's changes came, warm-up included, and how many were due after the last
/// completion and thus never came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ChangeCounts {
    /// Those that came.
    pub n_done: u64,
    /// The rest.
    pub n_after_end: u64,
}

/// Checks the changes of a system of `count` drives and puts them in order of time; `key` is the
/// system's place in the experiment.
///
/// # Errors
/// Times before the first request, drives that there are not, and entries that do not change one thing.
pub fn plan(changes: &[Change], count: u32, key: &str) -> Result<Vec<Planned>, SpecError> {
    let mut planned = Vec::with_capacity(changes.len());
    for (i, change) in changes.iter().enumerate() {
        let key = format!("{key}.change[{i}]");
        planned.push(one(change, count, &key).map_err(|e| e.within(&key))?);
    }
    planned.sort_by_key(|p| p.at);
    Ok(planned)
}

fn one(change: &Change, count: u32, key: &str) -> Result<Planned, SpecError> {
    if change.at.0 < 0 {
        return Err(SpecError::new("at", change.at, "0 s or more"));
    }
    let drives = change.drives.clone().unwrap_or_default();
    if change.drives.is_some() && drives.is_empty() {
        return Err(SpecError::new(
            "drives",
            "none",
            "at least one drive, or no such key: all",
        ));
    }
    for (i, drive) in drives.iter().enumerate() {
        if *drive >= count {
            let need = format!("a drive below {count}");
            return Err(SpecError::new(format!("drives[{i}]"), drive, need));
        }
    }
    let mut actions = actions(change);
    let names: Vec<&str> = actions.iter().map(|(name, _)| *name).collect();
    let Some((name, action)) = actions.pop().filter(|_| names.len() == 1) else {
        let got = match names.is_empty() {
            true => "nothing that changes".to_string(),
            false => names.join(" and "),
        };
        let need =
            "one of queue_depth, scheduler, arms_in_motion, power_condition, spindle_speed, fail";
        return Err(SpecError::new("", got, need));
    };
    if change.scheduler_parameters.is_some() && name != "scheduler" {
        return Err(SpecError::new(
            "scheduler_parameters",
            name,
            "scheduler beside them",
        ));
    }
    Ok(Planned {
        at: change.at,
        drives,
        action,
        key: format!("{key}.{name}"),
    })
}

/// All that an entry changes, by key.
fn actions(change: &Change) -> Vec<(&'static str, Action)> {
    let parameters = change.scheduler_parameters.clone().unwrap_or_default();
    let settings = [
        ("queue_depth", change.queue_depth.map(Setting::QueueDepth)),
        (
            "scheduler",
            change
                .scheduler
                .clone()
                .map(|name| Setting::Scheduler { name, parameters }),
        ),
        (
            "arms_in_motion",
            change.arms_in_motion.map(Setting::ArmsInMotion),
        ),
        (
            "power_condition",
            change.power_condition.map(Setting::PowerCondition),
        ),
        (
            "spindle_speed",
            change.spindle_speed.map(|s| Setting::SpindleSpeed {
                speed: s.speed,
                takes: s.takes,
            }),
        ),
    ];
    let part = change.fail.map(|f| Part {
        stack: f.stack,
        arm: f.arm,
        surface: f.surface,
        warning: f.warning,
    });
    settings
        .into_iter()
        .filter_map(|(name, setting)| Some((name, Action::Set(setting?))))
        .chain(part.map(|p| ("fail", Action::Fail(p))))
        .collect()
}

/// Lets drives without work go through the changes of theirs, so that what a drive refuses is known before a run
/// begins; `make` makes drive number `i`. Drives with the same changes refuse the same.
///
/// # Errors
/// What a drive cannot be set to, and parts that it does not have, at the change's place.
pub fn try_out<M: Member>(
    changes: &[Planned],
    count: u32,
    make: impl Fn(u32) -> Result<M, SpecError>,
) -> Result<(), SpecError> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut tried: BTreeSet<Vec<usize>> = BTreeSet::new();
    for drive in 0..count {
        let all = changes.iter().enumerate();
        let own: Vec<usize> = all
            .filter(|(_, c)| c.concerns(drive))
            .map(|(i, _)| i)
            .collect();
        if own.is_empty() || !tried.insert(own.clone()) {
            continue;
        }
        let mut member = make(drive)?;
        for i in own {
            let now = Time::ZERO + changes[i].at;
            member.advance(now, &mut |_| {});
            let change = &changes[i];
            let applied = change.action.apply(now, &mut member);
            applied.map_err(|e| change.located(e))?;
        }
    }
    Ok(())
}

/// The changes of a run, and which of them is next.
pub(crate) struct Schedule<'a> {
    changes: &'a [Planned],
    first: Option<Time>,
    pub n_done: usize,
    /// When the next one is due; [`Time::NEVER`] before the first request and after the last change.
    pub due: Time,
}

impl<'a> Schedule<'a> {
    pub fn new(changes: &'a [Planned]) -> Schedule<'a> {
        Schedule {
            changes,
            first: None,
            n_done: 0,
            due: Time::NEVER,
        }
    }

    /// The first request arrives at `first`; said again it changes nothing.
    pub fn begin(&mut self, first: Time) {
        self.first.get_or_insert(first);
        self.look_ahead();
    }

    fn look_ahead(&mut self) {
        let next = self.first.zip(self.changes.get(self.n_done));
        self.due = next.map_or(Time::NEVER, |(first, change)| first + change.at);
    }

    /// The next change happens, at the time it is due.
    ///
    /// # Errors
    /// What a drive refuses, at the change's place.
    pub fn happen<M: Member>(
        &mut self,
        members: &mut [M],
        host: &mut Host,
    ) -> Result<(), SpecError> {
        let Some(change) = self.changes.get(self.n_done) else {
            return Ok(());
        };
        let now = self.due;
        for (i, member) in members.iter_mut().enumerate() {
            if change.concerns(i as u32) {
                member.advance(now, &mut |c| host.part_done(i, c));
                let applied = change.action.apply(now, member);
                applied.map_err(|e| change.located(e))?;
            }
        }
        self.n_done += 1;
        self.look_ahead();
        Ok(())
    }

    /// How many came, where there are any.
    pub fn counts(&self) -> Option<ChangeCounts> {
        let n_done = self.n_done as u64;
        (!self.changes.is_empty()).then(|| ChangeCounts {
            n_done,
            n_after_end: self.changes.len() as u64 - n_done,
        })
    }
}
