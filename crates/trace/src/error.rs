//! What can be wrong with a trace, told so that the reader can mend it.

use thiserror::Error;

/// Where in a trace something was wrong, what was found and what was needed.
#[derive(Debug, Error)]
pub enum TraceError {
    /// The file could not be opened or read.
    #[error("{path}: got {source}, need a file that can be read or written")]
    Io {
        /// The file.
        path: String,
        /// What the operating system said.
        source: std::io::Error,
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
