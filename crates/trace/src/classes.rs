//! Classes of requests: what their processes ask for, and the requests of which results are shown apart.
//!
//! # Model
//! A class has a share of the requests, drawn for each, or all requests of some jobs. Its requests carry an I/O priority as
//! Linux gives it: class, level and hint. Requests that belong to no class are class 0. Shares are those of the operations
//! that the class is about, as `cmdprio_percentage` of fio, whose `cmdprio_class` and `cmdprio_hint` are the priority.
//! # Source
//! fio, HOWTO: `cmdprio_percentage`, `cmdprio_class`, `cmdprio`, `cmdprio_hint`; Linux, `ioprio_set(2)`.

use crate::error::TraceError;
use crate::ioprio::{Ioprio, IoprioClass};
use crate::request::{Op, Request};
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
    /// Share of the requests that belong to it, drawn for each.
    #[param(range = 0.0..=1.0)]
    pub share: Option<f64>,
    /// Names of the jobs whose requests belong to it, where the workload has jobs.
    #[param(default)]
    pub jobs: Vec<String>,
    /// Which requests it is about: `all`, `reads` or `writes`.
    #[param(default)]
    pub operations: ClassOperations,
    /// Class of the I/O priority: `none`, `real-time`, `best-effort` or `idle`; with a hint `best-effort` if absent.
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
    fn has(self, op: Op) -> bool {
        match self {
            ClassOperations::All => true,
            ClassOperations::Reads => op == Op::Read,
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
        if self.share.is_some() != self.jobs.is_empty() {
            let got = match self.share {
                Some(_) => "share and jobs",
                None => "neither share nor jobs",
            };
            return Err(SpecError::new("", got, "one of them"));
        }
        if self.ioprio_class == Some(IoprioClass::None) && self.ioprio_hint > 0 {
            let need = "another class: a hint counts only with one";
            return Err(SpecError::new("ioprio_class", "\"none\"", need));
        }
        Ok(())
    }

    /// The I/O priority of its requests.
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

/// The name of the requests that belong to no class.
pub const OTHER: &str = "other";

/// Checks the classes of a workload together; `jobs` are the names of its jobs, none without jobs.
///
/// # Errors
/// The key in the list, `[1].share`, what was got and what is needed.
pub fn check_classes(classes: &[RequestClass], jobs: &[String]) -> Result<(), SpecError> {
    if classes.len() > MOST_CLASSES {
        let got = format!("{} classes", classes.len());
        return Err(SpecError::new("", got, format!("at most {MOST_CLASSES}")));
    }
    let mut sums = [0.0; 2];
    for (i, class) in classes.iter().enumerate() {
        let place = |e: SpecError| e.within(&format!("[{i}]"));
        class.check_fields().map_err(place)?;
        if classes[..i].iter().any(|c| c.name == class.name) {
            let got = format!("{:?} twice", class.name);
            return Err(place(SpecError::new("name", got, "different names")));
        }
        if let (Some(share), false) = (class.share, jobs.is_empty()) {
            let need = "jobs, by their names: shares of jobs are not supported";
            return Err(place(SpecError::new("share", share, need)));
        }
        for (n, job) in class.jobs.iter().enumerate() {
            if !jobs.contains(job) {
                let names = jobs.iter().map(String::as_str);
                let need = format!("the name of a job{}", did_you_mean(job, names));
                let got = format!("{job:?}");
                return Err(place(SpecError::new(format!("jobs[{n}]"), got, need)));
            }
        }
        for (sum, op) in sums.iter_mut().zip([Op::Read, Op::Write]) {
            *sum += class
                .share
                .filter(|_| class.operations.has(op))
                .unwrap_or(0.0);
            if *sum > 1.0 + 1e-9 {
                let need = "shares of an operation that add up to 1 at most";
                return Err(place(SpecError::new(
                    "share",
                    class.share.unwrap_or(0.0),
                    need,
                )));
            }
        }
    }
    Ok(())
}

/// Requests that are given to classes by shares.
struct Shared {
    source: Source,
    /// Share, operations, and priority of each class.
    classes: Vec<(f64, ClassOperations, Ioprio)>,
    random: Xoshiro256PlusPlus,
}

/// The requests of a source, given to the classes by their shares.
pub fn by_share(source: Source, classes: &[RequestClass], seed: u64) -> Source {
    let one = |c: &RequestClass| (c.share.unwrap_or(0.0), c.operations, c.priority());
    Box::new(Shared {
        source,
        classes: classes.iter().map(one).collect(),
        random: stream(seed, "workload.classes"),
    })
}

impl Iterator for Shared {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut request = match self.source.next()? {
            Ok(request) => request,
            error => return Some(error),
        };
        let mut left = self.random.random::<f64>();
        for (i, (share, operations, priority)) in self.classes.iter().enumerate() {
            if !operations.has(request.op) {
                continue;
            }
            if left < *share {
                (request.class, request.priority) = (i as u8 + 1, *priority);
                break;
            }
            left -= share;
        }
        Some(Ok(request))
    }
}

impl Requests for Shared {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Each;

    fn class(name: &str, share: f64, operations: ClassOperations, hint: u32) -> RequestClass {
        RequestClass {
            name: name.into(),
            share: Some(share),
            jobs: Vec::new(),
            operations,
            ioprio_class: None,
            ioprio_level: 0,
            ioprio_hint: hint,
        }
    }

    /// Shares are those of the operations that a class is about: a fifth of the reads, half of the writes, within four
    /// standard deviations of 20,000 draws. The other requests keep no priority.
    #[test]
    fn shares_are_of_operations() {
        let classes = [
            class("reads", 0.2, ClassOperations::Reads, 1),
            class("writes", 0.5, ClassOperations::Writes, 2),
        ];
        let requests = (0..40_000u64).map(|i| {
            Ok(Request {
                op: if i % 2 == 0 { Op::Read } else { Op::Write },
                ..Request::default()
            })
        });
        let mut found = [[0; 3]; 2];
        for request in by_share(Box::new(Each(requests)), &classes, 7) {
            let request = request.expect("a request");
            found[usize::from(request.op.writes())][usize::from(request.class)] += 1;
            assert_eq!(request.priority.limit(), request.class);
        }
        assert_eq!((found[0][2], found[1][1]), (0, 0));
        assert!(
            (found[0][1] as f64 - 4000.0).abs() < 4.0 * 57.0,
            "{found:?}"
        );
        assert!(
            (found[1][2] as f64 - 10_000.0).abs() < 4.0 * 71.0,
            "{found:?}"
        );
    }

    #[test]
    fn wrong_classes_are_refused() {
        let all = ClassOperations::All;
        let error = |classes: &[RequestClass], jobs: &[String]| {
            let found = check_classes(classes, jobs);
            found.expect_err("a wrong class").to_string()
        };
        let two = [
            class("a", 0.6, all, 0),
            class("b", 0.5, ClassOperations::Reads, 0),
        ];
        let need = "[1].share: got 0.5, need shares of an operation that add up to 1 at most";
        assert_eq!(error(&two, &[]), need);
        let twice = [class("a", 0.1, all, 0), class("a", 0.1, all, 0)];
        assert!(error(&twice, &[]).starts_with("[1].name: got \"a\" twice"));
        let mut of_job = class("a", 0.1, all, 0);
        assert!(error(&[of_job.clone()], &["web".into()]).contains("jobs, by their names"));
        (of_job.share, of_job.jobs) = (None, vec!["wed".into()]);
        let text = error(&[of_job], &["web".into()]);
        assert!(
            text.starts_with("[0].jobs[0]: got \"wed\", need the name of a job"),
            "{text}"
        );
        assert!(text.contains("\"web\""), "{text}");
        assert!(error(&[class("other", 0.1, all, 0)], &[]).contains("a name, other than"));
    }
}
