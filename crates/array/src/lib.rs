//! Drives put together: layers, organisations, arrivals, experiments and their results.

// Errors end a run; how many bytes they take does not matter.
#![allow(clippy::result_large_err)]

pub mod arrivals;
mod expected;
pub mod experiment;
mod host;
pub mod layer;
pub mod member;
pub mod organisation;
pub mod output;
pub mod result;
pub mod run;
pub mod simulate;
mod system;

pub use experiment::Experiment;
pub use member::Member;
pub use result::{RunResult, SystemResult};
pub use run::{run, run_with, Inputs, Make, OpenWorkload, Opened, RunError, RunOptions};
pub use simulate::{simulate, Options, Outcome, SimulateError};
