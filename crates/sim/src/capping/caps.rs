//! The cap over time: a list, a file, or a random signal.
//!
//! # Model of the signal
//! The signal is a shelf's share of a rack budget, as a demand-response service sends it. There is a new cap at each
//! interval `every`. The cap varies about `mean` as an Ornstein-Uhlenbeck process with standard deviation `deviation`
//! and correlation time `correlation_time`, and is limited to `least` and `most`:
//!
//! ```text
//! c' = mean + r (c - mean) + deviation sqrt(1 - r^2) N(0, 1),    r = exp(-every / correlation_time)
//! ```
//!
//! Each seed gives another series of caps. Policies that are compared with one seed get the same series.

use super::Capping;
use headstack_engine::random::stream;
use headstack_schema::document::read_text;
use headstack_schema::{SpecError, Table};
use headstack_units::{Span, Time, Watts};
use rand_distr::{Distribution, StandardNormal};
use std::ops::RangeInclusive;
use std::path::Path;

/// One entry of `caps`.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct CapAt {
    /// From then on, after the first request.
    pub at: Span,
    /// The cap; none if absent.
    pub cap: Option<Watts>,
}

/// The parameters of a random cap.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
#[table(check = Signal::is_possible)]
pub struct Signal {
    /// Long-term mean.
    #[param(range = CAPS)]
    pub mean: Watts,
    /// Standard deviation.
    #[param(range = Watts(0.0)..=Watts(1e6))]
    pub deviation: Watts,
    /// Correlation time of the process.
    #[param(default = Span(60_000_000_000), range = TIMES)]
    pub correlation_time: Span,
    /// Time from one cap to the next.
    #[param(default = Span(4_000_000_000), range = TIMES)]
    pub every: Span,
    /// Lowest cap.
    #[param(range = CAPS)]
    pub least: Watts,
    /// Highest cap.
    #[param(range = CAPS)]
    pub most: Watts,
}

const CAPS: RangeInclusive<Watts> = Watts(1e-3)..=Watts(1e6);
const TIMES: RangeInclusive<Span> = Span(10_000_000)..=Span(1_000_000 * 1_000_000_000);

/// Where caps come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Caps {
    /// In order of time; none before the first.
    Schedule(Vec<CapAt>),
    /// Drawn.
    Signal(Signal),
}

impl Caps {
    /// The caps of a table; relative paths start from `base`.
    ///
    /// # Errors
    /// Several sources, a file that cannot be read, times that do not increase, caps out of bounds.
    pub fn read(table: &Capping, base: &Path) -> Result<Caps, SpecError> {
        let given = [
            ("caps", !table.caps.is_empty()),
            ("cap_file", table.cap_file.is_some()),
            ("signal", table.signal.is_some()),
        ];
        let given: Vec<&str> = given.iter().filter(|g| g.1).map(|g| g.0).collect();
        if given.len() > 1 {
            let need = "one of caps, cap_file and signal";
            return Err(SpecError::new(given[1], given.join(" and "), need));
        }
        if let Some(signal) = table.signal {
            return Ok(Caps::Signal(signal));
        }
        let (key, caps) = match &table.cap_file {
            Some(file) => ("cap_file", read_file(&base.join(file))?),
            None => ("caps", table.caps.clone()),
        };
        let mut before = Span(-1);
        for (i, entry) in caps.iter().enumerate() {
            if entry.at <= before || entry.at.0 > Time::LATEST.0 as i64 {
                let need = "times from 0 s that grow";
                return Err(SpecError::new(format!("{key}[{i}].at"), entry.at, need));
            }
            before = entry.at;
            if let Some(cap) = entry.cap.filter(|c| !(c.0 > 0.0 && c.0 <= 1e6)) {
                let need = "more than 0 W, at most 1 MW";
                return Err(SpecError::new(format!("{key}[{i}].cap"), cap, need));
            }
        }
        Ok(Caps::Schedule(caps))
    }
}

/// Reads lines of seconds and watts. The first line may be a heading.
fn read_file(path: &Path) -> Result<Vec<CapAt>, SpecError> {
    const NEED: &str = "a file of lines with seconds and watts, separated by a comma";
    let text = read_text(path, NEED).map_err(|e| {
        let got = format!("{:?} ({})", e.key, e.got);
        SpecError::new("cap_file", got, e.need)
    })?;
    let mut caps = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let mut fields = line.split(',').map(str::trim);
        let (at, cap) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        let refuse = |what: &str| {
            let got = format!("{what:?} in line {}", i + 1);
            SpecError::new("cap_file", got, "seconds and watts, separated by a comma")
        };
        let seconds = match at.parse::<f64>() {
            Ok(s) if (0.0..=1e9).contains(&s) => s,
            Err(_) if caps.is_empty() && i == 0 => continue,
            _ => return Err(refuse(at)),
        };
        let cap = match cap {
            "" => None,
            text => Some(Watts(text.parse::<f64>().map_err(|_| refuse(text))?)),
        };
        caps.push(CapAt { at: Span((seconds * 1e9).round() as i64), cap });
    }
    Ok(caps)
}

impl Signal {
    fn is_possible(&self) -> Result<(), SpecError> {
        match self.least > self.most {
            true => Err(SpecError::new("least", self.least, "at most the value of most")),
            false => Ok(()),
        }
    }
}

/// The cap in force, as time goes on.
pub struct CapSchedule {
    caps: Caps,
    /// Of a schedule: the number of entries in the past.
    past: usize,
    /// Of a signal: the next change, the present value before it is limited, its random numbers.
    next: Span,
    value: f64,
    random: rand_xoshiro::Xoshiro256PlusPlus,
}

impl CapSchedule {
    /// The caps of a run with this seed.
    pub fn new(caps: &Caps, seed: u64) -> CapSchedule {
        let mut random = stream(seed, "capping.signal");
        let value = match caps {
            Caps::Schedule(_) => 0.0,
            Caps::Signal(s) => {
                let normal: f64 = StandardNormal.sample(&mut random);
                s.mean.0 + s.deviation.0 * normal
            }
        };
        CapSchedule {
            caps: caps.clone(),
            past: 0,
            next: match caps {
                Caps::Schedule(_) => Span::ZERO,
                Caps::Signal(s) => s.every,
            },
            value,
            random,
        }
    }

    /// The cap at the time `since` the beginning, which never decreases from call to call.
    pub fn at(&mut self, since: Span) -> Option<Watts> {
        match &self.caps {
            Caps::Schedule(list) => {
                while list.get(self.past).is_some_and(|entry| entry.at <= since) {
                    self.past += 1;
                }
                list.get(self.past.checked_sub(1)?)?.cap
            }
            Caps::Signal(s) => {
                let keep = (-s.every.as_secs_f64() / s.correlation_time.as_secs_f64()).exp();
                while self.next <= since {
                    let normal: f64 = StandardNormal.sample(&mut self.random);
                    let step = s.deviation.0 * (1.0 - keep * keep).sqrt() * normal;
                    self.value = s.mean.0 + keep * (self.value - s.mean.0) + step;
                    self.next = Span(self.next.0 + s.every.0);
                }
                Some(Watts(self.value.clamp(s.least.0, s.most.0)))
            }
        }
    }
}
