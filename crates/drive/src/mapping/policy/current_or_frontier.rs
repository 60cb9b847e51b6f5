//! A free slot of the cylinder under the heads; if there is none, one at the frontier of the written area.
//!
//! # Model
//! Takes the slot of the cylinder that is reached first. When the cylinder under the heads is full, the arm goes to the
//! frontier: the first cylinder with a free slot, starting at the highest one written so far. If there is none, the
//! policy takes the slot of the whole disk that is reached first.
//! # Source
//! A reading of J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 2: writes go near the
//! present position, and new data extend the active area.
//! # Validity
//! As for `eager`.

use super::{Policy, Search, Slot, Ties};
use headstack_schema::Table;

#[derive(Debug, Table)]
#[table(model = "a free slot of the cylinder under the heads, else one behind the written area")]
pub(super) struct CurrentOrFrontier {}

impl Policy for CurrentOrFrontier {
    fn choose(&self, search: &mut Search) -> Option<Slot> {
        let here = search.from.arm.cylinder;
        let cylinder = if search.has(here) { Some(here) } else { search.next(search.frontier) };
        match cylinder {
            Some(c) => search.soonest_of(&[c]),
            None => search.soonest(Ties::Nearest),
        }
    }
}
