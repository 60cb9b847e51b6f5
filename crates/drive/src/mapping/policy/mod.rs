//! Writing policies: which free slot takes the next block, for drives that choose the places of their writes.
//!
//! # Contract
//! - `choose` returns a free slot whenever the disk has a whole one.
//! - The same state and history give the same choice.
//! - `choose` changes nothing, because it is also called to predict, once for each arm that may write. `took` is called
//!   when a slot has been taken.
//!
//! To add one: write `crates/drive/src/mapping/policy/NAME.rs` and add it to the list as [`plugins!`] says. A program
//! adds its own in [`Models`](crate::Models).

use super::log::cylinder::Class;
pub use super::log::slots::Ties;
use super::log::slots::{Found, FreeSlots, From};
use headstack_schema::plugins;
use headstack_units::Span;

/// What a policy sees: the free whole slots, and the arm that writes.
pub struct Search<'a> {
    /// The free slots.
    pub slots: &'a mut FreeSlots,
    /// The arm, and when it can begin.
    pub from: From<'a>,
    /// The highest cylinder in which a slot was ever taken.
    pub frontier: u32,
}

impl Search<'_> {
    /// The slot of the whole disk that is reached first.
    pub fn soonest(&mut self, ties: Ties) -> Option<Slot> {
        self.slots.soonest(&self.from, Class::Whole, ties).map(Slot)
    }

    /// The slot of these cylinders that is reached first; of equal ones the first in their order.
    pub fn soonest_of(&mut self, cylinders: &[u32]) -> Option<Slot> {
        let mut best = None;
        for c in cylinders {
            let within = best.map_or(Span::FOREVER, |b: Found| (b.cost - Span(1)).max(Span::ZERO));
            let found = self.slots.soonest_in(&self.from, *c, Class::Whole, within);
            best = found.or(best);
        }
        best.map(Slot)
    }

    /// The cylinder with a free slot that is nearest to `c`; of two the lower one.
    pub fn nearest(&mut self, c: u32) -> Option<u32> {
        let m = self.from.mechanics;
        self.slots.nearest(m, c, Class::Whole)
    }

    /// The first cylinder with a free slot at or after `c`.
    pub fn next(&mut self, c: u32) -> Option<u32> {
        let m = self.from.mechanics;
        self.slots.next(m, c, Class::Whole)
    }

    /// Whether a cylinder has a free slot.
    pub fn has(&mut self, c: u32) -> bool {
        let m = self.from.mechanics;
        self.slots.has(m, c, Class::Whole)
    }
}

/// Chooses slots.
pub trait Policy: Send + std::fmt::Debug {
    /// The slot for the next block; `None` if no whole slot is free.
    fn choose(&self, search: &mut Search) -> Option<Slot>;

    /// A slot in this cylinder was taken. `frontier` is the highest cylinder in which a slot was ever taken, and `last`
    /// the last cylinder of the disk with slots.
    fn took(&mut self, _cylinder: u32, _frontier: u32, _last: u32) {}
}

/// A slot that a policy has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(pub(in crate::mapping) Found);

plugins! {
    dyn Policy = "writing policy";
    eager: Eager, current_cylinder: CurrentCylinder, current_or_frontier: CurrentOrFrontier, append: Append
}
