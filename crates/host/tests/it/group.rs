//! A group of drives under a cap: commands reach the drives, are read back, and are taken back at the end.

use crate::kernel::{Answer, Kernel};
use headstack_host::config;
use headstack_host::group::{Group, Opener, State};
use headstack_host::knobs::{Knob, Knobs};
use headstack_host::meter::Sum;
use headstack_host::originals::{restore, Originals};
use headstack_schema::read;
use headstack_units::{Span, Time, Watts};
use rustix::io::Errno;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A folder that is removed at the end.
pub fn tempdir() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Drives of a group with the policy of the paper for several drives, one step a second of a clock of the test's own.
pub struct Bench {
    pub kernels: Vec<Kernel>,
    pub group: Group,
    pub originals: Originals,
    pub now: Time,
    pub folder: TempDir,
}

pub fn bench(n: usize, policy: &str, apply: bool, extra: serde_json::Value) -> Bench {
    let drives: Vec<_> = (0..n).map(|i| json!({ "path": format!("drive-{i}") })).collect();
    let mut table = json!({
        "name": "shelf", "policy": policy, "cap": format!("{} W", 8 * n),
        "meter": [{ "file": "unused" }], "drive": drives,
    });
    for (key, value) in extra.as_object().expect("a table") {
        table[key] = value.clone();
    }
    let config: config::Group = read(&table).expect("a group");
    let kernels: Vec<Kernel> = (0..n).map(|_| Kernel::new()).collect();
    let folder = tempdir();
    Bench {
        group: Group::new(&config, apply, opener(&kernels)),
        kernels,
        originals: Originals::open(&folder.path().join("originals.json")).expect("originals"),
        now: Time(1_000_000_000_000),
        folder,
    }
}

/// Finds the kernel of a drive.
fn find(kernels: &[Kernel], name: &str) -> Option<Kernel> {
    let i: usize = name.strip_prefix("drive-")?.parse().ok()?;
    kernels.get(i).filter(|k| k.is_present()).cloned()
}

pub fn opener(kernels: &[Kernel]) -> Opener {
    let all = kernels.to_vec();
    Box::new(move |drive: &config::Drive| {
        let kernel = find(&all, drive.name())?;
        Some(Arc::new(kernel) as Arc<dyn Knobs>)
    })
}

impl Bench {
    /// The daemon is killed, and another one starts: it restores what it finds, and begins.
    pub fn kill(&mut self) {
        self.settle();
        let file = self.folder.path().join("originals.json");
        self.originals = Originals::open(&file).expect("originals");
        // A file that cannot be written now is as it was.
        let _ = restore(&mut self.originals, |name| find(&self.kernels, name));
        let config = self.group.config.clone();
        self.group = Group::new(&config, true, opener(&self.kernels));
    }

    /// No file can be made in the folder of the originals, or again.
    pub fn fill_disk(&self, is_full: bool) {
        // Where the new file would be, there is a folder.
        let place = self.folder.path().join("originals.json.new");
        let _ = if is_full { std::fs::create_dir(place) } else { std::fs::remove_dir(place) };
    }

    /// A second with this power at the meter; waits until no write is under way.
    pub fn second(&mut self, watts: Option<f64>) {
        self.now += Span(1_000_000_000);
        self.group.look(self.now, &mut self.originals).expect("a policy");
        let sum = watts.map(|w| Sum { time: self.now, watts: Watts(w) });
        self.group.step(self.now, sum, None, &mut self.originals);
        self.settle();
    }

    fn settle(&mut self) {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            self.group.collect();
            let busy = self.group.drives().any(|(_, d)| d.is_some_and(|d| !d.worker.is_idle()));
            if !busy {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        panic!("need workers that end within 60 s");
    }

    pub fn seconds(&mut self, n: usize, watts: f64) {
        for _ in 0..n {
            self.second(Some(watts));
        }
    }

    /// Whether this drive is controlled.
    pub fn has(&self, i: usize) -> bool {
        let name = format!("drive-{i}");
        let mut drives = self.group.drives();
        drives.any(|(config, drive)| config.name() == name && drive.is_some())
    }

    pub fn release(&mut self) -> bool {
        for _ in 0..50 {
            if self.group.release(self.now, &mut self.originals) {
                return true;
            }
            self.settle();
        }
        false
    }

    pub fn sizes(&self, i: usize) -> (u32, u32) {
        let number = |knob| self.kernels[i].value(knob).parse().expect("a number");
        (number(Knob::NrRequests), number(Knob::QueueDepth))
    }
}

fn agile(apply: bool) -> Bench {
    bench(1, "pcap-agile", apply, json!({}))
}

/// The policy's start is (4, 1); 2 W too much make 16 places more in each period of 5 s: 2 W / 2 W · 2 · 8.
#[test]
fn commands_reach_the_drive_as_the_paper_computes_them() {
    let mut bench = agile(true);
    bench.second(Some(10.0));
    bench.second(Some(10.0));
    assert_eq!(bench.sizes(0), (4, 1));
    bench.seconds(6, 10.0);
    assert_eq!(bench.sizes(0), (20, 1));
    bench.seconds(5, 10.0);
    // At most 32 places: the paper's Table 1.
    assert_eq!(bench.sizes(0), (32, 1));
    assert_eq!(bench.group.state, State::Settling);
    bench.seconds(6, 7.9);
    assert_eq!(bench.group.state, State::Holding);
    assert!(bench.release());
    assert_eq!(bench.sizes(0), (64, 32));
    assert_eq!(bench.kernels[0].value(Knob::ReadExpire), "500");
    assert!(bench.originals.drives().is_empty());
}

#[test]
fn a_dry_run_writes_nothing() {
    let mut bench = agile(false);
    bench.seconds(20, 10.0);
    assert!(bench.kernels[0].set(|s| s.writes.is_empty()));
    assert!(bench.originals.drives().is_empty());
    let given = bench.group.commands()[0].1.expect("a command");
    assert!(given.nr_requests > 4, "{given:?}");
    assert!(bench.release());
}

/// Nothing is written to a drive whose settings cannot be saved.
#[test]
fn what_cannot_be_saved_is_not_changed() {
    let mut bench = agile(true);
    std::fs::remove_dir_all(bench.folder.path()).expect("the folder");
    bench.seconds(10, 10.0);
    assert!(bench.kernels[0].set(|s| s.writes.is_empty()));
    std::fs::create_dir_all(bench.folder.path()).expect("the folder");
    bench.seconds(70, 10.0);
    assert!(bench.kernels[0].set(|s| !s.writes.is_empty()));
    assert_eq!(bench.originals.of("drive-0").expect("kept")[&Knob::NrRequests], "64");
}

#[test]
fn a_refusing_drive_is_told_and_tried_again_less_and_less_often() {
    let mut bench = agile(true);
    bench.kernels[0].set(|s| s.answer = Answer::Fail(Errno::BUSY));
    bench.seconds(60, 10.0);
    assert_eq!(bench.group.state, State::DriveRefuses);
    let tries = bench.kernels[0].set(|s| {
        let depths = s.writes.iter().filter(|w| w.0 == Knob::QueueDepth);
        depths.count()
    });
    // After 1, 2, 4, 8, 16 and then each 30 s.
    assert!((4..=8).contains(&tries), "{tries} tries in a minute");
    bench.kernels[0].set(|s| s.answer = Answer::Take);
    bench.seconds(35, 10.0);
    assert_ne!(bench.group.state, State::DriveRefuses);
    assert_ne!(bench.sizes(0), (64, 32));
}

/// A write that seems to succeed and changes nothing is a failure.
#[test]
fn what_is_not_read_back_is_not_in_force() {
    let mut bench = agile(true);
    bench.kernels[0].set(|s| s.answer = Answer::Ignore);
    bench.seconds(8, 10.0);
    let (_, drive) = bench.group.drives().next().expect("a drive");
    let why = drive.and_then(|d| d.failure.clone()).expect("a reason");
    assert!(why.contains("read back 32"), "{why}");
    assert!(!bench.group.commands()[0].2);
}

#[test]
fn another_writer_is_noticed_and_overruled_or_obeyed() {
    for (word, want) in [("reassert", (4, 1)), ("yield", (100, 1))] {
        let mut bench = bench(1, "pcap-agile", true, json!({ "on_conflict": word }));
        // Above the cap, and within the policy's tolerance.
        bench.seconds(4, 8.1);
        assert_eq!(bench.sizes(0), (4, 1), "{word}");
        bench.kernels[0].set(|s| s.values.insert(Knob::NrRequests, "100".into()));
        bench.seconds(25, 8.1);
        assert_eq!(bench.sizes(0), want, "{word}");
        let (_, drive) = bench.group.drives().next().expect("a drive");
        assert_eq!(drive.expect("it is there").conflicts, 1, "{word}");
    }
}

/// A drive that is gone is left out, and has its first settings of before at the end.
#[test]
fn drives_come_and_go() {
    let mut bench = bench(2, "pcap-s", true, json!({}));
    bench.seconds(3, 12.0);
    assert_eq!(bench.group.commands().len(), 2);
    bench.kernels[1].set(|s| s.is_present = false);
    bench.seconds(2, 6.0);
    assert_eq!(bench.group.commands().len(), 1);
    bench.kernels[1].set(|s| s.is_present = true);
    bench.seconds(8, 12.0);
    assert_eq!(bench.group.commands().len(), 2);
    assert!(bench.release());
    assert_eq!((bench.sizes(0).0, bench.sizes(1).0), (64, 64));
}

#[test]
fn a_member_of_an_array_at_work_is_left_alone() {
    let mut bench = agile(true);
    bench.kernels[0].set(|s| s.held = Some("md0 is at work: resync".into()));
    bench.seconds(12, 10.0);
    assert!(bench.kernels[0].set(|s| s.writes.is_empty()));
    assert_eq!(bench.group.state, State::DriveRefuses);
    bench.kernels[0].set(|s| s.held = None);
    bench.seconds(60, 10.0);
    assert!(bench.kernels[0].set(|s| !s.writes.is_empty()));
}

/// Without an elevator a change of `nr_requests` would resize the queues of other drives.
#[test]
fn without_an_elevator_the_hosts_queue_is_left_alone() {
    let mut bench = agile(true);
    bench.kernels[0].set(|s| s.elevator = "none".into());
    bench.seconds(30, 10.0);
    let written = bench.kernels[0].set(|s| s.writes.clone());
    assert!(written.iter().all(|(knob, _)| *knob != Knob::NrRequests), "{written:?}");
    assert_eq!(bench.sizes(0), (64, 1));
}

#[test]
fn a_lost_meter_gives_the_safe_setting_and_is_told() {
    let mut bench = agile(true);
    bench.seconds(6, 10.0);
    for _ in 0..20 {
        bench.second(None);
    }
    assert_eq!(bench.group.state, State::MeterLost);
    // The lowest power: the most places, the least depth.
    assert_eq!(bench.sizes(0), (32, 1));
    bench.seconds(10, 7.9);
    assert_eq!(bench.group.state, State::Holding);
}

/// 10 W of 18 W are not the drive's: 8 W are left, so 17 W are a watt below the cap.
#[test]
fn what_is_not_the_drives_does_not_count() {
    let extra = json!({ "base": "10 W", "cap": "18 W" });
    let mut bench = bench(1, "pcap-agile", true, extra);
    bench.seconds(12, 7.0);
    assert_eq!(bench.group.state, State::Holding);
    bench.seconds(6, 9.0);
    assert_eq!(bench.group.state, State::Settling);
    bench.seconds(90, 9.0);
    assert_eq!(bench.group.state, State::Unreachable { excess: Watts(1.0) });
    assert!((90.0..=96.0).contains(&bench.group.over_s), "{}", bench.group.over_s);
}

/// A late write holds up no step, and the drive gets no other command meanwhile.
#[test]
fn a_slow_drive_holds_up_nobody() {
    let mut bench = bench(2, "pcap-s", true, json!({}));
    bench.kernels[0].set(|s| s.answer = Answer::Late(Duration::from_secs(3)));
    bench.group.look(bench.now, &mut bench.originals).expect("a policy");
    let began = Instant::now();
    for _ in 0..5 {
        bench.now += Span(1_000_000_000);
        let sum = Some(Sum { time: bench.now, watts: Watts(20.0) });
        bench.group.step(bench.now, sum, None, &mut bench.originals);
    }
    assert!(bench.group.drives().any(|(_, d)| d.is_some_and(|d| d.is_pending())));
    let commands = bench.kernels[0].set(|s| s.writes.len());
    assert!(commands <= 1, "{commands} writes after {:?}", began.elapsed());
    bench.kernels[0].set(|s| s.answer = Answer::Take);
    bench.settle();
    assert!(bench.release());
    assert_eq!(bench.sizes(0), (64, 32));
}

/// Between two looks whether somebody else has changed a setting, the daemon ends: what it finds then counts.
#[test]
fn at_the_end_settings_are_looked_at_again() {
    let mut bench = bench(1, "learning", true, json!({}));
    bench.group.cap = None;
    bench.seconds(3, 9.0);
    assert_eq!(bench.sizes(0), (64, 32));
    bench.kernels[0].set(|s| s.values.insert(Knob::NrRequests, "100".into()));
    assert!(bench.release());
    assert_eq!(bench.sizes(0), (64, 32));
}

/// What somebody else has is not taken back at the end, and a drive that is gone holds up no end.
#[test]
fn the_end_does_not_wait_for_what_is_not_the_daemons() {
    let mut bench = bench(2, "pcap-s", true, json!({ "on_conflict": "yield" }));
    bench.seconds(4, 16.1);
    bench.kernels[0].set(|s| s.values.insert(Knob::NrRequests, "100".into()));
    bench.seconds(25, 16.1);
    bench.kernels[1].unplug_or_return();
    assert!(bench.release());
    assert_eq!(bench.sizes(0).0, 100);
    assert_eq!(bench.originals.drives(), ["drive-1"]);
}

/// A disk that was full from the start: nothing was saved, so nothing was written, and nothing is to be restored.
#[test]
fn the_end_is_reached_on_a_full_disk_too() {
    let mut bench = agile(true);
    bench.fill_disk(true);
    bench.seconds(10, 10.0);
    assert!(bench.release());
    assert!(bench.kernels[0].set(|s| s.writes.is_empty()));
}

/// Without an elevator places are tags of the adapter, also where somebody takes it away later.
#[test]
fn an_elevator_that_is_taken_away_is_noticed() {
    let mut bench = agile(true);
    bench.seconds(3, 10.0);
    assert_eq!(bench.sizes(0), (4, 1));
    bench.kernels[0].set(|s| s.elevator = "none".into());
    bench.seconds(20, 10.0);
    assert_eq!(bench.sizes(0), (4, 1));
    assert_eq!(bench.group.state, State::DriveRefuses);
    bench.kernels[0].set(|s| s.elevator = "mq-deadline".into());
    bench.seconds(30, 10.0);
    assert_eq!(bench.sizes(0), (32, 1));
    assert!(bench.release());
    assert_eq!(bench.sizes(0), (64, 32));
}
