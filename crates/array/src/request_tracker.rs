//! The host's side of a run: requests in flight, joined from their parts and counted at their completion.

mod in_flight;
mod issuer;

use crate::capping::{Capper, CompletedRequest};
use crate::held::Held;
use crate::layer::LayerCompletion;
use crate::member::CompletionReport;
use crate::outcome::{operation, Outcome};
use crate::simulate::error::SimulateError;
use crate::simulate::record::{Log, Record};
use headstack_drive::{Completion, Components};
use headstack_trace::{Jobs, Pauses, Request};
use headstack_units::Time;
use in_flight::{InFlight, Slot, NONE};
use issuer::Issuer;
pub(crate) use issuer::NO_THREAD;

/// Sums over requests of at most `u32::MAX` ns each. [`RequestTracker::settle`] empties it after each batch. Until then
/// fewer than 2^32 requests complete, so the sums fit into 64 bits.
#[derive(Default)]
struct Tally {
    n: u64,
    response_ns: u64,
    component_ns: [u64; 6],
    blocks: [u64; 3],
    hits: u64,
    moves: u64,
    end: Time,
}

/// A request that ended: what it adds to the figures that depend on the order of requests, and what the power capping
/// controller is told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub response_ns: u64,
    pub service_ns: u64,
    pub admitted_ns: u64,
    pub drive: u32,
    pub blocks: u32,
    /// The number of its thread among those of all jobs.
    pub thread: u32,
    /// The number of its job.
    pub job: Option<u32>,
    /// Index in [`OPERATIONS`](crate::outcome::OPERATIONS).
    pub kind: u8,
    /// [`Request::class`].
    pub class: u8,
    pub measured: bool,
    pub failed: bool,
}

/// What is known of a request when it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub arrival: Time,
    pub blocks: u32,
    /// Index in [`OPERATIONS`](crate::outcome::OPERATIONS).
    pub kind: u8,
    /// [`Request::class`].
    pub class: u8,
    pub measured: bool,
    /// The thread or client that waits for it.
    pub thread: u32,
}

/// Requests in flight, and the outcome so far.
pub(crate) struct RequestTracker<'a, 'l> {
    requests: InFlight,
    pub in_flight: u64,
    /// What issues requests when others have ended.
    pub issuer: Issuer,
    tally: Tally,
    // There is one drive, so the tally is also that drive's.
    alone: bool,
    // There are neither a log nor threads nor a power cap.
    quiet: bool,
    pub outcome: Outcome,
    pub log: Option<&'a mut Log<'l>>,
    /// The last completion of requests of the warm-up.
    pub unmeasured_end: Time,
    /// The error that ends the run.
    pub failure: Option<SimulateError>,
    /// Collects the requests that end, for the power capping controller.
    pub capper: Option<Capper>,
    /// In a part of a system that is simulated by itself: what is to be counted in the order of the whole.
    pub held: Option<Box<Held>>,
    /// The number of its first member in the whole system.
    pub first: usize,
}

impl<'a, 'l> RequestTracker<'a, 'l> {
    pub fn new(outcome: Outcome, log: Option<&'a mut Log<'l>>) -> RequestTracker<'a, 'l> {
        RequestTracker {
            requests: InFlight::new(log.is_some()),
            in_flight: 0,
            issuer: Issuer::default(),
            tally: Tally::default(),
            alone: outcome.members.len() == 1,
            quiet: log.is_none() && outcome.classes.is_empty(),
            outcome,
            log,
            unmeasured_end: Time::ZERO,
            failure: None,
            capper: None,
            held: None,
            first: 0,
        }
    }

    /// Of a part of a system that is simulated by itself, whose first member has the number `first`.
    pub fn apart(outcome: Outcome, held: Held, first: usize) -> RequestTracker<'a, 'l> {
        RequestTracker {
            quiet: false,
            held: Some(Box::new(held)),
            first,
            ..RequestTracker::new(outcome, None)
        }
    }

    /// Adds a request that arrives at `now` in `parts` parts; returns the id of its parts.
    #[inline(always)]
    pub fn open(
        &mut self,
        id: u64,
        now: Time,
        request: &Request,
        parts: u32,
        measured: bool,
    ) -> u64 {
        self.in_flight += 1;
        let slot = self.requests.add(Slot {
            arrival: now,
            blocks: request.blocks,
            parts,
            kind: operation(request.op) as u8,
            measured,
            class: request.class,
            quick: measured & self.quiet & (parts == 1),
            below: NONE,
        });
        if self.requests.is_named {
            self.name(slot, id, now, request);
        }
        slot as u64
    }

    /// Stores what is needed of the request in a slot when it ends.
    #[inline(never)]
    fn name(&mut self, slot: usize, id: u64, now: Time, request: &Request) {
        if self.issuer.has_threads {
            self.requests.set_thread(slot, self.issuer.arriving);
        }
        let mut is_logged = self.log.is_some();
        if let Some(held) = self.held.as_mut().filter(|held| held.is_logged) {
            held.opened(slot);
            is_logged = true;
        }
        if is_logged {
            let request = Request {
                time: now,
                ..*request
            };
            self.requests.set_name(slot, id, request);
        }
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

    /// Counts the usual request: one part, no error. Returns false for others and does nothing.
    #[inline(always)]
    fn is_tallied(&mut self, member: usize, c: &Completion) -> bool {
        let slot = self.requests.slot(c.id as usize);
        let (blocks, is_quick) = (slot.blocks, slot.quick);
        let o = &mut self.outcome;
        let response = c.completion.0.wrapping_sub(c.arrival.0);
        let Ok(short) = u32::try_from(response) else {
            return false;
        };
        let kind = usize::from(slot.kind);
        let room = o.response.has_room(kind) && o.service.has_room(kind);
        if !is_quick || c.error || !room {
            return false;
        }
        self.requests.free(c.id as usize);
        self.in_flight -= 1;
        o.response.add_short(kind, short);
        o.batches.add(response);
        let queue = c.components.queue.min(response);
        o.service.add_short(kind, (response - queue) as u32);
        let t = &mut self.tally;
        t.n += 1;
        t.response_ns += response;
        for (sum, share) in t.component_ns.iter_mut().zip(shares(&c.components)) {
            *sum += share;
        }
        t.blocks[kind] += u64::from(blocks);
        t.hits += u64::from(c.cache_hit);
        t.moves += u64::from(c.moved());
        t.end = t.end.max(c.completion);
        if !self.alone {
            o.members[member].served.count(c);
        }
        o.series.add_request(c.arrival, c.completion);
        true
    }

    #[inline(never)]
    fn part_done_generally(
        &mut self,
        member: usize,
        of_drive: Option<&Completion>,
        part: &LayerCompletion,
    ) {
        let i = part.id as usize;
        let &Slot {
            measured, parts, ..
        } = self.requests.slot(i);
        // Drives below layers count for themselves.
        if let Some(c) = of_drive.filter(|_| measured) {
            self.outcome.members[member].served.count(c);
        }
        if parts == 1 {
            self.whole_done(i, part);
        } else if let Some(whole) = self.requests.join(part) {
            self.whole_done(i, &whole);
        }
    }

    /// The request of a slot is complete.
    fn whole_done(&mut self, slot: usize, answer: &LayerCompletion) {
        let asked = self.requests.take(slot);
        self.in_flight -= 1;
        self.finish(&asked, answer);
        if asked.measured {
            if let Some((id, request)) = self.requests.name(slot) {
                self.log_request(Some(slot), id, request, answer);
            }
        }
    }

    /// Adds the tally to the outcome.
    pub fn settle(&mut self) {
        let t = std::mem::take(&mut self.tally);
        let o = &mut self.outcome;
        o.sums.n_requests += t.n;
        for (sum, ns) in o.sums.component_ns.iter_mut().zip(t.component_ns) {
            *sum += u128::from(ns);
        }
        for (bytes, blocks) in o.sums.bytes_by.iter_mut().zip(t.blocks) {
            *bytes += u128::from(blocks) * 512;
        }
        o.sums.n_cache_hits += t.hits;
        o.sums.n_seeks += t.moves;
        o.end = o.end.max(t.end);
        if self.alone {
            let m = &mut o.members[0].served;
            m.n_requests += t.n;
            m.n_cache_hits += t.hits;
            m.n_seeks += t.moves;
            m.response_ns += u128::from(t.response_ns);
        }
        let end = o.end;
        self.check_end(end);
    }

    /// The run fails if requests end later than simulated time can reach.
    pub fn check_end(&mut self, end: Time) {
        if end > Time::LATEST {
            let late = SimulateError::Late {
                what: "a completion",
                time: end,
            };
            self.failure.get_or_insert(late);
        }
    }

    /// Makes the loop closed: each completion issues the next request. `told_apart`: it is of interest which client
    /// issues a request.
    pub fn close(&mut self, outstanding: u32, pauses: Pauses, told_apart: bool) {
        self.requests.is_named |= told_apart;
        self.issuer = Issuer::of_clients(outstanding, pauses, told_apart);
    }

    /// Threads issue the requests.
    pub fn issue_by_jobs(&mut self, jobs: Jobs) {
        (self.quiet, self.requests.is_named) = (false, true);
        self.issuer = Issuer::of_jobs(jobs);
    }

    /// From now on, requests that end are collected for the power capping controller.
    pub fn cap(&mut self, capper: Capper) {
        self.quiet = false;
        self.capper = Some(capper);
    }

    /// Tells [`RequestTracker::held`] that a member has an event at `now`.
    #[inline]
    pub fn reach(&mut self, now: Time, member: usize) {
        if let Some(held) = &mut self.held {
            held.reach(now, self.first + member);
        }
    }

    /// Tells [`RequestTracker::held`] that a request arrives at `now`.
    pub fn hold_arrival(&mut self, now: Time) {
        let number = self.issuer.submitter;
        if let Some(held) = &mut self.held {
            held.arrives(now, number);
        }
    }

    /// A request is complete: counts it and, in a closed loop, schedules the next one.
    pub fn finish(&mut self, asked: &Asked, answer: &LayerCompletion) {
        let since = |start: Time| answer.completion.since(start).non_negative();
        let response_ns = since(asked.arrival);
        let ended = Ended {
            response_ns,
            service_ns: response_ns.saturating_sub(answer.components.queue),
            admitted_ns: since(answer.admitted.max(asked.arrival)),
            drive: answer.drive,
            blocks: asked.blocks,
            thread: NO_THREAD,
            job: self.issuer.job_of(asked.thread),
            kind: asked.kind,
            class: asked.class,
            measured: asked.measured,
            failed: answer.error.is_some(),
        };
        match &mut self.held {
            Some(held) if held.is_logged => held.ended(Ended {
                thread: self.issuer.waiting(asked.thread),
                ..ended
            }),
            Some(held) => held.ended(ended),
            None => self.count(&ended),
        }
        self.issuer.issue(answer.completion, asked.thread);
        match asked.measured {
            true => self.add(asked, answer),
            false => self.unmeasured_end = self.unmeasured_end.max(answer.completion),
        }
    }

    /// Counts what depends on the order of requests.
    pub fn count(&mut self, ended: &Ended) {
        if ended.failed {
            return;
        }
        if let Some(capper) = &mut self.capper {
            capper.add(&CompletedRequest {
                drive: ended.drive,
                blocks: ended.blocks,
                response_ns: ended.response_ns,
                admitted_ns: ended.admitted_ns,
                job: ended.job.map(|j| j as usize),
            });
        }
        if ended.measured {
            let (o, kind) = (&mut self.outcome, usize::from(ended.kind));
            o.response.add(kind, ended.response_ns);
            o.batches.add(ended.response_ns);
            o.service.add(kind, ended.service_ns);
            if let Some(class) = o.classes.get_mut(usize::from(ended.class)) {
                class.response.add(ended.response_ns);
            }
        }
    }

    /// Adds a measured request to the sums.
    fn add(&mut self, asked: &Asked, answer: &LayerCompletion) {
        let (o, arrival, kind) = (&mut self.outcome, asked.arrival, usize::from(asked.kind));
        o.sums.n_requests += 1;
        o.end = o.end.max(answer.completion);
        if let Some(class) = o.classes.get_mut(usize::from(asked.class)) {
            class.add(asked.blocks, answer);
        }
        if answer.error.is_some() {
            o.sums.errors_by[kind] += 1;
            o.sums.failed_ns += u128::from(answer.completion.since(arrival).non_negative());
            o.series.add_failed(arrival, answer.completion);
            return;
        }
        for (sum, share) in o
            .sums
            .component_ns
            .iter_mut()
            .zip(shares(&answer.components))
        {
            *sum += share as u128;
        }
        o.sums.bytes_by[kind] += u128::from(asked.blocks) * 512;
        o.sums.n_cache_hits += answer.cache_hit as u64;
        o.sums.n_seeks += answer.moved as u64;
        o.series.add_request(arrival, answer.completion);
    }

    /// Logs a request that was not [opened](RequestTracker::open).
    pub fn log_at_once(&mut self, id: u64, request: Request, answer: &LayerCompletion) {
        self.log_request(None, id, request, answer);
    }

    fn log_request(
        &mut self,
        slot: Option<usize>,
        id: u64,
        request: Request,
        answer: &LayerCompletion,
    ) {
        let record = Record {
            id,
            request,
            completion: answer.completion,
            components: answer.components,
            drive: answer.drive,
            cache_hit: answer.cache_hit,
            seek_distance: answer.seek_distance,
            arm: answer.arm,
            error: answer.error,
        };
        match &mut self.held {
            Some(held) => held.logged(slot, record),
            None => self.write_log(&record),
        }
    }

    pub fn write_log(&mut self, record: &Record) {
        if let Some(Err(e)) = self.log.as_mut().map(|log| log(record)) {
            self.failure.get_or_insert(SimulateError::Log(e));
        }
    }
}

/// The shares of a response time, in the order of [`Outcome::component_ns`].
#[inline(always)]
fn shares(c: &Components) -> [u64; 6] {
    [c.queue, c.overhead, c.seek, c.rotation, c.transfer, c.bus]
}
