//! Request logs and time series as Parquet files, written as a stream.

use crate::layer::ErrorKind;
use crate::simulate::Record;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
    UInt8Array,
};
use headstack_engine::{needed_to_write, printable, system_error, told, SeriesPoint};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows per batch; rows are in order of (completion, id) within each batch.
pub const BATCH_ROWS: usize = 65_536;

/// A log of requests.
///
/// # Shapes and units
/// One row per request after the warm-up: `id, arrival_ns, completion_ns, response_time_s, queue_s,
/// overhead_s, seek_s, rotation_s, transfer_s, bus_s, device, lba, blocks, op, drive, cache_hit,
/// seek_distance, arm, error, error_kind`; blocks are 512 bytes, the seek distance is in cylinders (with the
/// layout `adaptive` in quarters of a cylinder). Each drive is simulated only as far as needed, so completions of
/// different drives reach the log out of order; rows are ordered by (completion, id) within each run of
/// [`BATCH_ROWS`] rows. `drive` is null for requests that reached no drive; `error_kind` is the name of an
/// [`ErrorKind`], null without error.
pub struct RequestLog {
    path: PathBuf,
    rows: Vec<Record>,
    writer: Option<ArrowWriter<File>>,
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("headstack ", env!("CARGO_PKG_VERSION")).into())
        .build()
}

/// Writes a batch; the first batch opens the file with its schema.
pub(crate) fn write(
    writer: &mut Option<ArrowWriter<File>>,
    path: &Path,
    columns: Vec<(&str, ArrayRef, bool)>,
) -> Result<(), String> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns);
    let batch = batch.map_err(|e| unwritten(path, &e))?;
    if writer.is_none() {
        let file = File::create(path).map_err(|e| unwritten(path, &e))?;
        let new = ArrowWriter::try_new(file, batch.schema(), Some(properties()));
        *writer = Some(new.map_err(|e| unwritten(path, &e))?);
    }
    match writer {
        Some(writer) => writer.write(&batch).map_err(|e| unwritten(path, &e)),
        None => Ok(()),
    }
}

/// The error for a file that could not be written.
pub(crate) fn unwritten(path: &Path, error: &(dyn std::error::Error + 'static)) -> String {
    let (got, need) = match system_error(error) {
        Some(system) => (told(&system), needed_to_write(&system)),
        None if error.to_string().contains("not enough memory") => {
            ("no more memory".into(), "more of it (ulimit -v)")
        }
        None => (error.to_string(), "a file that can be written"),
    };
    printable(&format!("{}: got {got}, need {need}", path.display())).into_owned()
}

impl RequestLog {
    /// A log that will be written to `path`.
    pub fn new(path: PathBuf) -> RequestLog {
        RequestLog {
            path,
            rows: Vec::with_capacity(BATCH_ROWS),
            writer: None,
        }
    }
    /// Adds a row.
    ///
    /// # Errors
    /// The file, and why it cannot be written.
    pub fn add(&mut self, record: &Record) -> Result<(), String> {
        self.rows.push(*record);
        if self.rows.len() == BATCH_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        self.rows.sort_unstable_by_key(|r| (r.completion, r.id));
        let rows = &self.rows;
        let u64s = |f: fn(&Record) -> u64| -> ArrayRef {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(f)))
        };
        let u32s = |f: fn(&Record) -> u32| -> ArrayRef {
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(f)))
        };
        let seconds = |f: fn(&Record) -> u64| -> ArrayRef {
            let values = rows.iter().map(|r| f(r) as f64 * 1e-9);
            Arc::new(Float64Array::from_iter_values(values))
        };
        let bools = |f: fn(&Record) -> bool| -> ArrayRef {
            Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(f(r)))))
        };
        let kind = |r: &Record| r.error.map(ErrorKind::name);
        let drive = |r: &Record| (r.drive != u32::MAX).then_some(r.drive);
        let columns = vec![
            ("id", u64s(|r| r.id), false),
            ("arrival_ns", u64s(|r| r.request.time.0), false),
            ("completion_ns", u64s(|r| r.completion.0), false),
            (
                "response_time_s",
                seconds(|r| r.completion.since(r.request.time).0 as u64),
                false,
            ),
            ("queue_s", seconds(|r| r.components.queue), false),
            ("overhead_s", seconds(|r| r.components.overhead), false),
            ("seek_s", seconds(|r| r.components.seek), false),
            ("rotation_s", seconds(|r| r.components.rotation), false),
            ("transfer_s", seconds(|r| r.components.transfer), false),
            ("bus_s", seconds(|r| r.components.bus), false),
            ("device", u32s(|r| r.request.device), false),
            ("lba", u64s(|r| r.request.lba.0), false),
            ("blocks", u32s(|r| r.request.blocks), false),
            (
                "op",
                Arc::new(StringArray::from_iter_values(
                    rows.iter().map(|r| r.request.op.name()),
                )),
                false,
            ),
            (
                "drive",
                Arc::new(UInt32Array::from_iter(rows.iter().map(drive))),
                true,
            ),
            ("cache_hit", bools(|r| r.cache_hit), false),
            ("seek_distance", u32s(|r| r.seek_distance), false),
            (
                "arm",
                Arc::new(UInt8Array::from_iter_values(rows.iter().map(|r| r.arm))),
                false,
            ),
            ("error", bools(|r| r.error.is_some()), false),
            (
                "error_kind",
                Arc::new(StringArray::from_iter(rows.iter().map(kind))),
                true,
            ),
        ];
        write(&mut self.writer, &self.path, columns)?;
        self.rows.clear();
        Ok(())
    }

    /// Writes the remaining rows and closes the file; without rows the file holds only the schema.
    ///
    /// # Errors
    /// The file, and why it cannot be written.
    pub fn close(mut self) -> Result<(), String> {
        self.flush()?;
        close(self.writer, &self.path)
    }
}

pub(crate) fn close(writer: Option<ArrowWriter<File>>, path: &Path) -> Result<(), String> {
    match writer {
        Some(writer) => writer.close().map(|_| ()).map_err(|e| unwritten(path, &e)),
        None => Ok(()),
    }
}

/// Writes a time series.
///
/// # Shapes and units
/// One row per bucket: `t_s, width_s, queue_depth, response_time_mean_s` (null without completions)`,
/// throughput_iops, power_w, power_idle_w, power_seek_w, power_rotation_w, power_transfer_w,
/// power_standby_w`.
///
/// # Errors
/// The file, and why it cannot be written.
pub fn write_series(path: &Path, points: &[SeriesPoint]) -> Result<(), String> {
    let column = |f: fn(&SeriesPoint) -> f64| -> ArrayRef {
        let values = points.iter().map(|p| Some(f(p)).filter(|v| v.is_finite()));
        Arc::new(Float64Array::from_iter(values))
    };
    let columns = vec![
        ("t_s", column(|p| p.t_s), false),
        ("width_s", column(|p| p.width_s), false),
        ("queue_depth", column(|p| p.queue_depth), false),
        (
            "response_time_mean_s",
            column(|p| p.response_time_mean_s),
            true,
        ),
        ("throughput_iops", column(|p| p.throughput_iops), false),
        ("power_w", column(|p| p.power_w.total()), false),
        ("power_idle_w", column(|p| p.power_w.idle), false),
        ("power_seek_w", column(|p| p.power_w.seek), false),
        ("power_rotation_w", column(|p| p.power_w.rotation), false),
        ("power_transfer_w", column(|p| p.power_w.transfer), false),
        ("power_standby_w", column(|p| p.power_w.standby), false),
    ];
    let mut writer = None;
    write(&mut writer, path, columns)?;
    close(writer, path)
}
