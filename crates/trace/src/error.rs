//! What can be wrong with a trace, told so that the reader can mend it.

use headstack_engine::{needed_to_write, printable, told};
use std::io::{Error, ErrorKind};

/// What is wrong with a file in words.
fn said(source: &Error) -> String {
    match (source.raw_os_error(), source.kind()) {
        (None, ErrorKind::UnexpectedEof) => format!("an end in the middle ({source})"),
        _ => told(source),
    }
}

fn needed(source: &Error) -> &'static str {
    match (source.raw_os_error(), source.kind()) {
        (_, ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) => {
            needed_to_write(source)
        }
        (Some(_), _) => "a file that can be read or written",
        (None, _) => "a whole file, packed by gzip, zstd, bzip2 or xz",
    }
}

/// A field as it is shown; one that is not there or empty is nothing.
fn shown(field: &str) -> String {
    match field {
        "" => "nothing".into(),
        field => format!("{field:?}"),
    }
}

/// Where in a trace something was wrong, what was found and what was needed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file could not be opened or read.
    #[error("{}: got {}, need {}", printable(.path), printable(&said(.source)), needed(.source))]
    Io {
        /// The file.
        path: String,
        /// What the operating system said, or what unpacked the file.
        source: Error,
    },
    /// A record is not what its format says.
    #[error("{}:{line}: column {column} {name:?}: got {}, need {need}", printable(.path), shown(.got))]
    Field {
        /// The file.
        path: String,
        /// Line number from 1, or record number from 1 in binary formats.
        line: u64,
        /// Column number from 1.
        column: usize,
        /// The column's name.
        name: &'static str,
        /// What stood there.
        got: String,
        /// What may stand there.
        need: String,
    },
    /// A record as a whole is wrong (truncated, out of order, wrong count of columns).
    #[error("{}:{line}: got {}, need {}", printable(.path), printable(.got), printable(.need))]
    Record {
        /// The file.
        path: String,
        /// Line or record number from 1.
        line: u64,
        /// What was found.
        got: String,
        /// What is needed.
        need: String,
    },
    /// A file or an option as a whole cannot be used.
    #[error("{}: got {}, need {}", printable(.path), printable(.got), printable(.need))]
    Input {
        /// The file or option.
        path: String,
        /// What was found.
        got: String,
        /// What is needed.
        need: String,
    },
}
