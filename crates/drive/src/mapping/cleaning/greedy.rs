//! The cylinder with the fewest blocks; they go together into an empty cylinder.
//!
//! # Model
//! Emptying a cylinder costs the moves of its blocks. The cylinder with the fewest blocks costs least and yields one
//! empty cylinder like any other.
//! # Source
//! M. Rosenblum, J. K. Ousterhout, "The Design and Implementation of a Log-Structured File System", ACM TOCS
//! 10(1), 1992, section 3.5.
//! # Validity
//! Looks only at the present. Cylinders whose blocks will soon be overwritten anyway are also cleaned.

use super::{Cleaner, Segment, Target};
use headstack_schema::Table;

#[derive(Debug, Table)]
#[table(model = "empties the cylinder with the fewest blocks into an empty cylinder")]
pub(super) struct Greedy {}

impl Cleaner for Greedy {
    fn worth(&self, segment: &Segment) -> f64 {
        1.0 - segment.utilisation()
    }

    fn target(&self) -> Target {
        Target::Empty
    }
}
