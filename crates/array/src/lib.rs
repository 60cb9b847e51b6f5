//! Drives put together: organisations, arrivals, experiments and their results.

pub mod experiment;
pub mod member;
pub mod organisation;
pub mod simulate;

pub use experiment::Experiment;
pub use member::Member;
pub use simulate::{simulate, Options, Outcome, SimulateError};
