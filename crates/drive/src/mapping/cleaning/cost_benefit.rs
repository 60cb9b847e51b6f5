//! The cylinder with the best ratio of benefit to cost; its blocks go together into an empty cylinder.
//!
//! # Model
//! A cylinder of utilisation `u` is worth `(1 - u)·age / (1 + u)`: free space that is gained, times how long
//! it is likely to stay free, by the cost of reading the cylinder once and writing its blocks.
//! # Source
//! M. Rosenblum, J. K. Ousterhout, "The Design and Implementation of a Log-Structured File System", ACM TOCS
//! 10(1), 1992, section 3.6.
//! # Validity
//! The age is that of the youngest block, as in the paper. Blocks are not sorted by age while they are moved.

use super::{Cleaner, Segment, Target};
use crate::plugin::{params, taken, Plugin};
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn Cleaner> = Plugin {
    name: "cost-benefit",
    summary: "empties the cylinder with most (1 - u)*age/(1 + u) into an empty cylinder",
    example: "",
    parameters: &|table| taken::<CostBenefit>(&[], table),
    build: &|table| Ok(Box::new(params::<CostBenefit>(table)?)),
};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CostBenefit {}

impl Cleaner for CostBenefit {
    fn worth(&self, segment: &Segment) -> f64 {
        let u = segment.utilisation();
        (1.0 - u) * segment.age_s / (1.0 + u)
    }

    fn target(&self) -> Target {
        Target::Empty
    }
}
