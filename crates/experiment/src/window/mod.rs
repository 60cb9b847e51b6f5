//! Records what the drives of a system do in a window of a run, for pictures: phases, commands, buffer, power.
//!
//! # Model
//! The run is repeated up to the end of the window, with a recorder that watches each drive. A drive may be advanced in any
//! steps, so it does exactly what it does in the run.
//! # Validity
//! A change of spindle speed is noticed at the next sample. Rotation that is scaled for limit studies has no true
//! angles and is refused.

mod record;
mod recorder;

pub use record::{
    ArmRecord, CommandRecord, DriveRecord, HeadSetRecord, PhaseRecord, PlaceRecord, RotationRecord, SampleRecord,
    UnitRecord,
};

use crate::experiment::Experiment;
use crate::run::{placed, simulate_all, Inputs, RunError, RunOptions};
use headstack_drive::Drive;
use headstack_schema::SpecError;
use headstack_units::{Span, Time};
use recorder::Recorder;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Most samples of a window.
const MOST_SAMPLES: u64 = 2_000;

/// A window of a run: one system on one workload.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Number of the system.
    pub system: usize,
    /// Number of the workload.
    pub workload: usize,
    /// Begin of the window.
    pub from: Time,
    /// Its end.
    pub until: Time,
}

/// What the drives of a system did in a window.
#[derive(Debug, Serialize)]
pub struct WindowRecord {
    /// The system's name.
    pub system: String,
    /// The workload's name.
    pub workload: String,
    /// Begin of the window, in nanoseconds from the start of the run.
    pub from_ns: u64,
    /// Its end.
    pub until_ns: u64,
    /// When the last request completed, if no request arrives after the end of the window.
    pub end_ns: u64,
    /// The drives.
    pub drives: Vec<DriveRecord>,
}

/// Where drives leave their records, by their numbers in the system.
type Records = Arc<Mutex<BTreeMap<u32, DriveRecord>>>;

/// The experiment with the one system and the one workload of a window, ended with it. Their seeds stay the same.
fn narrowed(experiment: &Experiment, window: &Window) -> Experiment {
    let mut one = experiment.clone();
    let mut system = one.system.swap_remove(window.system);
    system.seed = Some(system.seed.unwrap_or(one.run.seed));
    one.system = vec![system];
    one.workload = vec![one.workload.swap_remove(window.workload)];
    // What the statistics leave out has no effect on the drives, and may last longer than the window.
    one.workload[0].warm_up = None;
    // A workload's seed is that of the run plus its number.
    one.run.seed = one.run.seed.wrapping_add(window.workload as u64);
    let end = window.until.since(Time::ZERO);
    one.run.duration = Some(one.run.duration.map_or(end, |d| d.min(end)));
    one.run.log_requests = false;
    one
}

/// Refuses a window that an experiment does not have.
fn check(experiment: &Experiment, window: &Window) -> Result<(), SpecError> {
    let counts =
        [("system", window.system, experiment.system.len()), ("workload", window.workload, experiment.workload.len())];
    for (key, got, count) in counts {
        if got >= count {
            return Err(SpecError::new(key, got, format!("a number below {count}")));
        }
    }
    if window.from >= window.until || window.until > Time::LATEST {
        let got = Span((window.until.0 as i64).wrapping_sub(window.from.0 as i64));
        return Err(SpecError::new("window", got, "a length of time above zero"));
    }
    Ok(())
}

/// Runs a system on a workload up to the end of a window and records what its drives do in the window.
///
/// # Errors
/// A window that the experiment does not have, or that begins after its run has ended; a drive whose rotation is
/// scaled; as [`run`](fn@crate::run).
pub fn record(
    experiment: &Experiment,
    inputs: &Inputs,
    window: &Window,
    options: &RunOptions,
) -> Result<WindowRecord, RunError> {
    check(experiment, window)?;
    let one = narrowed(experiment, window);
    let records = Records::default();
    let watch = |drive: &mut Drive, number| {
        if drive.mechanics().scales_rotation() {
            let need = "1: a picture of scaled rotation is not supported";
            return Err(SpecError::new("positioning.rotation_scale", "another factor", need));
        }
        drive.watch(Box::new(Recorder::new(drive, number, window, records.clone())));
        Ok(())
    };
    let options = RunOptions { out_dir: None, log_requests: false, ..options.clone() };
    let simulated = simulate_all(&one, inputs, &options, &watch);
    let (systems, _) = simulated.map_err(|e| placed(&one, e))?;
    let mut drives = records.lock().unwrap_or_else(PoisonError::into_inner);
    let mut drives: Vec<DriveRecord> = std::mem::take(&mut *drives).into_values().collect();
    let Some(system) = systems.into_iter().next() else {
        let need = "a system";
        return Err(SpecError::new("experiment", "nothing", need).into());
    };
    for (drive, outcome) in drives.iter_mut().zip(&system.drives) {
        drive.name.clone_from(&outcome.name);
    }
    let end = drives.iter().map(|d| d.last_completion_ns).max();
    Ok(WindowRecord {
        system: system.name,
        workload: system.workload,
        from_ns: window.from.0,
        until_ns: window.until.0,
        end_ns: end.unwrap_or(0),
        drives,
    })
}
