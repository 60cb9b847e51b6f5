//! A host-managed drive, and faults: the sense data that an initiator gets.

use crate::initiator::{options, sixteen, ten, Initiator, Server, SMALL};
use headstack_array::layer::{Bad, Fails, Setting};
use headstack_iscsi::server;

const READ: u8 = 0x88;
const WRITE: u8 = 0x8a;
/// Blocks of a zone of 16 MiB.
const ZONE: u64 = 32_768;

/// The drive `exos-x18` of 64 zones of 16 MiB, of which two are conventional.
fn zoned() -> Server {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives/exos-x18.toml");
    let text = std::fs::read_to_string(source).unwrap();
    let mut table: toml::Table = text.parse().unwrap();
    let mapping =
        "model = \"zoned\"\nzone_size = \"16 MiB\"\nconventional_zones = 2\nmax_open_zones = 3\n\
                   unrestricted_reads = true";
    table.insert(
        "mapping".into(),
        mapping.parse::<toml::Table>().unwrap().into(),
    );
    let geometry = table["geometry"].as_table_mut().unwrap();
    geometry.insert("capacity_blocks".into(), (64 * ZONE as i64).into());
    table.insert(
        "name".into(),
        format!("zoned-{}", std::process::id()).into(),
    );
    let file = std::env::temp_dir().join(format!("zoned-{}.toml", std::process::id()));
    std::fs::write(&file, table.to_string()).unwrap();
    let options = options(&file.to_string_lossy(), server::Options::default());
    let server = Server::with(&options);
    std::fs::remove_file(file).unwrap();
    server
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
            (
                kind.0,
                kind.1,
                u64_at(at + 8),
                u64_at(at + 16),
                u64_at(at + 24),
            )
        })
        .collect()
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
    let read = session
        .ask(0, &sixteen(READ, 0, start, 64, 0), 64 * 512)
        .data;
    assert!(read[..16 * 512] == data && read[16 * 512..].iter().all(|b| *b == 0));
    assert_eq!(
        zones(&mut session, start, 0x02),
        [(2, 2, ZONE, start, start + 16)]
    );
    // From a conventional zone into one with a pointer: WRITE BOUNDARY VIOLATION.
    assert_eq!(write(&mut session, start - 8).sense, Some((5, 0x21, 0x05)));

    // CLOSE, FINISH and RESET; a block that begins no zone is refused.
    let manage =
        |s: &mut Initiator, action, lba, all| s.ask(0, &sixteen(0x94, action, lba, 0, all), 0);
    assert_eq!(manage(&mut session, 1, start, 0).status, 0);
    assert_eq!(zones(&mut session, start, 0x04).len(), 1);
    assert_eq!(manage(&mut session, 2, start, 0).status, 0);
    assert_eq!(
        zones(&mut session, start, 0x05),
        [(2, 14, ZONE, start, u64::MAX)]
    );
    assert_eq!(
        manage(&mut session, 4, start + 8, 0).sense,
        Some((5, 0x24, 0))
    );
    assert_eq!(manage(&mut session, 4, start, 0).status, 0);
    assert_eq!(zones(&mut session, start, 0x01).len(), 62);
    let read = session
        .ask(0, &sixteen(READ, 0, start, 16, 0), 16 * 512)
        .data;
    assert!(
        read.iter().all(|b| *b == 0),
        "a zone that was reset reads as zeroes"
    );
    // Three zones may be open: the fourth explicit OPEN finds no place.
    for (n, sense) in [(0, None), (1, None), (2, None), (3, Some((7, 0x55, 0x0e)))] {
        assert_eq!(
            manage(&mut session, 3, start + n * ZONE, 0).sense,
            sense,
            "{n}"
        );
    }
    // Neither does a write to another zone, which then still reads as zeroes.
    assert_eq!(
        write(&mut session, start + 5 * ZONE).sense,
        Some((7, 0x55, 0x0e))
    );
    let read = session
        .ask(0, &sixteen(READ, 0, start + 5 * ZONE, 16, 0), 16 * 512)
        .data;
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
    assert_eq!(
        session.ask(0, &[0x12, 1, 0xb6, 0, 64, 0], 64).sense,
        Some((5, 0x24, 0))
    );
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
    set(Setting::Bad(Bad {
        unit: 0,
        block: 1003,
        blocks: 2,
        fails: Fails::Reads,
    }));
    let unit = session.command_header(0, 0xc1, &ten(0x28, 0, 1000, 8), 8 * 512);
    session.send(&unit, &[]);
    let failed = session.next().unwrap();
    let sense = &failed.data[2..];
    assert_eq!(
        (failed.header[3], sense[0], sense[2], sense[12], sense[13]),
        (2, 0xf0, 3, 0x11, 0)
    );
    assert_eq!(sense[3..7], 1003u32.to_be_bytes());
    assert_eq!(
        session
            .put(0, &ten(0x2a, 0, 1000, 8), &[9; 8 * 512], 0)
            .status,
        0
    );
    assert_eq!(
        session.ask(0, &ten(0x28, 0, 1000, 8), 8 * 512).data,
        [9; 8 * 512]
    );
    set(Setting::Gone(true));
    assert_eq!(
        session.ask(0, &ten(0x28, 0, 0, 1), 512).sense,
        Some((2, 0x04, 0))
    );
    set(Setting::Gone(false));
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
