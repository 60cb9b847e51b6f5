//! DiskSim's validation traces: requests measured on a real drive.
//!
//! # Model
//! `R|W tag block count measured think`, separated by blanks: blocks of 512 bytes, the measured response time
//! and the pause between its completion and the next issue, in microseconds. The tag is ignored.
//! As a stream, each request arrives one pause after the measured completion of the previous one;
//! [`read_validate`] returns the records for closed replay.
//! # Source
//! DiskSim 4.0, `disksim_iotrace.c` and its directory `valid`.
//! # Validity
//! Times never decrease, since they are sums.

use super::measured::collect;
use super::parse::{decimal, field, need_blocks, need_columns, need_integer, need_read_or_write, words, Parsed};
use super::stream::{Found, LineFormat, Times};
use super::{sniff_lines, text, Facts};
use crate::error::TraceError;
use crate::request::{Command, Request};
use headstack_schema::Table;
use headstack_units::{Lba, Span, Time};
use std::path::Path;

const FACTS: Facts = Facts {
    time_unit: "microseconds",
    size_unit: "512-byte blocks",
    sniff: |bytes, _| sniff_lines(Validate::default(), bytes, 85),
    sample: || b"R Miss  564347  2  14095.370  13876.270\nW Hit 4583180 4 607.00000 34200.00000\n".to_vec(),
};

/// One measured request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValidateRecord {
    /// Read or write.
    pub op: Command,
    /// The first block.
    pub lba: Lba,
    /// Number of 512-byte blocks.
    pub blocks: u32,
    /// The response time of the real drive.
    pub measured: Span,
    /// The pause between this request's completion and the next one's issue.
    pub think: Span,
}

fn parse(line: &[u8]) -> Parsed<ValidateRecord> {
    let (f, count) = words::<6>(line);
    need_columns(count, 6, "op tag block count measured think")?;
    let span = |i: usize, name| {
        decimal(f[i], 3)
            .and_then(|ns| i64::try_from(ns).ok())
            .map(Span)
            .ok_or_else(|| field(i + 1, name, f[i], "microseconds, not negative"))
    };
    Ok(ValidateRecord {
        op: need_read_or_write(f[0], 0, "op")?,
        lba: Lba(need_integer(f[2], 2, "block")?),
        blocks: need_blocks(f[3], 3, "count")?,
        measured: span(4, "measured")?,
        think: span(5, "think")?,
    })
}

#[derive(Default, Table)]
#[table(
    model = "DiskSim validate: op, tag, block, count, measured us, think us",
    facts = FACTS, build = |format, (input, options)| text(format, input, Times::ORDERED, options)
)]
pub(super) struct Validate {
    #[param(skip)]
    now: Time,
}

impl LineFormat for Validate {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let r = parse(line)?;
        let request =
            Request { time: self.now, device: 0, lba: r.lba, blocks: r.blocks, op: r.op, ..Request::default() };
        self.now = self.now + r.measured + r.think;
        Ok(Found::Request(request))
    }
}

#[derive(Default)]
pub(super) struct Collect(pub Vec<ValidateRecord>);

impl LineFormat for Collect {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        self.0.push(parse(line)?);
        Ok(Found::Nothing)
    }
}

/// Reads a whole validation trace, for closed replay.
///
/// # Errors
/// The first wrong line, by file, line and column; a file that cannot be read.
pub fn read_validate(path: &Path) -> Result<Vec<ValidateRecord>, TraceError> {
    let input = super::open_input(path, &crate::Counters::default())?;
    Ok(collect(Collect::default(), input)?.0)
}
