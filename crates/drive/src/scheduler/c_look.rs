//! C-LOOK: sweeps up in address order, then back to the lowest.
//!
//! # Model
//! The smallest address at or after the end of the last command, else the smallest address.
//! # Source
//! DiskSim policy 3 (CYCLE_LBN); Worthington, Ganger and Patt, SIGMETRICS 1994.
//! # Validity
//! Ignores rotation; fair to all addresses.

use super::{least, Choice, Scheduler, View};
use crate::plugin::{params, Plugin};
use crate::queue::Queue;
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "c-look",
    summary: "C-LOOK: sweeps up in address order, then back to the lowest",
    example: "",
    build: |table| Ok(Box::new(params::<CLook>(table)?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CLook {}

impl Scheduler for CLook {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        // Addresses behind the sweep come after all those ahead of it.
        let index = least(queue, |i| queue.items()[i].sector.wrapping_sub(view.last_end));
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
