//! Parts of every simulation that know nothing of drives: operations, ordered events, random streams,
//! statistics, progress, warnings.
//!
//! Everything here is deterministic. Sums are kept in integers, so a result does not depend on the order in
//! which values arrive.

pub mod batches;
mod bins;
pub mod command;
pub mod grouped;
pub mod progress;
pub mod quantiles;
pub mod queue;
pub mod random;
mod ranks;
pub mod series;
pub mod warning;

pub use batches::Batches;
pub use command::Command;
pub use grouped::Grouped;
pub use headstack_schema::{did_you_mean, io_error_text, needed_to_write, printable, system_error, SpecError};
pub use progress::Progress;
pub use quantiles::{Quantiles, Summary};
pub use queue::EventQueue;
pub use series::{ByMode, Series, SeriesPoint};
pub use warning::{Check, Warning};
