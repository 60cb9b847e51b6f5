//! What a simulation measured: for the system and for each drive.

use crate::capping::CappingOutcome;
use crate::change::ChangeCounts;
use crate::classes::ClassOutcome;
use crate::simulate::options::Options;
#[cfg(doc)]
use crate::simulate::options::OutOfRangePolicy;
use headstack_block::layer::LayerCompletion;
pub use headstack_block::measured::MemberOutcome;
use headstack_engine::{Batches, Grouped, Series};
use headstack_schema::Columns;
use headstack_trace::{Alignment, Command};
use headstack_units::{Span, Time};
use serde::Serialize;
use std::cmp::Reverse;
use std::ops::AddAssign;

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

/// Declares the columns of results that are shares of requests: a sentence, the name, and whether a completion counts. A
/// new one is a line in the list; `make schema-types` prints its type in Python.
macro_rules! shares {
    ($($(#[doc = $sentence:literal])+ $name:ident($done:ident): $counts:expr;)+) => {
        /// Shares of the requests that succeeded, and their numbers while these are counted.
        #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
        pub struct Shares<N> {
            $($(#[doc = $sentence])+ pub $name: N,)+
        }

        impl Shares<u64> {
            #[inline(always)]
            fn count(&mut self, done: &LayerCompletion) {
                $(let $done = done; self.$name += u64::from($counts);)+
            }

            fn absorb(&mut self, more: &Shares<u64>) {
                $(self.$name += more.$name;)+
            }

            /// Of so many requests that succeeded.
            pub fn of(&self, n: u64) -> Shares<f64> {
                Shares { $($name: self.$name as f64 / n as f64),+ }
            }
        }
    };
}

shares! {
    /// Share of requests for which an arm moved.
    nonzero_seek_ratio(done): done.moved;
    /// Share of requests served from buffers: all data are there when the drive looks; a read that waits for read-ahead is a
    /// miss.
    cache_hit_ratio(done): done.cache_hit;
}

/// Sums over the requests that are done. They are whole numbers, so that the order of requests has no effect. Lists of
/// three are by operation: reads, writes, flushes. Nanoseconds of fewer than 2^32 requests of at most 2^32 ns each fit
/// into 64 bits (`N`).
#[derive(Debug, Clone, Default)]
pub struct Sums<N = u128> {
    /// Requests done, failed ones included.
    pub n_requests: u64,
    /// Failed ones; they have no response time.
    pub errors_by: [u64; 3],
    /// Sum of the times that failed ones were in the system, nanoseconds.
    pub failed_ns: N,
    /// Blocks of the requests that succeeded.
    pub blocks_by: [u64; 3],
    /// Sums in nanoseconds: queue, overhead, seek, rotation, transfer, bus. Together they are the response times.
    pub component_ns: [N; 6],
    /// Parts of the first of them: for a place, in the elevator, in the array; the rest was spent in the drive.
    pub wait_ns: [N; 3],
    /// Requests that count for shares.
    pub shares: Shares<u64>,
}

impl<N: Copy + AddAssign + From<u64>> Sums<N> {
    /// Counts a request of an operation that is done.
    #[inline(always)]
    pub(crate) fn count(&mut self, operation: usize, blocks: u32, response_ns: u64, done: &LayerCompletion) {
        self.n_requests += 1;
        if done.error.is_some() {
            self.errors_by[operation] += 1;
            self.failed_ns += response_ns.into();
            return;
        }
        let (c, ns) = (&done.components, |span: Span| span.0 as u64);
        add(&mut self.component_ns, [c.queue, c.overhead, c.seek, c.rotation, c.transfer, c.bus].map(ns));
        let [place, elevator, array, _] = done.waits.parts(c.queue);
        add(&mut self.wait_ns, [place, elevator, array].map(ns));
        self.blocks_by[operation] += u64::from(blocks);
        self.shares.count(done);
    }

    /// Adds the sums of other requests.
    pub(crate) fn absorb<M: Copy + Into<N>>(&mut self, more: &Sums<M>) {
        self.n_requests += more.n_requests;
        self.failed_ns += more.failed_ns.into();
        add(&mut self.errors_by, more.errors_by);
        add(&mut self.blocks_by, more.blocks_by);
        add(&mut self.component_ns, more.component_ns);
        add(&mut self.wait_ns, more.wait_ns);
        self.shares.absorb(&more.shares);
    }
}

#[inline(always)]
fn add<N: AddAssign, const K: usize>(sums: &mut [N; K], more: [impl Into<N>; K]) {
    for (sum, more) in sums.iter_mut().zip(more) {
        *sum += more.into();
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
        512 * u128::from(self.sums.blocks_by.iter().sum::<u64>())
    }
}
