//! The text formats: `csv`, `spc`, `disksim` (exact to the nanosecond) and `fio-iolog` version 3
//! (times rounded down to microseconds).

use super::TraceWriter;
use crate::error::TraceError;
use crate::request::{Command, Request};
use std::collections::HashSet;
use std::io::Write;

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Named columns.
    Csv,
    /// SPC/UMass. Reads and writes only.
    Spc,
    /// DiskSim ascii. Reads and writes only.
    Disksim,
    /// fio I/O log version 3; device `i` is the file `device<i>`. No write-through.
    FioIolog,
}

impl Style {
    /// The format with this name.
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

impl Style {
    /// Whether the format can represent this operation.
    fn holds(self, op: Command) -> bool {
        match op {
            Command::Read | Command::Write => true,
            Command::WriteThrough => self == Style::Csv,
            // No reader knows it.
            Command::ReadThrough => false,
            Command::Flush => matches!(self, Style::Csv | Style::FioIolog),
        }
    }
}

/// Writes one of the text formats.
pub struct TextWriter<W: Write> {
    style: Style,
    output: W,
    path: String,
    number: u64,
    /// Whether the first line is written.
    begun: bool,
    added: HashSet<u32>,
}

impl<W: Write> TextWriter<W> {
    /// A new file on `output`; `path` is for error messages.
    pub fn new(style: Style, output: W, path: &str) -> Self {
        TextWriter { style, output, path: path.to_string(), number: 0, begun: false, added: HashSet::new() }
    }

    /// Writes the header of the format, once.
    fn begin(&mut self) -> std::io::Result<()> {
        match self.style {
            _ if std::mem::replace(&mut self.begun, true) => Ok(()),
            Style::Csv => writeln!(self.output, "time_ns,device,lba,blocks,op"),
            Style::FioIolog => writeln!(self.output, "fio version 3 iolog"),
            Style::Spc | Style::Disksim => Ok(()),
        }
    }

    fn line(&mut self, r: &Request) -> std::io::Result<()> {
        self.begin()?;
        let out = &mut self.output;
        let (time, device, lba) = (r.time.0, r.device, r.lba.0);
        let size = u64::from(r.blocks) * 512;
        match self.style {
            Style::Csv => {
                let op = r.op.name();
                writeln!(out, "{time},{device},{lba},{},{op}", r.blocks)
            }
            Style::Spc => {
                let op = if r.op == Command::Read { 'R' } else { 'W' };
                let (s, ns) = (time / 1_000_000_000, time % 1_000_000_000);
                writeln!(out, "{device},{lba},{size},{op},{s}.{ns:09}")
            }
            Style::Disksim => {
                let (ms, ns) = (time / 1_000_000, time % 1_000_000);
                let flag = u8::from(r.op == Command::Read);
                writeln!(out, "{ms}.{ns:06} {device} {lba} {} {flag}", r.blocks)
            }
            Style::FioIolog => {
                let us = time / 1000;
                if self.added.insert(device) {
                    writeln!(out, "{us} device{device} add\n{us} device{device} open")?;
                }
                let offset = u128::from(lba) * 512;
                match r.op {
                    Command::Flush => writeln!(out, "{us} device{device} sync 0 0"),
                    op => writeln!(out, "{us} device{device} {} {offset} {size}", op.name()),
                }
            }
        }
    }
}

impl<W: Write + Send> TraceWriter for TextWriter<W> {
    fn write(&mut self, request: &Request) -> Result<(), TraceError> {
        self.number += 1;
        if !self.style.holds(request.op) {
            return Err(TraceError::Record {
                path: self.path.clone(),
                line: self.number,
                got: format!("a {}", request.op.name()),
                need: "what this format can say; hint: csv and parquet hold all operations".to_string(),
            });
        }
        self.line(request).map_err(|source| TraceError::Io { path: self.path.clone(), source })
    }
    fn finish(mut self: Box<Self>) -> Result<(), TraceError> {
        self.begin()
            .and_then(|()| self.output.flush())
            .map_err(|source| TraceError::Io { path: self.path.clone(), source })
    }
}
