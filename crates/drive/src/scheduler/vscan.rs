//! V(R): SSTF with a penalty for changing direction.
//!
//! # Model
//! The command with the smallest distance in cylinders. `R` times the stroke is added to a distance against
//! the direction of movement.
//! # Source
//! Geist and Daniel, ACM TOCS 5(1), 1987.
//! # Validity
//! R = 0 is SSTF, R = 1 is SCAN. DiskSim 4.0 sets R but never applies it.

use super::{least, least_of, nearest, Choice, Needs, Scheduler, View};
use crate::queue::Queue;
use headstack_schema::Table;

#[derive(Table)]
#[table(model = "V(R): SSTF with a penalty for turning round", example = "r = 0.2")]
pub(super) struct VScan {
    /// Penalty for changing direction, as a share of the stroke: 0 is SSTF, 1 is SCAN.
    #[param(default = 0.2, range = 0.0..=1.0)]
    r: f64,
    #[param(skip)]
    downward: bool,
}

impl Scheduler for VScan {
    fn needs(&self) -> Needs {
        Needs { cylinders: true, ..Needs::default() }
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let penalty = self.r * view.mechanics.seek.positions() as f64;
        let downward = self.downward;
        let here = view.arms[0].cylinder;
        let cylinder = |i: usize| queue.items[i].place.cylinder;
        let price = |i: usize| {
            let cylinder = cylinder(i);
            let back = cylinder != here && (cylinder < here) != downward;
            cylinder.abs_diff(here) as f64 + if back { penalty } else { 0.0 }
        };
        let found = queue.by_cylinder().and_then(|order| {
            let near = nearest(order, here).into_iter().flatten();
            least_of(queue, near, price)
        });
        let index = found.unwrap_or_else(|| least(queue, price));
        if cylinder(index) != here {
            self.downward = cylinder(index) < here;
        }
        Choice { index, arm: view.best_arm(queue, index) }
    }
}
