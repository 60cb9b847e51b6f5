//! A change of `nr_requests` takes until the queue has drained, and its drive gets no other command before. What must
//! come out follows from the log of requests alone.

use super::job;
use headstack_control::policy::{built, Drives, Facts, Input, Need, Policy, PolicyParameters, Status};
use headstack_control::{Command, Device};
use headstack_experiment::{run, Experiment, Inputs, RunOptions, RunResult};
use headstack_schema::{Plugin, Plugins, SpecError, Table};
use headstack_testkit::shipped;
use parquet::file::reader::SerializedFileReader;
use parquet::record::Field;
use std::fs::File;
use std::path::Path;

/// Time between two steps of the controller, in ns.
const STEP: u64 = 100_000_000;

/// Places that the policy asks for at its first step: more than there are threads, so that a request waits for nothing
/// but a queue that drains.
const FIRST: u32 = 200;

/// Asks for one place more at each step.
struct Counting {
    open: Vec<Command>,
    places: u32,
}

impl Policy for Counting {
    fn step(&mut self, _: &Input, commands: &mut [Command]) -> Status {
        for (command, open) in commands.iter_mut().zip(&self.open) {
            *command = Command { nr_requests: self.places, ..*open };
        }
        self.places += 1;
        Status::Regulating
    }
}

#[derive(Table)]
struct Parameters {}

impl PolicyParameters for Parameters {
    fn build(&mut self, devices: &[Device]) -> Result<Box<dyn Policy>, SpecError> {
        Ok(Box::new(Counting { open: devices.iter().map(|d| d.open).collect(), places: FIRST }))
    }
}

fn counting() -> Plugin<dyn Policy> {
    let facts = Facts::of::<Parameters>(Drives::Several, &[Need::Queues]);
    Plugin::with_facts("counting", "one place more at each step", "", facts, built::<Parameters>)
}

/// Two drives, each under eight threads with reads of 4 MiB, which take the drive more than 20 ms.
fn text(places: &str, elevator: &str) -> String {
    let job = job(8, "devices = 2\nduration = \"10 s\"").replace("4 KiB", "4 MiB");
    format!(
        "[run]\nseed = 7\n[workload]\n{job}[[system]]\ndrive = \"ultrastar-7k4000-pcap\"\ncount = 2\n\
         layers = [{{ name = \"host-queue\", elevator = \"{elevator}\", places = \"{places}\", nr_requests = 100, \
         merge = false, wake_time = \"0 s\" }}]\n\
         [system.capping]\npolicy = \"counting\"\ninterval = \"100 ms\"\n"
    )
}

fn go(text: &str, threads: usize, folder: &Path) -> RunResult {
    let experiment = Experiment::from_toml(text, Path::new("x.toml"));
    let experiment = experiment.unwrap_or_else(|e| panic!("{e}\n{text}"));
    let inputs = Inputs { policies: Plugins::new([counting()]), ..Inputs::new(vec![shipped::folder()]) };
    let options = RunOptions {
        threads: Some(threads),
        out_dir: Some(folder.into()),
        log_requests: true,
        ..RunOptions::default()
    };
    run(&experiment, &inputs, &options).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Drive, arrival and completion of each request.
fn log(path: &Path) -> Vec<(u32, u64, u64)> {
    let file = File::open(path).expect("a log");
    let rows = SerializedFileReader::new(file).expect("Parquet");
    let number = |field: &Field| match field {
        Field::UInt(n) => u64::from(*n),
        Field::ULong(n) => *n,
        other => panic!("{other}"),
    };
    let of = |row: parquet::record::Row| {
        let column = |name| {
            let mut columns = row.get_column_iter();
            number(columns.find(|(n, _)| *n == name).expect("a column").1)
        };
        let drive = column("drive") as u32;
        (drive, column("arrival_ns"), column("completion_ns"))
    };
    rows.into_iter().map(|row| of(row.expect("a row"))).collect()
}

/// The places of a drive after each step: it takes the policy's wish at the first step after all requests that were in
/// flight at its last change have ended.
fn places_of(drive: u32, log: &[(u32, u64, u64)], steps: usize) -> Vec<u32> {
    let first = log.iter().map(|r| r.1).min().expect("requests");
    let (mut drained, mut places) = (0, FIRST);
    let after = |step: usize| {
        let now = first + step as u64 * STEP;
        if now > drained || step == 0 {
            places = FIRST + step as u32;
            let in_flight = log.iter().filter(|(d, from, to)| *d == drive && *from < now && *to >= now);
            drained = in_flight.map(|r| r.2).max().unwrap_or(0);
        }
        places
    };
    (0..=steps).map(after).collect()
}

#[test]
fn a_change_of_places_is_pending_until_the_last_request_before_it_has_ended() {
    for elevator in ["mq-deadline", "bfq"] {
        let folder = tempfile::tempdir().expect("a folder");
        let result = go(&text("blk-mq", elevator), 1, folder.path());
        let system = &result.systems[0];
        assert_eq!(system.n_errors, 0);
        let log = log(&folder.path().join(system.requests_file.as_ref().expect("a log")));
        let series = &system.capping.as_ref().expect("capping").series;
        let got = &series.nr_requests;
        let wanted = [0, 1].map(|drive| places_of(drive, &log, got.len()));
        for (i, got) in got.iter().enumerate() {
            let wanted = wanted.each_ref().map(|w| f64::from(w[i + 1]));
            let mean = (wanted[0] + wanted[1]) / 2.0;
            assert_eq!(*got, mean, "{elevator}, step {}: {wanted:?}", i + 1);
        }
        // Eight reads of more than 20 ms outlast a step.
        for mut wanted in wanted {
            let n = wanted.len();
            wanted.dedup();
            assert!(wanted.len() > 5 && wanted.len() <= n / 2 + 1, "{elevator}: {wanted:?}");
        }
    }
}

/// Linux up to 4.20 changed the places of a queue at once.
#[test]
fn a_change_of_legacy_places_is_done_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let result = go(&text("legacy", "deadline"), 1, folder.path());
    let series = &result.systems[0].capping.as_ref().expect("capping").series;
    assert!(series.nr_requests.len() > 90);
    for (i, got) in series.nr_requests.iter().enumerate() {
        assert_eq!(*got, f64::from(FIRST) + 1.0 + i as f64);
    }
}

#[test]
fn draining_is_the_same_on_one_thread_and_on_two() {
    let text = text("blk-mq", "mq-deadline");
    let ran = [1, 2].map(|threads| {
        let folder = tempfile::tempdir().expect("a folder");
        let result = go(&text, threads, folder.path());
        let log = folder.path().join(result.systems[0].requests_file.as_ref().expect("a log"));
        let log = std::fs::read(log).expect("the log");
        (result.to_json().expect("JSON"), log)
    });
    assert!(ran[0] == ran[1]);
}
