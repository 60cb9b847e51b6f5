//! Every seek takes the same time.
//!
//! # Model
//! `t(0) = 0`; `t(d) = time` for every other distance.
//! # Source
//! The simplest of DiskSim 4.0's seek types (`Seek type = constant`).
//! # Validity
//! For bounds and tests only; no drive behaves like this.

use super::{SeekModel, LEAST_SEEK, MOST_SEEK};
use headstack_schema::Table;
use headstack_units::Span;

#[derive(Table)]
#[table(model = "every seek takes the same time", example = r#"time = "5 ms""#)]
pub(super) struct Constant {
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
