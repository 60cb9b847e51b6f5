//! A drive with host-managed zones: what its host and its mechanics see of the rules.

use headstack_drive::zoned::{ReportingOptions, Sense, ZoneAction, ZoneCondition, ZoneDescriptor, ZoneId};
use headstack_drive::{Command, Completion, Drive, DriveOptions, DriveRequest, DriveSpec};
use headstack_testkit::commands;
use headstack_testkit::disk::Disk;
use headstack_testkit::SplitMix;
use headstack_units::{Lba, Time};

const MS: u64 = 1_000_000;
/// Blocks of a zone, 64 KiB.
const ZONE: u64 = 128;

fn spec(tables: &str) -> DriveSpec {
    let disk = Disk { rpm: 7200, surfaces: 2, cylinders: 50, sectors: 61, skew: Some(("sectors", 5.0, 11.0)) };
    let seek = "[seek]\nmodel = \"linear\"\nsingle = \"1 ms\"\nfull = \"8 ms\"\ncylinders = 50\n";
    disk.drive(&format!("{seek}{tables}"))
}

fn drive(tables: &str) -> Drive {
    Drive::builtin(&spec(tables), &DriveOptions::default()).expect("a drive")
}

const ZONED: &str = "[mapping]\nmodel = \"zoned\"\nzone_size = \"64 KiB\"\n\
                     conventional_zones = 2\nmax_open_zones = 3\n";

fn ask(drive: &mut Drive, at: u64, request: DriveRequest) -> Vec<Completion> {
    let mut done = Vec::new();
    drive.advance(Time(at), &mut |c| done.push(*c));
    drive.submit(Time(at), request);
    done
}

fn request(id: u64, command: Command, lba: u64, blocks: u32) -> DriveRequest {
    commands::command(id, command, lba, blocks)
}

fn all(drive: &Drive) -> Vec<ZoneDescriptor> {
    drive.report_zones(Lba(0), ReportingOptions::All).collect()
}

/// A command that breaks a rule ends when it arrives. It leaves the mechanics, the energy and the other commands
/// as they would be without it.
#[test]
fn a_refused_command_takes_no_media_time() {
    for seed in 0..40 {
        let buffer = ["", "[cache]\nenabled = true\nsegments = 4\nsegment_sectors = 64\nwrite_back = true\n"];
        let tables = format!("{ZONED}{}", buffer[seed as usize % 2]);
        let (mut zoned, mut plain) = (drive(&tables), drive(buffer[seed as usize % 2]));
        let mut draw = SplitMix(seed);
        let (mut done, mut expected, mut refused) = (Vec::new(), Vec::new(), 0);
        let mut at = 0;
        for id in 0..300 {
            at += draw.below(20) * MS;
            let zones = all(&zoned);
            let zone = zones[draw.below(zones.len() as u64) as usize];
            let next = zone.write_pointer.map_or(zone.start.0, |p| p.0);
            let (command, lba) = match draw.below(4) {
                0 => (Command::Read, zone.start.0 + draw.below(ZONE)),
                1 => (Command::Write, zone.start.0 + draw.below(ZONE)),
                _ => (Command::Write, next),
            };
            let request = request(id, command, lba, 1 + draw.below(12) as u32);
            done.extend(ask(&mut zoned, at, request));
            // The plain drive gets the commands that the zoned one has not refused.
            let before = done.len();
            zoned.advance(Time(at), &mut |c| done.push(*c));
            let mine = done[before..].iter().find(|c| c.id == id && c.error);
            let Some(c) = mine else {
                expected.extend(ask(&mut plain, at, request));
                continue;
            };
            refused += 1;
            assert_eq!((c.arrival, c.completion), (Time(at), Time(at)), "seed {seed}");
            assert_eq!(c.sense.is_some(), !is_outside(&plain, &request), "seed {seed}: {c:?}");
        }
        zoned.advance(Time::NEVER, &mut |c| done.push(*c));
        plain.advance(Time::NEVER, &mut |c| expected.push(*c));
        done.retain(|c| !c.error);
        assert_eq!(done, expected, "seed {seed}");
        assert!(refused > 30 && done.len() > 100, "seed {seed}: {refused}");
        let end = Time(at + 1_000 * MS);
        assert_eq!(zoned.energy(end), plain.energy(end), "seed {seed}");
    }
}

fn is_outside(drive: &Drive, request: &DriveRequest) -> bool {
    request.lba.0 + u64::from(request.blocks) > drive.design.capacity_blocks()
}

/// A zone as a host fills, reads, finishes and resets it.
#[test]
fn the_life_of_a_zone() {
    let mut drive = drive(ZONED);
    let start = 5 * ZONE;
    let zone = |drive: &Drive| all(drive)[5];
    let mut at = 0;
    let mut one = |drive: &mut Drive, command, lba, blocks| {
        at += 1_000 * MS;
        drive.submit(Time(at), request(at, command, lba, blocks));
        let mut done = None;
        drive.advance(Time(at + 999 * MS), &mut |c| done = Some(*c));
        done.expect("a completion").sense
    };
    assert_eq!(zone(&drive).condition, ZoneCondition::Empty);
    assert_eq!(one(&mut drive, Command::Write, start, 8), None);
    let here = zone(&drive);
    assert_eq!(here.condition, ZoneCondition::ImplicitlyOpened);
    assert_eq!(here.write_pointer, Some(Lba(start + 8)));
    let unaligned = Some(Sense::UnalignedWriteCommand);
    assert_eq!(one(&mut drive, Command::Write, start, 8), unaligned);
    assert_eq!(one(&mut drive, Command::Read, start, 8), None);
    let invalid = Some(Sense::AttemptToReadInvalidData);
    assert_eq!(one(&mut drive, Command::Read, start, 9), invalid);
    let id = ZoneId::At(Lba(start));
    assert_eq!(drive.manage_zones(ZoneAction::Finish, id), Ok(()));
    assert_eq!(zone(&drive).condition, ZoneCondition::Full);
    assert_eq!(one(&mut drive, Command::Read, start + 100, 8), None);
    assert_eq!(drive.manage_zones(ZoneAction::Reset, id), Ok(()));
    assert_eq!(one(&mut drive, Command::Write, start, 128), None);
    assert_eq!(zone(&drive).condition, ZoneCondition::Full);
    assert_eq!(drive.fail_zone(Lba(start), ZoneCondition::ReadOnly), Ok(()));
    let only = Some(Sense::ZoneIsReadOnly);
    assert_eq!(one(&mut drive, Command::Write, start, 8), only);
    // A conventional zone has no write pointer.
    assert_eq!(one(&mut drive, Command::Write, 77, 8), None);
    let crossing = Some(Sense::WriteBoundaryViolation);
    assert_eq!(one(&mut drive, Command::Write, 2 * ZONE - 4, 8), crossing);
}

/// Zones that start full can be read at once; the last zone is as small as the rest of the drive.
#[test]
fn full_at_the_start() {
    let mut drive = drive(&format!("{ZONED}initial = \"full\"\n"));
    let zones = all(&drive);
    let blocks: u64 = zones.iter().map(|z| z.blocks).sum();
    assert_eq!(blocks, drive.design.capacity_blocks());
    let last = zones.last().expect("a zone");
    assert_eq!(last.blocks, drive.design.capacity_blocks() % ZONE);
    assert!(zones[2..].iter().all(|z| z.condition == ZoneCondition::Full));
    drive.submit(Time(0), request(0, Command::Read, last.start.0, 4));
    let mut done = Vec::new();
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    assert!(!done[0].error);
}

/// Without zones there is nothing to report and nothing to manage.
#[test]
fn a_drive_without_zones() {
    let mut drive = drive("");
    assert_eq!(all(&drive), []);
    let reset = drive.manage_zones(ZoneAction::Reset, ZoneId::All);
    assert_eq!(reset, Err(Sense::InvalidFieldInCdb));
}

#[test]
fn wrong_descriptions_are_refused() {
    for (table, key, need) in [
        ("zone_size = \"100 KiB\"", "mapping.zone_size", "a power of two"),
        ("zone_size = \"32 KiB\"", "mapping.zone_size", "65536 B"),
        ("zone_size = \"64 KiB\"\nconventional_zones = 50", "mapping.conventional_zones", "at most the 48 zones"),
        ("zone_size = \"64 KiB\"\nzones = 3", "mapping", "zones"),
        ("[parallelism]\nlogical_units = true", "parallelism.logical_units", "not supported"),
    ] {
        let spec = spec(&format!("[mapping]\nmodel = \"zoned\"\n{table}\n"));
        let error = match Drive::builtin(&spec, &DriveOptions::default()) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{table} was accepted"),
        };
        assert!(error.contains(key) && error.contains(need), "{table}: {error}");
    }
}
