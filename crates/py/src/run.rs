//! Running experiments on threads of their own, while Python's thread watches for Ctrl-C.

use crate::drive::import_system;
use crate::errors;
use crate::wait::{no_result, no_thread, wait};
use headstack_disksim::Sources;
use headstack_drive::DriveSpec;
use headstack_engine::Progress;
use headstack_experiment::window::{record, Window};
use headstack_experiment::{read_toml as read, run as simulate, Experiment, Inputs, Overrides, RunError, RunOptions};
use headstack_schema::{read as read_value, SpecError};
use headstack_units::Time;
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
fn opened(file: Option<&Path>, text: Option<&str>, overrides_json: &str, sources: Sources) -> PyResult<Experiment> {
    let json =
        |text| serde_json::from_str::<Value>(text).map_err(|e| SpecError::new("experiment", e, "what JSON can write"));
    let read = |overrides_json| read_value::<Overrides>(&json(overrides_json)?);
    let overrides = read(overrides_json).map_err(errors::config)?;
    let experiment = match (file, text) {
        (Some(file), None) if file.extension() == Some("parv".as_ref()) => {
            let document = import_system(file, None, sources)?.document;
            Experiment::of_document(document, file, &overrides)
        }
        (Some(file), None) => Experiment::open(file, &overrides),
        (Some(file), Some(text)) => Experiment::from_text(text, file, &overrides),
        (None, text) => json(text.unwrap_or("null")).and_then(|tables| Experiment::changed(tables, None, &overrides)),
    };
    experiment.map_err(errors::config)
}

/// Reads drive files that are not TOML.
fn other_drive(sources_anywhere: bool) -> impl Fn(&str) -> Result<DriveSpec, String> + Sync {
    move |path| {
        crate::drive::import(Path::new(path), sources(sources_anywhere))
            .map(|import| import.spec)
            .map_err(|e| Python::attach(|py| e.value(py).to_string()))
    }
}

/// Does work in a thread of its own, while this one reports its progress and watches for Ctrl-C, which ends the work
/// with what it has.
fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    watch: &Progress,
    work: impl FnOnce() -> Result<T, Box<RunError>> + Send,
) -> PyResult<T> {
    let mut failed = None;
    let result = scope(|scope| {
        let (done, result) = channel();
        let work = move || {
            // The receiver only goes away with this scope.
            let _ = done.send(work());
        };
        Builder::new().spawn_scoped(scope, work).map_err(no_thread)?;
        wait(py, result, || {
            if failed.is_some() {
                return Ok(());
            }
            let told = progress.map_or(Ok(()), |p| p.call1(py, (watch.done(), watch.total())).map(drop));
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
    result.ok_or_else(no_result)?.map_err(|e| errors::run(*e))
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
    let mut experiment = opened(file.as_deref(), text, overrides_json, sources(sources_anywhere))?;
    experiment.places = places;
    let options = RunOptions { threads, out_dir, log_requests, progress: Progress::new() };
    let other_drive = other_drive(sources_anywhere);
    let inputs = Inputs { other_drive: &other_drive, ..Inputs::new(drive_dirs) };
    let result = watched(py, progress.as_ref(), &options.progress, || {
        simulate(&experiment, &inputs, &options).map_err(Box::new)
    })?;
    result.to_json().map_err(errors::json)
}

/// Records what the drives of a system do in a window of a run. Ctrl-C is an error.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn record_window(
    py: Python<'_>,
    file: Option<PathBuf>,
    text: Option<&str>,
    drive_dirs: Vec<PathBuf>,
    progress: Option<Py<PyAny>>,
    sources_anywhere: bool,
    places: BTreeMap<String, PathBuf>,
    job: (usize, usize),
    window_ns: (u64, u64),
) -> PyResult<String> {
    let mut experiment = opened(file.as_deref(), text, "{}", sources(sources_anywhere))?;
    experiment.places = places;
    let window = Window { system: job.0, workload: job.1, from: Time(window_ns.0), until: Time(window_ns.1) };
    let options = RunOptions { progress: Progress::new(), ..RunOptions::default() };
    let other_drive = other_drive(sources_anywhere);
    let inputs = Inputs { other_drive: &other_drive, ..Inputs::new(drive_dirs) };
    let found = watched(py, progress.as_ref(), &options.progress, || {
        record(&experiment, &inputs, &window, &options).map_err(Box::new)
    })?;
    match options.progress.is_cancelled() {
        true => Err(PyKeyboardInterrupt::new_err(())),
        false => serde_json::to_string(&found).map_err(errors::json),
    }
}
