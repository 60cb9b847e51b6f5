//! Shortest positioning time first, over commands and arms.
//!
//! # Model
//! The smallest sum of seek time (with settling) and rotational latency over all pairs of command and arm.
//! # Source
//! Seltzer, Chen and Ousterhout, USENIX Winter 1990; Jacobson and Wilkes, HPL-CSL-91-7.
//! # Validity
//! The prediction equals the service time, so the choice is exact. Real firmware predicts with some error.

use super::{Choice, CostFunction, Needs, Scheduler, Search, View};
use crate::parallelism::ArmChoice;
use crate::queue::Queue;
use headstack_schema::{Plugin, Table};

/// The registry entry.
pub fn plugin() -> Plugin<dyn Scheduler> {
    Plugin::<dyn Scheduler>::new(
        "sptf",
        "Shortest positioning time first, over commands and arms",
        "",
        |model: Sptf, _| Ok(Box::new(model)),
    )
}

#[derive(Table)]
struct Sptf {
    #[param(skip)]
    search: Search,
}

/// Positioning time with the arm that is examined.
struct WithArm<'a>(&'a Queue, &'a View<'a>);

impl CostFunction for WithArm<'_> {
    type Cost = u64;
    const IS_POSITIONING: bool = true;

    #[inline]
    fn of(&self, i: usize, arm: usize) -> Option<(u64, u8)> {
        let WithArm(queue, view) = self;
        let item = &queue.items()[i];
        view.reaches(arm, item).then(|| (view.cost_with(arm, item), arm as u8))
    }

    #[inline]
    fn within_ns(&self, cost: u64) -> u64 {
        cost
    }
}

/// Positioning time with the arm that would serve, which may not be the fastest.
struct WithServing<'a>(&'a Queue, &'a View<'a>);

impl CostFunction for WithServing<'_> {
    type Cost = u64;

    fn of(&self, i: usize, _arm: usize) -> Option<(u64, u8)> {
        let (cost, arm) = self.1.cost(self.0, i);
        (cost < u64::MAX).then_some((cost, arm))
    }

    fn within_ns(&self, cost: u64) -> u64 {
        cost
    }
}

impl Scheduler for Sptf {
    fn needs(&self) -> Needs {
        Needs { positions: true, ..Needs::default() }
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let found = if view.arm_choice == ArmChoice::Positioning {
            self.search.best(queue, view, &WithArm(queue, view))
        } else {
            self.search.best(queue, view, &WithServing(queue, view))
        };
        found.unwrap_or(Choice { index: queue.oldest(), arm: 0 })
    }
}
