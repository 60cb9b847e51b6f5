//! Turns of queues: which queue is served, how long, and what follows from how a turn ends.

use super::Bfq;
use headstack_units::Time;

/// Why a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// The process did not ask again while the drive was idle for it.
    TooIdle,
    TimeOver,
    /// Its next request is larger than what is left of its budget.
    BudgetExhausted,
    /// It has no more requests, and the drive is not kept idle for it.
    NoMoreRequests,
    /// Another queue is to be served at once.
    Preempted,
}

/// The drive is kept idle for a seeky process only for so long.
const SEEKY_IDLE_NS: u64 = 2_000_000;
/// The drive is kept idle for a raised process at least so long.
const RAISED_IDLE_NS: u64 = 20_000_000;
/// A turn that is shorter counts as `slice_idle`.
const SHORT_NS: u64 = 1_000_000;
/// Only turns that are longer tell whether a process is slow.
const LONG_NS: u64 = 20_000_000;
/// With so many other requests at the drive a raised process is at a disadvantage.
const OTHERS: u32 = 4;

impl Bfq {
    /// The queue whose next request is to be dispatched; none if the drive is kept idle.
    pub(super) fn select(&mut self, now: Time) -> Option<u32> {
        if let Some(q) = self.turn.in_service {
            if self.is_time_over(q, now) && !self.must_idle(q) {
                self.end_turn(now, Reason::TimeOver, None);
            }
        }
        loop {
            let q = match self.turn.in_service {
                Some(q) => q,
                None => self.begin_turn(now)?,
            };
            if self.queues[q as usize].next.is_some() {
                if self.charge_of_next(q) <= self.order.share(q).left() {
                    self.stop_idling();
                    return Some(q);
                }
                self.end_turn(now, Reason::BudgetExhausted, None);
                continue;
            }
            let waits_for_end = self.queues[q as usize].at_drive > 0 && self.better_to_idle(q);
            if self.turn.idle_until != Time::NEVER || waits_for_end {
                return self.instead_of(now, q);
            }
            self.end_turn(now, Reason::NoMoreRequests, None);
        }
    }

    /// The next queue has its turn.
    fn begin_turn(&mut self, now: Time) -> Option<u32> {
        let q = self.order.next()?;
        self.turn.number = self.turn.number.saturating_add(1);
        let queue = &mut self.queues[q as usize];
        queue.has_seen_age = false;
        self.turn.in_service = Some(q);
        self.turn.began = now;
        let span = self.parameters.timeout_sync.non_negative() * queue.raise.turn_factor();
        self.turn.ends = Time(now.0.saturating_add(span));
        Some(q)
    }

    /// Whether the time of a turn is over. A turn in which the drive is kept idle, and little of the budget is left, is not
    /// ended for that.
    fn is_time_over(&self, q: u32, now: Time) -> bool {
        let share = self.order.share(q);
        let is_idling = self.turn.idle_until != Time::NEVER;
        now >= self.turn.ends && (!is_idling || share.left() >= share.budget / 3)
    }

    fn must_idle(&self, q: u32) -> bool {
        self.queues[q as usize].waiting == 0 && self.better_to_idle(q)
    }

    /// Whether the drive is better kept idle for a queue that has no requests than given to another one.
    pub(super) fn better_to_idle(&self, q: u32) -> bool {
        let queue = &self.queues[q as usize];
        if self.parameters.strict_guarantees {
            return true;
        }
        if self.parameters.slice_idle.non_negative() == 0 || !queue.is_sync {
            return false;
        }
        self.idling_is_faster(q) || self.idling_is_fairer(q)
    }

    /// Whether the drive serves more if it is kept idle: its process is sequential, or the drive has no queue.
    fn idling_is_faster(&self, q: u32) -> bool {
        let habits = &self.queues[q as usize].habits;
        let is_sequential = !habits.is_seeky() && habits.is_io_bound && habits.has_short_think_time;
        (self.queueing.is_absent() || is_sequential) && self.busy_raised == 0
    }

    /// Whether a process would otherwise get less than its share: it is raised and others are not, or it is alone.
    fn idling_is_fairer(&self, q: u32) -> bool {
        let queue = &self.queues[q as usize];
        let has_rivals = self.busy_raised < self.busy || self.drive.at_drive >= queue.at_drive + OTHERS;
        (queue.raise.is_raised() && has_rivals) || self.busy == 1
    }

    /// While the drive is kept for a queue: another queue of which a request may be served nevertheless.
    fn instead_of(&mut self, now: Time, q: u32) -> Option<u32> {
        if let Some(other) = self.own_async_of(q) {
            return Some(other);
        }
        let queue = &self.queues[q as usize];
        let short = queue.habits.has_short_think_time;
        let raised = queue.raise.is_raised();
        if self.idling_is_faster(q) || (raised && self.busy_raised <= 1 && short) {
            return None;
        }
        let always = !raised || !short;
        if self.drive.at_drive >= queue.limit.at(now, always) {
            return None;
        }
        let fits = |other: &u32| {
            let queue = &self.queues[*other as usize];
            queue.next.is_some()
                && (always || queue.raise.is_raised())
                && self.charge_of_next(*other) <= self.order.share(*other).left()
        };
        let found = self.order.waiting().find(fits);
        self.injection.has_injected |= found.is_some();
        found
    }

    /// The queue of asynchronous requests, if its next one is of the process of this queue.
    fn own_async_of(&self, q: u32) -> Option<u32> {
        let other = self.async_queue.filter(|other| *other != q)?;
        let next = self.requests.get(self.queues[other as usize].next?)?;
        let is_own = self.submitters[q as usize] == next.submitter;
        let fits = self.charge_of_next(other) <= self.order.share(other).left();
        (is_own && fits).then_some(other)
    }

    /// The drive is kept idle for the queue in service, which has no requests.
    fn begin_idling(&mut self, now: Time, q: u32) {
        let queue = &self.queues[q as usize];
        let slice_idle = self.parameters.slice_idle.non_negative();
        let span = match queue.raise.is_raised() {
            true => slice_idle.max(RAISED_IDLE_NS),
            false if queue.habits.is_seeky() => slice_idle.min(SEEKY_IDLE_NS),
            false => slice_idle,
        };
        self.turn.idling_since = now;
        self.turn.idle_until = Time(now.0 + span);
    }

    pub(super) fn stop_idling(&mut self) {
        self.turn.idle_until = Time::NEVER;
    }

    /// Ends an idle turn whose time has come.
    pub(super) fn end_idling(&mut self, now: Time) {
        let until = self.turn.idle_until;
        if until > now {
            return;
        }
        self.stop_idling();
        if let Some(q) = self.turn.in_service {
            let since = Some(self.turn.idling_since);
            if until >= self.turn.ends {
                self.end_turn(until, Reason::TimeOver, since);
            } else if self.queues[q as usize].waiting == 0 {
                self.end_turn(until, Reason::TooIdle, since);
            }
        }
    }

    /// A request of a queue has ended: its turn may be over, or the drive is kept idle.
    pub(super) fn after_end(&mut self, now: Time, q: u32) {
        if self.turn.in_service != Some(q) {
            return;
        }
        let queue = &self.queues[q as usize];
        let (waiting, at_drive) = (queue.waiting, queue.at_drive);
        if self.must_idle(q) {
            if at_drive == 0 {
                self.begin_idling(now, q);
            }
        } else if self.is_time_over(q, now) {
            self.end_turn(now, Reason::TimeOver, None);
        } else if waiting == 0 && (at_drive == 0 || !self.better_to_idle(q)) {
            self.end_turn(now, Reason::NoMoreRequests, None);
        }
    }

    /// The turn in service is over. `idling_since`: the drive was idle for it from then on, which does not count as slow.
    pub(super) fn end_turn(&mut self, now: Time, reason: Reason, idling_since: Option<Time>) {
        let Some(q) = self.turn.in_service.take() else { return };
        self.stop_idling();
        let until = idling_since.unwrap_or(now);
        self.charge_time(q, until.0.saturating_sub(self.turn.began.0), reason);
        let queue = &mut self.queues[q as usize];
        if self.parameters.low_latency {
            queue.raise.note_turn(now);
            if queue.waiting == 0 {
                match queue.at_drive {
                    0 => queue.raise.set_soft_from(now, self.parameters.slice_idle.non_negative()),
                    _ => queue.raise.is_soft_pending = true,
                }
            }
        }
        let fairer = self.idling_is_fairer(q);
        let max_budget = self.next_budget(q, reason);
        let queue = &mut self.queues[q as usize];
        queue.max_budget = max_budget;
        if queue.waiting > 0 || (reason == Reason::Preempted && fairer) {
            let budget = max_budget.max(self.charge_of_next(q));
            self.update_weight(q);
            self.order.end_turn(q, budget);
            return;
        }
        if queue.at_drive == 0 {
            queue.raise.empty_since = Some(now);
        }
        queue.ended_empty = !matches!(reason, Reason::TimeOver | Reason::BudgetExhausted);
        self.leave(q);
    }

    /// A queue without requests does not wait for its turn any more.
    pub(super) fn leave(&mut self, q: u32) {
        let queue = &mut self.queues[q as usize];
        queue.is_busy = false;
        self.busy -= 1;
        self.busy_raised -= u32::from(queue.raise.is_raised());
        self.order.deactivate(q);
    }

    /// A process that was slow, or whose time is over, is charged for the time and not for what it got: the whole budget is
    /// worth `timeout_sync`.
    fn charge_time(&mut self, q: u32, span_ns: u64, reason: Reason) {
        let queue = &self.queues[q as usize];
        let most = self.most_budget();
        let share = self.order.share(q);
        let is_slow = queue.is_sync && span_ns > LONG_NS && share.service < most / 2;
        let is_long = reason == Reason::TimeOver && share.left() >= share.budget / 3;
        if queue.raise.is_raised() || !(is_slow || is_long) {
            return;
        }
        let span = if span_ns < SHORT_NS { self.parameters.slice_idle.non_negative() } else { span_ns };
        let timeout = self.parameters.timeout_sync.non_negative();
        let worth = u128::from(most) * u128::from(span.min(timeout)) / u128::from(timeout.max(1));
        let charged = (worth as u64).max(share.service);
        let more = charged - share.service;
        let share = self.order.share_mut(q);
        share.budget = share.budget.max(charged);
        self.serve(q, more);
    }

    /// The budget of the next turn.
    fn next_budget(&self, q: u32, reason: Reason) -> u64 {
        let queue = &self.queues[q as usize];
        let (least, most) = (self.least_budget(), self.most_budget());
        if queue.raise.is_raised() {
            return 2 * least;
        }
        if !queue.is_sync {
            return most;
        }
        let budget = queue.max_budget;
        let next = match reason {
            Reason::TooIdle if queue.at_drive > 0 => (2 * budget).min(most),
            Reason::TooIdle if budget > 5 * least => budget - 4 * least,
            Reason::TooIdle => least,
            Reason::TimeOver => (2 * budget).min(most),
            Reason::BudgetExhausted => (4 * budget).min(most),
            Reason::NoMoreRequests => self.order.share(q).service.max(least),
            Reason::Preempted => budget,
        };
        next.min(most)
    }
}
