//! The block layer above drives: layers, elevators, volumes, and the organisations that put them together.

// Errors end a run, so their size does not matter.
#![allow(clippy::result_large_err)]

pub mod controlled;
pub mod layer;
pub mod measured;
pub mod member;
pub mod organisation;
pub mod target;
#[doc(hidden)]
pub mod timetable;

pub use member::{Adjust, Clock, Member, Meter};
