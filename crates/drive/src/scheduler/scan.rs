//! SCAN: sweeps in address order, turns at the edge of the stroke.
//!
//! # Model
//! The order of LOOK. If no command lies ahead, the arm moves on to the last cylinder (sweeping up) or to
//! cylinder 0 (sweeping down) before it seeks the first command of the other direction.
//! # Source
//! Denning, AFIPS 1967; schedule and head movement as in Silberschatz, Galvin and Gagne,
//! "Operating System Concepts", section on SCAN scheduling.
//! # Validity
//! Ignores rotation. An arm without commands stays where it is. The movement to the edge takes place, and is
//! charged, when a command requires the change of direction; commands served by the buffer do not. The edges
//! assume layouts whose addresses rise with the cylinders.

use super::look::Sweep;
use super::{Choice, Needs, Scheduler, View};
use crate::queue::Queue;
use headstack_schema::Table;

#[derive(Table)]
#[table(model = "SCAN: sweeps in address order, turns at the edge of the stroke")]
pub(super) struct Scan {
    #[param(flatten)]
    sweep: Sweep,
    /// The edge at which the last pick changed direction.
    #[param(skip)]
    edge: Option<u32>,
}

impl Scheduler for Scan {
    fn needs(&self) -> Needs {
        self.sweep.needs()
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let before = self.sweep.downward;
        let choice = self.sweep.pick(queue, view);
        let edge = if before { 0 } else { view.mechanics.seek.positions() - 1 };
        self.edge = (self.sweep.downward != before).then_some(edge);
        choice
    }

    fn reversal_cylinder(&mut self) -> Option<u32> {
        self.edge.take()
    }

    fn picks_lone(&self) -> bool {
        true
    }
}
