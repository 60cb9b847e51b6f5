//! The free slot that the heads reach soonest, anywhere on the disk.
//!
//! # Model
//! The least sum of movement (with settling) and rotational wait over all free slots, exactly.
//! # Source
//! R. Y. Wang, T. E. Anderson, D. A. Patterson, "Virtual Log Based
//! File Systems for a Programmable Disk", OSDI 1999, section 2; J. A. Chandy, "A Dual Actuator Logging Disk
//! Architecture", section 2.
//! # Validity
//! Assumes that the drive knows its geometry and angle exactly, as its own firmware does.

use super::{Policy, Search, Slot};
use crate::plugin::{params, Plugin};
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Policy> = Plugin {
    name: "eager",
    summary: "the free slot that the heads reach soonest, anywhere on the disk",
    example: "",
    build: &|table| Ok(Box::new(params::<Eager>(table)?)),
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Eager {}

impl Policy for Eager {
    fn choose(&self, search: &mut Search) -> Option<Slot> {
        search.soonest()
    }
}
