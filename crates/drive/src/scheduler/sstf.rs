//! Shortest seek time first, by cylinder.
//!
//! # Model
//! The command whose cylinder is nearest to an arm; among equals the oldest.
//! # Source
//! Denning, AFIPS 1967; DiskSim policy 7.
//! # Validity
//! Ignores rotation; starves the edges under load.

use super::{least, Choice, Scheduler, View};
use crate::plugin::{params, Plugin};
use crate::queue::Queue;
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "sstf",
    summary: "Shortest seek time first, by cylinder",
    example: "",
    build: |table| Ok(Box::new(params::<Sstf>(table)?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sstf {}

impl Scheduler for Sstf {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let index = least(queue, |i| {
            let cylinder = queue.keys()[i].cylinder;
            view.arms.iter().map(|a| a.cylinder.abs_diff(cylinder)).min().unwrap_or(0)
        });
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
