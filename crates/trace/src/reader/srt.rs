//! Hewlett-Packard's SRT traces, records of version 1.1 to 1.4.
//!
//! # Model
//! A text header that ends with a form feed; then big-endian records of `u32 size, id, sec, usec,
//! start, stop, bytes, sector, dev, driver, cyl, flags, info`, with an additional queue length in 1.4 and
//! additional flags in suspect records. The high half of `id` is the minor version, the low half is 1 for a
//! request and 4 for a suspect one, which is counted as filtered, as in DiskSim.
//! The device is `(dev >> 8) & 255`, flag 1 means read, sectors are 512 bytes.
//! # Source
//! DiskSim 4.0 `disksim_iotrace.c`, `disksim_hptrace.h`; DataSeries `srt2ds.cpp`.
//! # Validity
//! Times are relative to their file; sorted within 8192 requests. The version in the text header may differ
//! from that of the records and is ignored. Versions 1.5 and later are an error.

use super::parse::{need_cover, record};
use super::stream::{fill, pass_over, BinaryFormat, Found, Halt, Times};
use super::{binary, Facts};
use crate::request::{Command, Request};
use headstack_schema::Table;
use headstack_units::{Lba, Time};
use std::io::BufRead;

const TIMES: Times = Times { window: 8192, dates: false, spread: false };
const MAX_HEADER: usize = 1 << 20;

const FACTS: Facts = Facts {
    time_unit: "microseconds",
    size_unit: "addresses in 512-byte sectors, sizes in bytes",
    sniff: |bytes, _| {
        let header = bytes.split(|&b| b == 0x0c).next().unwrap_or(&[]);
        let has_date = header.windows(9).any(|w| w == b"tracedate");
        if has_date {
            95
        } else {
            0
        }
    },
    sample: || {
        let mut bytes = b"tracedate    = \"Sat Apr 18 1992\"\n\x0c".to_vec();
        for record in [
            &[52u32, 3 << 16 | 1, 5, 250, 1, 2, 8192, 1000, 0x0300, 0, 9, 1, 0][..],
            &[56, 4 << 16 | 1, 6, 0, 1, 2, 1024, 7, 0x0400, 0, 9, 0x100, 0, 3],
        ] {
            bytes.extend(record.iter().flat_map(|w| w.to_be_bytes()));
        }
        bytes
    },
};

#[derive(Table)]
#[table(
    model = "HP SRT binary, versions 1.1 to 1.4",
    facts = FACTS, build = |format, (input, options)| binary(format, input, TIMES, options)
)]
pub(super) struct Srt {
    #[param(skip)]
    header: bool,
}

impl BinaryFormat for Srt {
    fn record<R: BufRead>(&mut self, input: &mut R) -> Result<Option<Found>, Halt> {
        if !self.header {
            let mut passed = 0;
            loop {
                let buffer = input.fill_buf()?;
                if buffer.is_empty() || passed > MAX_HEADER {
                    return Err(Halt::Lost(record(
                        format!("no form feed in {passed} bytes"),
                        "a text header that a form feed ends",
                    )));
                }
                let end = memchr::memchr(0x0c, buffer);
                let used = end.map_or(buffer.len(), |e| e + 1);
                input.consume(used);
                passed += used;
                if end.is_some() {
                    break;
                }
            }
            self.header = true;
        }
        let mut bytes = [0u8; 52];
        if !fill(input, &mut bytes)? {
            return Ok(None);
        }
        let word = |i: usize| {
            let at = i * 4;
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (minor, kind) = (word(1) >> 16, word(1) & 0xffff);
        if !(1..=4).contains(&minor) || !matches!(kind, 1 | 4) {
            return Err(Halt::Lost(record(format!("record id {:#x}", word(1)), "version 1.1 to 1.4 and kind 1 or 4")));
        }
        let need = 52 + 4 * u32::from(minor == 4) + 4 * u32::from(kind == 4);
        if word(0) != need {
            return Err(Halt::Lost(record(format!("record size {}", word(0)), format!("{need}"))));
        }
        pass_over(input, u64::from(need - 52))?;
        if kind == 4 {
            return Ok(Some(Found::Other));
        }
        if word(3) >= 1_000_000 {
            return Err(Halt::Wrong(record(format!("{} us in a second", word(3)), "fewer than 1000000")));
        }
        let (_, blocks) = need_cover(0, u64::from(word(6))).map_err(Halt::Wrong)?;
        Ok(Some(Found::Request(Request {
            time: Time(u64::from(word(2)) * 1_000_000_000 + u64::from(word(3)) * 1000),
            device: word(8) >> 8 & 0xff,
            lba: Lba(u64::from(word(7))),
            blocks,
            op: if word(11) & 1 == 1 { Command::Read } else { Command::Write },
            ..Request::default()
        })))
    }
}
