//! LOOK: sweeps in address order, turns at the last command.
//!
//! # Model
//! The smallest address at or after the end of the last command while sweeping up, the largest before it while sweeping down; turns where none is left.
//! # Source
//! Merten 1970; DiskSim policy 2 (ELEVATOR_LBN).
//! # Validity
//! Ignores rotation.

use super::{least, Choice, Scheduler, View};
use crate::plugin::{params, Plugin};
use crate::queue::Queue;
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "look",
    summary: "LOOK: sweeps in address order, turns at the last command",
    example: "",
    build: |table| Ok(Box::new(params::<Sweep>(table)?)),
};

/// A sweep in address order.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    #[serde(skip)]
    downward: bool,
}

impl Sweep {
    /// Whether the sweep goes down.
    pub(super) fn downward(&self) -> bool {
        self.downward
    }
}

impl Scheduler for Sweep {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        // A drive that has served nothing yet stands at its first sector.
        let from = if view.last_end >= u64::MAX - 1 { 0 } else { view.last_end };
        for _ in 0..2 {
            let downward = self.downward;
            let index = least(queue, |i| {
                let sector = queue.items()[i].sector;
                if downward {
                    if sector < from { from - sector } else { u64::MAX }
                } else if sector >= from {
                    sector - from
                } else {
                    u64::MAX
                }
            });
            let ahead = queue.items()[index].sector >= from;
            if ahead != downward {
                return Choice { index, arm: view.best_arm(queue, index) };
            }
            self.downward = !downward;
        }
        let index = queue.oldest();
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
