//! Running experiments on threads of their own, while Python's thread watches for Ctrl-C.

use crate::errors;
use crate::wait::{no_result, no_thread, wait};
use headstack_array::{read_toml as read, run as simulate, Experiment, Inputs, RunOptions};
use headstack_disksim::Sources;
use headstack_engine::describe::from_value;
use headstack_engine::Progress;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
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

/// Runs an experiment; Ctrl-C ends it with what it has.
#[pyfunction]
#[pyo3(signature = (
    file, document_json, drive_dirs, threads, out_dir, log_requests, progress,
    sources_anywhere=false
))]
#[allow(clippy::too_many_arguments)]
pub fn run(
    py: Python<'_>,
    file: Option<PathBuf>,
    document_json: &str,
    drive_dirs: Vec<PathBuf>,
    threads: Option<usize>,
    out_dir: Option<PathBuf>,
    log_requests: bool,
    progress: Option<Py<PyAny>>,
    sources_anywhere: bool,
) -> PyResult<String> {
    let experiment = match file {
        Some(file) => {
            let overrides = serde_json::from_str(document_json).map_err(errors::json)?;
            let overrides = from_value(overrides).map_err(errors::config)?;
            Experiment::open(&file, &overrides)
        }
        None => Experiment::from_json(document_json, Path::new("")),
    };
    let experiment = experiment.map_err(errors::config)?;
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
        ..Inputs::new(drive_dirs)
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
