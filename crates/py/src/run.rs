//! Running experiments on threads of their own, while Python's thread watches for Ctrl-C.

use crate::drive::import_system;
use crate::errors;
use crate::registries;
use crate::wait::{no_result, no_thread, wait};
use headstack_array::{
    read_toml as read, run as simulate, Experiment, Inputs, Overrides, RunOptions,
};
use headstack_disksim::Sources;
use headstack_engine::Progress;
use headstack_schema::{read as read_value, SpecError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread::{scope, Builder};

/// The document of a TOML file.
#[pyfunction]
pub fn read_toml(path: PathBuf) -> PyResult<String> {
    let document = read(&path).map_err(errors::config)?;
    serde_json::to_string(&document).map_err(errors::json)
}

/// Where files may lie that DiskSim's files name.
pub fn sources(anywhere: bool) -> Sources {
    match anywhere {
        true => Sources::Anywhere,
        false => Sources::Inside,
    }
}

/// Reads a TOML file, DiskSim's parameters, the text of a TOML file, or the tables of one as JSON.
fn opened(
    file: Option<&Path>,
    text: Option<&str>,
    overrides_json: &str,
    sources: Sources,
) -> PyResult<Experiment> {
    let json = |text| {
        serde_json::from_str::<Value>(text)
            .map_err(|e| SpecError::new("experiment", e, "what JSON can write"))
    };
    let read = |overrides_json| read_value::<Overrides>(&json(overrides_json)?);
    let overrides = read(overrides_json).map_err(errors::config)?;
    let experiment = match (file, text) {
        (Some(file), None) if file.extension() == Some("parv".as_ref()) => {
            let document = import_system(file, None, sources)?.document;
            Experiment::of_document(document, file, &overrides)
        }
        (Some(file), None) => Experiment::open(file, &overrides),
        (Some(file), Some(text)) => Experiment::from_text(text, file, &overrides),
        (None, text) => json(text.unwrap_or("null"))
            .and_then(|tables| Experiment::changed(tables, None, &overrides)),
    };
    experiment.map_err(errors::config)
}

/// Runs an experiment; Ctrl-C ends it with what it has.
#[pyfunction]
#[pyo3(signature = (
    file, text, overrides_json, drive_dirs, threads, out_dir, log_requests, progress,
    sources_anywhere=false, places=BTreeMap::new()
))]
#[allow(clippy::too_many_arguments)]
pub fn run(
    py: Python<'_>,
    file: Option<PathBuf>,
    text: Option<&str>,
    overrides_json: &str,
    drive_dirs: Vec<PathBuf>,
    threads: Option<usize>,
    out_dir: Option<PathBuf>,
    log_requests: bool,
    progress: Option<Py<PyAny>>,
    sources_anywhere: bool,
    places: BTreeMap<String, PathBuf>,
) -> PyResult<String> {
    let mut experiment = opened(
        file.as_deref(),
        text,
        overrides_json,
        sources(sources_anywhere),
    )?;
    experiment.places = places;
    let watch = Progress::new();
    let options = RunOptions {
        threads,
        out_dir,
        log_requests,
        progress: watch.clone(),
    };
    let other_drive = |path: &str| {
        crate::drive::import(Path::new(path), sources(sources_anywhere))
            .map(|import| import.spec)
            .map_err(|e| Python::attach(|py| e.value(py).to_string()))
    };
    let inputs = Inputs {
        other_drive: &other_drive,
        ..registries::inputs(drive_dirs)
    };
    let mut failed = None;
    let result = scope(|scope| {
        let (done, result) = channel();
        let (experiment, inputs, options) = (&experiment, &inputs, &options);
        let work = move || {
            // The receiver only goes away with this scope.
            let _ = done.send(simulate(experiment, inputs, options));
        };
        Builder::new()
            .spawn_scoped(scope, work)
            .map_err(no_thread)?;
        wait(py, result, || {
            if failed.is_some() {
                return Ok(());
            }
            let told = progress.as_ref().map_or(Ok(()), |p| {
                p.call1(py, (watch.done(), watch.total())).map(drop)
            });
            if let Err(e) = py.check_signals().and(told) {
                watch.cancel();
                failed = Some(e);
            }
            // The run ends by itself, with what it has.
            Ok(())
        })
    })?;
    if let Some(e) = failed.filter(|e| !e.is_instance_of::<PyKeyboardInterrupt>(py)) {
        return Err(e);
    }
    let result = result.ok_or_else(no_result)?.map_err(errors::run)?;
    result.to_json().map_err(errors::json)
}
