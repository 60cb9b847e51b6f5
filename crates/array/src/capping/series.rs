//! A capped run over time, and its files.

use crate::output::{close, write};
use arrow_array::{ArrayRef, Float64Array, StringArray, UInt32Array, UInt64Array};
use headstack_control::{Command, RateLimit, Rest, Status};
use headstack_units::{Bandwidth, Frequency, Span};
use std::path::Path;
use std::sync::Arc;

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
    /// Its setting from the end of the interval on.
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
        CapSeries {
            points: Vec::new(),
            drives: Vec::new(),
            n_drives,
            jobs,
        }
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

fn some(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    Arc::new(Float64Array::from_iter(values))
}

fn all(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
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
    let p = &series.points;
    let mut columns: Vec<(String, ArrayRef, bool)> = vec![
        ("t_s".into(), all(p.iter().map(|p| p.t_s)), false),
        ("width_s".into(), all(p.iter().map(|p| p.width_s)), false),
        ("power_w".into(), all(p.iter().map(|p| p.power_w)), false),
        (
            "measured_w".into(),
            some(p.iter().map(|p| p.measured_w)),
            true,
        ),
        ("cap_w".into(), some(p.iter().map(|p| p.cap_w)), true),
        (
            "status".into(),
            Arc::new(StringArray::from_iter_values(
                p.iter().map(|p| status_name(p.status)),
            )),
            false,
        ),
        (
            "throughput_iops".into(),
            all(p.iter().map(|p| p.iops)),
            false,
        ),
        (
            "throughput_bytes_per_s".into(),
            all(p.iter().map(|p| p.bytes_per_s)),
            false,
        ),
        (
            "in_flight".into(),
            Arc::new(UInt64Array::from_iter_values(p.iter().map(|p| p.in_flight))),
            false,
        ),
    ];
    for (i, name) in ["mean", "p50", "p99", "max"].iter().enumerate() {
        let response = some(p.iter().map(|p| p.response_s[i]));
        let admitted = some(p.iter().map(|p| p.admitted_s[i]));
        columns.push((format!("response_{name}_s"), response, true));
        columns.push((format!("admitted_{name}_s"), admitted, true));
    }
    for (i, name) in series.jobs.iter().enumerate() {
        let iops = all(p.iter().map(|p| p.job_iops[i]));
        columns.push((format!("job_{name}_iops"), iops, false));
    }
    put(path, columns)
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
    let d = &series.drives;
    let times = series
        .points
        .iter()
        .flat_map(|p| std::iter::repeat_n(p.t_s, n));
    let numbers = (0..d.len()).map(|i| (i % n.max(1)) as u32);
    let u32s = |f: fn(&Command) -> u32| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(
            d.iter().map(|d| f(&d.command)),
        ))
    };
    let columns: Vec<(String, ArrayRef, bool)> = vec![
        ("t_s".into(), all(times), false),
        (
            "drive".into(),
            Arc::new(UInt32Array::from_iter_values(numbers)),
            false,
        ),
        ("power_w".into(), all(d.iter().map(|d| d.power_w)), false),
        (
            "throughput_iops".into(),
            all(d.iter().map(|d| d.iops)),
            false,
        ),
        ("nr_requests".into(), u32s(|c| c.nr_requests), false),
        ("queue_depth".into(), u32s(|c| c.queue_depth), false),
        (
            "read_expire_s".into(),
            some(
                d.iter()
                    .map(|d| d.command.read_expire.map(Span::as_secs_f64)),
            ),
            true,
        ),
        ("arms".into(), u32s(|c| c.arms), false),
        (
            "iops_limit".into(),
            some(d.iter().map(|d| limits(d.command.rate_limit)[0])),
            true,
        ),
        (
            "bandwidth_limit_bytes_per_s".into(),
            some(d.iter().map(|d| limits(d.command.rate_limit)[1])),
            true,
        ),
        (
            "rest".into(),
            Arc::new(StringArray::from_iter_values(
                d.iter().map(|d| rest_name(d.command.rest)),
            )),
            false,
        ),
    ];
    put(path, columns)
}

fn put(path: &Path, columns: Vec<(String, ArrayRef, bool)>) -> Result<(), String> {
    let columns = columns
        .iter()
        .map(|(name, values, null)| (name.as_str(), values.clone(), *null));
    let mut writer = None;
    write(&mut writer, path, columns.collect())?;
    close(writer, path)
}
