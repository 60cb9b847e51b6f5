//! Appends to the written area: takes a free slot of its last cylinder or of the next one.
//!
//! # Model
//! Takes the slot that is reached first in the last active cylinder and the next one with a free slot. When a slot of
//! the second is taken, that one becomes the last active cylinder. Slots that become free in earlier cylinders are not
//! used until the end of the disk is reached. From then on the policy takes the slot that is reached first, like
//! `eager`.
//! # Source
//! J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 3: "the write head is always on the
//! last active cylinder".
//! # Validity
//! The written area grows until it fills the disk, so reads travel farther than with `eager`.

use super::{Policy, Search, Slot, Ties};
use headstack_schema::Table;

#[derive(Debug, Table)]
#[table(model = "the end of the written area: its last cylinder or the next one")]
pub(super) struct Append {
    /// Whether the end of the disk has been reached.
    #[param(skip)]
    at_end: bool,
}

impl Policy for Append {
    fn choose(&self, search: &mut Search) -> Option<Slot> {
        if self.at_end {
            return search.soonest(Ties::Nearest);
        }
        let last = search.frontier;
        let found = match search.next(last + 1) {
            Some(next) => search.soonest_of(&[last, next]),
            None => search.soonest_of(&[last]),
        };
        found.or_else(|| search.soonest(Ties::Nearest))
    }

    fn took(&mut self, _cylinder: u32, frontier: u32, last: u32) {
        self.at_end |= frontier == last;
    }
}
