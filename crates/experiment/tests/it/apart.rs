//! Systems of which parts are simulated by themselves: the same bytes on any number of threads, and as one whole.
//!
//! A system under changes is not divided, so a change after the end of a run makes the whole to compare with.

use crate::records::ran;
use headstack_engine::Progress;
use headstack_experiment::{Experiment, RunOptions, RunResult};
use headstack_testkit::{cases, SplitMix};
use std::fmt::Write;
use std::fs;

/// Random experiments in one run of the tests.
const USUAL: u64 = 40;

/// Runs an experiment; its files by name, and its systems as JSON without what is said of changes.
fn files(text: &str, threads: usize, is_logged: bool) -> (Vec<(String, Vec<u8>)>, RunResult) {
    let experiment = Experiment::from_toml(text, "test.toml".as_ref());
    let experiment = experiment.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let folder = tempfile::tempdir().expect("a folder");
    let options = RunOptions {
        threads: Some(threads),
        out_dir: Some(folder.path().into()),
        log_requests: is_logged,
        ..RunOptions::default()
    };
    let mut result = ran(&experiment, &options).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let entries = fs::read_dir(&folder).expect("a folder");
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|e| e.expect("an entry"))
        .filter(|e| e.file_name() != "result.json")
        .map(|e| {
            let name = e.file_name().to_string_lossy().into_owned();
            (name, fs::read(e.path()).expect("a file"))
        })
        .collect();
    files.sort();
    result.systems.iter_mut().for_each(|s| s.changes = None);
    let systems = serde_json::to_vec(&result.systems).expect("JSON");
    files.push(("systems".into(), systems));
    (files, result)
}

/// Runs an experiment with one system as parts, on one thread and on two, and as a whole.
fn is_the_same_as_a_whole(text: &str, name: &str, is_logged: bool) -> RunResult {
    let files = |text: &str, threads| files(text, threads, is_logged);
    let (one, result) = files(text, 1);
    let (two, _) = files(text, 2);
    let late = result.systems[0].duration_s + 1000.0;
    let changed = format!("{text}\n[[system.change]]\nat = \"{late} s\"\nqueue_depth = 1\n");
    let (whole, _) = files(&changed, 1);
    for (what, other) in [("on two threads", two), ("as a whole", whole)] {
        assert_eq!(one.len(), other.len());
        for (own, other) in one.iter().zip(&other) {
            let is_same = own == other;
            assert!(is_same, "{name}: {} differs {what}\n{text}", own.0);
        }
    }
    result
}

/// Jobs on ranges of devices, of every kind that connects drives or does not.
fn jobs(noise: &mut SplitMix, devices: u64) -> String {
    let mut text = String::new();
    for _ in 0..=noise.below(3) {
        let first = noise.below(devices);
        let n = 1 + noise.below(devices - first);
        let threads = 1 + noise.below(12);
        let think =
            noise.of(&["\"1 ms\"", "\"0 s\"", "\"20 ms\"", "{ distribution = \"exponential\", mean = \"3 ms\" }"]);
        let more = noise.of(&[
            "",
            "",
            "blocking = 0.5\nthink_time = \"5 ms\"",
            "any_device = true",
            "rate = \"50/s\"\ntogether = true",
            "volume = \"300 KiB\"",
            "start = \"200 ms\"",
            "volume = \"100 KiB\"\nbursts = 3\nevery = \"250 ms\"",
        ]);
        let think = match more.contains("think_time") {
            true => String::new(),
            false => format!("think_time = {think}\n"),
        };
        let reads = noise.of(&["1.0", "0.5", "0.0"]);
        let size = noise.of(&["4 KiB", "8 KiB", "96 KiB"]);
        // A few requests lie beyond the device.
        let footprint = noise.of(&["100 MB", "40 GB", "80 GB"]);
        writeln!(
            text,
            "[[workload.jobs]]\nfirst_device = {first}\ndevices = {n}\nthreads = {threads}\nduration = \"0.8 s\"\n\
             {think}{more}\nrequests = {{ reads = {reads}, size = \"{size}\", footprint = \"{footprint}\" }}"
        )
        .expect("a string");
    }
    text
}

fn experiment(seed: u64) -> String {
    let mut noise = SplitMix(seed);
    let (count, devices, layers) = noise.of(&[
        (5, 5, "[]"),
        (4, 4, "[{ name = \"host-queue\", elevator = \"deadline\", nr_requests = 8 }]"),
        (6, 3, "[{ name = \"raid1\", of = 2 }, \"host-queue\"]"),
        (6, 6, "[{ name = \"link\", of = 2, bandwidth = \"20 MB/s\" }]"),
        (4, 2, "[\"throttle\", { name = \"raid0\", of = 2 }, \"host-queue\"]"),
    ]);
    let past_end = noise.of(&["error", "wrap", "drop-counted"]);
    let duration = noise.of(&["", "duration = \"0.6 s\"\n"]);
    let queue = layers.contains("host-queue") && count == devices;
    let capping = match queue && noise.below(2) == 0 {
        true => {
            "[system.capping]\npolicy = \"pcap-s\"\nparameters = { tiers = [2, 2] }\ninterval = \"50 ms\"\nnoise = \"0.1 W\"\n\
             caps = [{ at = \"100 ms\", cap = \"20 W\" }]\n"
        }
        false => "",
    };
    let jobs = jobs(&mut noise, devices);
    // Jobs of a volume may be over before the end of a warm-up.
    let warm_up = match jobs.contains("volume") {
        true => "",
        false => noise.of(&["", "warm_up = \"150 ms\"\n"]),
    };
    format!(
        "[run]\nseed = {seed}\nallowed_errors = 1.0\n{duration}[[workload]]\npast_end = \"{past_end}\"\n{warm_up}{jobs}\
         [[system]]\ndrive = \"ibm-18es\"\ncount = {count}\nlayers = {layers}\n{capping}"
    )
    .replace("\"80 GB\"", "\"9.2 GB\"")
    .replace("\"40 GB\"", "\"9 GB\"")
}

#[test]
fn parts_make_the_same_bytes_as_the_whole() {
    let first = headstack_testkit::first_seed(1);
    for seed in first..first + cases(USUAL) {
        is_the_same_as_a_whole(&experiment(seed), &format!("seed-{seed}"), seed % 2 == 0);
    }
}

/// A shelf under a cap, with enough requests between two readings that several threads work on them.
#[test]
fn a_capped_shelf_makes_the_same_bytes_as_the_whole() {
    let text =
        "[[workload.jobs]]\nname = \"a\"\nthreads = 64\ndevices = 8\nduration = \"4 s\"\nthink_time = \"60 us\"\n\
         requests = { reads = 1.0, size = \"4 KiB\", footprint = \"1 TB\" }\n\
         [[workload.jobs]]\nname = \"b\"\nthreads = 2\nfirst_device = 2\ndevices = 3\nduration = \"3 s\"\n\
         requests = { reads = 0.0, sequential = 1.0, size = \"64 KiB\", footprint = \"1 TB\" }\n\
         [[system]]\ndrive = \"ultrastar-7k4000-pcap\"\ncount = 8\n\
         layers = [{ name = \"host-queue\", elevator = \"deadline\", merge = false, wake_time = \"50 us\" }]\n\
         [system.capping]\npolicy = \"pcap-s\"\nparameters = { tiers = [4, 4] }\nnoise = \"0.05 W\"\n\
         caps = [{ at = \"1 s\", cap = \"70 W\" }]\n";
    // With a log and without, requests are held and counted in different ways.
    for is_logged in [true, false] {
        let result = is_the_same_as_a_whole(text, "shelf", is_logged);
        let system = &result.systems[0];
        assert!(system.n_requests > 4000, "{}", system.n_requests);
        assert!(system.confidence_s.is_some());
        // The threads of each drive wait for its requests alone, and every request is there.
        let served: u64 = system.drives.iter().map(|d| d.n_requests).sum();
        assert_eq!(served, system.n_requests);
    }
}

/// Series get coarser at 204.8 and 409.6 s after the warm-up, between two instants at which the parts are together. One
/// part has ended by then, and the drives of another one rest for long between its requests.
#[test]
fn parts_take_their_samples_as_the_whole_while_its_series_gets_coarser() {
    let text = "[[workload]]\nwarm_up = \"3 s\"\n\
         [[workload.jobs]]\nthreads = 2\ndevices = 2\nduration = \"150 s\"\nrate = \"2/s\"\n\
         requests = { reads = 0.5, size = \"4 KiB\", footprint = \"1 GB\" }\n\
         [[workload.jobs]]\nthreads = 3\nfirst_device = 2\nduration = \"500 s\"\nrate = \"3/s\"\n\
         requests = { reads = 1.0, size = \"64 KiB\", footprint = \"8 GB\" }\n\
         [[workload.jobs]]\nthreads = 1\nfirst_device = 3\nduration = \"470 s\"\nthink_time = \"7 s\"\n\
         requests = { reads = 0.0, size = \"4 KiB\", footprint = \"8 GB\" }\n\
         [[system]]\ndrive = \"ibm-18es\"\ncount = 4\n";
    is_the_same_as_a_whole(text, "coarser", false);
}

/// A run that is cancelled has the requests that ended until then.
#[test]
fn a_cancelled_run_of_parts_is_partial() {
    let text = "[[workload.jobs]]\nthreads = 8\ndevices = 4\nduration = \"100000 s\"\n\
         requests = { reads = 1.0, size = \"4 KiB\", footprint = \"8 GB\" }\n\
         [[system]]\ndrive = \"ibm-18es\"\ncount = 4\n";
    let experiment = Experiment::from_toml(text, "test.toml".as_ref()).expect("an experiment");
    for threads in [1, 2] {
        let options = RunOptions { threads: Some(threads), progress: Progress::new(), ..RunOptions::default() };
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                while options.progress.done() < 1000 {
                    std::thread::yield_now();
                }
                options.progress.cancel();
            });
            ran(&experiment, &options).unwrap_or_else(|e| panic!("{e}"))
        });
        let system = &result.systems[0];
        assert!(result.partial && system.partial);
        assert!(system.n_requests >= 900, "{}", system.n_requests);
        let served: u64 = system.drives.iter().map(|d| d.n_requests).sum();
        assert_eq!(served, system.n_requests);
    }
}
