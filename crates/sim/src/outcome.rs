//! What a simulation measured: for the system and for each drive.

use crate::capping::CappingOutcome;
use crate::change::ChangeCounts;
use crate::classes::ClassOutcome;
use crate::simulate::options::Options;
#[cfg(doc)]
use crate::simulate::options::OutOfRangePolicy;
pub use headstack_block::measured::MemberOutcome;
use headstack_engine::{Batches, Grouped, Series};
use headstack_trace::{Alignment, Command};
use headstack_units::Time;
use serde::Serialize;
use std::cmp::Reverse;

/// Kinds of requests that are counted separately, as results name them.
pub const OPERATIONS: [&str; 3] = ["read", "write", "flush"];

/// Index of a request's kind in [`OPERATIONS`].
#[inline(always)]
pub(crate) fn operation(op: Command) -> usize {
    match op {
        Command::Read | Command::ReadThrough => 0,
        Command::Write | Command::WriteThrough => 1,
        Command::Flush => 2,
    }
}

/// Requests that reach beyond the end of their device or begin below its block zero, whatever was done with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BeyondDevice {
    /// Their number.
    pub n_requests: u64,
    /// Those that begin below zero.
    pub n_below_zero: u64,
    /// The farthest end of one, in blocks.
    pub end_blocks: u64,
    /// Its device.
    pub device: u32,
    /// The size of that device.
    pub device_blocks: u64,
}

impl BeyondDevice {
    /// Both together. Of two that end equally far, the one on the lower device is shown.
    pub(crate) fn and(&self, other: &BeyondDevice) -> BeyondDevice {
        let reach = |b: &BeyondDevice| (b.end_blocks, Reverse(b.device));
        let farthest = match reach(other) > reach(self) {
            true => other,
            false => self,
        };
        BeyondDevice {
            n_requests: self.n_requests + other.n_requests,
            n_below_zero: self.n_below_zero + other.n_below_zero,
            ..*farthest
        }
    }
}

/// The requests of a workload, as a run saw them.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Requests taken from the workload, the warm-up included.
    pub n_taken: u64,
    /// Requests left out because of [`OutOfRangePolicy::DropCounted`].
    pub n_dropped: u64,
    /// Requests beyond the end of their device, if there are any.
    pub beyond: Option<BeyondDevice>,
    /// How the requests lie in sectors, the warm-up included.
    pub alignment: Alignment,
    /// The first arrival and the last, the warm-up included; `None` before the first.
    pub covered: Option<[Time; 2]>,
}

/// Sums over the requests that are done. They are whole numbers, so that the order of requests has no effect. Lists of
/// three are by operation: reads, writes, flushes.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// Requests done, failed ones included.
    pub n_requests: u64,
    /// Failed ones; they have no response time.
    pub errors_by: [u64; 3],
    /// Sum of the times that failed ones were in the system, nanoseconds.
    pub failed_ns: u128,
    /// Bytes of the requests that succeeded.
    pub bytes_by: [u128; 3],
    /// Sums in nanoseconds: queue, overhead, seek, rotation, transfer, bus.
    pub component_ns: [u128; 6],
    /// Parts of the first of them: for a place, in the elevator, in the array; the rest was spent in the drive.
    pub wait_ns: [u128; 3],
    /// Requests for which the arm moved.
    pub n_seeks: u64,
    /// Requests served from buffers.
    pub n_cache_hits: u64,
}

impl Sums {
    /// Adds the sums of other requests.
    fn absorb(&mut self, more: &Sums) {
        self.n_requests += more.n_requests;
        self.failed_ns += more.failed_ns;
        self.n_seeks += more.n_seeks;
        self.n_cache_hits += more.n_cache_hits;
        for i in 0..3 {
            self.errors_by[i] += more.errors_by[i];
            self.bytes_by[i] += more.bytes_by[i];
        }
        for (sum, more) in self.component_ns.iter_mut().zip(more.component_ns) {
            *sum += more;
        }
        for (sum, more) in self.wait_ns.iter_mut().zip(more.wait_ns) {
            *sum += more;
        }
    }
}

impl Seen {
    /// Adds what another part of the system saw of the workload.
    fn absorb(&mut self, more: &Seen) {
        self.n_dropped += more.n_dropped;
        if let Some(more) = more.beyond {
            self.beyond = Some(self.beyond.map_or(more, |own| own.and(&more)));
        }
        self.alignment.absorb(&more.alignment);
    }
}

/// Measurements after the warm-up.
pub struct Outcome {
    /// The workload.
    pub seen: Seen,
    /// Sums over requests.
    pub sums: Sums,
    /// Response times.
    pub response: Grouped<3>,
    /// From start of service to completion.
    pub service: Grouped<3>,
    /// Response times in the order in which they were counted.
    pub batches: Batches,
    /// By class of requests, those of none first; empty without classes.
    pub classes: Vec<ClassOutcome>,
    /// End of the warm-up.
    pub start: Time,
    /// Last completion or arrival, requests of the warm-up included.
    pub end: Time,
    /// Last arrival, for open arrivals.
    pub last_arrival: Option<Time>,
    /// Time series.
    pub series: Series,
    /// Measurements of each drive.
    pub members: Vec<MemberOutcome>,
    /// What capping did, where there is any.
    pub capping: Option<CappingOutcome>,
    /// Counts of the changes, if there are any.
    pub changes: Option<ChangeCounts>,
    /// Whether the run was stopped before the workload's end.
    pub partial: bool,
}

impl Outcome {
    /// Of a run on so many members, before its first request.
    pub(crate) fn new(members: usize, options: &Options) -> Outcome {
        Outcome {
            seen: Seen::default(),
            sums: Sums::default(),
            response: Grouped::with_limit(options.exact_limit),
            service: Grouped::with_limit(options.exact_limit),
            batches: Batches::default(),
            classes: ClassOutcome::of(options.classes, options.exact_limit),
            start: Time::ZERO,
            end: Time::ZERO,
            last_arrival: None,
            series: Series::new(Time::ZERO, options.series_width_ns),
            members: vec![MemberOutcome::default(); members],
            capping: None,
            changes: None,
            partial: false,
        }
    }

    /// Adds the sums of a part of the system that was simulated by itself. They are whole numbers, so that the order of
    /// parts has no effect; its members are not included.
    pub(crate) fn absorb(&mut self, part: Outcome) {
        self.seen.absorb(&part.seen);
        self.sums.absorb(&part.sums);
        for (class, more) in self.classes.iter_mut().zip(&part.classes) {
            class.absorb(more);
        }
        self.end = self.end.max(part.end);
        self.series.absorb(part.series);
    }

    /// Failed requests of all kinds.
    pub fn n_errors(&self) -> u64 {
        self.sums.errors_by.iter().sum()
    }

    /// Bytes of the requests of all kinds that succeeded.
    pub fn bytes(&self) -> u128 {
        self.sums.bytes_by.iter().sum()
    }
}
