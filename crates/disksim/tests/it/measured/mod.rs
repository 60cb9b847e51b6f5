//! The measured drives for comparisons, if available.

// Each test file uses a part of it.
#![allow(dead_code)]

use headstack_drive::replay::{replay_closed, ReplayRequest};
use headstack_drive::{DriveDesign, DriveOptions, DriveSpec, Models};
use headstack_units::Span;
use std::path::{Path, PathBuf};

/// The drives with a measured trace.
pub const DRIVES: [&str; 5] = ["atlas10k", "barracuda", "cheetah9LP", "hp_c2247a", "ibm18es"];

/// The folder of parameter files and traces, if available.
pub fn data() -> Option<PathBuf> {
    let shared = std::env::var_os("HEADSTACK_SHARED")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")), PathBuf::from);
    let dir = shared.join("data/disksim");
    if dir.is_dir() {
        Some(dir)
    } else {
        println!("skipped: {} is absent", dir.display());
        None
    }
}

/// The drive of a parameter file.
pub fn spec(dir: &Path, name: &str) -> DriveSpec {
    headstack_disksim::import_file(dir.join(format!("{name}.parv"))).unwrap().spec
}

/// The measured requests and their response times in seconds.
pub fn trace(dir: &Path, name: &str) -> (Vec<ReplayRequest>, Vec<f64>) {
    let text = std::fs::read_to_string(dir.join(format!("{name}.trace"))).unwrap();
    text.lines()
        .map(|line| {
            let f: Vec<&str> = line.split_whitespace().collect();
            let us = |i: usize| f[i].parse::<f64>().unwrap();
            let request = ReplayRequest {
                write: f[0] == "W",
                lba: f[2].parse().unwrap(),
                blocks: f[3].parse().unwrap(),
                think: Span((us(5) * 1e3).round() as i64),
            };
            (request, us(4) * 1e-6)
        })
        .unzip()
}

/// Response times of a closed replay, in seconds.
pub fn simulated(spec: &DriveSpec, compat: bool, requests: &[ReplayRequest]) -> Vec<f64> {
    let options = DriveOptions { compat_disksim_40: compat, ..DriveOptions::default() };
    let design = DriveDesign::new(spec, &Models::builtin()).unwrap();
    let responses = replay_closed(&design, &options, requests).unwrap();
    responses.into_iter().map(|r| r.expect("inside the drive").as_secs_f64()).collect()
}
