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
use headstack_schema::Table;
use headstack_units::Span;

#[derive(Table)]
#[table(model = "Shortest positioning time first, over commands and arms")]
pub(super) struct Sptf {
    #[param(skip)]
    search: Search,
}

/// Positioning time; `PAIRS` as for [`View::positioning`].
struct Positioning<'a, const PAIRS: bool>(&'a Queue, &'a View<'a>);

impl<const PAIRS: bool> CostFunction for Positioning<'_, PAIRS> {
    type Cost = Span;
    const IS_POSITIONING: bool = PAIRS;

    #[inline]
    fn of(&self, i: usize, arm: usize) -> Option<(Span, u8)> {
        self.1.positioning::<PAIRS>(self.0, i, arm)
    }

    #[inline]
    fn within(&self, cost: Span) -> Span {
        cost
    }
}

impl Scheduler for Sptf {
    fn needs(&self) -> Needs {
        Needs { positions: true, ..Needs::default() }
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let found = if view.arm_choice == ArmChoice::Positioning {
            self.search.best(queue, view, &Positioning::<true>(queue, view))
        } else {
            self.search.best(queue, view, &Positioning::<false>(queue, view))
        };
        found.unwrap_or(Choice::oldest(queue))
    }
}
