//! Targets of a probe.

use crate::errors::{config, json, raise};
use headstack_host::meter::{self, Source};
use headstack_probe::{
    batch, open, sim::Disturbance, Answers, Batch, Options, Pace, ProbeError, Reply, Scratch, Target, MOST_FETCHED,
};
use headstack_schema::SpecError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// One value for all commands, or one for each.
#[derive(FromPyObject)]
pub enum Each<T> {
    /// For all.
    All(T),
    /// For each.
    List(Vec<T>),
}

impl<T: Clone> Each<T> {
    fn of(self, n: usize) -> Vec<T> {
        match self {
            Each::All(value) => vec![value; n],
            Each::List(values) => values,
        }
    }
}

/// When each command was issued and done, and how it ended.
type Columns = (Vec<u64>, Vec<u64>, Vec<u16>);
/// Status, sense data and data of a SCSI command.
type Replied = (u8, Vec<u8>, Vec<u8>);

/// A drive that is probed. Times are nanoseconds since it was opened.
#[pyclass(frozen)]
pub struct ProbeTarget {
    target: Mutex<Option<Box<dyn Target>>>,
    allow_writes: bool,
    /// What may be written, and what it contains.
    scratch: Mutex<Option<Arc<Scratch>>>,
}

fn raised(e: ProbeError) -> PyErr {
    match e {
        ProbeError::Input(e) => config(*e),
        e => raise("HeadstackError", e),
    }
}

/// # Errors
/// A time that is negative, no number, or longer than a day.
fn nanoseconds(seconds: f64) -> PyResult<u64> {
    let longest = batch::LONGEST_WAIT_NS as f64 * 1e-9;
    match (0.0..=longest).contains(&seconds) {
        true => Ok((seconds * 1e9).round() as u64),
        false => Err(config(SpecError::new("probe.time", seconds, format!("0 to {longest} s")))),
    }
}

impl ProbeTarget {
    /// Does something with the target without holding the interpreter, which is asked for Ctrl-C now and then.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut dyn Target, &mut dyn FnMut() -> bool) -> Result<T, ProbeError> + Send,
    ) -> PyResult<T> {
        let mut signal = None;
        let done = py.detach(|| {
            let mut target = self.target.lock().map_err(|_| None)?;
            let target = target.as_deref_mut().ok_or(None)?;
            let mut goes_on = || {
                let found = Python::attach(|py| py.check_signals());
                found.map_err(|e| signal = Some(e)).is_ok()
            };
            act(target, &mut goes_on).map_err(Some)
        });
        done.map_err(|e| match (signal, e) {
            (Some(signal), _) => signal,
            (None, Some(e)) => raised(e),
            (None, None) => raise("HeadstackError", "probe: got a target that is closed, need an open one"),
        })
    }
}

#[pymethods]
impl ProbeTarget {
    /// Opens a target.
    #[staticmethod]
    #[pyo3(signature = (name, *, lateness_s=None, disturbed=0.0, beside=0.0, seed=0, allow_writes=false, drive_dirs=Vec::new()))]
    #[allow(clippy::too_many_arguments)]
    fn open(
        py: Python<'_>,
        name: &str,
        lateness_s: Option<f64>,
        disturbed: f64,
        beside: f64,
        seed: u64,
        allow_writes: bool,
        drive_dirs: Vec<PathBuf>,
    ) -> PyResult<ProbeTarget> {
        let sim = Disturbance { lateness_s, disturbed, beside, seed };
        let options = Options { drive_dirs, sim, allow_writes };
        let target = py.detach(|| open(name, &options)).map_err(raised)?;
        Ok(ProbeTarget { target: Mutex::new(Some(target)), allow_writes, scratch: Mutex::new(None) })
    }

    /// What it says about itself.
    #[getter]
    fn described<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let d = self.with(py, |target, _| Ok(target.described().clone()))?;
        let found = PyDict::new(py);
        found.set_item("kind", d.kind.name())?;
        found.set_item("blocks", d.blocks)?;
        found.set_item("block_bytes", d.block_bytes)?;
        found.set_item("physical_bytes", d.physical_bytes)?;
        found.set_item("model", d.model)?;
        found.set_item("firmware", d.firmware)?;
        found.set_item("serial_sha256", d.serial_sha256)?;
        found.set_item("rotational", d.rotational)?;
        found.set_item("fua", d.fua)?;
        found.set_item("queue_depth", d.queue_depth)?;
        let ranges: Vec<(u64, u64)> = d.ranges.iter().map(|r| (r.start, r.end - r.start)).collect();
        found.set_item("ranges", ranges)?;
        found.set_item("zoned", d.zoned)?;
        found.set_item("mounted", d.mounted)?;
        found.set_item("caveats", d.caveats)?;
        Ok(found)
    }

    /// Issues reads and waits for all of them.
    #[pyo3(signature = (lba, blocks=None, *, wait_s=None, depth=1, together=false, fua=true, at_s=None))]
    #[allow(clippy::too_many_arguments)]
    fn read(
        &self,
        py: Python<'_>,
        lba: Vec<u64>,
        blocks: Option<Each<u32>>,
        wait_s: Option<Each<f64>>,
        depth: usize,
        together: bool,
        fua: bool,
        at_s: Option<Vec<f64>>,
    ) -> PyResult<Columns> {
        self.batch(py, lba, blocks, (wait_s, depth, together, at_s), fua, false)
    }

    /// Issues writes of what the blocks of the scratch range contain, and waits for all of them.
    #[pyo3(signature = (lba, blocks=None, *, wait_s=None, depth=1, together=false, fua=false, at_s=None))]
    #[allow(clippy::too_many_arguments)]
    fn write(
        &self,
        py: Python<'_>,
        lba: Vec<u64>,
        blocks: Option<Each<u32>>,
        wait_s: Option<Each<f64>>,
        depth: usize,
        together: bool,
        fua: bool,
        at_s: Option<Vec<f64>>,
    ) -> PyResult<Columns> {
        self.batch(py, lba, blocks, (wait_s, depth, together, at_s), fua, true)
    }

    /// What so many blocks contain, at most 64 KiB; `None` if they cannot be read.
    fn fetch<'py>(&self, py: Python<'py>, lba: u64, blocks: u32) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = self.with(py, |target, _| {
            let of = target.described();
            // It has the bounds of a read.
            Batch::reads(of, vec![lba], vec![blocks], Pace::Together, false)?;
            if blocks as usize * of.block_bytes as usize > MOST_FETCHED {
                let need = format!("at most {MOST_FETCHED} bytes");
                return Err(SpecError::new("fetch.blocks", blocks, need).into());
            }
            target.fetch(lba, blocks)
        })?;
        Ok(bytes.map(|b| PyBytes::new(py, &b)))
    }

    /// From now on blocks from this one on may be written, which contain this.
    fn hold(&self, py: Python<'_>, first: u64, contents: Vec<u8>) -> PyResult<()> {
        let need = |got: &str, need: &str| Err(config(SpecError::new("write", got, need)));
        if !self.allow_writes {
            return need("a target that is opened for reads", "allow_writes");
        }
        let (block_bytes, all) = self.with(py, |t, _| Ok((t.described().block_bytes, t.described().blocks)))?;
        let scratch = Scratch { first, bytes: contents, block_bytes };
        let is_whole = scratch.bytes.len() as u64 == scratch.blocks() * u64::from(block_bytes);
        if !is_whole || first.checked_add(scratch.blocks()).is_none_or(|past| past > all) {
            return need("contents that are not those of its blocks", "whole blocks of the target");
        }
        *self.scratch.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(scratch));
        Ok(())
    }

    /// Carries out a SCSI command that sends data or asks for so many bytes. Returns status, sense and data; `None` if the
    /// target takes no such commands.
    fn command(&self, py: Python<'_>, cdb: [u8; 16], data: Vec<u8>, bytes: u32) -> PyResult<Option<Replied>> {
        let reply = self.with(py, |target, _| target.command(cdb, &data, bytes))?;
        Ok(reply.map(|Reply { status, sense, data }| (status, sense, data)))
    }

    /// The time.
    fn now_ns(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |target, _| Ok(target.now_ns()))
    }

    /// Waits.
    fn sleep(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        let ns = nanoseconds(seconds)?;
        self.with(py, |target, goes_on| target.sleep(ns, goes_on))
    }

    /// Closes the target. Closing twice does nothing.
    fn close(&self) {
        if let Ok(mut target) = self.target.lock() {
            *target = None;
        }
    }

    /// Seconds idle, seeking, waiting for a sector and transferring, and joules of a simulated drive.
    fn energy(&self, py: Python<'_>) -> PyResult<Option<[f64; 5]>> {
        self.with(py, |target, _| Ok(target.energy()))
    }

    /// The simulated drive as it is, in the form of a drive's file; for tests.
    fn truth(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.with(py, |target, _| Ok(target.truth()))
    }
}

/// A meter of one of the kinds of `headstack-capd`.
#[pyclass(frozen)]
pub struct ProbeMeter {
    source: Mutex<Box<dyn Source>>,
    /// Time between two readings.
    #[pyo3(get)]
    interval_s: f64,
}

#[pymethods]
impl ProbeMeter {
    /// Opens a meter, described as in that daemon's configuration, in JSON.
    #[staticmethod]
    fn open(table: &str) -> PyResult<ProbeMeter> {
        let table = serde_json::from_str(table).map_err(json)?;
        let (source, interval) = meter::open(&table).map_err(|e| config(e.or_at("meter")))?;
        Ok(ProbeMeter { source: Mutex::new(source), interval_s: interval.as_secs_f64() })
    }

    /// When its reading was made, in seconds of `CLOCK_BOOTTIME`, and the watts.
    fn read(&self, py: Python<'_>) -> PyResult<(f64, f64)> {
        let reading = py.detach(|| {
            let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
            let now = headstack_host::clock::now();
            source.read().map(|watts| (source.made().unwrap_or(now), watts))
        });
        let (made, watts) = reading.map_err(|e| raise("HeadstackError", format!("meter: {e}")))?;
        Ok((made.0 as f64 * 1e-9, watts))
    }
}

/// Waits between commands, commands that are outstanding, whether all are at once, times.
type Times = (Option<Each<f64>>, usize, bool, Option<Vec<f64>>);

impl ProbeTarget {
    fn batch(
        &self,
        py: Python<'_>,
        lba: Vec<u64>,
        blocks: Option<Each<u32>>,
        times: Times,
        fua: bool,
        writes: bool,
    ) -> PyResult<Columns> {
        let pace = pace(times, lba.len())?;
        let scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let done = self.with(py, move |target, goes_on| {
            let of = target.described();
            let blocks = blocks.unwrap_or(Each::All(of.physical_blocks())).of(lba.len());
            let batch = Batch::reads(of, lba, blocks, pace, fua)?;
            let batch = match (writes, scratch) {
                (false, _) => batch,
                (true, Some(scratch)) => batch.writing(scratch)?,
                (true, None) => {
                    let need = "blocks whose contents are held (allow_writes)";
                    return Err(SpecError::new("write", "none that may be written", need).into());
                }
            };
            target.run(&batch, goes_on)
        })?;
        let Answers { issued_ns, done_ns, status } = done;
        Ok((issued_ns, done_ns, status.into_iter().map(|s| s as u16).collect()))
    }
}

/// # Errors
/// Times that exclude each other.
fn pace((wait_s, depth, together, at_s): Times, n: usize) -> PyResult<Pace> {
    let all = |seconds: Vec<f64>| seconds.into_iter().map(nanoseconds).collect::<PyResult<Vec<u64>>>();
    match (wait_s, depth, together, at_s) {
        (waits, 1, false, None) => Ok(Pace::Waits(all(waits.unwrap_or(Each::All(0.0)).of(n))?)),
        (None, depth, false, None) => Ok(Pace::Closed(depth)),
        (None, 1, true, None) => Ok(Pace::Together),
        (None, 1, false, Some(at)) => Ok(Pace::At(all(at)?)),
        _ => {
            let need = "one of wait_s, depth, together, at_s";
            Err(config(SpecError::new("read", "several kinds of times", need)))
        }
    }
}
