//! A free slot of the cylinder under the heads; if there is none, one of the nearest cylinder with a free slot.
//!
//! # Model
//! Takes the slot of the cylinder that is reached first. The arm leaves a cylinder only when it is full, however long
//! the rotational wait is. Then it goes to the nearest cylinder with a free slot.
//! # Source
//! J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 3, explains why cylinders matter: "the
//! probability increases that we will have to leave the current cylinder".
//! # Validity
//! As for `eager`. Waits up to a turn even if a short seek would be faster.

use super::{Policy, Search, Slot};
use headstack_schema::Table;

#[derive(Debug, Table)]
#[table(model = "a free slot of the cylinder under the heads, else of the nearest one that has any")]
pub(super) struct CurrentCylinder {}

impl Policy for CurrentCylinder {
    fn choose(&self, search: &mut Search) -> Option<Slot> {
        let cylinder = search.nearest(search.from.arm.cylinder)?;
        search.soonest_of(&[cylinder])
    }
}
