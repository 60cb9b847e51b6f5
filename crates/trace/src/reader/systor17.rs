//! Systor '17 traces (enterprise virtual desktops).
//!
//! # Model
//! A header line, then `Timestamp,Response,IOType,LUN,Offset,Size`: seconds since 1970 (nine
//! digits, microseconds valid), bytes. The device is the LUN. Lines with an empty IOType (no response was
//! recorded) are counted as filtered, because their direction is unknown.
//! # Source
//! Lee, Kumano, Matsuki, Endo, Fukumoto & Sugawara, SYSTOR 2017; SNIA IOTTA trace set 4964.
//! # Validity
//! Ordered by completion, not by arrival: sorted within 8192 requests. Packets were lost at each
//! change of hour.

use super::parse::{
    by_bytes, need_columns, need_device, need_integer, need_read_or_write, need_time, split, trim, Parsed,
};
use super::stream::{Found, LineFormat, Times};
use super::{text, Facts};
use headstack_schema::Table;

const HEADER: &[u8] = b"Timestamp,Response,IOType,LUN,Offset,Size";

const FACTS: Facts = Facts {
    time_unit: "seconds",
    size_unit: "bytes",
    sniff: |bytes, _| if bytes.starts_with(HEADER) { 95 } else { 0 },
    sample: || {
        b"Timestamp,Response,IOType,LUN,Offset,Size\n\
      1456095145.133076000,0.000806000,R,0,899056122368,131072\n\
      1456095145.126285000,,,0,899056122368,131072\n\
      1456095145.126285000,0.008044000,W,4,4256049987072,122880\n"
            .to_vec()
    },
};

#[derive(Table)]
#[table(
    model = "Systor '17: seconds,response,type,LUN,offset,size, with a header",
    facts = FACTS, build = |format, (input, options)| text(format, input, Times::UNORDERED_DATES, options)
)]
pub(super) struct Systor;

impl LineFormat for Systor {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        if line.starts_with(b"Timestamp") {
            return Ok(Found::Nothing);
        }
        let (f, count) = split::<6>(line, b',');
        need_columns(count, 6, "Timestamp,Response,IOType,LUN,Offset,Size")?;
        if trim(f[2]).is_empty() {
            return Ok(Found::Other);
        }
        let time = need_time(f[0], 0, "Timestamp", 9)?;
        let op = need_read_or_write(f[2], 2, "IOType")?;
        let device = need_device(f[3], 3, "LUN")?;
        let offset = need_integer(f[4], 4, "Offset")?;
        let size = need_integer(trim(f[5]), 5, "Size")?;
        let request = by_bytes(time, device, op, offset, size)?;
        Ok(request.map_or(Found::Nothing, Found::Request))
    }
}
