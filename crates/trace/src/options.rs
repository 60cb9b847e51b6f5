//! Options for reading a trace, and counts of what was read.

use crate::reader::{Format, Formats, PLUGINS};
use headstack_schema::{Choice, Kind, Parameter, SpecError};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Handling of a wrong record; in words `fail` or `skip`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum OnError {
    /// It ends the trace with an error that names it.
    #[default]
    Fail,
    /// It is left out and counted as skipped.
    Skip,
}

/// Handling of a record whose time is before that of the record read before it; in words `format`, `strict`,
/// `sort` or `sort:N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// As the format usually needs: an error, or sorting within the format's window.
    #[default]
    Format,
    /// It is a wrong record (see [`OnError`]).
    Strict,
    /// This many records are held back and sorted by time. A record that comes even later is moved forward to
    /// the time of the record before it, and counted as clamped.
    Sort(usize),
}

impl Order {
    /// Number of records that `sort` without a number holds back: a few megabytes.
    pub const SORTED: usize = 1 << 16;
    /// Upper limit of the number of records held back.
    pub const MOST_SORTED: usize = 1 << 22;
}

impl Parameter for Order {
    fn kind() -> Kind {
        Kind::Form {
            need: "format, strict, sort or sort:N with N records held back, 1 to 4194304",
            example: "sort:1000",
        }
    }

    fn read(value: &Value) -> Result<Order, SpecError> {
        let text = String::read(value)?;
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
        .ok_or_else(|| SpecError::new("", format!("{text:?}"), Self::kind().need()))
    }

    fn write(&self) -> Value {
        match self {
            Order::Format => "format".into(),
            Order::Strict => "strict".into(),
            Order::Sort(window) => format!("sort:{window}").into(),
        }
    }
}

/// Origin of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Clock {
    /// The format's own origin; the first request if the format has dates.
    #[default]
    Format,
    /// The format's own origin even if it has dates (nanoseconds since its epoch).
    Keep,
    /// The first request.
    Zero,
}

/// Options for reading a trace.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// Handling of wrong records.
    pub on_error: OnError,
    /// Handling of records out of time order.
    pub order: Order,
    /// Origin of time.
    pub clock: Clock,
    /// Only these devices; all if empty. Requests to others are counted as filtered.
    pub devices: Vec<u32>,
    /// The formats that can be named or detected.
    pub formats: Formats,
    /// Parameters of the format's own reader, see [`Format`].
    pub parameters: Map<String, Value>,
    /// Counts of the reader; shared, so that they can be read afterwards.
    pub counters: Counters,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            on_error: OnError::default(),
            order: Order::default(),
            clock: Clock::default(),
            devices: Vec::new(),
            formats: PLUGINS.clone(),
            parameters: Map::new(),
            counters: Counters::default(),
        }
    }
}

/// How a trace was opened: format, units, detection.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Opened {
    pub format: String,
    pub time_unit: &'static str,
    /// Unit of its addresses and sizes.
    pub size_unit: &'static str,
    /// The formats that fit the beginning of the trace, each with its score (1 to 100), the best first; `None`
    /// if the format was named.
    pub fits: Option<Vec<(String, u8)>>,
}

/// Counts that remain after the reader is dropped. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Counters(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    tally: Mutex<Tally>,
    passed: AtomicU64,
    size: AtomicU64,
    stopped: AtomicBool,
    opened: Mutex<Opened>,
}

impl Counters {
    /// Bytes read so far, and the size of the file on disk (rows for Parquet). Zero if the size is unknown, as
    /// for standard input.
    pub fn progress(&self) -> (u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.0.passed), of(&self.0.size))
    }
    /// Starts to count the bytes read of `size`.
    pub(crate) fn begin(&self, size: u64) {
        self.0.passed.store(0, Ordering::Relaxed);
        self.0.size.store(size, Ordering::Relaxed);
    }
    /// Ends the reading, also from another thread: the reader gets an error at its next buffer, even if the
    /// trace has no end and no request.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }
    /// Whether reading was ended.
    pub(crate) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }
    pub(crate) fn pass(&self, amount: u64) {
        self.0.passed.fetch_add(amount, Ordering::Relaxed);
    }
    /// How the last trace was opened.
    pub fn how_opened(&self) -> Opened {
        self.0.opened.lock().map_or_else(|_| Opened::default(), |o| o.clone())
    }
    pub fn detected(&self, fits: Vec<(String, u8)>) {
        if let Ok(mut opened) = self.0.opened.lock() {
            opened.fits = Some(fits);
        }
    }
    pub(crate) fn opened(&self, format: &Format) {
        if let Ok(mut opened) = self.0.opened.lock() {
            opened.format = format.name().to_string();
            opened.time_unit = format.facts.time_unit;
            opened.size_unit = format.facts.size_unit;
        }
    }
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.0.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// What readers have added so far.
    pub fn counts(&self) -> Tally {
        *self.tally()
    }
    /// Adds what a reader has counted.
    pub fn add(&self, more: &Tally) {
        let mut sum = self.tally();
        sum.read += more.read;
        sum.skipped += more.skipped;
        sum.clamped += more.clamped;
        sum.zero_sized += more.zero_sized;
        sum.filtered += more.filtered;
        sum.out_of_order += more.out_of_order;
        sum.earlier_waits += more.earlier_waits;
    }
}

/// Counts of a reader, which it adds to the shared ones now and then: for each request that would be too slow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    /// Requests read.
    pub read: u64,
    /// Wrong records left out ([`OnError::Skip`]).
    pub skipped: u64,
    /// Requests whose time was moved forward because they came later than the window sorts.
    pub clamped: u64,
    /// Reads and writes of no bytes, left out.
    pub zero_sized: u64,
    /// Requests of devices that were not selected, and well-formed records other than reads, writes and flushes.
    pub filtered: u64,
    /// Requests after later ones in the file, in formats that are sorted.
    pub out_of_order: u64,
    /// Waits of a log, read as times since its start, that are before their predecessor's. This suggests that they are
    /// pauses.
    pub earlier_waits: u64,
}
