//! Shortest positioning time first, over commands and arms.
//!
//! # Model
//! The smallest sum of seek (settling included) and rotational wait over all pairs of command and arm.
//! # Source
//! Seltzer, Chen and Ousterhout, USENIX Winter 1990; Jacobson and Wilkes, HPL-CSL-91-7.
//! # Validity
//! The prediction is what service takes, so the choice is exact; real firmware predicts with some error.

use super::{Choice, Scheduler, View};
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
    /// Least seek time over at least so many buckets of cylinders, made at the first long queue.
    #[serde(skip)]
    floor: Vec<u64>,
}

/// Queues up to this length are searched whole: it costs less than the bookkeeping.
const SHORT: usize = 48;

impl Scheduler for Sptf {
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice {
        // Another arm than the fastest may serve: then the seek is no lower bound of the rank.
        let by_position = view.arm_choice == ArmChoice::Positioning;
        match queue.index() {
            Some(index) if queue.len() > SHORT && by_position => self.near(queue, view, index),
            _ if view.paths.is_none() => view.soonest(queue),
            _ => whole(queue, view),
        }
    }
}

/// Every command with every arm that is free and reaches it.
fn whole(queue: &Queue, view: &View) -> Choice {
    let mut best = Choice { index: 0, arm: 0 };
    let mut best_cost = u64::MAX;
    for i in 0..queue.len() {
        let (cost, arm) = view.cost(queue, i);
        if cost < best_cost || (cost == best_cost && super::older(queue, i, best.index)) {
            best_cost = cost;
            best = Choice { index: i, arm };
        }
    }
    best
}

impl Sptf {
    /// The same choice, looking only at commands that an arm could reach in less time than the best
    /// one found: outward from each arm until the least seek of what is left takes longer.
    fn near(&mut self, queue: &Queue, view: &View, index: &Index) -> Choice {
        if self.floor.is_empty() {
            self.floor = floor(view.mechanics, index.width());
        }
        let mut best = Choice { index: queue.oldest(), arm: 0 };
        let mut best_cost = u64::MAX;
        for arm in 0..view.arms.len() {
            if view.paths.is_some() && view.usable >> arm & 1 == 0 {
                continue;
            }
            let delay = view.delay(arm);
            let home = index.bucket_of(view.arms[arm].cylinder);
            let (mut up, mut down) = (index.up(home), index.down(home));
            loop {
                let far_up = up.map_or(u32::MAX, |b| b - home);
                let far_down = down.map_or(u32::MAX, |b| home - b);
                let far = far_up.min(far_down);
                if far == u32::MAX || self.floor[far as usize] > best_cost {
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
                    let i = i as usize;
                    let key = &queue.keys()[i];
                    if !view.reaches(arm, key) {
                        continue;
                    }
                    let Some(cost) = view.sooner(&view.arms[arm], delay, key, best_cost) else {
                        continue;
                    };
                    let arm = arm as u8;
                    if cost < best_cost || super::older(queue, i, best.index) {
                        best_cost = cost;
                        best = Choice { index: i, arm };
                    }
                }
            }
        }
        best
    }
}

/// For each number of buckets, the least time of a movement that crosses so many: seek curves are
/// not promised to grow with distance, and a write may settle in less than no time.
fn floor(mechanics: &Mechanics, width: u32) -> Vec<u64> {
    let cylinders = mechanics.seek.cylinders();
    let buckets = cylinders.div_ceil(width) as usize + 1;
    let mut floor = vec![0u64; buckets];
    let mut least = u32::MAX;
    let mut distance = cylinders.saturating_sub(1);
    for (b, entry) in floor.iter_mut().enumerate().skip(1).rev() {
        // Neighbouring buckets may hold neighbouring cylinders.
        let from = (b as u32 - 1) * width + 1;
        while distance >= from {
            least = least.min(mechanics.seek.ns(distance));
            distance -= 1;
        }
        let settled = (i64::from(least) + mechanics.write_settle_ns().min(0)).max(0);
        *entry = if least == u32::MAX { u64::MAX } else { settled as u64 };
    }
    floor
}
