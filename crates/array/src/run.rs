//! A whole experiment: every system on every workload, on as many threads as there are.

use crate::expected::{Expected, Known, Watched};
use crate::experiment::{Experiment, Spindles, System, Workload};
use crate::member::Member;
use crate::organisation::Context;
use crate::output::{write_series, RequestLog};
use crate::result::{summarise, Cost, RunResult, SystemResult, TraceRecords};
use crate::simulate::{Log, Options, Record, SimulateError, WarmUp};
use crate::system::Drives;
use headstack_drive::cost::{self, Parts};
use headstack_drive::{Completion, DriveDesign, DriveOptions, DriveSpec};
use headstack_engine::random::nth;
use headstack_engine::Progress;
use headstack_engine::SpecError;
use headstack_trace::{ClosedLoop, Counters, Op, Source, TraceError};
use headstack_units::Turn;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use thiserror::Error;

/// Where experiments find drives and workloads.
pub struct Inputs<'a> {
    /// Folders with one TOML file per drive.
    pub drive_dirs: Vec<PathBuf>,
    /// Reads drive files that are not TOML (DiskSim's).
    pub other_drive: &'a (dyn Fn(&str) -> Result<DriveSpec, String> + Sync),
    /// Opens a workload from its start; called once more when devices must be measured first.
    pub open: &'a (dyn Fn(&OpenWorkload) -> Result<Opened, RunError> + Sync),
}

/// A workload ready to be read.
pub struct Opened {
    /// Its requests.
    pub source: Source,
    /// The loop that a closed synthetic workload asks for.
    pub closed: Option<ClosedLoop>,
    /// How many requests it has, where that is known before they are read.
    pub requests: Option<u64>,
    /// How far its file has been read, where it has one.
    pub counters: Option<Counters>,
}

impl Opened {
    /// A workload of which only the requests are known.
    pub fn new(source: Source) -> Opened {
        Opened {
            source,
            closed: None,
            requests: None,
            counters: None,
        }
    }
}

/// What is needed to open a workload.
pub struct OpenWorkload<'a> {
    /// The workload's table.
    pub workload: &'a Workload,
    /// Its key in the experiment, for errors: `workload[0]`.
    pub key: String,
    /// The trace's path, from the experiment's folder; empty for synthetic workloads.
    pub path: PathBuf,
    /// Seed of its random streams: the same for every system.
    pub seed: u64,
}

/// How a run is run; nothing here changes what it finds.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Threads; the experiment's, or all cores.
    pub threads: Option<usize>,
    /// Where logs, series and `result.json` go; nothing is written without it.
    pub out_dir: Option<PathBuf>,
    /// Writes a log of all requests, also if the experiment does not ask for it.
    pub log_requests: bool,
    /// Counts requests and may stop the run.
    pub progress: Progress,
}

/// Why a run failed.
#[derive(Debug, Error)]
pub enum RunError {
    /// The experiment or a drive is wrong.
    #[error(transparent)]
    Input(#[from] SpecError),
    /// A trace is wrong.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The simulation stopped.
    #[error("{system}: {source}")]
    Simulate {
        /// The system's name.
        system: String,
        /// Why.
        source: SimulateError,
    },
    /// A result could not be written.
    #[error("{0}")]
    Output(String),
}

impl RunError {
    /// Whether the user's input is wrong (and not the run).
    pub fn is_input(&self) -> bool {
        match self {
            RunError::Input(_) | RunError::Trace(_) => true,
            RunError::Simulate { source, .. } => {
                matches!(
                    source,
                    SimulateError::Trace(_) | SimulateError::Device { .. }
                )
            }
            RunError::Output(_) => false,
        }
    }
}

/// Runs an experiment.
///
/// The platters of a system's drives start at angles of their own, drawn from the system's seed,
/// unless its spindles are synchronized.
///
/// # Errors
/// As [`run_with`].
pub fn run(
    experiment: &Experiment,
    inputs: &Inputs,
    options: &RunOptions,
) -> Result<RunResult, RunError> {
    run_with(
        experiment,
        inputs,
        options,
        &|design, system, seed, index| {
            let synchronized_spindles = system.spindles == Spindles::Synchronized;
            let phase = if synchronized_spindles { 0 } else { index };
            let options = DriveOptions {
                seed: nth(seed, index),
                start_phase: Turn(nth(seed, phase)),
                synchronized_spindles,
                ..DriveOptions::default()
            };
            design.drive(&options)
        },
    )
}

/// Makes a drive of a system from the design that its drives share, the system's seed and its number
/// there.
pub type Make<M> = dyn Fn(&Arc<DriveDesign>, &System, u64, u32) -> Result<M, SpecError> + Sync;

/// Runs an experiment with any kind of drive; `make` makes drive number `index` of a system from
/// the system's design and seed.
///
/// # Errors
/// The first error in the order of the experiment.
pub fn run_with<M: Member<Answer = Completion> + Send + 'static>(
    experiment: &Experiment,
    inputs: &Inputs,
    options: &RunOptions,
    make: &Make<M>,
) -> Result<RunResult, RunError> {
    if let Some(dir) = &options.out_dir {
        std::fs::create_dir_all(dir)
            .map_err(|e| RunError::Output(format!("{}: {e}", dir.display())))?;
    }
    let jobs: Vec<(usize, usize)> = (0..experiment.system.len())
        .flat_map(|s| (0..experiment.workload.len()).map(move |w| (s, w)))
        .collect();
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = options.threads.or(experiment.run.threads);
    let threads = threads.unwrap_or_else(cores).clamp(1, jobs.len());
    let expected = Expected::new(
        &options.progress,
        experiment.system.len(),
        experiment.workload.len(),
        experiment.run.max_requests,
    );
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<Result<SystemResult, RunError>>>> =
        jobs.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(s, w)) = jobs.get(i) else { break };
                let result = one(experiment, s, w, inputs, options, &expected, make);
                if let Ok(mut slot) = slots[i].lock() {
                    *slot = Some(result);
                }
            });
        }
    });
    let mut systems = Vec::with_capacity(jobs.len());
    for slot in slots {
        // A poisoned or empty slot means that its thread panicked, which scope() has passed on.
        if let Ok(Some(result)) = slot.into_inner() {
            systems.push(result?);
        }
    }
    let result = RunResult {
        partial: systems.iter().any(|s| s.partial),
        systems,
        cost: experiment.cost,
        seed: experiment.run.seed,
        version: env!("CARGO_PKG_VERSION").into(),
    };
    if let Some(dir) = &options.out_dir {
        let path = dir.join("result.json");
        let text = result
            .to_json()
            .map_err(|e| RunError::Output(e.to_string()))?;
        std::fs::write(&path, text + "\n")
            .map_err(|e| RunError::Output(format!("{}: {e}", path.display())))?;
    }
    Ok(result)
}

fn at(key: &str) -> impl Fn(SpecError) -> SpecError + '_ {
    move |e| e.within(key)
}

fn one<M: Member<Answer = Completion> + Send + 'static>(
    experiment: &Experiment,
    s: usize,
    w: usize,
    inputs: &Inputs,
    options: &RunOptions,
    expected: &Expected,
    make: &Make<M>,
) -> Result<SystemResult, RunError> {
    let system: &System = &experiment.system[s];
    let workload: &Workload = &experiment.workload[w];
    let key = format!("system[{s}]");
    let spec = system
        .drive_spec(&experiment.base, &inputs.drive_dirs, inputs.other_drive)
        .map_err(at(&key))?;
    let each = Parts::of(&spec)
        .and_then(|parts| cost::build(&spec.cost, &parts))
        .map_err(at(&format!("{key}.drive")))?;
    let seed = system.seed.unwrap_or(experiment.run.seed);
    let design = DriveDesign::new(&spec).map_err(at(&format!("{key}.drive")))?;
    let drives = (0..system.count)
        .map(|i| make(&design, system, seed, i))
        .collect::<Result<Vec<M>, SpecError>>()
        .map_err(at(&format!("{key}.drive")))?;
    let mut drives = Drives::of(system, drives).map_err(at(&key))?;
    let (entry, params) = system.organisation().map_err(at(&key))?;
    let open = OpenWorkload {
        workload,
        key: format!("workload[{w}]"),
        path: workload
            .trace
            .as_ref()
            .map_or(PathBuf::new(), |t| experiment.path(t)),
        // A workload's stream does not depend on the system: all systems get the same requests.
        seed: experiment.run.seed.wrapping_add(w as u64),
    };
    let device_blocks = match &workload.device_blocks {
        _ if !entry.needs_device_blocks => Vec::new(),
        Some(list) if list.len() > 1 => list.clone(),
        given => {
            let (sizes, requests) = measure(&mut (inputs.open)(&open)?.source, &options.progress)?;
            if experiment.run.duration.is_none() {
                expected.tell(w, Known::Exactly(requests));
            }
            match given.as_deref() {
                Some([size]) => vec![*size; sizes.len().max(1)],
                // One device fills the whole array.
                _ if sizes.len() <= 1 => Vec::new(),
                _ => sizes,
            }
        }
    };
    let context = Context {
        member_blocks: drives.logical_units(),
        device_blocks,
        params,
    };
    let organisation = (entry.build)(&context).map_err(at(&format!("{key}.organisation")))?;
    let Opened {
        source,
        closed,
        requests,
        counters,
    } = (inputs.open)(&open)?;
    let counts = counters.clone();
    // Where a length of time ends the run, nobody knows how many requests that will be.
    let counters = counters.filter(|_| experiment.run.duration.is_none());
    if let (Some(requests), None) = (requests, experiment.run.duration) {
        expected.tell(w, Known::Exactly(requests));
    }
    if closed.is_some() && workload.arrivals.is_some() {
        let got = "a synthetic workload with closed arrivals of its own";
        return Err(SpecError::new(format!("{}.arrivals", open.key), got, "one of the two").into());
    }
    let simulation = Options {
        arrivals: workload.arrivals.clone().unwrap_or_default(),
        closed,
        warm_up: workload.warm_up.unwrap_or(WarmUp::Requests(0)),
        max_requests: experiment.run.max_requests,
        duration: experiment.run.duration,
        past_end: workload.past_end,
        exact_limit: experiment
            .run
            .exact_limit
            .unwrap_or(headstack_engine::quantiles::EXACT_LIMIT),
        progress: options.progress.clone(),
        ..Options::default()
    };
    let stem = format!(
        "{}-{}-{}",
        s * experiment.workload.len() + w,
        slug(&system.name),
        slug(&workload.name)
    );
    let wanted = options.log_requests || experiment.run.log_requests;
    let requests_file = format!("requests-{stem}.parquet");
    let mut log = match &options.out_dir {
        Some(dir) if wanted => Some(RequestLog::new(dir.join(&requests_file))),
        None if wanted => {
            return Err(SpecError::new("run.log_requests", "no output folder", "one").into())
        }
        _ => None,
    };
    let mut add = |record: &Record| match &mut log {
        Some(log) => log.add(record),
        None => Ok(()),
    };
    let sink: Option<&mut Log> = if wanted { Some(&mut add) } else { None };
    let organisation = organisation.as_ref();
    let mut outcome = match counters {
        Some(counters) => {
            let mut source = Watched::new(source, counters, expected, w);
            drives.simulate(&mut source, organisation, &simulation, sink)
        }
        None => {
            let mut source = source;
            drives.simulate(&mut source, organisation, &simulation, sink)
        }
    }
    .map_err(|source| match source {
        SimulateError::Trace(e) => RunError::Trace(e),
        SimulateError::Log(e) => RunError::Output(e),
        source => RunError::Simulate {
            system: system.name.clone(),
            source,
        },
    })?;
    let (mut result, points) = summarise(
        &system.name,
        &workload.name,
        &spec.name,
        Cost::of(each, system.count),
        &experiment.cost,
        &mut outcome,
    );
    result.layers = drives.layers();
    if let Some(counts) = counts {
        result.trace_records = TraceRecords {
            n_skipped: counts.skipped(),
            n_clamped: counts.clamped(),
            n_zero_sized: counts.zero_sized(),
        };
    }
    if let Some(log) = log {
        log.close().map_err(RunError::Output)?;
        result.requests_file = Some(requests_file);
    }
    if let Some(dir) = &options.out_dir {
        let file = format!("series-{stem}.parquet");
        write_series(&dir.join(Path::new(&file)), &points).map_err(RunError::Output)?;
        result.series_file = Some(file);
    }
    Ok(result)
}

/// Sizes of the devices that a workload touches, up to the last block of each, and the number of
/// its requests.
fn measure(source: &mut Source, progress: &Progress) -> Result<(Vec<u64>, u64), RunError> {
    // More devices than any array has drives: a wrong column rather than a device.
    const MOST: u32 = 1 << 20;
    let (mut sizes, mut requests): (Vec<u64>, u64) = (Vec::new(), 0);
    for (i, request) in source.enumerate() {
        let request = request?;
        requests += 1;
        if request.op == Op::Flush {
            continue;
        }
        if request.device >= MOST {
            let got = format!("device {} in request {i}", request.device);
            return Err(SpecError::new("workload", got, format!("devices below {MOST}")).into());
        }
        let device = request.device as usize;
        if device >= sizes.len() {
            sizes.resize(device + 1, 0);
        }
        let end = request.lba.0.saturating_add(request.blocks as u64);
        sizes[device] = sizes[device].max(end);
        if i & 0xffff == 0 && progress.is_cancelled() {
            break;
        }
    }
    Ok((sizes, requests))
}

/// A name as part of a file name.
fn slug(name: &str) -> String {
    let kept = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '_'
        }
    };
    name.chars().map(kept).take(60).collect()
}
