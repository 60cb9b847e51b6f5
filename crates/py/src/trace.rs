//! Traces: what one holds, and writing it in another format.

use crate::errors::{config, json, raise, trace};
use crate::wait::on_thread;
use headstack_schema::{read, Parameter};
use headstack_trace::reader::PLUGINS;
use headstack_trace::{checks, create_in, open, Counters, ReadOptions, TraceError, TraceInfo, Transform};
use pyo3::prelude::*;
use serde_json::{json, Value};
use std::path::PathBuf;

fn word<T: Parameter>(key: &str, word: &str) -> PyResult<T> {
    read(&word.into()).map_err(|e| config(e.within(key)))
}

fn options(on_error: &str, order: &str, parameters_json: &str) -> PyResult<ReadOptions> {
    Ok(ReadOptions {
        on_error: word("on_error", on_error)?,
        order: word("order", order)?,
        parameters: serde_json::from_str(parameters_json).map_err(|e| {
            let message = format!("format_parameters: got {e}, need a table");
            raise("ConfigError", message)
        })?,
        ..ReadOptions::default()
    })
}

/// Parameters of a reader that it refused are the user's, not the trace's.
fn reading(e: TraceError) -> PyErr {
    match e {
        TraceError::Input { ref path, .. } if path.starts_with("format_parameters") => raise("ConfigError", e),
        e => trace(e),
    }
}

/// Reads on a thread of its own. Ctrl-C is seen also where a trace has no end and no request, or where
/// nobody writes into its pipe; the thread then ends when it next gets something to read.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    counters: &Counters,
    read: impl FnOnce() -> Result<T, TraceError> + Send + 'static,
) -> PyResult<T> {
    on_thread(py, read, || counters.stop())?.map_err(reading)
}

/// What a trace holds.
#[pyfunction]
#[pyo3(signature = (path, format, on_error, order="format", parameters_json="{}"))]
pub fn trace_info(
    py: Python<'_>,
    path: PathBuf,
    format: Option<String>,
    on_error: &str,
    order: &str,
    parameters_json: &str,
) -> PyResult<String> {
    let options = options(on_error, order, parameters_json)?;
    let counters = options.counters.clone();
    let info = interruptible(py, &counters, move || {
        let mut info = TraceInfo::new();
        for request in open(&path, format.as_deref(), &options)? {
            info.add(&request?);
        }
        Ok(info)
    })?;
    let summary = info.summary();
    let mut document = serde_json::to_value(&summary).map_err(json)?;
    let warnings = checks::warnings(&summary, &counters);
    document["warnings"] = serde_json::to_value(warnings).map_err(json)?;
    document["n_skipped"] = counters.counts().skipped.into();
    document["n_clamped"] = counters.counts().clamped.into();
    add_reading(&mut document, &counters).map_err(json)?;
    serde_json::to_string(&document).map_err(json)
}

/// How a trace was opened, and what was left out or moved while it was read.
fn add_reading(document: &mut Value, counters: &Counters) -> serde_json::Result<()> {
    document["opened"] = serde_json::to_value(counters.how_opened())?;
    for (key, count) in [
        ("n_zero_sized", counters.counts().zero_sized),
        ("n_filtered", counters.counts().filtered),
        ("n_out_of_order", counters.counts().out_of_order),
        ("n_earlier_waits", counters.counts().earlier_waits),
    ] {
        document[key] = count.into();
    }
    Ok(())
}

/// Writes one trace as another, into the file `part` that messages and the search for its format call
/// `dst`; returns counts.
#[pyfunction]
#[pyo3(signature = (
    src, dst, part, src_format, dst_format, transform_json, on_error, order="format",
    parameters_json="{}"
))]
#[allow(clippy::too_many_arguments)]
pub fn convert(
    py: Python<'_>,
    src: PathBuf,
    dst: PathBuf,
    part: PathBuf,
    src_format: Option<String>,
    dst_format: Option<String>,
    transform_json: &str,
    on_error: &str,
    order: &str,
    parameters_json: &str,
) -> PyResult<String> {
    let options = options(on_error, order, parameters_json)?;
    let transform: Transform = serde_json::from_str(transform_json)
        .map_err(|e| raise("ConfigError", format!("transform: got {e}, need known keys")))?;
    let counters = options.counters.clone();
    let written = interruptible(py, &counters, move || {
        let source = transform.open(|| open(&src, src_format.as_deref(), &options))?;
        let mut writer = create_in(&part, &dst, dst_format.as_deref())?;
        let mut written: u64 = 0;
        for request in source {
            writer.write(&request?)?;
            written += 1;
        }
        writer.finish()?;
        Ok(written)
    })?;
    let counts = json!({
        "n_written": written,
        "n_skipped": counters.counts().skipped,
        "n_clamped": counters.counts().clamped,
    });
    serde_json::to_string(&counts).map_err(json)
}

/// The trace formats that can be read.
#[pyfunction]
pub fn formats() -> PyResult<String> {
    let known: Vec<_> = PLUGINS
        .iter()
        .map(|f| {
            json!({"name": f.name(), "summary": f.summary(), "parameters": f.example(),
                   "time_unit": f.facts.time_unit, "size_unit": f.facts.size_unit})
        })
        .collect();
    serde_json::to_string(&known).map_err(json)
}
