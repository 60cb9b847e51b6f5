//! What every simulation needs and no drive knows of: ordered events, statistics, progress, and
//! descriptions with their errors.
//!
//! Everything here is deterministic: sums are kept in integers, so that the order in which
//! values arrive cannot change a result.

pub mod batches;
pub mod describe;
pub mod error;
pub mod grouped;
pub mod progress;
pub mod quantiles;
pub mod queue;
pub mod random;
pub mod series;

pub use batches::Batches;
pub use error::{did_you_mean, SpecError};
pub use grouped::Grouped;
pub use progress::Progress;
pub use quantiles::{Quantiles, Summary};
pub use queue::EventQueue;
pub use series::{ByMode, Series, SeriesPoint};
