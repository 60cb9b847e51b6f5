//! Keys of an experiment that have no effect beside others.

use super::Ended;
use crate::experiment::{System, Workload};
use headstack_block::organisation::DeviceSizes;
use headstack_drive::spec::Params;
use headstack_engine::{Check, Warning};
use headstack_trace::Arrivals;
use serde_json::Value;

pub const CHECK: Check = Check {
    name: "unused-key",
    summary: "a key of the experiment has no effect, because of another one",
    way_out: "remove the key, or the one that replaces it",
};

/// One for each key that is not used: its place and why.
pub fn find(run: &Ended, tell: &mut dyn FnMut(Warning)) {
    let experiment = run.experiment;
    for (i, workload) in experiment.workload.iter().enumerate() {
        // The table as it was written: a value equal to the default was still given.
        let given = experiment.document["workload"][i].as_object();
        let mut say = |key: &str, why: &str| {
            let text = format!("workload[{i}].{key} is not used: {why}");
            tell(CHECK.warn(text).on(&workload.name));
        };
        if let Some(given) = given {
            of_workload(given, workload, &mut say);
        }
        let needs_sizes = |s: &System| {
            let entry = run.inputs.organisations.get(&s.organisation.name);
            entry.is_some_and(|entry| entry.facts == DeviceSizes::Needed)
        };
        if workload.device_blocks.is_some() && !experiment.system.iter().any(needs_sizes) {
            say("device_blocks", "no organisation asks for the sizes of devices");
        }
    }
    for (i, system) in experiment.system.iter().enumerate() {
        of_system(system, &mut |key, why| {
            let text = format!("system[{i}].{key} is not used: {why}");
            tell(CHECK.warn(text).of_system(&system.name));
        });
    }
}

fn of_workload(given: &Params, workload: &Workload, tell: &mut dyn FnMut(&str, &str)) {
    let mut all = |table: &Params, inside: &str, keys: &[&str], why: &str| {
        for key in keys.iter().filter(|key| says(table, key)) {
            tell(&format!("{inside}{key}"), why);
        }
    };
    let closed = matches!(workload.arrivals, Some(Arrivals::Closed(_)));
    let timed = ["time_scale", "start_at_zero"];
    let Some(synthetic) = &workload.synthetic else {
        if closed {
            let why = "in a closed loop times are those of the loop";
            all(given, "", &timed, why);
        }
        return;
    };
    let why = "only a trace is read";
    all(given, "", &["format", "on_error", "order"], why);
    let own_loop = synthetic.get("arrivals").and_then(Value::as_str) == Some("closed");
    let gaps = ["rate", "interarrival", "sequential_interarrival", "local_interarrival"];
    let inside = "synthetic.";
    if closed || own_loop {
        let why = "arrivals are closed: each completion brings the next request";
        all(given, "", &timed, why);
        all(synthetic, inside, &gaps, why);
    }
    if closed {
        all(synthetic, inside, &["arrivals"], "the workload's arrivals are closed");
    } else if synthetic.contains_key("interarrival") && !own_loop {
        let why = "interarrival says all about the gaps";
        all(synthetic, inside, &["arrivals"], why);
    }
    if !own_loop {
        let why = "arrivals are not \"closed\" in this table";
        all(synthetic, inside, &["outstanding", "think"], why);
    }
    let phases = synthetic.get("phases").and_then(Value::as_array);
    let ever = |key: &str, least: f64, otherwise: f64| {
        let in_phases = phases.into_iter().flatten();
        let tables = in_phases.filter_map(Value::as_object).chain([synthetic]);
        let number = |table: &Params| table.get(key).map_or(otherwise, |v| v.as_f64().unwrap_or(1.0));
        tables.map(number).any(|value| value > least)
    };
    if !ever("local", 0.0, 0.0) {
        let keys = ["local_distance", "local_interarrival"];
        all(synthetic, inside, &keys, "no request is local");
    }
    if !ever("sequential", 0.0, 0.0) {
        let keys = ["sequential_interarrival"];
        all(synthetic, inside, &keys, "no request is sequential");
    }
}

fn of_system(system: &System, tell: &mut dyn FnMut(&str, &str)) {
    for key in system.ignored_settings() {
        tell(key, "each entry of drives has one of its own");
    }
    let given = system.common.settings.given();
    // `set` is applied after the other keys.
    let in_set = |table: &str, key: &str| {
        let dotted = format!("{table}.{key}");
        let nested = system.common.set.get(table).and_then(|table| table.get(key));
        system.common.set.contains_key(&dotted) || nested.is_some()
    };
    for (key, inside) in [("scheduler", "scheduler"), ("queue_depth", "depth")] {
        if given.contains_key(key) && in_set("queue", inside) {
            tell(key, &format!("set changes queue.{inside} after it"));
        }
    }
}

/// Whether a table has a value other than null and `false` at this key.
fn says(table: &Params, key: &str) -> bool {
    let value = table.get(key);
    value.is_some_and(|v| !v.is_null() && *v != Value::Bool(false))
}
