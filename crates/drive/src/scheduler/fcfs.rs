//! First come, first served.
//!
//! # Model
//! The command that has waited longest is next.
//! # Source
//! The order of arrival; DiskSim policy 1.
//! # Validity
//! Exact: no prediction is involved.

use super::{Choice, Needs, Scheduler, View};
use crate::queue::Queue;
use headstack_schema::Table;

#[derive(Table)]
#[table(model = "First come, first served")]
pub(super) struct Fcfs {}

impl Scheduler for Fcfs {
    fn needs(&self) -> Needs {
        Needs { only_oldest: true, ..Needs::default() }
    }

    #[inline]
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let index = queue.oldest();
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
