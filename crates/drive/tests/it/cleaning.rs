//! Drives with a log that is cleaned: what must hold whatever they are asked.

use headstack_drive::{Command, Completion, Drive, DriveOptions, DriveRequest, DriveSpec};
use headstack_testkit::commands::check_completions;
use headstack_testkit::disk::{uneven, Disk};
use headstack_testkit::SplitMix;
use headstack_units::{Lba, Time};

const MS: u64 = 1_000_000;

/// A small disk of uneven tracks with this `dash` line and these tables.
fn drive(dash: &str, more: &str) -> Drive {
    Drive::builtin(&uneven(dash, more), &DriveOptions::default()).expect("a drive")
}

/// The policies, with the tables of a log that is two thirds full and cleaned by them; every second one writes
/// checkpoints.
fn logs() -> Vec<String> {
    let mut all = Vec::new();
    for policy in ["greedy", "cost-benefit", "hole-plugging"] {
        for pressed in [0.0, 0.3] {
            let recovery = match pressed > 0.0 {
                true => "[mapping.recovery]\nmodel = \"checkpoint\"\nevery = 40\n",
                false => "[mapping.recovery]\nmodel = \"headers\"\n",
            };
            all.push(format!(
                "[mapping]\nmodel = \"log\"\npolicy_parameters = {{ ties = \"any\" }}\ninitial_blocks = 900\n\
                 initial = \"written\"\n[mapping.cleaning]\npolicy = {policy:?}\nlow = 0.3\nhigh = 0.32\n\
                 pressed = {pressed}\nmoves = 3\nidle_after = \"3 ms\"\n{recovery}"
            ));
        }
    }
    all
}

/// Random commands at random times; the clock is also advanced in between if `steps` is set.
fn run(drive: &mut Drive, seed: u64, steps: bool) -> Vec<Completion> {
    let mut draw = SplitMix(seed);
    let (mut now, mut done) = (0, Vec::new());
    for id in 0..500 {
        now += draw.below(50) * MS / 2 + draw.below(20) / 19 * 200 * MS;
        let lba = draw.below(900) * 8;
        let blocks = [8, 8, 8, 3, 40][draw.below(5) as usize];
        let command = match draw.below(20) {
            0 => Command::Flush,
            1 => Command::WriteThrough,
            2..=10 => Command::Write,
            _ => Command::Read,
        };
        let before = now.saturating_sub(draw.below(3 * MS));
        if steps {
            drive.advance(Time(before), &mut |c| done.push(*c));
        }
        drive.advance(Time(now), &mut |c| done.push(*c));
        let request = DriveRequest { id, command, lba: Lba(lba), blocks, ..DriveRequest::default() };
        drive.submit(Time(now), request);
    }
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    done
}

const BUFFERS: [&str; 4] = [
    "",
    "enabled = true\nsegments = 4\nsegment_sectors = 64\nread_ahead = \"limit\"\n",
    "enabled = true\nsegments = 4\nsegment_sectors = 64\nwrite_back = true\n",
    "enabled = true\nsegments = 4\nsegment_sectors = 64\nwrite_back = true\ndestage = \"idle\"\n\
     dirty_limit = \"16 KiB\"\npartial_wait = \"2 ms\"\n",
];

const ARMS: [&str; 5] = [
    "",
    "dash = \"D1A2S1H1\"\n",
    "dash = \"D1A2S1H1\"\n[parallelism]\nroles = [[\"write\"], [\"read\"]]\n",
    "dash = \"D1A2S1H1\"\n[parallelism]\narms_in_motion = 2\nroles = [[\"write\"], [\"read\"]]\n",
    "dash = \"D1A3S1H1\"\n[parallelism]\narms_in_motion = 3\nchannels = 3\n\
     roles = [[\"write\"], [\"read\"], [\"read\", \"write\"]]\n",
];

/// With every policy, buffer, scheduler and set of arms: commands complete once and without error, shares add
/// up, results do not depend on the steps in which the drive is advanced, and blocks are moved.
#[test]
fn every_command_completes_once() {
    let mut seed = 0;
    for log in logs() {
        for arms in ARMS {
            for (buffer, scheduler) in BUFFERS.iter().zip(["fcfs", "sptf", "look", "satf"]) {
                seed += 1;
                let (dash, tables) = arms.split_once('\n').unwrap_or(("", ""));
                let text = format!("{tables}{log}[queue]\nscheduler = {scheduler:?}\n[cache]\n{buffer}");
                let mut one = drive(dash, &text);
                let once = run(&mut one, seed, false);
                check_completions(&once, 500, &format!("seed {seed}: {dash} {text}"));
                assert!(one.counters().n_moved_blocks > 0, "seed {seed}: {dash} {text}");
                let mut two = drive(dash, &text);
                let stepped = run(&mut two, seed, true);
                assert_eq!(once, stepped, "seed {seed}: {dash} {text}");
                assert_eq!(one.counters().n_moved_blocks, two.counters().n_moved_blocks, "seed {seed}");
                let end = once.iter().map(|c| c.completion).max().expect("commands");
                let background = one.energy(end).background;
                let saves = log.contains("checkpoint");
                assert_eq!(one.counters().n_checkpoints > 0, saves, "seed {seed}: {dash} {text}");
                assert_eq!(background.checkpoint.time_s > 0.0, saves, "seed {seed}");
                assert!(background.cleaning.time_s > 0.0, "seed {seed}");
                assert!(background.cleaning.energy_j > 0.0, "seed {seed}");
                assert!(one.counters().recovery_scan_s > Some(0.0), "seed {seed}");
            }
        }
    }
}

/// A disk without a free slot: every write goes over the old copy and is counted, and cleaning finds nothing to
/// do instead of looking for ever.
#[test]
fn a_full_disk_writes_in_place() {
    for arms in ["", "dash = \"D1A2S1H1\"\n[parallelism]\narms_in_motion = 2\n"] {
        let (dash, tables) = arms.split_once('\n').unwrap_or(("", ""));
        let text = format!(
            "{tables}[mapping]\nmodel = \"log\"\ninitial_blocks = 1372\n[mapping.cleaning]\n\
             policy = \"greedy\"\nlow = 0.5\nhigh = 0.6\npressed = 0.5\n"
        );
        let mut full = drive(dash, &text);
        let done = run(&mut full, 7, true);
        assert_eq!(done.len(), 500);
        assert!(done.iter().all(|c| !c.error));
        let writes = done.iter().filter(|c| c.moved()).count();
        assert!(writes > 0 && full.counters().n_in_place_writes > 150, "{}", full.counters().n_in_place_writes);
        assert_eq!(full.counters().n_moved_blocks, 0, "{arms}");
    }
}

/// What cannot be is refused by its key.
#[test]
fn wrong_settings_are_refused_by_key() {
    for (head, tables, key) in [
        ("", "[mapping.cleaning]\npolicy = \"gready\"", "mapping.cleaning.policy"),
        ("", "[mapping.cleaning]\nlow = 1.5", "mapping.cleaning.low"),
        ("", "[mapping.cleaning]\nlow = 0.5\nhigh = 0.4", "mapping.cleaning.high"),
        ("", "[mapping.cleaning]\npressed = 0.2", "mapping.cleaning.pressed"),
        ("", "[mapping.cleaning]\nmoves = 0", "mapping.cleaning.moves"),
        ("", "[mapping.cleaning]\npolicy = \"greedy\"\narm = 1", "mapping.cleaning.arm"),
        (
            "dash = \"D1A2S1H1\"",
            "[mapping.cleaning]\npolicy = \"greedy\"\narm = 1\n\
             [parallelism]\nroles = [[\"read\", \"write\"], [\"read\"]]",
            "mapping.cleaning.arm",
        ),
        (
            "",
            "[mapping.cleaning]\npolicy = \"greedy\"\npolicy_parameters = { u = 1 }",
            "mapping.cleaning.policy_parameters",
        ),
        ("", "[mapping.recovery]\nevery = 0", "mapping.recovery.every"),
        ("", "[mapping.recovery]\nmodel = \"header\"", "mapping.recovery.model"),
    ] {
        let disk = Disk { rpm: 7200, surfaces: 3, cylinders: 60, sectors: 61, skew: None };
        let seek = "[seek]\nmodel = \"constant\"\ntime = \"1 ms\"\n[mapping]\nmodel = \"log\"\n";
        let text = format!("{head}\n{}", disk.text(&format!("{seek}{tables}")));
        let spec: DriveSpec = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let made = Drive::builtin(&spec, &DriveOptions::default());
        let error = made.err().map(|e| e.key);
        assert_eq!(error.as_deref(), Some(key), "{tables}");
    }
}
