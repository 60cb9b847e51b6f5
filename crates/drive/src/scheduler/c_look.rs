//! C-LOOK: sweeps up in address order, then back to the lowest.
//!
//! # Model
//! The smallest address at or after the end of the last command, else the smallest address.
//! # Source
//! DiskSim policy 3 (CYCLE_LBN); Worthington, Ganger and Patt, SIGMETRICS 1994.
//! # Validity
//! Ignores rotation. No address is starved.

use super::{least, Addresses, Choice, Needs, Scheduler, View};
use crate::queue::Queue;
use headstack_schema::Table;

#[derive(Table)]
#[table(model = "C-LOOK: sweeps up in address order, then back to the lowest")]
pub(super) struct CLook {}

impl Scheduler for CLook {
    fn needs(&self) -> Needs {
        Needs { addresses: Addresses::All, ..Needs::default() }
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        // Addresses behind the sweep wrap around to come after those ahead of it.
        let ahead = |i: usize| queue.items[i].sector.wrapping_sub(view.last_end);
        let found = queue.by_address().and_then(|o| o.first_from(view.last_end).or_else(|| o.first_from(0)));
        let index = found.unwrap_or_else(|| least(queue, ahead));
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
