//! How a trace is read: what happens to what is wrong in it, and what was counted.

use crate::error::TraceError;
use crate::reader::{formats, Format};
use headstack_engine::describe::from_value;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// What a wrong record does; in words `fail` or `skip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// Ends the trace with an error that names it.
    #[default]
    Fail,
    /// Is left out and counted as skipped.
    Skip,
}

/// What a record does whose time is before that of the record read before it; in words `format`,
/// `strict`, `sort` or `sort:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub enum Order {
    /// What its format is known for: an error, or sorting within the format's window.
    #[default]
    Format,
    /// It is a wrong record (see [`OnError`]).
    Strict,
    /// This many records are held back and sorted by time; what comes later still is moved
    /// forward to the time of the record before it, and counted as clamped.
    Sort(usize),
}

impl Order {
    /// What `sort` without a number holds back: a few megabytes.
    pub const SORTED: usize = 1 << 16;
    /// At most this many records are held back, whatever is asked for.
    pub const MOST_SORTED: usize = 1 << 22;
}

impl TryFrom<String> for Order {
    type Error = String;

    fn try_from(text: String) -> Result<Order, String> {
        let order = match text.split_once(':') {
            None if text == "format" => Some(Order::Format),
            None if text == "strict" => Some(Order::Strict),
            None if text == "sort" => Some(Order::Sort(Order::SORTED)),
            Some(("sort", window)) => window.parse().ok().map(Order::Sort),
            _ => None,
        };
        match order {
            Some(Order::Sort(n)) if n == 0 || n > Order::MOST_SORTED => None,
            order => order,
        }
        .ok_or_else(|| {
            format!(
                "got {text:?}, need format, strict, sort or sort:N with N records held back, 1 to {}",
                Order::MOST_SORTED
            )
        })
    }
}

/// Where time zero is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The format's own zero; the first request where the format gives dates.
    #[default]
    Format,
    /// The format's own zero even if it gives dates (nanoseconds since its epoch).
    Keep,
    /// The first request.
    Zero,
}

/// How a trace is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// What a wrong record does.
    pub on_error: OnError,
    /// What a record does whose time runs backwards.
    pub order: Order,
    /// Where time zero is.
    pub clock: Clock,
    /// Only these devices; all if empty. Others are counted as filtered.
    pub devices: Vec<u32>,
    /// The formats that can be named or detected.
    pub formats: &'static [Format],
    /// What the format's own reader takes, see [`Format::parameters`](crate::reader::Format).
    pub parameters: Map<String, Value>,
    /// What was counted while reading; shared, so that it can be read afterwards.
    pub counters: Counters,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            on_error: OnError::default(),
            order: Order::default(),
            clock: Clock::default(),
            devices: Vec::new(),
            formats: formats(),
            parameters: Map::new(),
            counters: Counters::default(),
        }
    }
}

/// The key of an experiment's workload that holds [`ReadOptions::parameters`].
const PARAMETERS: &str = "format_parameters";

impl ReadOptions {
    /// The parameters of a format's own reader, and the options without them.
    ///
    /// # Errors
    /// A key or a value that the reader does not know, by its dotted key.
    pub(crate) fn take<T: DeserializeOwned>(&self) -> Result<(T, ReadOptions), TraceError> {
        let mut rest = self.clone();
        let parameters = std::mem::take(&mut rest.parameters);
        let taken = from_value(Value::Object(parameters)).map_err(|e| {
            let e = e.within(PARAMETERS);
            TraceError::Input {
                path: e.key,
                got: e.got,
                need: e.need,
            }
        })?;
        Ok((taken, rest))
    }

    /// Refuses parameters that nobody has taken.
    ///
    /// # Errors
    /// Names the first.
    pub(crate) fn none_left(&self) -> Result<(), TraceError> {
        match self.parameters.keys().next() {
            None => Ok(()),
            Some(key) => Err(TraceError::Input {
                path: PARAMETERS.into(),
                got: format!("key {key:?}"),
                need: "no keys here".into(),
            }),
        }
    }
}

/// Counts that outlive the reader. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Counters(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    read: AtomicU64,
    skipped: AtomicU64,
    clamped: AtomicU64,
    zero_sized: AtomicU64,
    filtered: AtomicU64,
    passed: AtomicU64,
    size: AtomicU64,
}

impl Counters {
    /// How much of the file has been read and how much there is, both in bytes (rows for Parquet),
    /// as it lies on disk. Zero where the size is unknown, as of standard input.
    pub fn progress(&self) -> (u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.0.passed), of(&self.0.size))
    }
    /// Starts to count what is read of `size`.
    pub(crate) fn begin(&self, size: u64) {
        self.0.passed.store(0, Ordering::Relaxed);
        self.0.size.store(size, Ordering::Relaxed);
    }
    pub(crate) fn pass(&self, amount: u64) {
        self.0.passed.fetch_add(amount, Ordering::Relaxed);
    }
    /// Requests handed on.
    pub fn read(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed)
    }
    /// Wrong records left out ([`OnError::Skip`]).
    pub fn skipped(&self) -> u64 {
        self.0.skipped.load(Ordering::Relaxed)
    }
    /// Requests whose time was moved forward because they came later than the window sorts.
    pub fn clamped(&self) -> u64 {
        self.0.clamped.load(Ordering::Relaxed)
    }
    /// Reads and writes of no bytes, left out.
    pub fn zero_sized(&self) -> u64 {
        self.0.zero_sized.load(Ordering::Relaxed)
    }
    /// Requests of devices that were not asked for, and well-formed records of other kinds than
    /// read, write and flush.
    pub fn filtered(&self) -> u64 {
        self.0.filtered.load(Ordering::Relaxed)
    }
    pub(crate) fn add(&self, tally: &Tally) {
        for (counter, value) in [
            (&self.0.read, tally.read),
            (&self.0.skipped, tally.skipped),
            (&self.0.clamped, tally.clamped),
            (&self.0.zero_sized, tally.zero_sized),
            (&self.0.filtered, tally.filtered),
        ] {
            if value > 0 {
                counter.fetch_add(value, Ordering::Relaxed);
            }
        }
    }
}

/// Counts not yet added to the shared ones: atomics are too slow to touch once per request.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub read: u64,
    pub skipped: u64,
    pub clamped: u64,
    pub zero_sized: u64,
    pub filtered: u64,
}
