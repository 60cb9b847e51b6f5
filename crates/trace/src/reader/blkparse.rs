//! The text output of `blkparse`.
//!
//! # Model
//! `maj,min cpu sequence seconds pid action rwbs sector + count [process]`, sectors of 512 bytes.
//! One event of each request is read: `Q` (it entered the block layer), or that given by `action`; reading
//! several would multiply the load. Devices are numbered in the order of appearance. A flush without data (`F…`
//! without `+`) is a flush; an `F` after the `W` of a write is forced unit access; discards and pass-through
//! are counted as filtered.
//! # Source
//! `blkparse(1)`, "Default output"; `blkparse_fmt.c`.
//! # Validity
//! Lines of several processors may be out of order: sorted within 8192 requests. The summary at the end is
//! ignored. A file with events, but not the selected one, is an error. The flush before a write with data (`F`
//! before the `W`) is left out.

use super::parse::{field, need_blocks, need_integer, need_process, need_time, record, words, Parsed};
use super::stream::{Found, LineFormat, Times};
use super::{text, Facts};
use crate::request::{Command, Request};
use headstack_schema::{Choice, Table};
use headstack_units::Lba;

const TIMES: Times = Times { window: 8192, dates: false, spread: false };

pub(super) const FACTS: Facts = Facts {
    time_unit: "seconds",
    size_unit: "512-byte sectors",
    sniff: |bytes, _| {
        let mut fits = 0;
        for line in bytes.split(|&b| b == b'\n').take(8) {
            let (f, count) = words::<6>(line);
            if count == 6 && device_text(f[0]) && f[5].len() <= 2 && f[3].contains(&b'.') {
                fits += 1;
            }
        }
        if fits > 0 {
            90
        } else {
            0
        }
    },
    sample: || {
        b"  8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]\n\
        8,0    3        2     0.000001829   697  G   W 223490 + 8 [kjournald]\n\
        8,16   1        3     0.000010000   697  Q   R 100 + 16 [my reader]\n\
        8,0    1        4     0.000020000   697  Q FWS [sync]\n\
      CPU0 (sda):\n Reads Queued: 1, 8KiB\n"
            .to_vec()
    },
};

fn device_text(text: &[u8]) -> bool {
    let mut parts = text.splitn(2, |&b| b == b',');
    let digits = |p: Option<&[u8]>| p.is_some_and(|p| !p.is_empty() && p.iter().all(u8::is_ascii_digit));
    digits(parts.next()) && digits(parts.next())
}

/// The event of a block-layer trace that is read as the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub(crate) enum Action {
    /// `Q`: it entered the block layer.
    #[default]
    Queue,
    /// `D`: it was sent to the driver.
    Issue,
    /// `C`: it was completed.
    Complete,
}

impl Action {
    /// Its letter in the output of `blkparse`.
    fn letter(self) -> u8 {
        match self {
            Action::Queue => b'Q',
            Action::Issue => b'D',
            Action::Complete => b'C',
        }
    }
}

/// Parameters of this format and of `blktrace`.
#[derive(Default, Table)]
#[table(
    default,
    model = "blkparse text output (events Q, or others on request)",
    example = "action = \"issue\"",
    facts = FACTS, build = |Self { action }, (input, options)| text(Blkparse::new(action), input, TIMES, options)
)]
pub(crate) struct Parameters {
    /// The event that is read as the request.
    pub(crate) action: Action,
}

struct Blkparse {
    action: u8,
    devices: Vec<Vec<u8>>,
    ended: bool,
    wanted: u64,
    others: u64,
}

const MAX_DEVICES: usize = 4096;

impl Blkparse {
    fn new(action: Action) -> Blkparse {
        Blkparse { action: action.letter(), devices: Vec::new(), ended: false, wanted: 0, others: 0 }
    }
    fn device(&mut self, name: &[u8]) -> Parsed<u32> {
        if let Some(i) = self.devices.iter().position(|d| d == name) {
            return Ok(i as u32);
        }
        if self.devices.len() >= MAX_DEVICES {
            return Err(field(1, "device", name, "at most 4096 devices"));
        }
        self.devices.push(name.to_vec());
        Ok(self.devices.len() as u32 - 1)
    }
}

impl LineFormat for Blkparse {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        if self.ended {
            return Ok(Found::End);
        }
        let (f, count) = words::<10>(line);
        if f[0].starts_with(b"CPU") || f[0] == b"Total" {
            self.ended = true;
            return Ok(Found::End);
        }
        if !device_text(f[0]) {
            return Err(field(1, "device", f[0], "two numbers with a comma"));
        }
        if count < 6 {
            return Err(record(format!("{count} columns"), "at least 6 columns"));
        }
        if f[5] != [self.action] {
            self.others += 1;
            return Ok(Found::Nothing);
        }
        self.wanted += 1;
        let time = need_time(f[3], 3, "time", 9)?;
        let rwbs = f[6];
        let device = self.device(f[0])?;
        let process = need_process(need_integer(f[4], 4, "pid")?)?;
        let data = rwbs.strip_prefix(b"F").unwrap_or(rwbs);
        let op = match data.first() {
            Some(b'R') => Command::Read,
            Some(b'W') if data[1..].contains(&b'F') => Command::WriteThrough,
            Some(b'W') => Command::Write,
            Some(b'D' | b'N') => return Ok(Found::Other),
            _ if rwbs.starts_with(b"F") => Command::Flush,
            _ => return Err(field(7, "rwbs", rwbs, "letters of which one is R, W, D, N or F")),
        };
        if count < 10 || f[8] != b"+" {
            if rwbs.starts_with(b"F") {
                return Ok(Found::Request(Request {
                    time,
                    device,
                    lba: Lba(0),
                    blocks: 0,
                    op: Command::Flush,
                    process,
                    ..Request::default()
                }));
            }
            // Pass-through commands carry data but no address.
            return Ok(Found::Other);
        }
        let lba = need_integer(f[7], 7, "sector")?;
        let blocks = need_blocks(f[9], 9, "count")?;
        let op = if blocks == 0 && rwbs.starts_with(b"F") { Command::Flush } else { op };
        Ok(Found::Request(Request { time, device, lba: Lba(lba), blocks, op, process, ..Request::default() }))
    }

    fn finish(&mut self) -> Parsed<()> {
        if self.wanted == 0 && self.others > 0 {
            return Err(record(
                format!("no event {:?}, {} others", char::from(self.action), self.others),
                "events of the kind asked for; hint: format_parameters = { action = \"issue\" } \
                 (--format-parameter action=issue) takes D",
            ));
        }
        Ok(())
    }
}
