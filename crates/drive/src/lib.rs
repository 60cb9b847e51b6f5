//! One disk drive, to the last mechanism: layout, seek, arms, scheduler, cache, power, cost.
//!
//! Mechanics are pure functions of state and time; the scheduler that predicts and the service
//! that moves call the same one.

#[cfg(test)]
mod buffer;
pub mod cost;
pub mod drive;
pub mod error;
#[cfg(test)]
mod fixtures;
pub mod layout;
pub mod mechanics;
mod media_scan;
pub mod parallelism;
pub mod plugin;
pub mod power;
pub mod queue;
pub mod replay;
pub mod scheduler;
pub mod seek;
mod service;
pub mod spec;
mod unit;

pub use drive::{
    Command, Completion, Components, Drive, DriveEnergy, DriveOptions, DriveRequest, Fault,
};
pub use error::SpecError;
pub use spec::DriveSpec;
