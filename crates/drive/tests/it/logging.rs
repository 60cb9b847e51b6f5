//! Drives with a log mapping or with roles of arms: what must hold whatever they are asked.

use headstack_drive::{Command, Drive, DriveOptions, DriveRequest, DriveSpec, Failure};
use headstack_testkit::disk::{uneven, Disk};
use headstack_testkit::world::{Deed, World};
use headstack_testkit::SplitMix;
use headstack_units::{Lba, Time};

const MS: u64 = 1_000_000;

/// The drives of the test below: without and with buffer, one and several arms, roles, schedulers.
fn drives() -> Vec<(String, bool)> {
    let mut all = Vec::new();
    let cache = "[cache]\nenabled = true\nsegments = 4\nsegment_sectors = 64\nread_ahead = \"limit\"\n\
                 keep_passing_sectors = true\n";
    let idle = "write_back = true\ndestage = \"idle\"\ndirty_limit = \"16 KiB\"\npartial_wait = \"2 ms\"\n";
    for policy in ["eager", "current-cylinder", "current-or-frontier", "append"] {
        let log = format!("[mapping]\nmodel = \"log\"\npolicy = {policy:?}\ninitial_blocks = 900\n");
        for scheduler in ["fcfs", "sptf", "look", "c-look", "satf"] {
            let queue = format!("[queue]\nscheduler = {scheduler:?}\n");
            for buffer in
                ["".to_string(), cache.into(), format!("{cache}write_back = true\n"), format!("{cache}{idle}")]
            {
                all.push((format!("{log}{queue}{buffer}"), policy == "eager"));
            }
        }
    }
    all
}

/// Every command completes once and without error, shares add up, and results do not depend on the steps in
/// which the drive is advanced.
#[test]
fn every_command_completes_once() {
    let mut seed = 0;
    for (text, more) in drives() {
        let arms: &[&str] = if more {
            &[
                "",
                "dash = \"D1A2S1H1\"\n",
                "dash = \"D1A2S1H1\"\n[parallelism]\nroles = [[\"write\"], [\"read\"]]\n",
                "dash = \"D1A3S1H1\"\n[parallelism]\narms_in_motion = 3\nchannels = 3\n\
                 roles = [[\"write\"], [\"read\"], [\"read\", \"write\"]]\n",
            ]
        } else {
            &[""]
        };
        for arms in arms {
            seed += 1;
            world(seed, arms, &text).check();
        }
    }
}

/// A log of which an arm, or a head of it, fails while it runs: the other arm serves everything, and no command
/// fails. Seeds 1 and up.
#[test]
fn the_other_arm_of_a_log_serves_when_one_fails() {
    let mut seed = 0;
    for (text, _) in drives().into_iter().filter(|d| d.1) {
        for (arm, surface, warning) in [(0, None, true), (1, None, false), (0, Some(1), false)] {
            seed += 1;
            let mut world = world(seed, "dash = \"D1A2S1H1\"\n", &text);
            let (middle, part) = (world.deeds.len() / 2, Failure { stack: 0, arm, surface, warning });
            world.deeds.insert(middle, (world.deeds[middle].0, Deed::Fail(part)));
            let ran = world.check();
            assert!(ran.done.iter().all(|c| !c.error), "seed {seed}: {part:?}{text}");
        }
    }
}

/// The same with roles that change every few commands, with and without a map.
#[test]
fn every_command_completes_once_while_roles_change() {
    let (mut seed, mut switches) = (1000, 0);
    for (text, _) in drives().into_iter().filter(|d| d.1) {
        let in_place = text.split_once("[queue]").map(|t| format!("[queue]{}", t.1));
        for text in [&text, &in_place.expect("a queue")] {
            for arms in [
                "dash = \"D1A2S1H1\"\n[parallelism]\nroles = { policy = \"adaptive\", window = 4, dwell = 3, \
                 to_shared_below = 0.45, to_split_above = 0.55, switch_time = \"1 ms\" }\n",
                "dash = \"D1A3S1H1\"\n[parallelism]\narms_in_motion = 3\nchannels = 3\n\
                 roles = { policy = \"adaptive\", window = 4, dwell = 0, start = \"shared\", \
                 to_shared_below = 0.45, to_split_above = 0.55 }\n",
            ] {
                seed += 1;
                let ran = world(seed, arms, text).check();
                switches += ran.drive.role_use(Time(ran.end)).expect("roles that change").n_switches;
            }
        }
    }
    assert!(switches > 5 * (seed - 1000), "{switches} in {seed}");
}

/// A world of right commands to such a drive.
fn world(seed: u64, arms: &str, text: &str) -> World {
    // `dash` and `parallelism` stand before the tables.
    let (dash, tables) = arms.split_once('\n').unwrap_or(("", ""));
    World::on(seed, &uneven(dash, &format!("{tables}{text}"))).expect("a drive").calm().again(5)
}

/// A small disk of uneven tracks with this `dash` line and these tables.
fn with_dash(dash: &str, more: &str) -> Drive {
    Drive::builtin(&uneven(dash, more), &DriveOptions::default()).expect("a drive")
}

/// Only arms with the role serve a command.
#[test]
fn arms_serve_what_their_roles_say() {
    for mapping in ["", "[mapping]\nmodel = \"log\"\n"] {
        for motion in [1, 2] {
            let more = format!(
                "[parallelism]\narms_in_motion = {motion}\nroles = [[\"write\"], [\"read\"]]\n\
                 [queue]\nscheduler = \"sptf\"\n{mapping}"
            );
            let mut drive = with_dash("dash = \"D1A2S1H1\"", &more);
            let mut draw = SplitMix(5);
            let (mut now, mut writes, mut seen) = (0, Vec::new(), [0; 2]);
            let mut done = Vec::new();
            for id in 0..2000u64 {
                now += draw.below(10) * MS;
                let write = draw.below(2) == 0;
                writes.push(write);
                drive.advance(Time(now), &mut |c| done.push(*c));
                let lba = Lba(draw.below(drive.design.capacity_blocks() / 8) * 8);
                let command = if write { Command::Write } else { Command::Read };
                let request = DriveRequest { id, command, lba, blocks: 8, ..DriveRequest::default() };
                drive.submit(Time(now), request);
            }
            drive.advance(Time::NEVER, &mut |c| done.push(*c));
            for c in done {
                let arm = u8::from(!writes[c.id as usize]);
                assert_eq!(c.arm, arm, "{mapping} {motion}: {c:?}");
                seen[arm as usize] += 1;
            }
            assert!(seen.iter().all(|n| *n > 900), "{seen:?}");
        }
    }
}

/// What cannot be is refused by its key.
#[test]
fn wrong_settings_are_refused_by_key() {
    let disk = Disk { rpm: 7200, surfaces: 3, cylinders: 60, sectors: 61, skew: None };
    for (head, tables, key) in [
        ("", "[mapping]\nmodel = \"log\"\nblock = \"3 KiB\"", "mapping.block"),
        ("", "[mapping]\nmodel = \"lgo\"", "mapping.model"),
        ("", "[mapping]\nmodel = \"loge\"", "mapping.model"),
        ("", "[mapping]\nmodel = \"trail\"", "mapping.model"),
        ("", "[mapping]\nmodel = \"log\"\npolicy = \"egaer\"", "mapping.policy"),
        ("", "[mapping]\nmodel = \"log\"\nreserve = 0.95", "mapping.reserve"),
        ("", "[mapping]\nmodel = \"log\"\ninitial_blocks = 1373", "mapping.initial_blocks"),
        ("", "[mapping]\nmodel = \"log\"\n[media_scan]\nmode = \"freeblock\"", "media_scan.mode"),
        ("dash = \"D1A2S1H1\"", "[parallelism]\nroles = [[\"write\"], []]", "parallelism.roles"),
        ("dash = \"D1A2S1H1\"", "[parallelism]\nroles = [[\"read\"]]", "parallelism.roles"),
        ("dash = \"D1A2S1H2\"", "[parallelism]\nheads = \"radial\"\n[mapping]\nmodel = \"log\"", "parallelism.heads"),
        ("", "[parallelism]\nfaults = [{ at = \"1 s\" }]\n[mapping]\nmodel = \"log\"", "parallelism.faults"),
    ] {
        let seek = "[seek]\nmodel = \"constant\"\ntime = \"1 ms\"\n";
        let text = format!("{head}\n{}", disk.text(&format!("{seek}{tables}")));
        let spec: DriveSpec = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let made = Drive::builtin(&spec, &DriveOptions::default());
        let error = made.err().map(|e| e.key);
        assert_eq!(error.as_deref(), Some(key), "{tables}");
    }
}
