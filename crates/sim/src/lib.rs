//! Runs of a system of drives: its arrivals, its changes and power caps while it runs, and what is counted.

// Errors end a run, so their size does not matter.
#![allow(clippy::result_large_err)]

pub mod capping;
pub mod change;
pub mod classes;
pub mod crew;
#[doc(hidden)]
pub mod ended;
#[doc(hidden)]
pub mod held;
#[doc(hidden)]
pub mod memory_guard;
mod observers;
pub mod outcome;
pub mod output;
pub mod overload;
#[doc(hidden)]
pub mod request_tracker;
pub mod simulate;

pub use outcome::Outcome;
pub use simulate::{simulate, Options, SimulateError};
