//! A record of what clients asked for: a trace that the simulator reads, with the times of the emulated drive.
//!
//! Rows are in order of arrival: one waits until all earlier requests have ended. If one takes so long that very many wait
//! for it, its row is written without a response time.

use crate::devices::BLOCK;
use crate::live::Access;
use crate::TargetError;
use headstack_drive::{Command, Hint};
use headstack_trace::{Ioprio, IoprioClass};
use headstack_units::Time;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Requests that have ended wait for at most so many earlier ones to end.
pub const MOST_WAITING: usize = 1 << 17;
/// Bytes of lines that are written at once.
const AT_ONCE: usize = 8 << 10;

/// A trace of columns, in order of the arrivals of requests. It grows by whole lines.
pub struct Record {
    file: File,
    path: PathBuf,
    /// There is a column of I/O priorities.
    with_priorities: bool,
    /// Requests without a line, in order, and the number of the first one.
    waiting: VecDeque<Row>,
    first: u64,
    /// Lines that are not in the file yet.
    lines: String,
    /// Bytes of the lines that are.
    bytes: u64,
}

struct Row {
    access: Access,
    arrival: Time,
    /// When it ended; `Some(None)` if it was lost.
    end: Option<Option<Time>>,
}

impl Record {
    /// Begins a record; with I/O priorities if requests can name duration limits.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn new(path: &Path, with_priorities: bool) -> Result<Record, TargetError> {
        let file = File::create(path).map_err(|e| unwritten(path, &e))?;
        let more = if with_priorities { ",ioprio" } else { "" };
        Ok(Record {
            file,
            path: path.into(),
            with_priorities,
            waiting: VecDeque::new(),
            first: 1,
            lines: format!("time_ns,device,lba,blocks,op,response_ns{more}\n"),
            bytes: 0,
        })
    }

    /// A request arrives. Requests have numbers in this order, from 1 on.
    pub fn begin(&mut self, access: &Access, arrival: Time) {
        self.waiting.push_back(Row { access: *access, arrival, end: None });
    }

    /// Request `number` has ended; `None`: it was lost, and gets no line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn end(&mut self, number: u64, at: Option<Time>) -> Result<(), TargetError> {
        let place = number.checked_sub(self.first).map(|i| i as usize);
        // One that took too long has a line already.
        if let Some(row) = place.and_then(|i| self.waiting.get_mut(i)) {
            row.end = Some(at);
        }
        let is_full = |all: &VecDeque<Row>| all.len() > MOST_WAITING;
        let has_ended = |row: &Row| row.end.is_some();
        while self.waiting.front().is_some_and(has_ended) || is_full(&self.waiting) {
            self.first += 1;
            if let Some(row) = self.waiting.pop_front() {
                self.add(&row);
            }
        }
        match self.lines.len() >= AT_ONCE {
            true => self.write(),
            false => Ok(()),
        }
    }

    /// Adds the line of a request. Without its end it has no response time.
    fn add(&mut self, row: &Row) {
        let (access, arrival) = (&row.access, row.arrival.0);
        let response = match row.end {
            None => String::new(),
            Some(Some(end)) => end.0.saturating_sub(arrival).to_string(),
            Some(None) => return,
        };
        let first = access.offset / BLOCK;
        let last = (access.offset + access.length).div_ceil(BLOCK);
        let (op, first, blocks) = match access.command {
            Command::Read | Command::ReadThrough => ("R", first, last - first),
            Command::Flush => ("F", 0, 0),
            Command::Write | Command::WriteThrough => ("W", first, last - first),
        };
        let device = access.device;
        // A text takes everything.
        let _ = write!(self.lines, "{arrival},{device},{first},{blocks},{op},{response}");
        if self.with_priorities {
            let _ = write!(self.lines, ",{}", priority(access.hint).0);
        }
        self.lines.push('\n');
    }

    /// Writes all lines. If that fails, the file ends with its last whole line.
    fn write(&mut self) -> Result<(), TargetError> {
        if let Err(e) = self.file.write_all(self.lines.as_bytes()) {
            // What is no file, such as a pipe, cannot be made shorter.
            let _ = self.file.set_len(self.bytes);
            return Err(unwritten(&self.path, &e));
        }
        self.bytes += self.lines.len() as u64;
        self.lines.clear();
        Ok(())
    }

    /// Writes what is left: also of requests that ended after one that has not.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), TargetError> {
        for row in std::mem::take(&mut self.waiting) {
            if row.end.is_some() {
                self.add(&row);
            }
        }
        self.write()
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

fn unwritten(path: &Path, e: &std::io::Error) -> TargetError {
    TargetError::Record { path: path.into(), why: e.to_string() }
}
