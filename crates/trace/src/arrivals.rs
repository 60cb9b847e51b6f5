//! Arrivals: open, at the times of the workload, or closed, with a fixed number of requests.

use crate::jobs::Job;
use crate::synthetic::{Distribution, Sampler};
use headstack_engine::random::stream;
use headstack_engine::SpecError;
use headstack_units::{Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};

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
    length: Sampler,
    random: Xoshiro256PlusPlus,
}

impl ClosedLoop {
    /// A loop with `outstanding` requests and a constant think time.
    pub fn fixed(outstanding: u32, think_time: Span) -> ClosedLoop {
        ClosedLoop {
            outstanding,
            think_time: Distribution::Value(think_time),
            seed: 0,
        }
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
            table => serde_json::to_string(table).unwrap_or_default(),
        };
        let wrong = |need: String| SpecError::new("think_time", got.clone(), need);
        let length = self.think_time.sampler().map_err(wrong)?;
        if !(0.0..=Time::LATEST.0 as f64).contains(&length.reach()) {
            let need = format!("a length of time from 0, {}", Time::LATEST_SHOWN);
            return Err(wrong(need));
        }
        Ok(Pauses {
            length,
            random: stream(self.seed, "synthetic.think"),
        })
    }
}

impl Pauses {
    /// No think time is shorter than this one.
    pub fn least(&self) -> Span {
        Span(self.length.least_positive().round() as i64)
    }

    /// The next think time.
    pub fn draw(&mut self) -> Span {
        Span(self.length.draw_positive(&mut self.random).round() as i64)
    }
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arrivals, D::Error> {
        deserializer.deserialize_any(ArrivalsVisitor)
    }
}

/// Reads a word, or a table with one word and its parameters. serde's own reader of enums cannot report which
/// parameters are missing.
struct ArrivalsVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "{ outstanding = N }")]
struct Closed {
    outstanding: u32,
    #[serde(default = "no_pause")]
    think_time: Distribution<Span>,
}

fn no_pause() -> Distribution<Span> {
    Distribution::Value(Span::ZERO)
}

impl<'de> Visitor<'de> for ArrivalsVisitor {
    type Value = Arrivals;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("\"open\" or { closed = { outstanding = N } }")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Arrivals, E> {
        match word {
            "open" | "trace" | "as-in-trace" => Ok(Arrivals::Open),
            "closed" => Err(E::custom(
                "got \"closed\" alone, need { closed = { outstanding = N } }",
            )),
            other => Err(E::unknown_variant(other, &["open", "closed"])),
        }
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Arrivals, A::Error> {
        let arrivals = match map.next_key::<String>()?.as_deref() {
            Some("closed") => {
                let closed: Closed = map.next_value()?;
                Arrivals::Closed(ClosedLoop {
                    outstanding: closed.outstanding,
                    think_time: closed.think_time,
                    seed: 0,
                })
            }
            Some("open") => return Err(de::Error::custom("got a table, need \"open\" alone")),
            Some(other) => return Err(de::Error::unknown_variant(other, &["open", "closed"])),
            None => {
                return Err(de::Error::custom(
                    "got {}, need { closed = { outstanding = N } }",
                ))
            }
        };
        match map.next_key::<String>()? {
            None => Ok(arrivals),
            Some(second) => Err(de::Error::custom(format!(
                "got {second:?} as well, need closed alone"
            ))),
        }
    }
}
