//! Writers: one file per format.
//!
//! Every writer takes requests in time order. A request that a format cannot represent is an error and is never
//! left out; the documentation of each writer states what it rounds.

pub mod parquet;
pub mod text;

use crate::error::TraceError;
use crate::request::Request;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes requests to a trace.
pub trait TraceWriter: Send {
    /// Writes one request.
    ///
    /// # Errors
    /// A request that the format cannot represent, by its number; failure to write.
    fn write(&mut self, request: &Request) -> Result<(), TraceError>;
    /// Writes buffered data. Without this call the file is incomplete.
    ///
    /// # Errors
    /// Failure to write.
    fn finish(self: Box<Self>) -> Result<(), TraceError>;
}

/// Name, summary and file name endings of the formats that can be written.
pub const WRITERS: &[(&str, &str, &[&str])] = &[
    ("parquet", "Parquet, exact", &["parquet"]),
    ("csv", "named columns with time_ns, exact", &["csv"]),
    ("spc", "SPC/UMass, exact", &["spc"]),
    ("fio-iolog", "fio I/O log version 3, microseconds", &["iolog", "fio", "log"]),
    ("disksim", "DiskSim ascii, exact", &["disksim", "ascii"]),
];

/// Creates a trace file; the format by name, or by the file name's ending.
///
/// # Errors
/// An unknown format or ending; a file that cannot be created.
pub fn create(path: &Path, format: Option<&str>) -> Result<Box<dyn TraceWriter>, TraceError> {
    create_in(path, path, format)
}

/// As [`create`], in the file `part`, which is renamed to `path` later; messages name `path`.
///
/// # Errors
/// As for [`create`].
pub fn create_in(part: &Path, path: &Path, format: Option<&str>) -> Result<Box<dyn TraceWriter>, TraceError> {
    let name = path.display().to_string();
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    let found = match format {
        Some(format) => WRITERS.iter().find(|w| w.0 == format),
        None => WRITERS.iter().find(|w| w.2.contains(&ending)),
    };
    let Some((kind, ..)) = found else {
        let names: Vec<&str> = WRITERS.iter().map(|w| w.0).collect();
        return Err(TraceError::Input {
            path: name,
            got: match format {
                Some(format) => format!("output format {format:?}"),
                None if ending.is_empty() => "a file name without an ending".to_string(),
                None => format!("file name ending {ending:?}"),
            },
            need: format!("one of {}", names.join(", ")),
        });
    };
    let file = File::create(part).map_err(|source| TraceError::Io { path: name.clone(), source })?;
    let output = BufWriter::with_capacity(256 * 1024, file);
    create_on(kind, output, &name)
}

/// Creates a trace on any output; `path` is for error messages.
///
/// # Errors
/// An unknown format.
pub fn create_on<W: Write + Send + 'static>(
    format: &str,
    output: W,
    path: &str,
) -> Result<Box<dyn TraceWriter>, TraceError> {
    if format == "parquet" {
        return Ok(Box::new(parquet::ParquetWriter::new(Box::new(output), path)?));
    }
    let style = text::Style::named(format).ok_or_else(|| TraceError::Input {
        path: path.to_string(),
        got: format!("output format {format:?}"),
        need: format!("one of {}", WRITERS.map_names()),
    })?;
    Ok(Box::new(text::TextWriter::new(style, output, path)))
}

trait Names {
    fn map_names(&self) -> String;
}
impl Names for [(&str, &str, &[&str])] {
    fn map_names(&self) -> String {
        self.iter().map(|w| w.0).collect::<Vec<_>>().join(", ")
    }
}
