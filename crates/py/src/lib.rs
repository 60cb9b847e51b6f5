//! `headstack._core`: the Rust core as the Python package sees it. Conversions and exceptions only.
use pyo3::prelude::*;

/// The Rust core; use the package `headstack`, which documents and types it.
#[pymodule]
mod _core {
    use super::*;
    /// Version of the core, equal to the package's.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
