//! A drive's description with all that it leaves out: every table, and every parameter of its models.
//!
//! What a model is built with is more than what a file says. Here the rest is filled in with the values that
//! are taken, and named.

use crate::spec::DriveSpec;
use crate::{power, Models};
use headstack_schema::{Columns, Parameter, Params};
use serde::Serialize;
use serde_json::Value;

/// Parts of a description that a file should have; without them the drive is simulated all the same.
const PARTS: [&str; 7] = ["positioning", "cache", "overhead", "link", "queue", "power", "cost"];

/// What was said of a drive, and what was taken where nothing was said.
#[derive(Debug, Clone, PartialEq, Serialize, Columns)]
pub struct Described {
    /// The parts (`power`, `cache`, ...) of which nothing was given; their values in the description are defaults.
    pub missing: Vec<&'static str>,
    /// Dotted keys of the values in the description that nobody gave: `power.voice_coil`. Entries of lists, such as zones,
    /// are not looked into.
    pub defaults: Vec<String>,
    /// What decides the drive's numbers and was not given.
    pub unsaid: Vec<Unsaid>,
    /// The whole description, in the form of a drive's file.
    pub description: Value,
}

/// A part of a description, or one of its values, that decides about results and was not given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Columns)]
pub struct Unsaid {
    /// `cache`, `queue` or `power`.
    pub part: &'static str,
    /// Dotted key of the value; `null`: nothing was given of the part.
    pub key: Option<String>,
    /// What is taken, in words.
    pub taken: String,
}

impl std::fmt::Display for Unsaid {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let what = self.key.as_deref().unwrap_or(self.part);
        write!(f, "{what} (taken: {})", self.taken)
    }
}

/// The parts that decide, what is taken without them, and their values that decide.
const DECIDING: [(&str, &str, &[&str]); 3] = [
    ("cache", "no buffer", &["enabled"]),
    ("queue", "order of arrival", &["scheduler", "depth"]),
    ("power", "that of a default model", &["spindle", "electronics", "voice_coil", "access"]),
];

/// What decides and is among the parts `missing` or the values `defaults`.
fn unsaid(description: &Value, missing: &[&str], defaults: &[String]) -> Vec<Unsaid> {
    let is_default = |key: &str| defaults.iter().any(|d| d == key);
    let mut found = Vec::new();
    for (part, without, names) in DECIDING {
        if missing.contains(&part) {
            found.push(Unsaid { part, key: None, taken: without.into() });
            continue;
        }
        // The name of a profile gives its watts.
        if part == "power" && !is_default("power.profile") {
            continue;
        }
        for name in names {
            let key = format!("{part}.{name}");
            if is_default(&key) {
                let taken = in_words(&description[part][name]);
                let key = Some(key);
                found.push(Unsaid { part, key, taken });
            }
        }
    }
    found
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

impl DriveSpec {
    /// The same drive with every parameter of its models (seek, layout, roles, scheduler, power, cost) that the
    /// description leaves out; `models` are those that it can name.
    pub fn with_all_parameters(&self, models: &Models) -> DriveSpec {
        let named = |table: &Params| {
            let name = table.get("model").and_then(Value::as_str);
            name.unwrap_or_default().to_string()
        };
        let mut spec = self.clone();
        spec.seek = models.seek.filled(&named(&self.seek), &self.seek);
        spec.cost = models.cost.filled(&named(&self.cost), &self.cost);
        spec.power = power::filled(&self.power, &models.power);
        spec.geometry.layout_parameters =
            models.layouts.filled(&self.geometry.layout, &self.geometry.layout_parameters);
        spec.parallelism.roles = spec.parallelism.roles.filled(&models.roles);
        let queue = &mut spec.queue;
        let parameters = &queue.scheduler_parameters;
        queue.scheduler_parameters = models.schedulers.filled(&queue.scheduler, parameters);
        spec
    }

    /// The whole description, and which of its values are not in `given`: what the drive's file, or its table
    /// in an experiment, says.
    pub fn described(&self, given: &Value, models: &Models) -> Described {
        let description = self.with_all_parameters(models).write();
        let mut defaults = Vec::new();
        left_out(&description, Some(given), "", &mut defaults);
        defaults.sort();
        let missing = missing(given);
        Described { unsaid: unsaid(&description, &missing, &defaults), description, defaults, missing }
    }
}

/// Collects the dotted keys of the values that are not in `given`.
fn left_out(all: &Value, given: Option<&Value>, key: &str, found: &mut Vec<String>) {
    let Value::Object(table) = all else {
        if given.is_none_or(Value::is_null) && !all.is_null() {
            found.push(key.to_string());
        }
        return;
    };
    for (name, value) in table {
        let key = match key {
            "" => name.clone(),
            key => format!("{key}.{name}"),
        };
        left_out(value, given.and_then(|g| g.get(name)), &key, found);
    }
}

/// Parts of which nothing was given.
fn missing(given: &Value) -> Vec<&'static str> {
    let says = |part: &&&str| match given.get(**part).and_then(Value::as_object) {
        // The name of the default model says nothing yet.
        Some(table) if **part == "power" => !table.keys().all(|k| k == "model"),
        Some(table) => table.values().any(says_something),
        None => false,
    };
    PARTS.iter().filter(|part| !says(part)).copied().collect()
}

/// Whether a value is one, or a table with one.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Object(table) => table.values().any(says_something),
        value => !value.is_null(),
    }
}
