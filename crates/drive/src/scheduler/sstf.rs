//! Shortest seek time first, by cylinder.
//!
//! # Model
//! The command whose cylinder is nearest to an arm; among equals the oldest.
//! # Source
//! Denning, AFIPS 1967; DiskSim policy 7.
//! # Validity
//! Ignores rotation. Under load, commands near the edges starve.

use super::{least, least_of, nearest, Choice, Needs, Scheduler, View};
use crate::queue::Queue;
use headstack_schema::Table;

#[derive(Table)]
#[table(model = "Shortest seek time first, by cylinder")]
pub(super) struct Sstf {}

impl Scheduler for Sstf {
    fn needs(&self) -> Needs {
        Needs { cylinders: true, ..Needs::default() }
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let distance = |i: usize| {
            let cylinder = queue.items[i].place.cylinder;
            let arms = view.arms.iter();
            arms.map(|a| a.cylinder.abs_diff(cylinder)).min()
        };
        let found = queue.by_cylinder().and_then(|order| {
            let arms = view.arms.iter();
            let near = arms.flat_map(|a| nearest(order, a.cylinder)).flatten();
            least_of(queue, near, distance)
        });
        let index = found.unwrap_or_else(|| least(queue, distance));
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
