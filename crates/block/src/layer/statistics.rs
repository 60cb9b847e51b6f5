//! Statistics of layers.

use super::{ErrorKind, LayerCompletion};
use headstack_schema::Columns;
use headstack_units::Time;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts and sums of one layer. Those of layers of the same kind can be added.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    since: Time,
    n_requests: u64,
    n_errors: u64,
    from_submission_ns: u128,
    from_admission_ns: u128,
    longest_ns: u64,
    /// Failed requests by kind of error.
    errors: BTreeMap<&'static str, u64>,
    /// The layer's own counts, by name.
    counts: BTreeMap<&'static str, u64>,
    /// The layer's own maxima, by name.
    most: BTreeMap<&'static str, u64>,
    /// The layer's own sums of time, in nanoseconds, by name.
    sums_ns: BTreeMap<&'static str, u128>,
}

impl Statistics {
    /// Clears everything. Requests that arrive from `now` on are counted.
    pub fn reset(&mut self, now: Time) {
        *self = Statistics { since: now, ..Statistics::default() };
    }

    /// Whether a request that arrived at `arrival` is counted.
    #[inline]
    pub fn counts_from(&self, arrival: Time) -> bool {
        arrival >= self.since
    }

    /// Counts a completed request.
    #[inline]
    pub fn add_done(&mut self, done: &LayerCompletion) {
        if !self.counts_from(done.arrival) {
            return;
        }
        self.n_requests += 1;
        if let Some(kind) = done.error {
            self.n_errors += 1;
            *self.errors.entry(kind.name()).or_default() += 1;
            return;
        }
        let response = done.completion.0 - done.arrival.0;
        self.from_submission_ns += u128::from(response);
        self.from_admission_ns += u128::from(done.completion.0 - done.admitted.0);
        self.longest_ns = self.longest_ns.max(response);
    }

    /// Adds `n` to the count `name`.
    pub fn count(&mut self, name: &'static str, n: u64) {
        *self.counts.entry(name).or_default() += n;
    }

    /// Adds `ns` nanoseconds to the sum `name`.
    pub fn add_ns(&mut self, name: &'static str, ns: u128) {
        *self.sums_ns.entry(name).or_default() += ns;
    }

    /// Raises the maximum `name` to `n` if it is lower.
    pub fn most(&mut self, name: &'static str, n: u64) {
        let most = self.most.entry(name).or_default();
        *most = n.max(*most);
    }

    /// The count `name`; 0 if there is none.
    pub fn counted(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Adds the requests of another layer, but not the layer's own counts.
    pub fn add_requests(&mut self, other: &Statistics) {
        self.n_requests += other.n_requests;
        self.n_errors += other.n_errors;
        self.from_submission_ns += other.from_submission_ns;
        self.from_admission_ns += other.from_admission_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (name, n) in &other.errors {
            *self.errors.entry(name).or_default() += n;
        }
    }

    /// Adds the statistics of another layer of the same kind.
    pub fn add(&mut self, other: &Statistics) {
        self.add_requests(other);
        for (name, n) in &other.counts {
            *self.counts.entry(name).or_default() += n;
        }
        for (name, n) in &other.most {
            self.most(name, *n);
        }
        for (name, ns) in &other.sums_ns {
            *self.sums_ns.entry(name).or_default() += ns;
        }
    }

    /// The statistics as results show them.
    pub fn result(&self, layer: &str, instances: u64) -> LayerResult {
        let done = self.n_requests - self.n_errors;
        let mean = |ns: u128| headstack_engine::quantiles::mean_s(ns, done);
        LayerResult {
            layer: layer.to_string(),
            instances,
            n_requests: self.n_requests,
            n_errors: self.n_errors,
            errors: self.errors.clone(),
            from_submission_mean_s: mean(self.from_submission_ns),
            from_admission_mean_s: mean(self.from_admission_ns),
            longest_s: self.longest_ns as f64 * 1e-9,
            counts: self.counts.clone(),
            most: self.most.clone(),
            sums_s: self.sums_ns.iter().map(|(name, ns)| (*name, *ns as f64 * 1e-9)).collect(),
        }
    }
}

impl ErrorKind {
    /// The error's name in results.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::OutOfRange => "out_of_range",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::MemberLost => "member_lost",
            ErrorKind::Aborted => "aborted",
            ErrorKind::Zone(sense) => sense.name(),
            ErrorKind::Medium { .. } => "medium",
            ErrorKind::Gone => "gone",
            ErrorKind::Limit(end) => end.name(),
        }
    }
}

/// Declares what a layer counts itself, each under its name, and sums of time, in nanoseconds, with their names.
macro_rules! counts {
    ($($count:ident),* $(; $ns:ident = $name:literal)*) => {
        #[derive(Debug, Default, Clone)]
        struct Counts {
            $($count: u64,)*
            $($ns: u128,)*
        }

        impl Counts {
            fn add_to(&self, all: &mut Statistics) {
                $(all.count(stringify!($count), self.$count);)*
                $(all.add_ns($name, self.$ns);)*
            }
        }
    };
}
pub(crate) use counts;

/// The sum of the statistics of all layers of one kind at one level of the tree. It counts the requests to
/// these layers; only at the top these are the requests of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Columns)]
pub struct LayerResult {
    /// The layer's name, or `drive`.
    pub layer: String,
    /// Number of layers added up.
    pub instances: u64,
    /// Requests completed after the warm-up, failed ones included.
    pub n_requests: u64,
    /// Failed requests.
    pub n_errors: u64,
    /// Failed requests by kind of error.
    pub errors: BTreeMap<&'static str, u64>,
    /// Mean time from submission to completion, in seconds; `null` without requests.
    #[columns(null)]
    pub from_submission_mean_s: f64,
    /// Mean time from admission to completion, in seconds. In a host queue a request is admitted when it gets
    /// a place.
    #[columns(null)]
    pub from_admission_mean_s: f64,
    /// Longest time from submission to completion, in seconds.
    pub longest_s: f64,
    /// The layer's own counts, as its file documents.
    pub counts: BTreeMap<&'static str, u64>,
    /// The layer's own maxima; of several layers the largest.
    pub most: BTreeMap<&'static str, u64>,
    /// The layer's own sums of time, in seconds.
    pub sums_s: BTreeMap<&'static str, f64>,
}
