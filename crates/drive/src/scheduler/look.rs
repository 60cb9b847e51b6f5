//! LOOK: sweeps in address order, turns at the last command.
//!
//! # Model
//! While sweeping up: the smallest address at or after the end of the last command. While sweeping down: the
//! largest address before it. If there is none, the direction changes.
//! # Source
//! Merten 1970; DiskSim policy 2 (ELEVATOR_LBN).
//! # Validity
//! Ignores rotation.

use super::{least, Addresses, Choice, Needs, Scheduler, View};
use crate::queue::Queue;
use headstack_schema::Table;

/// A sweep in address order.
#[derive(Table)]
#[table(model = "LOOK: sweeps in address order, turns at the last command")]
pub(super) struct Sweep {
    #[param(skip)]
    pub(super) downward: bool,
}

impl Sweep {
    /// The nearest command in the direction of the sweep, from address `from`.
    fn ahead(&self, queue: &Queue, from: u64) -> Option<usize> {
        if let Some(order) = queue.by_address() {
            return if self.downward { order.last_before(from) } else { order.first_from(from) };
        }
        let sector = |i: usize| queue.items[i].sector;
        let index = least(queue, |i| match (self.downward, sector(i) < from) {
            (true, true) => from - sector(i),
            (false, false) => sector(i) - from,
            _ => u64::MAX,
        });
        ((sector(index) < from) == self.downward).then_some(index)
    }
}

impl Scheduler for Sweep {
    fn needs(&self) -> Needs {
        Needs { addresses: Addresses::All, ..Needs::default() }
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        // A drive that has served nothing yet starts at sector 0.
        let from = if view.last_end >= u64::MAX - 1 { 0 } else { view.last_end };
        let mut found = self.ahead(queue, from);
        if found.is_none() {
            self.downward = !self.downward;
            found = self.ahead(queue, from);
        }
        let index = found.unwrap_or(queue.oldest());
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
