//! Rebuild: rewriting the stale ranges of present members in the background.

use super::barrier::Barrier;
use super::state::State;
use super::{ErrorKind, Flow, Repair, Task, Volume};
use headstack_units::{Bandwidth, Time};
use std::ops::Range;

/// Most blocks rebuilt at once: 64 KiB, md's unit for mirrors.
const WINDOW: u64 = 128;

/// The progress of the rebuild.
#[derive(Debug, Default)]
pub(super) struct Rebuild {
    /// Rate in bytes per second; `None`: no rebuild.
    rate: Option<f64>,
    /// Earliest time of the next window.
    next: Time,
    under_way: bool,
    /// No stale range can be rebuilt until a member's state changes.
    stuck: bool,
    /// The member and block at which the search for stale ranges continues.
    member: u32,
    lba: u64,
    /// Whether a window was rebuilt since the search last began at member 0.
    useful: bool,
}

impl Rebuild {
    pub fn set_rate(&mut self, rate: Option<Bandwidth>) {
        self.rate = rate.map(|r| r.0);
        self.look_again();
    }

    /// Searches again from the start, after a change that may have made a rebuild possible.
    pub fn look_again(&mut self) {
        self.stuck = false;
        self.go_on_at(0, 0);
    }

    /// Time of the next window; [`Time::NEVER`] if there is nothing to rebuild.
    pub fn due(&self, state: &State) -> Time {
        let idle = self.rate.is_none() || self.under_way || self.stuck;
        let stale = |m: &u32| {
            let m = &state.members[*m as usize];
            !m.gone && !m.stale.is_empty()
        };
        match idle || !state.degraded.iter().any(stale) {
            true => Time::NEVER,
            false => self.next,
        }
    }

    /// The first stale range from the current position on.
    fn candidate(&self, state: &State) -> Option<(u32, Range<u64>)> {
        let from = state.degraded.partition_point(|m| *m < self.member);
        for &member in &state.degraded[from..] {
            let m = &state.members[member as usize];
            let lba = if member == self.member { self.lba } else { 0 };
            if m.gone {
                continue;
            }
            if let Some(range) = m.stale.overlapping(lba..u64::MAX).next() {
                return Some((member, range.start.max(lba)..range.end));
            }
        }
        None
    }

    fn go_on_at(&mut self, member: u32, lba: u64) {
        (self.member, self.lba) = (member, lba);
    }
}

impl Volume {
    /// Begins the next window, if a stale range can be rebuilt. With a barrier it may have to wait for the requests under
    /// way; this is called again when they are done.
    pub(super) fn rebuild_next(&mut self, flow: &mut Flow) {
        self.rebuild.under_way = !self.barrier.as_mut().is_none_or(Barrier::raise);
        if self.rebuild.under_way {
            return;
        }
        // The rate may have been taken away while the window waited.
        if self.rebuild.rate.is_none() || !self.begin_window(flow) {
            self.lower_barrier(flow);
        }
    }

    /// Lets the requests begin that waited for a window.
    pub(super) fn lower_barrier(&mut self, flow: &mut Flow) {
        let Some(barrier) = &mut self.barrier else {
            return;
        };
        barrier.lower();
        while let Some(op) = self.barrier.as_mut().and_then(Barrier::next) {
            if let Task::Request(request) = self.ops[op as usize].task {
                let asked = flow[request].request;
                self.begin(op, &asked, flow);
            }
        }
    }

    /// Begins the next window. Returns false if no stale range can be rebuilt.
    fn begin_window(&mut self, flow: &mut Flow) -> bool {
        let now = flow.now();
        loop {
            let Some((member, range)) = self.rebuild.candidate(&self.state) else {
                let useful = std::mem::take(&mut self.rebuild.useful);
                self.rebuild.stuck = !useful;
                self.rebuild.go_on_at(0, 0);
                return false;
            };
            self.plan.clear();
            let plan = &mut self.plan;
            // Windows end at multiples of their size, so that rows are not split.
            let window = WINDOW - range.start % WINDOW;
            match self
                .placement
                .repair(&self.state, member, range, window, plan)
            {
                Repair::Unused(range) => self.state.set_fresh(member, range),
                Repair::Impossible(range) => self.rebuild.go_on_at(member, range.end),
                Repair::Planned(range) => {
                    let lock = self.plan.lock.clone().unwrap_or(range.clone());
                    self.rebuild.under_way = true;
                    self.rebuild.go_on_at(member, range.end);
                    let bytes = (range.end - range.start) * 512;
                    if let Some(rate) = self.rebuild.rate {
                        let ns = (bytes as f64 / rate * 1e9).ceil() as u64;
                        self.rebuild.next = Time(now.0.saturating_add(ns));
                    }
                    let op = self.add(Task::Repair(member, range), now);
                    if self.hold(op, lock) {
                        self.start(op, flow);
                    }
                    return true;
                }
            }
        }
    }

    /// Plans a window that has its lock. Its range may have been written while it waited.
    pub(super) fn start_repair(
        &mut self,
        op: u32,
        flow: &mut Flow,
        member: u32,
        range: Range<u64>,
    ) {
        let m = &self.state.members[member as usize];
        if m.gone || !m.stale.overlaps(&range) {
            return self.finish(op, flow, Some(ErrorKind::MemberLost));
        }
        let plan = &mut self.plan;
        let window = range.end - range.start;
        match self
            .placement
            .repair(&self.state, member, range, window, plan)
        {
            Repair::Planned(_) => self.carry_out(op, flow),
            _ => self.finish(op, flow, Some(ErrorKind::MemberLost)),
        }
    }

    /// A window has been rebuilt, or given up (`error`).
    pub(super) fn repaired(&mut self, now: Time, range: Range<u64>, error: Option<ErrorKind>) {
        self.rebuild.under_way = false;
        self.rebuild.next = self.rebuild.next.max(now);
        if error.is_none() {
            self.rebuild.useful = true;
            self.counts.rebuilt_blocks += range.end - range.start;
        }
    }
}
