//! The cylinder with the fewest blocks; they go into the holes of the fullest cylinders.
//!
//! # Model
//! As `greedy`, but no empty cylinder is used up: the blocks fill the free slots of the fullest cylinders. So every
//! cylinder that is emptied is one more empty cylinder, also on a nearly full disk.
//! # Source
//! J. Wilkes, R. Golding, C. Staelin, T. Sullivan, "The HP AutoRAID Hierarchical Storage System", ACM TOCS
//! 14(1), 1996, section 2.2.3 (hole-plugging); J. N. Matthews, D. Roselli, A. M. Costello, R. Y. Wang, T. E.
//! Anderson, "Improving the Performance of Log-Structured File Systems with Adaptive Methods", SOSP 1997.
//! # Validity
//! Always plugs holes; the adaptive method of the second source chooses between this and `cost-benefit`.

use super::{Cleaner, Segment, Target};
use headstack_schema::Table;

#[derive(Debug, Table)]
#[table(model = "moves the blocks of the emptiest cylinder into holes of the fullest ones")]
pub(super) struct HolePlugging {}

impl Cleaner for HolePlugging {
    fn worth(&self, segment: &Segment) -> f64 {
        1.0 - segment.utilisation()
    }

    fn target(&self) -> Target {
        Target::Holes
    }
}
