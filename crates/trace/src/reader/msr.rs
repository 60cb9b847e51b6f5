//! MSR Cambridge traces.
//!
//! # Model
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: times in ticks of 100 ns since
//! 1601, offset and size in bytes. The device is the disk number.
//! # Source
//! Narayanan, Donnelly & Rowstron, "Write off-loading", FAST 2008; SNIA IOTTA trace set 388.
//! # Validity
//! Not strictly sorted: sorted within 8192 requests. One host per trace, because disks of two hosts may have
//! the same number: another host name is an error.

use super::parse::{
    by_bytes, need_columns, need_device, need_integer, need_read_or_write, quote, record, split, trim, Parsed,
};
use super::stream::{Found, LineFormat, Times};
use super::{sniff_lines, text, Facts};
use headstack_schema::Table;
use headstack_units::Time;

const FACTS: Facts = Facts {
    time_unit: "100 ns since 1601",
    size_unit: "bytes",
    sniff: |bytes, _| sniff_lines(Msr::default(), bytes, 85),
    sample: || {
        b"128166385295514663,hm,0,Write,9056014336,2048,2833\n\
      128166385295514070,hm,1,Read,11855351808,512,2617\n"
            .to_vec()
    },
};

#[derive(Default, Table)]
#[table(
    model = "MSR Cambridge: ticks of 100 ns,host,disk,type,offset,size,response",
    facts = FACTS, build = |format, (input, options)| text(format, input, Times::UNORDERED_DATES, options)
)]
pub(super) struct Msr {
    #[param(skip)]
    host: Vec<u8>,
}

impl LineFormat for Msr {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let (f, count) = split::<7>(line, b',');
        need_columns(count, 7, "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime")?;
        let ticks = need_integer(f[0], 0, "Timestamp")?;
        let time =
            ticks.checked_mul(100).ok_or_else(|| record(format!("Timestamp {ticks}"), "a time below 2^64 ns"))?;
        if self.host != f[1] {
            if !self.host.is_empty() {
                return Err(record(
                    format!("host {:?}", quote(f[1])),
                    format!("one host per trace, {:?} before", quote(&self.host)),
                ));
            }
            self.host = f[1].to_vec();
        }
        let device = need_device(f[2], 2, "DiskNumber")?;
        let op = need_read_or_write(f[3], 3, "Type")?;
        let offset = need_integer(f[4], 4, "Offset")?;
        let size = need_integer(trim(f[5]), 5, "Size")?;
        let request = by_bytes(Time(time), device, op, offset, size)?;
        Ok(request.map_or(Found::Nothing, Found::Request))
    }
}
