//! Scans of the medium beside the foreground: what they may not change, and bounds by hand.

use headstack_drive::spec::{DriveSpec, MediaScanMode};
use headstack_drive::{Command, Completion, Drive, DriveEnergy, DriveOptions, DriveRequest, Failure};
use headstack_testkit::commands;
use headstack_testkit::disk::Disk;
use headstack_testkit::Lcg;
use headstack_units::{Lba, Time};

const REV_NS: u64 = 10_000_000;
const CAPACITY: u64 = 4 * 400 * 128;

/// 128 sectors a track in four blocks of 16 KiB; no skew is lost on a track switch of 0.
fn drive(dash: &str, mode: MediaScanMode) -> DriveSpec {
    let disk = Disk { rpm: 6000, surfaces: 4, cylinders: 400, sectors: 128, skew: Some(("turns", 0.125, 0.25)) };
    let mut spec = disk.drive(
        r#"
        [seek]
        model = "linear"
        single = "1 ms"
        full = "9 ms"
        cylinders = 400
        [positioning]
        head_switch = "1 ms"
        [queue]
        scheduler = "sptf"
    "#,
    );
    spec.dash = dash.parse().expect("a dash");
    spec.media_scan.mode = mode;
    spec
}

fn run(spec: &DriveSpec, n: u64, gap_ns: u64) -> (Vec<Completion>, Drive) {
    let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
    let mut done = Vec::new();
    let mut noise = Lcg(4);
    let mut below = |n: u64| noise.below(n);
    let mut now = 0;
    for id in 0..n {
        now += below(2 * gap_ns + 1);
        drive.advance(Time(now), &mut |c| done.push(*c));
        let command = if below(3) == 0 { Command::Write } else { Command::Read };
        drive.submit(Time(now), commands::command(id, command, below(CAPACITY - 8), 1 + below(8) as u32));
    }
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    (done, drive)
}

#[test]
fn free_blocks_cost_the_foreground_nothing() {
    for gap in [12_000_000, 30_000_000] {
        let (plain, mut idle) = run(&drive("D1A1S1H1", MediaScanMode::None), 3_000, gap);
        let (with, mut scanning) = run(&drive("D1A1S1H1", MediaScanMode::Freeblock), 3_000, gap);
        assert_eq!(plain, with);
        let bytes = scanning.counters().scanned_bytes;
        // No more than what passes in all the waits, and what the planner is for: a good part.
        let waits: u64 = with.iter().map(|c| c.components.rotation.non_negative()).sum();
        let most = waits as f64 / REV_NS as f64 * 128.0 * 512.0;
        assert!(bytes as f64 <= most, "{bytes} of {most}");
        assert!(bytes as f64 > 0.2 * most, "{bytes} of {most}");
        // The time of the drive is the same; waits became transfers and detours.
        let end = Time(with.iter().map(|c| c.completion.0).max().unwrap());
        let (a, b) = (idle.energy(end), scanning.energy(end));
        let sum = |e: &DriveEnergy| e.seek_s + e.rotation_s + e.transfer_s;
        assert!((sum(&a) - sum(&b)).abs() < 1e-6);
        let read_s = bytes as f64 / (128.0 * 512.0) * REV_NS as f64 * 1e-9;
        assert!((b.transfer_s - a.transfer_s - read_s).abs() < 1e-3);
    }
}

/// Without a foreground an arm of its own reads each track in a turn and its switch.
#[test]
fn an_idle_arm_scans_at_the_sustained_rate() {
    let spec = drive("D1A2S1H1", MediaScanMode::OwnArm);
    let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
    // 100 cylinders of 4 tracks; skews of 1.25 and 2.5 ms hide switches of 1 ms.
    let cylinder_ns = 4 * REV_NS + 3 * REV_NS / 8 + REV_NS / 4;
    let end = Time(100 * cylinder_ns);
    drive.energy(end);
    let blocks = drive.counters().scanned_bytes / (16 * 1024);
    // The first track is begun under the head; one block may be cut by the end.
    assert!((1_596..=1_600).contains(&blocks), "{blocks}");
    // A second round starts where the first one ended.
    drive.energy(Time(900 * cylinder_ns));
    let rounds = drive.counters().scanned_bytes as f64 / (CAPACITY * 512) as f64;
    assert!((rounds - 900.0 / 400.0).abs() < 0.02, "{rounds}");
}

/// One channel: the foreground is served as by one arm less, and takes blocks from the scan.
#[test]
fn an_own_arm_leaves_the_foreground_alone() {
    let n = 2_000;
    let (plain, _) = run(&drive("D1A1S1H1", MediaScanMode::None), n, 20_000_000);
    let mut spec = drive("D1A2S1H1", MediaScanMode::OwnArm);
    let (with, one) = run(&spec, n, 20_000_000);
    assert_eq!(plain, with);
    spec.parallelism.channels = 2;
    let (again, two) = run(&spec, n, 20_000_000);
    assert_eq!(plain, again);
    assert!(one.counters().scanned_bytes < two.counters().scanned_bytes);
    let (_, free) = run(&drive("D1A1S1H1", MediaScanMode::Freeblock), n, 20_000_000);
    assert!(free.counters().scanned_bytes < one.counters().scanned_bytes);
}

#[test]
fn points_that_cannot_scan_are_refused() {
    let error = |dash: &str, mode| match Drive::builtin(&drive(dash, mode), &DriveOptions::default()) {
        Ok(_) => panic!("{dash} was accepted"),
        Err(e) => e.to_string(),
    };
    let e = error("D1A2S1H1", MediaScanMode::Freeblock);
    assert!(e.contains("media_scan.mode: got Freeblock with D1A2S1H1, need D1A1S1H1"), "{e}");
    let e = error("D1A1S1H1", MediaScanMode::OwnArm);
    assert!(e.contains("need D1A2S1H1 or more arms"), "{e}");
    let mut spec = drive("D1A1S1H1", MediaScanMode::Freeblock);
    spec.positioning.rotation_scale = 0.5;
    let e = Drive::builtin(&spec, &DriveOptions::default()).map(drop);
    let e = e.expect_err("a scaled rotation").to_string();
    let start = "positioning.rotation_scale: got 0.5, need 1";
    assert!(e.starts_with(start), "{e}");
}

/// The arm that scans serves no commands, also if the other one has failed: commands end with an error.
#[test]
fn the_scanning_arm_does_not_stand_in_for_a_failed_one() {
    for warning in [true, false] {
        let spec = drive("D1A2S1H1", MediaScanMode::OwnArm);
        let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
        let part = Failure { stack: 0, arm: 0, surface: None, warning };
        drive.fail(Time::ZERO, part).expect("an arm");
        for (id, command) in (0..).zip([Command::Read, Command::Write]) {
            let lba = Lba(id * 5000);
            let request = DriveRequest { id, command, lba, blocks: 8, ..DriveRequest::default() };
            drive.submit(Time::ZERO, request);
        }
        let mut done = Vec::new();
        drive.advance(Time::NEVER, &mut |c| done.push(*c));
        assert_eq!(done.len(), 2);
        assert!(done.iter().all(|c| c.error), "{done:?}");
    }
}
