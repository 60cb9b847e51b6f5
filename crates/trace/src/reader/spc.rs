//! SPC trace format, as in the UMass trace repository (Financial, WebSearch).
//!
//! # Model
//! One request per line: `ASU,LBA,size,op,time[,more]`. Size in bytes, time in seconds, op `R` or
//! `W` in any case; further columns are ignored. LBA counts 512-byte blocks. Every ASU is a separate address
//! space: the device.
//! # Source
//! Storage Performance Council, "SPC Trace File Format Specification", revision 1.0.1.
//! # Validity
//! Times must not decrease; they are read exactly to the nanosecond.

use super::parse::{
    field, need_columns, need_cover, need_device, need_integer, need_read_or_write, need_time, split, trim, Parsed,
    MAX_BLOCK,
};
use super::stream::{Checked, Found, LineFormat, Lines, Times};
use super::{sniff_lines, text, Facts};
use crate::options::ReadOptions;
use crate::request::Request;
use headstack_schema::Table;
use headstack_units::Lba;
use std::io::BufRead;

const FACTS: Facts = Facts {
    time_unit: "seconds",
    size_unit: "addresses in 512-byte blocks, sizes in bytes",
    sniff: |bytes, _| sniff_lines(Spc, bytes, 80),
    sample: || b"0,20941264,8192,W,0.551706\n1,20939840,8192,r,0.554041,7\n".to_vec(),
};

#[derive(Table)]
#[table(
    model = "SPC/UMass: ASU,LBA,size in bytes,op,seconds",
    facts = FACTS, build = |format, (input, options)| text(format, input, Times::ORDERED, options)
)]
pub(crate) struct Spc;

impl LineFormat for Spc {
    #[inline]
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let (f, count) = split::<5>(line, b',');
        need_columns(count, 5, "ASU,LBA,size,op,time")?;
        let device = need_device(trim(f[0]), 0, "ASU")?;
        let lba = need_integer(trim(f[1]), 1, "LBA")?;
        if lba > MAX_BLOCK {
            return Err(field(2, "LBA", f[1], "a block below 2^55"));
        }
        let size = need_integer(trim(f[2]), 2, "size")?;
        let op = need_read_or_write(trim(f[3]), 3, "op")?;
        let time = need_time(trim(f[4]), 4, "time", 9)?;
        // For a size that is not a multiple of 512, the last block counts whole.
        let (_, blocks) = need_cover(0, size)?;
        Ok(Found::Request(Request { time, device, lba: Lba(lba), blocks, op, ..Request::default() }))
    }
}

/// The SPC reader as its own type, for loops without dynamic dispatch.
pub struct SpcReader<R>(Checked<Lines<Spc, R>>);

/// Reads SPC text from `input`; `path` is for error messages.
pub fn spc_reader<R: BufRead + Send>(input: R, path: &str, options: &ReadOptions) -> SpcReader<R> {
    SpcReader(Checked::new(Lines::new(Spc, input, path), Times::ORDERED, options))
}

impl<R: BufRead + Send> Iterator for SpcReader<R> {
    type Item = Result<Request, crate::TraceError>;
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
