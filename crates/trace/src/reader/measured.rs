//! Requests with the response times that a drive had, for closed replay.
//!
//! # Model
//! Read are DiskSim's validation traces ([`validate`](super::validate)); `csv` with a column `response_s`, `response_ms`, `response_us`
//! or `response_ns`, as `headstack emulate --record` writes it; latency logs of fio with offsets; and blktrace, binary or as
//! text, where a request takes from its issue to its completion. Reads and writes count, flushes are left out.
//! # Source
//! fio `HOWTO`, "Log File Formats", and `iolog.c`: the time of an entry is that of the completion, in whole milliseconds since
//! the start, and its latency is in nanoseconds.
//! # Validity
//! One device, and one request after another, as with a queue depth of 1. The pauses between the entries of a log of fio
//! are the shortest with which no request completes before its millisecond.

use super::csv::{names, Csv, MAX_COLUMNS};
use super::parse::{by_bytes, decimal, field, need_columns, need_integer, record, split, trim, Parsed};
use super::stream::{Failure, Found, LineFormat, Lines, Records};
use super::validate::{Collect, ValidateRecord};
use super::{beginning, blkparse, blktrace, csv, io_error, open_input, Facts, Input, SNIFFED};
use crate::error::TraceError;
use crate::options::{Counters, ReadOptions};
use crate::request::{Command, Request};
use headstack_units::{Span, Time};
use std::collections::HashMap;
use std::io::{Cursor, Read};
use std::path::Path;

/// A request and its response time in nanoseconds.
type Measured = (Request, u64);

/// Reads a whole trace with response times.
///
/// # Errors
/// The first wrong line, by file, line and column; a file that cannot be read; several devices; a request that was sent before
/// the one before it had ended.
pub fn read_measured(path: &Path) -> Result<Vec<ValidateRecord>, TraceError> {
    let mut input = open_input(path, &Counters::default())?;
    let first = beginning(&mut input.reader, SNIFFED).map_err(|e| io_error(&input.path, e))?;
    let rest = std::mem::replace(&mut input.reader, Box::new(std::io::empty()));
    input.reader = Box::new(Cursor::new(first.clone()).chain(rest));
    let (place, is) = (input.path.clone(), |f: Facts| (f.sniff)(&first, "") > 0);
    let measured = if is(csv::FACTS) {
        collect(Responses::default(), input)?.found
    } else if is(blktrace::FACTS) {
        of_events(path, "blktrace")?
    } else if is(blkparse::FACTS) {
        of_events(path, "blkparse")?
    } else if first.split(|b| *b == b'\n').next().is_some_and(|l| l.contains(&b',')) {
        collect(LatencyLog::default(), input)?.found
    } else {
        return Ok(collect(Collect::default(), input)?.0);
    };
    in_turn(measured, &place)
}

/// A format that has taken all lines.
pub fn collect<F: LineFormat>(format: F, input: Input) -> Result<F, TraceError> {
    let mut lines = Lines::new(format, input.reader, &input.path);
    while let Some(found) = lines.next_record() {
        if let Err(Failure::Wrong(error) | Failure::Lost(error)) = found {
            return Err(error);
        }
    }
    Ok(lines.format)
}

#[derive(Default)]
struct Responses {
    csv: Csv,
    /// The column of the response time, and the power of ten by which it is in nanoseconds.
    response: Option<(usize, u32)>,
    found: Vec<Measured>,
}

impl LineFormat for Responses {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let found = self.csv.line(line)?;
        let Some((column, places)) = self.response else {
            let names = names(line);
            let units = [("s", 9), ("ms", 6), ("us", 3), ("ns", 0)];
            let of = |(unit, places)| {
                let is_it = |n: &&str| n.strip_prefix("response_") == Some(unit);
                Some((names.iter().position(is_it)?, places))
            };
            let need = "a column response_s, response_ms, response_us or response_ns";
            let response = units.into_iter().find_map(of);
            self.response = Some(response.ok_or_else(|| record("no response times", need))?);
            return Ok(found);
        };
        if let Found::Request(request) = found {
            let (f, count) = split::<MAX_COLUMNS>(line, b',');
            need_columns(count, column + 1, "as in the header")?;
            let need = "a time, not negative";
            let wrong = || field(column + 1, "response", f[column], need);
            let response = decimal(trim(f[column]), places).ok_or_else(wrong)?;
            self.found.push((request, response));
        }
        Ok(Found::Nothing)
    }
}

#[derive(Default)]
struct LatencyLog {
    /// When the request before has completed.
    end: u64,
    found: Vec<Measured>,
}

impl LineFormat for LatencyLog {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let (f, count) = split::<8>(line, b',');
        let need = "time, latency, direction, size, offset and priority, as fio writes with log_offset=1";
        need_columns(count, 6, need)?;
        let number = |i: usize, name| need_integer(trim(f[i]), i, name);
        let (ms, latency) = (number(0, "time")?, number(1, "latency")?);
        let op = match trim(f[2]) {
            b"0" => Command::Read,
            b"1" => Command::Write,
            b"2" => return Ok(Found::Nothing),
            other => return Err(field(3, "direction", other, "0 (read), 1 (write) or 2 (trim)")),
        };
        let end = ms.saturating_mul(1_000_000).max(self.end.saturating_add(latency));
        let start = Time(end - latency.min(end));
        let request = by_bytes(start, 0, op, number(4, "offset")?, number(3, "size")?)?;
        self.end = end;
        self.found.extend(request.map(|r| (r, latency)));
        Ok(Found::Nothing)
    }
}

/// The requests of a trace of the block layer, from issue to completion. One that is issued again counts from then.
fn of_events(path: &Path, format: &str) -> Result<Vec<Measured>, TraceError> {
    let all = |action: &str| {
        let mut options = ReadOptions::default();
        options.parameters.insert("action".into(), action.into());
        super::open(path, Some(format), &options)?.collect::<Result<Vec<Request>, _>>()
    };
    let (issued, completed) = (all("issue")?, all("complete")?);
    let mut issued = issued.into_iter().peekable();
    let (mut open, mut found) = (HashMap::new(), Vec::new());
    for completion in completed {
        while let Some(request) = issued.next_if(|r| r.time <= completion.time) {
            open.insert((request.device, request.lba), request);
        }
        if let Some(request) = open.remove(&(completion.device, completion.lba)) {
            found.push((request, completion.time.0 - request.time.0));
        }
    }
    Ok(found)
}

/// The requests with the pauses between them.
fn in_turn(mut measured: Vec<Measured>, path: &str) -> Result<Vec<ValidateRecord>, TraceError> {
    let error = |got: String, need: &str| TraceError::Input { path: path.to_string(), got, need: need.to_string() };
    measured.retain(|(r, _)| r.op != Command::Flush && r.blocks > 0);
    measured.sort_by_key(|(r, _)| r.time);
    let mut records = Vec::with_capacity(measured.len());
    for (i, (r, response)) in measured.iter().enumerate() {
        if r.device != measured[0].0.device {
            return Err(error(format!("device {}", r.device), "requests of one device"));
        }
        let end = r.time.0.saturating_add(*response);
        let next = measured.get(i + 1).map_or(end, |(r, _)| r.time.0);
        let Some(think) = next.checked_sub(end) else {
            let got = format!("a request at {next} ns, before the one before it ended at {end} ns");
            return Err(error(got, "one request after another, as with a queue depth of 1"));
        };
        records.push(ValidateRecord {
            op: r.op,
            lba: r.lba,
            blocks: r.blocks,
            measured: Span((*response).min(i64::MAX as u64) as i64),
            think: Span(think.min(i64::MAX as u64) as i64),
        });
    }
    Ok(records)
}
