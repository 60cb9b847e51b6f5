//! The free slot of the whole disk that the heads reach first.
//!
//! # Model
//! Takes the slot with the smallest sum of movement, settling and rotational wait among all free slots. The result is
//! exact.
//!
//! Slots of many cylinders pass at the same moment. `ties` says which of them is taken. `nearest` keeps the written
//! area dense. `any` leaves holes in it, where later writes find slots.
//! # Source
//! R. Y. Wang, T. E. Anderson, D. A. Patterson, "Virtual Log Based
//! File Systems for a Programmable Disk", OSDI 1999, section 2; J. A. Chandy, "A Dual Actuator Logging Disk
//! Architecture", section 2.
//! # Validity
//! Assumes that the drive knows its geometry and angle exactly, as its own firmware does.

use super::{Policy, Search, Slot, Ties};
use headstack_schema::Table;

#[derive(Debug, Table)]
#[table(model = "the free slot that the heads reach soonest, anywhere on the disk", example = "ties = \"nearest\"")]
pub(super) struct Eager {
    /// Which of several slots is taken if they pass at the same time.
    #[param(default)]
    ties: Ties,
}

impl Policy for Eager {
    fn choose(&self, search: &mut Search) -> Option<Slot> {
        search.soonest(self.ties)
    }
}
