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
use super::{beginning, blkparse, blktrace, csv, io_error, open_input, Format, Input, SNIFFED};
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
    let (place, is) = (input.path.clone(), |f: Format| (f.sniff)(&first, "") > 0);
    let measured = if is(csv::FORMAT) {
        collect(Responses::default(), input)?.found
    } else if is(blktrace::FORMAT) {
        of_events(path, &blktrace::FORMAT)?
    } else if is(blkparse::FORMAT) {
        of_events(path, &blkparse::FORMAT)?
    } else if first.split(|b| *b == b'\n').next().is_some_and(|l| l.contains(&b',')) {
        collect(LatencyLog::default(), input)?.found
    } else {
        return Ok(collect(Collect::default(), input)?.0);
    };
    in_turn(measured, &place)
}

/// A format that has taken all lines.
pub(super) fn collect<F: LineFormat>(format: F, input: Input) -> Result<F, TraceError> {
    let mut lines = Lines::new(format, input.reader, &input.path);
    while let Some(found) = lines.next_record() {
        if let Err(Failure::Wrong(error) | Failure::Lost(error)) = found {
            return Err(error);
        }
    }
    Ok(lines.into_format())
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
fn of_events(path: &Path, format: &Format) -> Result<Vec<Measured>, TraceError> {
    let all = |action: &str| {
        let mut options = ReadOptions::default();
        options.parameters.insert("action".into(), action.into());
        super::open(path, Some(format.name), &options)?.collect::<Result<Vec<Request>, _>>()
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

#[cfg(test)]
mod tests {
    use super::*;

    type Row = (Command, u64, u32, i64, i64);

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Row>, String> {
        let path = std::env::temp_dir().join(format!("headstack-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let found = read_measured(&path);
        std::fs::remove_file(&path).unwrap();
        let found = found.map_err(|e| e.to_string())?.into_iter();
        Ok(found.map(|r| (r.op, r.lba.0, r.blocks, r.measured.0, r.think.0)).collect())
    }

    const ROWS: [Row; 3] = [
        (Command::Read, 2048, 8, 3_000_000, 2_000_000),
        (Command::Write, 64, 16, 500_000, 4_500_000),
        (Command::Read, 8, 1, 12_000_000, 0),
    ];

    /// By hand: sent at 1, 6 and 11 ms, which is when the flush between the last two is over.
    #[test]
    fn columns_with_response_times() {
        let text = b"time_ns,device,lba,blocks,op,response_ns\n1000000,0,2048,8,R,3000000\n\
            7000000,0,0,0,F,4000000\n6000000,0,64,16,W,500000\n11000000,0,8,1,R,12000000\n";
        assert_eq!(read("a", text).unwrap(), ROWS);
        for (text, message) in [
            (",lba\n1,0,R,8,5", ":1: got no response times, need a column response_s"),
            (",lba,response_ms\n1,0,R,8,0,x", ":2: column 6 \"response\": got \"x\""),
            (",lba,response_ms\n1,0,R,8,0,1\n3,1,R,8,0,1", "got device 1, need requests of one device"),
            (
                ",lba,response_ms\n1,0,R,8,0,5\n3,0,R,8,0,5",
                "got a request at 3000000 ns, before the one before it ended at 6000000 ns, need one",
            ),
        ] {
            let e = read("b", format!("time_ms,device,op,blocks{text}\n").as_bytes()).unwrap_err();
            assert!(e.contains(message), "{e}");
        }
    }

    /// Completions in the milliseconds 4, 4, 6 and 30 of requests that took 3, 0.5, 1.9 and 12 ms: the first ended at 4 ms, the
    /// second half a millisecond later without a pause, the third at 6.4 and the last at 30 ms after 11.6 ms.
    #[test]
    fn latency_logs_of_fio() {
        let text = b"4, 3000000, 0, 4096, 1048576, 0\n4, 500000, 1, 8192, 32768, 0\n\
            5, 100, 2, 4096, 0, 0\n6, 1900000, 0, 512, 4096, 0x0000\n30, 12000000, 0, 512, 4096, 0\n";
        let want = [
            (Command::Read, 2048, 8, 3_000_000, 0),
            (Command::Write, 64, 16, 500_000, 0),
            (Command::Read, 8, 1, 1_900_000, 11_600_000),
            (Command::Read, 8, 1, 12_000_000, 0),
        ];
        assert_eq!(read("g", text).unwrap(), want);
        let e = read("h", b"4, 3000000, 0, 4096, 0\n").unwrap_err();
        assert!(e.contains("log_offset=1"), "{e}");
    }

    /// Events Q, D and C as in blktrace_api.h: a request takes from D to C; one is issued again, one never ends.
    #[test]
    fn issues_and_completions_of_blktrace() {
        let events = [
            (500_000, 2048, 8, 'Q', "R"),
            (900_000, 2048, 8, 'D', "R"),
            (1_000_000, 2048, 8, 'D', "R"),
            (4_000_000, 2048, 8, 'C', "R"),
            (6_000_000, 64, 16, 'D', "W"),
            (6_500_000, 64, 16, 'C', "W"),
            (11_000_000, 8, 1, 'D', "R"),
            (23_000_000, 8, 1, 'C', "R"),
            (24_000_000, 9, 1, 'D', "R"),
        ];
        let number = |letter| [(1, 'Q'), (7, 'D'), (8, 'C')].iter().find(|e| e.1 == letter).unwrap().0;
        let binary = events.map(|(t, sector, blocks, letter, rw)| {
            let action = number(letter) | if rw == "W" { 0x2_0000 } else { 0x1_0000 };
            blktrace::event(true, (t, sector), 512 * blocks, action, 0)
        });
        assert_eq!(read("i", &binary.concat()).unwrap(), ROWS);
        let text = events.map(|(t, sector, blocks, letter, rw)| {
            format!("8,0 1 1 0.{t:09} 77 {letter} {rw} {sector} + {blocks} [x]\n")
        });
        assert_eq!(read("j", text.concat().as_bytes()).unwrap(), ROWS);
    }
}
