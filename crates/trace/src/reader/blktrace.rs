//! blktrace's binary records.
//!
//! # Model
//! 48-byte records of either byte order: `u32 magic (0x656174 and version 7), sequence; u64 time
//! in ns, sector; u32 bytes, action, pid, device, cpu; u16 error, pdu_len`, and `pdu_len` bytes
//! that are skipped. The low half of `action` is the event, the high half its flags. One event is read: queue,
//! or that given by `action`. Devices are numbered in order of appearance. A write with the bit of forced unit
//! access is a write-through. Notes are ignored; discards and pass-through are counted as filtered.
//! # Source
//! Linux `include/uapi/linux/blktrace_api.h`.
//! # Validity
//! One processor's file, or several concatenated in time order (sorted within 8192 requests).
//! Version 7 only. The flush before a write with data is left out.

use super::blkparse::{self, Action};
use super::parse::{need_cover, record};
use super::stream::{fill, pass_over, BinaryFormat, Found, Halt, Times};
use super::{binary, Facts};
use crate::request::{Command, Process, Request};
use headstack_schema::Table;
use headstack_units::{Lba, Time};
use std::io::BufRead;

const TIMES: Times = Times { window: 8192, dates: false, spread: false };
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

pub(super) const FACTS: Facts = Facts {
    time_unit: "nanoseconds",
    size_unit: "addresses in 512-byte sectors, sizes in bytes",
    sniff: |bytes, _| match bytes.first_chunk::<4>() {
        Some(b) if u32::from_le_bytes(*b) & !0xff == MAGIC => 100,
        Some(b) if u32::from_be_bytes(*b) & !0xff == MAGIC => 100,
        _ => 0,
    },
    sample: || example(true),
};

#[derive(Table)]
#[table(
    model = "blktrace binary, either byte order",
    example = "action = \"issue\"",
    facts = FACTS, build = |of, (input, options)| binary(Blktrace::new(of.each.action), input, TIMES, options)
)]
pub(super) struct Parameters {
    #[param(flatten)]
    each: blkparse::Parameters,
}

/// Three events (one of another kind, one with a payload) in the given byte order.
pub fn example(little: bool) -> Vec<u8> {
    [
        event(little, (1000, 2048), 4096, 0x0011_0001, 0),
        event(little, (1500, 2048), 4096, 0x0041_0007, 0),
        event(little, (2000, 8), 512, 0x0012_0001, 3),
    ]
    .concat()
}

/// The record of one event: its time and sector, bytes, action, and `pdu` bytes of payload.
pub fn event(little: bool, at: (u64, u64), bytes: u32, action: u32, pdu: u16) -> Vec<u8> {
    let mut fields: Vec<Vec<u8>> = Vec::new();
    let word = |v: u32| if little { v.to_le_bytes() } else { v.to_be_bytes() }.to_vec();
    let long = |v: u64| if little { v.to_le_bytes() } else { v.to_be_bytes() }.to_vec();
    let short = |v: u16| if little { v.to_le_bytes() } else { v.to_be_bytes() }.to_vec();
    fields.extend([word(MAGIC | VERSION), word(1), long(at.0), long(at.1)]);
    fields.extend([bytes, action, 77, 8 << 20, 0].map(word));
    fields.extend([short(0), short(pdu), vec![0; usize::from(pdu)]]);
    fields.concat()
}

struct Blktrace {
    event: u32,
    devices: Vec<u32>,
}

impl Blktrace {
    fn new(action: Action) -> Blktrace {
        Blktrace {
            event: match action {
                Action::Queue => 1,
                Action::Issue => 7,
                Action::Complete => 8,
            },
            devices: Vec::new(),
        }
    }
}

/// The head of a record, in the order of bytes of the machine that wrote it.
struct Head<'b> {
    bytes: &'b [u8; 48],
    is_little: bool,
}

impl Head<'_> {
    fn of(bytes: &[u8; 48]) -> Result<Head<'_>, Halt> {
        let is_little = Head { bytes, is_little: true }.word(0) & !0xff == MAGIC;
        let head = Head { bytes, is_little };
        match head.word(0) {
            magic if magic == MAGIC | VERSION => Ok(head),
            magic => Err(Halt::Lost(record(format!("magic {magic:#010x}"), format!("{:#010x}", MAGIC | VERSION)))),
        }
    }

    /// The number of `N` bytes at a place.
    fn long_of<const N: usize>(&self, at: usize) -> u64 {
        let mut all = [0; 8];
        all[..N].copy_from_slice(&self.bytes[at..at + N]);
        if !self.is_little {
            all[..N].reverse();
        }
        u64::from_le_bytes(all)
    }

    fn half(&self, at: usize) -> u16 {
        self.long_of::<2>(at) as u16
    }

    fn word(&self, at: usize) -> u32 {
        self.long_of::<4>(at) as u32
    }

    fn long(&self, at: usize) -> u64 {
        self.long_of::<8>(at)
    }
}

impl BinaryFormat for Blktrace {
    fn record<R: BufRead>(&mut self, input: &mut R) -> Result<Option<Found>, Halt> {
        let mut b = [0u8; 48];
        if !fill(input, &mut b)? {
            return Ok(None);
        }
        let head = Head::of(&b)?;
        let (word, long) = (|at| head.word(at), |at| head.long(at));
        pass_over(input, u64::from(head.half(46)))?;
        let action = word(28);
        // An event with a control group has 0x100 added, and the group in its payload.
        let (event, kind) = (action & 0xfeff, action >> 16);
        // The events of NOTIFY records have their own numbers.
        if kind & 0x400 != 0 || event != self.event {
            return Ok(Some(Found::Nothing));
        }
        // Pass-through (0x200) and discard (0x2000).
        if kind & 0x2200 != 0 {
            return Ok(Some(Found::Other));
        }
        let size = word(24);
        let op = if kind & 0x8002 == 0x8002 && size > 0 {
            Command::WriteThrough
        } else if kind & 0x2 != 0 && size > 0 {
            Command::Write
        } else if kind & 0x4 != 0 && size == 0 {
            Command::Flush
        } else if kind & 0x2 != 0 {
            Command::Write
        } else {
            Command::Read
        };
        let number = word(36);
        let device = match self.devices.iter().position(|&d| d == number) {
            Some(i) => i,
            None if self.devices.len() >= 4096 => {
                return Err(Halt::Wrong(record("more devices", "at most 4096 devices")))
            }
            None => {
                self.devices.push(number);
                self.devices.len() - 1
            }
        };
        let (_, blocks) = need_cover(0, u64::from(size)).map_err(Halt::Wrong)?;
        Ok(Some(Found::Request(Request {
            time: Time(long(8)),
            device: device as u32,
            lba: Lba(long(16)),
            blocks,
            op,
            process: Process(word(32)),
            ..Request::default()
        })))
    }
}
