//! CloudPhysics vscsi traces, versions 1 and 2.
//!
//! # Model
//! Little-endian records. Version 1, 32 bytes: `u32 sn, len, nSG; u16 cmd, ver; u64 lbn, ts`;
//! version 2, 40 bytes: `u16 cmd, ver; u32 sn, len, nSG; u64 lbn, ts, rt`. `len` in bytes, `lbn` in
//! 512-byte blocks, `ts` in microseconds; the high byte of `ver` is the version. SCSI commands
//! other than read, write and synchronize-cache are counted as filtered. One device.
//! # Source
//! Waldspurger, Park, Garthwaite & Ahmad, FAST 2015; libCacheSim, `vscsi.h`.
//! # Validity
//! Sorted within 8192 requests. A record with another version is wrong.

use super::parse::{need_cover, record};
use super::stream::{fill, BinaryFormat, Found, Halt, Times};
use super::{binary, Facts};
use crate::request::{Command, Request};
use headstack_schema::Table;
use headstack_units::{Lba, Time};
use std::io::BufRead;

const FACTS: Facts = Facts {
    time_unit: "microseconds",
    size_unit: "addresses in 512-byte blocks, sizes in bytes",
    sniff: |bytes, _| match version(bytes) {
        Some(_) => 90,
        None => 0,
    },
    sample: || {
        let mut bytes = Vec::new();
        for (cmd, lbn, ts) in [(0x28u16, 1000u64, 5_000_000u64), (0x2a, 42, 5_000_100)] {
            for word in [1u32, 4096, 1] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(cmd.to_le_bytes());
            bytes.extend(0x0100u16.to_le_bytes());
            bytes.extend(lbn.to_le_bytes());
            bytes.extend(ts.to_le_bytes());
        }
        bytes
    },
};

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// The version, if the first two records (or the only one) agree and contain a SCSI command.
fn version(bytes: &[u8]) -> Option<u8> {
    let fits = |cmd_at: usize, version: u16, size: usize| {
        (0..2).all(|i| {
            let at = i * size + cmd_at;
            match bytes.get(at..at + 4) {
                Some(_) => half(bytes, at) < 0x100 && half(bytes, at + 2) >> 8 == version,
                None => i > 0,
            }
        })
    };
    if bytes.len() >= 32 && fits(12, 1, 32) {
        Some(1)
    } else if bytes.len() >= 40 && fits(0, 2, 40) {
        Some(2)
    } else {
        None
    }
}

#[derive(Table)]
#[table(
    model = "CloudPhysics vscsi, binary, versions 1 and 2",
    facts = FACTS, build = |format, (input, options)| binary(format, input, Times::UNORDERED_DATES, options)
)]
pub(super) struct Vscsi {
    #[param(skip)]
    version: u8,
}

impl BinaryFormat for Vscsi {
    fn record<R: BufRead>(&mut self, input: &mut R) -> Result<Option<Found>, Halt> {
        let mut bytes = [0u8; 40];
        if self.version == 0 {
            // The first record determines the version; that of version 1 is shorter.
            if !fill(input, &mut bytes[..32])? {
                return Ok(None);
            }
            self.version = match (half(&bytes, 14) >> 8, half(&bytes, 2) >> 8) {
                (1, _) => 1,
                (_, 2) => 2,
                _ => return Err(Halt::Lost(record("a first record of another version", "version 1 or 2"))),
            };
            if self.version == 2 && !fill(input, &mut bytes[32..])? {
                return Err(super::stream::truncated(32, 40));
            }
        } else {
            let size = if self.version == 1 { 32 } else { 40 };
            if !fill(input, &mut bytes[..size])? {
                return Ok(None);
            }
        }
        let (command_at, length_at, lbn_at) = if self.version == 1 { (12, 4, 16) } else { (0, 8, 16) };
        let version = half(&bytes, command_at + 2) >> 8;
        if version != u16::from(self.version) {
            return Err(Halt::Wrong(record(
                format!("a record of version {version}"),
                format!("version {} as before", self.version),
            )));
        }
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
        let op = match half(&bytes, command_at) {
            0x08 | 0x28 | 0x88 | 0xa8 => Command::Read,
            0x0a | 0x2a | 0x8a | 0xaa => Command::Write,
            0x35 | 0x91 => Command::Flush,
            _ => return Ok(Some(Found::Other)),
        };
        let size = u32::from_le_bytes(bytes[length_at..length_at + 4].try_into().unwrap_or_default());
        let (_, blocks) = need_cover(0, u64::from(size)).map_err(Halt::Wrong)?;
        let ts = long(lbn_at + 8);
        let time =
            ts.checked_mul(1000).ok_or_else(|| Halt::Wrong(record(format!("time {ts} us"), "a time below 2^64 ns")))?;
        Ok(Some(Found::Request(Request {
            time: Time(time),
            device: 0,
            lba: Lba(long(lbn_at)),
            blocks: if op == Command::Flush { 0 } else { blocks },
            op,
            ..Request::default()
        })))
    }
}
