//! Errors in parameter files, with their places.

use headstack_engine::printable;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// A place in a file; line and column count from one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Position {
    /// The file.
    pub file: Arc<PathBuf>,
    /// Line, from one.
    pub line: u32,
    /// Column in characters, from one.
    pub column: u32,
}

impl Position {
    /// The first character of a file.
    pub fn start(file: &Path) -> Position {
        Position { file: Arc::new(file.to_path_buf()), line: 1, column: 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// An error in a parameter file.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}", printable(&format!("{at}: {}got {got}, need {need}", named(.parameter))))]
pub struct Error {
    /// The place.
    pub at: Position,
    /// The parameter whose value is wrong; empty if it is no parameter.
    pub parameter: String,
    /// The text in the file.
    pub got: String,
    /// The text that is needed.
    pub need: String,
}

fn named(parameter: &str) -> String {
    match parameter {
        "" => String::new(),
        name => format!("{name}: "),
    }
}

impl Error {
    /// A new error at a place.
    pub fn new(at: Position, got: impl Into<String>, need: impl Into<String>) -> Error {
        Error { at, parameter: String::new(), got: got.into(), need: need.into() }
    }
}
