//! Classes of requests: what their processes ask for, and the requests of which results are shown apart.
//!
//! # Model
//! A class has a share of the requests, drawn for each; all requests of some jobs, or a share of them; those of some processes of
//! a trace; or those that have its I/O priority in the trace. Its requests carry an I/O priority as Linux gives it: class,
//! level and hint; without any of the three they keep that of the trace. A request belongs to the first class that takes it,
//! and to class 0 if none does. Shares are those of the operations that the class is about, as `cmdprio_percentage` of fio,
//! whose `cmdprio_class` and `cmdprio_hint` are the priority.
//! # Source
//! fio, HOWTO: `cmdprio_percentage`, `cmdprio_class`, `cmdprio`, `cmdprio_hint`; Linux, `ioprio_set(2)`.

use crate::error::TraceError;
use crate::ioprio::{Ioprio, IoprioClass};
use crate::request::{Command, Process, Request};
use crate::source::{Requests, Source};
use headstack_engine::random::stream;
use headstack_schema::{did_you_mean, Choice, SpecError, Table};
use rand::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Most classes of a workload.
pub const MOST_CLASSES: usize = 64;

/// A class of requests, as in an experiment's TOML.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(check = RequestClass::check_fields)]
pub struct RequestClass {
    /// Name in results.
    pub name: String,
    /// Share of the requests that belong to it, drawn for each; of its jobs, if it names jobs.
    #[param(range = 0.0..=1.0)]
    pub share: Option<f64>,
    /// Names of the jobs whose requests belong to it, where the workload has jobs.
    #[param(default)]
    pub jobs: Vec<String>,
    /// Numbers of the processes whose requests belong to it: the column `process` of a csv or parquet trace, the PID of blkparse
    /// and blktrace.
    #[param(default)]
    pub processes: Vec<u32>,
    /// Whether the requests belong to it that have its I/O priority in the trace: the column `ioprio` of csv or parquet.
    #[param(default)]
    pub by_ioprio: bool,
    /// Which requests it is about.
    #[param(default)]
    pub operations: ClassOperations,
    /// Class of the I/O priority. If absent, with a hint `best-effort`.
    pub ioprio_class: Option<IoprioClass>,
    /// Level of the I/O priority in its class; 0 goes first.
    #[param(default, range = 0..=7)]
    pub ioprio_level: u32,
    /// Hint of the I/O priority: the number of a duration limit of the drives; 0: none.
    #[param(default, range = 0..=7)]
    pub ioprio_hint: u32,
}

/// Which requests a class is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum ClassOperations {
    /// All.
    #[default]
    All,
    /// Reads.
    Reads,
    /// Writes.
    Writes,
}

impl ClassOperations {
    fn has(self, op: Command) -> bool {
        match self {
            ClassOperations::All => true,
            ClassOperations::Reads => op.reads(),
            ClassOperations::Writes => op.writes(),
        }
    }
}

impl RequestClass {
    fn check_fields(&self) -> Result<(), SpecError> {
        if self.name.is_empty() || self.name == OTHER {
            let need = format!("a name, other than {OTHER:?}");
            return Err(SpecError::new("name", format!("{:?}", self.name), need));
        }
        let ways = [
            (self.share.is_some() || !self.jobs.is_empty(), "share or jobs"),
            (!self.processes.is_empty(), "processes"),
            (self.by_ioprio, "by_ioprio"),
        ];
        let given: Vec<&str> = ways.iter().filter(|w| w.0).map(|w| w.1).collect();
        if given.len() != 1 {
            let got = match given.is_empty() {
                true => "none of share, jobs, processes and by_ioprio".to_string(),
                false => given.join(" and "),
            };
            return Err(SpecError::new("", got, "one of them; share may be one of jobs"));
        }
        if self.by_ioprio && self.priority() == Ioprio::NONE {
            let need = "an I/O priority with it: ioprio_class, ioprio_level or ioprio_hint";
            return Err(SpecError::new("by_ioprio", true, need));
        }
        if self.ioprio_class == Some(IoprioClass::None) && self.ioprio_hint > 0 {
            let need = "another class: a hint counts only with one";
            return Err(SpecError::new("ioprio_class", "\"none\"", need));
        }
        Ok(())
    }

    /// Whether it is about requests of this job.
    fn takes_job(&self, name: &str) -> bool {
        self.jobs.is_empty() || self.jobs.iter().any(|job| job == name)
    }

    /// The I/O priority of its requests; [`Ioprio::NONE`] if nothing of it is given.
    pub fn priority(&self) -> Ioprio {
        let class = match (self.ioprio_class, self.ioprio_hint) {
            (Some(class), _) => class,
            (None, 0) => IoprioClass::None,
            (None, _) => IoprioClass::BestEffort,
        };
        let (level, hint) = (self.ioprio_level as u16, self.ioprio_hint as u16);
        Ioprio::of(class, level, hint).unwrap_or(Ioprio::NONE)
    }
}

/// What a workload has by which its requests can be told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin<'a> {
    /// Jobs with these names.
    Jobs(&'a [String]),
    /// A trace.
    Trace,
    /// Synthetic requests.
    Synthetic,
}

/// The name of the requests that belong to no class.
pub const OTHER: &str = "other";

/// Checks the classes of a workload together.
///
/// # Errors
/// The key in the list, `[1].share`, what was got and what is needed.
pub fn check_classes(classes: &[RequestClass], origin: Origin) -> Result<(), SpecError> {
    let jobs = match origin {
        Origin::Jobs(names) => names,
        _ => &[],
    };
    if classes.len() > MOST_CLASSES {
        let got = format!("{} classes", classes.len());
        return Err(SpecError::new("", got, format!("at most {MOST_CLASSES}")));
    }
    // By job, and by operation; requests of no job are those of one.
    let mut sums = vec![[0.0; 2]; jobs.len().max(1)];
    for (i, class) in classes.iter().enumerate() {
        let place = |e: SpecError| e.within(&format!("[{i}]"));
        class.check_fields().map_err(place)?;
        if classes[..i].iter().any(|c| c.name == class.name) {
            let got = format!("{:?} twice", class.name);
            return Err(place(SpecError::new("name", got, "different names")));
        }
        let of_trace = [("processes", !class.processes.is_empty()), ("by_ioprio", class.by_ioprio)];
        if let Some((key, _)) = of_trace.iter().find(|k| k.1 && origin != Origin::Trace) {
            let need = "no such key: it is for traces, and this workload has none";
            return Err(place(SpecError::new(*key, "a value", need)));
        }
        for (n, job) in class.jobs.iter().enumerate() {
            if !jobs.contains(job) {
                let names = jobs.iter().map(String::as_str);
                let need = format!("the name of a job{}", did_you_mean(job, names));
                let got = format!("{job:?}");
                return Err(place(SpecError::new(format!("jobs[{n}]"), got, need)));
            }
        }
        let Some(share) = class.share else { continue };
        for (job, sums) in sums.iter_mut().enumerate() {
            let is_about = jobs.get(job).is_none_or(|name| class.takes_job(name));
            for (sum, op) in sums.iter_mut().zip([Command::Read, Command::Write]) {
                if is_about && class.operations.has(op) {
                    *sum += share;
                }
                if *sum > 1.0 + 1e-9 {
                    let need = "shares of an operation that add up to 1 at most";
                    return Err(place(SpecError::new("share", share, need)));
                }
            }
        }
    }
    Ok(())
}

/// A class, as it is looked for.
#[derive(Debug, Clone, PartialEq)]
struct Mark {
    class: u8,
    share: Option<f64>,
    operations: ClassOperations,
    processes: Vec<u32>,
    /// The priority that its requests have in the trace.
    has: Option<Ioprio>,
    /// The priority that they get.
    gets: Option<Ioprio>,
}

impl Mark {
    fn takes(&self, request: &Request) -> bool {
        self.operations.has(request.op)
            && (self.processes.is_empty() || self.processes.contains(&request.process.0))
            && self.has.is_none_or(|priority| priority == request.priority)
    }
}

/// The classes that requests of one origin can have.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Marks(Vec<Mark>);

impl Marks {
    /// The classes of requests of a job, or of all if there are no jobs.
    pub fn of(classes: &[RequestClass], job: Option<&str>) -> Marks {
        let mark = |(i, class): (usize, &RequestClass)| Mark {
            class: i as u8 + 1,
            share: class.share,
            operations: class.operations,
            processes: class.processes.clone(),
            has: class.by_ioprio.then(|| class.priority()),
            gets: Some(class.priority()).filter(|p| *p != Ioprio::NONE),
        };
        let classes = classes.iter().enumerate();
        let here = classes.filter(|(_, c)| job.is_none_or(|name| c.takes_job(name)));
        Marks(here.map(mark).collect())
    }

    /// Gives a request to the first class that takes it.
    pub fn mark(&self, request: &mut Request, random: &mut Xoshiro256PlusPlus) {
        // One number for all shares.
        let mut left = None;
        for mark in self.0.iter().filter(|mark| mark.takes(request)) {
            if let Some(share) = mark.share {
                let left = left.get_or_insert_with(|| random.random::<f64>());
                if *left >= share {
                    *left -= share;
                    continue;
                }
            }
            request.class = mark.class;
            request.priority = mark.gets.unwrap_or(request.priority);
            return;
        }
    }

    fn by_process(&self) -> bool {
        self.0.iter().any(|mark| !mark.processes.is_empty())
    }
}

/// The random numbers with which shares are drawn.
pub fn draws(seed: u64) -> Xoshiro256PlusPlus {
    stream(seed, "workload.classes")
}

/// Requests that are given to classes.
struct Marked {
    source: Source,
    marks: Marks,
    random: Xoshiro256PlusPlus,
    /// Requests need a process.
    by_process: bool,
}

/// The requests of a source, given to the classes.
pub fn marked(source: Source, classes: &[RequestClass], seed: u64) -> Source {
    let marks = Marks::of(classes, None);
    Box::new(Marked { source, by_process: marks.by_process(), marks, random: draws(seed) })
}

impl Iterator for Marked {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut request = match self.source.next()? {
            Ok(request) => request,
            error => return Some(error),
        };
        if self.by_process && request.process == Process::UNKNOWN {
            return Some(Err(TraceError::Input {
                path: "classes".into(),
                got: "a trace that does not say which process issued a request".into(),
                need: "a column process in csv or parquet, blkparse or blktrace".into(),
            }));
        }
        self.marks.mark(&mut request, &mut self.random);
        Some(Ok(request))
    }
}

impl Requests for Marked {}
