//! The text formats: `csv`, `spc`, `disksim` (exact to the nanosecond) and `fio-iolog` version 3
//! (times rounded down to microseconds).

use super::TraceWriter;
use crate::error::TraceError;
use crate::request::{Op, Request};
use std::collections::HashSet;
use std::io::Write;

/// Which text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Named columns.
    Csv,
    /// SPC/UMass. Holds no flush.
    Spc,
    /// DiskSim ascii. Holds no flush.
    Disksim,
    /// fio I/O log version 3; device `i` is the file `device<i>`.
    FioIolog,
}

impl Style {
    /// By the name of its format.
    pub fn named(name: &str) -> Option<Style> {
        match name {
            "csv" => Some(Style::Csv),
            "spc" => Some(Style::Spc),
            "disksim" => Some(Style::Disksim),
            "fio-iolog" => Some(Style::FioIolog),
            _ => None,
        }
    }
}

/// Writes one of the text formats.
pub struct TextWriter<W: Write> {
    style: Style,
    output: W,
    path: String,
    number: u64,
    added: HashSet<u32>,
}

impl<W: Write> TextWriter<W> {
    /// A new file on `output`; `path` is for messages.
    pub fn new(style: Style, output: W, path: &str) -> Self {
        TextWriter {
            style,
            output,
            path: path.to_string(),
            number: 0,
            added: HashSet::new(),
        }
    }

    fn line(&mut self, r: &Request) -> std::io::Result<()> {
        let out = &mut self.output;
        let (time, device, lba) = (r.time.0, r.device, r.lba.0);
        let size = u64::from(r.blocks) * 512;
        match self.style {
            Style::Csv => {
                if self.number == 1 {
                    writeln!(out, "time_ns,device,lba,blocks,op")?;
                }
                let op = match r.op {
                    Op::Read => "read",
                    Op::Write => "write",
                    Op::Flush => "flush",
                };
                writeln!(out, "{time},{device},{lba},{},{op}", r.blocks)
            }
            Style::Spc => {
                let op = if r.op == Op::Read { 'R' } else { 'W' };
                let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
                writeln!(out, "{device},{lba},{size},{op},{s}.{ns:09}")
            }
            Style::Disksim => {
                let (ms, ns) = (time / 1_000_000, time % 1_000_000);
                let flag = u8::from(r.op == Op::Read);
                writeln!(out, "{ms}.{ns:06} {device} {lba} {} {flag}", r.blocks)
            }
            Style::FioIolog => {
                if self.number == 1 {
                    writeln!(out, "fio version 3 iolog")?;
                }
                let us = time / 1000;
                if self.added.insert(device) {
                    writeln!(out, "{us} device{device} add\n{us} device{device} open")?;
                }
                let offset = u128::from(lba) * 512;
                match r.op {
                    Op::Read => writeln!(out, "{us} device{device} read {offset} {size}"),
                    Op::Write => writeln!(out, "{us} device{device} write {offset} {size}"),
                    Op::Flush => writeln!(out, "{us} device{device} sync 0 0"),
                }
            }
        }
    }
}

impl<W: Write + Send> TraceWriter for TextWriter<W> {
    fn write(&mut self, request: &Request) -> Result<(), TraceError> {
        self.number += 1;
        if request.op == Op::Flush && matches!(self.style, Style::Spc | Style::Disksim) {
            return Err(TraceError::Record {
                path: self.path.clone(),
                line: self.number,
                got: "a flush".to_string(),
                need: "reads and writes in this format; hint: csv and parquet hold flushes"
                    .to_string(),
            });
        }
        self.line(request).map_err(|source| TraceError::Io {
            path: self.path.clone(),
            source,
        })
    }
    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        let mut empty = Ok(());
        if self.number == 0 {
            empty = match self.style {
                Style::Csv => writeln!(self.output, "time_ns,device,lba,blocks,op"),
                Style::FioIolog => writeln!(self.output, "fio version 3 iolog"),
                _ => Ok(()),
            };
        }
        empty
            .and_then(|()| self.output.flush())
            .map_err(|source| TraceError::Io {
                path: self.path.clone(),
                source,
            })
    }
}
