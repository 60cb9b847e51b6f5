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
use crate::plugin::{params, taken, Plugin};
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn Policy> = Plugin {
    name: "current-cylinder",
    summary: "a free slot of the cylinder under the heads, else of the nearest one that has any",
    example: "",
    parameters: &|table| taken::<CurrentCylinder>(&[], table),
    build: &|table| Ok(Box::new(params::<CurrentCylinder>(table)?)),
};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CurrentCylinder {}

impl Policy for CurrentCylinder {
    fn choose(&self, search: &mut Search) -> Option<Slot> {
        let cylinder = search.nearest(search.here())?;
        search.soonest_of(&[cylinder])
    }
}
