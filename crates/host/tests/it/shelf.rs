//! The daemon itself, unmodified, on the control directories of a shelf of emulated drives under fio. It needs FUSE and
//! fio; where one is absent, a message says so.

use crate::group::tempdir;
use headstack_target::emulate::{Emulation, Options};
use headstack_target::nbd::address::Address;
use headstack_target::nbd::tls::TlsOptions;
use headstack_target::open;
use headstack_testkit::rig::{Program, Served};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const EXPERIMENT: &str = r#"
[workload]
synthetic = { n_requests = 1, rate = "1/s" }
[[system]]
name = "shelf"
drive = "ultrastar-7k4000-pcap"
count = 2
layers = [{ name = "host-queue", elevator = "mq-deadline", nr_requests = 64, depth = 32 }]
"#;

/// Simulated seconds in a second.
const SPEED: f64 = 10.0;

struct Shelf {
    load: Vec<Child>,
    _thread: Served<()>,
    folder: TempDir,
}

impl Shelf {
    /// Two drives under more random reads than their queues hold. `None`, with a message, where it cannot be.
    fn start() -> Option<Shelf> {
        if Command::new("fio").arg("--version").stdout(Stdio::null()).status().is_err() {
            println!("skipped: fio is absent");
            return None;
        }
        let folder = tempdir();
        let file = folder.path().join("shelf.toml");
        std::fs::write(&file, EXPERIMENT).expect("a file");
        let live = open::Options {
            target: file.display().to_string(),
            drive_dirs: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../drives")],
            seed: Some(1),
            speed: SPEED,
            ..open::Options::default()
        };
        let options = Options {
            live,
            control: Some(folder.path().join("control")),
            nbd: Some((Address::Unix(folder.path().join("socket")), TlsOptions::default())),
            ..Options::default()
        };
        let stop = Arc::new(AtomicBool::new(false));
        let emulation = match Emulation::start(&options, stop.clone()) {
            Err(e) if e.to_string().starts_with("control") => {
                println!("skipped: {e}");
                return None;
            }
            started => started.expect("a shelf"),
        };
        let thread = Served::start(stop, || drop(emulation.serve().expect("it serves")));
        let mut shelf = Shelf { load: Vec::new(), _thread: thread, folder };
        for i in 0..2 {
            // Readings are means of 5 simulated seconds.
            shelf.write(i, "hwmon/power1_average_interval", "5000");
            shelf.load.push(shelf.fio(i));
        }
        Some(shelf)
    }

    fn fio(&self, i: usize) -> Child {
        let uri = format!("nbd+unix:///{i}?socket={}", self.path("socket").display());
        Command::new("fio")
            .args(["--name=reads", "--ioengine=nbd", "--rw=randread", "--bs=4k", "--iodepth=128"])
            .args(["--size=4t", "--time_based", "--runtime=600", "--randrepeat=1"])
            .arg(format!("--uri={uri}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("fio")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, i: usize, name: &str) -> PathBuf {
        self.path("control").join(i.to_string()).join(name)
    }

    fn read(&self, i: usize, name: &str) -> f64 {
        let text = std::fs::read_to_string(self.file(i, name)).expect(name);
        text.trim().parse().expect("a number")
    }

    fn write(&self, i: usize, name: &str, value: &str) {
        std::fs::write(self.file(i, name), value).expect(name);
    }

    fn sizes(&self) -> Vec<(f64, f64)> {
        let of = |i| (self.read(i, "queue/nr_requests"), self.read(i, "device/queue_depth"));
        (0..2).map(of).collect()
    }

    fn requests(&self) -> f64 {
        let stat = |i| std::fs::read_to_string(self.file(i, "stat")).expect("stat");
        let first = |text: String| text.split_whitespace().next().and_then(|n| n.parse::<f64>().ok());
        (0..2).filter_map(|i| first(stat(i))).sum::<f64>()
    }

    /// Seconds of the drives' own clock.
    fn clock(&self) -> f64 {
        let page = std::fs::read_to_string(self.path("control/metrics")).expect("metrics");
        let line = page.lines().find_map(|l| l.strip_prefix("headstack_simulated_seconds "));
        line.and_then(|n| n.parse().ok()).expect("a number")
    }

    /// Mean power of both drives over some seconds, and requests per simulated second.
    fn measure(&self, seconds: u64) -> (f64, f64) {
        let joules = || (0..2).map(|i| self.read(i, "hwmon/energy1_input") * 1e-6).sum::<f64>();
        let (begun, energy, requests) = (self.clock(), joules(), self.requests());
        std::thread::sleep(Duration::from_secs(seconds));
        let (energy, requests) = (joules() - energy, self.requests() - requests);
        let passed = self.clock() - begun;
        (energy / passed, requests / passed)
    }

    /// Measures until power and rate are as they should be. A machine with much other work may need long until the load is
    /// whole and the daemon has had its steps.
    fn until(&self, what: &str, is_so: impl Fn(f64, f64) -> bool) -> (f64, f64) {
        let end = Instant::now() + Duration::from_secs(90);
        loop {
            let (watts, iops) = self.measure(2);
            if is_so(watts, iops) {
                return (watts, iops);
            }
            assert!(Instant::now() < end, "{what}: {watts} W, {iops}/s");
        }
    }

    /// Waits until the drives have other settings than before.
    fn until_set(&self) {
        let end = Instant::now() + Duration::from_secs(90);
        while self.sizes() == [(64.0, 32.0); 2] {
            assert!(Instant::now() < end, "nothing is set");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Asks for the status until a setting is in force, and returns it.
    fn until_in_force(&self) -> String {
        let end = Instant::now() + Duration::from_secs(90);
        loop {
            let status = String::from_utf8(self.ask(&["status"]).stdout).expect("text");
            if status.contains("in force") {
                return status;
            }
            assert!(Instant::now() < end, "nothing is in force: {status}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn config(&self) -> PathBuf {
        let dir = self.path("control").display().to_string();
        let text = format!(
            r#"
apply = true
interval = "100 ms"
originals = "{0}/originals.json"
socket = "{0}/capd"
[[group]]
name = "shelf"
policy = "pcap-s"
parameters = {{ period = "500 ms", efficiency = 1.0 }}
meter = [
    {{ hwmon = "{dir}/0/hwmon/power1_average", interval = "100 ms" }},
    {{ hwmon = "{dir}/1/hwmon/power1_average", interval = "100 ms" }},
]
[[group.drive]]
path = "{dir}/0"
[[group.drive]]
path = "{dir}/1"
"#,
            self.folder.path().display()
        );
        let file = self.path("capd.toml");
        std::fs::write(&file, text).expect("a file");
        file
    }

    fn daemon(&self) -> Program {
        Program::start(capd().arg("run").arg(self.config()))
    }

    fn ask(&self, words: &[&str]) -> std::process::Output {
        let socket = self.path("capd");
        let asked = || capd().args(words).arg("--socket").arg(&socket).output().expect("asked");
        // It may not listen yet.
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let done = asked();
            if done.status.success() || Instant::now() > end {
                return done;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        for load in &mut self.load {
            let _ = load.kill();
            let _ = load.wait();
        }
    }
}

pub fn capd() -> Command {
    Command::new(env!("CARGO_BIN_EXE_headstack-capd"))
}

/// Without a cap the drives draw more than it. Under it they draw at most that, within the policy's tolerance of 1 W, and
/// at the end, also after `kill -9`, they have their settings of before.
#[test]
fn a_cap_is_held_on_emulated_drives_and_settings_are_restored() {
    let Some(shelf) = Shelf::start() else { return };
    let cap_w = 17.0;
    // Fewer requests than this are not the load that was asked for.
    let least = 200.0;
    let is_free = |watts, iops| watts > cap_w + 1.0 && iops > least;
    let (free_w, free_iops) = shelf.until("without a cap", is_free);
    assert_eq!(shelf.sizes(), [(64.0, 32.0); 2]);

    let mut daemon = shelf.daemon();
    let done = shelf.ask(&["cap", "17 W"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let is_held = |watts, iops| watts < cap_w + 1.0 && iops > least;
    let (capped_w, iops) = shelf.until("capped", is_held);
    shelf.until_set();
    let status = shelf.until_in_force();
    println!("{free_w:.2} W, {free_iops:.0}/s; capped {capped_w:.2} W, {iops:.0}/s\n{status}");
    assert!(daemon.end("TERM").success());
    assert_eq!(shelf.sizes(), [(64.0, 32.0); 2]);
    assert!(!shelf.path("originals.json").exists());

    // A second daemon is killed; what it leaves behind is restored.
    let mut daemon = shelf.daemon();
    shelf.ask(&["cap", "17 W"]);
    shelf.until_set();
    let two = capd().arg("run").arg(shelf.config()).output().expect("it ends");
    assert!(!two.status.success(), "two daemons at once");
    assert!(!daemon.end("KILL").success());
    assert_ne!(shelf.sizes(), [(64.0, 32.0); 2]);
    let done = capd().arg("restore").arg(shelf.config()).output().expect("it ends");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(shelf.sizes(), [(64.0, 32.0); 2]);
}
