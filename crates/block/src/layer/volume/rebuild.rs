//! Rebuild: rewriting the stale ranges of present members in the background.
//!
//! # Model
//! Stale ranges are rewritten in windows of 64 KiB. Windows of a member that follow each other and begin at once share
//! their requests, up to the longest request: together they are a *run*. Several runs are under way at once, up to so many
//! blocks; [`Pace`] says when the next may begin. A run whose source cannot be read is done again in single windows, so
//! that only the window concerned is given up.
//! # Source
//! Linux md: `RESYNC_DEPTH` windows of `raid1.c` and `raid10.c`, of which the last is never used; the stripe cache of
//! `raid5.c`, which grows when it is full, and the timer of one tick in `raid5_sync_request`; `calc_index` of `timer.c`;
//! plugging of the block layer. Measured with Linux 6.12: docs/models/md.md.
//! # Validity
//! Once md's stripe cache was full, it is used again when a quarter of it is free; here when there is room for a longest
//! request. That is the same while runs are as long as they can be, as most are in the kernel. Shorter ones would stay short
//! with the kernel's rule, for what makes them longer again in the kernel (merging while they wait) is not here.

use super::barrier::Barrier;
use super::pace::{Leave, Pace};
use super::state::State;
use super::{ErrorKind, Flow, Repair, Task, Volume};
use headstack_units::{Bandwidth, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// Blocks of a window: 64 KiB, md's unit for mirrors.
pub(super) const WINDOW: u64 = 128;

/// A tick of the kernel, ns: 250 in a second, as the kernel has it by default and Debian's.
const TICK: u64 = 4_000_000;

/// How much a rebuild does at once, in blocks of 512 bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extent {
    /// Windows begin and end at multiples of this, so that rows are not split.
    pub grain: u64,
    /// Longest request to a member.
    pub request: u64,
    /// Most blocks of members that are being rewritten.
    pub at_once: u64,
    /// What that grows to: by one grain each time that all is used.
    pub most: u64,
    /// Once that many are, the next run begins when fewer than these are left.
    pub again_below: u64,
    /// Whether requests need the same memory: until then they wait, too.
    pub shared: bool,
}

impl Extent {
    /// All is used: there is one grain more, as long as it may grow.
    fn grow(&mut self) {
        let more = self.grain.min(self.most.saturating_sub(self.at_once));
        self.at_once += more;
        self.again_below += more;
    }
}

impl Default for Extent {
    fn default() -> Extent {
        Extent { grain: WINDOW, request: WINDOW, at_once: WINDOW, most: WINDOW, again_below: WINDOW, shared: false }
    }
}

/// The progress of the rebuild.
#[derive(Debug, Default)]
pub(super) struct Rebuild {
    pub extent: Extent,
    pub pace: Pace,
    /// Ranges of members that are being rewritten, and their blocks.
    under_way: Vec<(u32, Range<u64>)>,
    pub active: u64,
    /// Nothing begins before a run has ended, or the barrier is free.
    blocked: bool,
    /// Nothing begins before all runs have ended.
    drains: bool,
    /// md's thread sleeps until then.
    sleeps: Time,
    /// As much is under way as may be at once.
    full: bool,
    /// Requests that wait until that is no longer so, in order of arrival.
    waiting: VecDeque<u32>,
    search: Search,
    /// A range in which a read failed: it is rewritten in single windows.
    suspect: Option<(u32, Range<u64>)>,
}

/// The search for stale ranges.
#[derive(Debug, Default)]
struct Search {
    /// The member and block at which it continues.
    member: u32,
    lba: u64,
    /// Whether a window was rebuilt since it last began at member 0.
    useful: bool,
    /// Nothing can be rebuilt until a member's state changes.
    stuck: bool,
}

impl Search {
    fn go_on_at(&mut self, member: u32, lba: u64) {
        (self.member, self.lba) = (member, lba);
    }
}

impl Rebuild {
    pub fn set_rate(&mut self, rate: Option<Bandwidth>) {
        self.pace.set_most(rate);
        self.look_again();
    }

    /// Searches again from the start, after a change that may have made a rebuild possible.
    pub fn look_again(&mut self) {
        self.search.stuck = false;
        self.search.go_on_at(0, 0);
    }

    /// Does the same, and forgets how fast it was: md stops its rebuild and begins it anew when members change.
    pub fn begin_anew(&mut self) {
        self.pace.stop();
        self.look_again();
    }

    /// Time of the next window; [`Time::NEVER`] if there is nothing to begin.
    pub fn due(&self, state: &State) -> Time {
        let idle = self.pace.most.is_none() || self.blocked || self.search.stuck;
        match idle || !has_stale(state) {
            true => Time::NEVER,
            false => self.pace.due.max(self.sleeps),
        }
    }

    /// A request (`op`) arrives that needs memory of the volume. Returns false if it has to wait for the rebuild.
    #[inline]
    pub fn enter(&mut self, op: u32) -> bool {
        let waits = self.full && self.extent.shared;
        if waits {
            self.waiting.push_back(op);
        }
        !waits
    }

    /// The first stale range from the current position on that is not being rewritten.
    fn candidate(&self, state: &State) -> Option<(u32, Range<u64>)> {
        let from = state.degraded.partition_point(|m| *m < self.search.member);
        for &member in &state.degraded[from..] {
            let m = &state.members[member as usize];
            let mut lba = if member == self.search.member { self.search.lba } else { 0 };
            if m.gone {
                continue;
            }
            while let Some(range) = m.stale.overlapping(lba..u64::MAX).next() {
                let start = range.start.max(lba);
                let Some(end) = self.end_under_way(member, start) else {
                    let end = self.first_under_way(member, start..range.end);
                    return Some((member, start..end));
                };
                lba = end;
            }
        }
        None
    }

    /// End of the run under way that holds a block.
    fn end_under_way(&self, member: u32, lba: u64) -> Option<u64> {
        let holds = |r: &&(u32, Range<u64>)| r.0 == member && r.1.contains(&lba);
        self.under_way.iter().find(holds).map(|r| r.1.end)
    }

    /// Start of the first run under way in a range, or the end of the range.
    fn first_under_way(&self, member: u32, range: Range<u64>) -> u64 {
        let here = self.under_way.iter().filter(|r| r.0 == member);
        let starts = here.map(|r| r.1.start).filter(|s| range.contains(s));
        starts.min().unwrap_or(range.end)
    }

    /// Blocks of the run that begins at this block of a member: one window where a read has failed.
    fn run_of(&self, member: u32, lba: u64, most: u64) -> u64 {
        let suspect = self.suspect.as_ref();
        match suspect.is_some_and(|s| s.0 == member && s.1.contains(&lba)) {
            true => most.min(WINDOW),
            false => most,
        }
    }
}

/// The end of a timer of one tick: the second tick from now on, since a timer must not end early.
fn second_tick(now: Time) -> Time {
    Time((now.0 / TICK + 2) * TICK)
}

/// Whether a member that is present has stale ranges.
fn has_stale(state: &State) -> bool {
    let stale = |m: &u32| {
        let m = &state.members[*m as usize];
        !m.gone && !m.stale.is_empty()
    };
    state.degraded.iter().any(stale)
}

impl Volume {
    /// Begins as many runs as may be under way. With a barrier they may have to wait for the requests under way; this is
    /// called again when they are done.
    pub(super) fn rebuild_next(&mut self, flow: &mut Flow) {
        self.rebuild.blocked = false;
        // The rate may have been taken away while a run waited for the barrier.
        while self.rebuild.pace.most.is_some() {
            let most = self.leave_to_begin(flow.now);
            if most == 0 {
                break;
            }
            if !self.barrier.as_mut().is_none_or(Barrier::raise) {
                self.rebuild.blocked = true;
                return;
            }
            if !self.begin_run(flow, most) {
                self.lower_barrier(flow);
                break;
            }
            if self.rebuild.drains {
                break;
            }
        }
        if self.barrier.as_mut().is_some_and(Barrier::abandon) {
            self.let_waiting_begin(flow);
        }
    }

    /// How many blocks may be begun now; none if the rebuild has to wait.
    fn leave_to_begin(&mut self, now: Time) -> u64 {
        let rebuild = &mut self.rebuild;
        let room = rebuild.extent.at_once.saturating_sub(rebuild.active);
        if room == 0 {
            (rebuild.blocked, rebuild.full) = (true, true);
            rebuild.extent.grow();
            return 0;
        }
        let waited_for = self.barrier.as_ref().is_some_and(Barrier::is_waited_for);
        let most = rebuild.extent.request.min(room);
        // Beside requests that wait for the barrier there is one window.
        let most = if waited_for { most.min(WINDOW) } else { most };
        match rebuild.pace.ask(now, room) {
            Leave::Go => most,
            Leave::Pause(left) => most.min(left),
            Leave::Drain(left) => {
                (rebuild.blocked, rebuild.drains) = (true, true);
                most.min(left)
            }
        }
    }

    /// A quarter of a run's memory is free, which was written. So is a quarter of all, if the run is as long as runs can be.
    pub(super) fn quarter_is_free(&mut self, op: u32, flow: &mut Flow) {
        if let Task::Repair(_, range) = &self.ops[op as usize].task {
            let left = self.rebuild.active - (range.end - range.start);
            self.leave_memory(left, flow);
        }
    }

    /// So many blocks remain under way. If that is little enough, what waits for memory goes on: requests at once, md's
    /// thread after a tick.
    pub(super) fn leave_memory(&mut self, left: u64, flow: &mut Flow) {
        let rebuild = &mut self.rebuild;
        let is_enough = left == 0 || left < rebuild.extent.again_below;
        if !is_enough || !std::mem::take(&mut rebuild.full) {
            return;
        }
        if rebuild.extent.shared {
            rebuild.sleeps = second_tick(flow.now);
        }
        while let Some(op) = rebuild.waiting.pop_front() {
            self.host.wake(flow.now, op);
        }
    }

    /// A run is done, or none was to be begun.
    pub(super) fn lower_barrier(&mut self, flow: &mut Flow) {
        if self.barrier.as_mut().is_some_and(Barrier::lower) {
            self.let_waiting_begin(flow);
        }
    }

    /// Lets the requests begin that waited for the barrier.
    fn let_waiting_begin(&mut self, flow: &mut Flow) {
        while let Some(op) = self.barrier.as_mut().and_then(Barrier::next) {
            self.host.wake(flow.now, op);
        }
    }

    /// Begins the operation of a request that waited.
    pub(super) fn begin_waiting(&mut self, op: u32, flow: &mut Flow) {
        if let Task::Request(request) = self.ops[op as usize].task {
            let asked = flow[request].request;
            self.begin(op, &asked, flow);
        }
    }

    /// Begins the next run, of at most about `most` blocks. Returns false if no stale range can be rebuilt.
    fn begin_run(&mut self, flow: &mut Flow, most: u64) -> bool {
        loop {
            let Some((member, range)) = self.rebuild.candidate(&self.state) else {
                self.end_of_pass();
                return false;
            };
            let most = self.rebuild.run_of(member, range.start, most);
            match self.plan_run(member, range, most) {
                Repair::Unused(range) => self.state.set_fresh(member, range),
                Repair::Impossible(range) => self.rebuild.search.go_on_at(member, range.end),
                Repair::Planned(range) => {
                    let lock = self.plan.lock.clone().unwrap_or(range.clone());
                    let rebuild = &mut self.rebuild;
                    rebuild.search.go_on_at(member, range.end);
                    rebuild.active += range.end - range.start;
                    rebuild.pace.begin(range.end - range.start);
                    rebuild.under_way.push((member, range.clone()));
                    let op = self.add(Task::Repair(member, range), flow.now);
                    // Behind a barrier there are no requests.
                    if self.barrier.is_some() || self.hold(op, lock) {
                        self.start(op, flow);
                    }
                    return true;
                }
            }
        }
    }

    /// No stale range is left from the present position on: the search begins again, if the last was of use.
    fn end_of_pass(&mut self) {
        let rebuild = &mut self.rebuild;
        if rebuild.active > 0 {
            rebuild.blocked = true;
            return;
        }
        let search = &mut rebuild.search;
        search.stuck = !std::mem::take(&mut search.useful);
        search.go_on_at(0, 0);
        if search.stuck {
            rebuild.pace.stop();
        }
    }

    /// Plans to rewrite windows of a range one after another, about `most` blocks of them. The answer is that about the
    /// first window, where nothing can be planned.
    fn plan_run(&mut self, member: u32, range: Range<u64>, most: u64) -> Repair {
        self.plan.clear();
        let grain = self.rebuild.extent.grain;
        let mut planned: Option<Range<u64>> = None;
        loop {
            let at = planned.as_ref().map_or(range.start, |p| p.end);
            let left = (range.start + most).saturating_sub(at);
            match &planned {
                Some(done) if at >= range.end || left < grain => return Repair::Planned(done.clone()),
                _ => {}
            }
            let window = (left / grain * grain).max(grain) - at % grain;
            let (plan, rest) = (&mut self.plan, at..range.end);
            let next = self.placement.repair(&self.state, member, rest, window, plan);
            planned = match (next, planned) {
                (Repair::Planned(part), None) => Some(part),
                (Repair::Planned(part), Some(done)) => Some(done.start..part.end),
                (_, Some(done)) => return Repair::Planned(done),
                (other, None) => return other,
            };
        }
    }

    /// Plans a run that has its lock. Its range may have been written while it waited.
    pub(super) fn start_repair(&mut self, op: u32, flow: &mut Flow, member: u32, range: Range<u64>) {
        let m = &self.state.members[member as usize];
        if m.gone || !m.stale.overlaps(&range) {
            return self.finish(op, flow, Some(ErrorKind::MemberLost));
        }
        let blocks = range.end - range.start;
        match self.plan_run(member, range.clone(), blocks) {
            // All of it, as it was planned before.
            Repair::Planned(part) if part.end >= range.end => self.carry_out(op, flow),
            _ => self.give_up_run(op, flow, member, range),
        }
    }

    /// A read of a run failed, or its source has changed: what can be supplied is found out window by window.
    pub(super) fn give_up_run(&mut self, op: u32, flow: &mut Flow, member: u32, range: Range<u64>) {
        self.rebuild.suspect = Some((member, range));
        self.rebuild.look_again();
        self.finish(op, flow, Some(ErrorKind::MemberLost));
    }

    /// A run has been rebuilt, or given up (`error`).
    pub(super) fn repaired(&mut self, member: u32, range: &Range<u64>, error: Option<ErrorKind>) {
        let rebuild = &mut self.rebuild;
        let blocks = range.end - range.start;
        let ours = |r: &(u32, Range<u64>)| r.0 == member && r.1.start == range.start;
        if let Some(i) = rebuild.under_way.iter().position(ours) {
            rebuild.under_way.swap_remove(i);
        }
        rebuild.active -= blocks;
        rebuild.pace.end(blocks);
        let goes_on = !rebuild.drains && rebuild.active < rebuild.extent.again_below;
        if goes_on || rebuild.active == 0 {
            (rebuild.blocked, rebuild.drains) = (false, false);
        }
        if error.is_none() {
            rebuild.search.useful = true;
            self.counts.rebuilt_bytes += blocks * 512;
        }
        if rebuild.active == 0 && !has_stale(&self.state) {
            rebuild.pace.stop();
            rebuild.suspect = None;
        }
    }
}
