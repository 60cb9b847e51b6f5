//! What the arrival of a request changes.

use super::habits::Habits;
use super::raising::Arrival;
use super::turn::Reason;
use super::Bfq;
use crate::layer::elevator::Queued;
use headstack_units::Time;

/// A process that asks again within so many times `slice_idle` after its last request ended does so in time.
const IN_TIME: u64 = 3;

impl Bfq {
    /// A request comes to a queue.
    pub(super) fn arrive(&mut self, now: Time, q: u32, request: &Queued) {
        self.see_habits(now, q, request);
        let expire = self.parameters.fifo_expire(request.sync);
        self.requests.add(q, request, now + expire);
        let back = self.parameters.back_seek();
        let queue = &mut self.queues[q as usize];
        queue.waiting += 1;
        let was_raised = queue.raise.is_raised();
        let before = queue.next;
        let nearer = self.requests.nearer(before, request.slot, self.drive.last_position, back);
        queue.next = Some(nearer);
        let mut interactive = false;
        if !queue.is_busy {
            interactive = self.becomes_busy(now, q);
        } else {
            if self.parameters.low_latency && !request.sync {
                queue.raise.async_arrives(now, &self.rate);
                self.apply_raise(q, was_raised);
            }
            if before != Some(nearer) {
                self.next_changes(q);
            }
        }
        if self.parameters.low_latency {
            let raise = &mut self.queues[q as usize].raise;
            raise.note_arrival(now, was_raised, interactive);
        }
        if self.turn.in_service == Some(q) && self.turn.idle_until != Time::NEVER {
            self.stop_idling();
            if now >= self.turn.ends {
                self.end_turn(now, Reason::TimeOver, None);
            }
        }
    }

    /// What the request tells of its process.
    fn see_habits(&mut self, now: Time, q: u32, request: &Queued) {
        let slice_idle = self.parameters.slice_idle.non_negative();
        let at_drive = self.drive.at_drive;
        let in_turn = self.turn.in_service == Some(q);
        let queue = &mut self.queues[q as usize];
        let is_idle = queue.waiting == 0 && queue.at_drive == 0;
        if queue.at_drive == 0 && !queue.is_busy {
            queue.habits.see_think_time(now, slice_idle);
        }
        if queue.is_sync {
            if slice_idle > 0 {
                queue.habits.judge_think_time(slice_idle);
            }
            if is_idle {
                let short = queue.habits.has_short_think_time;
                let limit = &mut queue.limit;
                self.injection.arrives(now, limit, in_turn, at_drive, short);
            }
            queue.habits.see_intensity(now, is_idle, queue.is_new);
        }
        let end = request.lba + request.blocks;
        queue.habits.see_place(request.lba, end);
    }

    /// A queue without waiting requests has one. Returns whether its process is interactive.
    fn becomes_busy(&mut self, now: Time, q: u32) -> bool {
        let slice_idle = self.parameters.slice_idle.non_negative();
        let (charge, least) = (self.charge_of_next(q), self.least_budget());
        let queue = &mut self.queues[q as usize];
        let share = self.order.share_mut(q);
        let limit = queue.habits.last_end.0.saturating_add(IN_TIME * slice_idle);
        let resumes = queue.ended_empty && now.0 <= limit && share.left() > 0;
        share.budget = if resumes { share.left().min(queue.max_budget) } else { queue.max_budget.max(charge) };
        share.service = 0;
        queue.ended_empty = false;
        let is_first = std::mem::take(&mut queue.is_new);
        let mut interactive = false;
        if self.parameters.low_latency {
            let was_raised = queue.raise.is_raised();
            let habits: &Habits = &queue.habits;
            interactive = queue.raise.arrives(&Arrival {
                now,
                is_sync: queue.is_sync,
                is_first,
                at_drive: queue.at_drive,
                habits,
                rate: &self.rate,
            });
            if !was_raised && queue.raise.is_raised() {
                share.budget = share.budget.min(2 * least);
            }
        }
        let raise = &self.queues[q as usize].raise;
        let (factor, is_raised) = (raise.factor(), raise.is_raised());
        self.order.set_weight(q, super::WEIGHT * factor);
        self.order.activate(q, resumes, factor);
        self.queues[q as usize].is_busy = true;
        self.busy += 1;
        self.busy_raised += u32::from(is_raised);
        self.preempt(now, q, resumes);
        interactive
    }

    /// The turn in service ends for a queue that has become busy, if it is to.
    fn preempt(&mut self, now: Time, q: u32, resumes: bool) {
        let Some(served) = self.turn.in_service else { return };
        let factor = |q: u32| self.queues[q as usize].raise.factor();
        let goes_on = resumes && factor(q) >= factor(served);
        let heavier = self.order.share(q).weight > self.order.share(served).weight;
        if goes_on || heavier || !self.better_to_idle(served) {
            self.end_turn(now, Reason::Preempted, None);
        }
    }

    /// The next request of a queue is another one: its budget must be enough for it.
    pub(super) fn next_changes(&mut self, q: u32) {
        if self.turn.in_service == Some(q) || self.queues[q as usize].next.is_none() {
            return;
        }
        let share = self.order.share(q);
        let least = self.charge_of_next(q).max(share.service);
        let budget = self.queues[q as usize].max_budget.max(least);
        if share.budget != budget {
            self.order.set_budget(q, budget);
        }
    }
}
