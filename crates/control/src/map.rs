//! Power maps: a drive's power and throughput under each setting, for the policies `feed-forward` and `learning`.

use crate::ultrastar_7k4000::{look_up, Longer, IOPS, LONGER, LONGER_NR_REQUESTS, P99_S, POWER_W};
use crate::{Command, Device};
use headstack_schema::{shown, Choice, Parameter, SpecError, Table};
use headstack_units::{Span, Watts};
use serde_json::Value;

/// One setting, and the drive's performance under it while more requests wait than the host queue holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    pub nr_requests: u32,
    pub queue_depth: u32,
    /// Time from a read's arrival to its deadline; `None`: the drive's own.
    pub read_expire: Option<Span>,
    pub arms: u32,
    pub power_w: f64,
    pub iops: f64,
    /// Response time from admission, in seconds: the mean or the 99th percentile, as the policy uses.
    pub response_time_s: f64,
}

/// The drive's own expiry of reads, as far as the map knows it: the default of Linux, for which the first tables of the
/// built-in map were computed.
const USUAL_READ_EXPIRE: Span = Span(500_000_000);

/// What is taken from the built-in map.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Extract {
    pub(crate) statistic: Statistic,
    /// The longest expiry of reads.
    pub(crate) most_expire: Span,
}

/// Which response time is taken from the built-in map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub(crate) enum Statistic {
    /// The mean.
    Mean,
    /// The 99th percentile.
    P99,
}

impl Point {
    pub(crate) fn command(&self, open: &Command) -> Command {
        Command {
            nr_requests: self.nr_requests,
            queue_depth: self.queue_depth,
            read_expire: self.read_expire.or(open.read_expire),
            arms: self.arms,
            ..*open
        }
    }

    /// How near two settings are, from 1 (equal) to 0. It falls linearly with the sum of the differences of both
    /// queues' sizes and of the expiry of reads in octaves (factors of two), and is 0 from one octave on, or if the
    /// numbers of arms differ.
    pub(crate) fn nearness(&self, other: &Point) -> f64 {
        let octaves = |a: f64, b: f64| (a / b).log2().abs();
        let sizes = |a: u32, b: u32| octaves(f64::from(a.max(1)), f64::from(b.max(1)));
        let apart = sizes(self.nr_requests, other.nr_requests)
            + sizes(self.queue_depth, other.queue_depth)
            + octaves(self.expire_ns(), other.expire_ns());
        match self.arms == other.arms {
            true => (1.0 - apart).max(0.0),
            false => 0.0,
        }
    }

    /// The expiry of reads in octaves of the usual one.
    pub(crate) fn expire_octaves(&self) -> f64 {
        (self.expire_ns() / USUAL_READ_EXPIRE.0 as f64).log2()
    }

    fn expire_ns(&self) -> f64 {
        let expire = self.read_expire.unwrap_or(USUAL_READ_EXPIRE);
        expire.non_negative().max(1) as f64
    }
}

/// Mean response time from admission, in seconds: Little's law with all places taken.
fn mean_time_s(nr_requests: u32, iops: f64) -> f64 {
    f64::from(nr_requests) / iops
}

/// A point in the form of the parameter.
#[derive(Table)]
pub(crate) struct Entry {
    /// Places of the host's queue.
    nr_requests: u32,
    /// Depth of the drive's queue.
    queue_depth: u32,
    /// Time from a read's arrival to its deadline; left out, the drive's own.
    read_expire: Option<Span>,
    /// Arms in motion.
    #[param(default = 1)]
    arms: u32,
    /// Power: more than 0 W, at most 1000 W.
    power: Watts,
    /// Requests per second: more than 0, at most a million.
    iops: f64,
    /// Response time from admission; left out, by Little's law.
    response_time: Option<Span>,
}

/// The largest number of points of a map.
const MOST: usize = 4096;

/// What the parameter `map` must be.
pub(crate) fn need() -> String {
    format!("a list of 1 to {MOST} tables with nr_requests, queue_depth, power and iops")
}

/// The most maps.
const MOST_MODELS: usize = 32;

/// The maps of all drives.
#[derive(Table)]
pub(crate) struct Maps {
    /// Power and throughput of one drive under each setting; left out, those of an Ultrastar 7K4000.
    #[param(kind = Vec::<Entry>::kind())]
    map: Option<Value>,
    /// Maps of several models of drives, in place of `map`; an empty one for the built-in one.
    #[param(kind = Vec::<Vec<Entry>>::kind())]
    maps: Option<Value>,
    /// For each tier the place of its map in `maps`, from 0.
    #[param(range = 0..=MOST_MODELS as u32 - 1)]
    models: Option<Vec<u32>>,
}

/// The maps, and for each tier the place of its map. `tiers` has the number of drives in each.
///
/// # Errors
/// As [`read`]; maps that no tier has, places without a map.
pub(crate) fn read_all(
    Maps { map, maps, models }: &Maps,
    devices: &[Device],
    tiers: &[usize],
    extract: Extract,
) -> Result<(Vec<Vec<Point>>, Vec<usize>), SpecError> {
    let Some(maps) = maps else {
        if models.is_some() {
            let need = "maps too, one for each model";
            return Err(SpecError::new("models", "it without maps", need));
        }
        let points = read("map", map.as_ref(), devices, extract)?;
        return Ok((vec![points], vec![0; tiers.len()]));
    };
    if map.is_some() {
        return Err(SpecError::new("map", "it with maps", "one of them"));
    }
    let need = format!("a list of 1 to {MOST_MODELS} maps");
    let maps = match maps.as_array() {
        Some(maps) if (1..=MOST_MODELS).contains(&maps.len()) => maps,
        _ => return Err(SpecError::new("maps", shown(maps), need)),
    };
    let models: Vec<usize> = models.iter().flatten().map(|m| *m as usize).collect();
    if models.len() != tiers.len() || models.iter().any(|m| *m >= maps.len()) {
        let need = format!("for each of {} tiers a number below {}", tiers.len(), maps.len());
        return Err(SpecError::new("models", format!("{models:?}"), need));
    }
    let of_drives = || {
        let pairs = models.iter().zip(tiers);
        pairs.flat_map(|(model, n)| std::iter::repeat_n(*model, *n))
    };
    let one = |(k, value): (usize, &Value)| {
        let key = format!("maps[{k}]");
        let with = devices.iter().zip(of_drives()).filter(|(_, model)| *model == k);
        let with: Vec<Device> = with.map(|(device, _)| *device).collect();
        if with.is_empty() {
            return Err(SpecError::new(key, "a map that no tier has", "maps in use"));
        }
        let is_built_in = value.as_array().is_some_and(Vec::is_empty);
        read(&key, Some(value).filter(|_| !is_built_in), &with, extract)
    };
    let found: Result<Vec<Vec<Point>>, SpecError> = maps.iter().enumerate().map(one).collect();
    Ok((found?, models))
}

/// The points of the parameter `key`, or the built-in ones that all devices accept.
///
/// # Errors
/// Wrong entries, points that a device does not accept, an empty map, or a drive with several arms and no map.
fn read(key: &str, value: Option<&Value>, devices: &[Device], extract: Extract) -> Result<Vec<Point>, SpecError> {
    let Some(value) = value else { return built_in(devices, extract) };
    let entries = match value {
        Value::Array(entries) if (1..=MOST).contains(&entries.len()) => entries,
        Value::Array(entries) => {
            let got = format!("{} points", entries.len());
            return Err(SpecError::new(key, got, need()));
        }
        other => return Err(SpecError::new(key, shown(other), need())),
    };
    let mut points: Vec<Point> = Vec::with_capacity(entries.len());
    for (i, entry) in entries.iter().enumerate() {
        let place = format!("{key}[{i}]");
        let point = point(entry, devices).map_err(|e| e.within(&place))?;
        if points.iter().any(|p| setting(p) == setting(&point)) {
            return Err(SpecError::new(place, shown(entry), "a setting that no other point has"));
        }
        points.push(point);
    }
    Ok(points)
}

fn setting(point: &Point) -> (u32, u32, Option<Span>, u32) {
    let p = point;
    (p.nr_requests, p.queue_depth, p.read_expire, p.arms)
}

fn point(entry: &Value, devices: &[Device]) -> Result<Point, SpecError> {
    let read: Entry = headstack_schema::read(entry)?;
    if !(read.power.0 > 0.0 && read.power.0 <= 1000.0) {
        return Err(SpecError::new("power", read.power, "more than 0 W, at most 1000 W"));
    }
    if !(read.iops > 0.0 && read.iops <= 1e6) {
        return Err(SpecError::new("iops", read.iops, "more than 0, at most 1000000"));
    }
    let longest = Span(3_600_000_000_000);
    if let Some(time) = read.response_time.filter(|t| t.0 <= 0 || *t > longest) {
        let need = "more than 0 s, at most 1 h";
        return Err(SpecError::new("response_time", time, need));
    }
    let mean = mean_time_s(read.nr_requests, read.iops);
    let point = Point {
        nr_requests: read.nr_requests,
        queue_depth: read.queue_depth,
        read_expire: read.read_expire,
        arms: read.arms,
        power_w: read.power.0,
        iops: read.iops,
        response_time_s: read.response_time.map_or(mean, Span::as_secs_f64),
    };
    for device in devices {
        check_read_expire(&point, device)?;
        if !device.accepts(&point.command(&device.clamp(device.open))) {
            let got = format!("({}, {}, {})", point.nr_requests, point.queue_depth, point.arms);
            let nearest = device.clamp(point.command(&device.open));
            let need = format!(
                "(nr_requests, queue_depth, arms) that the drive accepts, nearest ({}, {}, {})",
                nearest.nr_requests, nearest.queue_depth, nearest.arms
            );
            return Err(SpecError::new("", got, need));
        }
    }
    Ok(point)
}

/// A point with an expiry of reads is only for drives that have this setting.
fn check_read_expire(point: &Point, device: &Device) -> Result<(), SpecError> {
    let Some(expire) = point.read_expire else { return Ok(()) };
    let need = match device.most_read_expire {
        Some(most) if (Span(0)..=most).contains(&expire) => return Ok(()),
        Some(most) => format!("0 s to {most}"),
        None => "no such key: the drive's elevator has no expiry of reads".to_string(),
    };
    Err(SpecError::new("read_expire", expire, need))
}

/// Sizes of both queues in the built-in map.
const NR_REQUESTS: [u32; 27] =
    [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128];
const QUEUE_DEPTH: [u32; 15] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 28, 32];

fn built_in(devices: &[Device], extract: Extract) -> Result<Vec<Point>, SpecError> {
    if let Some(device) = devices.iter().find(|d| d.arms > 1) {
        let need = format!("points for a drive with {} arms", device.arms);
        return Err(SpecError::new("map", "nothing", need));
    }
    let statistic = extract.statistic;
    let mut points: Vec<Point> = sizes().map(|(n, d)| usual(n, d, statistic)).collect();
    for table in LONGER.iter().filter(|t| t.read_expire <= extract.most_expire) {
        let sizes = sizes().filter(|(n, _)| *n > LONGER_NR_REQUESTS[0]);
        points.extend(sizes.map(|(n, d)| longer(table, n, d, statistic)));
    }
    // Without the setting of an expiry, that of a point is none that a drive accepts.
    points.retain(|p| {
        let accepted = |d: &Device| d.accepts(&p.command(&d.clamp(d.open)));
        devices.iter().all(accepted)
    });
    if points.is_empty() {
        let need = "points that all drives accept: the built-in map has none";
        return Err(SpecError::new("map", "nothing", need));
    }
    Ok(points)
}

/// The sizes of both queues. The drive never holds more commands than the host's queue has places.
fn sizes() -> impl Iterator<Item = (u32, u32)> {
    let all = NR_REQUESTS.iter().flat_map(|n| QUEUE_DEPTH.iter().map(move |d| (*n, *d)));
    all.filter(|(n, d)| d <= n)
}

/// A built-in point with the drive's own expiry of reads.
fn usual(nr_requests: u32, queue_depth: u32, statistic: Statistic) -> Point {
    let at = |table| look_up(table, f64::from(nr_requests), f64::from(queue_depth));
    let iops = at(&IOPS);
    Point {
        nr_requests,
        queue_depth,
        read_expire: None,
        arms: 1,
        power_w: at(&POWER_W),
        iops,
        response_time_s: match statistic {
            Statistic::Mean => mean_time_s(nr_requests, iops),
            Statistic::P99 => at(&P99_S),
        },
    }
}

/// A built-in point with a longer expiry of reads.
fn longer(tables: &Longer, nr_requests: u32, queue_depth: u32, statistic: Statistic) -> Point {
    let at = |table| Longer::look_up(table, f64::from(nr_requests), f64::from(queue_depth));
    let iops = at(&tables.iops);
    Point {
        read_expire: Some(tables.read_expire),
        power_w: at(&tables.power_w),
        iops,
        response_time_s: match statistic {
            Statistic::Mean => mean_time_s(nr_requests, iops),
            Statistic::P99 => at(&tables.p99_s),
        },
        ..usual(nr_requests, queue_depth, statistic)
    }
}
