//! A simulated drive on a simulated clock.
//!
//! # Model
//! The drive is the one that experiments simulate. The host knows of an end after its [lateness](crate::lateness). The
//! angle of the disk when the target is opened follows from the seed. Another client reads 4 KiB at random places, at
//! random times (Poisson), so that a drive with nothing else to do is busy for the given share of time.

use crate::batch::{Answers, Batch, Issuer, Status};
use crate::lateness::{exponential, Lateness, USUAL_NS};
use crate::{hashed, Described, Kind, Options, ProbeError, Target};
use headstack_drive::{Command, Completion, Drive, DriveDesign, DriveOptions, DriveRequest, DriveSpec};
use headstack_engine::random::stream;
use headstack_experiment::{load_drive, Inputs};
use headstack_schema::SpecError;
use headstack_units::{Lba, Time, Turn};
use rand_xoshiro::rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a logical block.
const BLOCK: u32 = 512;
/// Blocks of a read of the other client.
const OTHERS_BLOCKS: u32 = 8;
/// Number of the other client's commands.
const OTHERS: u64 = u64::MAX;
/// Largest share of the other client. Above it queues grow without end.
const MOST_BESIDE: f64 = 0.9;
/// Steps between two questions whether to go on.
const ASK_AFTER: u32 = 4096;
/// Reads by which the mean service time of the other client's reads is found.
const SERVICES: u32 = 256;
const NEVER: u64 = Time::NEVER.0;

/// What disturbs the probe of a simulated drive.
#[derive(Debug, Clone, Default)]
pub struct Disturbance {
    /// Mean of the exponential part of the host's lateness, and its constant part, seconds; 0: the host is never late.
    /// 15 us unless said.
    pub lateness_s: Option<f64>,
    /// Share of commands that are late by one or two turns.
    pub disturbed: f64,
    /// Share of the drive's time that another client takes.
    pub beside: f64,
    /// Seed of all that is drawn, the drive's own numbers included.
    pub seed: u64,
}

impl Disturbance {
    /// # Errors
    /// A value outside its bounds.
    fn check(&self) -> Result<(), SpecError> {
        let late = self.lateness_s.unwrap_or(0.0);
        let values =
            [("lateness", late, 1.0), ("disturbed", self.disturbed, 1.0), ("beside", self.beside, MOST_BESIDE)];
        for (key, got, most) in values {
            if !(0.0..=most).contains(&got) {
                return Err(SpecError::new(key, got, format!("0 to {most}")));
            }
        }
        Ok(())
    }
}

/// Another client.
struct Others {
    /// Mean time between two commands, ns.
    mean_ns: f64,
    next: u64,
    random: Xoshiro256PlusPlus,
}

impl Others {
    fn draw(&mut self, capacity: u64) -> DriveRequest {
        let steps = (capacity / u64::from(OTHERS_BLOCKS)).max(1);
        let lba = Lba(self.random.next_u64() % steps * u64::from(OTHERS_BLOCKS));
        self.next += (self.mean_ns * exponential(&mut self.random)) as u64 + 1;
        DriveRequest { id: OTHERS, command: Command::Read, lba, blocks: OTHERS_BLOCKS, ..DriveRequest::default() }
    }
}

/// A simulated drive.
pub struct Sim {
    drive: Drive,
    described: Described,
    truth: String,
    lateness: Lateness,
    others: Option<Others>,
    now: u64,
    /// Number of the first command of the next batch.
    first: u64,
    /// To where the drive was advanced.
    reached: u64,
}

impl Sim {
    /// Opens a drive by its name or the path of its file.
    ///
    /// # Errors
    /// No such drive, or one that cannot be built; a disturbance outside its bounds.
    pub fn open(name: &str, options: &Options) -> Result<Sim, ProbeError> {
        let inputs = Inputs::new(options.drive_dirs.clone());
        let spec = load_drive(name, Path::new("."), &inputs)?;
        Ok(Sim::of(&spec, &DriveDesign::new(&spec, &inputs.models)?, &options.sim)?)
    }

    /// A new drive of a design.
    ///
    /// # Errors
    /// As [`Sim::open`].
    pub fn of(spec: &DriveSpec, design: &Arc<DriveDesign>, sim: &Disturbance) -> Result<Sim, SpecError> {
        sim.check()?;
        let mut angle = stream(sim.seed, "probe phase");
        let options = DriveOptions { seed: sim.seed, start_phase: Turn(angle.next_u64()), ..DriveOptions::default() };
        let drive = design.drive(&options)?;
        let turn_ns = drive.mechanics().rotation.period_ns;
        let late_ns = sim.lateness_s.map_or(USUAL_NS, |s| s * 1e9);
        let others = if sim.beside > 0.0 { Some(others(design, &options, sim)?) } else { None };
        Ok(Sim {
            described: described(spec, &drive, sim.seed),
            truth: text_of(spec)?,
            lateness: Lateness::new(late_ns, sim.disturbed, turn_ns, sim.seed),
            others,
            now: 0,
            first: 0,
            reached: 0,
            drive,
        })
    }

    /// Issues what is due, and advances the clock to the end of the batch, and at least to `until`.
    fn go(&mut self, issuer: &mut Issuer, until: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<(), ProbeError> {
        let command = match (issuer.batch.writes.is_some(), issuer.batch.fua) {
            (true, true) => Command::WriteThrough,
            (true, false) => Command::Write,
            (false, true) => Command::ReadThrough,
            (false, false) => Command::Read,
        };
        let mut ends = Ends::with_capacity(issuer.batch.len());
        let mut steps = 0u32;
        while !issuer.is_over() || self.now < until {
            steps = steps.wrapping_add(1);
            if steps % ASK_AFTER == 0 && !goes_on() {
                return Err(ProbeError::Stopped);
            }
            let end = ends.peek().map_or(NEVER, |end| end.0 .0);
            let due = issuer.due().unwrap_or(NEVER);
            let other = self.others.as_ref().map_or(NEVER, |o| o.next);
            let asleep = if self.now < until { until } else { NEVER };
            let next = end.min(due).min(other).min(asleep);
            let event = self.drive.next_event().0;
            if event < next {
                // One service more: what comes after it may depend on when it ends.
                self.advance(event + 1, &mut ends);
            } else if next > Time::LATEST.0 {
                return Err(SpecError::new("probe", "a time past the end of the clock", Time::LATEST_SHOWN).into());
            } else if end == next {
                self.now = next;
                ends.pop().iter().for_each(|Reverse((at, i, status))| issuer.done(*i, *at, *status));
            } else if due == next {
                let i = issuer.issue(next);
                let (lba, blocks) = (Lba(issuer.batch.lba[i]), issuer.batch.blocks[i]);
                let id = self.first + i as u64;
                self.submit(next, DriveRequest { id, command, lba, blocks, ..DriveRequest::default() }, &mut ends);
            } else if other == next {
                let capacity = self.drive.design.capacity_blocks();
                if let Some(request) = self.others.as_mut().map(|o| o.draw(capacity)) {
                    self.submit(next, request, &mut ends);
                }
            } else {
                self.now = next;
            }
        }
        Ok(())
    }

    fn advance(&mut self, to: u64, ends: &mut Ends) {
        self.reached = self.reached.max(to);
        let (first, lateness) = (self.first, &mut self.lateness);
        self.drive.advance(Time(self.reached), &mut |c| {
            // Others are of the other client, or of a batch that somebody has stopped.
            if let Some(i) = c.id.checked_sub(first).filter(|_| c.id != OTHERS) {
                let status = status_of(c);
                ends.push(Reverse((c.completion.0 + lateness.draw(status), i as usize, status)));
            }
        });
    }

    fn submit(&mut self, at: u64, request: DriveRequest, ends: &mut Ends) {
        // The drive may have been advanced a nanosecond further.
        self.advance(at, ends);
        self.drive.submit(Time(self.reached), request);
    }
}

/// Of commands whose service has begun: when the host will know that they are done, their places and how they end.
type Ends = BinaryHeap<Reverse<(u64, usize, Status)>>;

impl Target for Sim {
    fn described(&self) -> &Described {
        &self.described
    }

    fn now_ns(&self) -> u64 {
        self.now
    }

    fn sleep(&mut self, ns: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<(), ProbeError> {
        let until = self.now.saturating_add(ns);
        self.go(&mut Issuer::new(&Batch::default(), self.now), until, goes_on)
    }

    fn run(&mut self, batch: &Batch, goes_on: &mut dyn FnMut() -> bool) -> Result<Answers, ProbeError> {
        let mut issuer = Issuer::new(batch, self.now);
        let went = self.go(&mut issuer, self.now, goes_on);
        self.first += batch.len() as u64;
        went.map(|()| issuer.answers())
    }

    /// A simulated drive keeps no data.
    fn fetch(&mut self, _: u64, blocks: u32) -> Result<Option<Vec<u8>>, ProbeError> {
        Ok(Some(vec![0; blocks as usize * BLOCK as usize]))
    }

    fn energy(&mut self) -> Option<[f64; 5]> {
        self.advance(self.now, &mut Ends::new());
        let e = self.drive.energy(Time(self.now));
        Some([e.idle_s + e.standby_s, e.seek_s, e.rotation_s, e.transfer_s, e.total_j()])
    }

    fn truth(&self) -> Option<String> {
        Some(self.truth.clone())
    }
}

fn status_of(c: &Completion) -> Status {
    match (c.error, c.sense) {
        (false, _) => Status::Good,
        // Its head is gone.
        (true, None) => Status::Medium,
        (true, Some(_)) => Status::Other,
    }
}

/// The client that is busy for a share of the time of a drive of this design.
fn others(design: &Arc<DriveDesign>, options: &DriveOptions, sim: &Disturbance) -> Result<Others, SpecError> {
    let mut drive = design.drive(options)?;
    let mut others = Others { mean_ns: 0.0, next: 0, random: stream(sim.seed, "probe beside") };
    let (capacity, mut now) = (drive.design.capacity_blocks(), Time::ZERO);
    for _ in 0..SERVICES {
        drive.submit(now, others.draw(capacity));
        drive.advance(Time::NEVER, &mut |c| now = c.completion);
    }
    others.mean_ns = now.0 as f64 / f64::from(SERVICES) / sim.beside;
    others.next = (others.mean_ns * exponential(&mut others.random)) as u64;
    Ok(others)
}

fn described(spec: &DriveSpec, drive: &Drive, seed: u64) -> Described {
    let ranges = drive.design.access_ranges();
    let units = drive.design.logical_units();
    let mut end = 0;
    let units = units.iter().map(|blocks| {
        end += blocks;
        end - blocks..end
    });
    let units: Vec<_> = units.collect();
    Described {
        kind: Kind::Sim,
        blocks: drive.design.capacity_blocks(),
        block_bytes: BLOCK,
        physical_bytes: spec.geometry.sector_size.0 as u32,
        model: spec.name.clone(),
        firmware: env!("CARGO_PKG_VERSION").into(),
        serial_sha256: hashed(&format!("{} {seed}", spec.name)),
        rotational: Some(true),
        fua: true,
        queue_depth: Some(drive.queue_depth()).filter(|n| *n > 0),
        ranges: [ranges, units].into_iter().find(|parts| parts.len() > 1).unwrap_or_default(),
        zoned: drive.zone_rules().map(|_| "host-managed".into()),
        mounted: false,
        caveats: Vec::new(),
    }
}

/// A drive's file.
fn text_of(spec: &DriveSpec) -> Result<String, SpecError> {
    let unwritten = |e: &dyn std::fmt::Display| SpecError::new("drive", e.to_string(), "a drive that can be written");
    let mut value = serde_json::to_value(spec).map_err(|e| unwritten(&e))?;
    without_nulls(&mut value);
    toml::to_string(&value).map_err(|e| unwritten(&e))
}

/// TOML has no null: what is left out.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(table) => {
            table.retain(|_, v| !v.is_null());
            table.values_mut().for_each(without_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(without_nulls),
        _ => {}
    }
}
