//! Processes that were woken and have not submitted yet.
//!
//! # Model
//! A woken process submits when `wake_time` has passed.
//!
//! *Legacy*: until then its place is kept free, so that no process that has not waited takes it.
//!
//! *blk-mq*: the place is free for whoever comes first. That is usually the process whose request has just completed: it
//! is woken before the place is freed, so it may submit its next request before the process that waited. It wins this
//! race with probability `retake`; otherwise it waits itself. A woken process that finds no place waits again, at the
//! end of the next list. With `retake = 0` places go to those that have waited, in order.
//! # Source
//! Linux 3.0, `block/blk-core.c`: a woken process must be scheduled before it submits. The order of blk-mq is that of
//! Linux 6.x; `retake` is measured (`docs/models/host-queue.md`).
//! # Validity
//! Who wins depends on the scheduler of processes and on the number of processors. It is drawn for each race, from a
//! stream of numbers that does not depend on the seed of the run.

use super::admission::{Process, LAST_NAMED};
use super::HostQueue;
use crate::layer::Flow;
use headstack_engine::random;
use headstack_units::{Span, Time};
use std::collections::VecDeque;

/// Seed of the draws of who takes a place.
const RACES: u64 = 0x7261_6365;

/// A woken process that has not submitted yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waking {
    pub at: Time,
    pub queue: u32,
    pub process: Process,
}

/// Woken processes of all queues, and how they come to submit.
pub(super) struct Wakings {
    /// In the order in which they submit; at equal times the lowest queue is first.
    pub order: VecDeque<Waking>,
    wake_time: Span,
    retake: f64,
    /// How often it was decided who takes a place; the number of the next draw.
    races: u32,
}

impl Wakings {
    pub fn new(wake_time: Span, retake: f64) -> Wakings {
        Wakings { order: VecDeque::new(), wake_time, retake, races: 0 }
    }

    /// When the next woken process submits.
    #[inline]
    pub fn next(&self) -> Time {
        self.order.front().map_or(Time::NEVER, |w| w.at)
    }

    /// Draws whether a request that comes takes a place which is promised to a woken process.
    fn draw(&mut self) -> bool {
        self.races = self.races.wrapping_add(1);
        let draw = random::nth(RACES, self.races) >> 11;
        (draw as f64) < self.retake * (1u64 << 53) as f64
    }
}

impl HostQueue {
    /// A process is woken: it submits when the wake time has passed.
    pub(super) fn wake(&mut self, q: usize, process: Process, flow: &mut Flow) {
        if self.waking.wake_time == Span::ZERO {
            return self.resume(q, process, flow);
        }
        self.queues[q].waking += 1;
        let woken = Waking { at: flow.now + self.waking.wake_time, queue: q as u32, process };
        add(&mut self.waking.order, woken);
    }

    /// Whether all free places for such requests (`sync` or not) are kept for woken processes. A request waits for such
    /// a place only if the end of another request with such a place will wake its process.
    pub(super) fn is_kept(&self, q: usize, sync: bool, flow: &Flow) -> bool {
        let queue = &self.queues[q];
        let taken = || queue.places.taken_of(sync);
        if queue.waking == 0 || taken() + queue.waking < queue.places.limit() {
            return false;
        }
        let is_shared = !queue.places.has_two_pools();
        let wakes = |w: &Waking| is_shared || self.wants(q, w.process, flow) == Some(sync);
        let mut own = self.waking.order.iter().filter(|w| w.queue == q as u32);
        taken() > 0 || own.any(wakes)
    }

    /// Whether a request that comes takes a place which is promised to a woken process, if one is free.
    pub(super) fn retakes(&mut self, q: usize) -> bool {
        let places = &self.queues[q].places;
        let is_free = !places.has_two_pools() && places.taken() < places.limit();
        is_free && self.waking.retake > 0.0 && self.waking.draw()
    }

    /// Whether a process that waits, or was woken, wants a place for a synchronous request.
    fn wants(&self, q: usize, process: Process, flow: &Flow) -> Option<bool> {
        let child = match process > LAST_NAMED {
            true => (process - LAST_NAMED - 1) as u32,
            false => self.queues[q].processes.first(process)?,
        };
        Some(self.is_sync(flow[child].request.command))
    }
}

/// Adds a woken process. The wake time is the same for all, so it submits last; of those that were woken at the same
/// moment, the lowest queue is first.
pub fn add(all: &mut VecDeque<Waking>, woken: Waking) {
    all.push_back(woken);
    let key = |w: &Waking| (w.at, w.queue);
    let mut i = all.len() - 1;
    while i > 0 && key(&all[i - 1]) > key(&all[i]) {
        all.swap(i - 1, i);
        i -= 1;
    }
}
