//! DiskSim's ascii traces.
//!
//! # Model
//! `time device block count flags`, separated by blanks: time in milliseconds, blocks of 512
//! bytes, flags in hexadecimal whose bit 0 means read. Other flags do not change a request.
//! # Source
//! DiskSim 4.0 reference manual, section "Traces"; `disksim_iotrace.c`.
//! # Validity
//! Times must not decrease. DiskSim itself only takes block numbers below 2^31.

use super::parse::{
    field, hexadecimal, need_blocks, need_columns, need_device, need_integer, need_time, record, words, Parsed,
};
use super::stream::{Found, LineFormat, Times};
use super::{sniff_lines, text, Facts};
use crate::request::{Command, Request};
use headstack_schema::Table;
use headstack_units::Lba;

const FACTS: Facts = Facts {
    time_unit: "milliseconds",
    size_unit: "512-byte blocks",
    sniff: |bytes, _| {
        // Without a decimal point in the times, the columns could also be those of MQSim.
        let first = bytes.trim_ascii_start().split(|b| b.is_ascii_whitespace()).next();
        let point = first.is_some_and(|f| f.contains(&b'.'));
        sniff_lines(Disksim, bytes, if point { 70 } else { 40 })
    },
    sample: || b"0.000000 0 1000 8 1\n12.500000 1 99 16 0\n13.25 0 2000 8 81\n".to_vec(),
};

#[derive(Table)]
#[table(
    model = "DiskSim ascii: time in ms, device, block, count, flags in hex (1 = read)",
    facts = FACTS, build = |format, (input, options)| text(format, input, Times::ORDERED, options)
)]
pub(super) struct Disksim;

impl LineFormat for Disksim {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let (f, count) = words::<6>(line);
        need_columns(count, 5, "time device block count flags")?;
        if count > 5 {
            return Err(record("more than 5 columns", "5 columns"));
        }
        let flags = hexadecimal(f[4]).ok_or_else(|| field(5, "flags", f[4], "a hexadecimal number"))?;
        Ok(Found::Request(Request {
            time: need_time(f[0], 0, "time", 6)?,
            device: need_device(f[1], 1, "device")?,
            lba: Lba(need_integer(f[2], 2, "block")?),
            blocks: need_blocks(f[3], 3, "count")?,
            op: if flags & 1 == 1 { Command::Read } else { Command::Write },
            ..Request::default()
        }))
    }
}
