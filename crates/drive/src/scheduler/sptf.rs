//! Shortest positioning time first, over commands and arms.
//!
//! # Model
//! The smallest sum of seek (settling included) and rotational wait over all pairs of command and arm.
//! # Source
//! Seltzer, Chen and Ousterhout, USENIX Winter 1990; Jacobson and Wilkes, HPL-CSL-91-7.
//! # Validity
//! The prediction is what service takes, so the choice is exact; real firmware predicts with some error.

use super::{least, Choice, Scheduler, View};
use crate::mechanics::Mechanics;
use crate::parallelism::ArmChoice;
use crate::plugin::{params, Plugin};
use crate::queue::{Index, Queue};
use serde::Deserialize;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "sptf",
    summary: "Shortest positioning time first, over commands and arms",
    example: "",
    build: |table| Ok(Box::new(params::<Sptf>(table)?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sptf {
    /// The farthest movement, in cylinders, that takes no longer than so many slots of
    /// `1 << SLOT_SHIFT` ns and a part of the next one. Made at the first choice.
    #[serde(skip)]
    reach: Vec<u32>,
}

/// A slot of [`Sptf::reach`] is 33 us.
const SLOT_SHIFT: u32 = 15;

impl Scheduler for Sptf {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        // Another arm than the fastest may serve: then the seek is no lower bound of the rank.
        if view.arm_choice != ArmChoice::Positioning {
            let index = least(queue, |i| view.cost(queue, i).0);
            return Choice { index, arm: view.best_arm(queue, index) };
        }
        if self.reach.is_empty() {
            self.reach = reach(view.mechanics);
        }
        match queue.index() {
            Some(index) => self.near(queue, view, index),
            None => self.short(queue, view),
        }
    }
}

/// The best pair found so far.
struct Best<'a> {
    queue: &'a Queue,
    view: &'a View<'a>,
    choice: Choice,
    cost: u64,
}

impl<'a> Best<'a> {
    fn new(queue: &'a Queue, view: &'a View<'a>) -> Best<'a> {
        let oldest = queue.oldest();
        let choice = Choice { index: oldest, arm: 0 };
        Best { queue, view, choice, cost: u64::MAX }
    }

    /// Takes the pair if it is better, or as good and its command older.
    #[inline]
    fn consider(&mut self, index: usize, arm: usize) {
        let key = &self.queue.keys()[index];
        if !self.view.reaches(arm, key) {
            return;
        }
        let cost = self.view.cost_with(arm, key);
        if cost < self.cost
            || (cost == self.cost && super::older(self.queue, index, self.choice.index))
        {
            self.cost = cost;
            self.choice = Choice { index, arm: arm as u8 };
        }
    }
}

impl Sptf {
    /// No command farther away than this is reached in `cost` or less.
    #[inline]
    fn reach(&self, cost: u64) -> u32 {
        let slot = (cost >> SLOT_SHIFT).min(self.reach.len() as u64 - 1);
        self.reach[slot as usize]
    }

    /// For each arm the command with the lowest bound, then those whose bounds leave them a chance:
    /// hardly ever any, and no branch that is hard to foresee for each command.
    fn short(&self, queue: &Queue, view: &View) -> Choice {
        let mut best = Best::new(queue, view);
        for arm in 0..view.arms.len() {
            let bounds = view.bounds(arm);
            let (mut lowest, mut second, mut at) = (u64::MAX, u64::MAX, 0);
            for (i, key) in queue.keys().iter().enumerate() {
                let bound = bounds.of(key);
                at = if bound < lowest { i } else { at };
                second = second.min(bound.max(lowest));
                lowest = lowest.min(bound);
            }
            if lowest > best.cost {
                continue;
            }
            best.consider(at, arm);
            if second <= best.cost {
                (0..queue.len()).for_each(|i| best.consider(i, arm));
            }
        }
        best.choice
    }

    /// The same choice, looking only at commands that an arm could reach in less time than the best
    /// one found: outward from each arm until the least seek of what is left takes longer.
    fn near(&self, queue: &Queue, view: &View, index: &Index) -> Choice {
        let mut best = Best::new(queue, view);
        for arm in 0..view.arms.len() {
            if view.paths.is_some() && view.usable >> arm & 1 == 0 {
                continue;
            }
            let home = index.bucket_of(view.arms[arm].cylinder);
            let (mut up, mut down) = (index.up(home), index.down(home));
            loop {
                let far_up = up.map_or(u32::MAX, |b| b - home);
                let far_down = down.map_or(u32::MAX, |b| home - b);
                let far = far_up.min(far_down);
                // Neighbouring buckets may hold neighbouring cylinders.
                if far == u32::MAX || far.saturating_sub(1) * index.width() > self.reach(best.cost)
                {
                    break;
                }
                let bucket = if far_up <= far_down {
                    let b = home + far;
                    up = index.up(b + 1);
                    b
                } else {
                    let b = home - far;
                    down = index.down(b);
                    b
                };
                for &i in index.bucket(bucket) {
                    best.consider(i as usize, arm);
                }
            }
        }
        best.choice
    }
}

/// For each slot of time, the farthest movement that takes no longer than its end: seek curves are
/// not promised to grow with distance, and a write may settle in less than no time.
fn reach(mechanics: &Mechanics) -> Vec<u32> {
    let cylinders = mechanics.seek.cylinders();
    let mut reach = Vec::new();
    for distance in 0..cylinders {
        let ns = i64::from(mechanics.seek.ns(distance)) + mechanics.write_settle_ns().min(0);
        let slot = (ns.max(0) >> SLOT_SHIFT) as usize;
        if slot >= reach.len() {
            reach.resize(slot + 1, 0);
        }
        reach[slot] = distance.max(reach[slot]);
    }
    // What fits a slot fits all later ones.
    for slot in 1..reach.len() {
        reach[slot] = reach[slot].max(reach[slot - 1]);
    }
    reach
}
