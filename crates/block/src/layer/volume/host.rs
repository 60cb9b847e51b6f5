//! The host's part in a volume: what its processor does between requests to members, one thing after another.
//!
//! # Model
//! A run of the rebuild has two steps of the host: between its reads and its write, and after its write. Each takes its
//! time for each 4 KiB of the run, and one begins when the one before is done: md has one thread for them. In the second
//! step the memory of the run becomes free little by little. Requests that waited for the rebuild go on one after another,
//! not at once: each is submitted by a process of its own, which must first be scheduled. So an idle drive begins the first
//! of them, and does not choose among all.
//! # Source
//! Linux md: `raid1d`, `raid10d` and `raid5d` are one thread for each array; `wake_up` of `wait_barrier` and of
//! `wait_for_stripe`. Measured with Linux 6.12: docs/models/md.md.

use headstack_units::{Span, Time};
use std::collections::VecDeque;

/// Time between two processes that go on, ns: enough for their order. Measured: four reach the drives within 40 us (median).
const APART: u64 = 1;

/// Blocks of 4 KiB.
const PAGE: u64 = 8;

/// What happens when a step of the host is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// A run, of which all was read, is written.
    Write(u32),
    /// A quarter of the memory of a run is free, which was written.
    Free(u32),
    /// A run that was written has ended.
    End(u32),
    /// A request that waited begins.
    Begin(u32),
}

/// Steps that are to be done.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// Time of a step for each 4 KiB of a run, ns.
    per_page: u64,
    /// When all steps of runs are done.
    free: Time,
    steps: VecDeque<(Time, Then)>,
    /// Requests that go on, and when.
    woken: VecDeque<(Time, Then)>,
}

impl Host {
    pub fn set_time(&mut self, per_page: Span) {
        self.per_page = per_page.0.unsigned_abs();
    }

    /// A step begins, of a run of so many blocks. Returns false if it takes no time.
    pub fn step(&mut self, now: Time, blocks: u64, then: Then) -> bool {
        let step = self.per_page * blocks.div_ceil(PAGE);
        if step > 0 {
            let begin = self.free.max(now).0;
            if let Then::End(op) = then {
                let quarter = Time(begin + step / 4);
                self.steps.push_back((quarter, Then::Free(op)));
            }
            self.free = Time(begin + step);
            self.steps.push_back((self.free, then));
        }
        step > 0
    }

    /// A request goes on that waited: the first at once, others after it.
    pub fn wake(&mut self, now: Time, op: u32) {
        let last = self.woken.back().map(|(at, _)| Time(at.0 + APART));
        self.woken.push_back((last.map_or(now, |at| at.max(now)), Then::Begin(op)));
    }

    /// When the next step is done; [`Time::NEVER`] without one.
    pub fn next(&self) -> Time {
        let first = |steps: &VecDeque<(Time, Then)>| steps.front().map_or(Time::NEVER, |s| s.0);
        first(&self.steps).min(first(&self.woken))
    }

    /// The next step, if it is done.
    pub fn take(&mut self, now: Time) -> Option<Then> {
        let due = |steps: &VecDeque<(Time, Then)>| steps.front().is_some_and(|s| s.0 <= now);
        let steps = match due(&self.steps) {
            true => &mut self.steps,
            false if due(&self.woken) => &mut self.woken,
            false => return None,
        };
        steps.pop_front().map(|s| s.1)
    }
}
