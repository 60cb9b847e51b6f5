//! The cylinder with the best ratio of benefit to cost; its blocks go together into an empty cylinder.
//!
//! # Model
//! A cylinder of utilisation `u` is worth `(1 - u)·age / (1 + u)`. The benefit is the free space `1 - u` times the age,
//! which estimates how long the space stays free. The cost is reading the cylinder (1) and writing its blocks (`u`).
//! # Source
//! M. Rosenblum, J. K. Ousterhout, "The Design and Implementation of a Log-Structured File System", ACM TOCS
//! 10(1), 1992, section 3.6.
//! # Validity
//! The age is that of the youngest block, as in the paper. Blocks are not sorted by age while they are moved.

use super::{Cleaner, Segment, Target};
use headstack_schema::Table;

#[derive(Debug, Table)]
#[table(model = "empties the cylinder with most (1 - u)*age/(1 + u) into an empty cylinder")]
pub(super) struct CostBenefit {}

impl Cleaner for CostBenefit {
    fn worth(&self, segment: &Segment) -> f64 {
        let u = segment.utilisation();
        (1.0 - u) * segment.age_s / (1.0 + u)
    }

    fn target(&self) -> Target {
        Target::Empty
    }
}
