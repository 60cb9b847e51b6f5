//! Estimates how many requests a run will do, for displays of progress.
//!
//! The number is known for a synthetic workload. For a trace it is extrapolated: the rest of the file is
//! assumed to have as many requests per byte as the part already read.

use headstack_engine::Progress;
use headstack_trace::{Counters, Request, Requests, Source, TraceError};
use std::sync::Mutex;

/// The number of requests of a workload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RequestCount {
    /// The exact number.
    Exact(u64),
    /// An estimate.
    Estimate(u64),
}

impl RequestCount {
    pub(crate) fn number(self) -> u64 {
        let (RequestCount::Exact(n) | RequestCount::Estimate(n)) = self;
        n
    }
}

/// The numbers of requests of all workloads; each workload runs on every system.
pub struct ExpectedRequests<'a> {
    progress: &'a Progress,
    systems: u64,
    /// Limit of each workload.
    at_most: u64,
    workloads: Mutex<Vec<Option<RequestCount>>>,
}

impl<'a> ExpectedRequests<'a> {
    pub fn new(progress: &'a Progress, systems: usize, workloads: usize, at_most: Option<u64>) -> ExpectedRequests<'a> {
        ExpectedRequests {
            progress,
            systems: systems as u64,
            at_most: at_most.unwrap_or(u64::MAX),
            workloads: Mutex::new(vec![None; workloads]),
        }
    }

    /// The number of requests that a workload will have on each system, if known.
    pub(crate) fn get(&self, workload: usize) -> Option<RequestCount> {
        let known = (*self.workloads.lock().ok()?.get(workload)?)?;
        Some(match known {
            RequestCount::Exact(n) => RequestCount::Exact(n.min(self.at_most)),
            RequestCount::Estimate(n) if n < self.at_most => known,
            RequestCount::Estimate(_) => RequestCount::Exact(self.at_most),
        })
    }

    /// Sets the number of a workload. The total is known once the numbers of all workloads are.
    pub fn set(&self, workload: usize, known: RequestCount) {
        let Ok(mut all) = self.workloads.lock() else {
            return;
        };
        match (all[workload], known) {
            (Some(RequestCount::Exact(_)), _) => return,
            _ => all[workload] = Some(known),
        }
        let sum =
            all.iter().try_fold(0u64, |sum, known| Some(sum.saturating_add((*known)?.number().min(self.at_most))));
        if let Some(sum) = sum {
            self.progress.set_total(sum.saturating_mul(self.systems));
        }
    }
}

/// Requests between two estimates.
const BATCH: u64 = 1024;

/// A trace that estimates its number of requests while it is read.
pub struct EstimatingSource<'a> {
    source: Source,
    counters: Counters,
    expected: &'a ExpectedRequests<'a>,
    workload: usize,
    seen: u64,
    /// Bytes read at the last estimate.
    read: u64,
}

impl Iterator for EstimatingSource<'_> {
    type Item = Result<Request, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let next = self.source.next();
        match next {
            Some(_) => self.count(1),
            None => self.expected.set(self.workload, RequestCount::Exact(self.seen)),
        }
        next
    }
}

impl Requests for EstimatingSource<'_> {
    fn fill(&mut self, batch: &mut Vec<Request>, most: usize) -> Result<(), TraceError> {
        let before = batch.len();
        let result = self.source.fill(batch, most);
        let got = batch.len() - before;
        self.count(got as u64);
        if result.is_ok() && got < most {
            self.expected.set(self.workload, RequestCount::Exact(self.seen));
        }
        result
    }
}

impl<'a> EstimatingSource<'a> {
    pub fn new(
        source: Source,
        counters: Counters,
        expected: &'a ExpectedRequests<'a>,
        workload: usize,
    ) -> EstimatingSource<'a> {
        EstimatingSource { source, counters, expected, workload, seen: 0, read: 0 }
    }

    pub fn count(&mut self, requests: u64) {
        let looks = self.seen / BATCH;
        self.seen += requests;
        if self.seen / BATCH > looks {
            self.look();
        }
    }

    fn look(&mut self) {
        let (read, size) = self.counters.progress();
        // Files are read in large pieces. When the next piece is fetched, all requests of the pieces before it
        // have been returned.
        if read == self.read {
            return;
        }
        if self.read > 0 {
            let share = self.read as f64 / size as f64;
            let about = (self.seen as f64 / share) as u64;
            self.expected.set(self.workload, RequestCount::Estimate(about));
        }
        self.read = read;
    }
}
