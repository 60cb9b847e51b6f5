//! What can be wrong with a trace, told so that the reader can mend it.

use std::io::{Error, ErrorKind};

/// What is wrong with a file in words; only the operating system's errors have a number.
fn told(source: &Error) -> String {
    match (source.raw_os_error(), source.kind()) {
        (None, ErrorKind::UnexpectedEof) => format!("an end in the middle ({source})"),
        (Some(_), _) => {
            let text = source.to_string();
            let words = text.split(" (os error").next().unwrap_or(&text);
            words.to_lowercase()
        }
        _ => source.to_string(),
    }
}

fn needed(source: &Error) -> &'static str {
    match source.raw_os_error() {
        Some(_) => "a file that can be read or written",
        None => "a whole file, packed by gzip, zstd, bzip2 or xz",
    }
}

/// Where in a trace something was wrong, what was found and what was needed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file could not be opened or read.
    #[error("{path}: got {}, need {}", told(.source), needed(.source))]
    Io {
        /// The file.
        path: String,
        /// What the operating system said, or what unpacked the file.
        source: Error,
    },
    /// A record is not what its format says.
    #[error("{path}:{line}: column {column} {name:?}: got {got:?}, need {need}")]
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
    #[error("{path}:{line}: got {got}, need {need}")]
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
    #[error("{path}: got {got}, need {need}")]
    Input {
        /// The file or option.
        path: String,
        /// What was found.
        got: String,
        /// What is needed.
        need: String,
    },
}
