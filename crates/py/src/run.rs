//! Running experiments on threads of their own, while Python's thread watches for Ctrl-C.

use crate::errors;
use headstack_array::{
    run as simulate, Experiment, Inputs, OpenWorkload, Opened, RunError, RunOptions,
};
use headstack_engine::describe::from_value;
use headstack_engine::{Progress, SpecError};
use headstack_trace::{open, ReadOptions, Synthetic, TraceError, Transform};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serde_json::Value;
use std::path::Path;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::sync::Mutex;
use std::time::Duration;

/// Time between two looks for Ctrl-C, and between two reports of progress.
const TICK: Duration = Duration::from_millis(100);

// Errors end the run: their size costs nothing.
#[allow(clippy::result_large_err)]
fn table<T: serde::de::DeserializeOwned>(key: &str, value: Value) -> Result<T, RunError> {
    from_value(value).map_err(|e| e.within(key).into())
}

// Errors end the run: their size costs nothing.
#[allow(clippy::result_large_err)]
fn open_workload(w: &OpenWorkload) -> Result<Opened, RunError> {
    let transform: Transform = table(&w.key, Value::Object(w.workload.transform.clone()))?;
    if let Some(parameters) = &w.workload.synthetic {
        let key = format!("{}.synthetic", w.key);
        let synthetic: Synthetic = table(&key, Value::Object(parameters.clone()))?;
        return Ok(Opened {
            source: transform
                .open(|| synthetic.source(w.seed))
                .map_err(|e| placed(w, e))?,
            closed: synthetic.closed(w.seed).map_err(|e| placed(w, e))?,
            requests: transform.keeps(synthetic.n_requests),
            counters: None,
        });
    }
    let options = ReadOptions {
        on_error: w.workload.on_error,
        order: w.workload.order,
        ..ReadOptions::default()
    };
    Ok(Opened {
        source: transform
            .open(|| open(&w.path, w.workload.format.as_deref(), &options))
            .map_err(|e| placed(w, e))?,
        closed: None,
        requests: None,
        counters: Some(options.counters),
    })
}

/// Gives keys of the workload that were refused their place in the experiment; what is wrong in a
/// trace names its file already.
fn placed(w: &OpenWorkload, e: TraceError) -> RunError {
    match e {
        TraceError::Input { path, got, need }
            if path == "format"
                || path.starts_with("synthetic.")
                || path.starts_with("transform.") =>
        {
            // The transformations are keys of the workload itself.
            let key = path.strip_prefix("transform.").unwrap_or(&path);
            SpecError::new(format!("{}.{key}", w.key), got, need).into()
        }
        e => e.into(),
    }
}

/// Runs an experiment; Ctrl-C ends it with what it has.
#[pyfunction]
#[pyo3(signature = (experiment_json, base_dir, drive_dirs, threads, out_dir, log_requests, progress))]
#[allow(clippy::too_many_arguments)]
pub fn run(
    py: Python<'_>,
    experiment_json: &str,
    base_dir: &str,
    drive_dirs: Vec<String>,
    threads: usize,
    out_dir: Option<String>,
    log_requests: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let experiment =
        Experiment::from_json(experiment_json, Path::new(base_dir)).map_err(errors::config)?;
    let watch = Progress::new();
    let options = RunOptions {
        threads: Some(threads),
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
        drive_dirs: drive_dirs.into_iter().map(Into::into).collect(),
        other_drive: &other_drive,
        open: &open_workload,
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

fn wait_for<T>(wait: &Mutex<Receiver<T>>) -> Result<T, RecvTimeoutError> {
    match wait.lock() {
        Ok(wait) => wait.recv_timeout(TICK),
        Err(_) => Err(RecvTimeoutError::Disconnected),
    }
}
