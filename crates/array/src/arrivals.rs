//! How requests come to a system: at their own times, or so many at once.

use headstack_units::Span;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// How requests come.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// At the times that the workload says.
    #[default]
    Open,
    /// A fixed number of requests in flight; the workload's times are ignored.
    Closed {
        /// Requests in flight.
        outstanding: u32,
        /// From a completion to the next request.
        think_time: Span,
    },
}

impl<'de> Deserialize<'de> for Arrivals {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Arrivals, D::Error> {
        deserializer.deserialize_any(ArrivalsVisitor)
    }
}

/// Reads a word, or a table with one word and its parameters. What serde makes of an enum cannot say
/// which parameters are missing.
struct ArrivalsVisitor;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "{ outstanding = N }")]
struct Closed {
    outstanding: u32,
    #[serde(default)]
    think_time: Span,
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
                Arrivals::Closed {
                    outstanding: closed.outstanding,
                    think_time: closed.think_time,
                }
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
