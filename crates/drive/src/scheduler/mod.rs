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

use crate::mechanics::{Arm, Mechanics};
use crate::parallelism::{ArmChoice, Path};
use crate::plugin::{find, plugins};
use crate::queue::{Ordered, Queue, Waiting};
use crate::spec::QueueSpec;
use headstack_engine::SpecError;
use std::ops::Range;

mod bounds;
#[cfg(test)]
mod choice_tests;
mod search;
#[cfg(test)]
mod tests;

pub use crate::queue::{Addresses, Needs};
use bounds::{Approach, Floor};
use search::{Price, Search};

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
    /// What the buffer holds; asked rarely.
    pub buffer: &'a dyn Buffer,
}

/// The drive's buffer as schedulers see it.
pub trait Buffer {
    /// Whether a command would be served from the buffer or by the read-ahead in progress.
    fn serves(&self, waiting: &Waiting) -> bool;

    /// Tells ranges of sectors, in no particular order and maybe more than once, such that every
    /// command that is served begins in one of them. Not all that begin there need be served.
    fn ranges(&self, each: &mut dyn FnMut(Range<u64>));
}

impl View<'_> {
    /// Positioning time of a waiting command with the arm that would serve it, and that arm;
    /// `u64::MAX` where no free arm reaches it.
    #[inline]
    pub fn cost(&self, queue: &Queue, i: usize) -> (u64, u8) {
        let item = &queue.items()[i];
        if self.paths.is_some() {
            return self.cost_of_free(item);
        }
        let mut best = (u64::MAX, 0);
        for a in 0..self.arms.len() {
            let total = self.cost_with(a, item);
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

    /// Lower bounds of what positioning with one arm takes.
    #[inline]
    fn approach<'f>(&self, floor: &'f Floor, arm: usize) -> Approach<'f> {
        floor.approach(self.mechanics, &self.arms[arm], self.start, self.delay(arm))
    }

    /// Positioning time of a command with one arm.
    #[inline]
    fn cost_with(&self, arm: usize, item: &Waiting) -> u64 {
        let heads = &self.arms[arm];
        let (moved, there) = self.reach(heads, self.delay(arm), item);
        moved + self.mechanics.wait_ns(heads, item.place.angle, there)
    }

    /// Time until an arm is on a command's track, and when that is.
    #[inline]
    fn reach(&self, arm: &Arm, delay: [u64; 2], item: &Waiting) -> (u64, u64) {
        #[cfg(test)]
        count(1);
        let (place, write) = (&item.place, item.writes());
        let seek = self
            .mechanics
            .move_ns(arm, place.cylinder, place.head, write);
        let moved = delay[write as usize] + seek;
        (moved, self.start[write as usize] + moved)
    }

    /// Whether an arm is free.
    #[inline]
    fn is_usable(&self, arm: usize) -> bool {
        self.paths.is_none() || self.usable >> arm & 1 == 1
    }

    /// Whether a free arm reaches a command.
    #[inline]
    fn reaches(&self, arm: usize, item: &Waiting) -> bool {
        let Some(paths) = self.paths else { return true };
        let place = &item.place;
        self.is_usable(arm) && paths[arm].reaches(1 << (place.head & 63), place.cylinder)
    }

    fn cost_of_free(&self, item: &Waiting) -> (u64, u8) {
        let mut best = (u64::MAX, u64::MAX, 0);
        for (a, arm) in self.arms.iter().enumerate() {
            if !self.reaches(a, item) {
                continue;
            }
            let (seek, there) = self.reach(arm, self.delay(a), item);
            let wait = self.mechanics.wait_ns(arm, item.place.angle, there);
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

/// The command that is taken, and the arm that serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Number in the queue.
    pub index: usize,
    /// Arm assembly.
    pub arm: u8,
}

/// Chooses the next command.
pub trait Scheduler: Send {
    /// The orders that the queue is to keep for it. By default none: it reads all commands.
    fn needs(&self) -> Needs {
        Needs::default()
    }

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
    (plugin.build)(&spec.scheduler_parameters).map_err(|e| e.within("queue.scheduler_parameters"))
}

/// The command with the smallest key; among equals the one that has waited longest.
fn least<K: PartialOrd + Copy>(queue: &Queue, key: impl Fn(usize) -> K) -> usize {
    let mut best = queue.oldest();
    let mut best_key = key(best);
    for i in queue.by_age().skip(1) {
        #[cfg(test)]
        count(1);
        let k = key(i);
        if k < best_key || (k == best_key && queue.older(i, best)) {
            (best, best_key) = (i, k);
        }
    }
    best
}

/// The commands nearest to a cylinder: the oldest of those on the nearest occupied cylinder at or
/// above it, and of those on the nearest one below it.
fn nearest(cylinders: &Ordered, cylinder: u32) -> [Option<usize>; 2] {
    let here = u64::from(cylinder);
    [cylinders.first_from(here), cylinders.last_before(here)]
}

/// Among some commands the one with the smallest key, the oldest among equals.
fn least_of<K: PartialOrd + Copy>(
    queue: &Queue,
    some: impl Iterator<Item = usize>,
    key: impl Fn(usize) -> K,
) -> Option<usize> {
    let mut best: Option<(usize, K)> = None;
    for i in some {
        #[cfg(test)]
        count(1);
        let k = key(i);
        if best.is_none_or(|b| k < b.1 || (k == b.1 && queue.older(i, b.0))) {
            best = Some((i, k));
        }
    }
    best.map(|b| b.0)
}

#[cfg(test)]
thread_local! {
    /// Commands that schedulers of this thread have looked at.
    static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Adds to [`LOOKS`].
#[cfg(test)]
fn count(looks: u64) {
    LOOKS.with(|l| l.set(l.get() + looks));
}
