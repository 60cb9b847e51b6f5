//! What a layer counts.

use super::{Done, ErrorKind};
use headstack_units::Time;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts and sums of one layer; those of layers that are alike are added up.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    since: Time,
    n_requests: u64,
    n_errors: u64,
    from_submission_ns: u128,
    from_admission_ns: u128,
    longest_ns: u64,
    /// Errors by kind.
    errors: BTreeMap<&'static str, u64>,
    /// What else the layer counts, by name.
    counts: BTreeMap<&'static str, u64>,
    /// The most at once of what else it counts, by name.
    most: BTreeMap<&'static str, u64>,
    /// What else it sums up, in nanoseconds.
    sums_ns: BTreeMap<&'static str, u128>,
}

impl Statistics {
    /// Counting begins at `now`, with requests that arrive from then on.
    pub fn reset(&mut self, now: Time) {
        *self = Statistics {
            since: now,
            ..Statistics::default()
        };
    }

    /// Whether a request that arrived at this time counts.
    #[inline]
    pub fn counts_from(&self, arrival: Time) -> bool {
        arrival >= self.since
    }

    /// A request is done.
    #[inline]
    pub fn add_done(&mut self, done: &Done) {
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

    /// One more of what is called `name`.
    pub fn count(&mut self, name: &'static str, n: u64) {
        *self.counts.entry(name).or_default() += n;
    }

    /// More of the time that is called `name`.
    pub fn add_ns(&mut self, name: &'static str, ns: u128) {
        *self.sums_ns.entry(name).or_default() += ns;
    }

    /// The most that there has been at once of what is called `name`.
    pub fn most(&mut self, name: &'static str, n: u64) {
        let most = self.most.entry(name).or_default();
        *most = n.max(*most);
    }

    /// How many there have been of what is called `name`.
    pub fn counted(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// Adds what another layer of the kind has counted.
    pub fn add(&mut self, other: &Statistics) {
        self.n_requests += other.n_requests;
        self.n_errors += other.n_errors;
        self.from_submission_ns += other.from_submission_ns;
        self.from_admission_ns += other.from_admission_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        for (name, n) in &other.errors {
            *self.errors.entry(name).or_default() += n;
        }
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

    /// As results show it.
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
            sums_s: self
                .sums_ns
                .iter()
                .map(|(name, ns)| (*name, *ns as f64 * 1e-9))
                .collect(),
        }
    }
}

impl ErrorKind {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::OutOfRange => "out_of_range",
            ErrorKind::Unreachable => "unreachable",
            ErrorKind::MemberLost => "member_lost",
            ErrorKind::Aborted => "aborted",
        }
    }
}

/// What the layers of one kind at one height did, added up. Requests are those that the layer got, whole
/// ones of the workload only at the top.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayerResult {
    /// The layer's name, or `drive`.
    pub layer: String,
    /// How many there are of it.
    pub instances: u64,
    /// Requests done after the warm-up, failed ones included.
    pub n_requests: u64,
    /// Failed ones.
    pub n_errors: u64,
    /// Failed ones by kind.
    pub errors: BTreeMap<&'static str, u64>,
    /// From submission to completion, seconds; `null` without requests.
    pub from_submission_mean_s: f64,
    /// From admission (for a host queue: from when a place was found for it) to completion, seconds.
    pub from_admission_mean_s: f64,
    /// The longest time from submission, seconds.
    pub longest_s: f64,
    /// What else the layer counts, as its file documents.
    pub counts: BTreeMap<&'static str, u64>,
    /// The most at once, of one instance, of what else it counts.
    pub most: BTreeMap<&'static str, u64>,
    /// What else it adds up, seconds.
    pub sums_s: BTreeMap<&'static str, f64>,
}
