//! Aged SPTF: positioning time, reduced with age.
//!
//! # Model
//! The smallest value of positioning time minus weight times age. With `estimate_deviation` the scheduler knows
//! positioning times only about: an error with that standard deviation is added to each at each choice. It is the
//! sum of four even errors, so it never exceeds 3.5 deviations, and depends on the time and the command alone.
//! # Source
//! Seltzer, Chen and Ousterhout, USENIX Winter 1990; Jacobson and Wilkes, HPL-CSL-91-7 (aged SATF); DiskSim policy 14
//! with weight = w / 1000. The error is ours: firmware predicts imperfectly.
//! # Validity
//! Ageing is linear. Weight 0 is SPTF; a large weight is FCFS.

use super::urgency::BesideLimits;
use super::{Choice, CostFunction, Needs, Scheduler, Search, View};
use crate::limits::Deadlines;
use crate::parallelism::ArmChoice;
use crate::queue::Queue;
use headstack_schema::Table;
use headstack_units::{Span, Time};

/// Far more than any time differs from any other: the order of arrival.
const MOST_WEIGHT: f64 = 1e15;

/// Largest standard deviation of the estimate.
const MOST_ERROR: Span = Span(1_000_000_000);

#[derive(Table)]
#[table(model = "Aged SPTF: waiting makes a command cheaper", example = "weight = 0.05")]
pub(super) struct AgedSptf {
    /// How much positioning time a unit of waiting time outweighs; no unit.
    #[param(default = 0.006, range = 0.0..=MOST_WEIGHT)]
    weight: f64,
    /// Standard deviation of the error of estimated positioning times; 0: none.
    #[param(default, range = Span::ZERO..=MOST_ERROR)]
    estimate_deviation: Span,
    #[param(skip)]
    search: Search,
}

/// A number with mean 0 and standard deviation 1, about normal, that depends on a time and a command alone.
#[doc(hidden)]
pub fn error_of(now: Time, id: u64) -> f64 {
    // Two rounds of splitmix64's mixing.
    let mut z = now.0 ^ id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
    }
    let even = (0..4).map(|i| z >> (16 * i) & 0xffff).sum::<u64>();
    // Four even numbers of [0, 1) have mean 2 and variance 4 / 12.
    (even as f64 / 65_536.0 - 2.0) * 3f64.sqrt()
}

/// Positioning time minus weighted age, in nanoseconds; `PAIRS` as for [`View::positioning`].
struct Aged<'a, const PAIRS: bool> {
    queue: &'a Queue,
    view: &'a View<'a>,
    weight: f64,
}

impl<const PAIRS: bool> Aged<'_, PAIRS> {
    /// Weighted age of a command, in nanoseconds.
    #[inline]
    fn worth(&self, i: usize) -> f64 {
        let arrival = self.queue.items[i].arrival.at;
        self.weight * self.view.now.since(arrival).0 as f64
    }
}

impl<const PAIRS: bool> CostFunction for Aged<'_, PAIRS> {
    type Cost = f64;
    const IS_POSITIONING: bool = PAIRS;
    const IS_AGED: bool = true;

    #[inline]
    fn weight(&self) -> f64 {
        self.weight
    }

    #[inline]
    fn of(&self, i: usize, arm: usize) -> Option<(f64, u8)> {
        let (cost, arm) = self.view.positioning::<PAIRS>(self.queue, i, arm)?;
        Some((cost.0 as f64 - self.worth(i), arm))
    }

    #[inline]
    fn within(&self, cost: f64) -> Span {
        // One nanosecond is added for rounding, and the rounding of the sum itself.
        let most = self.worth(self.queue.oldest());
        let sum = cost + most + most * 1e-15 + 2.0;
        if sum.is_finite() {
            Span(sum.max(0.0) as i64)
        } else {
            Span::FOREVER
        }
    }

    fn floor_by_age(&self, i: usize, span: Span) -> Option<f64> {
        Some(span.0 as f64 - self.worth(i))
    }
}

/// The command whose positioning time less `weight` times its age is least, the oldest of equal ones; the oldest of all
/// if no free arm reaches any.
#[inline]
pub(super) fn choose(search: &mut Search, queue: &Queue, view: &View, weight: f64) -> Choice {
    let found = if view.arm_choice == ArmChoice::Positioning {
        let price: Aged<'_, true> = Aged { queue, view, weight };
        search.best(queue, view, &price)
    } else {
        let price: Aged<'_, false> = Aged { queue, view, weight };
        search.best(queue, view, &price)
    };
    found.unwrap_or(Choice::oldest(queue))
}

/// As [`Aged`], but waiting makes commands with a limit no cheaper, and the time that they have left makes them dearer.
struct AgedBeside<'a> {
    aged: Aged<'a, false>,
    deadlines: Deadlines<'a>,
    order: &'a BesideLimits,
}

impl CostFunction for AgedBeside<'_> {
    type Cost = f64;
    const IS_AGED: bool = true;

    fn weight(&self) -> f64 {
        self.aged.weight
    }

    fn of(&self, i: usize, arm: usize) -> Option<(f64, u8)> {
        let (cost, arm) = self.aged.of(i, arm)?;
        let Some(target) = self.deadlines.of(i) else { return Some((cost, arm)) };
        let left = self.order.urgency.wait_ns(target, self.aged.view.now);
        let slack = self.order.slack_weight * left.max(0.0);
        Some((cost + self.aged.worth(i) + slack, arm))
    }

    fn within(&self, cost: f64) -> Span {
        self.aged.within(cost)
    }

    fn floor_by_age(&self, i: usize, span: Span) -> Option<f64> {
        self.aged.floor_by_age(i, span)
    }
}

/// As [`choose`], with commands of which some have limits, by the prices of [`AgedBeside`].
#[doc(hidden)]
#[inline]
pub fn choose_beside(
    search: &mut Search,
    queue: &Queue,
    view: &View,
    (deadlines, order): (Deadlines, &BesideLimits),
) -> Choice {
    let price = AgedBeside { aged: Aged { queue, view, weight: order.weight }, deadlines, order };
    let found = search.best(queue, view, &price);
    found.unwrap_or(Choice::oldest(queue))
}

/// As [`Aged`], with the error of the estimate.
struct Estimated<'a> {
    aged: Aged<'a, false>,
    deviation_ns: f64,
}

impl Estimated<'_> {
    /// The most by which an estimate is too short: that of an [`error_of`] whose four even numbers are 0.
    fn most_ns(&self) -> f64 {
        self.deviation_ns * 2.0 * 3f64.sqrt()
    }
}

impl CostFunction for Estimated<'_> {
    type Cost = f64;
    const IS_AGED: bool = true;

    fn weight(&self) -> f64 {
        self.aged.weight
    }

    fn of(&self, i: usize, arm: usize) -> Option<(f64, u8)> {
        let (cost, arm) = self.aged.of(i, arm)?;
        let id = self.aged.queue.items[i].request.id;
        let error = error_of(self.aged.view.now, id);
        Some((cost + self.deviation_ns * error, arm))
    }

    fn within(&self, cost: f64) -> Span {
        self.aged.within(cost + self.most_ns())
    }

    fn floor_by_age(&self, i: usize, span: Span) -> Option<f64> {
        let floor = self.aged.floor_by_age(i, span)?;
        Some(floor - self.most_ns())
    }
}

impl Scheduler for AgedSptf {
    fn needs(&self) -> Needs {
        Needs { positions: true, ..Needs::default() }
    }

    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        let deviation_ns = self.estimate_deviation.0 as f64;
        if deviation_ns == 0.0 {
            return choose(&mut self.search, queue, view, self.weight);
        }
        let price = Estimated { aged: Aged { queue, view, weight: self.weight }, deviation_ns };
        let found = self.search.best(queue, view, &price);
        found.unwrap_or(Choice::oldest(queue))
    }
}
