//! One disk drive, to the last mechanism: layout, seek, arms, scheduler, cache, power.
//!
//! Mechanics are pure functions of state and time; the scheduler that predicts and the service
//! that moves call the same one.

pub mod error;
pub mod plugin;
pub mod power;
pub mod seek;
pub mod spec;

pub use error::SpecError;
pub use spec::DriveSpec;
pub mod drive;
pub use drive::{Command, Completion, Components, DriveEnergy, DriveRequest};
