//! Aged SPTF: positioning time, reduced with age.
//!
//! # Model
//! The smallest value of positioning time minus weight times age.
//! # Source
//! Seltzer, Chen and Ousterhout, USENIX Winter 1990; Jacobson and Wilkes, HPL-CSL-91-7 (aged SATF); DiskSim policy 14 with weight = w / 1000.
//! # Validity
//! Ageing is linear. Weight 0 is SPTF; a large weight is FCFS.

use super::{Choice, Needs, Price, Scheduler, Search, View};
use crate::plugin::{params, taken, Plugin};
use crate::queue::Queue;
use headstack_engine::SpecError;
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "aged-sptf",
    summary: "Aged SPTF: waiting makes a command cheaper",
    example: "weight = 0.05",
    parameters: &|table| taken::<AgedSptf>(&[], table),
    build: &|table| {
        let model: AgedSptf = params(table)?;
        if !(model.weight >= 0.0 && model.weight.is_finite()) {
            return Err(SpecError::new(
                "weight",
                model.weight,
                "a finite number, 0 or more",
            ));
        }
        Ok(Box::new(model))
    },
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct AgedSptf {
    /// How much positioning time a unit of waiting time outweighs; no unit.
    #[serde(default = "default_weight")]
    weight: f64,
    #[serde(skip)]
    search: Search,
}

fn default_weight() -> f64 {
    0.006
}

/// Positioning time minus weighted age, in nanoseconds.
struct Aged<'a> {
    queue: &'a Queue,
    view: &'a View<'a>,
    weight: f64,
}

impl Aged<'_> {
    /// Weighted age of a command, in nanoseconds.
    fn worth(&self, i: usize) -> f64 {
        let age = self
            .view
            .now
            .saturating_sub(self.queue.items()[i].arrival.at);
        self.weight * age as f64
    }
}

impl Price for Aged<'_> {
    type Cost = f64;

    fn of(&self, i: usize, _arm: usize) -> Option<(f64, u8)> {
        let (cost, arm) = self.view.cost(self.queue, i);
        (cost < u64::MAX).then(|| (cost as f64 - self.worth(i), arm))
    }

    fn within_ns(&self, cost: f64) -> u64 {
        // One nanosecond is added for rounding, and the rounding of the sum itself.
        let most = self.worth(self.queue.oldest());
        let sum = cost + most + most * 1e-15 + 2.0;
        if sum.is_finite() {
            sum as u64
        } else {
            u64::MAX
        }
    }

    fn floor_by_age(&self, i: usize, ns: u64) -> Option<f64> {
        Some(ns as f64 - self.worth(i))
    }
}

impl Scheduler for AgedSptf {
    fn needs(&self) -> Needs {
        Needs {
            positions: true,
            ..Needs::default()
        }
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let weight = self.weight;
        let price = Aged {
            queue,
            view,
            weight,
        };
        let found = self.search.best(queue, view, &price);
        found.unwrap_or(Choice {
            index: queue.oldest(),
            arm: 0,
        })
    }
}
