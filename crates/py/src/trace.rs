//! Traces: what one holds, and writing it in another format.

use crate::errors::{config, json, raise, trace};
use headstack_engine::describe::from_value;
use headstack_trace::{
    create, formats as list, open, Counters, ReadOptions, TraceError, TraceInfo, Transform,
};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{json, Value};
use std::path::Path;

/// Requests between two looks for Ctrl-C.
const BATCH: u64 = 1 << 16;

fn word<T: DeserializeOwned>(key: &str, word: &str) -> PyResult<T> {
    from_value(word.into()).map_err(|e| config(e.within(key)))
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
        TraceError::Input { ref path, .. } if path.starts_with("format_parameters") => {
            raise("ConfigError", e)
        }
        e => trace(e),
    }
}

/// What a trace holds.
#[pyfunction]
#[pyo3(signature = (path, format, on_error, order="format", parameters_json="{}"))]
pub fn trace_info(
    py: Python<'_>,
    path: &str,
    format: Option<&str>,
    on_error: &str,
    order: &str,
    parameters_json: &str,
) -> PyResult<String> {
    let options = options(on_error, order, parameters_json)?;
    let source = open(Path::new(path), format, &options).map_err(reading)?;
    let mut info = TraceInfo::new();
    let mut n = 0;
    for request in source {
        info.add(&request.map_err(trace)?);
        n += 1;
        if n % BATCH == 0 {
            py.check_signals()?;
        }
    }
    let mut document = serde_json::to_value(info.summary()).map_err(json)?;
    document["n_skipped"] = options.counters.skipped().into();
    document["n_clamped"] = options.counters.clamped().into();
    add_reading(&mut document, &options.counters).map_err(json)?;
    serde_json::to_string(&document).map_err(json)
}

/// How a trace was opened, and what was left out or moved while it was read.
fn add_reading(document: &mut Value, counters: &Counters) -> serde_json::Result<()> {
    document["opened"] = serde_json::to_value(counters.how_opened())?;
    for (key, count) in [
        ("n_zero_sized", counters.zero_sized()),
        ("n_filtered", counters.filtered()),
        ("n_out_of_order", counters.out_of_order()),
        ("n_earlier_waits", counters.earlier_waits()),
    ] {
        document[key] = count.into();
    }
    Ok(())
}

/// Writes one trace as another; returns counts.
#[pyfunction]
#[pyo3(signature = (
    src, dst, src_format, dst_format, transform_json, on_error, order="format", parameters_json="{}"
))]
#[allow(clippy::too_many_arguments)]
pub fn convert(
    py: Python<'_>,
    src: &str,
    dst: &str,
    src_format: Option<&str>,
    dst_format: Option<&str>,
    transform_json: &str,
    on_error: &str,
    order: &str,
    parameters_json: &str,
) -> PyResult<String> {
    let options = options(on_error, order, parameters_json)?;
    let transform: Transform = serde_json::from_str(transform_json).map_err(|e| {
        raise(
            "ConfigError",
            format!("transform: got {e}, need known keys"),
        )
    })?;
    let source = transform
        .open(|| open(Path::new(src), src_format, &options))
        .map_err(reading)?;
    let mut writer = create(Path::new(dst), dst_format).map_err(trace)?;
    let mut written: u64 = 0;
    for request in source {
        writer.write(&request.map_err(trace)?).map_err(trace)?;
        written += 1;
        if written % BATCH == 0 {
            py.check_signals()?;
        }
    }
    writer.finish().map_err(trace)?;
    let counts = json!({
        "n_written": written,
        "n_skipped": options.counters.skipped(),
        "n_clamped": options.counters.clamped(),
    });
    serde_json::to_string(&counts).map_err(json)
}

/// The trace formats that can be read.
#[pyfunction]
pub fn formats() -> PyResult<String> {
    let known: Vec<_> = list()
        .iter()
        .map(|f| {
            json!({"name": f.name, "summary": f.summary, "parameters": f.parameters,
                   "time_unit": f.time_unit, "size_unit": f.size_unit})
        })
        .collect();
    serde_json::to_string(&known).map_err(json)
}
