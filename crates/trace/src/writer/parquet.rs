//! Parquet: `time_ns`, `device`, `lba`, `blocks`, `op`, exact; zstd-compressed.

use super::TraceWriter;
use crate::error::TraceError;
use crate::request::Request;
use crate::table::{Column, Output, TableWriter};
use headstack_engine::system_error;

/// Requests per batch.
const BATCH: usize = 65_536;

/// Writes Parquet.
pub struct ParquetWriter<'a> {
    writer: TableWriter<'a>,
    held: Vec<Request>,
    path: String,
}

fn failed(path: &str, error: impl std::error::Error + 'static) -> TraceError {
    let other = || std::io::Error::other(error.to_string());
    TraceError::Io { path: path.to_string(), source: system_error(&error).unwrap_or_else(other) }
}

fn columns(held: &[Request]) -> Vec<Column> {
    vec![
        Column::full("time_ns", held.iter().map(|r| r.time.0)),
        Column::full("device", held.iter().map(|r| r.device)),
        Column::full("lba", held.iter().map(|r| r.lba.0)),
        Column::full("blocks", held.iter().map(|r| r.blocks)),
        Column::full("op", held.iter().map(|r| r.op.name())),
    ]
}

impl<'a> ParquetWriter<'a> {
    /// A new file on `output`; `path` is for error messages.
    ///
    /// # Errors
    /// Failure to write.
    pub fn new(output: Output<'a>, path: &str) -> Result<Self, TraceError> {
        let writer = TableWriter::new(output, &columns(&[])).map_err(|e| failed(path, e))?;
        Ok(ParquetWriter { writer, held: Vec::new(), path: path.to_string() })
    }

    fn write_batch(&mut self) -> Result<(), TraceError> {
        let written = self.writer.write(&columns(&self.held));
        self.held.clear();
        written.map_err(|e| failed(&self.path, e))
    }

    fn close(mut self) -> Result<(), TraceError> {
        if !self.held.is_empty() {
            self.write_batch()?;
        }
        let ParquetWriter { writer, path, .. } = self;
        let mut output = writer.close().map_err(|e| failed(&path, e))?;
        output.flush().map_err(|e| failed(&path, e))
    }
}

impl TraceWriter for ParquetWriter<'_> {
    fn write(&mut self, request: &Request) -> Result<(), TraceError> {
        self.held.push(*request);
        if self.held.len() >= BATCH {
            self.write_batch()?;
        }
        Ok(())
    }
    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        self.close()
    }
}

/// The bytes of a file with all of `requests`.
pub(crate) fn to_bytes(bytes: &mut Vec<u8>, requests: &[Request]) -> Result<(), TraceError> {
    let mut writer = ParquetWriter::new(Box::new(bytes), "memory")?;
    for request in requests {
        writer.write(request)?;
    }
    writer.close()
}
