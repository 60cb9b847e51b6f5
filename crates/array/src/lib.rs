//! Drives put together: layers, organisations, arrivals, experiments and their results.

// Errors end a run, so their size does not matter.
#![allow(clippy::result_large_err)]

pub mod capping;
pub mod change;
pub mod check;
pub mod classes;
pub mod crew;
#[doc(hidden)]
pub mod document;
#[doc(hidden)]
pub mod dotted;
#[doc(hidden)]
pub mod drive_file;
#[doc(hidden)]
pub mod ended;
#[doc(hidden)]
pub mod expected;
pub mod experiment;
mod failure_limit;
#[doc(hidden)]
pub mod held;
#[doc(hidden)]
pub mod inputs;
pub mod layer;
pub mod live;
pub mod member;
#[doc(hidden)]
pub mod memory_guard;
mod observers;
pub mod open;
pub mod organisation;
mod outcome;
pub mod output;
pub mod overload;
#[doc(hidden)]
pub mod overrides;
pub mod provenance;
#[doc(hidden)]
pub mod request_tracker;
mod resolved;
pub mod result;
pub mod run;
mod schema;
pub mod simulate;
mod system;
#[doc(hidden)]
pub mod timetable;
pub mod warnings;
pub mod window;

pub use check::check_file;
pub use drive_file::load_drive;
pub use experiment::Experiment;
pub use headstack_schema::document::read_toml;
pub use live::{live_system, Exchange, LiveSystem};
pub use member::Member;
pub use open::{open_workload, OpenWorkload, Opened};
pub use overrides::Overrides;
pub use result::{RunResult, SystemResult};
pub use run::{run, run_with, Inputs, Make, RunError, RunOptions};
pub use simulate::{simulate, Options, Outcome, SimulateError};
pub use system::Drivable;
