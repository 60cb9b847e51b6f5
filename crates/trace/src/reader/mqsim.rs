//! MQSim's ascii traces.
//!
//! # Model
//! `time device lba sectors type`, separated by blanks: time in nanoseconds, sectors of 512
//! bytes, type 1 = read, 0 = write.
//! # Source
//! MQSim, `traces/README`.
//! # Validity
//! Times must not decrease.

use super::parse::{field, need_blocks, need_columns, need_device, need_integer, record, words, Parsed};
use super::stream::{Found, LineFormat, Times};
use super::{sniff_lines, text, Facts};
use crate::request::{Command, Request};
use headstack_schema::Table;
use headstack_units::{Lba, Time};

const FACTS: Facts = Facts {
    time_unit: "nanoseconds",
    size_unit: "512-byte blocks",
    sniff: |bytes, _| sniff_lines(Mqsim, bytes, 60),
    sample: || b"11413000 0 657728 16 1\n11565000 1 31244784 64 0\n".to_vec(),
};

#[derive(Table)]
#[table(
    model = "MQSim: time in ns, device, LBA, sectors, 1 = read",
    facts = FACTS, build = |format, (input, options)| text(format, input, Times::ORDERED, options)
)]
pub(super) struct Mqsim;

impl LineFormat for Mqsim {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        let (f, count) = words::<6>(line);
        need_columns(count, 5, "time device lba sectors type")?;
        if count > 5 {
            return Err(record("more than 5 columns", "5 columns"));
        }
        let op = match f[4] {
            b"1" => Command::Read,
            b"0" => Command::Write,
            other => return Err(field(5, "type", other, "1 (read) or 0 (write)")),
        };
        Ok(Found::Request(Request {
            time: Time(need_integer(f[0], 0, "time")?),
            device: need_device(f[1], 1, "device")?,
            lba: Lba(need_integer(f[2], 2, "lba")?),
            blocks: need_blocks(f[3], 3, "sectors")?,
            op,
            ..Request::default()
        }))
    }
}
