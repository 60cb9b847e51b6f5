//! Experiments: systems of drives, their loads, runs and results.

// Errors end a run, so their size does not matter.
#![allow(clippy::result_large_err)]

pub mod check;
#[doc(hidden)]
pub mod document;
#[doc(hidden)]
pub mod dotted;
#[doc(hidden)]
pub mod drive_file;
#[doc(hidden)]
pub mod expected;
pub mod experiment;
mod failure_limit;
#[doc(hidden)]
pub mod inputs;
pub mod live;
pub mod open;
#[doc(hidden)]
pub mod overrides;
pub mod provenance;
mod resolved;
pub mod result;
pub mod run;
mod schema;
mod system;
pub mod warnings;
pub mod window;

pub use check::check_file;
pub use drive_file::load_drive;
pub use experiment::Experiment;
pub use headstack_schema::document::read_toml;
pub use live::{live_system, Exchange, LiveSystem};
pub use open::{open_workload, OpenWorkload, Opened};
pub use overrides::Overrides;
pub use result::{RunResult, SystemResult};
pub use run::{run, Inputs, RunError, RunOptions};
