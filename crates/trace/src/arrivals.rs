//! Arrivals: open, at the times of the workload, or closed, with a fixed number of requests.

use crate::jobs::Job;
use crate::synthetic::{Distribution, Sampler};
use headstack_engine::random::stream;
use headstack_schema::{unknown_name, wrong_kind, Field, Kind, Parameter, Params, SpecError, Table, TableSchema};
use headstack_schema::{Usual, Word};
use headstack_units::{Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;

const WORDS: [&str; 2] = ["open", "closed"];

/// Open or closed arrivals.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Arrivals {
    /// Open: requests arrive at the times of the workload.
    #[default]
    Open,
    /// Closed: a fixed number of requests circulates; the workload's times are ignored.
    Closed(ClosedLoop),
    /// Of threads, each when its last request has ended.
    Jobs {
        /// What the threads do.
        jobs: Vec<Job>,
        /// Processors that they think on; absent: a thread needs none.
        processors: Option<u32>,
        /// Seed of their random streams.
        seed: u64,
    },
}

/// A loop in which each completion is followed by the next request.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedLoop {
    /// Number of requests that are in flight or in their think time.
    pub outstanding: u32,
    /// Time from a completion to the next request.
    pub think_time: Distribution<Span>,
    /// Seed of the random stream of think times.
    pub seed: u64,
}

/// The think times of a closed loop, in order.
#[derive(Debug, Clone)]
pub struct Pauses {
    /// Their length, if all are equally long: then nothing is drawn.
    fixed: Option<Span>,
    length: Sampler,
    random: Xoshiro256PlusPlus,
}

impl ClosedLoop {
    /// A loop with `outstanding` requests and a constant think time.
    pub fn fixed(outstanding: u32, think_time: Span) -> ClosedLoop {
        ClosedLoop { outstanding, think_time: Distribution::Value(think_time), seed: 0 }
    }

    /// The think times from the beginning.
    ///
    /// # Errors
    /// A loop without requests, at the key `outstanding`; think times that cannot be drawn, are negative or
    /// longer than [`Time::LATEST`], at the key `think_time`.
    pub fn pauses(&self) -> Result<Pauses, SpecError> {
        if self.outstanding == 0 {
            return Err(SpecError::new("outstanding", 0, "at least 1"));
        }
        let got = match &self.think_time {
            Distribution::Value(span) => span.to_string(),
            table => table.write().to_string(),
        };
        let wrong = |need: String| SpecError::new("think_time", got.clone(), need);
        let length = self.think_time.sampler().map_err(wrong)?;
        if !(0.0..=Time::LATEST.0 as f64).contains(&length.reach()) {
            let need = format!("a length of time from 0, {}", Time::LATEST_SHOWN);
            return Err(wrong(need));
        }
        let mut pauses = Pauses { fixed: None, length, random: stream(self.seed, "synthetic.think") };
        if let Sampler::Fixed(_) = pauses.length {
            pauses.fixed = Some(pauses.draw());
        }
        Ok(pauses)
    }
}

impl Pauses {
    /// No think time is shorter than this one.
    pub fn least(&self) -> Span {
        Span(self.length.least_positive().round() as i64)
    }

    /// The next think time.
    #[inline]
    pub fn draw(&mut self) -> Span {
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        Span(self.length.draw_positive(&mut self.random).round() as i64)
    }
}

/// What stands under `closed`.
#[derive(Table)]
struct Closed {
    /// Number of requests that are in flight or in their think time.
    outstanding: u32,
    /// Time from a completion to the next request.
    #[param(default = Distribution::Value(Span::ZERO))]
    think_time: Distribution<Span>,
}

/// Words for open arrivals.
const OPEN: [&str; 3] = ["open", "trace", "as-in-trace"];
const NEED_CLOSED: &str = "{ closed = { outstanding = N } }";

impl Parameter for Arrivals {
    fn kind() -> Kind {
        let word = |name| Word { name, doc: "" };
        let closed = Field {
            key: "closed",
            alias: None,
            doc: "A fixed number of requests circulates; the workload's times are ignored.",
            kind: Closed::kind(),
            usual: Usual::Required,
            bounds: None,
        };
        let table = TableSchema { fields: vec![closed], ..TableSchema::default() };
        Kind::OneOf(vec![Kind::Choice(OPEN.map(word).to_vec()), Kind::Table(table)])
    }

    fn read(value: &Value) -> Result<Arrivals, SpecError> {
        match value {
            Value::String(word) if OPEN.contains(&word.as_str()) => Ok(Arrivals::Open),
            Value::String(word) if word == "closed" => Err(SpecError::new("", "\"closed\" alone", NEED_CLOSED)),
            Value::String(word) => Err(unknown_name("", word, &WORDS)),
            Value::Object(table) => closed(table),
            other => {
                let need = format!("\"open\" or {NEED_CLOSED}");
                Err(wrong_kind(other, need))
            }
        }
    }

    fn write(&self) -> Value {
        match self {
            Arrivals::Open => "open".into(),
            Arrivals::Closed(closed) => {
                let closed = Closed { outstanding: closed.outstanding, think_time: closed.think_time.clone() };
                serde_json::json!({ "closed": closed.write() })
            }
            // Jobs have a key of their own.
            Arrivals::Jobs { .. } => Value::Null,
        }
    }
}

/// Reads `{ closed = { ... } }`.
pub fn closed(table: &Params) -> Result<Arrivals, SpecError> {
    let mut keys = table.iter();
    let (key, value) = keys.next().ok_or_else(|| SpecError::new("", "{}", NEED_CLOSED))?;
    match key.as_str() {
        "closed" => {}
        "open" => return Err(SpecError::new("", "a table", "\"open\" alone")),
        other => return Err(unknown_name("", other, &WORDS)),
    }
    if let Some((second, _)) = keys.next() {
        return Err(SpecError::new("", format!("{second:?} as well"), "closed alone"));
    }
    if !value.is_object() {
        return Err(wrong_kind(value, "{ outstanding = N }").within("closed"));
    }
    let closed = Closed::read(value).map_err(|e| e.within("closed"))?;
    Ok(Arrivals::Closed(ClosedLoop { outstanding: closed.outstanding, think_time: closed.think_time, seed: 0 }))
}
