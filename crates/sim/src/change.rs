//! Changes of a system while it runs: the time, the drives or layers concerned, and the setting.
//!
//! # Model
//! Times count from the arrival of the first request. A change is applied before a request that arrives at the
//! same time; simultaneous changes are applied in the order of the experiment.
//! [`Drive::set`](headstack_drive::Drive::set) states when a drive applies a change and what happens to its
//! commands; each layer's file states it for the layer.

mod schedule;

use headstack_block::layer::tree::listed_from;
use headstack_block::layer::{LayerSpec, Setting};
use headstack_schema::{did_you_mean, Columns, OneOf, SpecError, Table};
use headstack_units::Span;
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
    /// What changes.
    #[param(flatten)]
    pub setting: Setting,
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
    let setting = change.setting.clone();
    let key = setting.name();
    let target = match &setting {
        Setting::Drive(_) | Setting::Failure(_) => drives(change, count, key)?,
        _ => layer(change, layers, key)?,
    };
    Ok(Planned { at: change.at, target, setting, place: place.to_string(), key })
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
