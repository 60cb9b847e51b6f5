//! Power capping of simulated drives: the relations of "PCAP: Performance-aware Power Capping for the Disk Drive in
//! the Cloud" (FAST 2016), each with the mechanism taken away that makes it. Expected values are those of the paper's
//! text, and of an independent model of the same drive where the text has none.

mod control;
mod draining;
mod loads;
mod settling;
mod shelf;
mod wiring;

use headstack_experiment::{Experiment, RunOptions, RunResult, SystemResult};
use std::fmt::Write;
use std::path::Path;

/// The caps of Figures 4 to 6, seconds after the load has begun and watts.
pub(crate) const CAPS: [(f64, f64); 7] =
    [(300.0, 9.0), (600.0, 8.5), (900.0, 7.5), (1200.0, 10.5), (1500.0, 9.5), (1800.0, 9.0), (2100.0, 10.0)];

/// The seed of all runs but those that say otherwise.
pub(crate) const SEED: u64 = 1;

/// An experiment that is put together.
pub(crate) struct Bench {
    pub(crate) jobs: String,
    pub(crate) warm_up_s: f64,
    pub(crate) seed: u64,
    systems: String,
}

/// One system.
pub(crate) struct Rig<'a> {
    pub(crate) name: &'a str,
    /// Depth of the drive's queue and places of the host's.
    pub(crate) queues: (u32, u32),
    pub(crate) elevator: &'a str,
    /// Parameters of the throttle over it.
    pub(crate) throttle: &'a str,
    /// Keys of the system.
    pub(crate) more: &'a str,
    /// Keys of its capping; empty: none.
    pub(crate) capping: &'a str,
}

impl Default for Rig<'_> {
    fn default() -> Self {
        Rig { name: "system", queues: (32, 128), elevator: "deadline", throttle: "", more: "", capping: "" }
    }
}

/// Threads that read 4 KiB at random places of the whole drive.
pub(crate) fn job(threads: u32, more: &str) -> String {
    format!(
        "[[workload.jobs]]\nthreads = {threads}\nthink_time = \"60 us\"\n{more}\n\
         requests = {{ reads = 1.0, size = \"4 KiB\", footprint = \"4000787030016 B\" }}\n"
    )
}

/// A schedule of caps as TOML.
pub(crate) fn schedule(caps: &[(f64, f64)]) -> String {
    let entries = caps.iter().map(|(at, w)| format!("{{ at = \"{at} s\", cap = \"{w} W\" }}"));
    format!("caps = [{}]\n", entries.collect::<Vec<_>>().join(", "))
}

impl Bench {
    /// 128 threads for so long, measured after 30 s.
    pub(crate) fn steady(seconds: f64) -> Bench {
        Bench::of(job(128, &format!("duration = \"{} s\"", seconds + 30.0)), 30.0)
    }

    pub(crate) fn of(jobs: String, warm_up_s: f64) -> Bench {
        Bench { jobs, warm_up_s, seed: SEED, systems: String::new() }
    }

    pub(crate) fn add(&mut self, rig: &Rig) {
        let (depth, places) = rig.queues;
        let throttle = match rig.throttle {
            "" => String::new(),
            parameters => format!(", {parameters}"),
        };
        let capping = match rig.capping {
            "" => String::new(),
            keys => {
                format!("[system.capping]\nnoise = \"0.05 W\"\nresolution = \"0.1 W\"\n{keys}\n")
            }
        };
        let drive = if rig.more.contains("drive") { "" } else { "drive = \"ultrastar-7k4000-pcap\"\n" };
        write!(
            self.systems,
            "[[system]]\nname = \"{}\"\n{drive}{}\nlayers = [{{ name = \"throttle\"{throttle} }}, \
             {{ name = \"host-queue\", elevator = \"{}\", places = \"legacy\", nr_requests = {places}, \
             depth = {depth}, merge = false, wake_time = \"50 us\" }}]\n{capping}",
            rig.name, rig.more, rig.elevator
        )
        .expect("a string");
    }

    pub(crate) fn toml(&self) -> String {
        let warm_up = self.warm_up_s;
        format!(
            "[run]\nseed = {}\n[workload]\nname = \"random\"\nwarm_up = \"{warm_up} s\"\n{}{}",
            self.seed, self.jobs, self.systems
        )
    }

    pub(crate) fn experiment(&self) -> Experiment {
        Experiment::from_toml(&self.toml(), Path::new("test.toml")).unwrap_or_else(|e| panic!("{e}"))
    }

    pub(crate) fn run(&self) -> RunResult {
        println!("seed {}", self.seed);
        go(&self.experiment(), None).unwrap_or_else(|e| panic!("{e}"))
    }
}

#[allow(clippy::result_large_err)]
pub(crate) fn go(experiment: &Experiment, threads: Option<usize>) -> Result<RunResult, headstack_experiment::RunError> {
    crate::records::ran(experiment, &RunOptions { threads, ..RunOptions::default() })
}

/// The system of a name.
pub(crate) fn of<'a>(result: &'a RunResult, name: &str) -> &'a SystemResult {
    let found = result.systems.iter().find(|s| s.name == name);
    found.unwrap_or_else(|| panic!("no system {name}"))
}

/// Mean of a column of the capping series, over times above `from` and up to `to`.
pub(crate) fn mean(system: &SystemResult, column: &str, from: f64, to: f64) -> f64 {
    let series = &system.capping.as_ref().expect("capping").series;
    let values = match column {
        "power" => &series.power_w,
        "iops" => &series.throughput_iops,
        "places" => &series.nr_requests,
        "depth" => &series.queue_depth,
        other => panic!("no column {other}"),
    };
    let rows = series.t_s.iter().zip(values).filter(|(t, _)| (from + 1e-6..=to + 1e-6).contains(*t));
    let (mut sum, mut n) = (0.0, 0.0);
    for (_, v) in rows {
        sum += v;
        n += 1.0;
    }
    sum / n
}

#[track_caller]
pub(crate) fn near(got: f64, wanted: f64, tolerance: f64, what: &str) {
    assert!((got - wanted).abs() <= tolerance, "{what}: {got}, need {wanted} within {tolerance}");
}

#[track_caller]
pub(crate) fn inside(got: f64, low: f64, high: f64, what: &str) {
    assert!((low..=high).contains(&got), "{what}: {got}, need {low} to {high}");
}
