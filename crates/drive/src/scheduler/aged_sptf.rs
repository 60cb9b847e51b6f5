//! Aged SPTF: waiting makes a command cheaper.
//!
//! # Model
//! The smallest value of positioning time minus weight times age.
//! # Source
//! Seltzer, Chen and Ousterhout, USENIX Winter 1990; Jacobson and Wilkes, HPL-CSL-91-7 (aged SATF); DiskSim policy 14 with weight = w / 1000.
//! # Validity
//! Linear ageing; weight 0 is SPTF, a large weight is FCFS.

use super::{least, Choice, Scheduler, View};
use crate::error::SpecError;
use crate::plugin::{params, Plugin};
use crate::queue::Queue;
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "aged-sptf",
    summary: "Aged SPTF: waiting makes a command cheaper",
    example: "weight = 0.05",
    build: |table| {
        let model: AgedSptf = params(table)?;
        if !(model.weight >= 0.0 && model.weight.is_finite()) {
            return Err(SpecError::new("weight", model.weight, "a finite number, 0 or more"));
        }
        Ok(Box::new(model))
    },
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AgedSptf {
    /// Positioning time that one unit of waiting is worth.
    #[serde(default = "default_weight")]
    weight: f64,
}

fn default_weight() -> f64 {
    0.006
}

impl Scheduler for AgedSptf {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let index = least(queue, |i| {
            let age = view.now.saturating_sub(queue.items()[i].arrival.at);
            view.cost(queue, i).0 as f64 - self.weight * age as f64
        });
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
