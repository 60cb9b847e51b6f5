//! A model of one disk drive: layout, seek, arms, scheduler, cache, power, cost.
//!
//! The mechanics are pure functions of state and time. The scheduler, which predicts, and the service, which
//! moves, call the same functions.

mod assembly;
mod background;
mod bounds;
#[doc(hidden)]
pub mod buffer;
mod checks;
pub mod command;
#[doc(hidden)]
pub mod compressed_seek_table;
pub mod cost;
pub mod counters;
pub mod depopulation;
mod described;
pub mod design;
pub mod drive;
pub mod join;
pub mod layout;
pub mod limits;
mod low_power;
pub mod mapping;
pub mod mechanics;
pub mod meter;
pub mod models;
mod options;
pub mod parallelism;
pub mod phase;
pub mod power;
pub mod queue;
#[doc(hidden)]
pub mod recent_mechanics;
pub mod replay;
pub mod roles;
pub mod scheduler;
pub mod seek;
mod sense;
#[doc(hidden)]
pub mod service;
pub mod shipped;
pub mod spec;
pub mod stream;
mod tags;
mod unit;
mod unit_plan;

pub use command::{Command, Completion, Components, DriveRequest, Fault, Hint, LimitIndex};
pub use counters::Counters;
pub use described::{Described, Unsaid};
pub use design::DriveDesign;
pub use drive::{Drive, Failure, Setting};
pub use layout::adaptive::Density;
pub use limits::parameters::{DurationLimit, Heeded, LimitsSpec, Policy, Transport};
pub use mapping::zoned;
pub use meter::DriveEnergy;
pub use models::Models;
pub use options::DriveOptions;
pub use phase::{Phase, PhaseKind, Track, Work};
pub use roles::{ModeUse, RoleUse};
pub use sense::LimitEnd;
pub use spec::DriveSpec;
pub use stream::Stream;
