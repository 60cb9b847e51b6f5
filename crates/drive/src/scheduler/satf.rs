//! Shortest access time first: positioning and transfer, buffer hits first.
//!
//! # Model
//! The smallest sum of positioning time and transfer time. With `cache_aware` (the default), a command that
//! the buffer can serve, or that continues the read-ahead in progress, has an access time of zero.
//! # Source
//! Jacobson and Wilkes, HPL-CSL-91-7; Worthington, Ganger and Patt, SIGMETRICS 1994 (cache awareness).
//! # Validity
//! All sectors are assumed to transfer at the rate of the first one's track.

use super::{Addresses, Choice, CostFunction, Needs, Scheduler, Search, View};
use crate::queue::Queue;
use headstack_schema::Table;
use headstack_units::Span;

#[derive(Table)]
#[table(
    model = "Shortest access time first: positioning and transfer, buffer hits first",
    example = "cache_aware = true"
)]
pub(super) struct Satf {
    /// Whether commands that the buffer can serve count as free.
    #[param(default = true)]
    cache_aware: bool,
    #[param(skip)]
    search: Search,
}

/// Positioning time plus transfer time.
struct Access<'a>(&'a Queue, &'a View<'a>);

impl CostFunction for Access<'_> {
    type Cost = Span;

    fn of(&self, i: usize, arm: usize) -> Option<(Span, u8)> {
        let (cost, arm) = self.1.positioning::<false>(self.0, i, arm)?;
        Some((cost + self.0.items[i].transfer_time(), arm))
    }

    fn within(&self, cost: Span) -> Span {
        cost - self.0.least_transfer_time()
    }
}

/// What an order by positioning time needs, which may serve first what the buffer has.
pub(super) fn needs_of(cache_aware: bool) -> Needs {
    Needs {
        positions: true,
        addresses: if cache_aware { Addresses::Reads } else { Addresses::None },
        ..Needs::default()
    }
}

/// The oldest command that the buffer serves, as a choice.
#[inline]
pub(super) fn served_choice(queue: &Queue, view: &View) -> Option<Choice> {
    let index = oldest_served(queue, view)?;
    Some(Choice { index, arm: view.best_arm(queue, index) })
}

/// The oldest command that the buffer serves. Two searches run in step: one through the commands in order of
/// age, one through the commands that begin in a range that the buffer holds. The one that ends first
/// decides. So the search is short whether there are many such commands or few.
fn oldest_served(queue: &Queue, view: &View) -> Option<usize> {
    if view.buffer.is_empty() {
        return None;
    }
    let serves = |i: usize| view.buffer.serves(&queue.items[i]);
    // Of commands that arrived together, the one with the lowest id.
    let first_of_equals = |i: usize, later: &mut dyn Iterator<Item = usize>| {
        let mut best = i;
        if queue.mixed_ids {
            let arrival = |i: usize| queue.items[i].arrival.at;
            for j in later.take_while(|j| arrival(*j) == arrival(i)) {
                if queue.older(j, best) && serves(j) {
                    best = j;
                }
            }
        }
        best
    };
    let mut ages = queue.by_age();
    let Some(order) = queue.by_address() else {
        let first = ages.find(|i| serves(*i))?;
        return Some(first_of_equals(first, &mut ages));
    };
    let mut ranges = Vec::new();
    view.buffer.ranges(&mut |range| ranges.push(range));
    let mut inside = ranges.into_iter().flat_map(|range| order.within(range));
    let mut found: Option<usize> = None;
    loop {
        let i = ages.next()?;
        if serves(i) {
            return Some(first_of_equals(i, &mut ages));
        }
        let Some(i) = inside.next() else { return found };
        if found.is_none_or(|f| queue.older(i, f)) && serves(i) {
            found = Some(i);
        }
    }
}

impl Scheduler for Satf {
    fn needs(&self) -> Needs {
        needs_of(self.cache_aware)
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        if self.cache_aware {
            if let Some(choice) = served_choice(queue, view) {
                return choice;
            }
        }
        let found = self.search.best(queue, view, &Access(queue, view));
        found.unwrap_or(Choice::oldest(queue))
    }
}
