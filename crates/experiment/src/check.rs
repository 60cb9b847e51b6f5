//! Checks experiments and drive files without running them.
//!
//! What a run checks before its first request is checked here: every key and value, names of models, drive files,
//! layers, changes, and whether traces can be opened. Nothing is simulated and no trace is read to its end.

use crate::document::{has_lists, located, read_text, toml_value, TOML};
use crate::expected::ExpectedRequests;
use crate::experiment::Experiment;
use crate::inputs::Inputs;
use crate::overrides::Overrides;
use crate::run::{as_it_is, known_names, placed, Job, RunError, RunOptions};
use headstack_block::layer::tree::LayerSpec;
use headstack_drive::cost::{self, Parts};
use headstack_drive::{DriveDesign, DriveSpec};
use headstack_schema::SpecError;
use headstack_trace::transform::Concatenate;
use serde_json::Value;
use std::path::Path;

/// What is wrong with a TOML file: an experiment, or the description of a drive. Empty if nothing is.
pub fn check_file(file: &Path, inputs: &Inputs) -> Vec<RunError> {
    let text = match read_text(file, TOML) {
        Ok(text) => text,
        Err(e) => return vec![e.into()],
    };
    let document = match toml_value(&text, file) {
        Ok(document) => document,
        Err(e) => return vec![e.into()],
    };
    if is_drive(&document) {
        let checked = check_drive(document, inputs);
        let wrong = checked.map_err(|e| located(e, file, Some(&text)).into());
        return wrong.err().into_iter().collect();
    }
    match Experiment::from_text(&text, file, &Overrides::default()) {
        Ok(experiment) => check_experiment(&experiment, inputs),
        Err(e) => vec![e.into()],
    }
}

/// Whether a document describes a drive, and not an experiment.
fn is_drive(document: &Value) -> bool {
    let has = |key: &str| document.get(key).is_some();
    !has_lists(document) && (has("geometry") || has("seek"))
}

/// Checks the description of a drive.
///
/// # Errors
/// The first value that cannot be used, by its dotted key.
fn check_drive(document: Value, inputs: &Inputs) -> Result<(), SpecError> {
    let spec = DriveSpec::from_value(document, &inputs.models)?;
    DriveDesign::new(&spec, &inputs.models)?;
    cost::build(&spec.cost, &Parts::of(&spec)?, &inputs.models.cost).map(drop)
}

/// What is wrong with an experiment that was read: the first error of each system and of each workload.
pub fn check_experiment(experiment: &Experiment, inputs: &Inputs) -> Vec<RunError> {
    let options = RunOptions::default();
    let (systems, workloads) = (experiment.system.len(), experiment.workload.len());
    let expected = ExpectedRequests::new(&options.progress, systems, workloads, None);
    let job = |s, w| Job::new((experiment, inputs), &options, &expected, (s, w));
    let of_systems = (0..systems).map(|s| {
        known_names(experiment, inputs, s)?;
        organisation(experiment, inputs, s).map_err(|e| e.within(&format!("system[{s}]")))?;
        job(s, 0).drives(&as_it_is).map(drop)
    });
    let of_workloads = (0..workloads).map(|w| opens(&job(0, w), inputs));
    let all = of_systems.chain(of_workloads).filter_map(Result::err);
    all.map(|e| placed(experiment, e)).collect()
}

/// Reads the parameters of a system's organisation.
fn organisation(experiment: &Experiment, inputs: &Inputs, s: usize) -> Result<(), SpecError> {
    let LayerSpec { name, params, .. } = &experiment.system[s].organisation;
    let read = inputs.organisations.find("organisation", name)?.effective(params).map(drop);
    read.map_err(|e| e.within("organisation"))
}

/// Opens a workload at its start.
fn opens(job: &Job, inputs: &Inputs) -> Result<(), RunError> {
    let mut open = job.open_workload();
    let mut workload = open.workload.clone();
    // Measuring would read the whole trace.
    if matches!(workload.transform.concatenate, Some(Concatenate::Measured(_))) {
        workload.transform.concatenate = None;
    }
    open.workload = &workload;
    (inputs.open)(&open).map(drop)
}
