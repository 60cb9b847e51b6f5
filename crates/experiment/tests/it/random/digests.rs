//! One line for each random experiment, with a digest of its result and files: what two versions of the program are
//! compared by, line by line.

use super::trial::{Outcome, EXPERIMENT};
use super::{accepted, folder, watched, FIRST, USUAL};
use headstack_engine::Progress;
use headstack_experiment::window::{record, Window};
use headstack_experiment::{Experiment, Inputs, Overrides, RunOptions};
use headstack_testkit::shipped;
use headstack_units::Time;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

/// What the drives of each system do from 20 ms to 100 ms of the experiment in `folder`, or why that is not recorded.
fn window(folder: &Path) -> String {
    let experiment = Experiment::open(&folder.join(EXPERIMENT), &Overrides::default()).expect("an experiment");
    let (from, until) = (Time(20_000_000), Time(100_000_000));
    let of = |system| {
        let window = Window { system, workload: 0, from, until };
        let recorded = record(&experiment, &Inputs::new(vec![shipped::folder()]), &window, &RunOptions::default());
        recorded.map_or_else(|e| e.to_string(), |r| serde_json::to_string(&r).expect("JSON"))
    };
    (0..experiment.system.len()).map(of).collect()
}

/// The digests of the results of all systems and of the files in `folder`, and of windows.
fn digests(folder: &Path) -> String {
    let out = &folder.join("threads-1");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(out).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = fs::read(&path).expect("a file");
        files.insert(path.file_name().map(|n| n.to_os_string()), bytes);
    }
    let mut hasher = DefaultHasher::new();
    for (name, bytes) in files {
        match name.as_ref().is_some_and(|n| n == "result.json") {
            // The rest names files and versions.
            true => {
                let whole: Value = serde_json::from_slice(&bytes).expect("JSON");
                let parts = ["systems", "experiment", "defaults"].into_iter();
                parts.for_each(|key| hasher.write(whole[key].to_string().as_bytes()));
            }
            false => hasher.write(&bytes),
        }
    }
    let mut windows = DefaultHasher::new();
    windows.write(window(folder).replace(&folder.display().to_string(), "").as_bytes());
    format!("{:016x} {:016x}", hasher.finish(), windows.finish())
}

/// Writes `SEED RESULTS WINDOWS` for each experiment to the file that `HEADSTACK_DIGESTS` names; `HEADSTACK_SEED` and
/// `HEADSTACK_THOROUGH` say which ones. Each runs on one thread and on two, which must agree.
#[test]
#[ignore = "compares two versions of the program; see CONTRIBUTING.md"]
fn digests_of_random_experiments() {
    let file = std::env::var_os("HEADSTACK_DIGESTS").expect("HEADSTACK_DIGESTS, a file to write");
    let (count, first) = (headstack_testkit::cases(USUAL), headstack_testkit::first_seed(FIRST));
    let (next, lines) = (AtomicU64::new(first), Mutex::new(BTreeMap::new()));
    let work = |folder: &Path| loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= first + count {
            return;
        }
        let progress = Progress::new();
        let (ran, errors) = watched(seed, &progress, || accepted(seed, folder, &progress));
        // What was left out because it was refused.
        errors.iter().for_each(|e| println!("{seed}: {e}"));
        let line = match ran {
            Some((_, Outcome::Passed)) => digests(folder),
            Some((_, outcome)) => format!("{outcome:?}").replace('\n', " "),
            None => errors.join("; "),
        };
        lines.lock().expect("no panic").insert(seed, line);
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            let work = &work;
            scope.spawn(move || work(folder().path()));
        }
    });
    let lines = lines.into_inner().expect("no panic");
    let text: String = lines.iter().map(|(s, line)| format!("{s} {line}\n")).collect();
    fs::write(&file, text).expect("a file");
    let failed = lines.values().filter(|line| line.starts_with("Failed"));
    assert_eq!(failed.count(), 0);
}
