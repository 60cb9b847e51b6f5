//! What issues requests when others have ended: the clients of a closed loop, or threads.

use headstack_block::layer::ANYONE;
use headstack_trace::{Jobs, Pauses, Request};
use headstack_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What issues requests when others have ended.
enum Issues {
    /// A closed loop.
    Loop {
        /// Of the loop's beginning, at time zero: a number, since there may be more of them than requests.
        first: u32,
        /// Its clients, of which each has one request at a time.
        clients: u32,
        /// Of completed requests, after the pause.
        after: After,
        pauses: Box<Pauses>,
    },
    /// Threads.
    Jobs(Box<Jobs>),
}

/// When the clients of a closed loop issue their next requests.
enum After {
    /// Clients are not told apart: the requests are alike, so a time is all there is of one.
    Times(BinaryHeap<Reverse<Time>>),
    /// The time and the client.
    OfClients(BinaryHeap<Reverse<(Time, u32)>>),
}

impl After {
    #[inline]
    fn next_time(&self) -> Time {
        let next = match self {
            After::Times(times) => times.peek().map(|next| next.0),
            After::OfClients(issues) => issues.peek().map(|next| next.0 .0),
        };
        next.unwrap_or(Time::NEVER)
    }

    /// Removes the next issue; returns its client.
    #[inline]
    fn pop(&mut self) -> Option<u32> {
        match self {
            After::Times(times) => times.pop().map(|_| NO_THREAD),
            After::OfClients(issues) => issues.pop().map(|next| next.0 .1),
        }
    }

    #[inline]
    fn push(&mut self, at: Time, client: u32) {
        match self {
            After::Times(times) => times.push(Reverse(at)),
            After::OfClients(issues) => issues.push(Reverse((at, client))),
        }
    }
}

/// The thread of a request that belongs to none.
pub const NO_THREAD: u32 = u32::MAX;

impl Issues {
    #[inline(always)]
    fn next_time(&mut self) -> Time {
        match self {
            Issues::Loop { first: 0, after, .. } => after.next_time(),
            Issues::Loop { .. } => Time::ZERO,
            Issues::Jobs(jobs) => jobs.next_time(),
        }
    }
}

/// Issues the requests of a closed loop or of jobs; under open arrivals it issues none.
pub(crate) struct Issuer {
    issues: Option<Issues>,
    /// The thread or client whose request is arriving.
    pub arriving: u32,
    /// The submitter of the request that is arriving, among those of all jobs; [`ANYONE`] if there is none.
    pub submitter: u32,
}

impl Default for Issuer {
    fn default() -> Issuer {
        Issuer { issues: None, arriving: NO_THREAD, submitter: ANYONE }
    }
}

impl Issuer {
    /// Clients, each with one request at a time; `told_apart`: it is of interest which of them issues a request.
    pub fn of_clients(outstanding: u32, pauses: Pauses, told_apart: bool) -> Issuer {
        Issuer {
            issues: Some(Issues::Loop {
                first: outstanding,
                clients: outstanding,
                after: match told_apart {
                    true => After::OfClients(BinaryHeap::new()),
                    false => After::Times(BinaryHeap::new()),
                },
                pauses: Box::new(pauses),
            }),
            ..Issuer::default()
        }
    }

    /// Threads.
    pub fn of_jobs(jobs: Jobs) -> Issuer {
        Issuer { issues: Some(Issues::Jobs(Box::new(jobs))), ..Issuer::default() }
    }

    /// Whether requests are issued when others end.
    #[inline(always)]
    pub fn is_closed(&self) -> bool {
        self.issues.is_some()
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

    /// The number, among the threads of all jobs, of the thread that issued a request, if it waits for it.
    pub fn waiting(&self, issuer: u32) -> u32 {
        match &self.issues {
            Some(Issues::Jobs(jobs)) if issuer != NO_THREAD && jobs.waits(issuer) => jobs.number_of(issuer),
            _ => NO_THREAD,
        }
    }

    /// The number of the job of a thread.
    #[inline]
    pub fn job_of(&self, thread: u32) -> Option<u32> {
        match &self.issues {
            Some(Issues::Jobs(jobs)) if thread != NO_THREAD => Some(jobs.job_of(thread) as u32),
            _ => None,
        }
    }

    /// When the next request is issued; [`Time::NEVER`] if none is until a request ends.
    #[inline(always)]
    pub fn next_time(&mut self) -> Time {
        match &mut self.issues {
            Some(issues) => issues.next_time(),
            None => Time::NEVER,
        }
    }

    /// No request is issued earlier than this after a completion; zero under open arrivals.
    pub fn least_pause(&self) -> Span {
        match &self.issues {
            Some(Issues::Loop { pauses, .. }) => pauses.least(),
            Some(Issues::Jobs(jobs)) => jobs.least_pause(),
            None => Span::ZERO,
        }
    }

    /// Removes the next issue of a closed loop.
    pub fn take(&mut self) {
        let Some(Issues::Loop { first, clients, after, .. }) = &mut self.issues else {
            return;
        };
        if *first > 0 {
            self.arriving = *clients - *first;
            *first -= 1;
        } else if let Some(client) = after.pop() {
            self.arriving = client;
        }
        self.submitter = self.arriving;
    }

    /// After a completion at `end`, issues the next request of the client or thread that waited for it, after the pause.
    pub fn issue(&mut self, end: Time, thread: u32) {
        match &mut self.issues {
            Some(Issues::Loop { after, pauses, .. }) => {
                after.push(end + pauses.draw(), thread);
            }
            Some(Issues::Jobs(jobs)) if thread != NO_THREAD => jobs.ended(thread, end),
            _ => {}
        }
    }

    /// No more requests are issued.
    pub fn end(&mut self) {
        self.issues = None;
    }
}
