//! Shortest positioning time first, over commands and arms.
//!
//! # Model
//! The smallest sum of seek (settling included) and rotational wait over all pairs of command and arm.
//! # Source
//! Seltzer, Chen and Ousterhout, USENIX Winter 1990; Jacobson and Wilkes, HPL-CSL-91-7.
//! # Validity
//! The prediction is what service takes, so the choice is exact; real firmware predicts with some error.

use super::{Choice, Scheduler, View};
use crate::plugin::{params, Plugin};
use crate::queue::Queue;
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "sptf",
    summary: "Shortest positioning time first, over commands and arms",
    example: "",
    build: |table| Ok(Box::new(params::<Sptf>(table)?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sptf {}

impl Scheduler for Sptf {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        view.soonest(queue)
    }
}
