//! Shortest access time first: positioning and transfer, buffer hits first.
//!
//! # Model
//! The smallest sum of positioning time and transfer time; with cache_aware (default) a command that
//! the buffer can serve, or that goes on with the read-ahead in progress, costs nothing.
//! # Source
//! Jacobson and Wilkes, HPL-CSL-91-7; Worthington, Ganger and Patt, SIGMETRICS 1994 (cache awareness).
//! # Validity
//! Transfer counts the sectors of the first track run and the rest at the same rate.

use super::{least, Choice, Scheduler, View};
use crate::plugin::{params, Plugin};
use crate::queue::Queue;
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "satf",
    summary: "Shortest access time first: positioning and transfer, buffer hits first",
    example: "cache_aware = true",
    build: |table| Ok(Box::new(params::<Satf>(table)?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Satf {
    /// Commands that the buffer can serve cost nothing.
    #[serde(default = "yes")]
    cache_aware: bool,
}

fn yes() -> bool {
    true
}

impl Scheduler for Satf {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let index = least(queue, |i| {
            if self.cache_aware && (view.hit)(i) {
                return 0;
            }
            let item = &queue.items()[i];
            let transfer = (item.count as f64 * item.place.sector_ns) as u64;
            1 + view.cost(queue, i).0 + transfer
        });
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
