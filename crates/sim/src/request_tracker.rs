//! The host's side of a run: requests in flight, joined from their parts, and what issues the next ones.

mod in_flight;
pub(crate) mod issuer;

use crate::capping::Capper;
use crate::ended::Asked;
use crate::held::Held;
use crate::observers::Observers;
use crate::outcome::{operation, Outcome};
use crate::simulate::record::Log;
use headstack_block::layer::LayerCompletion;
use headstack_block::member::CompletionReport;
use headstack_drive::Completion;
use headstack_trace::{Jobs, Pauses, Request};
use headstack_units::Time;
use in_flight::InFlight;
use issuer::Issuer;
pub use issuer::NO_THREAD;

/// Requests in flight, what issues the next ones, and who observes their ends.
pub(crate) struct RequestTracker<'a, 'l> {
    requests: InFlight,
    pub in_flight: u64,
    /// What issues requests when others have ended.
    pub issuer: Issuer,
    // There are neither a log nor classes, threads nor a power cap.
    /// Whether a request is observed only as a number in sums, so that its end can be counted at its arrival.
    pub is_quiet: bool,
    pub observers: Observers<'a, 'l>,
    /// The number of its first member in the whole system.
    pub first: usize,
}

impl<'a, 'l> RequestTracker<'a, 'l> {
    pub fn new(outcome: Outcome, log: Option<&'a mut Log<'l>>) -> RequestTracker<'a, 'l> {
        RequestTracker {
            requests: InFlight::new(log.is_some()),
            in_flight: 0,
            issuer: Issuer::default(),
            is_quiet: log.is_none() && outcome.classes.is_empty(),
            observers: Observers::new(outcome, log),
            first: 0,
        }
    }

    /// Of a part of a system that is simulated by itself, whose first member has the number `first`.
    pub fn apart(outcome: Outcome, held: Held, first: usize) -> RequestTracker<'a, 'l> {
        let mut tracker = RequestTracker::new(outcome, None);
        (tracker.is_quiet, tracker.first) = (false, first);
        tracker.requests.is_named = held.is_logged;
        tracker.observers.held = Some(Box::new(held));
        tracker
    }

    /// Adds a request that arrives at `now` in `parts` parts; returns the id of its parts.
    #[inline(always)]
    pub fn open(&mut self, id: u64, now: Time, request: &Request, parts: u32, measured: bool) -> u64 {
        self.in_flight += 1;
        let slot = self.requests.add(Asked {
            arrival: now,
            blocks: request.blocks,
            parts,
            thread: self.issuer.arriving,
            kind: operation(request.op) as u8,
            class: request.class,
            measured,
            quick: measured & self.is_quiet & (parts == 1),
        });
        if self.requests.is_named {
            self.name(slot, id, now, request);
        }
        slot as u64
    }

    /// Stores what is needed of the request in a slot when it ends.
    #[inline(never)]
    fn name(&mut self, slot: usize, id: u64, now: Time, request: &Request) {
        if let Some(held) = &mut self.observers.held {
            held.opened(slot);
        }
        self.requests.set_name(slot, id, Request { time: now, ..*request });
    }

    /// A part was completed by drive `member`.
    #[inline(always)]
    pub fn part_done<R: CompletionReport>(&mut self, member: usize, report: &R) {
        let of_drive = report.of_drive();
        match of_drive.filter(|c| self.is_tallied(member, c)) {
            Some(c) if self.issuer.is_closed() => self.issuer.issue(c.completion, NO_THREAD),
            Some(_) => {}
            None => {
                let number = (self.first + member) as u32;
                report.with(number, |part| {
                    self.part_done_generally(member, of_drive, part);
                });
            }
        }
    }

    /// A measured request that arrived at `now` was served at once by the only drive. Only if the tracker
    /// [is quiet](RequestTracker::is_quiet).
    #[inline(always)]
    pub fn done_at_once(&mut self, id: u64, now: Time, request: &Request, c: &Completion) {
        let kind = operation(request.op) as u8;
        if c.error || !self.observers.tally(0, kind, request.blocks, c) {
            self.done_at_once_generally(id, now, request, *c);
        }
    }

    #[inline(never)]
    fn done_at_once_generally(&mut self, id: u64, now: Time, request: &Request, c: Completion) {
        let slot = self.open(id, now, request, 1, true);
        self.part_done(0, &Completion { id: slot, ..c });
    }

    /// Counts the usual request: one part, no error. Returns false for others and does nothing.
    #[inline(always)]
    fn is_tallied(&mut self, member: usize, c: &Completion) -> bool {
        let slot = self.requests.slot(c.id as usize);
        let is_quick = slot.quick && !c.error;
        if !is_quick || !self.observers.tally(member, slot.kind, slot.blocks, c) {
            return false;
        }
        self.requests.free(c.id as usize);
        self.in_flight -= 1;
        true
    }

    #[inline(never)]
    fn part_done_generally(&mut self, member: usize, of_drive: Option<&Completion>, part: &LayerCompletion) {
        let i = part.id as usize;
        let &Asked { measured, parts, .. } = self.requests.slot(i);
        // Drives below layers count for themselves.
        if let Some(c) = of_drive.filter(|_| measured) {
            self.observers.served(member, c);
        }
        let joined;
        let answer = match parts {
            1 => part,
            _ => match self.requests.join(part) {
                Some(whole) => {
                    joined = whole;
                    &joined
                }
                None => return,
            },
        };
        self.whole_done(i, answer);
    }

    /// The request of a slot is complete.
    fn whole_done(&mut self, slot: usize, answer: &LayerCompletion) {
        let asked = self.requests.take(slot);
        self.in_flight -= 1;
        self.finish(&asked, answer);
        if asked.measured {
            if let Some((id, request)) = self.requests.name(slot) {
                self.observers.log(Some(slot), id, request, answer);
            }
        }
    }

    /// Makes the loop closed: each completion issues the next request. `told_apart`: it is of interest which client
    /// issues a request.
    pub fn close(&mut self, outstanding: u32, pauses: Pauses, told_apart: bool) {
        self.issuer = Issuer::of_clients(outstanding, pauses, told_apart);
    }

    /// Threads issue the requests.
    pub fn issue_by_jobs(&mut self, jobs: Jobs) {
        self.is_quiet = false;
        self.issuer = Issuer::of_jobs(jobs);
    }

    /// From now on, requests of these members that end are collected for the power capping controller.
    pub fn cap(&mut self, capper: Capper, members: usize) {
        self.is_quiet = false;
        self.observers.observed = Some(Box::new(capper.observed(&(0..members))));
        self.observers.capper = Some(capper);
    }

    /// Tells [`Observers::held`] that a member has an event at `now`.
    #[inline]
    pub fn reach(&mut self, now: Time, member: usize) {
        if let Some(held) = &mut self.observers.held {
            held.reach(now, self.first + member);
        }
    }

    /// Tells [`Observers::held`] that a request arrives at `now`.
    pub fn hold_arrival(&mut self, now: Time) {
        let number = self.issuer.submitter;
        if let Some(held) = &mut self.observers.held {
            held.arrives(now, number);
        }
    }

    /// A request is complete: has it recorded and, in a closed loop, schedules the next one.
    pub fn finish(&mut self, asked: &Asked, answer: &LayerCompletion) {
        self.observers.record(asked, answer, &self.issuer);
        self.issuer.issue(answer.completion, asked.thread);
    }
}
