//! Request logs and time series as Parquet files, written as a stream.

use crate::simulate::record::Record;
use headstack_block::layer::ErrorKind;
use headstack_engine::{io_error_text, needed_to_write, printable, system_error, SeriesPoint};
use headstack_trace::table::{Column, TableWriter};
use headstack_units::Span;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Rows per batch; rows are in order of (completion, id) within each batch.
pub const BATCH_ROWS: usize = 65_536;

/// A log of requests.
///
/// # Shapes and units
/// One row per request after the warm-up: `id, arrival_ns, completion_ns, response_time_s, queue_s,
/// overhead_s, seek_s, rotation_s, transfer_s, bus_s, queue_place_s, queue_elevator_s, queue_array_s, queue_drive_s, device, lba, blocks, op, drive, cache_hit,
/// seek_distance, arm, error, error_kind`; blocks are 512 bytes, the seek distance is in cylinders (with the
/// layout `adaptive` in quarters of a cylinder). Each drive is simulated only as far as needed, so completions of
/// different drives reach the log out of order; rows are ordered by (completion, id) within each run of
/// [`BATCH_ROWS`] rows. `drive` is null for requests that reached no drive; `error_kind` is the name of an
/// [`ErrorKind`], null without error.
pub struct RequestLog {
    path: PathBuf,
    rows: Vec<Record>,
    writer: Option<TableWriter<'static>>,
}

/// Writes a batch; the first batch opens the file with its columns.
fn write(writer: &mut Option<TableWriter<'static>>, path: &Path, columns: &[Column]) -> Result<(), String> {
    if writer.is_none() {
        let file = File::create(path).map_err(|e| unwritten(path, &e))?;
        let new = TableWriter::new(Box::new(file), columns);
        *writer = Some(new.map_err(|e| unwritten(path, &e))?);
    }
    match writer {
        Some(writer) => writer.write(columns).map_err(|e| unwritten(path, &e)),
        None => Ok(()),
    }
}

/// The error for a file that could not be written.
pub fn unwritten(path: &Path, error: &(dyn std::error::Error + 'static)) -> String {
    let (got, need) = match system_error(error) {
        Some(system) => (io_error_text(&system), needed_to_write(&system)),
        None if error.to_string().contains("not enough memory") => ("no more memory".into(), "more of it (ulimit -v)"),
        None => (error.to_string(), "a file that can be written"),
    };
    printable(&format!("{}: got {got}, need {need}", path.display())).into_owned()
}

impl RequestLog {
    /// A log that will be written to `path`.
    pub fn new(path: PathBuf) -> RequestLog {
        RequestLog { path, rows: Vec::with_capacity(BATCH_ROWS), writer: None }
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
        self.rows.sort_unstable_by_key(|r| (r.answer.completion, r.answer.id));
        let rows = &self.rows;
        let u64s = |name, f: fn(&Record) -> u64| Column::full(name, rows.iter().map(f));
        let u32s = |name, f: fn(&Record) -> u32| Column::full(name, rows.iter().map(f));
        let bools = |name, f: fn(&Record) -> bool| Column::full(name, rows.iter().map(f));
        let seconds = |name, f: fn(&Record) -> Span| Column::full(name, rows.iter().map(|r| f(r).as_secs_f64()));
        let kind = |r: &Record| r.answer.error.map(ErrorKind::name);
        let drive = |r: &Record| (r.answer.drive != u32::MAX).then_some(r.answer.drive);
        let columns = [
            u64s("id", |r| r.answer.id),
            u64s("arrival_ns", |r| r.request.time.0),
            u64s("completion_ns", |r| r.answer.completion.0),
            seconds("response_time_s", |r| r.answer.completion.since(r.request.time)),
            seconds("queue_s", |r| r.answer.components.queue),
            seconds("overhead_s", |r| r.answer.components.overhead),
            seconds("seek_s", |r| r.answer.components.seek),
            seconds("rotation_s", |r| r.answer.components.rotation),
            seconds("transfer_s", |r| r.answer.components.transfer),
            seconds("bus_s", |r| r.answer.components.bus),
            seconds("queue_place_s", |r| parts(r)[0]),
            seconds("queue_elevator_s", |r| parts(r)[1]),
            seconds("queue_array_s", |r| parts(r)[2]),
            seconds("queue_drive_s", |r| parts(r)[3]),
            u32s("device", |r| r.request.device),
            u64s("lba", |r| r.request.lba.0),
            u32s("blocks", |r| r.request.blocks),
            Column::full("op", rows.iter().map(|r| r.request.op.name())),
            Column::gaps("drive", rows.iter().map(drive)),
            bools("cache_hit", |r| r.answer.cache_hit),
            u32s("seek_distance", |r| r.answer.seek_distance),
            Column::full("arm", rows.iter().map(|r| r.answer.arm)),
            bools("error", |r| r.answer.error.is_some()),
            Column::gaps("error_kind", rows.iter().map(kind)),
        ];
        write(&mut self.writer, &self.path, &columns)?;
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

/// The parts of a request's time in queues.
fn parts(r: &Record) -> [Span; 4] {
    r.answer.waits.parts(r.answer.components.queue)
}

fn close(writer: Option<TableWriter<'static>>, path: &Path) -> Result<(), String> {
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
    let column = |name, f: fn(&SeriesPoint) -> f64| Column::full(name, points.iter().map(f));
    let response = points.iter().map(|p| p.response_time_mean_s);
    put(
        path,
        &[
            column("t_s", |p| p.t_s),
            column("width_s", |p| p.width_s),
            column("queue_depth", |p| p.queue_depth),
            Column::gaps("response_time_mean_s", response.map(|v| Some(v).filter(|v| v.is_finite()))),
            column("throughput_iops", |p| p.throughput_iops),
            column("power_w", |p| p.power_w.total()),
            column("power_idle_w", |p| p.power_w.idle),
            column("power_seek_w", |p| p.power_w.seek),
            column("power_rotation_w", |p| p.power_w.rotation),
            column("power_transfer_w", |p| p.power_w.transfer),
            column("power_standby_w", |p| p.power_w.standby),
        ],
    )
}

/// Writes a file of one batch.
pub fn put(path: &Path, columns: &[Column]) -> Result<(), String> {
    let mut writer = None;
    write(&mut writer, path, columns)?;
    close(writer, path)
}

/// A name made fit for a file name.
pub fn slug(name: &str) -> String {
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    name.chars().map(kept).take(60).collect()
}
