//! A free slot of the cylinder under the heads, else one at the frontier of the written area.
//!
//! # Model
//! Within a cylinder the slot that is reached soonest. When the cylinder under the heads is full, the arm
//! goes to the first cylinder with a free slot from the highest one written so far on. When there is none,
//! it takes the slot of the whole disk that is reached soonest.
//! # Source
//! A reading of J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 2: writes go near the
//! present position, and new data extend the active area.
//! # Validity
//! As for `eager`.

use super::{Policy, Search, Slot, Ties};
use crate::plugin::{params, taken, Plugin};
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn Policy> = Plugin {
    name: "current-or-frontier",
    summary: "a free slot of the cylinder under the heads, else one behind the written area",
    example: "",
    parameters: &|table| taken::<CurrentOrFrontier>(&[], table),
    build: &|table| Ok(Box::new(params::<CurrentOrFrontier>(table)?)),
};

#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CurrentOrFrontier {}

impl Policy for CurrentOrFrontier {
    fn choose(&self, search: &mut Search) -> Option<Slot> {
        let here = search.here();
        let cylinder = match search.has(here) {
            true => Some(here),
            false => search.next(search.frontier()),
        };
        let found = match cylinder {
            Some(c) => search.soonest_of(&[c]),
            None => search.soonest(Ties::Nearest),
        };
        found
    }
}
