//! A record of what clients asked for: a trace that the simulator reads, with the times of the emulated drive.

use crate::devices::BLOCK;
use crate::live::Access;
use crate::LiveError;
use headstack_drive::{Command, Hint};
use headstack_trace::{Ioprio, IoprioClass};
use headstack_units::Time;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A trace of columns, in order of the ends of requests.
pub struct Record {
    file: BufWriter<File>,
    path: PathBuf,
    /// There is a column of I/O priorities.
    with_priorities: bool,
}

impl Record {
    /// Begins a record; with I/O priorities if requests can name duration limits.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn new(path: &Path, with_priorities: bool) -> Result<Record, LiveError> {
        let file = File::create(path).map_err(|e| unwritten(path, &e))?;
        let mut record = Record {
            file: BufWriter::new(file),
            path: path.into(),
            with_priorities,
        };
        let more = if with_priorities { ",ioprio" } else { "" };
        record.line(format_args!(
            "time_ns,device,lba,blocks,op,response_ns{more}\n"
        ))?;
        Ok(record)
    }

    /// Adds a request.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, access: &Access, arrival: Time, end: Time) -> Result<(), LiveError> {
        let first = access.offset / BLOCK;
        let last = (access.offset + access.length).div_ceil(BLOCK);
        let (op, first, blocks) = match access.command {
            Command::Read => ("R", first, last - first),
            Command::Flush => ("F", 0, 0),
            Command::Write | Command::WriteThrough => ("W", first, last - first),
        };
        let response = end.0.saturating_sub(arrival.0);
        self.line(format_args!(
            "{},{},{first},{blocks},{op},{response}",
            arrival.0, access.device
        ))?;
        match self.with_priorities {
            true => self.line(format_args!(",{}\n", priority(access.hint).0)),
            false => self.line(format_args!("\n")),
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), LiveError> {
        self.file.flush().map_err(|e| unwritten(&self.path, &e))
    }

    fn line(&mut self, line: std::fmt::Arguments) -> Result<(), LiveError> {
        let written = self.file.write_fmt(line);
        written.map_err(|e| unwritten(&self.path, &e))
    }
}

/// The I/O priority with which Linux names a duration limit.
fn priority(hint: Hint) -> Ioprio {
    let limit = match hint {
        Hint::Limit(limit) => Ioprio::of(IoprioClass::BestEffort, 0, limit.number().into()),
        _ => None,
    };
    limit.unwrap_or(Ioprio::NONE)
}

fn unwritten(path: &Path, e: &std::io::Error) -> LiveError {
    LiveError::Record {
        path: path.into(),
        why: e.to_string(),
    }
}
