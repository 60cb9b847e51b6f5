//! The host's side of a run: requests in flight, joined from their parts and counted at their completion.

use crate::capping::{Capper, CompletedRequest};
use crate::layer::LayerCompletion;
use crate::member::CompletionReport;
use crate::outcome::operation;
use crate::simulate::{Log, Outcome, Record, SimulateError};
use headstack_drive::join::Join;
use headstack_drive::{Completion, Components};
use headstack_engine::EventQueue;
use headstack_trace::{Jobs, Pauses, Request};
use headstack_units::{Span, Time};

/// A request in flight.
#[derive(Clone, Copy)]
struct Slot {
    arrival: Time,
    blocks: u32,
    parts: u32,
    /// Index in [`OPERATIONS`](crate::outcome::OPERATIONS).
    kind: u8,
    measured: bool,
    /// Measured, of one part, without log and closed loop.
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
        /// Of completed requests, after the pause.
        after: EventQueue<()>,
        pauses: Pauses,
    },
    /// Threads.
    Jobs {
        jobs: Box<Jobs>,
        /// By slot, the thread that waits for it.
        threads: Vec<u32>,
        /// The thread whose request is arriving.
        arriving: u32,
    },
}

/// The thread of a request that belongs to none.
const NO_THREAD: u32 = u32::MAX;

impl Issues {
    fn next_time(&mut self) -> Time {
        match self {
            Issues::Loop {
                first: 0, after, ..
            } => after.next_time(),
            Issues::Loop { .. } => Time::ZERO,
            Issues::Jobs { jobs, .. } => jobs.next_time(),
        }
    }
}

/// Requests in flight, and the outcome so far.
pub(crate) struct RequestTracker<'a, 'l> {
    slots: Vec<Slot>,
    // First free slot.
    free: u32,
    // By slot, for requests of several parts.
    joins: Vec<Option<Join<LayerCompletion>>>,
    // By slot, if there is a log: place in the workload, and the request.
    names: Vec<(u64, Request)>,
    tally: Tally,
    // There is one drive, so the tally is also that drive's.
    alone: bool,
    // There is neither a log nor a closed loop.
    quiet: bool,
    pub in_flight: u64,
    pub outcome: Outcome,
    pub log: Option<&'a mut Log<'l>>,
    /// The last completion of requests of the warm-up.
    pub unmeasured_end: Time,
    /// The error that ends the run.
    pub failure: Option<SimulateError>,
    issues: Option<Issues>,
    /// Collects the requests that end, for the power capping controller.
    pub capper: Option<Capper>,
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
            capper: None,
            named,
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
        self.joins.push(None);
        self.slots.len() - 1
    }

    /// Stores what the log needs of the request in a slot.
    #[inline(never)]
    fn name(&mut self, slot: usize, id: u64, now: Time, request: &Request) {
        if let Some(Issues::Jobs {
            threads, arriving, ..
        }) = &mut self.issues
        {
            if slot >= threads.len() {
                threads.resize(slot + 1, NO_THREAD);
            }
            threads[slot] = *arriving;
        }
        if self.log.is_none() {
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
        if !(R::IS_COMPLETION && self.is_tallied(member, report.completion())) {
            self.part_done_generally(member, report.completion(), &report.done(member as u32));
        }
    }

    /// Counts the usual request: one part, no error. Returns false for others and does nothing. Its only call
    /// is its last step: no value is needed after it, so the compiler saves no registers for the usual request.
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
            o.members[member].count(c);
        }
        o.series.add_request(c.arrival, c.completion);
        true
    }

    #[inline(never)]
    fn part_done_generally(&mut self, member: usize, c: &Completion, part: &LayerCompletion) {
        let i = c.id as usize;
        let slot = &mut self.slots[i];
        let measured = slot.measured;
        if measured {
            self.outcome.members[member].count(c);
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
        match &self.issues {
            Some(Issues::Jobs { threads, .. }) => threads.get(slot).copied().unwrap_or(NO_THREAD),
            _ => NO_THREAD,
        }
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
            let m = &mut o.members[0];
            m.n_requests += t.n;
            m.n_cache_hits += t.hits;
            m.n_seeks += t.moves;
            m.response_ns += u128::from(t.response_ns);
        }
        if o.end > Time::LATEST {
            let late = SimulateError::Late {
                what: "a completion",
                time: o.end,
            };
            self.failure.get_or_insert(late);
        }
    }

    /// One of several parts of a request is complete.
    fn join(&mut self, part: &LayerCompletion) {
        let i = part.id as usize;
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

    /// Makes the loop closed: each completion issues the next request.
    pub fn close(&mut self, outstanding: u32, pauses: Pauses) {
        self.quiet = false;
        self.issues = Some(Issues::Loop {
            first: outstanding,
            after: EventQueue::new(),
            pauses,
        });
    }

    /// Threads issue the requests.
    pub fn issue_by_jobs(&mut self, jobs: Jobs) {
        (self.quiet, self.named) = (false, true);
        self.issues = Some(Issues::Jobs {
            jobs: Box::new(jobs),
            threads: Vec::new(),
            arriving: NO_THREAD,
        });
    }

    /// From now on, requests that end are collected for the power capping controller.
    pub fn cap(&mut self, capper: Capper) {
        self.quiet = false;
        self.capper = Some(capper);
    }

    /// The request that a thread issues now; `None` if it issues none.
    pub fn take_of_jobs(&mut self) -> Option<Request> {
        let Some(Issues::Jobs { jobs, arriving, .. }) = &mut self.issues else {
            return None;
        };
        let (request, thread) = jobs.take()?;
        *arriving = thread;
        Some(request)
    }

    /// The thread whose request is arriving.
    pub fn arriving(&self) -> u32 {
        match &self.issues {
            Some(Issues::Jobs { arriving, .. }) => *arriving,
            _ => NO_THREAD,
        }
    }

    /// Time at which the next request of a closed loop is issued.
    pub fn next_issue(&mut self) -> Time {
        self.issues.as_mut().map_or(Time::NEVER, Issues::next_time)
    }

    /// No request is issued earlier than this after a completion; zero without a closed loop.
    pub fn least_pause(&self) -> Span {
        match &self.issues {
            Some(Issues::Loop { pauses, .. }) => pauses.least(),
            Some(Issues::Jobs { jobs, .. }) => jobs.least_pause(),
            None => Span::ZERO,
        }
    }

    /// Removes the next issue of a closed loop.
    pub fn take_issue(&mut self) {
        match &mut self.issues {
            Some(Issues::Loop { first, .. }) if *first > 0 => *first -= 1,
            Some(Issues::Loop { after, .. }) => drop(after.pop()),
            _ => {}
        }
    }

    /// After a completion at `end`, issues the next request of a closed loop, or of the thread that waited for it,
    /// after the pause.
    pub fn issue(&mut self, end: Time, thread: u32) {
        match &mut self.issues {
            Some(Issues::Loop { after, pauses, .. }) => after.push(end + pauses.draw(), 0, ()),
            Some(Issues::Jobs { jobs, .. }) if thread != NO_THREAD => jobs.ended(thread, end),
            _ => {}
        }
    }

    /// Gives the requests that ended to the power capping controller.
    fn watch(&mut self, arrival: Time, blocks: u32, answer: &LayerCompletion, thread: u32) {
        let job = match &self.issues {
            Some(Issues::Jobs { jobs, .. }) if thread != NO_THREAD => Some(jobs.job_of(thread)),
            _ => None,
        };
        if let Some(capper) = self.capper.as_mut().filter(|_| answer.error.is_none()) {
            let since = |start: Time| answer.completion.since(start).non_negative();
            capper.add(&CompletedRequest {
                drive: answer.drive,
                blocks,
                response_ns: since(arrival),
                admitted_ns: since(answer.admitted.max(arrival)),
                job,
            });
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
        if self.capper.is_some() {
            self.watch(arrival, blocks, answer, thread);
        }
        self.issue(answer.completion, thread);
        if !measured {
            self.unmeasured_end = self.unmeasured_end.max(answer.completion);
            return;
        }
        let o = &mut self.outcome;
        o.n_requests += 1;
        o.end = o.end.max(answer.completion);
        let response = answer.completion.since(arrival).0 as u64;
        if answer.error.is_some() {
            o.errors_by[kind] += 1;
            o.failed_ns += u128::from(response);
            o.series.add_failed(arrival, answer.completion);
            return;
        }
        o.response.add(kind, response);
        o.batches.add(response);
        let service = response.saturating_sub(answer.components.queue);
        o.service.add(kind, service);
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
            self.write_log(id, request, answer);
        }
    }

    pub fn write_log(&mut self, id: u64, request: Request, answer: &LayerCompletion) {
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
        if let Some(Err(e)) = self.log.as_mut().map(|log| log(&record)) {
            self.failure.get_or_insert(SimulateError::Log(e));
        }
    }
}

/// The shares of a response time, in the order of [`Outcome::component_ns`].
#[inline(always)]
fn shares(c: &Components) -> [u64; 6] {
    [c.queue, c.overhead, c.seek, c.rotation, c.transfer, c.bus]
}
