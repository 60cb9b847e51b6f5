//! Changes of a stream before it reaches a system, given by a table of an experiment.
//!
//! # Model
//! In this order: `devices` selects; `start` and `end` cut by the trace's time; `skip` and `count` cut by
//! number; `start_at_zero` moves the first remaining request to time zero; `remap` renumbers devices; `shift`
//! moves addresses; `concatenate` puts the devices one after the other on device 0; `space_scale` multiplies
//! addresses (not sizes); `align` moves the start of each request down to a multiple and rounds its length up to
//! one; `time_scale` multiplies times: **2 halves the rate of arrivals**.
//!
//! An address that `shift` moves below zero lies outside its device, as one beyond its end: it is an error with
//! `concatenate`, and otherwise wraps around 2^64, so that it is beyond every device.

mod address;

pub use address::Shift;

use crate::error::TraceError;
use crate::reader::parse::MAX_BLOCK;
use crate::request::{Command, Request};
use crate::source::{Requests, Source};
use headstack_schema::{by_kind, Choice, Kind, Parameter, SpecError, Table};
use headstack_units::{Bytes, Lba, Span, Time};
use serde_json::Value;
use std::collections::BTreeMap;

/// Address spaces of devices, concatenated.
#[derive(Debug, Clone, PartialEq)]
pub enum Concatenate {
    /// The sizes of devices 0, 1, 2, ...
    Sizes(Vec<Bytes>),
    /// Sizes measured in a first pass: up to the last block used ([`Transform::open`]).
    Measured(Measured),
}

impl Parameter for Concatenate {
    fn kind() -> Kind {
        Kind::OneOf(vec![<Vec<Bytes>>::kind(), Measured::kind()])
    }

    fn read(value: &Value) -> Result<Self, SpecError> {
        by_kind(value, "a list of sizes, or \"measured\"", |value| match value {
            Value::Array(_) => Some(Parameter::read(value).map(Concatenate::Sizes)),
            Value::String(_) => Some(Parameter::read(value).map(Concatenate::Measured)),
            _ => None,
        })
    }

    fn write(&self) -> Value {
        match self {
            Concatenate::Sizes(sizes) => sizes.write(),
            Concatenate::Measured(word) => word.write(),
        }
    }
}

/// The word `"measured"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub enum Measured {
    /// Measured in a first pass.
    Measured,
}

/// The transformations; absent ones have no effect.
#[derive(Debug, Clone, PartialEq, Default, Table)]
#[table(default, check = Transform::is_possible)]
pub struct Transform {
    /// Only these devices.
    pub devices: Option<Vec<u32>>,
    /// From this time of the trace on.
    pub start: Option<Span>,
    /// Before this time of the trace.
    pub end: Option<Span>,
    /// Leaves out this many requests at the start.
    pub skip: u64,
    /// At most this many requests.
    pub count: Option<u64>,
    /// The first remaining request is at time zero.
    pub start_at_zero: bool,
    /// Pairs of old and new device numbers.
    pub remap: Vec<[u32; 2]>,
    /// Addresses are moved by this.
    pub shift: Option<Shift>,
    /// Puts devices one after the other on device 0.
    pub concatenate: Option<Concatenate>,
    /// Addresses are multiplied by this.
    pub space_scale: Option<f64>,
    /// Requests begin and end at multiples of this.
    pub align: Option<Bytes>,
    /// Times are multiplied by this: the rate of arrivals is divided by it.
    pub time_scale: Option<f64>,
}

fn refuse(key: &str, got: impl std::fmt::Display, need: &str) -> TraceError {
    TraceError::Input { path: format!("transform.{key}"), got: got.to_string(), need: need.to_string() }
}

/// Most devices in one address space.
const MAX_DEVICES: usize = 1 << 20;

impl Transform {
    fn is_possible(&self) -> Result<(), SpecError> {
        for (key, value) in [("space_scale", self.space_scale), ("time_scale", self.time_scale)] {
            if let Some(value) = value.filter(|v| !(*v > 0.0 && v.is_finite())) {
                return Err(SpecError::new(key, value, "a number above 0"));
            }
        }
        for (key, value) in [("start", self.start), ("end", self.end)] {
            if let Some(value) = value.filter(|v| v.0 < 0) {
                return Err(SpecError::new(key, value, "a time that is not negative"));
            }
        }
        address::alignment(self.align).map(drop)
    }

    /// The keys that change something, in order.
    pub fn given(&self) -> Vec<&'static str> {
        let (own, usual) = (self.write(), Transform::default().write());
        let keys = Transform::fields().into_iter().map(|f| f.key);
        keys.filter(|k| own.get(k) != usual.get(k)).collect()
    }

    /// How many of `requests` remain; `None` if that depends on the requests.
    pub fn keeps(&self, requests: u64) -> Option<u64> {
        let by_content = self.devices.is_some() || self.start.is_some() || self.end.is_some();
        let left = requests.saturating_sub(self.skip);
        (!by_content).then(|| left.min(self.count.unwrap_or(u64::MAX)))
    }

    /// Opens a source and transforms it; with `concatenate = "measured"` opens it twice.
    ///
    /// # Errors
    /// A key that cannot be used; the errors of `make`; any wrong record in the first pass.
    pub fn open(&self, mut make: impl FnMut() -> Result<Source, TraceError>) -> Result<Source, TraceError> {
        if !matches!(self.concatenate, Some(Concatenate::Measured(_))) {
            return self.apply(make()?);
        }
        let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
        let first = Transform { concatenate: None, space_scale: None, align: None, time_scale: None, ..self.clone() };
        for request in first.apply(make()?)? {
            let request = request?;
            // The second pass refuses it.
            if request.is_below_zero() {
                continue;
            }
            let end = request.lba.0 + u64::from(request.blocks);
            let size = sizes.entry(request.device).or_default();
            *size = end.max(*size);
            if sizes.len() > MAX_DEVICES {
                return Err(refuse("concatenate", "more devices", "at most 2^20 devices"));
            }
        }
        let mut bases = BTreeMap::new();
        let mut base = 0u64;
        for (device, size) in sizes {
            bases.insert(device, (base, size));
            base = base.checked_add(size).ok_or_else(|| refuse("concatenate", "sizes past 2^64 blocks", "less"))?;
        }
        self.run(make()?, Some(bases))
    }

    /// Transforms a source in one pass.
    ///
    /// # Errors
    /// A key that cannot be used; `concatenate = "measured"`, which needs [`Transform::open`].
    pub fn apply(&self, source: Source) -> Result<Source, TraceError> {
        let bases = match &self.concatenate {
            None => None,
            Some(Concatenate::Measured(_)) => {
                return Err(refuse(
                    "concatenate",
                    "\"measured\" in one pass",
                    "sizes, or a source that can be opened twice",
                ))
            }
            Some(Concatenate::Sizes(sizes)) => {
                let mut base = 0u64;
                let mut bases = BTreeMap::new();
                for (i, size) in sizes.iter().enumerate().take(MAX_DEVICES) {
                    let blocks = size.0 / 512;
                    bases.insert(i as u32, (base, blocks));
                    base = base.saturating_add(blocks);
                }
                Some(bases)
            }
        };
        self.run(source, bases)
    }

    fn run(&self, source: Source, bases: Option<BTreeMap<u32, (u64, u64)>>) -> Result<Source, TraceError> {
        self.is_possible().map_err(|e| e.within("transform"))?;
        if *self == Transform::default() {
            return Ok(source);
        }
        let mut devices = self.devices.clone();
        if let Some(devices) = &mut devices {
            devices.sort_unstable();
        }
        Ok(Box::new(Transformed {
            source,
            devices,
            start: Time(self.start.map_or(0, Span::non_negative)),
            end: self.end.map_or(Time::NEVER, |s| Time(s.non_negative())),
            skip: self.skip,
            count: self.count.unwrap_or(u64::MAX),
            zero: if self.start_at_zero { None } else { Some(Time::ZERO) },
            remap: self.remap.iter().map(|[old, new]| (*old, *new)).collect(),
            shift: self.shift.map_or(0, |shift| shift.0),
            bases,
            space_scale: self.space_scale,
            align: address::alignment(self.align).map_err(|e| e.within("transform"))?,
            time_scale: self.time_scale,
            number: 0,
            ended: false,
        }))
    }
}

struct Transformed {
    source: Source,
    devices: Option<Vec<u32>>,
    start: Time,
    end: Time,
    skip: u64,
    count: u64,
    zero: Option<Time>,
    remap: BTreeMap<u32, u32>,
    /// Blocks.
    shift: i64,
    bases: Option<BTreeMap<u32, (u64, u64)>>,
    space_scale: Option<f64>,
    /// Blocks.
    align: Option<i64>,
    time_scale: Option<f64>,
    number: u64,
    ended: bool,
}

impl Transformed {
    fn wrong(&self, key: &str, got: String, need: impl Into<String>) -> TraceError {
        TraceError::Record { path: format!("transform.{key}"), line: self.number, got, need: need.into() }
    }

    /// Changes the place of a request.
    fn place(&self, r: &mut Request) -> Result<(), TraceError> {
        const NEED: &str = "blocks below 2^55";
        // Readers give blocks below 2^55. A flush has no place of its own.
        let has_data = r.op != Command::Flush;
        let mut start = r.lba.0 as i64 + if has_data { self.shift } else { 0 };
        if let Some(bases) = &self.bases {
            if start < 0 {
                let got = format!("block {} of device {}", r.lba.0, r.device);
                return Err(self.wrong("shift", got, "blocks that stay in their device"));
            }
            let Some((base, size)) = bases.get(&r.device) else {
                let need = format!("one of the {} devices with a size", bases.len());
                return Err(self.wrong("concatenate", format!("device {}", r.device), need));
            };
            let end = start as u64 + u64::from(r.blocks);
            if end > *size {
                let need = format!("an end within the device's {size} blocks");
                let got = format!("device {} block {end}", r.device);
                return Err(self.wrong("concatenate", got, need));
            }
            start += *base as i64;
            r.device = 0;
        }
        let end = |start: i64| start.saturating_add(i64::from(r.blocks));
        if let Some(scale) = self.space_scale {
            let scaled = (start as f64 * scale) as i64;
            if end(scaled) > MAX_BLOCK as i64 {
                let got = format!("block {start} times {scale}");
                return Err(self.wrong("space_scale", got, NEED));
            }
            start = scaled;
        }
        if end(start) > MAX_BLOCK as i64 {
            return Err(self.wrong("shift", format!("block {}", r.lba.0), NEED));
        }
        if let Some(unit) = self.align.filter(|_| has_data) {
            let (first, blocks) = address::aligned(start, r.blocks, unit);
            start = first;
            r.blocks =
                u32::try_from(blocks).map_err(|_| self.wrong("align", format!("{} blocks", r.blocks), "2^32 less"))?;
        }
        r.lba = Lba(start as u64);
        Ok(())
    }

    fn change(&mut self, mut r: Request) -> Result<Request, TraceError> {
        let zero = *self.zero.get_or_insert(r.time);
        r.time = Time(r.time.0 - zero.0);
        if let Some(device) = self.remap.get(&r.device) {
            r.device = *device;
        }
        self.place(&mut r)?;
        if let Some(scale) = self.time_scale {
            let scaled = Time((r.time.0 as f64 * scale).round() as u64);
            if scaled > Time::LATEST {
                let got = format!("time {} ns times {scale}", r.time.0);
                return Err(self.wrong("time_scale", got, Time::LATEST_SHOWN));
            }
            r.time = scaled;
        }
        Ok(r)
    }
}

/// The result for one request.
enum Fate {
    Skipped,
    Given(Result<Request, TraceError>),
    /// It and all that follow are after the end.
    Over,
}

impl Transformed {
    fn judge(&mut self, r: Request) -> Fate {
        self.number += 1;
        let selected = |d: &Vec<u32>| d.binary_search(&r.device).is_ok();
        if !self.devices.as_ref().is_none_or(selected) || r.time < self.start {
            return Fate::Skipped;
        }
        if r.time >= self.end {
            return Fate::Over;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Fate::Skipped;
        }
        self.count -= 1;
        Fate::Given(self.change(r))
    }
}

impl Iterator for Transformed {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended && self.count > 0 {
            let fate = match self.source.next()? {
                Ok(request) => self.judge(request),
                Err(error) => Fate::Given(Err(error)),
            };
            match fate {
                Fate::Skipped => {}
                Fate::Given(request) => {
                    self.ended = request.is_err();
                    return Some(request);
                }
                Fate::Over => break,
            }
        }
        self.ended = true;
        None
    }
}

impl Requests for Transformed {
    fn fill(&mut self, batch: &mut Vec<Request>, most: usize) -> Result<(), TraceError> {
        let end = batch.len() + most;
        while batch.len() < end && !self.ended && self.count > 0 {
            let from = batch.len();
            let left = self.count.min((end - from) as u64) as usize;
            let mut result = self.source.fill(batch, left);
            self.ended = result.is_err() || batch.len() < from + left;
            // The kept requests are moved forward over the others.
            let mut kept = from;
            for i in from..batch.len() {
                match self.judge(batch[i]) {
                    Fate::Skipped => continue,
                    Fate::Given(Ok(request)) => batch[kept] = request,
                    Fate::Given(Err(error)) => {
                        result = Err(error);
                        self.ended = true;
                        break;
                    }
                    Fate::Over => {
                        result = Ok(());
                        self.ended = true;
                        break;
                    }
                }
                kept += 1;
            }
            batch.truncate(kept);
            result?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Each;

    fn requests() -> Source {
        let all = (0..6u64).map(|i| Request {
            time: Time(i * 1_000_000_000),
            device: (i % 3) as u32,
            lba: Lba(10 * i),
            blocks: 5,
            ..Request::default()
        });
        Box::new(Each(all.map(Ok)))
    }

    fn run(toml: &str) -> Vec<(u64, u32, u64)> {
        let transform: Transform = toml::from_str(toml).unwrap();
        let source = transform.open(|| Ok(requests())).unwrap();
        let all: Vec<(u64, u32, u64)> =
            source.map(|r| r.unwrap()).map(|r| (r.time.0 / 1_000_000, r.device, r.lba.0)).collect();
        if let Some(kept) = transform.keeps(6) {
            assert_eq!(kept, all.len() as u64, "{toml}");
        }
        all
    }

    #[test]
    fn each_key_does_what_it_says() {
        assert_eq!(run("devices = [1]"), [(1000, 1, 10), (4000, 1, 40)]);
        assert_eq!(run("start = '2 s'\nend = '4 s'"), [(2000, 2, 20), (3000, 0, 30)]);
        assert_eq!(run("skip = 4\ncount = 1"), [(4000, 1, 40)]);
        assert_eq!(run("skip = 5\nstart_at_zero = true"), [(0, 2, 50)]);
        assert_eq!(run("skip = 5\nremap = [[2, 9]]"), [(5000, 9, 50)]);
        assert_eq!(run("skip = 5\ntime_scale = 2.0"), [(10000, 2, 50)]);
        assert_eq!(run("skip = 5\nspace_scale = 0.5"), [(5000, 2, 25)]);
        assert_eq!(run("skip = 5\nshift = -7"), [(5000, 2, 43)]);
        assert_eq!(run("skip = 5\nshift = '4 KiB'"), [(5000, 2, 58)]);
        assert_eq!(run("skip = 5\nshift = '-4 KiB'"), [(5000, 2, 42)]);
        // Addresses move before they are scaled, and are aligned after that: (50 + 7) * 0.5 = 28.
        let all = "skip = 5\nshift = 7\nspace_scale = 0.5\nalign = '4 KiB'\ntime_scale = 2.0";
        assert_eq!(run(all), [(10000, 2, 24)]);
        let moved = "shift = 3\nconcatenate = 'measured'\nskip = 4";
        // Ends of the last two requests: device 1 at 48, device 2 at 58.
        assert_eq!(run(moved), [(4000, 0, 43), (5000, 0, 48 + 53)]);
        // Ends: device 0 at 35, device 1 at 45, device 2 at 55.
        let bases: Vec<u64> = run("concatenate = 'measured'").iter().map(|r| r.2).collect();
        assert_eq!(bases, [0, 35 + 10, 35 + 45 + 20, 30, 35 + 40, 35 + 45 + 50]);
        let bases: Vec<u64> = run("concatenate = ['51200 B', '51200 B', '51200 B']").iter().map(|r| r.2).collect();
        assert_eq!(bases, [0, 110, 220, 30, 140, 250]);
    }

    fn change_one(toml: &str, lba: u64, blocks: u32, op: Command) -> Result<(u64, u32), String> {
        let transform: Transform = toml::from_str(toml).unwrap();
        let one = Request { lba: Lba(lba), blocks, op, ..Request::default() };
        let source: Source = Box::new(Each(std::iter::once(Ok(one))));
        let mut source = transform.apply(source).map_err(|e| e.to_string())?;
        let changed = source.next().unwrap().map_err(|e| e.to_string())?;
        Ok((changed.lba.0, changed.blocks))
    }

    /// By hand: sectors of 8 blocks begin at 0, 8, 16, 24.
    #[test]
    fn aligned_requests_cover_whole_sectors() {
        for (lba, blocks, want) in
            [(0, 8, (0, 8)), (7, 8, (0, 8)), (63, 16, (56, 16)), (9, 1, (8, 8)), (16, 9, (16, 16)), (23, 2, (16, 8))]
        {
            let got = change_one("align = '4 KiB'", lba, blocks, Command::Write);
            assert_eq!(got, Ok(want), "{lba} {blocks}");
        }
        // What follows a request still follows it.
        let (a, n) = change_one("align = '4 KiB'", 63, 24, Command::Read).unwrap();
        assert_eq!(change_one("align = '4 KiB'", 63 + 24, 24, Command::Read), Ok((a + u64::from(n), n)));
        let flush = change_one("align = '4 KiB'\nshift = 7", 0, 0, Command::Flush);
        assert_eq!(flush, Ok((0, 0)));
    }

    /// Blocks below zero are beyond every device, whatever is done to them after the shift.
    #[test]
    fn a_shift_below_zero_is_outside_the_device() {
        let below = |toml: &str| change_one(toml, 6, 8, Command::Read).unwrap().0 as i64;
        assert_eq!(below("shift = -7"), -1);
        assert_eq!(below("shift = -7\nalign = '4 KiB'"), -8);
        assert_eq!(below("shift = -8\nspace_scale = 2.0"), -4);
        assert_eq!(below("shift = -6"), 0);
        for sizes in ["'measured'", "['1 MB']"] {
            let toml = format!("shift = -7\nconcatenate = {sizes}");
            let transform: Transform = toml::from_str(&toml).unwrap();
            let one = || -> Result<Source, TraceError> {
                let request = Request { lba: Lba(6), blocks: 8, ..Request::default() };
                Ok(Box::new(Each(std::iter::once(Ok(request)))))
            };
            let mut source = transform.open(one).unwrap();
            let error = source.next().unwrap().unwrap_err().to_string();
            assert!(error.starts_with("transform.shift:1: got block 6"), "{error}");
        }
    }

    /// Batches contain the same requests as one at a time, up to the end or an error.
    #[test]
    fn batches_are_requests_one_by_one() {
        let long = |wrong: u64| -> Source {
            let all = (0..1000u64).map(move |i| match i {
                i if i == wrong => Err(refuse("here", i, "something else")),
                i => Ok(Request {
                    time: Time(i * 1_000_000_000),
                    device: (i * 7 % 5) as u32,
                    lba: Lba(i * 13 % 400),
                    blocks: 8,
                    ..Request::default()
                }),
            });
            Box::new(Each(all))
        };
        for toml in [
            "",
            "devices = [1, 3]",
            "shift = -7\nalign = '4 KiB'",
            "start = '20 s'\nend = '700 s'\nskip = 30",
            "count = 77\nstart_at_zero = false",
            "count = 0",
            // Device 4 has no size.
            "concatenate = ['1 MB', '1 MB', '1 MB', '1 MB']",
            "remap = [[4, 0]]\nconcatenate = ['1 MB', '1 MB', '1 MB', '1 MB']\ntime_scale = 0.5",
        ] {
            let transform: Transform = toml::from_str(toml).unwrap();
            for wrong in [0, 1, 256, 999, 1000] {
                // An unchanged source is returned as it is: it ends itself after an error.
                let end = if toml.is_empty() { wrong + 1 } else { 1000 };
                let long = |wrong| -> Source { Box::new(Each(long(wrong).take(end as usize))) };
                let (mut want, mut want_error) = (Vec::new(), None);
                for request in transform.apply(long(wrong)).unwrap() {
                    match request {
                        Ok(request) => want.push(request),
                        Err(e) => want_error = Some(e.to_string()),
                    }
                }
                for most in [1, 3, 256, 5000] {
                    let mut source = transform.apply(long(wrong)).unwrap();
                    let mut got = Vec::new();
                    let error = loop {
                        let before = got.len();
                        match source.fill(&mut got, most) {
                            Err(e) => break Some(e.to_string()),
                            Ok(()) if got.len() < before + most => break None,
                            Ok(()) => {}
                        }
                    };
                    assert_eq!((&got, &error), (&want, &want_error), "{toml:?} {wrong} {most}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (toml, need) in [
            ("time_scale = 0.0", "transform.time_scale"),
            ("align = '1 kB'", "transform.align: got 1000 B, need a multiple of 512 bytes"),
            ("align = '0 B'", "transform.align: got 0 B, need a multiple of 512 bytes"),
            ("align = '2 GiB'", "transform.align: got 2147483648 B, need a multiple"),
            ("shift = 36028797018963968", "transform.shift:1: got block 0, need blocks below 2^55"),
            ("concatenate = ['51200 B']", "device 1"),
            ("concatenate = ['512 B', '512 B', '512 B']", "1 blocks"),
            // 5 s times 10^9 are 158 years; 4 s are 127.
            (
                "time_scale = 1e9",
                "transform.time_scale:6: got time 5000000000 ns times 1000000000, need at most 2^62 ns",
            ),
            (
                "space_scale = 1e15",
                "transform.space_scale:5: got block 40 times 1000000000000000, need blocks below 2^55",
            ),
        ] {
            let error = match Transform::read(&toml::from_str(toml).unwrap()) {
                Err(error) => error.within("transform").into(),
                Ok(transform) => match transform.open(|| Ok(requests())) {
                    Err(error) => error,
                    Ok(source) => source.map(Result::err).find_map(|e| e).unwrap(),
                },
            };
            assert!(error.to_string().contains(need), "{error}");
        }
        for (value, need) in [
            ("\"7\"", "got \"7\", need a size such as \"-4 KiB\""),
            ("\"7 kB\"", "got \"7 kB\", need a multiple of 512 bytes"),
            ("1.5", "got 1.5, need a whole number of blocks, or a size such as \"-4 KiB\""),
            ("9223372036854775807", "need less than 2^55 blocks"),
            ("true", "got true, need a whole number of blocks"),
        ] {
            let table = serde_json::from_str(&format!("{{\"shift\": {value}}}")).unwrap();
            let error = Transform::read(&table).unwrap_err().to_string();
            assert!(error.starts_with("shift: ") && error.contains(need), "{error}");
        }
    }
}
