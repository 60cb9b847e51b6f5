//! A host-managed drive, and faults: the sense data that an initiator gets.

use crate::iscsi::initiator::{options, sixteen, ten, toml, Initiator, Server, SMALL};
use headstack_block::layer::{Bad, Becomes, FailedZone, Fails, FailureSetting, FaultSetting, Setting};
use headstack_drive::zoned::{ZoneCondition, ZoneDescriptor, ZoneType};
use headstack_scsi::commands::zones::ZoneList;
use headstack_target::iscsi::server;
use headstack_target::live::Live;
use headstack_target::power::{Afterwards, PowerLosses};
use headstack_testkit::{cases, XorShift};
use headstack_units::Lba;
use tempfile::NamedTempFile;

const READ: u8 = 0x88;
const WRITE: u8 = 0x8a;
/// Blocks of a zone of 16 MiB.
const ZONE: u64 = 32_768;

/// The drive `exos-x18` of 64 zones of 16 MiB, of which two are conventional.
fn zoned() -> Server {
    zoned_with(PowerLosses::default())
}

/// The same, which may lose power.
fn zoned_with(losses: PowerLosses) -> Server {
    zoned_drive("exos-x18", losses)
}

/// A file of a drive of this name with zones, of which two are conventional.
pub fn zoned_file(name: &str, zone_size: &str, capacity_blocks: u64) -> NamedTempFile {
    let drives = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives");
    let text = std::fs::read_to_string(format!("{drives}/{name}.toml")).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    let mapping = format!(
        "model = \"zoned\"\nzone_size = \"{zone_size}\"\nconventional_zones = 2\n\
         max_open_zones = 3\nunrestricted_reads = true"
    );
    table.insert("mapping".into(), mapping.parse::<toml::Table>().unwrap().into());
    let geometry = table["geometry"].as_table_mut().unwrap();
    geometry.insert("capacity_blocks".into(), (capacity_blocks as i64).into());
    table.insert("name".into(), format!("zoned-{}", std::process::id()).into());
    toml(&table.to_string())
}

/// The same of another drive.
fn zoned_drive(name: &str, losses: PowerLosses) -> Server {
    Server::of(zoned_file(name, "16 MiB", 64 * ZONE), |options| options.live.losses = losses)
}

/// Type, condition, length, start and write pointer of each zone that is listed.
fn zones(session: &mut Initiator, from: u64, options: u8) -> Vec<(u8, u8, u64, u64, u64)> {
    let report = session.ask(0, &sixteen(0x95, 0, from, 8192, options), 8192);
    assert_eq!(report.status, 0);
    let u64_at = |at: usize| u64::from_be_bytes(report.data[at..at + 8].try_into().unwrap());
    let length = u32::from_be_bytes(report.data[..4].try_into().unwrap()) as usize;
    assert_eq!(length, report.data.len() - 64);
    assert_eq!(u64_at(8), 64 * ZONE - 1);
    (0..length / 64)
        .map(|i| {
            let at = 64 + 64 * i;
            let kind = (report.data[at], report.data[at + 1] >> 4);
            (kind.0, kind.1, u64_at(at + 8), u64_at(at + 16), u64_at(at + 24))
        })
        .collect()
}

/// A report that is sent in parts of any length is the same, of all zones and of those in a condition.
#[test]
fn a_report_may_come_in_parts() {
    let server = zoned();
    let mut whole = server.session(1, &[]);
    let mut parts = server.session(2, &["MaxRecvDataSegmentLength=1000"]);
    whole.settle(0);
    parts.settle(0);
    for zone in [3, 5, 63] {
        let open = sixteen(0x94, 3, zone * ZONE, 0, 0);
        assert_eq!(whole.ask(0, &open, 0).status, 0);
    }
    for (options, listed) in [(0x00, 64), (0x01, 59), (0x03, 3), (0x3f, 2), (0x83, 3)] {
        let found = zones(&mut parts, 0, options);
        assert_eq!((found.len(), &found), (listed, &zones(&mut whole, 0, options)));
    }
    // The initiator expects less than it asks for: the head, five zones, and a part.
    let report = sixteen(0x95, 0, 0, 8192, 1);
    let all = whole.ask(0, &report, 8192).data;
    let few = parts.ask(0, &report, 400);
    assert_eq!((few.data, few.residual.1), (all[..400].to_vec(), 60 * 64 - 400));
}

/// Of a list of all zones none is looked at before it is sent, nor those before a part; the list is that of a search.
#[test]
fn zones_are_looked_at_as_they_are_sent() {
    const ZONES: u64 = 67_056;
    let server_options = options(SMALL, server::Options::default());
    let mut live = Live::open(&server_options.live).unwrap();
    let mut shelf = headstack_target::iscsi::fuzzing::shelf(&mut live);
    let mut disk = shelf.unit(0).disk.clone();
    disk.blocks = ZONES * ZONE - 100;
    let looked = std::cell::Cell::new(0);
    let zone = |start: Lba| {
        looked.set(looked.get() + 1);
        let (zone_type, condition) = (ZoneType::SequentialWriteRequired, ZoneCondition::Closed);
        let (blocks, write_pointer) = (ZONE.min(disk.blocks - start.0), Some(Lba(start.0 + 8)));
        Some(ZoneDescriptor { zone_type, condition, start, blocks, write_pointer })
    };
    let seed = 67;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    for (from, partial, length) in [(0, false, u32::MAX), (9, true, u32::MAX), (3, true, 64_000), (5, false, 64_000)] {
        let zones = || (from..ZONES).filter_map(|i| zone(Lba(i * ZONE)));
        let searched = ZoneList::new(&disk, zones(), false, partial, length);
        looked.set(0);
        let all = ZoneList::new(&disk, zones(), true, partial, length);
        assert!(looked.get() <= 1 && !all.was_searched() && searched.was_searched());
        let bytes = all.bytes;
        assert_eq!(bytes, searched.bytes);
        for _ in 0..cases(20) {
            let start = rng.below(bytes as u64) as usize;
            let end = bytes.min(start + 1 + rng.below(10_000) as usize);
            looked.set(0);
            let part = all.part(start..end, zone);
            assert_eq!(part.len(), end - start);
            assert!(looked.get() <= (end - start) / 64 + 2, "got {} zones", looked.get());
            assert!(part == searched.part(start..end, zone), "{start}..{end}");
        }
    }
}

/// ZBC-2: types 1 and 2; conditions 0 (no pointer), 1 (empty), 2 (implicitly open), 4 (closed), Eh (full).
#[test]
fn zones_keep_the_rules_of_the_standard() {
    let server = zoned();
    let mut session = server.session(1, &[]);
    session.settle(0);
    assert_eq!(session.ask(0, &[0x12, 0, 0, 0, 96, 0], 96).data[0], 0x14);
    let capacity = session.ask(0, &sixteen(0x9e, 0x10, 0, 32, 0), 32).data;
    assert_eq!(capacity[12], 0x10, "RC BASIS");
    let page = session.ask(0, &[0x12, 1, 0xb6, 0, 64, 0], 64).data;
    assert_eq!((page[4], &page[16..20]), (1, &[0, 0, 0, 3][..]));
    let all = zones(&mut session, 0, 0);
    assert_eq!(all.len(), 64);
    assert_eq!(all[1], (1, 0, ZONE, ZONE, u64::MAX));
    assert_eq!(all[2], (2, 1, ZONE, 2 * ZONE, 2 * ZONE));

    let start = 2 * ZONE;
    let data = vec![7; 16 * 512];
    let write = |s: &mut Initiator, lba| s.put(0, &sixteen(WRITE, 0, lba, 16, 0), &data, 0);
    // At the pointer; then beside it: UNALIGNED WRITE COMMAND, and nothing was written.
    assert_eq!(write(&mut session, start).status, 0);
    assert_eq!(write(&mut session, start + 32).sense, Some((5, 0x21, 0x04)));
    assert_eq!(write(&mut session, start).sense, Some((5, 0x21, 0x04)));
    let read = session.ask(0, &sixteen(READ, 0, start, 64, 0), 64 * 512).data;
    assert!(read[..16 * 512] == data && read[16 * 512..].iter().all(|b| *b == 0));
    assert_eq!(zones(&mut session, start, 0x02), [(2, 2, ZONE, start, start + 16)]);
    // From a conventional zone into one with a pointer: WRITE BOUNDARY VIOLATION.
    assert_eq!(write(&mut session, start - 8).sense, Some((5, 0x21, 0x05)));

    // CLOSE, FINISH and RESET; a block that begins no zone is refused.
    let manage = |s: &mut Initiator, action, lba, all| s.ask(0, &sixteen(0x94, action, lba, 0, all), 0);
    assert_eq!(manage(&mut session, 1, start, 0).status, 0);
    assert_eq!(zones(&mut session, start, 0x04).len(), 1);
    assert_eq!(manage(&mut session, 2, start, 0).status, 0);
    assert_eq!(zones(&mut session, start, 0x05), [(2, 14, ZONE, start, u64::MAX)]);
    assert_eq!(manage(&mut session, 4, start + 8, 0).sense, Some((5, 0x24, 0)));
    assert_eq!(manage(&mut session, 4, start, 0).status, 0);
    assert_eq!(zones(&mut session, start, 0x01).len(), 62);
    let read = session.ask(0, &sixteen(READ, 0, start, 16, 0), 16 * 512).data;
    assert!(read.iter().all(|b| *b == 0), "a zone that was reset reads as zeroes");
    // Three zones may be open: the fourth explicit OPEN finds no place.
    for (n, sense) in [(0, None), (1, None), (2, None), (3, Some((7, 0x55, 0x0e)))] {
        assert_eq!(manage(&mut session, 3, start + n * ZONE, 0).sense, sense, "{n}");
    }
    // Neither does a write to another zone, which then still reads as zeroes.
    assert_eq!(write(&mut session, start + 5 * ZONE).sense, Some((7, 0x55, 0x0e)));
    let read = session.ask(0, &sixteen(READ, 0, start + 5 * ZONE, 16, 0), 16 * 512).data;
    assert!(read.iter().all(|b| *b == 0));
    assert_eq!(manage(&mut session, 4, 0, 1).status, 0);
    assert_eq!(zones(&mut session, 0, 0x01).len(), 62);
}

/// A disk without zones knows none of these commands.
#[test]
fn a_conventional_disk_has_no_zones() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    let report = session.ask(0, &sixteen(0x95, 0, 0, 4096, 0), 4096);
    assert_eq!(report.sense, Some((5, 0x20, 0)));
    assert_eq!(session.ask(0, &[0x12, 1, 0xb6, 0, 64, 0], 64).sense, Some((5, 0x24, 0)));
}

/// A bad block: UNRECOVERED READ ERROR with its address, until it is written; a drive that is gone: NOT READY.
#[test]
fn faults_have_the_sense_of_a_drive() {
    let server = Server::with(&options(SMALL, server::Options::default()));
    let mut session = server.session(1, &[]);
    session.settle(0);
    let set = |setting: Setting| {
        let done = server.handle.ask(move |live| live.set_fault(&[], setting));
        done.unwrap().unwrap();
    };
    set(Setting::Fault(FaultSetting::Bad(Bad { unit: 0, block: 1003, blocks: 2, fails: Fails::Reads })));
    let unit = session.command_header(0, 0xc1, &ten(0x28, 0, 1000, 8), 8 * 512);
    session.send(&unit, &[]);
    let failed = session.next().unwrap();
    let sense = &failed.data[2..];
    assert_eq!((failed.header[3], sense[0], sense[2], sense[12], sense[13]), (2, 0xf0, 3, 0x11, 0));
    assert_eq!(sense[3..7], 1003u32.to_be_bytes());
    assert_eq!(session.put(0, &ten(0x2a, 0, 1000, 8), &[9; 8 * 512], 0).status, 0);
    assert_eq!(session.ask(0, &ten(0x28, 0, 1000, 8), 8 * 512).data, [9; 8 * 512]);
    set(Setting::Fault(FaultSetting::Gone(true)));
    assert_eq!(session.ask(0, &ten(0x28, 0, 0, 1), 512).sense, Some((2, 0x04, 0)));
    set(Setting::Fault(FaultSetting::Gone(false)));
    assert_eq!(session.ask(0, &ten(0x28, 0, 0, 1), 512).status, 0);
}

/// START STOP UNIT: a unit that was stopped is NOT READY, INITIALIZING COMMAND REQUIRED, until it is started.
#[test]
fn a_stopped_unit_needs_a_start() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    assert_eq!(session.ask(0, &[0x1b, 0, 0, 0, 0, 0], 0).status, 0);
    let read = ten(0x28, 0, 0, 1);
    assert_eq!(session.ask(0, &read, 512).sense, Some((2, 0x04, 0x02)));
    assert_eq!(session.ask(0, &[0; 6], 0).sense, Some((2, 0x04, 0x02)));
    assert_eq!(session.ask(0, &[0x1b, 0, 0, 0, 1, 0], 0).status, 0);
    assert_eq!(session.ask(0, &read, 512).status, 0);
}

/// A zone that has failed: ZONE IS READ ONLY for writes; ZONE IS OFFLINE for both. Its neighbours are well.
#[test]
fn zones_fail_on_purpose() {
    let server = zoned();
    let mut session = server.session(1, &[]);
    session.settle(0);
    let (read_only, offline) = (2 * ZONE, 3 * ZONE);
    let data = [5; 16 * 512];
    for start in [read_only, offline] {
        let wrote = session.put(0, &sixteen(WRITE, 0, start, 16, 0), &data, 0);
        assert_eq!(wrote.status, 0);
    }
    let fail = |block, becomes| {
        let setting = Setting::Failure(FailureSetting::Zone(FailedZone { block, becomes }));
        let done = server.handle.ask(move |live| live.set(&[0, 0], setting));
        done.unwrap()
    };
    fail(read_only, Becomes::ReadOnly).unwrap();
    fail(offline, Becomes::Offline).unwrap();
    assert!(fail(offline, Becomes::ReadOnly).is_err());
    assert!(fail(0, Becomes::Offline).is_err(), "a conventional zone");
    let read = |s: &mut Initiator, lba| s.ask(0, &sixteen(READ, 0, lba, 16, 0), 16 * 512);
    let write = |s: &mut Initiator, lba| s.put(0, &sixteen(WRITE, 0, lba, 16, 0), &data, 0).sense;
    assert_eq!(read(&mut session, read_only).data, data);
    assert_eq!(write(&mut session, read_only + 16), Some((7, 0x27, 0x08)));
    assert_eq!(read(&mut session, offline).sense, Some((7, 0x2c, 0x0e)));
    assert_eq!(write(&mut session, offline + 16), Some((7, 0x2c, 0x0e)));
    assert_eq!(write(&mut session, 4 * ZONE), None);
    let conditions: Vec<u8> = zones(&mut session, read_only, 0)[..2].iter().map(|z| z.1).collect();
    assert_eq!(conditions, [0xd, 0xf]);
}

/// After a loss of power a write pointer stands where the data that survived end, and what was open is closed. A zone whose
/// data were on the medium is as it was.
#[test]
fn write_pointers_survive_a_loss_of_power_as_data_do() {
    let mut cut = 0;
    for seed in 1..=12u64 {
        let server = zoned_with(PowerLosses {
            seed,
            is_possible: true,
            afterwards: Afterwards::Continue,
            ..PowerLosses::default()
        });
        let mut session = server.session(1, &[]);
        session.settle(0);
        let (kept, open) = (2 * ZONE, 3 * ZONE);
        let data: Vec<u8> = (0..64 * 512).map(|i| 1 + (i / 512) as u8).collect();
        let wrote = session.put(0, &sixteen(WRITE, 0, kept, 64, 0), &data, 0);
        assert_eq!(wrote.status, 0);
        assert_eq!(session.ask(0, &ten(0x35, 0, 0, 0), 0).status, 0);
        for i in 0..4u64 {
            let part = &data[i as usize * 16 * 512..][..16 * 512];
            let wrote = session.put(0, &sixteen(WRITE, 0, open + 16 * i, 16, 0), part, 0);
            assert_eq!(wrote.status, 0, "seed {seed}");
        }
        server.handle.ask(|live| live.lose_power().map(drop)).unwrap().unwrap();
        let all = zones(&mut session, kept, 0);
        assert_eq!((all[0].1, all[0].4), (4, kept + 64), "seed {seed}");
        let survived = all[1].4 - open;
        assert_eq!(all[1].1, if survived == 0 { 1 } else { 4 }, "seed {seed}");
        assert_eq!(survived % 8, 0, "whole sectors of 4 KiB");
        let read = session.ask(0, &sixteen(READ, 0, open, 64, 0), 64 * 512).data;
        let (before, after) = read.split_at(survived as usize * 512);
        assert!(before == &data[..before.len()], "seed {seed}");
        assert!(after.iter().all(|b| *b == 0), "seed {seed}");
        // The zone goes on there.
        let wrote = session.put(0, &sixteen(WRITE, 0, open + survived, 16, 0), &data[..16 * 512], 0);
        assert_eq!(wrote.status, 0, "seed {seed}");
        cut += u32::from(survived < 64);
    }
    assert!(cut > 0, "power was lost with all data on the medium each time");
}

/// A write that its zone refuses when it arrives is not at the drive: with it nothing is lost.
#[test]
fn a_loss_of_power_at_a_refused_write_undoes_nothing() {
    for seed in 1..=12u64 {
        let (at_write, afterwards) = (vec![3], Afterwards::Continue);
        let losses = PowerLosses { seed, is_possible: true, at_write, afterwards, ..PowerLosses::default() };
        let server = zoned_with(losses);
        let mut session = server.session(1, &[]);
        session.settle(0);
        let write = sixteen(WRITE, 0, 2 * ZONE, 64, 0);
        assert_eq!(session.put(0, &write, &[1; 64 * 512], 0).status, 0);
        assert_eq!(session.ask(0, &ten(0x35, 0, 0, 0), 0).status, 0);
        // UNALIGNED WRITE COMMAND.
        assert_eq!(session.put(0, &write, &[2; 64 * 512], 0).sense, Some((5, 0x21, 4)), "seed {seed}");
        assert_eq!(zones(&mut session, 2 * ZONE, 0)[0].4, 2 * ZONE + 64, "seed {seed}");
        let read = session.ask(0, &sixteen(READ, 0, 2 * ZONE, 64, 0), 64 * 512).data;
        assert!(read == [1; 64 * 512], "seed {seed}");
    }
}

/// Number, health and blocks of each element, as GET PHYSICAL ELEMENT STATUS has them.
fn elements(session: &mut Initiator, from: u32, options: u8) -> Vec<(u32, u8, u64)> {
    let mut cdb = sixteen(0x9e, 0x17, 0, 4096, options);
    cdb[6..10].copy_from_slice(&from.to_be_bytes());
    let report = session.ask(0, &cdb, 4096);
    assert_eq!(report.status, 0);
    let u32_at = |at: usize| u32::from_be_bytes(report.data[at..at + 4].try_into().unwrap());
    let number = u32_at(0) as usize;
    assert_eq!((u32_at(4) as usize, report.data.len()), (number, 32 + 32 * number));
    let each = (0..number).map(|i| {
        let at = 32 + 32 * i;
        assert_eq!(report.data[at + 14], 1, "a storage element");
        let blocks = u64::from_be_bytes(report.data[at + 16..at + 24].try_into().unwrap());
        (u32_at(at + 4), report.data[at + 15], blocks)
    });
    each.collect()
}

/// The zones that a drive cannot read whole without the first head, as it finds when it reads them.
fn unreadable_without_first_head(name: &str) -> Vec<u64> {
    let server = zoned_drive(name, PowerLosses::default());
    let mut session = server.session(1, &[]);
    session.settle(0);
    let part = headstack_drive::Failure { stack: 0, arm: 0, surface: Some(0), warning: true };
    let failed = (server.handle).ask(move |live| live.set(&[0, 0], Setting::Failure(FailureSetting::Part(part))));
    failed.unwrap().unwrap();
    // VERIFY(16) of each zone, without data.
    let fails = |zone: &u64| {
        let verify = sixteen(0x8f, 0, zone * ZONE, ZONE as u32, 0);
        session.ask(0, &verify, 0).sense.is_some()
    };
    (0..64).filter(fails).collect()
}

/// SBC-4 and ZBC-2: a head that is removed takes the zones offline that have blocks on it: those that cannot be read whole by
/// a drive whose head has failed. The others keep their data. Elements have their blocks, health and numbers.
#[test]
fn a_head_is_removed_with_its_zones() {
    for name in ["exos-x18", "helium-20tb"] {
        let lost = unreadable_without_first_head(name);
        assert!((2..64).contains(&lost.len()), "some zones, not all: {name}: {lost:?}");
        let server = zoned_drive(name, PowerLosses::default());
        let mut session = server.session(1, &[]);
        session.settle(0);
        let before = elements(&mut session, 1, 0);
        assert_eq!(before.iter().map(|e| e.2).sum::<u64>(), 64 * ZONE, "{name}");
        assert!(before.iter().all(|e| e.1 == 1) && elements(&mut session, 1, 0x40).is_empty());
        assert_eq!(elements(&mut session, 3, 0)[0].0, 3);
        let remove = |s: &mut Initiator, element| s.ask(0, &sixteen(0x9e, 0x1a, 0, element, 0), 0).sense;
        let none = before.len() as u32 + 1;
        assert_eq!(remove(&mut session, none), Some((5, 0x24, 0)));
        assert_eq!(remove(&mut session, 0), Some((5, 0x24, 0)));
        assert!(zones(&mut session, 0, 0x07).is_empty());
        assert_eq!(remove(&mut session, 1), None);
        assert_eq!(remove(&mut session, 1), Some((5, 0x24, 0)), "it is removed already");
        assert_eq!(elements(&mut session, 1, 0x40), [(1, 0xff, before[0].2)]);
        let offline: Vec<u64> = zones(&mut session, 0, 0x07).iter().map(|z| z.3 / ZONE).collect();
        // Two zones are conventional, which cannot be offline.
        let expected: Vec<u64> = lost.into_iter().filter(|zone| *zone >= 2).collect();
        assert_eq!(offline, expected, "{name}");
        let mut read = |zone: u64| session.ask(0, &sixteen(READ, 0, zone * ZONE, 1, 0), 512).sense;
        assert_eq!(read(offline[0]), Some((7, 0x2c, 0x0e)));
        let kept = (2..64).find(|zone| !offline.contains(zone)).unwrap();
        assert_eq!(read(kept), None);
        // What takes new addresses is not supported, and not listed.
        let truncate = session.ask(0, &sixteen(0x9e, 0x18, 0, 2, 0), 0).sense;
        assert_eq!(truncate, Some((5, 0x24, 0)));
    }
}
