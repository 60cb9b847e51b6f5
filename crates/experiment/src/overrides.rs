//! Overrides of an experiment: whole tables, single values by dotted key, the seed.

use crate::document::LISTS;
use crate::dotted::{change_value, parse_key};
use headstack_drive::spec::Params;
use headstack_schema::{SpecError, Step, Table};
use serde_json::Value;

/// Overrides of parts of an experiment.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct Overrides {
    /// The table `run`.
    pub run: Option<Params>,
    /// The table `cost`.
    pub cost: Option<Params>,
    /// Single values, by dotted key from the top of the experiment: `system.0.scheduler`, or
    /// `system[0].scheduler` as errors write it. The index may be left out where there is one.
    pub set: Params,
    /// Name of `set` in errors, such as that of a command-line option.
    #[param(default = "set".into())]
    pub set_by: String,
    /// The seed; it replaces one in `run` or `set`.
    pub seed: Option<u64>,
}

impl Overrides {
    /// Changes the document of an experiment before it is read.
    ///
    /// # Errors
    /// A key of `set` that cannot be followed.
    pub(crate) fn apply(&self, document: &mut Value) -> Result<(), SpecError> {
        // Anything but a table is refused when it is read.
        let Value::Object(table) = document else {
            return Ok(());
        };
        for (key, value) in [("run", &self.run), ("cost", &self.cost)] {
            if let Some(value) = value {
                table.insert(key.into(), Value::Object(value.clone()));
            }
        }
        for (key, value) in &self.set {
            let changed = parse_key(key).and_then(|mut steps| {
                lead_into_list(document, &mut steps);
                let joined = join_within_set(&mut steps);
                change_value(document, &steps, value).map_err(|e| e.within(key))?;
                if joined {
                    move_last(document, &steps);
                }
                Ok(())
            });
            changed.map_err(|e| SpecError { key: format!("{} {}", self.set_by, e.key), ..e })?;
        }
        if let (Some(seed), Some(table)) = (self.seed, document.as_object_mut()) {
            let run = table.entry("run").or_insert(Value::Object(Params::new()));
            if let Some(run) = run.as_object_mut() {
                run.insert("seed".into(), seed.into());
            }
        }
        Ok(())
    }

    /// An error of the changed experiment, with the keys of `set` that may have caused it.
    pub(crate) fn named(&self, e: SpecError) -> SpecError {
        let keys: Vec<&str> = self.set.keys().filter(|key| concerns(key, &e)).map(String::as_str).collect();
        if keys.is_empty() {
            return e;
        }
        let place = format!("{} {}", self.set_by, keys.join(", "));
        e.in_file(place)
    }
}

/// The name of a list in the document, which may be its other name.
fn list_of(document: &Value, name: &str) -> Option<&'static str> {
    let names = LISTS.iter().find(|names| names.contains(&name))?;
    names.iter().copied().find(|n| document.get(*n).is_some())
}

/// Adapts the steps to the document: `workload.trace` and `workload.0.trace` both lead to the only workload,
/// whether it is a table or in a list.
fn lead_into_list(document: &mut Value, steps: &mut Vec<Step>) {
    let Some(Step::Key(name)) = steps.first() else {
        return;
    };
    let Some(found) = list_of(document, name) else {
        return;
    };
    let by_index = steps.get(1).is_some_and(|s| s.index().is_some());
    let entry = &mut document[found];
    match entry.as_array().map(Vec::len) {
        None if by_index && entry.is_object() => *entry = Value::Array(vec![entry.take()]),
        Some(1) if !by_index && steps.len() > 1 => steps.insert(1, Step::Index(0)),
        _ => {}
    }
    steps[0] = Step::Key(found.into());
}

/// Joins the steps within a `set` table, whose values stand under dotted keys; returns whether there are any.
fn join_within_set(steps: &mut Vec<Step>) -> bool {
    let is = |place: usize, name: &str| matches!(steps.get(place), Some(Step::Key(k)) if k == name);
    let place = if is(2, "drives") { 4 } else { 2 };
    if !is(0, "system") && !is(0, "systems") || !is(place, "set") || steps.len() == place + 1 {
        return false;
    }
    let rest = steps.split_off(place + 1);
    steps.push(Step::Key(joined(&rest)));
    true
}

/// The dotted key of `steps`, indices in brackets.
fn joined(steps: &[Step]) -> String {
    let mut joined = String::new();
    for step in steps {
        match (step.index(), step) {
            (None, Step::Key(key)) if joined.is_empty() => joined += key,
            (None, Step::Key(key)) => joined += &format!(".{key}"),
            (index, _) => joined += &format!("[{}]", index.unwrap_or_default()),
        }
    }
    joined
}

/// Moves an entry of a `set` table to its end, because of two keys for one value the last one counts.
fn move_last(document: &mut Value, steps: &[Step]) {
    let [above @ .., Step::Key(key)] = steps else {
        return;
    };
    let table = above.iter().try_fold(document, |value, step| match step {
        Step::Key(key) if value.is_object() => value.get_mut(key),
        step => value.get_mut(step.index()?),
    });
    let Some(table) = table.and_then(Value::as_object_mut) else {
        return;
    };
    if let Some(value) = table.shift_remove(key) {
        table.insert(key.clone(), value);
    }
}

/// Whether the value at `key` may cause the error.
fn concerns(key: &str, e: &SpecError) -> bool {
    let head = |key: &str| -> Option<(String, Option<usize>)> {
        let steps = parse_key(key).ok()?;
        let (Step::Key(first), second) = (steps.first()?, steps.get(1)) else {
            return None;
        };
        let names = LISTS.iter().find(|names| names.contains(&first.as_str()));
        let name = names.map_or(first.as_str(), |names| names[0]);
        Some((name.to_string(), second.and_then(Step::index)))
    };
    let Some((name, index)) = head(key) else {
        return false;
    };
    match head(&e.key) {
        // An unknown key is an error of the whole experiment.
        Some((place, _)) if place == "experiment" => e.got.contains(&name),
        Some((place, at)) => place == name && (at.is_none() || index.is_none() || at == index),
        None => false,
    }
}
