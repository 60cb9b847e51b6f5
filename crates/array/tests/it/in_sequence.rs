//! Requests that a drive serves when they arrive, compared with the same requests through its queue: where requests are
//! logged, each goes through the queue.

use headstack_array::{run, Experiment, Inputs, RunOptions};
use headstack_testkit::{cases, first_seed, shipped, SplitMix};
use std::fs;
use std::path::Path;

/// What a run says of its systems, and the files that it writes but the log.
fn outcome(text: &str, folder: &Path, log_requests: bool) -> Vec<(String, Vec<u8>)> {
    let experiment = Experiment::from_toml(text, "test.toml".as_ref());
    let experiment = experiment.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let options = RunOptions { threads: Some(1), out_dir: Some(folder.into()), log_requests, ..RunOptions::default() };
    let inputs = Inputs::new(vec![shipped::folder()]);
    let mut result = run(&experiment, &inputs, &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let systems = result.systems.iter_mut();
    systems.for_each(|system| system.requests_file = None);
    let systems = serde_json::to_vec(&result.systems).expect("JSON");
    let mut all = vec![("systems".to_string(), systems)];
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.contains("series") {
            all.push((name, fs::read(entry.path()).expect("a file")));
        }
    }
    all.sort();
    let _ = fs::remove_dir_all(folder);
    all
}

/// Open requests to one drive that mostly serves in order, from idle to overloaded; with and without a warm-up, an end
/// before the workload's, and changes.
fn experiment(noise: &mut SplitMix) -> String {
    let mut pick = |of: &[&str]| of[noise.below(of.len() as u64) as usize].to_string();
    let drive = pick(&["cheetah-9lp", "barracuda-es-750", "ibm-18es"]);
    let cache = pick(&[
        "",
        "cache = { enabled = false, write_back = false }",
        "cache = { hit_check = \"service\", write_back = false }",
        "cache = { hit_check = \"service\", destage = \"immediate\" }",
    ]);
    let rate = pick(&["5", "40", "70", "400"]);
    let sequential = pick(&["0", "0.3"]);
    let warm_up = pick(&["", "", "warm_up = 100", "warm_up = \"4 s\""]);
    let duration = pick(&["", "", "[run]\nduration = \"30 s\""]);
    let change = pick(&[
        "",
        "",
        "[[system.change]]\nat = \"8 s\"\nscheduler = \"sptf\"\n[[system.change]]\nat = \"14 s\"\nscheduler = \"fcfs\"",
        "[[system.change]]\nat = \"11 s\"\nspindle_speed = { speed = \"5000 rpm\", takes = \"1 s\" }",
        "[[system.change]]\nat = \"7 s\"\nqueue_depth = 2",
    ]);
    format!(
        "[[workload]]\nsynthetic = {{ n_requests = 3000, reads = 0.6, write_through = 0.1, sequential = {sequential}, \
         size = \"4 KiB\", rate = \"{rate}/s\", footprint = \"4 GB\" }}\n{warm_up}\n\
         [[system]]\ndrive = \"{drive}\"\nscheduler = \"fcfs\"\nqueue_depth = 0\n{cache}\n{change}\n{duration}\n"
    )
}

#[test]
fn the_queue_makes_no_difference_to_a_drive_that_serves_in_order() {
    let first = first_seed(1);
    for seed in first..first + cases(40) {
        let mut noise = SplitMix(seed);
        let text = experiment(&mut noise);
        let name = format!("in-sequence-{}-{seed}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let (at_once, queued) = (outcome(&text, &folder, false), outcome(&text, &folder, true));
        assert_eq!(at_once.len(), queued.len());
        for (own, other) in at_once.iter().zip(&queued) {
            let differs = own.1.iter().zip(&other.1).position(|(a, b)| a != b);
            let around = |all: &[u8]| {
                let from = differs.unwrap_or(0).saturating_sub(60);
                all[from..all.len().min(from + 120)].escape_ascii().to_string()
            };
            assert!(
                own == other,
                "seed {seed}: {} differs: {} for {}\n{text}",
                own.0,
                around(&own.1),
                around(&other.1)
            );
        }
    }
}
