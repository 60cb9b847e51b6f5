//! Firmware schedulers: which waiting command the drive serves next, and with which arm.
//!
//! # Contract
//! - `pick` is called while at least one command waits, and returns one of them. No command is lost, repeated
//!   or invented.
//! - The same queue, state and history give the same choice.
//! - Positional schedulers predict with [`View::cost`], which calls the same functions as the service.
//! - Of equal commands the one that has waited longest is chosen.
//! - With 64 times as many waiting commands a choice takes at most 10 times as long: beyond 64 commands it reads the orders
//!   that it asks for by `needs`, and not the whole queue.
//!
//! To add one: write `crates/drive/src/scheduler/NAME.rs`, add it to the list as [`plugins!`] says. A program adds its
//! own in [`Models`](crate::Models).

use crate::limits::Deadlines;
use crate::mechanics::{Arm, Mechanics};
use crate::parallelism::{ArmChoice, HeadSet};
use crate::queue::{Ordered, Queue, Waiting};
use crate::spec::QueueSpec;
use headstack_schema::{plugins, Plugins, SpecError};
use headstack_units::{Span, Time};
use std::ops::Range;

#[doc(hidden)]
pub mod bounds;
#[doc(hidden)]
pub mod search;
#[doc(hidden)]
pub mod urgency;

pub use crate::queue::{Addresses, Needs};
use bounds::{ArmSnapshot, Moment};
use search::{CostFunction, Search};

/// What a scheduler sees besides the queue.
pub struct View<'a> {
    /// The mechanics.
    pub mechanics: &'a Mechanics,
    /// The head sets and their positions.
    pub arms: &'a [Arm],
    /// What each head set reaches and its assembly; `None` if all reach everything and all are free.
    #[doc(hidden)]
    pub head_sets: Option<&'a [HeadSet]>,
    /// Bit `a` is set if head set `a` is free.
    pub usable: u64,
    /// The rule by which one of several possible arms is chosen.
    pub arm_choice: ArmChoice,
    /// Time of the choice.
    pub now: Time,
    /// When an arm may start to move for a read, and for a write.
    pub start: [Time; 2],
    /// The arm that served last.
    pub active_set: usize,
    /// How much later than `start` the arm `active_set` may start to move, for a read and for a write: it may
    /// still be reading ahead.
    pub active_delay: [Span; 2],
    /// The sector after the last one served.
    pub last_end: u64,
    /// The content of the buffer.
    pub buffer: &'a dyn Buffer,
    /// What limits and priorities of waiting commands ask for; `None` if they ask for nothing.
    pub deadlines: Option<Deadlines<'a>>,
}

/// The drive's buffer as schedulers see it.
pub trait Buffer {
    /// Whether it holds nothing, so that it serves no command.
    fn is_empty(&self) -> bool {
        false
    }

    /// Whether the buffer or the read-ahead in progress would serve a command.
    fn serves(&self, waiting: &Waiting) -> bool;

    /// Calls `each` with ranges of sectors such that every command that would be served begins in one of
    /// them. They are in no order and may repeat. Not every command that begins in one need be served.
    fn ranges(&self, each: &mut dyn FnMut(Range<u64>));
}

impl View<'_> {
    /// Positioning time of a waiting command, and the arm that would serve it; [`Span::FOREVER`] if no free arm
    /// reaches it.
    #[inline]
    pub fn cost(&self, queue: &Queue, i: usize) -> (Span, u8) {
        let item = &queue.items[i];
        if self.head_sets.is_some() {
            return self.cost_of_free(item);
        }
        let mut best = (Span::FOREVER, 0);
        for a in 0..self.arms.len() {
            let total = self.cost_with(a, item);
            if total < best.0 {
                best = (total, a as u8);
            }
        }
        best
    }

    /// How much later than `start` an arm may start to move, for a read and for a write.
    #[inline]
    fn delay(&self, arm: usize) -> [Span; 2] {
        if arm == self.active_set {
            self.active_delay
        } else {
            [Span::ZERO; 2]
        }
    }

    /// Prepares the lower bounds of positioning times with one arm.
    #[inline]
    fn approach<'f>(&self, moment: &Moment<'f>, arm: usize) -> ArmSnapshot<'f> {
        moment.approach(&self.arms[arm], self.delay(arm))
    }

    /// Positioning time of a command with one arm.
    #[inline]
    fn cost_with(&self, arm: usize, item: &Waiting) -> Span {
        let heads = &self.arms[arm];
        let (moved, there) = self.reach(heads, self.delay(arm), item);
        moved + self.mechanics.wait_time(heads, item.place.angle, there)
    }

    /// Positioning time of a command with an arm that has ended the service of another one, `after` from the start.
    fn cost_after(&self, arm: usize, other: &Waiting, after: Span, item: &Waiting) -> Span {
        let heads = Arm { cylinder: other.place.cylinder, head: other.place.head, ..self.arms[arm] };
        let (place, write) = (&item.place, item.request.command.writes());
        let moved = (self.mechanics).move_time(&heads, place.cylinder, place.head, write);
        let there = self.start[usize::from(other.request.command.writes())].after(after + moved);
        moved + self.mechanics.wait_time(&heads, place.angle, there)
    }

    /// Time until an arm is on a command's track, and the moment of its arrival.
    #[inline]
    fn reach(&self, arm: &Arm, delay: [Span; 2], item: &Waiting) -> (Span, Time) {
        let (place, write) = (&item.place, item.request.command.writes());
        let seek = self.mechanics.move_time(arm, place.cylinder, place.head, write);
        let moved = delay[write as usize] + seek;
        (moved, self.start[write as usize].after(moved))
    }

    /// Positioning time of a command and its arm: with `PAIRS` the arm that is examined, otherwise the one that would
    /// serve, which may not be the fastest. `None` if no free arm reaches the command.
    #[inline(always)]
    fn positioning<const PAIRS: bool>(&self, queue: &Queue, i: usize, arm: usize) -> Option<(Span, u8)> {
        if PAIRS {
            let item = &queue.items[i];
            return self.reaches(arm, item).then(|| (self.cost_with(arm, item), arm as u8));
        }
        let (cost, arm) = self.cost(queue, i);
        (cost < Span::FOREVER).then_some((cost, arm))
    }

    /// Whether an arm is free.
    #[inline]
    fn is_usable(&self, arm: usize) -> bool {
        self.head_sets.is_none() || self.usable >> arm & 1 == 1
    }

    /// Whether a free arm reaches a command.
    #[inline]
    fn reaches(&self, arm: usize, item: &Waiting) -> bool {
        let Some(head_sets) = self.head_sets else { return true };
        let place = &item.place;
        self.is_usable(arm)
            && head_sets[arm].reaches(1 << (place.head & 63), place.cylinder, item.request.command.writes())
    }

    fn cost_of_free(&self, item: &Waiting) -> (Span, u8) {
        let mut best = (Span::FOREVER, Span::FOREVER, 0);
        for (a, arm) in self.arms.iter().enumerate() {
            if !self.reaches(a, item) {
                continue;
            }
            let (seek, there) = self.reach(arm, self.delay(a), item);
            let wait = self.mechanics.wait_time(arm, item.place.angle, there);
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

    /// The arm with the shortest positioning time for a command.
    #[inline]
    pub fn best_arm(&self, queue: &Queue, i: usize) -> u8 {
        if self.arms.len() == 1 {
            0
        } else {
            self.cost(queue, i).1
        }
    }
}

/// A choice: the next command and the arm that serves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The command's number in the queue.
    pub index: usize,
    /// The head set, numbered over all assemblies.
    pub arm: u8,
}

impl Choice {
    /// The command that has waited longest, by the first arm: where nothing can be told apart.
    #[inline]
    fn oldest(queue: &Queue) -> Choice {
        Choice { index: queue.oldest(), arm: 0 }
    }
}

/// Chooses the next command.
pub trait Scheduler: Send {
    /// The orders that the queue keeps for this scheduler. By default none: it reads all commands.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Chooses one of the waiting commands.
    fn pick(&mut self, queue: &Queue, view: &View) -> Choice;

    /// A cylinder to which the arm moves before it serves the command picked last. Each pick is answered
    /// once.
    fn reversal_cylinder(&mut self) -> Option<u32> {
        None
    }

    /// Whether `pick` must also be called for a single waiting command, because of `via`.
    fn picks_lone(&self) -> bool {
        false
    }
}

plugins! {
    dyn Scheduler = "scheduler";
    fcfs: Fcfs, sstf: Sstf, scan: Scan, look: Sweep, c_look: CLook, vscan: VScan, sptf: Sptf, satf: Satf, aged_sptf: AgedSptf,
    depth_aged_sptf: DepthAgedSptf, deadline_sptf: DeadlineSptf
}

/// Builds the scheduler of `schedulers` that a queue description asks for.
///
/// # Errors
/// Unknown names and parameters, by dotted key.
pub fn build(spec: &QueueSpec, schedulers: &Plugins<dyn Scheduler>) -> Result<Box<dyn Scheduler>, SpecError> {
    schedulers.build_named("queue.scheduler", &spec.scheduler, &spec.scheduler_parameters, ())
}

/// The command with the smallest key; among equals the one that has waited longest.
fn least<K: PartialOrd + Copy>(queue: &Queue, key: impl Fn(usize) -> K) -> usize {
    let mut best = queue.oldest();
    let mut best_key = key(best);
    for i in queue.by_age().skip(1) {
        let k = key(i);
        if k < best_key || (k == best_key && queue.older(i, best)) {
            (best, best_key) = (i, k);
        }
    }
    best
}

/// The oldest command on the nearest occupied cylinder at or above `cylinder`, and on the nearest one below.
fn nearest(cylinders: &Ordered, cylinder: u32) -> [Option<usize>; 2] {
    let here = u64::from(cylinder);
    [cylinders.first_from(here), cylinders.last_before(here)]
}

/// Of the given commands the one with the smallest key; of equal ones the oldest.
fn least_of<K: PartialOrd + Copy>(
    queue: &Queue,
    some: impl Iterator<Item = usize>,
    key: impl Fn(usize) -> K,
) -> Option<usize> {
    let mut best: Option<(usize, K)> = None;
    for i in some {
        let k = key(i);
        if best.is_none_or(|b| k < b.1 || (k == b.1 && queue.older(i, b.0))) {
            best = Some((i, k));
        }
    }
    best.map(|b| b.0)
}
