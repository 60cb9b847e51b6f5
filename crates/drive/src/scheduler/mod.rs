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
use crate::mechanics::{Approach, Arm, Mechanics};
use crate::parallelism::{ArmChoice, Path};
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
    /// What each arm reaches and belongs to; `None` where all reach everything and all are free.
    pub(crate) paths: Option<&'a [Path]>,
    /// Bit a: arm a is free.
    pub usable: u64,
    /// Which arm takes a command that several could.
    pub arm_choice: ArmChoice,
    /// The time of the choice, nanoseconds.
    pub now: u64,
    /// When the arm may move for a read, and for a write (command overhead included).
    pub start: [u64; 2],
    /// The arm that served last, and how much later than `start` it may move for a read and for a
    /// write: it may still be reading ahead.
    pub acting: usize,
    /// See `acting`.
    pub acting_delay: [u64; 2],
    /// The sector after the last one served.
    pub last_end: u64,
    /// Whether a command would be served from the buffer or by the read-ahead in progress, by
    /// position; called rarely.
    pub hit: &'a dyn Fn(usize) -> bool,
}

impl View<'_> {
    /// Positioning time of the queue's `i`-th command with the arm that would serve it, and that
    /// arm; `u64::MAX` where no free arm reaches it.
    #[inline]
    pub fn cost(&self, queue: &Queue, i: usize) -> (u64, u8) {
        let key = &queue.keys()[i];
        if self.paths.is_some() {
            return self.cost_of_free(key);
        }
        let mut best = (u64::MAX, 0);
        for a in 0..self.arms.len() {
            let total = self.cost_with(a, key);
            if total < best.0 {
                best = (total, a as u8);
            }
        }
        best
    }

    /// How much later than `start` an arm may move, for a read and for a write.
    #[inline]
    fn delay(&self, arm: usize) -> [u64; 2] {
        if arm == self.acting {
            self.acting_delay
        } else {
            [0, 0]
        }
    }

    /// Lower bounds of [`View::cost_with`] one arm.
    fn bounds(&self, arm: usize) -> Bounds<'_> {
        let delay = self.delay(arm);
        let start = [self.start[0] + delay[0], self.start[1] + delay[1]];
        Bounds {
            delay,
            approach: self.mechanics.approach(&self.arms[arm], start),
        }
    }

    /// Positioning time of a command with one arm.
    #[inline]
    fn cost_with(&self, arm: usize, key: &Key) -> u64 {
        let heads = &self.arms[arm];
        let (moved, angle, there) = self.reach(heads, self.delay(arm), key);
        moved + self.mechanics.wait_ns(heads, angle, there)
    }

    /// Time until an arm is at a command, the angle of its first sector, and the time of arrival.
    #[inline]
    fn reach(&self, arm: &Arm, delay: [u64; 2], key: &Key) -> (u64, Turn, u64) {
        let write = key.write as usize;
        let seek = self
            .mechanics
            .move_ns(arm, key.cylinder, key.head, key.write);
        let moved = delay[write] + seek;
        (moved, Turn(key.angle), self.start[write] + moved)
    }

    /// Whether a free arm reaches a place.
    #[inline]
    pub fn reaches(&self, arm: usize, key: &Key) -> bool {
        let Some(paths) = self.paths else { return true };
        self.usable >> arm & 1 == 1 && paths[arm].reaches(1 << (key.head & 63), key.cylinder)
    }

    fn cost_of_free(&self, key: &Key) -> (u64, u8) {
        let mut best = (u64::MAX, u64::MAX, 0);
        for (a, arm) in self.arms.iter().enumerate() {
            if !self.reaches(a, key) {
                continue;
            }
            let (seek, angle, there) = self.reach(arm, self.delay(a), key);
            let wait = self.mechanics.wait_ns(arm, angle, there);
            let rank = match self.arm_choice {
                ArmChoice::Positioning => seek + wait,
                ArmChoice::Rotation => wait,
                ArmChoice::Seek => seek,
            };
            if (rank, seek + wait) < (best.0, best.1) {
                best = (rank, seek + wait, a as u8);
            }
        }
        (best.1, best.2)
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

/// What positioning with one arm takes at least.
struct Bounds<'a> {
    delay: [u64; 2],
    approach: Approach<'a>,
}

impl Bounds<'_> {
    #[inline(always)]
    fn of(&self, key: &Key) -> u64 {
        let least = self
            .approach
            .at_least_ns(Turn(key.angle), key.cylinder, key.write);
        self.delay[key.write as usize] + least
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

    /// Cylinder that the arm goes to before it serves what was picked last; each pick answers once.
    fn via(&mut self) -> Option<u32> {
        None
    }

    /// Whether commands that wait alone are to be picked as well, because of `via`.
    fn picks_lone(&self) -> bool {
        false
    }
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

/// Whether a queue description's scheduler searches by cylinder, so that its queue needs an index.
pub(crate) fn positional(spec: &QueueSpec) -> bool {
    spec.scheduler == sptf::PLUGIN.name
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
    (a.arrival.at, a.request.id) < (b.arrival.at, b.request.id)
}
