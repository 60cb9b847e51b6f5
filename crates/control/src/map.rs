//! Power maps: a drive's power and throughput under each setting, for the policy `feed-forward`.

use crate::parameters::ParameterError;
use crate::ultrastar_7k4000::{IOPS, NR_REQUESTS, POWER_W, QUEUE_DEPTH};
use crate::{Command, Device};
use headstack_units::Watts;
use serde::Deserialize;
use serde_json::Value;

/// One setting, and the drive's performance under it while more requests wait than the host queue holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) nr_requests: u32,
    pub(crate) queue_depth: u32,
    pub(crate) arms: u32,
    pub(crate) power_w: f64,
    pub(crate) iops: f64,
}

impl Point {
    pub(crate) fn command(&self, open: &Command) -> Command {
        Command {
            nr_requests: self.nr_requests,
            queue_depth: self.queue_depth,
            arms: self.arms,
            ..*open
        }
    }

    /// Mean response time from admission, in seconds: Little's law with all places taken.
    pub(crate) fn response_time_s(&self) -> f64 {
        f64::from(self.nr_requests) / self.iops
    }
}

/// A point in the form of the parameter.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    nr_requests: u32,
    queue_depth: u32,
    #[serde(default = "one")]
    arms: u32,
    power: Watts,
    iops: f64,
}

fn one() -> u32 {
    1
}

/// The most points of a map.
const MOST: usize = 4096;

/// The points of the parameter `map`, or the built-in ones that all devices accept.
///
/// # Errors
/// Wrong entries, points that a device does not accept, no points at all; a drive with several arms needs a map.
pub(crate) fn read(
    value: Option<&Value>,
    devices: &[Device],
) -> Result<Vec<Point>, ParameterError> {
    let Some(value) = value else {
        return built_in(devices);
    };
    let need =
        format!("a list of 1 to {MOST} tables with nr_requests, queue_depth, power and iops");
    let entries = match value {
        Value::Array(entries) if (1..=MOST).contains(&entries.len()) => entries,
        Value::Array(entries) => {
            let got = format!("{} points", entries.len());
            return Err(ParameterError::new("map", got, need));
        }
        other => return Err(ParameterError::new("map", other, need)),
    };
    let mut points: Vec<Point> = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let place = format!("map[{i}]");
        let point = point(entry, devices).map_err(|e| match e.key.as_str() {
            "" => ParameterError {
                key: place.clone(),
                ..e
            },
            _ => e.within(&place),
        })?;
        if points.iter().any(|p| setting(p) == setting(&point)) {
            return Err(ParameterError::new(
                place,
                entry,
                "a setting that no other point has",
            ));
        }
        points.push(point);
    }
    Ok(points)
}

fn setting(point: &Point) -> (u32, u32, u32) {
    (point.nr_requests, point.queue_depth, point.arms)
}

fn point(entry: &Value, devices: &[Device]) -> Result<Point, ParameterError> {
    let read: Entry = serde_json::from_value(entry.clone()).map_err(|e| {
        let need =
            format!("nr_requests, queue_depth, power with its unit, iops and at most arms ({e})");
        ParameterError::new("", entry, need)
    })?;
    if !(read.power.0 > 0.0 && read.power.0 <= 1000.0) {
        return Err(ParameterError::new(
            "power",
            read.power,
            "more than 0 W, at most 1000 W",
        ));
    }
    if !(read.iops > 0.0 && read.iops <= 1e6) {
        return Err(ParameterError::new(
            "iops",
            read.iops,
            "more than 0, at most 1000000",
        ));
    }
    let point = Point {
        nr_requests: read.nr_requests,
        queue_depth: read.queue_depth,
        arms: read.arms,
        power_w: read.power.0,
        iops: read.iops,
    };
    for device in devices {
        if !device.accepts(&point.command(&device.clamp(device.open))) {
            let got = format!(
                "({}, {}, {})",
                point.nr_requests, point.queue_depth, point.arms
            );
            let nearest = device.clamp(point.command(&device.open));
            let need = format!(
                "(nr_requests, queue_depth, arms) that the drive accepts, nearest ({}, {}, {})",
                nearest.nr_requests, nearest.queue_depth, nearest.arms
            );
            return Err(ParameterError::new("", got, need));
        }
    }
    Ok(point)
}

fn built_in(devices: &[Device]) -> Result<Vec<Point>, ParameterError> {
    if let Some(device) = devices.iter().find(|d| d.arms > 1) {
        let need = format!("points for a drive with {} arms", device.arms);
        return Err(ParameterError::new("map", "nothing", need));
    }
    let mut points = Vec::new();
    for nr_requests in between(&NR_REQUESTS) {
        for queue_depth in between(&QUEUE_DEPTH) {
            let point = Point {
                nr_requests,
                queue_depth,
                arms: 1,
                power_w: look_up(&POWER_W, nr_requests, queue_depth),
                iops: look_up(&IOPS, nr_requests, queue_depth),
            };
            let accepted = |d: &Device| d.accepts(&point.command(&d.clamp(d.open)));
            if devices.iter().all(accepted) {
                points.push(point);
            }
        }
    }
    if points.is_empty() {
        let need = "points that all drives accept: the built-in map has none";
        return Err(ParameterError::new("map", "nothing", need));
    }
    Ok(points)
}

/// The sizes of an axis, and the mean of each two that are not consecutive.
fn between(axis: &[u32; 6]) -> Vec<u32> {
    let mut sizes: Vec<u32> = axis.windows(2).map(|w| (w[0] + w[1]) / 2).collect();
    sizes.extend(axis);
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Row before `size` on an axis, and the weight of the next row on a logarithmic scale.
fn place(axis: &[u32; 6], size: u32) -> (usize, f64) {
    let row = axis
        .iter()
        .rposition(|a| *a <= size)
        .unwrap_or(0)
        .min(axis.len() - 2);
    let log = |ratio: u32, to: u32| (f64::from(ratio) / f64::from(to)).ln();
    (row, log(size, axis[row]) / log(axis[row + 1], axis[row]))
}

/// Interpolates a table between its points.
fn look_up(table: &[[f64; 6]; 6], nr_requests: u32, queue_depth: u32) -> f64 {
    let ((i, u), (j, v)) = (
        place(&NR_REQUESTS, nr_requests),
        place(&QUEUE_DEPTH, queue_depth),
    );
    let row = |i: usize| table[i][j] * (1.0 - v) + table[i][j + 1] * v;
    row(i) * (1.0 - u) + row(i + 1) * u
}
