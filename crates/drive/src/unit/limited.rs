//! Duration limits in a unit: when times pass, what ends then, and what an error costs on SATA.

use super::{ServiceUnit, Step};
use crate::command::{Command, Completion, DriveRequest, Hint};
use crate::limits::parameters::LimitsSpec;
use crate::limits::{CountsByLimit, Limits, Passed};
use crate::sense::LimitEnd;
use headstack_units::Time;
use std::collections::VecDeque;

/// The limits of a unit, and whether the host sends commands.
pub(super) struct Limited {
    pub limits: Limits,
    /// When the next time of a limit passes, or the host sends what it holds back; [`Time::NEVER`] if neither.
    pub event: Time,
    /// From when on the host sends no commands, because it waits for the end of those that it has sent.
    shut_from: Time,
    /// When the host sent commands again that had come back; times count from then at the earliest.
    sent_again: Time,
    /// Commands that the host holds back, with the time of their arrival.
    pub held: VecDeque<(Time, DriveRequest)>,
}

impl Limited {
    /// Of a description; `None` if it heeds no hints.
    pub fn new(spec: &LimitsSpec) -> Option<Box<Limited>> {
        Limits::new(spec).map(Limited::of)
    }

    fn of(limits: Limits) -> Box<Limited> {
        let (event, shut_from) = (Time::NEVER, Time::NEVER);
        Box::new(Limited { limits, event, shut_from, sent_again: Time::ZERO, held: VecDeque::new() })
    }

    /// Whether the host holds commands back at `now`.
    pub fn is_shut(&self, now: Time) -> bool {
        self.shut_from <= now
    }

    /// Number of commands called `id` that the host holds back.
    pub fn count_held(&self, id: u64) -> usize {
        self.held.iter().filter(|(_, r)| r.id == id).count()
    }

    /// Removes the first command called `id` that the host holds back. Returns it with its arrival time.
    pub fn take_held(&mut self, id: u64) -> Option<(DriveRequest, Time)> {
        let at = self.held.iter().position(|(_, r)| r.id == id)?;
        self.held.remove(at).map(|(arrival, r)| (r, arrival))
    }
}

impl ServiceUnit {
    /// From `now` on other limits apply, to waiting commands as well. Times that have passed act now.
    pub fn set_limits(&mut self, now: Time, spec: &LimitsSpec) {
        let before = self.limited.take();
        let mut limited = match &before {
            None => Limited::new(spec),
            Some(_) => Some(Limited::of(Limits::of(spec))),
        };
        if let Some(limited) = &mut limited {
            if let Some(before) = &before {
                limited.limits.counts = before.limits.counts;
                limited.shut_from = before.shut_from;
                limited.sent_again = before.sent_again;
            }
            for index in self.queue.by_age() {
                let waiting = &self.queue.items[index];
                let received = waiting.arrival.decoding_since.before(self.rules.per_request);
                let (hint, write) = (hint_of(&waiting.request), waiting.request.command.writes());
                limited.limits.waits(index, hint, write, received, now);
            }
        }
        self.rules.heed_limits(limited.is_some());
        self.limited = limited;
        for (arrival, request) in before.map(|b| b.held).into_iter().flatten() {
            self.enqueue(arrival, now, request);
        }
        self.look_ahead();
    }

    /// What was counted of each limit; `None` if the unit heeds no hints.
    pub fn limit_counts(&self) -> Option<&CountsByLimit> {
        self.limited.as_ref().map(|l| &l.limits.counts)
    }

    /// [`ServiceUnit::enqueue`] where limits apply.
    #[inline(never)]
    pub(super) fn enqueue_limited(&mut self, arrival: Time, admitted: Time, request: DriveRequest) {
        let Some(limited) = &mut self.limited else { return };
        if limited.is_shut(admitted) {
            limited.held.push_back((arrival, request));
            return;
        }
        let received = admitted.max(limited.sent_again);
        let before = self.queue.len;
        self.enqueue_now(arrival, received, request);
        if let (Some(limited), true) = (&mut self.limited, self.queue.len > before) {
            let (hint, write) = (hint_of(&request), request.command.writes());
            let index = self.queue.newest();
            limited.limits.waits(index, hint, write, received, received);
        }
        self.look_ahead();
    }

    /// Finds when the next time passes, or the host sends the commands that it holds back.
    pub(super) fn look_ahead(&mut self) {
        let admitted = self.write_admission.as_ref().map_or(0, |w| w.writes.len());
        let (at_rest, ends) = (self.queue.is_empty() && admitted == 0, self.services_end());
        let Some(limited) = &mut self.limited else { return };
        limited.event = limited.limits.next();
        if at_rest && limited.shut_from < Time::NEVER {
            limited.event = limited.event.min(ends.max(limited.shut_from) + limited.limits.log_read);
        }
    }

    /// The time of the limits' next event; [`Time::NEVER`] if there is none.
    #[inline]
    pub(super) fn limit_event(&self) -> Time {
        self.limited.as_ref().map_or(Time::NEVER, |l| l.event)
    }

    /// When all services that have begun end.
    fn services_end(&self) -> Time {
        self.services().fold(self.free, Time::max)
    }

    /// A step of a unit where limits apply.
    #[inline(never)]
    pub(super) fn step_limited(&mut self, until: Time) -> Step {
        let event = self.limit_event();
        let step = match event < until && event < self.next_unlimited() {
            true => self.time_passes(event),
            false => self.step_unlimited(until),
        };
        self.look_ahead();
        step
    }

    /// The event at `now` of [`ServiceUnit::look_ahead`].
    fn time_passes(&mut self, now: Time) -> Step {
        let Some(limited) = &mut self.limited else { return Step::Again };
        if limited.limits.next() > now {
            limited.shut_from = Time::NEVER;
            for (arrival, request) in std::mem::take(&mut limited.held) {
                self.enqueue(arrival, now, request);
            }
            return Step::Again;
        }
        match limited.limits.pass() {
            Passed::Nothing => Step::Again,
            Passed::Ends(index, end) => {
                self.expire(index, end, now);
                Step::Done
            }
        }
    }

    /// A waiting command ends at `now`, because a time has passed.
    fn expire(&mut self, index: usize, end: LimitEnd, now: Time) {
        self.meet_faults(now);
        self.server.happens(now);
        let waiting = &self.queue.items[index];
        let arrival = waiting.arrival.at;
        let mut done = Completion { id: waiting.request.id, arrival, completion: now, ..Completion::default() };
        done.components.queue = now.span_from(arrival);
        if let Some(limited) = &mut self.limited {
            limited.limits.expires(index, end, &mut done);
        }
        self.server.done = done;
        self.queue.remove(index);
        self.note_waiting();
        self.costs(end, now);
    }

    /// The service of command number `index` has begun at `start`; its completion is in the server's `done`.
    #[inline(never)]
    pub(super) fn serves_limited(&mut self, index: usize, start: Time) {
        let Some(limited) = &mut self.limited else { return };
        let done = &mut self.server.done;
        limited.limits.serves(index, start, done);
        let (end, at) = (done.limit, done.completion);
        if end.fails() {
            self.costs(end, at);
        }
    }

    /// The buffer has served a command, or taken its data: the completion in the server's `done` meets its limit.
    pub(super) fn meets_limit(&mut self, hint: Hint, write: bool) {
        if let Some(limited) = &mut self.limited {
            limited.limits.meets(hint, write, &mut self.server.done);
        }
    }

    /// What the host does after a command that ended without data at `at`; on SAS nothing.
    fn costs(&mut self, end: LimitEnd, at: Time) {
        let Some(limited) = self.limited.as_mut().filter(|l| l.limits.is_sata) else { return };
        if end == LimitEnd::Unavailable {
            limited.shut_from = limited.shut_from.min(at);
            return;
        }
        let read = limited.limits.log_read;
        let again = self.services_end().max(at) + read;
        let waiting: Vec<usize> = self.queue.by_age().collect();
        for index in waiting {
            self.queue.readmit(index, again.after(self.rules.per_request));
            let w = &self.queue.items[index];
            let (hint, write) = (hint_of(&w.request), w.request.command.writes());
            if let Some(limited) = &mut self.limited {
                limited.limits.leaves(index);
                limited.limits.waits(index, hint, write, again, again);
            }
        }
        if let Some(limited) = &mut self.limited {
            limited.sent_again = again;
        }
        self.not_before(again);
        self.closed_until = self.closed_until.max(again);
        if let Some(write_admission) = &mut self.write_admission {
            write_admission.not_before(again);
        }
    }
}

/// What a command asks for; a flush asks for nothing.
fn hint_of(request: &DriveRequest) -> Hint {
    match request.command {
        Command::Flush => Hint::None,
        _ => request.hint,
    }
}
