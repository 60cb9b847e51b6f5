//! `headstack._core`: the Rust core as the Python package sees it. Conversions and exceptions only.

use pyo3::prelude::*;

mod drive;
#[cfg(all(feature = "live", target_os = "linux"))]
mod emulate;
mod errors;
mod panics;
#[cfg(all(feature = "live", target_os = "linux"))]
mod probe;
mod quantity;
mod run;
mod stream;
mod trace;
mod wait;

/// The Rust core; use the package `headstack`, which documents and types it.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::drive::{
        check_depopulation, check_drive, check_file, counters, demerit_of, drive_info, import_disksim,
        import_experiment, plugins, read_measured, replay_closed, result_columns, schema, usable_bytes, validate,
        without_head,
    };
    #[cfg(all(feature = "live", target_os = "linux"))]
    #[pymodule_export]
    use super::emulate::{become_server, emulate, server_options, Emulated};
    #[pymodule_export]
    use super::panics::panics;
    #[cfg(all(feature = "live", target_os = "linux"))]
    #[pymodule_export]
    use super::probe::{ProbeMeter, ProbeTarget};
    #[pymodule_export]
    use super::quantity::{quantity, split_quantity};
    #[pymodule_export]
    use super::run::{read_toml, record_window, run};
    #[pymodule_export]
    use super::stream::{capacities, sweep, zone_rates};
    #[pymodule_export]
    use super::trace::{convert, formats, trace_info};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::panics::guard(module)
    }

    /// Version of the core, equal to the package's.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}
