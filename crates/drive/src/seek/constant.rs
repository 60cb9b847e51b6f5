//! Every seek takes the same time.
//!
//! # Model
//! `t(0) = 0`; `t(d) = time` for every other distance.
//! # Source
//! The simplest of DiskSim 4.0's seek types (`Seek type = constant`).
//! # Validity
//! For bounds and tests only; no drive behaves like this.

use super::{SeekModel, LEAST_SEEK, MOST_SEEK};
use headstack_schema::{Plugin, Table};
use headstack_units::Span;

/// The registry entry.
pub fn plugin() -> Plugin<dyn SeekModel> {
    Plugin::<dyn SeekModel>::new(
        "constant",
        "every seek takes the same time",
        r#"time = "5 ms""#,
        |model: Constant, _| Ok(Box::new(model)),
    )
}

#[derive(Table)]
struct Constant {
    /// Time of every seek.
    #[param(range = LEAST_SEEK..=MOST_SEEK)]
    time: Span,
}

impl SeekModel for Constant {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            Span::ZERO
        } else {
            self.time
        }
    }
}
