//! Cleaning policies: which cylinder of a logging disk is emptied next, and where its blocks go.
//!
//! # Model
//! Cleaning moves the live blocks of a cylinder elsewhere, so that all its slots become free. It does not
//! change how many slots are free, only how they are spread: in whole cylinders, or as holes between blocks.
//!
//! The unit is a cylinder and not a track. A write reaches every track of an empty cylinder without a seek,
//! and the search for a slot keeps its counts by cylinder.
//!
//! # Contract
//! - `worth` is a finite number. Of two cylinders of the same age and size, the fuller one is never worth more.
//! - A policy keeps no state: the same cylinder has the same worth.
//!
//! To add one: write `crates/drive/src/mapping/cleaning/NAME.rs` and add it to the list as [`plugins!`] says. A program
//! adds its own in [`Models`](crate::Models).

mod parameters;

#[doc(hidden)]
pub use parameters::Cleaning;
pub(crate) use parameters::{first_writer, tables};

use headstack_schema::plugins;

/// A cylinder as a policy sees it. It holds at least one block, and at least one of its slots is free.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    /// Number of slots that hold a block.
    pub live: u32,
    /// Number of slots.
    pub slots: u32,
    /// Seconds since the host last wrote a block into it. A block that cleaning moves into it counts with the age of
    /// its old cylinder.
    pub age_s: f64,
}

impl Segment {
    /// Share of the slots that hold a block, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        f64::from(self.live) / f64::from(self.slots.max(1))
    }
}

/// Where the blocks of an emptied cylinder go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Into the empty cylinder nearest to the arm, until it is full. If none is empty: into holes.
    Empty,
    /// Into the holes of the fullest cylinder that has some, until it is full.
    Holes,
}

/// Chooses the cylinder that is cleaned.
pub trait Cleaner: Send + std::fmt::Debug {
    /// How much it is worth to empty a cylinder. The cylinder with the highest worth is emptied next; of equal ones the
    /// lowest.
    fn worth(&self, segment: &Segment) -> f64;

    /// Where its blocks go.
    fn target(&self) -> Target;
}

plugins! { dyn Cleaner = "cleaning policy"; greedy: Greedy, cost_benefit: CostBenefit, hole_plugging: HolePlugging }
