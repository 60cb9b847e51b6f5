//! The loops that all readers share: they read lines or records and return checked requests in time order.

use super::parse::{record, Parsed, Wrong, MAX_BLOCK};
use crate::error::TraceError;
use crate::options::{Clock, Counters, OnError, Order, ReadOptions, Tally};
use crate::request::{Command, Request};
use crate::source::Requests;
use headstack_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{BufRead, Read};

/// Longer lines are errors, so that a file without newlines does not fill the memory.
pub(crate) const MAX_LINE: usize = 64 * 1024;

/// The result of a format's parser.
pub enum Found {
    Request(Request),
    /// A record without a request: a comment, a header, another event.
    Nothing,
    /// A well-formed record other than a read, write or flush.
    Other,
    /// The end of the records before the end of the file.
    End,
}

/// A text format with one record per line.
pub trait LineFormat: Send {
    /// Reads one line without its newline; never empty.
    fn line(&mut self, line: &[u8]) -> Parsed<Found>;
    /// Called at the end of the file, for errors such as "no record fitted".
    fn finish(&mut self) -> Parsed<()> {
        Ok(())
    }
}

/// Why a record could not be read.
pub enum Failure {
    /// It is wrong, and the next one can be found.
    Wrong(TraceError),
    /// It is wrong, and the start of the next one is unknown.
    Lost(TraceError),
}

/// Records in the order of the file.
pub trait Records: Send {
    /// The next record, with its number from 1; `None` at the end.
    fn next_record(&mut self) -> Option<Result<Found, Failure>>;
    /// The number of the last record read.
    fn number(&self) -> u64;
    /// The file's name.
    fn path(&self) -> &str;
}

#[cold]
pub(crate) fn located(wrong: Wrong, path: &str, line: u64) -> TraceError {
    let path = path.to_string();
    match wrong {
        Wrong::Field { column, name, got, need } => TraceError::Field { path, line, column, name, got, need },
        Wrong::Record { got, need } => TraceError::Record { path, line, got, need },
    }
}

#[cold]
fn io_failure(path: &str, source: std::io::Error) -> Failure {
    Failure::Lost(TraceError::Io { path: path.to_string(), source })
}

/// Lines of text.
pub(crate) struct Lines<F, R> {
    /// The format, with what it has collected.
    pub(crate) format: F,
    input: R,
    path: String,
    number: u64,
    /// The part of a line before the end of the buffer.
    carry: Vec<u8>,
    ended: bool,
}

impl<F: LineFormat, R: BufRead> Lines<F, R> {
    pub fn new(format: F, input: R, path: &str) -> Self {
        Lines { format, input, path: path.to_string(), number: 0, carry: Vec::new(), ended: false }
    }
}

#[inline]
fn without_carriage_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

impl<F: LineFormat, R: BufRead + Send> Lines<F, R> {
    #[inline]
    fn parsed(&self, found: Parsed<Found>) -> Result<Found, Failure> {
        found.map_err(|wrong| Failure::Wrong(located(*wrong, &self.path, self.number)))
    }

    /// Reads the rest of a line that continues after the end of the buffer; rare.
    #[cold]
    fn long_line(&mut self) -> Option<Result<Found, Failure>> {
        let mut too_long = false;
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Some(Err(io_failure(&self.path, e))),
            };
            let end = memchr::memchr(b'\n', buffer);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            if self.carry.len() + part.len() > MAX_LINE {
                too_long = true;
            } else {
                self.carry.extend_from_slice(part);
            }
            let last = buffer.is_empty();
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_none() && !last {
                continue;
            }
            let line = std::mem::take(&mut self.carry);
            if last && line.is_empty() && !too_long {
                self.ended = true;
                return match self.format.finish() {
                    Ok(()) => None,
                    Err(wrong) => Some(Err(Failure::Lost(located(*wrong, &self.path, self.number.max(1))))),
                };
            }
            self.number += 1;
            let result = if too_long {
                Err(record("a longer line", format!("lines of at most {MAX_LINE} bytes")))
            } else {
                let line = without_carriage_return(&line);
                if line.trim_ascii().is_empty() {
                    Ok(Found::Nothing)
                } else {
                    self.format.line(line)
                }
            };
            // The allocation is kept for the next line.
            self.carry = line;
            self.carry.clear();
            return Some(self.parsed(result));
        }
    }
}

impl<F: LineFormat, R: BufRead + Send> Records for Lines<F, R> {
    #[inline]
    fn next_record(&mut self) -> Option<Result<Found, Failure>> {
        if self.ended {
            return None;
        }
        let buffer = match self.input.fill_buf() {
            Ok(buffer) => buffer,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => return self.long_line(),
            // Reading stops here, because a broken decompressor might report an end at the next call.
            Err(e) => return Some(Err(io_failure(&self.path, e))),
        };
        let Some(end) = memchr::memchr(b'\n', buffer) else { return self.long_line() };
        self.number += 1;
        let line = without_carriage_return(&buffer[..end]);
        let result = if end > MAX_LINE {
            Err(record("a longer line", format!("lines of at most {MAX_LINE} bytes")))
        } else if line.trim_ascii_start().is_empty() {
            Ok(Found::Nothing)
        } else {
            self.format.line(line)
        };
        self.input.consume(end + 1);
        Some(self.parsed(result))
    }
    fn number(&self) -> u64 {
        self.number
    }
    fn path(&self) -> &str {
        &self.path
    }
}

/// The error of a binary format's parser.
pub(crate) enum Halt {
    /// The record is wrong, and the next one follows.
    Wrong(Box<Wrong>),
    /// The record is wrong, and the start of the next one is unknown.
    Lost(Box<Wrong>),
    /// Reading failed.
    Io(std::io::Error),
}

impl From<std::io::Error> for Halt {
    fn from(e: std::io::Error) -> Halt {
        Halt::Io(e)
    }
}

/// A binary format.
pub(crate) trait BinaryFormat: Send {
    /// Reads one record; `None` at the end.
    fn record<R: BufRead>(&mut self, input: &mut R) -> Result<Option<Found>, Halt>;
}

/// Fills `buffer`; false at the end of the input. An incomplete record is an error.
pub(crate) fn fill<R: BufRead>(input: &mut R, buffer: &mut [u8]) -> Result<bool, Halt> {
    let mut have = 0;
    while have < buffer.len() {
        match input.read(&mut buffer[have..]) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    if have == 0 {
        Ok(false)
    } else if have == buffer.len() {
        Ok(true)
    } else {
        Err(truncated(have, buffer.len()))
    }
}

pub(crate) fn truncated(have: usize, need: usize) -> Halt {
    Halt::Lost(record(format!("a record cut short after {have} bytes"), format!("{need} bytes")))
}

/// Skips `count` bytes.
pub(crate) fn pass_over<R: BufRead>(input: &mut R, count: u64) -> Result<(), Halt> {
    let passed = std::io::copy(&mut input.by_ref().take(count), &mut std::io::sink())?;
    if passed == count {
        Ok(())
    } else {
        Err(truncated(passed as usize, count as usize))
    }
}

/// Records of a binary format.
pub(crate) struct Binary<F, R> {
    format: F,
    input: R,
    path: String,
    number: u64,
}

impl<F: BinaryFormat, R: BufRead> Binary<F, R> {
    pub fn new(format: F, input: R, path: &str) -> Self {
        Binary { format, input, path: path.to_string(), number: 0 }
    }
}

impl<F: BinaryFormat, R: BufRead + Send> Records for Binary<F, R> {
    fn next_record(&mut self) -> Option<Result<Found, Failure>> {
        self.number += 1;
        match self.format.record(&mut self.input) {
            Ok(None) => None,
            Ok(Some(found)) => Some(Ok(found)),
            Err(Halt::Wrong(wrong)) => Some(Err(Failure::Wrong(located(*wrong, &self.path, self.number)))),
            Err(Halt::Lost(wrong)) => Some(Err(Failure::Lost(located(*wrong, &self.path, self.number)))),
            Err(Halt::Io(e)) => Some(Err(io_failure(&self.path, e))),
        }
    }
    fn number(&self) -> u64 {
        self.number
    }
    fn path(&self) -> &str {
        &self.path
    }
}

/// Properties of a format's times.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Number of records that may have to be held back to sort them; 0 if the format guarantees order.
    pub window: usize,
    /// Whether times are dates; they are then counted from the first request.
    pub dates: bool,
    /// Whether requests with equal times are spread evenly over the second that begins then.
    pub spread: bool,
}

impl Times {
    /// In order, counted from the beginning of the trace.
    pub const ORDERED: Times = Times { window: 0, dates: false, spread: false };
    /// Dates, usually out of order.
    pub const UNORDERED_DATES: Times = Times { window: 8192, dates: true, spread: false };
}

/// Most requests that are spread over one second.
const MAX_PER_SECOND: usize = 1 << 20;

/// Time, number of the record, request.
type Held = Reverse<(u64, u64, HeldRequest)>;

/// A request that is excluded from the comparison (the record's number is compared before it).
struct HeldRequest(Request);
impl PartialEq for HeldRequest {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for HeldRequest {}
impl PartialOrd for HeldRequest {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for HeldRequest {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// Checks common to all formats: sizes, addresses, device filter, time order, origin of time.
pub struct Checked<I> {
    records: I,
    skip: bool,
    devices: Vec<u32>,
    counters: Counters,
    tally: Tally,
    window: usize,
    held: BinaryHeap<Held>,
    last: Time,
    /// The latest time in the file so far, if it is sorted.
    newest: Time,
    /// The time that is subtracted: that of the first request, once it is known, if times count from it.
    zero: Option<Time>,
    spread: bool,
    second: std::collections::VecDeque<Request>,
    ahead: Option<Request>,
    ended: bool,
}

impl<I: Records> Checked<I> {
    pub fn new(records: I, times: Times, options: &ReadOptions) -> Self {
        let window = match options.order {
            Order::Format => times.window,
            Order::Strict => 0,
            Order::Sort(window) => window.clamp(1, Order::MOST_SORTED),
        };
        let mut devices = options.devices.clone();
        devices.sort_unstable();
        let from_first = match options.clock {
            Clock::Format => times.dates,
            Clock::Keep => false,
            Clock::Zero => true,
        };
        Checked {
            records,
            skip: options.on_error == OnError::Skip,
            devices,
            counters: options.counters.clone(),
            tally: Tally::default(),
            window,
            held: BinaryHeap::new(),
            last: Time::ZERO,
            newest: Time::ZERO,
            zero: (!from_first).then_some(Time::ZERO),
            spread: times.spread,
            second: std::collections::VecDeque::new(),
            ahead: None,
            ended: false,
        }
    }

    /// The next well-formed request in the order of the file.
    #[inline]
    fn next_well_formed(&mut self) -> Option<Result<Request, TraceError>> {
        loop {
            let error = match self.records.next_record()? {
                Ok(Found::Request(request)) => {
                    if !self.devices.is_empty() && self.devices.binary_search(&request.device).is_err() {
                        self.tally.filtered += 1;
                        continue;
                    }
                    if request.blocks == 0 && request.op != Command::Flush {
                        self.tally.zero_sized += 1;
                        continue;
                    }
                    if request.lba.0 > MAX_BLOCK - u64::from(request.blocks) {
                        let wrong = record(
                            format!("{} blocks at block {}", request.blocks, request.lba.0),
                            "blocks below 2^55",
                        );
                        located(*wrong, self.records.path(), self.records.number())
                    } else if self.window > 0 {
                        self.tally.out_of_order += u64::from(request.time < self.newest);
                        self.newest = self.newest.max(request.time);
                        return Some(Ok(request));
                    } else if request.time < self.last {
                        self.backwards(request.time)
                    } else if self.is_late(request.time) {
                        self.late(request.time, self.records.number())
                    } else {
                        self.last = request.time;
                        return Some(Ok(request));
                    }
                }
                Ok(Found::Nothing) => continue,
                Ok(Found::Other) => {
                    self.tally.filtered += 1;
                    continue;
                }
                Ok(Found::End) => return None,
                Err(Failure::Wrong(error)) => error,
                Err(Failure::Lost(error)) => return Some(Err(error)),
            };
            if self.skip {
                self.tally.skipped += 1;
            } else {
                return Some(Err(error));
            }
        }
    }

    #[cold]
    fn backwards(&self, time: Time) -> TraceError {
        let wrong = record(
            format!("time {} ns after {} ns", time.0, self.last.0),
            "times that do not decrease; hint: order = \"sort\" (--order sort) sorts them",
        );
        located(*wrong, self.records.path(), self.records.number())
    }

    /// Whether a time, in the order in which requests are returned, is beyond the end of simulated time.
    #[inline]
    fn is_late(&mut self, time: Time) -> bool {
        let zero = *self.zero.get_or_insert(time);
        time.0 - zero.0 > Time::LATEST.0
    }

    #[cold]
    fn late(&self, time: Time, number: u64) -> TraceError {
        let zero = self.zero.unwrap_or_default();
        let wrong = record(format!("time {} ns", time.0 - zero.0), Time::LATEST_SHOWN);
        located(*wrong, self.records.path(), number)
    }

    /// The next request in time order.
    #[inline]
    fn next_in_order(&mut self) -> Option<Result<Request, TraceError>> {
        if self.window == 0 {
            return self.next_well_formed();
        }
        self.next_sorted()
    }

    fn next_sorted(&mut self) -> Option<Result<Request, TraceError>> {
        loop {
            while !self.ended && self.held.len() < self.window {
                match self.next_well_formed() {
                    Some(Ok(request)) => {
                        let number = self.records.number();
                        self.held.push(Reverse((request.time.0, number, HeldRequest(request))));
                    }
                    Some(Err(error)) => return Some(Err(error)),
                    None => self.ended = true,
                }
            }
            let Reverse((_, number, HeldRequest(mut request))) = self.held.pop()?;
            if request.time < self.last {
                request.time = self.last;
                self.tally.clamped += 1;
            } else if self.is_late(request.time) {
                if !self.skip {
                    return Some(Err(self.late(request.time, number)));
                }
                self.tally.skipped += 1;
                continue;
            }
            self.last = request.time;
            return Some(Ok(request));
        }
    }

    /// Spreads the requests of one second evenly over it.
    fn next_spread(&mut self) -> Option<Result<Request, TraceError>> {
        if self.second.is_empty() {
            let first = match self.ahead.take() {
                Some(request) => request,
                None => match self.next_in_order()? {
                    Ok(request) => request,
                    error => return Some(error),
                },
            };
            self.second.push_back(first);
            while self.second.len() < MAX_PER_SECOND {
                match self.next_in_order() {
                    Some(Ok(request)) if request.time == first.time => {
                        self.second.push_back(request);
                    }
                    Some(Ok(request)) => {
                        self.ahead = Some(request);
                        break;
                    }
                    Some(Err(error)) => return Some(Err(error)),
                    None => break,
                }
            }
            if self.second.len() == MAX_PER_SECOND {
                return Some(Err(located(
                    *record(format!("{MAX_PER_SECOND} requests with one time"), "fewer in each second to spread them"),
                    self.records.path(),
                    self.records.number(),
                )));
            }
            let count = self.second.len() as u64;
            for (i, request) in self.second.iter_mut().enumerate() {
                request.time = Time(request.time.0.saturating_add(i as u64 * 1_000_000_000 / count));
            }
        }
        self.second.pop_front().map(Ok)
    }

    fn flush_tally(&mut self) {
        self.counters.add(&self.tally);
        self.tally = Tally::default();
    }
}

/// After an error or the end no more requests follow.
impl<I: Records> Iterator for Checked<I> {
    type Item = Result<Request, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended && self.held.is_empty() && self.second.is_empty() && self.ahead.is_none() {
            self.flush_tally();
            return None;
        }
        let next = if self.spread { self.next_spread() } else { self.next_in_order() };
        match next {
            Some(Ok(mut request)) => {
                let zero = self.zero.unwrap_or_default();
                request.time = Time(request.time.0 - zero.0);
                self.tally.read += 1;
                if self.tally.read >= 1024 {
                    self.flush_tally();
                }
                Some(Ok(request))
            }
            other => {
                self.ended = true;
                self.held.clear();
                self.second.clear();
                self.ahead = None;
                self.flush_tally();
                other
            }
        }
    }
}

impl<I: Records> Requests for Checked<I> {}

impl<I> Drop for Checked<I> {
    fn drop(&mut self) {
        self.counters.add(&self.tally);
    }
}
