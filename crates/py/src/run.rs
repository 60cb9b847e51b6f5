//! Running experiments on threads of their own, while Python's thread watches for Ctrl-C.

use crate::errors;
use headstack_array::{run as simulate, Experiment, Inputs, Overrides, RunOptions};
use headstack_engine::{Progress, SpecError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use std::path::Path;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::Mutex;
use std::time::Duration;

/// Time between two looks for Ctrl-C, and between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

/// Runs an experiment; Ctrl-C ends it with what it has.
#[pyfunction]
#[pyo3(signature = (file, document_json, drive_dirs, threads, out_dir, log_requests, progress))]
#[allow(clippy::too_many_arguments)]
pub fn run(
    py: Python<'_>,
    file: Option<&str>,
    document_json: &str,
    drive_dirs: Vec<String>,
    threads: Option<usize>,
    out_dir: Option<String>,
    log_requests: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let experiment = match file {
        Some(file) => {
            let overrides = serde_json::from_str(document_json).map_err(errors::json)?;
            open(Path::new(file), &overrides)?
        }
        None => Experiment::from_json(document_json, Path::new("")),
    };
    let experiment = experiment.map_err(errors::config)?;
    let watch = Progress::new();
    let options = RunOptions {
        threads,
        out_dir: out_dir.map(Into::into),
        log_requests,
        progress: watch.clone(),
    };
    let other_drive = |path: &str| {
        crate::drive::import(Path::new(path))
            .map(|import| import.spec)
            .map_err(|e| Python::attach(|py| e.value(py).to_string()))
    };
    let inputs = Inputs {
        other_drive: &other_drive,
        ..Inputs::new(drive_dirs.into_iter().map(Into::into).collect())
    };
    let mut failed = None;
    let result = std::thread::scope(|scope| {
        let (done, wait) = channel();
        // Shared with the closure that runs without the interpreter.
        let wait = Mutex::new(wait);
        let (experiment, inputs, options) = (&experiment, &inputs, &options);
        scope.spawn(move || {
            // The receiver only goes away with this scope.
            let _ = done.send(simulate(experiment, inputs, options));
        });
        loop {
            match py.detach(|| wait_for(&wait)) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
            if failed.is_some() {
                continue;
            }
            let told = progress.as_ref().map_or(Ok(()), |p| {
                p.call1(py, (watch.done(), watch.total())).map(drop)
            });
            if let Err(e) = py.check_signals().and(told) {
                watch.cancel();
                failed = Some(e);
            }
        }
    });
    if let Some(e) = failed.filter(|e| !e.is_instance_of::<PyKeyboardInterrupt>(py)) {
        return Err(e);
    }
    let result = result
        .ok_or_else(|| errors::raise("HeadstackError", "run: got no result, need one"))?
        .map_err(errors::run)?;
    result.to_json().map_err(errors::json)
}

/// The experiment in a file: TOML, or DiskSim's parameters.
fn open(file: &Path, overrides: &Overrides) -> PyResult<Result<Experiment, SpecError>> {
    if file.extension() != Some("parv".as_ref()) {
        return Ok(Experiment::open(file, overrides));
    }
    let document = crate::drive::import_system(file, None)?.document;
    Ok(Experiment::of_document(document, file, overrides))
}

fn wait_for<T>(wait: &Mutex<Receiver<T>>) -> Result<T, RecvTimeoutError> {
    match wait.lock() {
        Ok(wait) => wait.recv_timeout(TICK),
        Err(_) => Err(RecvTimeoutError::Disconnected),
    }
}
