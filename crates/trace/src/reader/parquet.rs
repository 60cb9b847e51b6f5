//! Parquet files with named columns.
//!
//! # Model
//! The columns of the `csv` format: `time_s|ms|us|ns`, `lba|offset_bytes`, `blocks|size_bytes`,
//! `op` (text) and, if there is more than one, `device`; `process` and `ioprio`. Numbers may have any integer type but must not be
//! negative, times may also be floating-point. Other columns are ignored.
//! # Source
//! Apache Parquet; the column names are our own.
//! # Validity
//! Times must not decrease. The file must be seekable: it is compressed only by Parquet itself. Standard input
//! is held in memory, at most 1 GiB. A missing value is a wrong record.
//! A page has at most 128 MiB, unpacked.

use super::columns::{Address, Columns, Length};
use super::footer::lists_fit;
use super::groups::{Groups, Stored, Values};
use super::parse::{by_bytes, need_cover, need_ioprio, need_process, operation, quote, record, Parsed, OPERATIONS};
use super::stream::{located, Checked, Failure, Found, Records, Times};
use super::{Facts, Input};
use crate::error::TraceError;
use crate::ioprio::Ioprio;
use crate::options::{Counters, ReadOptions};
use crate::request::{Command, Process, Request};
use crate::Source;
use headstack_schema::Table;
use headstack_units::{Lba, Time};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{FileReader, Length as _, SerializedFileReader};
use std::cell::Cell;
use std::io::Read;
use std::panic::{catch_unwind, set_hook, take_hook, AssertUnwindSafe};
use std::sync::Once;

const FACTS: Facts = Facts {
    time_unit: "by the name of the column",
    size_unit: "512-byte blocks or bytes, by the names of the columns",
    sniff: |bytes, _| if bytes.starts_with(b"PAR1") { 100 } else { 0 },
    sample: || {
        let requests = [(0u64, 0u32, 1000u64, 8u32, Command::Read), (1_500_000, 1, 8, 1, Command::Write)];
        let mut bytes = Vec::new();
        let written = crate::writer::parquet::to_bytes(
            &mut bytes,
            &requests.map(|(time, device, lba, blocks, op)| Request {
                time: Time(time),
                device,
                lba: Lba(lba),
                blocks,
                op,
                ..Request::default()
            }),
        );
        debug_assert!(written.is_ok());
        bytes
    },
};

#[derive(Table)]
#[table(
    model = "Parquet with the columns of csv",
    facts = FACTS, build = |Parquet, (input, options)| open(input, options)
)]
pub(super) struct Parquet;

/// Most bytes of an input other than a file, which is held in memory.
const MAX_IN_MEMORY: u64 = 1 << 30;

fn unusable(path: &str, got: impl std::fmt::Display) -> TraceError {
    TraceError::Input {
        path: path.to_string(),
        got: got.to_string(),
        need: "a parquet file with columns of a trace".to_string(),
    }
}

/// The parquet crate panics in places on damaged pages, which are found only when they are decoded. Such a
/// panic must neither end the program nor print a place in that crate.
fn guarded<T>(path: &str, f: impl FnOnce() -> Result<T, TraceError>) -> Result<T, TraceError> {
    let done = quietly(|| catch_unwind(AssertUnwindSafe(f)));
    done.unwrap_or_else(|_| Err(unusable(path, "a damaged file")))
}

thread_local! {
    /// Whether panics of this thread are caught and reported as errors.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` without printing its panics on this thread. Other panics print as before.
fn quietly<T>(f: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
    QUIET.set(true);
    let result = f();
    QUIET.set(false);
    result
}

/// Checks the positions of columns: the crate panics on negative ones, and allocates as much memory as a
/// column's length field states.
fn check_places(metadata: &ParquetMetaData, file_bytes: u64) -> Result<(), String> {
    for (i, group) in metadata.row_groups().iter().enumerate() {
        if group.num_rows() < 0 {
            return Err(format!("{} rows in row group {i}", group.num_rows()));
        }
        for column in group.columns() {
            let data = column.data_page_offset();
            let start = column.dictionary_page_offset().unwrap_or(data);
            let bytes = column.compressed_size();
            let end = u64::try_from(start).ok().zip(u64::try_from(bytes).ok());
            let end = end.and_then(|(start, bytes)| start.checked_add(bytes));
            if end.is_none_or(|end| end > file_bytes) || data < 0 || column.num_values() < 0 {
                let path = column.column_path();
                return Err(format!("column {path} of row group {i} in {bytes} bytes at byte {start} of {file_bytes}"));
            }
        }
    }
    Ok(())
}

fn open(input: Input, options: &ReadOptions) -> Result<Source, TraceError> {
    let path = input.path;
    if let Some(file) = input.file {
        return build(Stored::File(file.into()), path, options);
    }
    let mut bytes = Vec::new();
    let read = input.reader.take(MAX_IN_MEMORY + 1).read_to_end(&mut bytes);
    read.map_err(|source| TraceError::Io { path: path.clone(), source })?;
    if bytes.len() as u64 > MAX_IN_MEMORY {
        return Err(unusable(&path, "more than 1 GiB that is not a plain file"));
    }
    build(Stored::Bytes(bytes.into()), path, options)
}

fn build(file: Stored, path: String, options: &ReadOptions) -> Result<Source, TraceError> {
    let (groups, columns) = guarded(&path, || {
        let (length, again) = (file.len(), file.clone());
        if !lists_fit(&file) {
            return Err(unusable(&path, "a damaged file"));
        }
        let reader = SerializedFileReader::new(file).map_err(|e| unusable(&path, e))?;
        check_places(reader.metadata(), length).map_err(|got| unusable(&path, got))?;
        let footer = reader.metadata().file_metadata();
        let rows = footer.num_rows();
        let fields = footer.schema().get_fields();
        let names: Vec<&str> = fields.iter().map(|f| f.name()).collect();
        let columns = Columns::find(&names).map_err(|need| TraceError::Input {
            path: path.clone(),
            got: format!("columns {}", super::csv::quote_long(&names.join(", "))),
            need,
        })?;
        options.counters.begin(rows.try_into().unwrap_or(0));
        Ok((Groups::new(reader, again, &columns.places()), columns))
    })?;
    let rows = Rows { groups, columns, row: 0, number: 0, counters: options.counters.clone(), path };
    Ok(Box::new(Checked::new(rows, Times::ORDERED, options)))
}

struct Rows {
    groups: Groups,
    columns: Columns,
    row: usize,
    number: u64,
    counters: Counters,
    path: String,
}

/// An integer that is not negative, from a column of any integer type.
fn integer(values: &Values, row: usize, name: &str) -> Parsed<u64> {
    let bad = |got: String| record(format!("{name} {got}"), "an integer that is not negative");
    let missing = || bad("missing".to_string());
    match values {
        Values::Unsigned(v) => v[row].ok_or_else(missing),
        Values::Signed(v) => {
            let value = v[row].ok_or_else(missing)?;
            u64::try_from(value).map_err(|_| bad(value.to_string()))
        }
        other => Err(bad(format!("of type {other}"))),
    }
}

fn time(values: &Values, row: usize, places: u32) -> Parsed<Time> {
    let scale = 10u64.pow(places);
    let bad = |got: String| record(format!("time {got}"), "a time from 0 to 2^64 ns");
    let Values::Real(reals) = values else {
        let value = integer(values, row, "time")?;
        let ns = value.checked_mul(scale);
        return ns.map(Time).ok_or_else(|| bad(value.to_string()));
    };
    let float = reals[row].ok_or_else(|| bad("missing".to_string()))?;
    let ns = (float * scale as f64).round();
    if ns >= 0.0 && ns < u64::MAX as f64 {
        Ok(Time(ns as u64))
    } else {
        Err(bad(float.to_string()))
    }
}

fn op(values: &Values, row: usize) -> Parsed<Command> {
    let text = match values {
        Values::Text(v) => match &v[row] {
            Some(text) => text.data(),
            None => return Err(record("op missing".to_string(), "text")),
        },
        other => return Err(record(format!("op of type {other}"), "text")),
    };
    let bad = || format!("op {:?}", quote(text));
    operation(text).ok_or_else(|| record(bad(), OPERATIONS))
}

impl Rows {
    fn request(&self) -> Parsed<Request> {
        let (c, row) = (&self.columns, self.row);
        let column = |i: usize| self.groups.column(i);
        let small = |v: u64, name: &str| u32::try_from(v).map_err(|_| record(format!("{name} {v}"), "less than 2^32"));
        let time = time(column(c.time), row, c.time_places)?;
        let device = match c.device {
            Some(i) => small(integer(column(i), row, "device")?, "device")?,
            None => 0,
        };
        let op = op(column(c.op), row)?;
        let process = match c.process {
            Some(i) => need_process(integer(column(i), row, "process")?)?,
            None => Process::UNKNOWN,
        };
        let priority = match c.ioprio {
            Some(i) => need_ioprio(integer(column(i), row, "ioprio")?)?,
            None => Ioprio::NONE,
        };
        let (lba, blocks) = match (c.address, c.length) {
            (Address::Offset(a), Length::Size(l)) => {
                let offset = integer(column(a), row, "offset_bytes")?;
                let size = integer(column(l), row, "size_bytes")?;
                let request = by_bytes(time, device, op, offset, size)?;
                let request = request.unwrap_or_default();
                return Ok(Request { process, priority, ..request });
            }
            (Address::Lba(a), Length::Size(l)) => {
                let size = integer(column(l), row, "size_bytes")?;
                (integer(column(a), row, "lba")?, need_cover(0, size)?.1)
            }
            (Address::Lba(a), Length::Blocks(l)) => {
                let blocks = integer(column(l), row, "blocks")?;
                (integer(column(a), row, "lba")?, small(blocks, "blocks")?)
            }
            (Address::Offset(a), Length::Blocks(l)) => {
                let blocks = integer(column(l), row, "blocks")?;
                let offset = integer(column(a), row, "offset_bytes")?;
                (offset / 512, small(blocks, "blocks")?)
            }
        };
        Ok(Request { time, device, lba: Lba(lba), blocks, op, process, priority, ..Request::default() })
    }
}

impl Records for Rows {
    fn next_record(&mut self) -> Option<Result<Found, Failure>> {
        while self.row >= self.groups.rows {
            let Rows { groups, path, .. } = self;
            match guarded(path, || groups.advance().map_err(|e| unusable(path, e))) {
                Ok(true) => {
                    self.counters.pass(self.groups.rows as u64);
                    self.row = 0;
                }
                Ok(false) => return None,
                Err(error) => return Some(Err(Failure::Lost(error))),
            }
        }
        self.number += 1;
        let found = self.request();
        self.row += 1;
        Some(match found {
            Ok(request) => Ok(Found::Request(request)),
            Err(wrong) => Err(Failure::Wrong(located(*wrong, &self.path, self.number))),
        })
    }
    fn number(&self) -> u64 {
        self.number
    }
    fn path(&self) -> &str {
        &self.path
    }
}
