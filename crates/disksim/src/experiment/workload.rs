//! `disksim_synthio`: the synthetic load, or a trace instead of it.
//!
//! # Model
//! A generator is a process. The times between its requests are computation on one of the processors of the process flow;
//! the process waits for its time-critical requests and for no others. It gives its processor away only when it waits. So
//! of several generators that never wait, as many run as there are processors.
//!
//! | in the file | becomes |
//! |---|---|
//! | one generator | a synthetic workload: a stream, or a closed loop of one request |
//! | several, or one that waits for a share of its requests | jobs of one thread each on `processors`; equal ones are one job |
//! | `Number of processors`, `Process-Flow Time Scale` | `processors`; a factor of all computation |
//! | probability of time-critical requests | `blocking` |
//! # Source
//! DiskSim 4.0 reference manual, sections "Synthetic workloads" and "Process-flow"; runs of DiskSim.
//! # Validity
//! Random numbers are our own: results agree statistically. A process that is woken gets any idle processor; DiskSim
//! leaves it to the one that handled the interrupt.

use super::organisation::Organisation;
use super::{blocks, words};
use crate::ast::{Block, Document, Value as Given};
use crate::convert::fields::{ms_of, Fields};
use crate::convert::{Note, Treatment};
use crate::error::Error;
use serde_json::{json, Map, Value};

/// The table `workload`, and the limits of the load.
pub(super) struct Workload {
    pub table: Map<String, Value>,
    pub duration: Option<String>,
    pub max_requests: Option<u32>,
}

/// One generator.
#[derive(PartialEq)]
struct Generator {
    /// Numbers of its devices, in ascending order.
    devices: Vec<u32>,
    /// Blocks that it uses on each.
    capacity: u32,
    block_sectors: u32,
    sequential: f64,
    local: f64,
    reads: f64,
    /// Share of time-critical requests.
    critical: f64,
    gaps: [Distribution; 3],
    distance: Distribution,
    size: Distribution,
}

/// `base` and `spread` have different meanings for different kinds; some have a share of second values.
#[derive(Clone, Copy, PartialEq)]
struct Distribution {
    kind: &'static str,
    base: f64,
    spread: f64,
    share: f64,
}

const KINDS: [&str; 4] = ["uniform", "normal", "exponential", "twovalue"];

impl Distribution {
    fn read(value: &Given) -> Result<Distribution, Error> {
        let wrong = |v: &Given, need: &str| Error::new(v.at.clone(), v.show(), need);
        let list = value.list()?;
        let need = "a list of a distribution and its two numbers, three for twovalue";
        let word = list.first().ok_or_else(|| wrong(value, need))?;
        let kind = KINDS.into_iter().find(|k| word.word().is_ok_and(|w| w == *k));
        let kind = kind.ok_or_else(|| {
            let need = format!("one of {}: nothing else has a counterpart", KINDS.join(", "));
            wrong(word, &need)
        })?;
        let numbers = match (kind, list) {
            ("twovalue", [_, a, b, p]) => (a, b, p.real()?),
            (_, [_, a, b]) => (a, b, 0.0),
            _ => return Err(wrong(value, need)),
        };
        // All are times in milliseconds, or blocks, with the same bounds.
        Ok(Distribution { kind, base: ms_of(numbers.0, true)?, spread: ms_of(numbers.1, true)?, share: numbers.2 })
    }

    /// The value of a constant distribution.
    fn fixed(&self) -> Option<f64> {
        match self.kind {
            "uniform" | "twovalue" => (self.base == self.spread).then_some(self.base),
            _ => (self.spread == 0.0).then_some(self.base),
        }
    }

    /// The distribution with values multiplied by `factor`.
    fn times(self, factor: f64) -> Distribution {
        Distribution { base: self.base * factor, spread: self.spread * factor, ..self }
    }

    /// In the form of experiments.
    fn table(&self, unit: &dyn Fn(f64) -> Value) -> Value {
        let (base, spread) = (unit(self.base), unit(self.spread));
        if let Some(value) = self.fixed() {
            return unit(value);
        }
        match self.kind {
            "uniform" => json!({ "distribution": "uniform", "min": base, "max": spread }),
            "normal" => json!({ "distribution": "normal", "mean": base, "deviation": spread }),
            "twovalue" => json!({
                "distribution": "two-value", "value": base, "second": spread, "probability": self.share,
            }),
            _ if self.base == 0.0 => json!({ "distribution": "exponential", "mean": spread }),
            _ => json!({ "distribution": "exponential", "base": base, "mean": spread }),
        }
    }
}

fn ms(value: f64) -> Value {
    format!("{value} ms").into()
}

pub(super) fn read(
    document: &Document,
    over: &Organisation,
    trace: Option<&str>,
    report: &mut Vec<Note>,
) -> Result<Workload, Error> {
    let mut table = Map::new();
    let flow = process_flow(document, report)?;
    if let Some(trace) = trace {
        table.insert("trace".into(), trace.into());
        if let Some(block) = document.blocks().find(|b| b.kind == "disksim_iosim") {
            let mut fields = Fields::new(block, block.name.as_deref().unwrap_or("iosim"));
            if let Some(scale) = fields.get("I/O Trace Time Scale") {
                table.insert("time_scale".into(), scale.real()?.into());
            }
            fields.finish(report);
        }
        return Ok(Workload { table, duration: None, max_requests: None });
    }
    let Some(block) = document.blocks().find(|b| b.kind == "disksim_synthio") else {
        let need = "a block disksim_synthio, or a trace instead";
        return Err(Error::new(document.at.clone(), "no workload", need));
    };
    synthetic(block, &flow, over, report)
}

/// The processes of a load: on how many processors they compute, and by what factor their computation takes longer.
struct ProcessFlow {
    /// Absent: as many as there are processes.
    processors: Option<u32>,
    scale: f64,
}

fn process_flow(document: &Document, report: &mut Vec<Note>) -> Result<ProcessFlow, Error> {
    let mut flow = ProcessFlow { processors: None, scale: 1.0 };
    let Some(block) = document.blocks().find(|b| b.kind == "disksim_pf") else { return Ok(flow) };
    let mut fields = Fields::new(block, block.name.as_deref().unwrap_or("pf"));
    if fields.block.get("Number of processors").is_some() {
        flow.processors = Some(super::count(&mut fields, "Number of processors", 1)?);
    }
    if let Some(value) = fields.get("Process-Flow Time Scale") {
        flow.scale = value.real()?;
        if !(flow.scale >= 0.0 && flow.scale.is_finite()) {
            let need = "a factor of at least 0";
            return Err(Error::new(value.at.clone(), value.show(), need));
        }
    }
    fields.finish(report);
    Ok(flow)
}

fn synthetic(
    block: &Block,
    flow: &ProcessFlow,
    over: &Organisation,
    report: &mut Vec<Note>,
) -> Result<Workload, Error> {
    let mut fields = Fields::new(block, block.name.as_deref().unwrap_or("synthio"));
    let n = fields.count("Number of I/O requests to generate", 1, u32::MAX, 10_000)?;
    let longest = fields.real("Maximum time of trace generated")?;
    for name in
        ["System call/return with each request", "Think time from call to request", "Think time from request to return"]
    {
        fields.only(name, 0.0, "processes do nothing but their requests")?;
    }
    let list = fields.need("Generators")?;
    let mut all = Vec::new();
    for value in list.list()? {
        let mut generator = generator(value, over, report)?;
        generator.gaps = generator.gaps.map(|gap| gap.times(flow.scale));
        all.push((generator, value));
    }
    fields.finish(report);
    let mut workload =
        Workload { table: Map::new(), duration: (longest > 0.0).then(|| format!("{longest} s")), max_requests: None };
    match &all[..] {
        [] => return Err(Error::new(list.at.clone(), list.show(), "at least one")),
        // A process by itself always has a processor.
        [(alone, _)] if [0.0, 1.0].contains(&alone.critical) => {
            workload.table.insert("synthetic".into(), alone.stream(n));
            let moved = alone.devices.iter().enumerate();
            let moved = moved.filter(|(i, d)| *i as u32 != **d);
            let moved: Vec<Value> = moved.map(|(i, d)| json!([i, d])).collect();
            if !moved.is_empty() {
                workload.table.insert("remap".into(), moved.into());
            }
        }
        all => {
            let processors = flow.processors.unwrap_or(all.len() as u32);
            workload.table.insert("processors".into(), processors.into());
            workload.table.insert("jobs".into(), jobs(all, report)?);
            workload.max_requests = Some(n);
        }
    }
    Ok(workload)
}

/// The generators as jobs of one thread each. Processes get processors in the reverse order of the file, as in DiskSim.
fn jobs(all: &[(Generator, &Given)], report: &mut Vec<Note>) -> Result<Value, Error> {
    let mut jobs: Vec<(&Generator, u32, Map<String, Value>)> = Vec::new();
    for (i, (generator, value)) in all.iter().enumerate().rev() {
        // Requests that refer to the last one refer to that of the same generator, so it needs a job of its own.
        let refers = generator.sequential + generator.local > 0.0;
        match jobs.last_mut() {
            Some((last, threads, _)) if *last == generator && !refers => *threads += 1,
            _ => jobs.push((generator, 1, generator.job(i, value, report)?)),
        }
    }
    let table = |(_, threads, mut job): (_, u32, Map<String, Value>)| {
        job.insert("threads".into(), threads.into());
        Value::Object(job)
    };
    Ok(jobs.into_iter().map(table).collect())
}

impl Generator {
    /// What its requests are, whenever they come.
    fn requests(&self) -> Map<String, Value> {
        let mut table = Map::new();
        table.insert("reads".into(), self.reads.into());
        table.insert("sequential".into(), self.sequential.into());
        table.insert("local".into(), self.local.into());
        let sectors = |x: f64| blocks(x);
        table.insert("size".into(), self.size.table(&sectors));
        table.insert("block".into(), blocks(self.block_sectors));
        let fixed = self.size.fixed();
        if fixed.is_none_or(|s| s % f64::from(self.block_sectors) != 0.0) {
            table.insert("rounding".into(), "up".into());
        }
        table.insert("footprint".into(), blocks(self.capacity));
        if self.local > 0.0 {
            let d = &self.distance;
            let distance = json!({ "mean": sectors(d.base), "deviation": sectors(d.spread) });
            table.insert("local_distance".into(), distance);
        }
        table
    }

    /// The only generator of a load: one stream of `n` requests, or a loop of one.
    fn stream(&self, n: u32) -> Value {
        let mut table = self.requests();
        table.insert("n_requests".into(), n.into());
        table.insert("devices".into(), self.devices.len().into());
        if self.critical == 1.0 {
            table.insert("arrivals".into(), "closed".into());
            table.insert("outstanding".into(), 1.into());
            table.insert("think".into(), self.gaps[0].table(&ms));
            return table.into();
        }
        table.insert("interarrival".into(), self.gaps[0].table(&ms));
        for (key, share, gaps) in [
            ("sequential_interarrival", self.sequential, &self.gaps[1]),
            ("local_interarrival", self.local, &self.gaps[2]),
        ] {
            if share > 0.0 && gaps != &self.gaps[0] {
                table.insert(key.into(), gaps.table(&ms));
            }
        }
        table.into()
    }

    /// Generator number `i` of several, without its number of threads.
    fn job(&self, i: usize, value: &Given, report: &mut Vec<Note>) -> Result<Map<String, Value>, Error> {
        let first = self.devices[0];
        let n = self.devices.len() as u32;
        if self.devices.iter().zip(first..).any(|(d, next)| *d != next) {
            let got = "devices apart from one another";
            let need = "devices that follow one another: a job has no others";
            return Err(Error::new(value.at.clone(), got, need));
        }
        let mut fields = Fields::new(value.block()?, "Generators");
        for (what, gap) in [("Sequential", &self.gaps[1]), ("Local", &self.gaps[2])] {
            if *gap != self.gaps[0] && self.critical != 1.0 {
                let name = format!("{what} inter-arrival times");
                let why = "the general ones are taken where there are several generators";
                fields.note(&name, Treatment::NotModelled, why);
            }
        }
        report.extend(fields.notes());
        let mut job = Map::new();
        job.insert("name".into(), format!("generator-{i}").into());
        for (key, number, usual) in [("first_device", first, 0), ("devices", n, 1)] {
            if number != usual {
                job.insert(key.into(), number.into());
            }
        }
        if n > 1 {
            job.insert("any_device".into(), true.into());
        }
        job.insert("think_time".into(), self.gaps[0].table(&ms));
        job.insert("blocking".into(), self.critical.into());
        job.insert("requests".into(), self.requests().into());
        Ok(job)
    }
}

/// One generator.
fn generator(value: &Given, over: &Organisation, report: &mut Vec<Note>) -> Result<Generator, Error> {
    let mut fields = Fields::new(value.block()?, "Generators");
    let capacity = super::count(&mut fields, "Storage capacity per device", 1)?;
    let devices = devices(&mut fields, over)?;
    let sequential = probability(&mut fields, "Probability of sequential access")?;
    let local = probability(&mut fields, "Probability of local access")?;
    let reads = probability(&mut fields, "Probability of read access")?;
    fields.need("Probability of time-critical request")?;
    let critical = probability(&mut fields, "Probability of time-critical request")?;
    let limited = "Probability of time-limited request";
    let limits = probability(&mut fields, limited)?;
    if limits > 0.0 {
        let why = "nobody waits for them: they are as any others";
        fields.note(limited, Treatment::NotModelled, why);
    }
    fields.note("Time-limited think times", Treatment::NoTimingEffect, "for those requests");
    let gaps = gaps(&mut fields, [sequential, local], critical)?;
    let distance = distance(&mut fields, local)?;
    let generator = Generator {
        devices,
        capacity,
        block_sectors: fields.count("Blocking factor", 1, 1 << 20, 1)?,
        sequential,
        local,
        reads,
        critical,
        gaps,
        distance,
        size: Distribution::read(fields.need("Sizes")?)?,
    };
    fields.finish(report);
    Ok(generator)
}

/// The numbers of the devices that a generator sends to, in order.
fn devices(fields: &mut Fields, over: &Organisation) -> Result<Vec<u32>, Error> {
    let mut devices = Vec::new();
    for (name, at) in words(fields.need("devices")?)? {
        let numbers = over.numbers(&name);
        if numbers.is_empty() {
            let need = "a logorg, or a disk of one that passes numbers on";
            return Err(Error::new(at, name, need));
        }
        devices.extend(numbers);
    }
    devices.sort_unstable();
    Ok(devices)
}

/// A number from 0 to 1; 0 if it is not given.
fn probability(fields: &mut Fields, what: &str) -> Result<f64, Error> {
    match fields.get(what) {
        None => Ok(0.0),
        Some(value) => match value.real()? {
            p if (0.0..=1.0).contains(&p) => Ok(p),
            _ => Err(Error::new(value.at.clone(), value.show(), "a probability")),
        },
    }
}

const NO_SUCH: &str = "there are no such requests";

/// The times between requests: of all, of sequential and of local ones, which have these shares.
fn gaps(fields: &mut Fields, shares: [f64; 2], critical: f64) -> Result<[Distribution; 3], Error> {
    let general = Distribution::read(fields.need("General inter-arrival times")?)?;
    let mut gaps = [general; 3];
    for (i, what) in ["Sequential", "Local"].iter().enumerate() {
        let name = format!("{what} inter-arrival times");
        if shares[i] > 0.0 && fields.block.get(&name).is_some() {
            gaps[i + 1] = Distribution::read(fields.need(&name)?)?;
            if critical == 1.0 && gaps[i + 1] != general {
                let why = "the general ones are taken in closed loads";
                fields.note(&name, Treatment::NotModelled, why);
            }
        } else {
            fields.note(&name, Treatment::NoTimingEffect, NO_SUCH);
        }
    }
    Ok(gaps)
}

/// How far local requests are from the one before.
fn distance(fields: &mut Fields, local: f64) -> Result<Distribution, Error> {
    if local > 0.0 {
        let value = fields.need("Local distances")?;
        let distance = Distribution::read(value)?;
        if distance.kind != "normal" {
            let need = "normal: nothing else has a counterpart";
            return Err(Error::new(value.at.clone(), distance.kind, need));
        }
        return Ok(distance);
    }
    fields.note("Local distances", Treatment::NoTimingEffect, NO_SUCH);
    Ok(Distribution { kind: "normal", base: 0.0, spread: 0.0, share: 0.0 })
}
