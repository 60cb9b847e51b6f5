//! Drives put together: organisations, arrivals, experiments and their results.

pub mod member;
pub mod organisation;
pub mod simulate;

pub use member::Member;
pub use simulate::{simulate, Options, Outcome, SimulateError};
