//! fio's I/O logs, versions 2 and 3.
//!
//! # Model
//! Version 2: a line `fio version 2 iolog`, then `file action [offset length]`, with `wait` lines
//! between; version 3: `timestamp file action [offset length]`. Bytes. Timestamps of version 3 are
//! microseconds since the log began. `read` and `write` are requests, `sync` and `datasync` are
//! flushes, `trim` is counted as filtered. The device is the position of the file in the order of `add`.
//! # Source
//! fio `HOWTO`, "Trace file format v2/v3", and `iolog.c`, which disagree on `wait`: in the code it is
//! milliseconds since the start, in the manual microseconds since the wait before. Ours follows the code; `wait
//! = "microseconds-since-wait"` follows the manual. `wait` is ignored in version 3, as by fio.
//! # Validity
//! A file must be added before it is used. At most 65,536 files.

use super::parse::{by_bytes, field, need_columns, need_integer, need_time, record, words, Parsed};
use super::stream::{Found, LineFormat, Times};
use super::{text, Facts};
use crate::options::{Counters, Tally};
use crate::request::{Command, Request};
use headstack_schema::{Choice, Table};
use headstack_units::{Lba, Time};
use std::collections::HashMap;

const FACTS: Facts = Facts {
    time_unit: "version 2: milliseconds since the start, or what `wait` says; version 3: microseconds",
    size_unit: "bytes",
    sniff: |bytes, _| {
        if bytes.starts_with(b"fio version ") && bytes[12..].contains(&b'i') {
            100
        } else {
            0
        }
    },
    sample: || {
        b"fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n10 /dev/sda write 4096 8192\n\
      25 /dev/sda read 0 512\n25 /dev/sda sync 0 0\n30 /dev/sda close\n"
            .to_vec()
    },
};

/// The meaning of `wait` in version 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
enum Wait {
    /// Milliseconds since the start, as in fio's code.
    #[default]
    MillisecondsSinceStart,
    /// Microseconds, those under 100 left out, as in fio's manual.
    MicrosecondsSinceWait,
}

#[derive(Default, Table)]
#[table(
    default,
    model = "fio I/O log, versions 2 and 3",
    example = "wait = \"microseconds-since-wait\"",
    facts = FACTS,
    build = |Self { wait }, (input, options)| {
        text(Iolog::new(wait, options.counters.clone()), input, Times::ORDERED, options)
    }
)]
pub(super) struct Parameters {
    /// What a wait in a log of version 2 means.
    wait: Wait,
}

const MAX_FILES: usize = 65_536;

struct Iolog {
    version: u8,
    wait: Wait,
    now: Time,
    files: HashMap<Vec<u8>, u32>,
    counters: Counters,
}

impl Iolog {
    fn new(wait: Wait, counters: Counters) -> Iolog {
        Iolog { counters, version: 0, wait, now: Time::ZERO, files: HashMap::new() }
    }

    fn wait(&mut self, text: &[u8]) -> Parsed<Found> {
        let count = need_integer(text, 2, "wait")?;
        let too_long = || field(3, "wait", text, "a time below 2^64 ns");
        self.now = match self.wait {
            Wait::MillisecondsSinceStart => {
                let at = count.checked_mul(1_000_000).ok_or_else(too_long)?;
                if at < self.now.0 {
                    self.counters.add(&Tally { earlier_waits: 1, ..Tally::default() });
                }
                // If the time of a wait has passed, there is no wait.
                self.now.max(Time(at))
            }
            Wait::MicrosecondsSinceWait if count < 100 => self.now,
            Wait::MicrosecondsSinceWait => {
                count.checked_mul(1000).and_then(|ns| self.now.0.checked_add(ns)).map(Time).ok_or_else(too_long)?
            }
        };
        Ok(Found::Nothing)
    }
}

impl LineFormat for Iolog {
    fn line(&mut self, line: &[u8]) -> Parsed<Found> {
        if self.version == 0 {
            self.version = match line.trim_ascii_end() {
                b"fio version 2 iolog" => 2,
                b"fio version 3 iolog" => 3,
                other => {
                    return Err(record(
                        format!("{:?}", super::parse::quote(other)),
                        "\"fio version 2 iolog\" or \"fio version 3 iolog\"",
                    ))
                }
            };
            return Ok(Found::Nothing);
        }
        let (mut f, mut count) = words::<5>(line);
        let mut first = 0;
        let mut time = self.now;
        if self.version == 3 {
            time = need_time(f[0], 0, "timestamp", 3)?;
            first = 1;
            f.rotate_left(1);
            count -= 1;
        }
        need_columns(count, 2, "file action [offset length]")?;
        let op = match f[1] {
            b"wait" if self.version == 3 => return Ok(Found::Nothing),
            b"wait" => return self.wait(f[2]),
            b"add" => {
                if self.files.len() >= MAX_FILES && !self.files.contains_key(f[0]) {
                    return Err(record("more files", format!("at most {MAX_FILES} files")));
                }
                let next = self.files.len() as u32;
                self.files.entry(f[0].to_vec()).or_insert(next);
                return Ok(Found::Nothing);
            }
            b"open" | b"close" => return Ok(Found::Nothing),
            b"trim" => return Ok(Found::Other),
            b"read" => Command::Read,
            b"write" => Command::Write,
            b"sync" | b"datasync" | b"syncfs" | b"sync_file_range" => Command::Flush,
            other => {
                return Err(field(
                    first + 2,
                    "action",
                    other,
                    "one of add, open, close, read, write, sync, datasync, trim, wait",
                ))
            }
        };
        let device =
            *self.files.get(f[0]).ok_or_else(|| field(first + 1, "file", f[0], "a file that was added before"))?;
        if op == Command::Flush {
            return Ok(Found::Request(Request { time, device, lba: Lba(0), blocks: 0, op, ..Request::default() }));
        }
        need_columns(count, 4, "file action offset length")?;
        let offset = need_integer(f[2], first + 2, "offset")?;
        let size = need_integer(f[3], first + 3, "length")?;
        let request = by_bytes(time, device, op, offset, size)?;
        Ok(request.map_or(Found::Nothing, Found::Request))
    }
}
