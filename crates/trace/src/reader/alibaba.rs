//! Alibaba block traces of 2020.
//!
//! # Model
//! `device_id,opcode,offset,length,timestamp`: bytes, microseconds since 1970, opcode `R` or `W`.
//! # Source
//! Li, Wang, Lee, Shi & Wu, IISWC 2020; `alibaba/block-traces`, README.
//! # Validity
//! Sorted within 8192 requests; device sizes are in a separate file.

use super::parse::{
    by_bytes, need_columns, need_device, need_integer, need_read_or_write, need_time, split, trim, Parsed,
};
use super::stream::{Found, LineFormat, Times};
use super::{sniff_lines, text, Facts};
use headstack_schema::Table;

const FACTS: Facts = Facts {
    time_unit: "microseconds",
    size_unit: "bytes",
    sniff: |bytes, _| sniff_lines(Alibaba, bytes, 80),
    sample: || b"419,W,8792731648,16384,1577808144360767\n725,R,59110326272,360448,1577808144360813\n".to_vec(),
};

#[derive(Table)]
#[table(
    model = "Alibaba 2020: device,op,offset,length,microseconds",
    facts = FACTS, build = |format, (input, options)| text(format, input, Times::UNORDERED_DATES, options)
)]
pub(super) struct Alibaba;

impl LineFormat for Alibaba {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        if line.starts_with(b"device_id") {
            return Ok(Found::Nothing);
        }
        let (f, count) = split::<5>(line, b',');
        need_columns(count, 5, "device_id,opcode,offset,length,timestamp")?;
        let device = need_device(f[0], 0, "device_id")?;
        let op = need_read_or_write(f[1], 1, "opcode")?;
        let offset = need_integer(f[2], 2, "offset")?;
        let size = need_integer(f[3], 3, "length")?;
        let time = need_time(trim(f[4]), 4, "timestamp", 3)?;
        let request = by_bytes(time, device, op, offset, size)?;
        Ok(request.map_or(Found::Nothing, Found::Request))
    }
}
