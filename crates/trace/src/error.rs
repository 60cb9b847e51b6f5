//! Errors in traces: where, what was got and what is needed.

use headstack_schema::{io_error_text, needed_to_write, printable, SpecError};
use std::io::{Error, ErrorKind};

/// The error of a file in words.
fn said(source: &Error) -> String {
    match (source.raw_os_error(), source.kind()) {
        (None, ErrorKind::UnexpectedEof) => format!("an end in the middle ({source})"),
        _ => io_error_text(source),
    }
}

fn needed(source: &Error) -> &'static str {
    match (source.raw_os_error(), source.kind()) {
        (_, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) => needed_to_write(source),
        (Some(_), _) => "a file that can be read or written",
        (None, ErrorKind::OutOfMemory) => "at most 128 MiB",
        (None, _) => "a whole file, packed by gzip, zstd, bzip2 or xz",
    }
}

/// A field as it is displayed; one that is missing or empty is "nothing".
fn shown(field: &str) -> String {
    match field {
        "" => "nothing".into(),
        field => format!("{field:?}"),
    }
}

/// A place in a trace, what was got there and what is needed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file could not be opened or read.
    #[error("{}: got {}, need {}", printable(.path), printable(&said(.source)), needed(.source))]
    Io { path: String, source: Error },
    /// A column is not as its format requires.
    #[error("{}:{line}: column {column} {name:?}: got {}, need {need}", printable(.path), shown(.got))]
    Field {
        path: String,
        /// Line number from 1, or record number from 1 in binary formats.
        line: u64,
        /// Column number from 1.
        column: usize,
        name: &'static str,
        got: String,
        need: String,
    },
    /// A record as a whole is wrong (truncated, out of order, wrong count of columns).
    #[error("{}:{line}: got {}, need {}", printable(.path), printable(.got), printable(.need))]
    Record {
        path: String,
        /// Line or record number from 1.
        line: u64,
        got: String,
        need: String,
    },
    /// A file or an option as a whole cannot be used.
    #[error("{}: got {}, need {}", printable(.path), printable(.got), printable(.need))]
    Input { path: String, got: String, need: String },
}

impl From<SpecError> for TraceError {
    fn from(error: SpecError) -> TraceError {
        TraceError::Input { path: error.key, got: error.got, need: error.need }
    }
}
