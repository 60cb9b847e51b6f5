//! A capped run over time, and its files.

use crate::output::put;
use headstack_control::{Command, RateLimit, Rest, Status};
use headstack_trace::table::Column;
use headstack_units::{Bandwidth, Frequency, Span};
use std::path::Path;

/// One interval of the meter.
#[derive(Debug, Clone, PartialEq)]
pub struct CapPoint {
    /// End of the interval, seconds after the first request, and its length.
    pub t_s: f64,
    /// Length in seconds.
    pub width_s: f64,
    /// Mean power at the meter, without its errors, in watts.
    pub power_w: f64,
    /// The reading that the controller got.
    pub measured_w: Option<f64>,
    /// The cap at the end of the interval.
    pub cap_w: Option<f64>,
    /// Status of the policy.
    pub status: Status,
    /// Requests that ended, per second.
    pub iops: f64,
    /// Their bytes per second.
    pub bytes_per_s: f64,
    /// Requests in the system at the end.
    pub in_flight: u64,
    /// Mean, median, 99th percentile and maximum of response times from submission, in seconds.
    pub response_s: [Option<f64>; 4],
    /// The same from admission to the host's queue.
    pub admitted_s: [Option<f64>; 4],
    /// Requests per second of each job.
    pub job_iops: Vec<f64>,
}

/// One drive in one interval.
#[derive(Debug, Clone, PartialEq)]
pub struct DrivePoint {
    /// Mean power in watts, behind the power supply.
    pub power_w: f64,
    /// Requests whose last part it served, per second.
    pub iops: f64,
    /// Its setting from the end of the interval on; a new number of places once the queue has drained.
    pub command: Command,
}

/// The intervals of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct CapSeries {
    /// In order of time.
    pub points: Vec<CapPoint>,
    /// Drive after drive for each point.
    pub drives: Vec<DrivePoint>,
    /// Number of drives.
    pub n_drives: usize,
    /// Names of the workload's jobs.
    pub jobs: Vec<String>,
}

impl CapSeries {
    pub(super) fn new(n_drives: usize, jobs: Vec<String>) -> CapSeries {
        CapSeries { points: Vec::new(), drives: Vec::new(), n_drives, jobs }
    }

    /// The drives of point `i`.
    pub fn drives_at(&self, i: usize) -> &[DrivePoint] {
        &self.drives[i * self.n_drives..(i + 1) * self.n_drives]
    }

    /// Mean of a number over the drives of point `i`.
    pub fn mean_at(&self, i: usize, of: impl Fn(&Command) -> f64) -> f64 {
        let sum: f64 = self.drives_at(i).iter().map(|d| of(&d.command)).sum();
        sum / self.n_drives as f64
    }
}

/// The name of a status in results.
pub(super) fn status_name(status: Status) -> &'static str {
    match status {
        Status::Uncapped => "uncapped",
        Status::Regulating => "regulating",
        Status::Unreachable { .. } => "unreachable",
        Status::Limiting => "limiting",
        Status::Settling => "settling",
        Status::WrongSign => "wrong-sign",
        Status::Holding => "holding",
        Status::Lost => "lost",
    }
}

/// A limit in requests per second and in bytes per second.
fn limits(limit: RateLimit) -> [Option<f64>; 2] {
    match limit {
        RateLimit::Unlimited => [None, None],
        RateLimit::Requests(Frequency(rate)) => [Some(rate), None],
        RateLimit::Bytes(Bandwidth(rate)) => [None, Some(rate)],
    }
}

/// The name of a rest in results.
fn rest_name(rest: Rest) -> &'static str {
    match rest {
        Rest::Own => "own",
        Rest::Unload { .. } => "unload",
        Rest::Standby { .. } => "standby",
    }
}

/// Writes the series of the system.
///
/// # Shapes and units
/// One row per interval of the meter: `t_s, width_s, power_w, measured_w, cap_w, status, throughput_iops,
/// throughput_bytes_per_s, in_flight, response_{mean,p50,p99,max}_s, admitted_{mean,p50,p99,max}_s`, and
/// `job_NAME_iops` for each job of the workload. Response times are from submission and from admission; `cap_w` is
/// null without a cap, `measured_w` without a reading, times without requests.
///
/// # Errors
/// The file, and why it cannot be written.
pub fn write_series(path: &Path, series: &CapSeries) -> Result<(), String> {
    let p = || series.points.iter();
    let mut columns = vec![
        Column::full("t_s", p().map(|p| p.t_s)),
        Column::full("width_s", p().map(|p| p.width_s)),
        Column::full("power_w", p().map(|p| p.power_w)),
        Column::gaps("measured_w", p().map(|p| p.measured_w)),
        Column::gaps("cap_w", p().map(|p| p.cap_w)),
        Column::full("status", p().map(|p| status_name(p.status))),
        Column::full("throughput_iops", p().map(|p| p.iops)),
        Column::full("throughput_bytes_per_s", p().map(|p| p.bytes_per_s)),
        Column::full("in_flight", p().map(|p| p.in_flight)),
    ];
    for (i, name) in ["mean", "p50", "p99", "max"].iter().enumerate() {
        let mut add = |kind: &str, of: fn(&CapPoint) -> &[Option<f64>; 4]| {
            let values = p().map(|p| of(p)[i]);
            columns.push(Column::gaps(&format!("{kind}_{name}_s"), values));
        };
        add("response", |p| &p.response_s);
        add("admitted", |p| &p.admitted_s);
    }
    for (i, name) in series.jobs.iter().enumerate() {
        let iops = p().map(|p| p.job_iops[i]);
        columns.push(Column::full(&format!("job_{name}_iops"), iops));
    }
    put(path, &columns)
}

/// Writes the series of the drives.
///
/// # Shapes and units
/// One row per interval and drive: `t_s, drive, power_w, throughput_iops, nr_requests, queue_depth, read_expire_s, arms,
/// iops_limit, bandwidth_limit_bytes_per_s, rest`; limits are null where there is none, `read_expire_s` where the
/// elevator has no deadlines. `rest` is what the drive is set to do without work: `own` (its own timers), `unload` or
/// `standby`.
///
/// # Errors
/// The file, and why it cannot be written.
pub fn write_drives(path: &Path, series: &CapSeries) -> Result<(), String> {
    let n = series.n_drives;
    let d = || series.drives.iter();
    let points = series.points.iter();
    let times = points.flat_map(|p| std::iter::repeat_n(p.t_s, n));
    let numbers = (0..series.drives.len()).map(|i| (i % n.max(1)) as u32);
    let u32s = |name, f: fn(&Command) -> u32| Column::full(name, d().map(|d| f(&d.command)));
    let limit = |name, i: usize| Column::gaps(name, d().map(|d| limits(d.command.rate_limit)[i]));
    let read_expire = d().map(|d| d.command.read_expire.map(Span::as_secs_f64));
    put(
        path,
        &[
            Column::full("t_s", times),
            Column::full("drive", numbers),
            Column::full("power_w", d().map(|d| d.power_w)),
            Column::full("throughput_iops", d().map(|d| d.iops)),
            u32s("nr_requests", |c| c.nr_requests),
            u32s("queue_depth", |c| c.queue_depth),
            Column::gaps("read_expire_s", read_expire),
            u32s("arms", |c| c.arms),
            limit("iops_limit", 0),
            limit("bandwidth_limit_bytes_per_s", 1),
            Column::full("rest", d().map(|d| rest_name(d.command.rest))),
        ],
    )
}
