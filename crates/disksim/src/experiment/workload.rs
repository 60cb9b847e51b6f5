//! `disksim_synthio`: the synthetic load, or a trace instead of it.
//!
//! # Model
//! Equal generators, each on the same devices or on separate devices, are merged: with time-critical requests into
//! a closed loop with one outstanding request per generator; otherwise into one stream at the sum of their rates,
//! which for exponential gaps is the same process.
//! # Source
//! DiskSim 4.0 reference manual, section "Synthetic workloads".
//! # Validity
//! Random numbers are our own: results agree statistically.

use super::organisation::Organisation;
use super::{blocks, words};
use crate::ast::{Block, Document, Value as Given};
use crate::convert::fields::{ms_of, Fields};
use crate::convert::{Note, Treatment};
use crate::error::Error;
use serde_json::{json, Map, Value};

/// The table `workload`, and the duration of the load.
pub(super) struct Workload {
    pub table: Map<String, Value>,
    pub duration: Option<String>,
}

/// One generator. Equal generators are merged.
#[derive(PartialEq)]
struct Generator {
    block_sectors: u32,
    sequential: f64,
    local: f64,
    reads: f64,
    closed: bool,
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
        let kind = KINDS
            .into_iter()
            .find(|k| word.word().is_ok_and(|w| w == *k));
        let kind = kind.ok_or_else(|| {
            let need = format!(
                "one of {}: nothing else has a counterpart",
                KINDS.join(", ")
            );
            wrong(word, &need)
        })?;
        let numbers = match (kind, list) {
            ("twovalue", [_, a, b, p]) => (a, b, p.real()?),
            (_, [_, a, b]) => (a, b, 0.0),
            _ => return Err(wrong(value, need)),
        };
        // All are times in milliseconds, or blocks, with the same bounds.
        Ok(Distribution {
            kind,
            base: ms_of(numbers.0, true)?,
            spread: ms_of(numbers.1, true)?,
            share: numbers.2,
        })
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
        Distribution {
            base: self.base * factor,
            spread: self.spread * factor,
            ..self
        }
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
    process_flow(document, report)?;
    if let Some(trace) = trace {
        table.insert("trace".into(), trace.into());
        if let Some(block) = document.blocks().find(|b| b.kind == "disksim_iosim") {
            let mut fields = Fields::new(block, block.name.as_deref().unwrap_or("iosim"));
            if let Some(scale) = fields.get("I/O Trace Time Scale") {
                table.insert("time_scale".into(), scale.real()?.into());
            }
            fields.finish(report);
        }
        return Ok(Workload {
            table,
            duration: None,
        });
    }
    let Some(block) = document.blocks().find(|b| b.kind == "disksim_synthio") else {
        let need = "a block disksim_synthio, or a trace instead";
        return Err(Error::new(document.at.clone(), "no workload", need));
    };
    synthetic(block, over, report)
}

fn process_flow(document: &Document, report: &mut Vec<Note>) -> Result<(), Error> {
    let Some(block) = document.blocks().find(|b| b.kind == "disksim_pf") else {
        return Ok(());
    };
    let mut fields = Fields::new(block, block.name.as_deref().unwrap_or("pf"));
    fields.no_effect(&["Number of processors"], "only one works, in DiskSim too")?;
    fields.only("Process-Flow Time Scale", 1.0, "processors take no time")?;
    fields.finish(report);
    Ok(())
}

fn synthetic(
    block: &Block,
    over: &Organisation,
    report: &mut Vec<Note>,
) -> Result<Workload, Error> {
    let mut fields = Fields::new(block, block.name.as_deref().unwrap_or("synthio"));
    let n = fields.count("Number of I/O requests to generate", 1, u32::MAX, 10_000)?;
    let longest = fields.real("Maximum time of trace generated")?;
    for name in [
        "System call/return with each request",
        "Think time from call to request",
        "Think time from request to return",
    ] {
        fields.only(name, 0.0, "processes do nothing but their requests")?;
    }
    let list = fields.need("Generators")?;
    let mut all: Vec<(Generator, Vec<u32>)> = Vec::new();
    let mut capacity = u32::MAX;
    for value in list.list()? {
        let (generator, devices, blocks) = self::generator(value, over, report)?;
        if all.first().is_some_and(|(first, _)| *first != generator) {
            let need = "generators alike: a workload has one";
            return Err(Error::new(
                value.at.clone(),
                "one that differs from the first",
                need,
            ));
        }
        if capacity != u32::MAX && blocks != capacity {
            let why = "the smallest is taken for all devices";
            let name = "Storage capacity per device";
            let mut fields = Fields::new(value.block()?, "Generators");
            fields.note(name, Treatment::NotModelled, why);
            report.extend(fields.notes());
        }
        capacity = capacity.min(blocks);
        all.push((generator, devices));
    }
    let Some((generator, _)) = all.first() else {
        return Err(Error::new(list.at.clone(), list.show(), "at least one"));
    };
    let mut devices: Vec<u32> = all.iter().flat_map(|(_, d)| d).copied().collect();
    devices.sort_unstable();
    devices.dedup();
    let shares = |d: &u32| all.iter().filter(|(_, own)| own.contains(d)).count();
    if devices.windows(2).any(|w| shares(&w[0]) != shares(&w[1])) {
        let got = "devices with different numbers of generators";
        let need = "as many for each: a workload has one generator";
        return Err(Error::new(list.at.clone(), got, need));
    }
    let together = all.iter().all(|(_, own)| own.len() == devices.len());
    let mut merged = |why: &str| {
        fields.note("Generators", Treatment::NotModelled, why);
    };
    let mut table = generator.table(n, capacity, devices.len());
    if generator.closed {
        table.insert("arrivals".into(), "closed".into());
        table.insert("outstanding".into(), all.len().into());
        table.insert("think".into(), generator.gaps[0].table(&ms));
        if !together {
            merged("each request goes to any of the devices, whose generator ever is next");
        }
    } else {
        generator.open(all.len(), &mut table, &mut merged);
        if all.len() > 1 && generator.sequential + generator.local > 0.0 {
            merged("a sequential or local request follows the last one of all generators");
        }
    }
    fields.finish(report);
    let mut workload = Map::new();
    workload.insert("synthetic".into(), table.into());
    let moved = devices.iter().enumerate().filter(|(i, d)| *i as u32 != **d);
    let moved: Vec<Value> = moved.map(|(i, d)| json!([i, d])).collect();
    if !moved.is_empty() {
        workload.insert("remap".into(), moved.into());
    }
    Ok(Workload {
        table: workload,
        duration: (longest > 0.0).then(|| format!("{longest} s")),
    })
}

impl Generator {
    /// The keys that do not depend on arrivals.
    fn table(&self, n: u32, capacity: u32, devices: usize) -> Map<String, Value> {
        let mut table = Map::new();
        table.insert("n_requests".into(), n.into());
        table.insert("reads".into(), self.reads.into());
        table.insert("sequential".into(), self.sequential.into());
        table.insert("local".into(), self.local.into());
        let sectors = |x: f64| blocks(x);
        table.insert("size".into(), self.size.table(&sectors));
        table.insert("block".into(), blocks(self.block_sectors));
        table.insert("footprint".into(), blocks(capacity));
        table.insert("devices".into(), devices.into());
        if self.local > 0.0 {
            let d = &self.distance;
            let distance = json!({ "mean": sectors(d.base), "deviation": sectors(d.spread) });
            table.insert("local_distance".into(), distance);
        }
        table
    }

    /// Merges `n` streams of requests.
    fn open(&self, n: usize, table: &mut Map<String, Value>, merged: &mut impl FnMut(&str)) {
        let memoryless = self.gaps[0].kind == "exponential" && self.gaps[0].base == 0.0;
        if n > 1 && !memoryless {
            merged("one stream of as many requests: gaps are divided by the number of generators");
        }
        let gap = |d: &Distribution| d.times(1.0 / n as f64).table(&ms);
        table.insert("interarrival".into(), gap(&self.gaps[0]));
        for (key, share, gaps) in [
            ("sequential_interarrival", self.sequential, &self.gaps[1]),
            ("local_interarrival", self.local, &self.gaps[2]),
        ] {
            if share > 0.0 && gaps != &self.gaps[0] {
                table.insert(key.into(), gap(gaps));
            }
        }
    }
}

/// One generator, its devices, and the number of blocks that it uses on each.
fn generator(
    value: &Given,
    over: &Organisation,
    report: &mut Vec<Note>,
) -> Result<(Generator, Vec<u32>, u32), Error> {
    let mut fields = Fields::new(value.block()?, "Generators");
    let capacity = super::count(&mut fields, "Storage capacity per device", 1)?;
    let mut devices = Vec::new();
    for (name, at) in words(fields.need("devices")?)? {
        let numbers = over.numbers(&name);
        if numbers.is_empty() {
            return Err(Error::new(
                at,
                name,
                "a logorg, or a disk of one that passes numbers on",
            ));
        }
        devices.extend(numbers);
    }
    devices.sort_unstable();
    let probability = |fields: &mut Fields, what: &str| match fields.get(what) {
        None => Ok(0.0),
        Some(value) => match value.real()? {
            p if (0.0..=1.0).contains(&p) => Ok(p),
            _ => Err(Error::new(value.at.clone(), value.show(), "a probability")),
        },
    };
    let sequential = probability(&mut fields, "Probability of sequential access")?;
    let local = probability(&mut fields, "Probability of local access")?;
    let reads = probability(&mut fields, "Probability of read access")?;
    let critical = fields.need("Probability of time-critical request")?;
    let closed = match critical.real()? {
        0.0 => false,
        1.0 => true,
        _ => {
            let need = "0 or 1: loads are open or closed";
            return Err(Error::new(critical.at.clone(), critical.show(), need));
        }
    };
    let limited = "Probability of time-limited request";
    let limits = probability(&mut fields, limited)?;
    if limits > 0.0 {
        let why = "nobody waits for them: they are as any others";
        fields.note(limited, Treatment::NotModelled, why);
    }
    fields.note(
        "Time-limited think times",
        Treatment::NoTimingEffect,
        "for those requests",
    );
    let of = |fields: &mut Fields, name: &str| Distribution::read(fields.need(name)?);
    let general = of(&mut fields, "General inter-arrival times")?;
    let mut gaps = [general; 3];
    for (i, (what, share)) in [("Sequential", sequential), ("Local", local)]
        .iter()
        .enumerate()
    {
        let name = format!("{what} inter-arrival times");
        if *share > 0.0 && fields.block.get(&name).is_some() {
            gaps[i + 1] = of(&mut fields, &name)?;
            if closed && gaps[i + 1] != general {
                let why = "the general ones are taken in closed loads";
                fields.note(&name, Treatment::NotModelled, why);
            }
        } else {
            fields.note(
                &name,
                Treatment::NoTimingEffect,
                "there are no such requests",
            );
        }
    }
    let mut distance = Distribution {
        kind: "normal",
        base: 0.0,
        spread: 0.0,
        share: 0.0,
    };
    if local > 0.0 {
        let value = fields.need("Local distances")?;
        distance = Distribution::read(value)?;
        if distance.kind != "normal" {
            return Err(Error::new(
                value.at.clone(),
                distance.kind,
                "normal: nothing else has a counterpart",
            ));
        }
    } else {
        fields.note(
            "Local distances",
            Treatment::NoTimingEffect,
            "there are no such requests",
        );
    }
    let generator = Generator {
        block_sectors: fields.count("Blocking factor", 1, 1 << 20, 1)?,
        sequential,
        local,
        reads,
        closed,
        gaps,
        distance,
        size: of(&mut fields, "Sizes")?,
    };
    fields.finish(report);
    Ok((generator, devices, capacity))
}
