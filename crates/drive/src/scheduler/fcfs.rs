//! First come, first served.
//!
//! # Model
//! The command that has waited longest is next.
//! # Source
//! The order of arrival; DiskSim policy 1.
//! # Validity
//! Exact: no prediction is involved.

use super::{Choice, Needs, Scheduler, View};
use crate::plugin::{params, taken, Plugin};
use crate::queue::Queue;
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "fcfs",
    summary: "First come, first served",
    example: "",
    parameters: &|table| taken::<Fcfs>(&[], table),
    build: &|table| Ok(Box::new(params::<Fcfs>(table)?)),
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Fcfs {}

impl Scheduler for Fcfs {
    fn needs(&self) -> Needs {
        Needs {
            only_oldest: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let index = queue.oldest();
        Choice {
            index,
            arm: view.best_arm(queue, index),
        }
    }
}
