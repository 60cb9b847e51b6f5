//! Runs an experiment: every system on every workload, on several threads.

pub(crate) mod error;

use crate::expected::{EstimatingSource, ExpectedRequests, RequestCount};
use crate::experiment::{Experiment, System, Workload};
use crate::failure_limit;
pub use crate::inputs::Inputs;
use crate::open::{OpenWorkload, Opened};
use crate::provenance::{hash_file, run_id, DriveDescription, Input};
use crate::resolved::{resolve, without_defaults, Resolved};
use crate::result::{summarise, Cost, Covered, RunResult, SystemResult, TraceRecords};
use crate::system::Members;
use crate::warnings::{self, DriveFacts, Ended, Facts};
pub use error::RunError;
use headstack_block::layer::{self, LayerSpec};
use headstack_block::organisation::{Context, DeviceSizes, Organisation};
use headstack_drive::cost::{self, CostRange, Parts};
use headstack_drive::spec::Params;
use headstack_drive::Drive;
use headstack_engine::Progress;
use headstack_schema::SpecError;
use headstack_sim::capping::{self, CappingOutcome, CappingResult};
use headstack_sim::change;
use headstack_sim::crew::Crew;
use headstack_sim::output::{slug, unwritten, write_series, RequestLog};
use headstack_sim::simulate::{Log, Options, Outcome, Record, SimulateError, WarmUp};
use headstack_trace::options::Tally;
use headstack_trace::{Arrivals, Command, Counters, Source};
use serde_json::Value;
use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread::Builder;

/// Options of a run that have no effect on its results.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Number of threads; by default that of the experiment, else all cores.
    pub threads: Option<usize>,
    /// Folder for logs, series and `result.json`; nothing is written without it.
    pub out_dir: Option<PathBuf>,
    /// Writes a log of all requests, also if the experiment does not ask for it.
    pub log_requests: bool,
    /// Counts requests and may stop the run.
    pub progress: Progress,
}

/// Runs an experiment.
///
/// The platters of a system's drives start at different angles, drawn from the system's seed, unless its
/// spindles are synchronized.
///
/// # Errors
/// The first error in the order of the experiment.
pub fn run(experiment: &Experiment, inputs: &Inputs, options: &RunOptions) -> Result<RunResult, RunError> {
    let placed = |e| placed(experiment, e);
    let (systems, hashes) = simulate_all(experiment, inputs, options, &as_it_is).map_err(placed)?;
    let result = run_result(experiment, inputs, systems, hashes).map_err(|e| placed(e.into()))?;
    if let Some(dir) = &options.out_dir {
        let path = dir.join("result.json");
        let text = result.to_json().map_err(|e| RunError::Output(e.to_string()))?;
        std::fs::write(&path, text + "\n").map_err(|e| RunError::Output(unwritten(&path, &e)))?;
    }
    Ok(result)
}

/// Gets a drive ready for a run, from its number in the system.
pub(crate) type Prepare<'a> = dyn Fn(&mut Drive, u32) -> Result<(), SpecError> + Sync + 'a;

/// Nothing is to be done with a drive.
pub(crate) fn as_it_is(_drive: &mut Drive, _number: u32) -> Result<(), SpecError> {
    Ok(())
}

/// Simulates every system on every workload, several at a time, and hashes the traces meanwhile.
///
/// # Errors
/// The first error in the order of the experiment, not yet placed.
pub(crate) fn simulate_all(
    experiment: &Experiment,
    inputs: &Inputs,
    options: &RunOptions,
    prepare: &Prepare,
) -> Result<(Vec<SystemResult>, Hashes), RunError> {
    // This is checked before anything is simulated.
    (0..experiment.system.len()).try_for_each(|s| known_names(experiment, inputs, s))?;
    if let Some(dir) = &options.out_dir {
        std::fs::create_dir_all(dir).map_err(|e| RunError::Output(unwritten(dir, &e)))?;
    }
    let jobs: Vec<(usize, usize)> =
        (0..experiment.system.len()).flat_map(|s| (0..experiment.workload.len()).map(move |w| (s, w))).collect();
    let cores = || std::thread::available_parallelism().map_or(1, |n| n.get());
    let threads = options.threads.or(experiment.run.threads);
    let all_threads = threads.unwrap_or_else(cores);
    // Threads that find no system to simulate help with the parts of others.
    let threads = all_threads.clamp(1, jobs.len());
    let crew = Crew::new(all_threads, threads);
    let expected = ExpectedRequests::new(
        &options.progress,
        experiment.system.len(),
        experiment.workload.len(),
        experiment.run.max_requests,
    );
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let slots: Vec<Mutex<Option<Result<SystemResult, RunError>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let work = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        let Some(&(s, w)) = jobs.get(i) else {
            crew.leave();
            break;
        };
        let job = Job { crew: crew.clone(), ..Job::new((experiment, inputs), options, &expected, (s, w)) };
        let result = job.run(prepare);
        failed.fetch_or(result.is_err(), Ordering::Relaxed);
        if let Ok(mut slot) = slots[i].lock() {
            *slot = Some(result);
        }
    };
    let hashes = on_threads(threads, work, || trace_files(experiment, &options.progress, &failed));
    let mut systems = Vec::with_capacity(jobs.len());
    for slot in slots {
        // A poisoned or empty slot means that its thread panicked, which scope() has passed on.
        if let Ok(Some(result)) = slot.into_inner() {
            systems.push(result?);
        }
    }
    Ok((systems, hashes))
}

/// Works on so many threads, and hashes beside that, because the simulation reads the same files.
fn on_threads(threads: usize, work: impl Fn() + Copy + Send, hash: impl Fn() -> Hashes + Copy + Send) -> Hashes {
    std::thread::scope(|scope| {
        let hashing = Builder::new().spawn_scoped(scope, hash);
        for _ in 1..threads {
            // If no more threads can be started, the run continues with those it has.
            if Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
        match hashing {
            Ok(hashing) => hashing.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => hash(),
        }
    })
}

/// An error of an experiment, with the keys that were set and the place in its file.
pub(crate) fn placed(experiment: &Experiment, e: RunError) -> RunError {
    let e = match e {
        RunError::Input(e) => experiment.overrides.named(e).into(),
        e => e,
    };
    match &experiment.file {
        Some(file) => e.in_file(file, experiment.text.as_deref()),
        None => e,
    }
}

/// Refuses a system with an organisation, a layer or a policy that the inputs do not have.
pub(crate) fn known_names(experiment: &Experiment, inputs: &Inputs, s: usize) -> Result<(), SpecError> {
    let system = &experiment.system[s];
    let known = || {
        inputs.organisations.find("organisation", &system.organisation.name)?;
        layer::check(&system.all_layers(), &inputs.layers)
    };
    known().map_err(|e: SpecError| e.within(&format!("system[{s}]")))?;
    match experiment.capping_of(s)? {
        Some(plan) => inputs.policies.find("policy", &plan.table.policy).map(drop).map_err(at(&plan.place)),
        None => Ok(()),
    }
}

fn at(key: &str) -> impl Fn(SpecError) -> SpecError + '_ {
    move |e| e.within(key)
}

fn sum(a: Option<CostRange>, b: Option<CostRange>) -> Option<CostRange> {
    let (a, b) = (a?, b?);
    Some(CostRange { low: a.low + b.low, high: a.high + b.high })
}

/// One system on one workload.
pub(crate) struct Job<'a> {
    experiment: &'a Experiment,
    inputs: &'a Inputs<'a>,
    options: &'a RunOptions,
    expected: &'a ExpectedRequests<'a>,
    /// Number of the system, and its key: `system[0]`.
    s: usize,
    key: String,
    /// Number of the workload.
    w: usize,
    crew: Crew,
}

/// Size and hash of each workload's trace, where it is a file.
type Hashes = Vec<Option<(u64, String)>>;

/// Hashes the traces; stops if the run has failed.
fn trace_files(experiment: &Experiment, progress: &Progress, failed: &AtomicBool) -> Hashes {
    let one = |workload: &Workload| {
        let path = experiment.path(workload.trace.as_ref()?);
        hash_file(&path, &|| progress.is_cancelled() || failed.load(Ordering::Relaxed))
    };
    experiment.workload.iter().map(one).collect()
}

/// Makes the result of the run, with its provenance.
fn run_result(
    experiment: &Experiment,
    inputs: &Inputs,
    mut systems: Vec<SystemResult>,
    hashes: Hashes,
) -> Result<RunResult, SpecError> {
    // All workloads of a system have the same drives, and so the same defaults.
    let of_policies: Vec<Option<Params>> = systems
        .chunks(experiment.workload.len())
        .map(|of_one| Some(of_one.first()?.capping.as_ref()?.defaults.clone()))
        .collect();
    let given = without_defaults(experiment, inputs, &of_policies);
    let experiment = given.as_ref().unwrap_or(experiment);
    let Resolved { experiment: resolved, defaults, drives, drive_files, cap_files } =
        resolve(experiment, inputs, &of_policies)?;
    let mut files: Vec<Input> = Vec::new();
    let workloads = resolved["workload"].as_array().into_iter().flatten();
    for (table, hash) in workloads.zip(hashes) {
        let text = |key: &str| Some(table.get(key)?.as_str()?.to_string());
        if let Some(path) = text("trace") {
            Input::new("trace", &path, text("format"), hash).add_to(&mut files);
        }
    }
    files.extend(drive_files);
    files.extend(cap_files);
    let version = env!("CARGO_PKG_VERSION");
    let id = run_id(&resolved, &files, &drives, version);
    // Systems come first, each with all workloads.
    for (i, result) in systems.iter_mut().enumerate() {
        let own: &Vec<DriveDescription> = &drives[i / experiment.workload.len()];
        result.drive = own.clone();
    }
    let warnings = warnings::find(&Ended { experiment, inputs, systems: &systems });
    Ok(RunResult {
        partial: systems.iter().any(|s| s.partial),
        systems,
        cost: experiment.cost,
        seed: experiment.run.seed,
        version: version.into(),
        run_id: id,
        experiment: resolved,
        defaults,
        inputs: files,
        warnings,
    })
}

/// The drives of a system.
pub(crate) struct Drives {
    /// Name and number in the system, of each drive.
    names: Vec<String>,
    /// None if it is unknown for any drive.
    cost: Option<CostRange>,
    /// Cost models of the drives that have one.
    price_kinds: BTreeSet<String>,
    /// What warnings need of each drive.
    facts: Vec<DriveFacts>,
    /// Whether parts of them fail in the experiment.
    injected: bool,
    members: Members,
}

impl<'a> Job<'a> {
    /// Number `s` of the systems on number `w` of the workloads.
    pub(crate) fn new(
        (experiment, inputs): (&'a Experiment, &'a Inputs),
        options: &'a RunOptions,
        expected: &'a ExpectedRequests,
        (s, w): (usize, usize),
    ) -> Job<'a> {
        Job { experiment, inputs, options, expected, s, key: format!("system[{s}]"), w, crew: Crew::default() }
    }

    fn system(&self) -> &'a System {
        &self.experiment.system[self.s]
    }

    fn workload(&self) -> &'a Workload {
        &self.experiment.workload[self.w]
    }

    fn run(&self, prepare: &Prepare) -> Result<SystemResult, RunError> {
        let mut drives = self.drives(prepare)?;
        let open = self.open_workload();
        let organisation = self.organisation(drives.members.logical_units(), &open)?;
        let mut opened = (self.inputs.open)(&open)?;
        let simulation = self.simulation(&mut opened)?;
        let counts = opened.counters.clone();
        let mut log = self.log()?;
        let mut add = |record: &Record| match &mut log {
            Some(log) => log.add(record),
            None => Ok(()),
        };
        let sink: Option<&mut Log> = if self.is_logged() { Some(&mut add) } else { None };
        let (members, organisation) = (&mut drives.members, organisation.as_ref());
        let outcome = match opened.counters.filter(|_| self.counts_by_content()) {
            Some(counters) => {
                let mut source = EstimatingSource::new(opened.source, counters, self.expected, self.w);
                members.simulate(&mut source, organisation, &simulation, sink)
            }
            None => members.simulate(&mut opened.source, organisation, &simulation, sink),
        };
        let outcome = outcome.map_err(|e| self.placed(&open, e))?;
        failure_limit::check(self.experiment, self.system(), self.w, drives.injected, &outcome)?;
        self.result(&drives, outcome, counts, log)
    }

    /// The changes of the system.
    fn changes(&self) -> Result<Vec<change::Planned>, RunError> {
        Ok(self.system().planned_changes(&self.key)?)
    }

    /// Whether the number of requests can be predicted: not if a duration ends the run.
    fn counts_by_content(&self) -> bool {
        self.experiment.run.duration.is_none()
    }

    pub(crate) fn drives(&self, prepare: &Prepare) -> Result<Drives, RunError> {
        let system = self.system();
        let seed = system.seed.unwrap_or(self.experiment.run.seed);
        let kinds = system.designs(&self.experiment.base, seed, self.inputs).map_err(at(&self.key))?;
        let (mut names, mut members, mut facts) = (Vec::new(), Vec::new(), Vec::new());
        let (mut cost, mut price_kinds, mut injected) = (None, BTreeSet::new(), false);
        for (i, kind) in kinds.iter().enumerate() {
            let place = format!("{}.{}", self.key, kind.place);
            let spec = kind.design.spec();
            let each = Parts::of(spec)
                .and_then(|parts| cost::build(&spec.cost, &parts, &self.inputs.models.cost))
                .map_err(at(&place))?;
            let each = each.map(|range| range.times(kind.options.len() as f64));
            cost = match i {
                0 => each,
                _ => sum(cost, each),
            };
            injected |= failure_limit::injects_failures(system, spec);
            let model = spec.cost.get("model").and_then(Value::as_str);
            price_kinds.extend(model.map(str::to_string));
            let of_one = DriveFacts::of(&kind.design, system, &self.capping_parameters()?);
            for options in &kind.options {
                let number = members.len() as u32;
                let mut drive = kind.drive(options).map_err(at(&self.key))?;
                prepare(&mut drive, number).map_err(at(&place))?;
                members.push(drive);
                facts.push(of_one);
                names.push(format!("{}[{number}]", spec.name));
            }
        }
        let members = Members::of(system, members, self.inputs).map_err(at(&self.key))?;
        Members::dry_run(system, &self.changes()?, &kinds, self.inputs)?;
        Ok(Drives { names, cost, price_kinds, facts, injected, members })
    }

    pub(crate) fn open_workload(&self) -> OpenWorkload<'a> {
        let trace = self.workload().trace.as_ref();
        OpenWorkload {
            workload: self.workload(),
            key: format!("workload[{}]", self.w),
            path: trace.map_or(PathBuf::new(), |t| self.experiment.path(t)),
            seed: self.workload_seed(),
            formats: &self.inputs.formats,
            of_several: self.experiment.workload.len() > 1,
        }
    }

    /// Seed of the workload's random streams. It is the same for all systems, so that they get the same
    /// requests.
    fn workload_seed(&self) -> u64 {
        self.experiment.run.seed.wrapping_add(self.w as u64)
    }

    fn organisation(&self, member_blocks: Vec<u64>, open: &OpenWorkload) -> Result<Box<dyn Organisation>, RunError> {
        let LayerSpec { name, params, .. } = &self.system().organisation;
        let found = self.inputs.organisations.find("organisation", name);
        let entry = found.map_err(at(&self.key))?;
        let context = Context { member_blocks, device_blocks: self.device_blocks(entry.facts, open)? };
        let place = format!("{}.organisation", self.key);
        Ok(entry.build(params, &context).map_err(at(&place))?)
    }

    /// Sizes of the workload's devices, where the organisation needs them.
    fn device_blocks(&self, sizes: DeviceSizes, open: &OpenWorkload) -> Result<Vec<u64>, RunError> {
        let given = &self.workload().device_blocks;
        match given {
            _ if sizes == DeviceSizes::Unused => return Ok(Vec::new()),
            Some(list) if list.len() > 1 => return Ok(list.clone()),
            _ => {}
        }
        let mut opened = (self.inputs.open)(open)?;
        let sizes = match opened.one_device {
            true => Vec::new(),
            false => {
                let progress = &self.options.progress;
                let (sizes, requests) = measure(&mut opened.source, open, progress)?;
                if self.counts_by_content() {
                    self.expected.set(self.w, RequestCount::Exact(requests));
                }
                sizes
            }
        };
        Ok(match given.as_deref() {
            Some([size]) => vec![*size; sizes.len().max(1)],
            // One device fills the whole array.
            _ if sizes.len() <= 1 => Vec::new(),
            _ => sizes,
        })
    }

    /// Options of the simulation; takes the closed loop out of `opened`.
    fn simulation(&self, opened: &mut Opened) -> Result<Options, RunError> {
        let (workload, run) = (self.workload(), &self.experiment.run);
        if let (Some(requests), true) = (opened.requests, self.counts_by_content()) {
            self.expected.set(self.w, RequestCount::Exact(requests));
        }
        let closed = opened.closed.take();
        if closed.is_some() && workload.arrivals.is_some() {
            let key = format!("workload[{}].arrivals", self.w);
            let got = "a synthetic workload with closed arrivals of its own";
            return Err(SpecError::new(key, got, "one of the two").into());
        }
        let jobs = std::mem::take(&mut opened.jobs);
        if !jobs.is_empty() && workload.arrivals.is_some() {
            let key = format!("workload[{}].arrivals", self.w);
            let need = "no such key: jobs issue requests by themselves";
            return Err(SpecError::new(key, "a value", need).into());
        }
        let is_bounded = run.duration.is_some() || run.max_requests.is_some();
        if !is_bounded && jobs.iter().any(|j| !j.ends()) {
            let need = "a length of time, as a job has neither duration nor volume";
            return Err(SpecError::new("run.duration", "nothing", need).into());
        }
        let mut arrivals = workload.arrivals.clone().unwrap_or_default();
        if let Arrivals::Closed(closed) = &mut arrivals {
            closed.seed = self.workload_seed();
        }
        Ok(Options {
            arrivals: match (closed, jobs.is_empty()) {
                (Some(closed), _) => Arrivals::Closed(closed),
                (None, true) => arrivals,
                (None, false) => Arrivals::Jobs { jobs, processors: workload.processors, seed: self.workload_seed() },
            },
            warm_up: workload.warm_up.unwrap_or(WarmUp::Requests(0)),
            max_requests: run.max_requests,
            duration: run.duration,
            past_end: workload.past_end,
            capping: self.experiment.capping_of(self.s)?,
            policies: self.inputs.policies.clone(),
            changes: self.changes()?,
            classes: workload.classes.len(),
            exact_limit: run.exact_limit,
            progress: self.options.progress.clone(),
            crew: self.crew.clone(),
            ..Options::default()
        })
    }

    fn is_logged(&self) -> bool {
        self.options.log_requests || self.experiment.run.log_requests
    }

    fn log(&self) -> Result<Option<RequestLog>, RunError> {
        match &self.options.out_dir {
            _ if !self.is_logged() => Ok(None),
            Some(dir) => Ok(Some(RequestLog::new(dir.join(self.file("requests"))))),
            None => Err(SpecError::new("run.log_requests", "no output folder", "one").into()),
        }
    }

    /// Name of a file of this job.
    fn file(&self, kind: &str) -> String {
        let number = self.s * self.experiment.workload.len() + self.w;
        let (system, workload) = (slug(&self.system().name), slug(&self.workload().name));
        format!("{kind}-{number}-{system}-{workload}.parquet")
    }

    fn placed(&self, open: &OpenWorkload, e: SimulateError) -> RunError {
        match e {
            SimulateError::Trace(e) => open.placed(e),
            SimulateError::Change(e) => RunError::Input(e),
            SimulateError::Log(e) => RunError::Output(e),
            source => RunError::Simulate {
                system: match open.of_several {
                    true => format!("{} on {}", self.system().name, self.workload().name),
                    false => self.system().name.clone(),
                },
                source,
            },
        }
    }

    /// How much of its workload an interrupted run has seen.
    fn covered(&self, outcome: &Outcome) -> Covered {
        let known = self.expected.get(self.w);
        let [first, last] = outcome.seen.covered.unwrap_or_default();
        Covered {
            n_requests: outcome.seen.n_taken,
            n_expected: known.map(RequestCount::number),
            is_estimate: matches!(known, Some(RequestCount::Estimate(_))),
            seconds: last.since(first).as_secs_f64(),
            until_s: last.0 as f64 * 1e-9,
        }
    }

    /// The parameters of the power-capping policy; none without one.
    fn capping_parameters(&self) -> Result<Params, RunError> {
        let plan = self.experiment.capping_of(self.s)?;
        Ok(plan.map(|plan| plan.table.parameters).unwrap_or_default())
    }

    /// Sums up and writes what capping did.
    fn capping(&self, mut outcome: CappingOutcome) -> Result<CappingResult, RunError> {
        let mut result = capping::summarise(&mut outcome);
        if let Some(dir) = &self.options.out_dir {
            let (series, drives) = (self.file("capping"), self.file("capping-drives"));
            capping::write_series(&dir.join(&series), &outcome.series).map_err(RunError::Output)?;
            capping::write_drives(&dir.join(&drives), &outcome.series).map_err(RunError::Output)?;
            result.series_file = Some(series);
            result.drives_file = Some(drives);
        }
        Ok(result)
    }

    /// Computes the result of one job and writes its files.
    fn result(
        &self,
        drives: &Drives,
        mut outcome: Outcome,
        counts: Option<Counters>,
        log: Option<RequestLog>,
    ) -> Result<SystemResult, RunError> {
        let capping = outcome.capping.take();
        // Drives that were never there are in no list.
        let there = drives.names.iter().zip(&drives.facts).zip(&outcome.members).filter(|(_, m)| !m.is_absent);
        let (names, of_drives): (Vec<String>, Vec<DriveFacts>) = there.map(|((n, f), _)| (n.clone(), *f)).unzip();
        outcome.members.retain(|m| !m.is_absent);
        let facts = Facts { alignment: outcome.seen.alignment, beyond: outcome.seen.beyond, drives: of_drives };
        let covered = outcome.partial.then(|| self.covered(&outcome));
        let classes: Vec<String> = self.workload().classes.iter().map(|c| c.name.clone()).collect();
        let (result, points) = summarise(&names, &self.experiment.cost, &classes, outcome);
        let mut result = SystemResult {
            name: self.system().name.clone(),
            workload: self.workload().name.clone(),
            cost_usd: Cost::of(drives.cost, &drives.price_kinds),
            facts,
            covered,
            layers: drives.members.layers(),
            ..result
        };
        if let Some(Tally { skipped, clamped, zero_sized, .. }) = counts.map(|c| c.counts()) {
            result.trace_records = TraceRecords { n_skipped: skipped, n_clamped: clamped, n_zero_sized: zero_sized };
        }
        if let Some(log) = log {
            log.close().map_err(RunError::Output)?;
            result.requests_file = Some(self.file("requests"));
        }
        if let Some(dir) = &self.options.out_dir {
            let file = self.file("series");
            write_series(&dir.join(&file), &points).map_err(RunError::Output)?;
            result.series_file = Some(file);
        }
        result.capping = capping.map(|capping| self.capping(capping)).transpose()?;
        Ok(result)
    }
}

/// Sizes of the devices of a workload, up to the last block used of each, and the number of its requests.
fn measure(source: &mut Source, open: &OpenWorkload, progress: &Progress) -> Result<(Vec<u64>, u64), RunError> {
    // No array has so many drives: a higher number means a wrong column.
    const MOST: u32 = 1 << 20;
    let (mut sizes, mut requests): (Vec<u64>, u64) = (Vec::new(), 0);
    for (i, request) in source.enumerate() {
        let request = request.map_err(|e| open.placed(e))?;
        requests += 1;
        if request.op == Command::Flush || request.is_below_zero() {
            continue;
        }
        if request.device >= MOST {
            let got = format!("device {} in request {i}", request.device);
            return Err(SpecError::new(&open.key, got, format!("devices below {MOST}")).into());
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
