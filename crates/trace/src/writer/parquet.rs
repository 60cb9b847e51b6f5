//! Parquet: `time_ns`, `device`, `lba`, `blocks`, `op`, exact; zstd-compressed.

use super::TraceWriter;
use crate::error::TraceError;
use crate::request::Request;
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use headstack_engine::system_error;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::Arc;

/// Requests per batch. A row group has sixteen batches, so that memory is bounded.
const BATCH: usize = 65_536;

/// Writes Parquet.
pub struct ParquetWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: Arc<Schema>,
    held: Vec<Request>,
    path: String,
}

fn failed(path: &str, error: impl std::error::Error + 'static) -> TraceError {
    let other = || std::io::Error::other(error.to_string());
    TraceError::Io {
        path: path.to_string(),
        source: system_error(&error).unwrap_or_else(other),
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    /// A new file on `output`; `path` is for error messages.
    ///
    /// # Errors
    /// Failure to write.
    pub fn new(output: W, path: &str) -> Result<Self, TraceError> {
        let column = |name: &str, kind| Field::new(name, kind, false);
        let schema = Arc::new(Schema::new(vec![
            column("time_ns", DataType::UInt64),
            column("device", DataType::UInt32),
            column("lba", DataType::UInt64),
            column("blocks", DataType::UInt32),
            column("op", DataType::Utf8),
        ]));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_size(16 * BATCH)
            .build();
        let writer = ArrowWriter::try_new(output, schema.clone(), Some(properties))
            .map_err(|e| failed(path, e))?;
        Ok(ParquetWriter {
            writer,
            schema,
            held: Vec::new(),
            path: path.to_string(),
        })
    }

    fn write_batch(&mut self) -> Result<(), TraceError> {
        let held = &self.held;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(held.iter().map(|r| r.time.0))),
            Arc::new(UInt32Array::from_iter_values(held.iter().map(|r| r.device))),
            Arc::new(UInt64Array::from_iter_values(held.iter().map(|r| r.lba.0))),
            Arc::new(UInt32Array::from_iter_values(held.iter().map(|r| r.blocks))),
            Arc::new(StringArray::from_iter_values(
                held.iter().map(|r| r.op.name()),
            )),
        ];
        let batch = RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|e| failed(&self.path, e))?;
        self.held.clear();
        self.writer.write(&batch).map_err(|e| failed(&self.path, e))
    }

    fn close(mut self) -> Result<(), TraceError> {
        if !self.held.is_empty() {
            self.write_batch()?;
        }
        let ParquetWriter { writer, path, .. } = self;
        let mut output = writer.into_inner().map_err(|e| failed(&path, e))?;
        output.flush().map_err(|e| failed(&path, e))
    }
}

impl<W: Write + Send> TraceWriter for ParquetWriter<W> {
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
    let mut writer = ParquetWriter::new(bytes, "memory")?;
    for request in requests {
        writer.write(request)?;
    }
    writer.close()
}
