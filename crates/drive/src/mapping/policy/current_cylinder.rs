//! A free slot of the cylinder under the heads, else one of the nearest cylinder that has any.
//!
//! # Model
//! Within the cylinder the slot that is reached soonest. The arm leaves a cylinder only when it is full,
//! whatever the rotational wait there; then it goes to the nearest one with a free slot.
//! # Source
//! The explanation in J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 3, of why cylinders
//! matter: "the probability increases that we will have to leave the current cylinder".
//! # Validity
//! As for `eager`. Waits up to a turn where a short seek would be faster.

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
