//! Runs a case on one thread and on two, and checks both.

use crate::random::case::{Case, TRACE};
use crate::random::checks;
use headstack_engine::Progress;
use headstack_experiment::{run, Experiment, Inputs, Overrides, RunError, RunOptions, RunResult};
use headstack_schema::Params;
use headstack_testkit::shipped;
use headstack_testkit::world::caught;
use std::fs;
use std::path::{Path, PathBuf};

/// What is wrong with a case.
#[derive(Debug)]
pub struct Finding {
    /// The check that failed, in a few words.
    pub check: &'static str,
    pub text: String,
}

impl Finding {
    pub fn new(check: &'static str, text: impl Into<String>) -> Finding {
        Finding { check, text: text.into() }
    }
}

/// How a case ended.
#[derive(Debug)]
pub enum Outcome {
    Passed,
    /// The experiment is wrong; the error.
    Refused(String),
    Failed(Finding),
}

/// The file name of a case's experiment.
pub const EXPERIMENT: &str = "experiment.toml";

/// Writes an experiment and its trace into a folder, which is made anew.
pub fn write(experiment: &str, trace: Option<&str>, folder: &Path) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join(EXPERIMENT), experiment).expect("a file");
    if let Some(trace) = trace {
        fs::write(folder.join(TRACE), trace).expect("a file");
    }
}

/// Runs a case in a folder.
///
/// `progress` may cancel it, which is a finding.
pub fn run_case(case: &Case, folder: &Path, progress: &Progress) -> Outcome {
    write(&case.toml(), case.trace.as_deref(), folder);
    match caught(|| in_folder(folder, progress)) {
        Ok(Ok(_)) => Outcome::Passed,
        Ok(Err(Wrong::Refused(error))) => Outcome::Refused(error),
        Ok(Err(Wrong::Found(finding))) => Outcome::Failed(finding),
        Err(panic) => Outcome::Failed(Finding::new("no panic", panic.text)),
    }
}

/// Why an experiment has no result, or a wrong one.
#[derive(Debug)]
pub enum Wrong {
    Refused(String),
    Found(Finding),
}

/// Runs and checks the experiment in a folder.
pub fn in_folder(folder: &Path, progress: &Progress) -> Result<RunResult, Wrong> {
    let file = folder.join(EXPERIMENT);
    let open = |set: Params| -> Result<Experiment, Wrong> {
        let opened = Experiment::open(&file, &Overrides { set, ..Overrides::default() });
        opened.map_err(|e| Wrong::Refused(e.to_string()))
    };
    let experiment = open(Params::new())?;
    let go = |experiment: &Experiment, name: &str, threads: usize, log_requests: bool| {
        let out = folder.join(name);
        let options =
            RunOptions { threads: Some(threads), out_dir: Some(out.clone()), log_requests, progress: progress.clone() };
        let inputs = Inputs::new(vec![shipped::folder()]);
        let result = run(experiment, &inputs, &options).map_err(of_run)?;
        Ok::<(RunResult, PathBuf), Wrong>((result, out))
    };
    let (result, out) = go(&experiment, "threads-1", 1, true)?;
    checks::all(&result, &out).map_err(Wrong::Found)?;
    let (again, out_again) = go(&experiment, "threads-2", 2, false)?;
    checks::same(&result, &again).map_err(Wrong::Found)?;
    checks::same_files(&out, &out_again).map_err(Wrong::Found)?;
    let workloads = result.experiment["workload"].as_array().into_iter().flatten();
    if workloads.clone().any(|w| w["warm_up"] != 0) {
        let zero = |i: usize| (format!("workload.{i}.warm_up"), 0.into());
        let cold = open((0..workloads.count()).map(zero).collect())?;
        let (cold, out_cold) = go(&cold, "cold", 1, true)?;
        checks::warmed((&result, &out), (&cold, &out_cold)).map_err(Wrong::Found)?;
    }
    Ok(result)
}

fn of_run(error: RunError) -> Wrong {
    match error.is_input() {
        true => Wrong::Refused(error.to_string()),
        false => Wrong::Found(Finding::new("no error", error.to_string())),
    }
}
