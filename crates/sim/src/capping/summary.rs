//! Summary of a capped run: how the cap was kept, and at what cost.
//!
//! # Definitions
//! All powers are mean powers at the meter in its intervals, without its errors. The power of an interval is compared
//! with the cap at the beginning of the interval.

use super::runtime::CappingOutcome;
use super::series::{status_name, CapSeries};
use headstack_control::Command;
use headstack_drive::spec::Params;
use headstack_engine::Summary;
use headstack_schema::Columns;
use headstack_units::Span;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a cap was kept, and at what cost.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Columns)]
pub struct CappingResult {
    /// The policy.
    pub policy: String,
    /// Its parameters, also those that the table leaves out.
    pub parameters: Params,
    /// The parameters that have a default, with it.
    #[serde(skip)]
    pub defaults: Params,
    /// Seconds that were observed.
    pub observed_s: f64,
    /// Seconds under a cap.
    pub capped_s: f64,
    /// Seconds with a power above cap plus `tolerance`.
    pub violation_s: f64,
    /// Energy above the cap: the sum of what exceeds it, watt-seconds.
    pub over_cap_j: f64,
    /// Most watts by which an interval exceeded the cap.
    pub worst_over_cap_w: f64,
    /// Mean power.
    pub power_mean_w: f64,
    /// Largest mean power of an interval.
    pub power_max_w: f64,
    /// Time after a change of the cap to a lower one or from none until the mean of five intervals is within cap plus
    /// `tolerance`, and stays there for ten intervals; caps of fewer than ten intervals are not judged.
    pub settling_s: Settling,
    /// Oscillation: standard deviation of means of five intervals, in the second half of each time under one cap, in
    /// watts.
    pub power_deviation_w: f64,
    /// Settings that changed, over all drives.
    pub n_changes: u64,
    /// From submission to completion.
    pub response_time_s: Summary,
    /// From admission to the host's queue to completion.
    pub admitted_response_time_s: Summary,
    /// Share of requests that took at most 100 ms from admission.
    #[columns(null)]
    pub within_100_ms: f64,
    /// Points `[seconds, share not slower]` from admission.
    pub admitted_cdf: Vec<[f64; 2]>,
    /// Each drive.
    pub drives: Vec<CappedDrive>,
    /// Over time.
    pub series: CappingSeries,
    /// The series as a file, relative to the output folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_file: Option<String>,
    /// The series of the drives as a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drives_file: Option<String>,
}

/// How fast falling caps were met.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
pub struct Settling {
    /// Mean over those that were met.
    pub mean: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// Falling caps.
    pub n: u64,
    /// Those that were not met before the next change.
    pub never: u64,
}

/// One drive under a cap.
#[derive(Debug, Clone, PartialEq, Serialize, Columns)]
pub struct CappedDrive {
    /// Mean power in watts, behind the power supply.
    pub power_mean_w: f64,
    /// From admission to completion.
    pub admitted_response_time_s: Summary,
    /// The 80th percentile of it.
    pub admitted_p80_s: Option<f64>,
    /// Share of requests that took at most 100 ms from admission.
    #[columns(null)]
    pub within_100_ms: f64,
}

/// The series of the system, column by column; units as in the file.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Columns)]
pub struct CappingSeries {
    /// End of each interval, seconds after the first request.
    pub t_s: Vec<f64>,
    /// Power in watts.
    pub power_w: Vec<f64>,
    /// The reading that the controller got, in watts.
    pub measured_w: Vec<Option<f64>>,
    /// The cap in watts.
    pub cap_w: Vec<Option<f64>>,
    /// Status of the policy.
    pub status: Vec<&'static str>,
    /// Requests per second.
    pub throughput_iops: Vec<f64>,
    /// Requests in the system.
    pub in_flight: Vec<u64>,
    /// Mean response time from submission, in seconds.
    pub response_mean_s: Vec<Option<f64>>,
    /// Median from admission.
    pub admitted_p50_s: Vec<Option<f64>>,
    /// 99th percentile from admission.
    pub admitted_p99_s: Vec<Option<f64>>,
    /// Longest from admission.
    pub admitted_max_s: Vec<Option<f64>>,
    /// Places of the host's queue, mean over drives.
    pub nr_requests: Vec<f64>,
    /// Queue depth, mean over drives.
    pub queue_depth: Vec<f64>,
    /// Time to the deadline of reads in seconds, mean over drives; none if a drive has no such setting.
    pub read_expire_s: Vec<Option<f64>>,
    /// Arms that may move, mean over drives.
    pub arms: Vec<f64>,
    /// Requests per second of each job.
    pub job_iops: BTreeMap<String, Vec<f64>>,
    /// Power of each drive in watts, behind the power supply.
    pub drive_power_w: Vec<Vec<f64>>,
}

/// Intervals over which the power is averaged, and for which it has to stay within the cap.
const SMOOTH: usize = 5;
const STAY: usize = 10;

/// Computes the summary; it sorts response times of the outcome.
pub fn summarise(outcome: &mut CappingOutcome) -> CappingResult {
    let table = &outcome.plan.table;
    // This sorts the values, of which quantiles are then read.
    let admitted_cdf = outcome.all[1].cdf_points(400);
    let mut result = CappingResult {
        policy: table.policy.clone(),
        parameters: outcome.told.parameters.clone(),
        defaults: outcome.told.defaults.clone(),
        n_changes: outcome.n_changes,
        response_time_s: outcome.all[0].summary(),
        admitted_response_time_s: outcome.all[1].summary(),
        within_100_ms: share(outcome.within.iter().sum(), outcome.all[1].count()),
        admitted_cdf,
        series: columns(outcome),
        ..CappingResult::default()
    };
    keep(&mut result, outcome, table.tolerance.0);
    let segments = segments(outcome);
    settle(&mut result, outcome, &segments, table.tolerance.0);
    result.power_deviation_w = deviation(outcome, &segments);
    result.drives = drives(outcome);
    result
}

fn share(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

/// The cap for point `i`: the cap at the end of the interval before.
fn cap_of(outcome: &CappingOutcome, i: usize) -> Option<f64> {
    match i {
        0 => outcome.first_cap_w,
        i => outcome.series.points[i - 1].cap_w,
    }
}

fn keep(result: &mut CappingResult, outcome: &CappingOutcome, tolerance_w: f64) {
    let mut joules = 0.0;
    for (i, p) in outcome.series.points.iter().enumerate() {
        result.observed_s += p.width_s;
        joules += p.width_s * p.power_w;
        result.power_max_w = result.power_max_w.max(p.power_w);
        let Some(cap_w) = cap_of(outcome, i) else {
            continue;
        };
        let over_w = (p.power_w - cap_w).max(0.0);
        result.capped_s += p.width_s;
        result.over_cap_j += over_w * p.width_s;
        result.worst_over_cap_w = result.worst_over_cap_w.max(over_w);
        if over_w > tolerance_w {
            result.violation_s += p.width_s;
        }
    }
    if result.observed_s > 0.0 {
        result.power_mean_w = joules / result.observed_s;
    }
}

/// A time under one cap: its points, its cap and the cap before.
struct Segment {
    from: usize,
    to: usize,
    cap_w: Option<f64>,
    before_w: Option<f64>,
}

fn segments(outcome: &CappingOutcome) -> Vec<Segment> {
    let n = outcome.series.points.len();
    let mut all: Vec<Segment> = Vec::new();
    for i in 0..n {
        let cap_w = cap_of(outcome, i);
        match all.last_mut() {
            Some(last) if last.cap_w == cap_w => last.to = i + 1,
            last => {
                let before_w = last.and_then(|s| s.cap_w);
                all.push(Segment { from: i, to: i + 1, cap_w, before_w });
            }
        }
    }
    all
}

/// Mean power of the intervals up to `i`, at most five of them and none before `from`.
fn smooth(outcome: &CappingOutcome, from: usize, i: usize) -> f64 {
    let first = (i + 1).saturating_sub(SMOOTH).max(from);
    let points = &outcome.series.points[first..=i];
    points.iter().map(|p| p.power_w).sum::<f64>() / points.len() as f64
}

fn settle(result: &mut CappingResult, outcome: &CappingOutcome, segments: &[Segment], tolerance_w: f64) {
    let mut times = Vec::new();
    for s in segments {
        let falls = |cap: &f64| s.before_w.is_none_or(|before| *cap < before) && s.to - s.from >= STAY;
        let Some(cap_w) = s.cap_w.filter(falls) else {
            continue;
        };
        result.settling_s.n += 1;
        let within = |i: usize| smooth(outcome, s.from, i) <= cap_w + tolerance_w;
        let stays = |i: usize| (i..i + STAY).all(within);
        match (s.from..=s.to - STAY).find(|i| stays(*i)) {
            Some(i) => {
                let points = &outcome.series.points;
                times.push(points[i].t_s - (points[s.from].t_s - points[s.from].width_s));
            }
            None => result.settling_s.never += 1,
        }
    }
    if !times.is_empty() {
        result.settling_s.mean = Some(times.iter().sum::<f64>() / times.len() as f64);
        result.settling_s.max = times.iter().copied().reduce(f64::max);
    }
}

fn deviation(outcome: &CappingOutcome, segments: &[Segment]) -> f64 {
    let (mut sum, mut n) = (0.0, 0.0);
    for s in segments.iter().filter(|s| s.cap_w.is_some()) {
        let from = s.from + (s.to - s.from) / 2;
        let means: Vec<f64> = (from..s.to)
            .collect::<Vec<_>>()
            .chunks_exact(SMOOTH)
            .map(|c| smooth(outcome, c[0], c[SMOOTH - 1]))
            .collect();
        if means.len() < 2 {
            continue;
        }
        let mean = means.iter().sum::<f64>() / means.len() as f64;
        sum += means.iter().map(|m| (m - mean).powi(2)).sum::<f64>();
        n += means.len() as f64;
    }
    if n > 0.0 {
        f64::sqrt(sum / n)
    } else {
        0.0
    }
}

fn drives(outcome: &mut CappingOutcome) -> Vec<CappedDrive> {
    let n = outcome.series.n_drives;
    let (mut joules, mut seconds) = (vec![0.0; n], 0.0);
    for (i, p) in outcome.series.points.iter().enumerate() {
        seconds += p.width_s;
        for (sum, d) in joules.iter_mut().zip(outcome.series.drives_at(i)) {
            *sum += d.power_w * p.width_s;
        }
    }
    let within = outcome.within.clone();
    let times = outcome.by_drive.iter_mut().zip(joules).zip(within);
    times
        .map(|((times, joules), within)| CappedDrive {
            power_mean_w: if seconds > 0.0 { joules / seconds } else { 0.0 },
            admitted_response_time_s: times.summary(),
            admitted_p80_s: Some(times.quantile_s(0.8)).filter(|s| s.is_finite()),
            within_100_ms: share(within, times.count()),
        })
        .collect()
}

fn columns(outcome: &CappingOutcome) -> CappingSeries {
    let series = &outcome.series;
    let mut c = CappingSeries {
        drive_power_w: vec![Vec::with_capacity(series.points.len()); series.n_drives],
        ..CappingSeries::default()
    };
    for (i, p) in series.points.iter().enumerate() {
        c.t_s.push(p.t_s);
        c.power_w.push(p.power_w);
        c.measured_w.push(p.measured_w);
        c.cap_w.push(p.cap_w);
        c.status.push(status_name(p.status));
        c.throughput_iops.push(p.iops);
        c.in_flight.push(p.in_flight);
        c.response_mean_s.push(p.response_s[0]);
        c.admitted_p50_s.push(p.admitted_s[1]);
        c.admitted_p99_s.push(p.admitted_s[2]);
        c.admitted_max_s.push(p.admitted_s[3]);
        c.nr_requests.push(series.mean_at(i, |c| f64::from(c.nr_requests)));
        c.queue_depth.push(series.mean_at(i, |c| f64::from(c.queue_depth)));
        c.read_expire_s.push(read_expire_s(series, i));
        c.arms.push(series.mean_at(i, |c| f64::from(c.arms)));
        for (column, d) in c.drive_power_w.iter_mut().zip(series.drives_at(i)) {
            column.push(d.power_w);
        }
    }
    for (j, name) in series.jobs.iter().enumerate() {
        let iops = series.points.iter().map(|p| p.job_iops[j]).collect();
        c.job_iops.insert(name.clone(), iops);
    }
    c
}

/// Mean over the drives of the time to the deadline of reads at point `i`.
fn read_expire_s(series: &CapSeries, i: usize) -> Option<f64> {
    let of = |c: &Command| c.read_expire.map_or(f64::NAN, Span::as_secs_f64);
    Some(series.mean_at(i, of)).filter(|s| s.is_finite())
}
