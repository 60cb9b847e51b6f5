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
    /// Only requests of these device numbers; all if absent.
    pub devices: Option<Vec<u32>>,
    /// From this time of the trace on.
    pub start: Option<Span>,
    /// Before this time of the trace.
    pub end: Option<Span>,
    /// Requests left out at the start.
    pub skip: u64,
    /// Most requests that are used after these; all if absent.
    pub count: Option<u64>,
    /// Whether the first remaining request is at time zero.
    pub start_at_zero: bool,
    /// Pairs of old and new device numbers.
    pub remap: Vec<[u32; 2]>,
    /// Moves all addresses: blocks of 512 bytes (`-7`), or a size (`"-4 KiB"`); below block zero a request is one past
    /// the end, with `concatenate` an error.
    pub shift: Option<Shift>,
    /// Puts the devices one after another on device 0: `"measured"`, or a list of their sizes.
    pub concatenate: Option<Concatenate>,
    /// Multiplies addresses, not sizes.
    pub space_scale: Option<f64>,
    /// Each request begins at the multiple of this before it, and its length is rounded up to one: `"4 KiB"` for traces
    /// from drives with smaller sectors.
    pub align: Option<Bytes>,
    /// Multiplies every time; 2 halves the rate of arrivals.
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
