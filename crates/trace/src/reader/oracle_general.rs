//! libCacheSim's oracleGeneral traces.
//!
//! # Model
//! 24-byte little-endian records: `u32 seconds; u64 object; u32 size in bytes; i64 next access`.
//! The object is taken as a 512-byte block number. There is no direction: all are reads.
//! # Source
//! libCacheSim, `oracleGeneralBin.h`.
//! # Validity
//! Useful only if objects are block numbers: hashes of names are not addresses, and those at or above 2^55 are
//! refused. Times are whole seconds (`spread_seconds` spreads them). The format has no magic number: it is
//! detected by the file name `*.oracleGeneral*` only.

use super::parse::need_cover;
use super::stream::{fill, BinaryFormat, Found, Halt, Times};
use super::{binary, Facts, Spreading};
use crate::request::{Command, Request};
use headstack_schema::Table;
use headstack_units::{Lba, Time};
use std::io::BufRead;

const TIMES: Times = Times { window: 0, dates: true, spread: false };

const FACTS: Facts = Facts {
    time_unit: "whole seconds",
    size_unit: "addresses in 512-byte blocks, sizes in bytes",
    sniff: |_, name| {
        if name.contains(".oracleGeneral") {
            90
        } else {
            0
        }
    },
    sample: || {
        let mut bytes = Vec::new();
        for (time, object, size) in [(10u32, 77u64, 4096u32), (11, 1 << 40, 512)] {
            bytes.extend(time.to_le_bytes());
            bytes.extend(object.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            bytes.extend((-1i64).to_le_bytes());
        }
        bytes
    },
};

#[derive(Table)]
#[table(
    model = "libCacheSim oracleGeneral binary (1 s resolution, all reads)",
    example = "spread_seconds = true",
    facts = FACTS,
    build = |format, (input, options)| {
        let times = format.spreading.of(TIMES);
        binary(format, input, times, options)
    }
)]
pub(super) struct Oracle {
    #[param(flatten)]
    spreading: Spreading,
}

impl BinaryFormat for Oracle {
    fn record<R: BufRead>(&mut self, input: &mut R) -> Result<Option<Found>, Halt> {
        let mut b = [0u8; 24];
        if !fill(input, &mut b)? {
            return Ok(None);
        }
        let word = |at: usize| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let (_, blocks) = need_cover(0, u64::from(word(12))).map_err(Halt::Wrong)?;
        Ok(Some(Found::Request(Request {
            time: Time(u64::from(word(0)) * 1_000_000_000),
            device: 0,
            lba: Lba(u64::from(word(8)) << 32 | u64::from(word(4))),
            blocks,
            op: Command::Read,
            ..Request::default()
        })))
    }
}
