//! Synthetic workloads with the rules of DiskSim's generator.
//!
//! # Model
//! Each request is *sequential* with probability `sequential`: it begins where the last one ended
//! and keeps its size and direction. Else with probability `local` it begins `local_distance`
//! (drawn, truncated to blocks) after the last one's start, with size and direction drawn anew.
//! Else it begins at a random place, uniform, by `zipf` or in
//! data that grow (`growth`). Starts and sizes are multiples of `block`. A sequential request that would pass the
//! end begins at a random place instead; a local one is drawn again (at most 1000 times, then at a random place).
//!
//! Sizes of whole blocks have the mean and the shares of their distribution, or are refused (`in_blocks` in
//! `distribution.rs`). With `rounding = "up"` they are drawn without regard to blocks, cut to sectors, rounded up, and
//! drawn again if they are zero, as DiskSim does: the mean is longer by about half a block.
//! # Source
//! DiskSim 4.0 reference manual, section "Synthetic workloads"; `disksim_synthio.c`.
//! # Validity
//! One generator: devices are chosen with equal probability; sequential and local requests stay on their
//! device. The random numbers are our own: results agree with DiskSim's statistically.

mod columns;
#[doc(hidden)]
pub mod distribution;
#[doc(hidden)]
pub mod growth;

pub use distribution::{Distribution, Quantity, Table};
pub use growth::Growth;

use crate::arrivals::ClosedLoop;
use crate::error::TraceError;
use crate::request::{Command, Request};
use crate::source::{Requests, Source};
pub(crate) use distribution::Sampler;
use growth::Records;
use headstack_engine::random::stream;
use headstack_schema::{Choice, Parameter};
use headstack_units::{Bytes, Frequency, Lba, Span, Time};
use rand::Rng;
use rand_distr::{Distribution as _, Exp1, Zipf};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

/// The process of arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum ArrivalProcess {
    /// Poisson arrivals: independent, at `rate` on average.
    #[default]
    Poisson,
    /// Evenly spaced at `rate`.
    Constant,
    /// Gaps uniformly distributed from zero to twice the mean.
    Uniform,
    /// Closed arrivals: times are zero, and `outstanding` requests circulate, each issued `think` after a
    /// completion.
    Closed,
}

/// How sizes become whole blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Rounding {
    /// Whole blocks are drawn, with the mean and the shares asked for; what cannot have them is refused.
    #[default]
    None,
    /// Sizes are rounded up, as in DiskSim.
    Up,
}

/// A synthetic workload, as in an experiment's TOML.
#[derive(Debug, Clone, PartialEq, headstack_schema::Table)]
#[table(default)]
pub struct Synthetic {
    /// Number of requests.
    pub n_requests: u64,
    /// Share of reads.
    #[param(range = 0.0..=1.0)]
    pub reads: f64,
    /// Share of the writes with forced unit access: complete when they are on the medium.
    #[param(range = 0.0..=1.0)]
    pub write_through: f64,
    /// Probability that a request begins where the one before it ends.
    #[param(range = 0.0..=1.0)]
    pub sequential: f64,
    /// Probability that a request is near the one before it.
    #[param(range = 0.0..=1.0)]
    pub local: f64,
    /// Distance of a near request from the one before it, in both directions, normally distributed. If absent, with a
    /// deviation of 40,000 blocks of 512 bytes, as in DiskSim's samples.
    pub local_distance: Option<LocalDistance>,
    /// Size of a request: one, or a table such as `{ distribution = "uniform", min, max }`.
    pub size: Distribution<Bytes>,
    /// Starts and sizes are multiples of this (DiskSim's blocking factor).
    pub block: Bytes,
    /// How sizes become whole blocks.
    pub rounding: Rounding,
    /// Process of arrivals.
    pub arrivals: ArrivalProcess,
    /// Mean rate of arrivals; needed unless they are `closed` or an `interarrival`.
    pub rate: Option<Frequency>,
    /// Gaps between arrivals, instead of `arrivals` and `rate`.
    pub interarrival: Option<Distribution<Span>>,
    /// Gaps before sequential requests, if they differ.
    pub sequential_interarrival: Option<Distribution<Span>>,
    /// Gaps before local requests, if they differ.
    pub local_interarrival: Option<Distribution<Span>>,
    /// The part of each device that is used, from its beginning.
    #[param(range = Bytes(512)..=Bytes(1 << 62))]
    pub footprint: Bytes,
    /// Number of devices.
    #[param(range = 1..=u32::MAX)]
    pub devices: u32,
    /// Popularity of blocks, scattered over the space: the k-th most popular has a probability in proportion to 1/k to
    /// the power of `zipf`; all are equal if absent.
    #[param(range = 0.0..=100.0)]
    pub zipf: Option<f64>,
    /// Data that grow by new writes. `{ initial, new }`: reads and updates take any of the records written so far,
    /// `initial` of them at first, each of `size`; the share `new` of the writes adds one.
    pub growth: Option<Growth>,
    /// Closed arrivals: number of outstanding requests.
    #[param(range = 1..=u32::MAX)]
    pub outstanding: u32,
    /// Closed arrivals: the pause between a completion and the next request.
    pub think: Distribution<Span>,
    /// Phases with other values, repeated in order.
    pub phases: Vec<Phase>,
}

/// Distance of local requests.
#[derive(Debug, Clone, PartialEq, headstack_schema::Table)]
pub struct LocalDistance {
    /// Mean distance, forward.
    #[param(default)]
    pub mean: Bytes,
    /// Standard deviation.
    pub deviation: Bytes,
}

impl Default for LocalDistance {
    /// The distance in DiskSim's samples.
    fn default() -> LocalDistance {
        LocalDistance { mean: Bytes(0), deviation: Bytes(40_000 * 512) }
    }
}

/// Values during a phase; absent ones are those of the workload.
#[derive(Debug, Clone, PartialEq, Default, headstack_schema::Table)]
pub struct Phase {
    /// Length of the phase.
    pub duration: Span,
    /// The share of reads.
    #[param(range = 0.0..=1.0)]
    pub reads: Option<f64>,
    /// The probability of sequential requests.
    #[param(range = 0.0..=1.0)]
    pub sequential: Option<f64>,
    /// The probability of local requests.
    #[param(range = 0.0..=1.0)]
    pub local: Option<f64>,
    /// Sizes.
    pub size: Option<Distribution<Bytes>>,
    /// The rate of arrivals; zero is a pause.
    pub rate: Option<Frequency>,
}

impl Default for Synthetic {
    fn default() -> Synthetic {
        Synthetic {
            n_requests: 10_000,
            reads: 0.66,
            write_through: 0.0,
            sequential: 0.0,
            local: 0.0,
            local_distance: None,
            size: Distribution::Value(Bytes(4096)),
            block: Bytes(4096),
            rounding: Rounding::None,
            arrivals: ArrivalProcess::Poisson,
            rate: None,
            interarrival: None,
            sequential_interarrival: None,
            local_interarrival: None,
            footprint: Bytes(1_000_000_000),
            devices: 1,
            zipf: None,
            growth: None,
            outstanding: 1,
            think: Distribution::Value(Span::ZERO),
            phases: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Profile {
    reads: f64,
    /// Threshold for sequential requests; the next one is for local requests.
    sequential: f64,
    local: f64,
    size: Sampler,
    rounding: Rounding,
    /// The size in units of `block` if all sizes are equal, else zero.
    same_units: u64,
    /// Mean gap in ns for arrivals by rate; 1 for explicit gaps; infinite for a pause.
    gap: f64,
    duration: f64,
}

impl Profile {
    /// A size in units of `block` sectors, at most `limit` units.
    fn draw_size<R: Rng>(&self, block: u64, limit: u64, random: &mut R) -> u64 {
        for _ in 0..10_000 {
            let units = match self.rounding {
                // `in_blocks` made a sampler for this.
                Rounding::None => self.size.draw_blocks((block * 512) as f64, random),
                // First computed in sectors and truncated.
                Rounding::Up => ((self.size.draw(random) / 512.0) as u64).div_ceil(block),
            };
            if units > 0 && units <= limit && units * block <= u64::from(u32::MAX) {
                return units;
            }
        }
        1
    }
}

// As for `Sampler`.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, Copy)]
enum Gaps {
    Poisson,
    Constant,
    Uniform,
    Drawn(Sampler),
    Closed,
}

/// The generator as its own type, for loops without dynamic dispatch.
#[derive(Debug, Clone)]
pub struct SyntheticSource {
    left: u64,
    phases: Phases,
    /// A copy of the current phase's.
    profile: Profile,
    gaps: Gaps,
    special_gaps: SpecialGaps,
    local_distance: (f64, f64),
    area: Area,
    zipf: Option<(Zipf<f64>, u64)>,
    records: Option<Records>,
    now: f64,
    whole: u64,
    last: Option<Request>,
    random: Streams,
    /// Share of write-through among the writes.
    write_through: f64,
}

/// The phases of a load, which follow each other again and again.
#[derive(Debug, Clone)]
pub struct Phases {
    profiles: Vec<Profile>,
    /// Index of the current one.
    current: usize,
    /// Its end in ns; infinite without phases.
    end: f64,
    /// All of them together, in mean gaps and in ns.
    cycle_units: f64,
    cycle_ns: f64,
}

/// Gaps before sequential and local requests, where they have their own.
#[derive(Debug, Clone)]
struct SpecialGaps {
    sequential: Option<Sampler>,
    local: Option<Sampler>,
}

/// Where requests can begin.
#[derive(Debug, Clone)]
struct Area {
    /// Sectors of a block.
    block: u64,
    /// Number of starts of one block each on a device.
    units: u64,
    devices: u32,
}

/// Streams of random numbers.
#[derive(Debug, Clone)]
struct Streams {
    arrival: Xoshiro256PlusPlus,
    place: Xoshiro256PlusPlus,
    shape: Xoshiro256PlusPlus,
    /// For write-through among the writes.
    through: Xoshiro256PlusPlus,
}

/// The error for a value as an experiment has it; an absent one is "nothing".
fn refuse(key: &str, got: Value, need: &str) -> TraceError {
    let got = match got {
        Value::Null => "nothing".into(),
        got => got.to_string(),
    };
    TraceError::Input { path: format!("synthetic.{key}"), got, need: need.to_string() }
}

impl Synthetic {
    /// The stream of requests for a seed.
    ///
    /// # Errors
    /// A key that cannot be used, what was got and what is needed.
    pub fn source(&self, seed: u64) -> Result<Source, TraceError> {
        let source = self.generator(seed)?;
        Ok(Box::new(Generated { source, given: 0 }))
    }

    /// The closed loop of the workload; `None` for open arrivals.
    ///
    /// # Errors
    /// As for [`Synthetic::source`].
    pub fn closed(&self, seed: u64) -> Result<Option<ClosedLoop>, TraceError> {
        if self.arrivals != ArrivalProcess::Closed {
            return Ok(None);
        }
        let closed = ClosedLoop { outstanding: self.outstanding, think_time: self.think.clone(), seed };
        closed.pauses().map_err(|mut e| {
            e.key = e.key.replace("think_time", "think");
            e.within("synthetic")
        })?;
        Ok(Some(closed))
    }

    fn profile(&self, phase: Option<&Phase>) -> Result<Profile, TraceError> {
        let sequential = phase.and_then(|p| p.sequential).unwrap_or(self.sequential);
        let local = phase.and_then(|p| p.local).unwrap_or(self.local);
        let size = phase.and_then(|p| p.size.as_ref()).unwrap_or(&self.size);
        let refused = |need: String| refuse("size", size.write(), &need);
        let mut sampler = size.sampler().map_err(refused)?;
        if sampler.reach() < 512.0 {
            return Err(refuse("size", size.write(), "sizes of at least 512 B"));
        }
        if self.rounding == Rounding::None {
            let footprint = self.footprint.0 as f64;
            sampler = sampler.in_blocks(self.block.0 as f64, footprint).map_err(refused)?;
        }
        let rate = phase.and_then(|p| p.rate).or(self.rate);
        let gap = match (self.arrivals, &self.interarrival, rate) {
            (ArrivalProcess::Closed, ..) => f64::INFINITY,
            (_, Some(_), None) => 1.0,
            (_, Some(_), Some(rate)) => return Err(refuse("rate", rate.write(), "rate or interarrival, not both")),
            (_, None, Some(rate)) if rate.0 > 0.0 => 1e9 / rate.0,
            (_, None, Some(_)) if phase.is_some() => f64::INFINITY,
            (_, None, rate) => return Err(refuse("rate", rate.write(), "a rate above 0, as in \"250/s\"")),
        };
        let duration = phase.map_or(f64::INFINITY, |p| p.duration.0 as f64);
        if duration < 1e6 {
            return Err(refuse("phases.duration", duration.into(), "at least 1 ms"));
        }
        if sequential + local > 1.0 {
            let sum = (sequential + local).into();
            return Err(refuse("sequential + local", sum, "a share from 0 to 1"));
        }
        Ok(Profile {
            reads: phase.and_then(|p| p.reads).unwrap_or(self.reads),
            sequential,
            local: sequential + local,
            size: sampler,
            rounding: self.rounding,
            same_units: 0,
            gap,
            duration,
        })
    }

    /// The load of each phase, or of all time; `units` is the number of places on a device.
    fn profiles(&self, units: u64, shape: &mut Xoshiro256PlusPlus) -> Result<Vec<Profile>, TraceError> {
        let mut profiles = if self.phases.is_empty() {
            vec![self.profile(None)?]
        } else if self.arrivals == ArrivalProcess::Closed {
            return Err(refuse("phases", "closed arrivals".into(), "open arrivals"));
        } else {
            self.phases.iter().map(|p| self.profile(Some(p))).collect::<Result<_, _>>()?
        };
        if self.arrivals != ArrivalProcess::Closed && profiles.iter().all(|p| p.gap == f64::INFINITY) {
            return Err(refuse("phases.rate", 0.0.into(), "one phase with a rate above 0"));
        }
        for p in &mut profiles {
            if self.rounding == Rounding::Up && (p.size.reach() / self.block.0 as f64).ceil() > units as f64 {
                return Err(refuse("size", p.size.reach().into(), "sizes within the footprint"));
            }
            if let Sampler::Fixed(_) = p.size {
                // This uses no random numbers of the stream.
                p.same_units = p.draw_size(self.block.0 / 512, units, shape);
            }
        }
        Ok(profiles)
    }

    /// The generator for a seed.
    ///
    /// # Errors
    /// As for [`Synthetic::source`].
    pub fn generator(&self, seed: u64) -> Result<SyntheticSource, TraceError> {
        self.check().map_err(|e| e.within("synthetic"))?;
        self.closed(seed)?;
        if self.block.0 == 0 || self.block.0 % 512 != 0 {
            return Err(refuse("block", self.block.write(), "a multiple of 512 B"));
        }
        let units = self.footprint.0 / self.block.0;
        if units == 0 {
            return Err(refuse("footprint", self.footprint.write(), "one block to 4 EiB"));
        }
        let gaps = match (self.arrivals, times("interarrival", &self.interarrival)?) {
            (ArrivalProcess::Closed, _) => Gaps::Closed,
            (_, Some(drawn)) => Gaps::Drawn(drawn),
            (ArrivalProcess::Poisson, _) => Gaps::Poisson,
            (ArrivalProcess::Constant, _) => Gaps::Constant,
            (ArrivalProcess::Uniform, _) => Gaps::Uniform,
        };
        let mut shape = stream(seed, "synthetic.shape");
        let profiles = self.profiles(units, &mut shape)?;
        let zipf = self.zipf.map(|theta| scattered(theta, units)).transpose()?;
        let records = Records::of(self, (units, profiles[0].same_units), seed)?;
        let local = self.local_distance.clone().unwrap_or_default();
        let local_distance = (local.mean.0 as f64, local.deviation.0 as f64);
        Ok(SyntheticSource {
            left: self.n_requests,
            profile: profiles[0],
            phases: Phases {
                end: profiles[0].duration,
                cycle_units: profiles.iter().map(|p| p.duration / p.gap).sum(),
                cycle_ns: profiles.iter().map(|p| p.duration).sum(),
                current: 0,
                profiles,
            },
            gaps,
            special_gaps: SpecialGaps {
                sequential: times("sequential_interarrival", &self.sequential_interarrival)?,
                local: times("local_interarrival", &self.local_interarrival)?,
            },
            local_distance,
            area: Area { block: self.block.0 / 512, units, devices: self.devices },
            zipf,
            records,
            now: 0.0,
            whole: 0,
            last: None,
            random: Streams {
                arrival: stream(seed, "synthetic.arrival"),
                place: stream(seed, "synthetic.place"),
                shape,
                through: stream(seed, "synthetic.through"),
            },
            write_through: self.write_through,
        })
    }
}

/// Draws times, which must not be negative.
fn times(key: &str, d: &Option<Distribution<Span>>) -> Result<Option<Sampler>, TraceError> {
    let Some(d) = d else { return Ok(None) };
    let made = d.sampler().map_err(|need| refuse(key, d.write(), &need))?;
    match made.reach() < 0.0 {
        true => Err(refuse(key, d.write(), "times that are not negative")),
        false => Ok(Some(made)),
    }
}

/// Zipf's distribution over so many blocks, and the step by which its ranks are scattered: near the golden section and
/// coprime to their number, so that every block has one rank.
fn scattered(theta: f64, units: u64) -> Result<(Zipf<f64>, u64), TraceError> {
    let made = Zipf::new(units as f64, theta);
    let made = made.map_err(|_| refuse("zipf", theta.into(), "0 to 100"))?;
    let mut step = ((units as f64 * 0.618_033_988_749_894_9) as u64).max(1);
    while greatest_common_divisor(step, units) != 1 {
        step += 1;
    }
    Ok((made, step))
}

/// A generator as a stream; it ends with an error at the end of simulated time.
struct Generated {
    source: SyntheticSource,
    given: u64,
}

impl Generated {
    #[cold]
    fn late(&self, request: &Request) -> TraceError {
        TraceError::Record {
            path: "synthetic".into(),
            line: self.given + 1,
            got: format!("time {} ns", request.time.0),
            need: format!("{}; hint: a higher rate", Time::LATEST_SHOWN),
        }
    }
}

impl Iterator for Generated {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let request = self.source.next()?;
        if request.time > Time::LATEST {
            return Some(Err(self.late(&request)));
        }
        self.given += 1;
        Some(Ok(request))
    }
}

impl Requests for Generated {
    fn fill(&mut self, batch: &mut Vec<Request>, most: usize) -> Result<(), TraceError> {
        let first = batch.len();
        if self.source.is_independent() {
            self.source.fill_columns(batch, most);
        } else {
            batch.extend(self.source.by_ref().take(most));
        }
        // Times never decrease, so the last one is the latest.
        let fits = match batch.last() {
            Some(last) if last.time > Time::LATEST => batch.partition_point(|r| r.time <= Time::LATEST),
            _ => batch.len(),
        };
        self.given += (fits - first) as u64;
        match batch.get(fits) {
            Some(late) => {
                let error = self.late(late);
                batch.truncate(fits);
                Err(error)
            }
            None => Ok(()),
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

enum Class {
    Sequential,
    Local,
    Anywhere,
}

impl SyntheticSource {
    /// Advances the clock by a gap. The gap is in units of the mean gap, so that each phase uses it up at its
    /// own rate: exact for Poisson arrivals.
    #[inline]
    fn advance(&mut self, class: &Class) {
        let special = match class {
            Class::Sequential => self.special_gaps.sequential,
            Class::Local => self.special_gaps.local,
            Class::Anywhere => None,
        };
        if let Some(gap) = special {
            self.now += gap.draw_positive(&mut self.random.arrival);
            self.skip_phases();
        } else {
            let mut units = match self.gaps {
                Gaps::Poisson => Exp1.sample(&mut self.random.arrival),
                Gaps::Constant => 1.0,
                Gaps::Uniform => 2.0 * self.random.arrival.random::<f64>(),
                Gaps::Drawn(sampler) => sampler.draw_positive(&mut self.random.arrival),
                Gaps::Closed => return,
            };
            let mut ns = units * self.profile.gap;
            if self.phases.end < f64::INFINITY && self.now + ns > self.phases.end {
                let cycles = (units / self.phases.cycle_units).floor();
                units -= cycles * self.phases.cycle_units;
                self.now += cycles * self.phases.cycle_ns;
                self.phases.end += cycles * self.phases.cycle_ns;
                loop {
                    let gap = self.profile.gap;
                    // A pause uses up nothing of the gap; zero times infinity must be avoided.
                    let room = (self.phases.end - self.now) / gap;
                    if units <= room && gap < f64::INFINITY {
                        ns = units * gap;
                        break;
                    }
                    units = (units - room).max(0.0);
                    self.now = self.phases.end;
                    self.next_phase();
                }
            }
            self.now += ns;
        }
        // The fraction is stored as f64 and the whole part as an integer, so that long runs do not drift.
        if self.now >= 1e9 && self.phases.end == f64::INFINITY {
            let whole = self.now.floor();
            self.whole = self.whole.saturating_add(whole as u64);
            self.now -= whole;
        }
    }

    fn next_phase(&mut self) {
        self.phases.current = (self.phases.current + 1) % self.phases.profiles.len();
        self.profile = self.phases.profiles[self.phases.current];
        self.phases.end += self.profile.duration;
    }

    fn skip_phases(&mut self) {
        if self.phases.end < f64::INFINITY && self.now > self.phases.end {
            let cycles = ((self.now - self.phases.end) / self.phases.cycle_ns).floor();
            self.phases.end += cycles * self.phases.cycle_ns;
            while self.now > self.phases.end {
                self.next_phase();
            }
        }
    }

    #[inline]
    fn draw_units(&mut self) -> u64 {
        match self.profile.same_units {
            0 => self.profile.draw_size(self.area.block, self.area.units, &mut self.random.shape),
            same => same,
        }
    }

    #[inline]
    fn draw_op(&mut self) -> Command {
        if self.random.shape.random::<f64>() < self.profile.reads {
            Command::Read
        } else if self.write_through > 0.0 && self.random.through.random::<f64>() < self.write_through {
            Command::WriteThrough
        } else {
            Command::Write
        }
    }

    #[inline]
    fn anywhere(&mut self, units: u64) -> u64 {
        match &self.zipf {
            None => below(&mut self.random.place, self.area.units - units + 1),
            Some((zipf, step)) => {
                let rank = (zipf.sample(&mut self.random.place) as u64 - 1).min(self.area.units - 1);
                let start = (u128::from(rank) * u128::from(*step) % u128::from(self.area.units)) as u64;
                start.min(self.area.units - units)
            }
        }
    }

    fn near(&mut self, last: u64, units: u64) -> Option<u64> {
        let (mean, deviation) = self.local_distance;
        let sampler = Sampler::Normal(mean, deviation);
        for _ in 0..1000 {
            let distance = (sampler.draw(&mut self.random.place) / 512.0) as i64 / self.area.block as i64;
            let start = (last / self.area.block).checked_add_signed(distance);
            if let Some(start) = start.filter(|s| *s <= self.area.units - units) {
                return Some(start);
            }
        }
        None
    }
}

/// Uniform from 0 to `limit - 1` by multiplication (Lemire 2019); the bias is below 2^-64 · limit.
#[inline]
fn below<R: Rng>(random: &mut R, limit: u64) -> u64 {
    ((u128::from(random.random::<u64>()) * u128::from(limit)) >> 64) as u64
}

impl Iterator for SyntheticSource {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.left == 0 {
            return None;
        }
        self.left -= 1;
        let profile = &self.profile;
        let mut class = Class::Anywhere;
        if profile.local > 0.0 && self.last.is_some() {
            let draw: f64 = self.random.place.random();
            if draw < profile.sequential {
                class = Class::Sequential;
            } else if draw < profile.local {
                class = Class::Local;
            }
        }
        self.advance(&class);
        let time = Time(self.whole.saturating_add(self.now as i64 as u64));
        let mut request = Request { time, ..Request::default() };
        let mut placed = false;
        if let (Class::Sequential, Some(last)) = (&class, self.last) {
            let start = last.lba.0 + u64::from(last.blocks);
            if start + u64::from(last.blocks) <= self.area.units * self.area.block {
                request = Request { time, lba: Lba(start), ..last };
                placed = true;
            }
        }
        if !placed {
            let units = self.draw_units();
            request.op = self.draw_op();
            request.blocks = (units * self.area.block) as u32;
            let near = match (&class, self.last) {
                (Class::Local, Some(last)) => {
                    request.device = last.device;
                    self.near(last.lba.0, units)
                }
                _ => None,
            };
            let start = match near {
                Some(start) => start,
                None => {
                    if self.area.devices > 1 {
                        request.device = below(&mut self.random.place, u64::from(self.area.devices)) as u32;
                    }
                    match &mut self.records {
                        Some(records) => records.draw(request.op, &mut self.random.place) * units,
                        None => self.anywhere(units),
                    }
                }
            };
            request.lba = Lba(start * self.area.block);
        }
        self.last = Some(request);
        Some(request)
    }
}
