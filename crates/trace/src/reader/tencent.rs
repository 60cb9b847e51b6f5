//! Tencent cloud block storage traces of 2018.
//!
//! # Model
//! `Timestamp,Offset,Size,IOType,VolumeID`: seconds since 1970, 512-byte sectors, IOType 0 = read,
//! 1 = write. The device is the volume.
//! # Source
//! Zhang, Huang, Zhou, Wang, Wang, Cheng & Yang, "OSCA", USENIX ATC 2020; SNIA IOTTA.
//! # Validity
//! **Times are whole seconds**: without a change, all requests of a second arrive at once, which makes queueing
//! results meaningless. `spread_seconds` spreads them evenly over their second.
//! Sorted within 32,768 requests.

use super::parse::{field, need_blocks, need_columns, need_device, need_integer, need_time, split, trim, Parsed};
use super::stream::{Found, LineFormat, Times};
use super::{sniff_lines, text, Facts, Spreading};
use crate::request::{Command, Request};
use headstack_schema::Table;
use headstack_units::Lba;

const TIMES: Times = Times {
    // In a sample of 50,000 requests some are more than 16,384 requests late (by 1 s).
    window: 32_768,
    dates: true,
    spread: false,
};

const FACTS: Facts = Facts {
    time_unit: "whole seconds",
    size_unit: "512-byte sectors",
    sniff: |bytes, _| sniff_lines(Tencent::default(), bytes, 75),
    sample: || b"1538323200,12910952,128,0,1063\n1538323201,6338688,8,1,1627\n".to_vec(),
};

#[derive(Default, Table)]
#[table(
    model = "Tencent 2018: seconds,sector,sectors,0 = read,volume (1 s resolution)",
    example = "spread_seconds = true",
    facts = FACTS,
    build = |format, (input, options)| {
        let times = format.spreading.of(TIMES);
        text(format, input, times, options)
    }
)]
pub(super) struct Tencent {
    #[param(flatten)]
    spreading: Spreading,
}

impl LineFormat for Tencent {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let (f, count) = split::<5>(line, b',');
        need_columns(count, 5, "Timestamp,Offset,Size,IOType,VolumeID")?;
        let op = match f[3] {
            b"0" => Command::Read,
            b"1" => Command::Write,
            other => return Err(field(4, "IOType", other, "0 (read) or 1 (write)")),
        };
        Ok(Found::Request(Request {
            time: need_time(f[0], 0, "Timestamp", 9)?,
            device: need_device(trim(f[4]), 4, "VolumeID")?,
            lba: Lba(need_integer(f[1], 1, "Offset")?),
            blocks: need_blocks(f[2], 2, "Size")?,
            op,
            ..Request::default()
        }))
    }
}
