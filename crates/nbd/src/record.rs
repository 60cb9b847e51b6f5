//! A record of what clients asked for: a trace that the simulator reads, with the times of the emulated drive.

use crate::devices::BLOCK;
use crate::protocol::command;
use crate::session::Request;
use crate::ServeError;
use headstack_units::Time;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A trace of columns, in order of the ends of requests.
pub struct Record {
    file: BufWriter<File>,
    path: PathBuf,
}

impl Record {
    /// Begins a record.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn new(path: &Path) -> Result<Record, ServeError> {
        let file = File::create(path).map_err(|e| unwritten(path, &e))?;
        let mut record = Record {
            file: BufWriter::new(file),
            path: path.into(),
        };
        record.line(format_args!("time_ns,device,lba,blocks,op,response_ns\n"))?;
        Ok(record)
    }

    /// Adds a request.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(
        &mut self,
        device: usize,
        request: &Request,
        arrival: Time,
        end: Time,
    ) -> Result<(), ServeError> {
        let first = request.offset / BLOCK;
        let last = (request.offset + u64::from(request.length)).div_ceil(BLOCK);
        let (op, first, blocks) = match request.command {
            command::READ => ("R", first, last - first),
            command::FLUSH => ("F", 0, 0),
            _ => ("W", first, last - first),
        };
        let response = end.0.saturating_sub(arrival.0);
        self.line(format_args!(
            "{},{device},{first},{blocks},{op},{response}\n",
            arrival.0
        ))
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), ServeError> {
        self.file.flush().map_err(|e| unwritten(&self.path, &e))
    }

    fn line(&mut self, line: std::fmt::Arguments) -> Result<(), ServeError> {
        let written = self.file.write_fmt(line);
        written.map_err(|e| unwritten(&self.path, &e))
    }
}

fn unwritten(path: &Path, e: &std::io::Error) -> ServeError {
    ServeError::Record {
        path: path.into(),
        why: e.to_string(),
    }
}
