//! What the controller is told of requests that ended, and what a run counts of them by drive.
//!
//! # Model
//! Nothing here depends on the order of requests. So a part of a system that is simulated by itself counts those of its
//! own drives, and the controller adds up what the parts have counted since its last reading.

use crate::ended::Asked;
use headstack_block::layer::LayerCompletion;
use headstack_engine::Quantiles;

/// Response times up to this one are counted, as in the paper on PCAP.
const SHORT_NS: u64 = 100_000_000;

/// Response times kept exactly before a histogram takes over.
pub(super) const EXACT: usize = 100_000;

/// The requests that ended since the last reading.
#[derive(Default)]
pub(super) struct Interval {
    pub response_ns: Vec<u64>,
    pub admitted_ns: Vec<u64>,
    pub blocks: u64,
    pub by_drive: Vec<u64>,
    pub by_job: Vec<u64>,
}

impl Interval {
    /// Of so many drives and jobs.
    pub fn new(drives: usize, jobs: usize) -> Interval {
        Interval { by_drive: vec![0; drives], by_job: vec![0; jobs], ..Interval::default() }
    }

    /// Begins another interval.
    pub fn clear(&mut self) {
        self.response_ns.clear();
        self.admitted_ns.clear();
        self.blocks = 0;
        self.by_drive.fill(0);
        self.by_job.fill(0);
    }

    /// Takes over what another one has, whose drives begin with number `first` of the own ones.
    fn take(&mut self, part: &mut Interval, first: usize) {
        self.response_ns.append(&mut part.response_ns);
        self.admitted_ns.append(&mut part.admitted_ns);
        self.blocks += part.blocks;
        let add = |sums: &mut [u64], more: &[u64]| {
            sums.iter_mut().zip(more).for_each(|(sum, n)| *sum += n);
        };
        add(&mut self.by_drive[first..], &part.by_drive);
        add(&mut self.by_job, &part.by_job);
        part.clear();
    }
}

/// One drive.
pub(super) struct OfDrive {
    /// Response times from admission.
    pub times: Quantiles,
    /// Number of those that were short.
    pub n_short: u64,
}

/// Requests of some neighbouring drives that ended.
pub(crate) struct Observed {
    /// The number of the first drive.
    first: usize,
    interval: Interval,
    /// What was counted of each drive.
    pub(super) drives: Vec<OfDrive>,
}

impl Observed {
    /// Of so many drives, the first of which has the number `first`, and of so many jobs.
    pub fn new(first: usize, drives: usize, jobs: usize) -> Observed {
        let one = |_| OfDrive { times: Quantiles::with_limit(EXACT), n_short: 0 };
        Observed { first, interval: Interval::new(drives, jobs), drives: (0..drives).map(one).collect() }
    }

    /// A request of a job ended, without an error.
    #[inline]
    pub fn add(&mut self, asked: &Asked, answer: &LayerCompletion, response_ns: u64, job: Option<u32>) {
        let all = &mut self.interval;
        let admitted_ns = answer.completion.since(answer.admitted.max(asked.arrival)).non_negative();
        all.response_ns.push(response_ns);
        all.admitted_ns.push(admitted_ns);
        all.blocks += u64::from(asked.blocks);
        // Requests that no drive served have a number that no drive has.
        let at = (answer.drive as usize).wrapping_sub(self.first);
        if let Some(own) = self.drives.get_mut(at) {
            all.by_drive[at] += 1;
            own.times.add(admitted_ns);
            own.n_short += u64::from(admitted_ns <= SHORT_NS);
        }
        if let Some(n) = job.and_then(|j| all.by_job.get_mut(j as usize)) {
            *n += 1;
        }
    }

    /// Moves what ended since the last reading into the interval of all drives.
    pub(super) fn move_to(&mut self, all: &mut Interval) {
        all.take(&mut self.interval, self.first);
    }
}
