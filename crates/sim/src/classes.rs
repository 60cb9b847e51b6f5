//! Results by class of requests.

use crate::outcome::Outcome;
use headstack_block::layer::LayerCompletion;
use headstack_engine::quantiles::Quantiles;
use headstack_engine::Summary;
use headstack_schema::Columns;
use headstack_trace::classes::OTHER;
use serde::Serialize;

/// What was measured of a class of requests.
pub struct ClassOutcome {
    /// Failed requests.
    pub n_errors: u64,
    /// Requests that missed a duration limit, failed ones included.
    pub n_missed: u64,
    /// Bytes of the requests that succeeded.
    pub bytes: u128,
    /// Response times of those.
    pub response: Quantiles,
}

impl ClassOutcome {
    /// One for each class and a last one for requests without a class; without classes, none at all.
    pub fn of(classes: usize, exact_limit: usize) -> Vec<ClassOutcome> {
        let all = match classes {
            0 => 0,
            n => n + 1,
        };
        let one = |_| ClassOutcome {
            n_errors: 0,
            n_missed: 0,
            bytes: 0,
            response: Quantiles::with_limit(exact_limit / all.max(1)),
        };
        (0..all).map(one).collect()
    }

    /// Adds a measured request to the sums.
    pub fn add(&mut self, blocks: u32, answer: &LayerCompletion) {
        self.n_missed += u64::from(answer.missed);
        match answer.error {
            Some(_) => self.n_errors += 1,
            None => self.bytes += u128::from(blocks) * 512,
        }
    }

    /// Adds the sums of a part of the system; response times are counted in the order of the whole.
    pub fn absorb(&mut self, part: &ClassOutcome) {
        self.n_errors += part.n_errors;
        self.n_missed += part.n_missed;
        self.bytes += part.bytes;
    }
}

/// The requests of one class.
#[derive(Debug, Clone, PartialEq, Serialize, Columns)]
#[columns("RequestClass")]
pub struct ClassResult {
    /// The class's name; `other` for the requests that belong to none.
    pub name: String,
    /// Requests after the warm-up, failed ones included.
    pub n_requests: u64,
    /// Failed ones.
    pub n_errors: u64,
    /// Those that missed a duration limit of a drive, whether they failed or not.
    pub n_missed: u64,
    /// Requests that succeeded, per second.
    pub throughput_iops: f64,
    /// Their bytes per second.
    pub throughput_bytes_per_s: f64,
    /// From arrival to completion.
    pub response_time_s: Summary,
}

/// Results of each class that has requests, in the order of the workload; those of no class come last.
pub fn results(outcome: &mut Outcome, names: &[String], seconds: f64) -> Vec<ClassResult> {
    let mut found = Vec::new();
    for (i, class) in outcome.classes.iter_mut().enumerate() {
        let done = class.response.count();
        if done + class.n_errors == 0 {
            continue;
        }
        let name = i.checked_sub(1).and_then(|i| names.get(i));
        found.push(ClassResult {
            name: name.map_or(OTHER, String::as_str).to_string(),
            n_requests: done + class.n_errors,
            n_errors: class.n_errors,
            n_missed: class.n_missed,
            throughput_iops: done as f64 / seconds,
            throughput_bytes_per_s: class.bytes as f64 / seconds,
            response_time_s: class.response.summary(),
        });
    }
    if found.first().is_some_and(|first| first.name == OTHER) {
        found.rotate_left(1);
    }
    found
}
