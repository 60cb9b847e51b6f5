//! The host's side of a run: requests in flight, joined from their parts and counted at their completion.

use crate::capping::{Capper, CompletedRequest};
use crate::held::Held;
use crate::layer::{LayerCompletion, ANYONE};
use crate::member::CompletionReport;
use crate::outcome::operation;
use crate::simulate::{Log, Outcome, Record, SimulateError};
use headstack_drive::join::Join;
use headstack_drive::{Completion, Components};
use headstack_trace::{Jobs, Pauses, Request};
use headstack_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A request in flight.
#[derive(Clone, Copy)]
struct Slot {
    arrival: Time,
    blocks: u32,
    parts: u32,
    /// Index in [`OPERATIONS`](crate::outcome::OPERATIONS).
    kind: u8,
    measured: bool,
    /// Measured, of one part, without log, threads and power cap.
    quick: bool,
    /// The next free slot, if this one is free.
    below: u32,
}

/// No free slot.
const NONE: u32 = u32::MAX;

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

/// What issues requests when others have ended.
enum Issues {
    /// A closed loop.
    Loop {
        /// Of the loop's beginning, at time zero: a number, since there may be more of them than requests.
        first: u32,
        /// Its clients, of which each has one request at a time.
        clients: u32,
        /// Of completed requests, after the pause: the time, and the client if clients are told apart.
        after: BinaryHeap<Reverse<(Time, u32)>>,
        pauses: Box<Pauses>,
    },
    /// Threads.
    Jobs(Box<Jobs>),
}

/// The thread of a request that belongs to none.
pub(crate) const NO_THREAD: u32 = u32::MAX;

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
    pub measured: bool,
    pub failed: bool,
}

impl Issues {
    fn next_time(&mut self) -> Time {
        match self {
            Issues::Loop {
                first: 0, after, ..
            } => after.peek().map_or(Time::NEVER, |next| next.0 .0),
            Issues::Loop { .. } => Time::ZERO,
            Issues::Jobs(jobs) => jobs.next_time(),
        }
    }
}

/// Requests in flight, and the outcome so far.
pub(crate) struct RequestTracker<'a, 'l> {
    slots: Vec<Slot>,
    // First free slot.
    free: u32,
    // By slot, for requests of several parts; shorter than the slots until a part of one ends.
    joins: Vec<Option<Join<LayerCompletion>>>,
    // By slot, if there is a log: place in the workload, and the request.
    names: Vec<(u64, Request)>,
    tally: Tally,
    // There is one drive, so the tally is also that drive's.
    alone: bool,
    // There are neither a log nor threads nor a power cap.
    quiet: bool,
    pub in_flight: u64,
    pub outcome: Outcome,
    pub log: Option<&'a mut Log<'l>>,
    /// The last completion of requests of the warm-up.
    pub unmeasured_end: Time,
    /// The error that ends the run.
    pub failure: Option<SimulateError>,
    issues: Option<Issues>,
    // Whether it is known which thread, or which client of a closed loop, waits for a request.
    has_threads: bool,
    // By slot, that thread or client; shorter than the slots if it is not known.
    threads: Vec<u32>,
    // The thread or client whose request is arriving.
    arriving: u32,
    /// The submitter of the request that is arriving, among those of all jobs; [`ANYONE`] if there is none.
    pub submitter: u32,
    /// Collects the requests that end, for the power capping controller.
    pub capper: Option<Capper>,
    /// In a part of a system that is simulated by itself: what is to be counted in the order of the whole.
    pub held: Option<Box<Held>>,
    /// The number of its first member in the whole system.
    pub first: usize,
    // Whether something is kept of each slot.
    named: bool,
}

impl<'a, 'l> RequestTracker<'a, 'l> {
    pub fn new(outcome: Outcome, log: Option<&'a mut Log<'l>>) -> RequestTracker<'a, 'l> {
        let named = log.is_some();
        RequestTracker {
            slots: Vec::new(),
            free: NONE,
            joins: Vec::new(),
            names: Vec::new(),
            tally: Tally::default(),
            alone: outcome.members.len() == 1,
            quiet: log.is_none(),
            in_flight: 0,
            outcome,
            log,
            unmeasured_end: Time::ZERO,
            failure: None,
            issues: None,
            has_threads: false,
            threads: Vec::new(),
            arriving: NO_THREAD,
            submitter: ANYONE,
            capper: None,
            held: None,
            first: 0,
            named,
        }
    }

    /// Of a part of a system that is simulated by itself, whose first member has the number `first`.
    pub fn apart(outcome: Outcome, held: Held, first: usize) -> RequestTracker<'a, 'l> {
        let mut tracker = RequestTracker::new(outcome, None);
        tracker.quiet = false;
        tracker.held = Some(Box::new(held));
        tracker.first = first;
        tracker
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
        let slot = Slot {
            arrival: now,
            blocks: request.blocks,
            parts,
            kind: operation(request.op) as u8,
            measured,
            quick: measured & self.quiet & (parts == 1),
            below: NONE,
        };
        let mut i = self.free as usize;
        match self.slots.get_mut(i) {
            Some(free) => {
                self.free = free.below;
                *free = slot;
            }
            None => i = self.add_slot(slot),
        }
        if self.named {
            self.name(i, id, now, request);
        }
        i as u64
    }

    #[cold]
    fn add_slot(&mut self, slot: Slot) -> usize {
        self.slots.push(slot);
        self.slots.len() - 1
    }

    /// Stores what the log needs of the request in a slot.
    #[inline(never)]
    fn name(&mut self, slot: usize, id: u64, now: Time, request: &Request) {
        if self.has_threads {
            if slot >= self.threads.len() {
                self.threads.resize(slot + 1, NO_THREAD);
            }
            self.threads[slot] = self.arriving;
        }
        if let Some(held) = &mut self.held {
            held.opened(slot);
        }
        if self.log.is_none() && !self.held.as_ref().is_some_and(|h| h.is_logged) {
            return;
        }
        if slot >= self.names.len() {
            self.names.resize(slot + 1, (0, Request::default()));
        }
        let request = Request {
            time: now,
            ..*request
        };
        self.names[slot] = (id, request);
    }

    /// A part was completed by drive `member`.
    #[inline(always)]
    pub fn part_done<R: CompletionReport>(&mut self, member: usize, report: &R) {
        let of_drive = report.of_drive();
        match of_drive.filter(|c| self.is_tallied(member, c)) {
            Some(c) if self.issues.is_some() => self.issue(c.completion, NO_THREAD),
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
        let slot = &mut self.slots[c.id as usize];
        let o = &mut self.outcome;
        let response = c.completion.0.wrapping_sub(c.arrival.0);
        let Ok(short) = u32::try_from(response) else {
            return false;
        };
        let kind = usize::from(slot.kind);
        let room = o.response.has_room(kind) && o.service.has_room(kind);
        if !slot.quick || c.error || !room {
            return false;
        }
        slot.below = self.free;
        self.free = c.id as u32;
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
        t.blocks[kind] += u64::from(slot.blocks);
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
        let slot = &mut self.slots[i];
        let measured = slot.measured;
        // Drives below layers count for themselves.
        if let Some(c) = of_drive.filter(|_| measured) {
            self.outcome.members[member].served.count(c);
        }
        if slot.parts > 1 {
            return self.join(part);
        }
        let (arrival, kind, blocks) = (slot.arrival, slot.kind, slot.blocks);
        let thread = self.thread_of(i);
        self.release(i);
        self.finish(arrival, kind.into(), blocks, part, measured, thread);
        if measured {
            self.log_slot(i, part);
        }
    }

    /// The thread that waits for the request of a slot.
    fn thread_of(&self, slot: usize) -> u32 {
        self.threads.get(slot).copied().unwrap_or(NO_THREAD)
    }

    /// Makes a slot free.
    fn release(&mut self, slot: usize) {
        self.slots[slot].below = std::mem::replace(&mut self.free, slot as u32);
        self.in_flight -= 1;
    }

    /// Adds the tally to the outcome.
    pub fn settle(&mut self) {
        let t = std::mem::take(&mut self.tally);
        let o = &mut self.outcome;
        o.n_requests += t.n;
        for (sum, ns) in o.component_ns.iter_mut().zip(t.component_ns) {
            *sum += u128::from(ns);
        }
        for (bytes, blocks) in o.bytes_by.iter_mut().zip(t.blocks) {
            *bytes += u128::from(blocks) * 512;
        }
        o.n_cache_hits += t.hits;
        o.n_seeks += t.moves;
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

    /// One of several parts of a request is complete.
    fn join(&mut self, part: &LayerCompletion) {
        let i = part.id as usize;
        if self.joins.len() <= i {
            self.joins.resize_with(self.slots.len(), || None);
        }
        let slot = &mut self.slots[i];
        let join = match &mut self.joins[i] {
            Some(join) => {
                join.add(part, part.drive);
                join
            }
            none => none.insert(Join::of(part, part.drive, slot.parts)),
        };
        let Some(whole) = join.whole() else {
            return;
        };
        let (arrival, kind, blocks) = (slot.arrival, slot.kind, slot.blocks);
        let measured = slot.measured;
        self.joins[i] = None;
        let thread = self.thread_of(i);
        self.release(i);
        self.finish(arrival, kind.into(), blocks, &whole, measured, thread);
        if measured {
            self.log_slot(i, &whole);
        }
    }

    /// Makes the loop closed: each completion issues the next request. `told_apart`: it is of interest which client
    /// issues a request.
    pub fn close(&mut self, outstanding: u32, pauses: Pauses, told_apart: bool) {
        (self.has_threads, self.named) = (told_apart, self.named || told_apart);
        self.issues = Some(Issues::Loop {
            first: outstanding,
            clients: outstanding,
            after: BinaryHeap::new(),
            pauses: Box::new(pauses),
        });
    }

    /// Threads issue the requests.
    pub fn issue_by_jobs(&mut self, jobs: Jobs) {
        (self.quiet, self.named, self.has_threads) = (false, true, true);
        self.issues = Some(Issues::Jobs(Box::new(jobs)));
    }

    /// From now on, requests that end are collected for the power capping controller.
    pub fn cap(&mut self, capper: Capper) {
        self.quiet = false;
        self.capper = Some(capper);
    }

    /// The request that a thread issues now; `None` if it issues none.
    pub fn take_of_jobs(&mut self) -> Option<Request> {
        let Some(Issues::Jobs(jobs)) = &mut self.issues else {
            return None;
        };
        let (request, thread) = jobs.take()?;
        (self.arriving, self.submitter) = (thread, jobs.number_of(thread));
        Some(request)
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
        let number = self.submitter;
        if let Some(held) = &mut self.held {
            held.arrives(now, number);
        }
    }

    /// The number, among the threads of all jobs, of the thread that issued a request, if it waits for it.
    fn waiting(&self, issuer: u32) -> u32 {
        match &self.issues {
            Some(Issues::Jobs(jobs)) if issuer != NO_THREAD && jobs.waits(issuer) => {
                jobs.number_of(issuer)
            }
            _ => NO_THREAD,
        }
    }

    /// The thread or client whose request is arriving.
    pub fn arriving(&self) -> u32 {
        self.arriving
    }

    /// Time at which the next request of a closed loop is issued.
    pub fn next_issue(&mut self) -> Time {
        self.issues.as_mut().map_or(Time::NEVER, Issues::next_time)
    }

    /// No request is issued earlier than this after a completion; zero without a closed loop.
    pub fn least_pause(&self) -> Span {
        match &self.issues {
            Some(Issues::Loop { pauses, .. }) => pauses.least(),
            Some(Issues::Jobs(jobs)) => jobs.least_pause(),
            None => Span::ZERO,
        }
    }

    /// Removes the next issue of a closed loop.
    pub fn take_issue(&mut self) {
        let Some(Issues::Loop {
            first,
            clients,
            after,
            ..
        }) = &mut self.issues
        else {
            return;
        };
        if *first > 0 {
            self.arriving = *clients - *first;
            *first -= 1;
        } else if let Some(Reverse((_, client))) = after.pop() {
            self.arriving = client;
        }
        self.submitter = self.arriving;
    }

    /// After a completion at `end`, issues the next request of the client or thread that waited for it,
    /// after the pause.
    pub fn issue(&mut self, end: Time, thread: u32) {
        match &mut self.issues {
            Some(Issues::Loop { after, pauses, .. }) => {
                after.push(Reverse((end + pauses.draw(), thread)));
            }
            Some(Issues::Jobs(jobs)) if thread != NO_THREAD => jobs.ended(thread, end),
            _ => {}
        }
    }

    /// Ends the closed loop: no more requests are issued.
    pub fn end_loop(&mut self) {
        self.issues = None;
    }

    /// A request is complete: counts it and, in a closed loop, schedules the next one.
    pub fn finish(
        &mut self,
        arrival: Time,
        kind: usize,
        blocks: u32,
        answer: &LayerCompletion,
        measured: bool,
        thread: u32,
    ) {
        let since = |start: Time| answer.completion.since(start).non_negative();
        let response_ns = since(arrival);
        let job = match &self.issues {
            Some(Issues::Jobs(jobs)) if thread != NO_THREAD => Some(jobs.job_of(thread)),
            _ => None,
        };
        let ended = Ended {
            response_ns,
            service_ns: response_ns.saturating_sub(answer.components.queue),
            admitted_ns: since(answer.admitted.max(arrival)),
            drive: answer.drive,
            blocks,
            thread: NO_THREAD,
            job: job.map(|j| j as u32),
            kind: kind as u8,
            measured,
            failed: answer.error.is_some(),
        };
        match self.held.is_some() {
            true => self.hold(Ended {
                thread: self.waiting(thread),
                ..ended
            }),
            false => self.count(&ended),
        }
        self.issue(answer.completion, thread);
        if measured {
            self.add(arrival, kind, blocks, answer);
        } else {
            self.unmeasured_end = self.unmeasured_end.max(answer.completion);
        }
    }

    fn hold(&mut self, ended: Ended) {
        if let Some(held) = &mut self.held {
            held.ended(ended);
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
        }
    }

    /// Adds a measured request to the sums.
    fn add(&mut self, arrival: Time, kind: usize, blocks: u32, answer: &LayerCompletion) {
        let o = &mut self.outcome;
        o.n_requests += 1;
        o.end = o.end.max(answer.completion);
        if answer.error.is_some() {
            o.errors_by[kind] += 1;
            o.failed_ns += u128::from(answer.completion.since(arrival).non_negative());
            o.series.add_failed(arrival, answer.completion);
            return;
        }
        for (sum, share) in o.component_ns.iter_mut().zip(shares(&answer.components)) {
            *sum += share as u128;
        }
        o.bytes_by[kind] += blocks as u128 * 512;
        o.n_cache_hits += answer.cache_hit as u64;
        o.n_seeks += answer.moved as u64;
        o.series.add_request(arrival, answer.completion);
    }

    fn log_slot(&mut self, slot: usize, answer: &LayerCompletion) {
        if let Some(&(id, request)) = self.names.get(slot) {
            self.log_request(Some(slot), id, request, answer);
        }
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
