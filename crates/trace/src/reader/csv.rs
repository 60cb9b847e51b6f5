//! Comma-separated text with a header that names columns and their units.
//!
//! # Model
//! `time_s`, `time_ms`, `time_us` or `time_ns`; `lba` (512-byte blocks) or `offset_bytes`; `blocks`
//! (of 512 bytes) or `size_bytes`; `op` (`R`, `W`, `F`, `read`, `write`, `write-through`, `flush`); and,
//! if there is more than one, `device` (a number). `process` is the number of the process that issued the request, `ioprio` its
//! I/O priority as Linux encodes it (16 bits). Any order; other columns are ignored.
//! # Source
//! Our own format; our Parquet files have columns of the same names.
//! # Validity
//! Times must not decrease. No quoting.

use super::columns::{Address, Columns, Length};
use super::parse::{
    by_bytes, field, need_blocks, need_columns, need_cover, need_device, need_integer, need_ioprio, need_process,
    need_time, operation, record, split, trim, Parsed, Wrong, OPERATIONS,
};
use super::stream::{Found, LineFormat, Times};
use super::{text, Facts};
use crate::ioprio::Ioprio;
use crate::request::{Process, Request};
use headstack_schema::Table;
use headstack_units::Lba;

pub(super) const FACTS: Facts = Facts {
    time_unit: "by the name of the column",
    size_unit: "512-byte blocks or bytes, by the names of the columns",
    sniff: |bytes, _| match columns(header(bytes)) {
        Ok(_) => 95,
        Err(_) => 0,
    },
    sample: || b"time_ms,device,op,lba,size_bytes\n0.5,0,R,1000,4096\n2,1,W,8,512\n2.25,0,F,0,0\n".to_vec(),
};

pub(super) const MAX_COLUMNS: usize = 64;
const FEW_COLUMNS: usize = 8;

#[derive(Default, Table)]
#[table(
    model = "named columns: time_s|ms|us|ns, lba|offset_bytes, blocks|size_bytes, op, device, process, ioprio",
    facts = FACTS, build = |format, (input, options)| text(format, input, Times::ORDERED, options)
)]
pub(super) struct Csv {
    #[param(skip)]
    columns: Option<Columns>,
}

/// The first line.
fn header(bytes: &[u8]) -> &[u8] {
    let line = bytes.split(|&b| b == b'\n').next().unwrap_or(&[]);
    line.strip_suffix(b"\r").unwrap_or(line)
}

pub(super) fn names(header: &[u8]) -> Vec<&str> {
    let (f, count) = split::<MAX_COLUMNS>(header, b',');
    f[..count].iter().map(|c| std::str::from_utf8(trim(c)).unwrap_or("")).collect()
}

fn columns(header: &[u8]) -> Parsed<Columns> {
    let names = names(header);
    Columns::find(&names).map_err(|need| {
        let got = match names.as_slice() {
            [""] => "no columns".to_string(),
            names => format!("columns {}", quote_long(&names.join(", "))),
        };
        record(got, need)
    })
}

/// A header as it is displayed: shortened if it has many columns.
pub(super) fn quote_long(names: &str) -> String {
    match names.char_indices().nth(200) {
        Some((end, _)) => format!("{}...", &names[..end]),
        None => names.to_string(),
    }
}

/// What is wrong with the first line, if it was meant as a header: it has at least two of the columns, perhaps
/// with other separators or in capitals, or at least three names.
pub(crate) fn lacking(bytes: &[u8]) -> Option<Box<Wrong>> {
    const EXAMPLE: &str = "as in time_us,lba,blocks,op";
    let header = header(bytes);
    let known = |names: &[&str]| {
        let found = names.iter().filter(|n| Columns::NAMES.contains(n));
        found.count() >= 2
    };
    let given = names(header);
    if known(&given) {
        return columns(header).err();
    }
    let text = std::str::from_utf8(header).ok()?;
    for (separator, shown) in [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")] {
        let names: Vec<&str> = text.split(separator).map(str::trim).collect();
        if known(&names) {
            let got = format!("columns separated by {shown}");
            return Some(record(got, format!("commas, {EXAMPLE}")));
        }
    }
    let shown = || format!("columns {}", quote_long(&given.join(", ")));
    let small: Vec<String> = given.iter().map(|n| n.to_lowercase()).collect();
    if known(&small.iter().map(String::as_str).collect::<Vec<_>>()) {
        return Some(record(shown(), format!("names in small letters, {EXAMPLE}")));
    }
    let is_name = |n: &&str| {
        n.starts_with(|c: char| c.is_alphabetic()) && !n.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    if given.len() >= 3 && given.iter().all(is_name) {
        let need = format!("those of a csv trace, {EXAMPLE}, or a trace in another format");
        return Some(record(shown(), need));
    }
    let is_number = |n: &&str| n.parse::<f64>().is_ok();
    if given.len() >= 3 && given.first().is_some_and(is_number) {
        let need = format!("a first line with the names of the columns, {EXAMPLE}, or a trace in another format");
        return Some(record(format!("{:?}", super::parse::quote(header)), need));
    }
    None
}

impl LineFormat for Csv {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let Some(c) = &self.columns else {
            self.columns = Some(columns(line)?);
            return Ok(Found::Nothing);
        };
        // An array for many columns is slower than reading a few unused columns.
        match c.last < FEW_COLUMNS {
            true => request::<FEW_COLUMNS>(c, line),
            false => request::<MAX_COLUMNS>(c, line),
        }
    }
}

/// Reads a line with the columns `c`, all among the first `N`.
#[inline]
fn request<const N: usize>(c: &Columns, line: &[u8]) -> Parsed<Found> {
    let (f, count) = split::<N>(line, b',');
    need_columns(count, c.last + 1, "as in the header")?;
    let time = need_time(trim(f[c.time]), c.time, "time", c.time_places)?;
    let device = match c.device {
        Some(i) => need_device(trim(f[i]), i, "device")?,
        None => 0,
    };
    let text = trim(f[c.op]);
    let op = operation(text).ok_or_else(|| field(c.op + 1, "op", text, OPERATIONS))?;
    let at = |i: usize, name| need_integer(trim(f[i]), i, name);
    let process = match c.process {
        Some(i) => need_process(at(i, "process")?)?,
        None => Process::UNKNOWN,
    };
    let priority = match c.ioprio {
        Some(i) => need_ioprio(at(i, "ioprio")?)?,
        None => Ioprio::NONE,
    };
    let (lba, blocks) = match (c.address, c.length) {
        (Address::Offset(a), Length::Size(l)) => {
            let found = by_bytes(time, device, op, at(a, "offset_bytes")?, at(l, "size_bytes")?)?;
            let said = |request: Request| Request { process, priority, ..request };
            return Ok(found.map_or(Found::Nothing, |r| Found::Request(said(r))));
        }
        (Address::Lba(a), Length::Size(l)) => (at(a, "lba")?, need_cover(0, at(l, "size_bytes")?)?.1),
        (Address::Lba(a), Length::Blocks(l)) => (at(a, "lba")?, need_blocks(trim(f[l]), l, "blocks")?),
        (Address::Offset(a), Length::Blocks(l)) => {
            (at(a, "offset_bytes")? / 512, need_blocks(trim(f[l]), l, "blocks")?)
        }
    };
    Ok(Found::Request(Request { time, device, lba: Lba(lba), blocks, op, process, priority, ..Request::default() }))
}
