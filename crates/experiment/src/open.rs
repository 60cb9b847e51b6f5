//! Opening the workloads of an experiment.

use crate::experiment::Workload;
use crate::run::error::RunError;
use headstack_schema::{read, Parameter, SpecError};
use headstack_trace::classes::{check_classes, marked, Marks, Origin};
use headstack_trace::reader::Formats;
use headstack_trace::{open, ClosedLoop, Counters, Each, Job, Jobs, ReadOptions, Source, Synthetic, TraceError};
use serde_json::Value;
use std::path::PathBuf;

/// A workload ready to be read.
pub struct Opened {
    /// Its requests.
    pub source: Source,
    /// The closed loop of a closed synthetic workload.
    pub closed: Option<ClosedLoop>,
    /// The jobs that issue its requests, where it has some; then `source` is empty.
    pub jobs: Vec<Job>,
    /// Number of requests, if known before they are read.
    pub requests: Option<u64>,
    /// Whether it is known before they are read that all are for device 0.
    pub one_device: bool,
    /// Counters of the bytes read from its file, if it has one.
    pub counters: Option<Counters>,
}

impl Opened {
    /// A workload with nothing known but its requests.
    pub fn new(source: Source) -> Opened {
        Opened { source, closed: None, jobs: Vec::new(), requests: None, one_device: false, counters: None }
    }
}

/// What is needed to open a workload.
pub struct OpenWorkload<'a> {
    /// The workload's table.
    pub workload: &'a Workload,
    /// Its key in the experiment, for errors: `workload[0]`.
    pub key: String,
    /// The path of the trace, starting from the experiment's folder; empty for synthetic workloads.
    pub path: PathBuf,
    /// Seed of its random streams: the same for every system.
    pub seed: u64,
    /// The known trace formats.
    pub formats: &'a Formats,
    /// Whether the experiment has other workloads too; errors in a trace then name the workload.
    pub of_several: bool,
}

impl OpenWorkload<'_> {
    /// Adds the place in the experiment to an error that names a key of the workload. An error in a trace
    /// already names its file.
    pub fn placed(&self, e: TraceError) -> RunError {
        // The transformations are keys of the workload itself.
        let key_of = |path: &str| {
            let key = path.strip_prefix("transform.").unwrap_or(path);
            format!("{}.{key}", self.key)
        };
        match e {
            TraceError::Input { path, got, need } if is_key(&path) => SpecError::new(key_of(&path), got, need).into(),
            TraceError::Record { path, line, got, need } if is_key(&path) => {
                let got = format!("request {line} with {got}");
                SpecError::new(key_of(&path), got, need).into()
            }
            e if self.of_several => self.of_trace(e),
            e => e.into(),
        }
    }

    fn of_trace(&self, source: TraceError) -> RunError {
        let place = format!("{}.trace", self.key);
        RunError::Workload { place, source }
    }

    /// As [`Self::placed`], for a trace that cannot be opened: the error names the key `trace`, which gives its
    /// path.
    fn unopened(&self, e: TraceError) -> RunError {
        match e {
            e @ TraceError::Io { .. } => self.of_trace(e),
            e => self.placed(e),
        }
    }

    fn read<T: Parameter>(&self, key: &str, value: Value) -> Result<T, RunError> {
        let place = format!("{}.{key}", self.key);
        read(&value).map_err(|e| e.within(&place).into())
    }
}

/// Whether an error's place is a key of a workload, and not a file.
fn is_key(path: &str) -> bool {
    ["format", "synthetic", "processors"].contains(&path)
        || ["format_parameters", "synthetic.", "jobs[", "transform."].iter().any(|start| path.starts_with(start))
}

/// Opens a trace or a synthetic workload, with the transformations in its table.
///
/// # Errors
/// A key that cannot be used, with its place in the experiment; a trace that cannot be opened.
pub fn open_workload(w: &OpenWorkload) -> Result<Opened, RunError> {
    let opened = open_unmarked(w)?;
    let classes = &w.workload.classes;
    if classes.is_empty() {
        return Ok(opened);
    }
    let mut jobs = opened.jobs;
    for (i, job) in jobs.iter_mut().enumerate() {
        if job.name.is_empty() {
            job.name = format!("job-{i}");
        }
        job.marks = Marks::of(classes, Some(&job.name));
    }
    let names: Vec<String> = jobs.iter().map(|j| j.name.clone()).collect();
    let place = format!("{}.classes", w.key);
    let origin = match (jobs.is_empty(), &w.workload.synthetic) {
        (false, _) => Origin::Jobs(&names),
        (true, Some(_)) => Origin::Synthetic,
        (true, None) => Origin::Trace,
    };
    check_classes(classes, origin).map_err(|e| e.within(&place))?;
    let source = match jobs.is_empty() {
        true => marked(opened.source, classes, w.seed),
        false => opened.source,
    };
    Ok(Opened { source, jobs, ..opened })
}

/// The same, without the classes of its requests.
fn open_unmarked(w: &OpenWorkload) -> Result<Opened, RunError> {
    let transform = &w.workload.transform;
    if !w.workload.jobs.is_empty() {
        let jobs: Vec<Job> = w.read("jobs", w.workload.jobs.write())?;
        if let Some(key) = transform.given().first() {
            let need = "no such key: jobs are not transformed";
            return Err(SpecError::new(format!("{}.{key}", w.key), "a value", need).into());
        }
        Jobs::new(&jobs, w.workload.processors, w.seed).map_err(|e| w.placed(e))?;
        return Ok(Opened { jobs, ..Opened::new(Box::new(Each(std::iter::empty()))) });
    }
    if let Some(parameters) = &w.workload.synthetic {
        let synthetic: Synthetic = w.read("synthetic", Value::Object(parameters.clone()))?;
        return Ok(Opened {
            source: transform.open(|| synthetic.source(w.seed)).map_err(|e| w.placed(e))?,
            closed: synthetic.closed(w.seed).map_err(|e| w.placed(e))?,
            jobs: Vec::new(),
            requests: transform.keeps(synthetic.n_requests),
            one_device: synthetic.devices == 1 && transform.given().is_empty(),
            counters: None,
        });
    }
    let options = ReadOptions {
        on_error: w.workload.on_error,
        order: w.workload.order,
        formats: w.formats.clone(),
        parameters: w.workload.format_parameters.clone(),
        ..ReadOptions::default()
    };
    Ok(Opened {
        source: transform.open(|| open(&w.path, w.workload.format.as_deref(), &options)).map_err(|e| w.unopened(e))?,
        closed: None,
        jobs: Vec::new(),
        requests: None,
        one_device: false,
        counters: Some(options.counters),
    })
}
