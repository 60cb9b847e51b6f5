//! Drives with a log that is cleaned: what must hold whatever they are asked.

use headstack_drive::{Drive, DriveOptions, DriveSpec};
use headstack_testkit::disk::{uneven, Disk};
use headstack_testkit::world::World;

/// A small disk of uneven tracks with this `dash` line and these tables, and a long load.
fn world(seed: u64, dash: &str, more: &str) -> World {
    World::on(seed, &uneven(dash, more)).expect("a drive").calm().again(10)
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
                // Hosts that write much.
                let ran = world(seed % 3, dash, &text).check();
                let (count, background) = (ran.drive.counters(), ran.energy.background);
                assert!(count.n_moved_blocks > 0, "seed {seed}: {dash} {text}");
                let saves = log.contains("checkpoint");
                assert_eq!(count.n_checkpoints > 0, saves, "seed {seed}: {dash} {text}");
                assert_eq!(background.checkpoint.time_s > 0.0, saves, "seed {seed}");
                assert!(background.cleaning.time_s > 0.0 && background.cleaning.energy_j > 0.0, "seed {seed}");
                assert!(count.recovery_scan_s > Some(0.0), "seed {seed}");
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
        let ran = world(7, dash, &text).check();
        assert!(ran.done.iter().all(|c| !c.error));
        let count = ran.drive.counters();
        assert!(ran.done.iter().any(|c| c.moved()) && count.n_in_place_writes > 150, "{}", count.n_in_place_writes);
        assert_eq!(count.n_moved_blocks, 0, "{arms}");
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
