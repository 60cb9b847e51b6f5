//! Firmware schedulers: which waiting command the drive takes next, and with which arm.
//!
//! # Contract
//! - `pick` is called with at least one command waiting and names one of them: nothing is lost,
//!   repeated or invented.
//! - The same queue, state and history give the same choice.
//! - Positional schedulers predict with [`View::cost`], made of the functions that serve.
//! - Ties go to the command that has waited longest.
//!
//! To add one: write `crates/drive/src/scheduler/NAME.rs` with a `PLUGIN`, add `NAME` to the list.

use crate::error::SpecError;
use crate::mechanics::{Arm, Mechanics};
use crate::plugin::{find, plugins};
use crate::queue::{Key, Queue};
use crate::spec::QueueSpec;
use headstack_units::Turn;

#[cfg(test)]
mod tests;

/// What a scheduler may look at besides the queue.
pub struct View<'a> {
    /// The moving parts.
    pub mechanics: &'a Mechanics,
    /// The arms and where they stand.
    pub arms: &'a [Arm],
    /// The time of the choice, nanoseconds.
    pub now: u64,
    /// When the arm may move for a read, and for a write (command overhead included).
    pub start: [u64; 2],
    /// The sector after the last one served.
    pub last_end: u64,
    /// Whether a command would be served from the buffer, by position; called rarely.
    pub hit: &'a dyn Fn(usize) -> bool,
}

impl View<'_> {
    /// Positioning time of the queue's `i`-th command with the arm that reaches it first, and that arm.
    #[inline]
    pub fn cost(&self, queue: &Queue, i: usize) -> (u64, u8) {
        let key = &queue.keys()[i];
        let mut best = (u64::MAX, 0);
        for (a, arm) in self.arms.iter().enumerate() {
            let (seek, angle, there) = self.reach(arm, key);
            if seek < best.0 {
                let total = seek + self.mechanics.wait_ns(arm, angle, there);
                if total < best.0 {
                    best = (total, a as u8);
                }
            }
        }
        best
    }

    /// The command and the arm that are together soonest; among equals the command that has waited
    /// longest, and its first arm.
    pub fn soonest(&self, queue: &Queue) -> Choice {
        let mut best = Choice { index: 0, arm: 0 };
        let mut least = u64::MAX;
        for (a, arm) in self.arms.iter().enumerate() {
            for (i, key) in queue.keys().iter().enumerate() {
                let (seek, angle, there) = self.reach(arm, key);
                // A bound in integers turns most candidates down.
                if seek + self.mechanics.wait_at_least_ns(arm, angle, there) > least {
                    continue;
                }
                let cost = seek + self.mechanics.wait_ns(arm, angle, there);
                if cost < least || (cost == least && older(queue, i, best.index)) {
                    least = cost;
                    best = Choice {
                        index: i,
                        arm: a as u8,
                    };
                }
            }
        }
        best
    }

    /// Movement of an arm to a command, the angle of its first sector, and the time of arrival.
    #[inline]
    fn reach(&self, arm: &Arm, key: &Key) -> (u64, Turn, u64) {
        let seek = self
            .mechanics
            .move_ns(arm, key.cylinder, key.head, key.write);
        let there = self.start[key.write as usize] + seek;
        (seek, Turn(key.angle), there)
    }

    /// The arm that reaches a command first.
    #[inline]
    pub fn best_arm(&self, queue: &Queue, i: usize) -> u8 {
        if self.arms.len() == 1 {
            0
        } else {
            self.cost(queue, i).1
        }
    }
}

/// The command that is taken, and the arm that serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Position in the queue.
    pub index: usize,
    /// Arm assembly.
    pub arm: u8,
}

/// Chooses the next command.
pub trait Scheduler: Send {
    /// Names one of the waiting commands.
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice;
}

plugins! { dyn Scheduler: fcfs, sstf, scan, look, c_look, vscan, sptf, satf, aged_sptf }

/// Builds the scheduler that a queue description asks for.
///
/// # Errors
/// Unknown names and parameters, by dotted key.
pub fn build(spec: &QueueSpec) -> Result<Box<dyn Scheduler>, SpecError> {
    let plugin = find(PLUGINS, "queue.scheduler", &spec.scheduler)?;
    (plugin.build)(&spec.scheduler_parameters).map_err(|mut e| {
        e.key = format!("queue.scheduler_parameters.{}", e.key);
        e
    })
}

/// The command with the smallest key; among equals the one that has waited longest.
fn least<K: PartialOrd + Copy>(queue: &Queue, key: impl Fn(usize) -> K) -> usize {
    let mut best = 0;
    let mut best_key = key(0);
    for i in 1..queue.len() {
        let k = key(i);
        if k < best_key || (k == best_key && older(queue, i, best)) {
            (best, best_key) = (i, k);
        }
    }
    best
}

/// Whether `a` has waited longer than `b`; commands that arrived together keep their ids' order.
fn older(queue: &Queue, a: usize, b: usize) -> bool {
    let (a, b) = (&queue.items()[a], &queue.items()[b]);
    (a.arrival, a.request.id) < (b.arrival, b.request.id)
}
