//! Commands and what comes back.

use crate::iscsi::initiator::{path, shelf, ten, Server};
use headstack_target::iscsi::server;

const READ: u8 = 0x28;
const WRITE: u8 = 0x2a;

#[test]
fn data_come_back_whatever_way_they_went() {
    let server = Server::start();
    let data: Vec<u8> = (0..200 * 512).map(|i| (i % 251) as u8).collect();
    for (isid, keys) in [
        (1, vec![]),
        (2, vec!["HeaderDigest=CRC32C", "DataDigest=CRC32C"]),
        (3, vec!["MaxBurstLength=1024", "FirstBurstLength=512", "MaxRecvDataSegmentLength=512"]),
    ] {
        let mut session = server.session(isid, &keys);
        session.settle(0);
        for immediate in [0, 512] {
            let lba = 1000 * u32::from(isid) + immediate as u32;
            let wrote = session.put(0, &ten(WRITE, 0, lba, 200), &data, immediate);
            assert_eq!((wrote.status, wrote.residual), (0, (0, 0)), "{keys:?}");
            let read = session.ask(0, &ten(READ, 0, lba, 200), data.len() as u32);
            assert!(read.data == data, "{keys:?}");
            assert_eq!(read.residual, (0, 0));
        }
    }
}

/// RFC 7143, 11.4.5.1: more or less data than the initiator expects.
#[test]
fn residuals_are_counted() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    let read = session.ask(0, &ten(READ, 0, 0, 4), 512);
    assert_eq!((read.data.len(), read.residual), (512, (4, 1536)));
    let read = session.ask(0, &ten(READ, 0, 0, 1), 2048);
    assert_eq!((read.data.len(), read.residual), (512, (2, 1536)));
    let read = session.ask(0, &ten(READ, 0, 0, 1), 0);
    assert_eq!((read.data.len(), read.residual), (0, (4, 512)));
    let wrote = session.put(0, &ten(WRITE, 0, 0, 1), &[7; 2048], 0);
    assert_eq!((wrote.status, wrote.residual), (0, (2, 1536)));
    // Only what the command names was written.
    let read = session.ask(0, &ten(READ, 0, 0, 2), 1024);
    assert_eq!(read.data, [[7; 512], [0; 512]].concat());
}

/// Sense key, code and qualifier as SBC-4 and SPC-5 have them.
#[test]
fn wrong_commands_get_the_sense_of_the_standard() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    let capacity = session.ask(0, &ten(0x25, 0, 0, 0), 8).data;
    let last = u32::from_be_bytes(capacity[..4].try_into().unwrap());
    for (cdb, sense) in [
        // LOGICAL BLOCK ADDRESS OUT OF RANGE.
        (ten(READ, 0, last, 2), (5, 0x21, 0)),
        (ten(WRITE, 0, last + 1, 0), (5, 0x21, 0)),
        // Protection information, and a reserved bit: INVALID FIELD IN CDB.
        (ten(READ, 0x20, 0, 1), (5, 0x24, 0)),
        (ten(READ, 0x04, 0, 1), (5, 0x24, 0)),
        // BYTCHK 10b is reserved.
        (ten(0x2f, 0x04, 0, 1), (5, 0x24, 0)),
        // WRITE SAME without blocks, with UNMAP.
        (ten(0x41, 0, 0, 0), (5, 0x24, 0)),
        (ten(0x41, 0x08, 0, 1), (5, 0x24, 0)),
        // UNMAP, and READ(32) without limits: INVALID COMMAND OPERATION CODE.
        (ten(0x42, 0, 0, 0), (5, 0x20, 0)),
        (ten(0x7f, 0, 0, 0), (5, 0x20, 0)),
    ] {
        let answer = session.ask(0, &cdb, 0);
        assert_eq!((answer.status, answer.sense), (2, Some(sense)), "{cdb:x?}");
    }
    // LOGICAL UNIT NOT SUPPORTED; INQUIRY tells it without an error.
    let answer = session.ask(1, &[0; 6], 0);
    assert_eq!(answer.sense, Some((5, 0x25, 0)));
    assert_eq!(session.ask(1, &[0x12, 0, 0, 0, 96, 0], 96).data[0], 0x7f);
    // So does REQUEST SENSE, in fixed format or, with DESC, in that of descriptors.
    for (desc, code, place) in [(0, 0x70, 12), (1, 0x72, 2)] {
        let sense = session.ask(1, &[0x03, desc, 0, 0, 18, 0], 18).data;
        assert_eq!((sense[0], sense[place]), (code, 0x25));
    }
    assert_eq!(session.ask(0, &ten(READ, 0, last, 1), 512).status, 0);
}

#[test]
fn verify_and_write_same_look_at_the_data() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    let block: Vec<u8> = (0..512).map(|i| i as u8).collect();
    assert_eq!(session.put(0, &ten(0x41, 0, 10, 300), &block, 0).status, 0);
    let read = session.ask(0, &ten(READ, 0, 309, 2), 1024).data;
    assert_eq!(read, [&block[..], &[0; 512]].concat());
    // BYTCHK 11b: each block against one. MISCOMPARE in the last one.
    assert_eq!(session.put(0, &ten(0x2f, 0x06, 10, 300), &block, 0).status, 0);
    let differs = session.put(0, &ten(0x2f, 0x06, 10, 301), &block, 0);
    assert_eq!(differs.sense, Some((0xe, 0x1d, 0)));
    let whole = block.repeat(3);
    assert_eq!(session.put(0, &ten(0x2f, 0x02, 20, 3), &whole, 0).status, 0);
    assert_eq!(session.put(0, &ten(0x2e, 0x02, 400, 3), &whole, 0).status, 0);
    assert_eq!(session.ask(0, &ten(READ, 0, 400, 3), 1536).data, whole);
}

/// MODE SELECT switches the write cache, another initiator is told, and a reset restores what was saved.
#[test]
fn mode_pages_can_be_changed() {
    let server = Server::start();
    let (mut one, mut other) = (server.session(1, &[]), server.session(2, &[]));
    one.settle(0);
    other.settle(0);
    let sense = |pc: u8| [0x1a, 0x08, pc << 6 | 0x08, 0, 255, 0];
    let page = one.ask(0, &sense(0), 255).data[4..].to_vec();
    assert_eq!((page[0] & 0x3f, page[1], page.len()), (8, 18, 20));
    let changeable = one.ask(0, &sense(1), 255).data[4..].to_vec();
    assert_eq!(changeable[2], page[2], "only a cache that is there can be switched off");
    let mut list = [&[0; 4][..], &page].concat();
    list[6] ^= changeable[2];
    let select = |save: u8| [0x15, 0x10 | save, 0, 0, list.len() as u8, 0];
    assert_eq!(one.put(0, &select(0), &list, 0).status, 0);
    if changeable[2] != 0 {
        let changed = one.ask(0, &sense(0), 255).data;
        assert_eq!(changed[6], page[2] ^ changeable[2]);
        assert_eq!(other.ask(0, &[0; 6], 0).sense, Some((6, 0x2a, 0x01)));
        assert_eq!(other.ask(0, &sense(0), 255).data[6], changed[6]);
    }
    // A bit that cannot be changed: INVALID FIELD IN PARAMETER LIST.
    let mut wrong = list.clone();
    wrong[7] ^= 0x80;
    assert_eq!(one.put(0, &select(0), &wrong, 0).sense, Some((5, 0x26, 0)));
}

#[test]
fn a_shelf_is_one_target_or_several() {
    let file = shelf(16);
    let options = |apart| {
        let iscsi = server::Options { apart, ..server::Options::default() };
        crate::iscsi::initiator::options(&path(&file), iscsi)
    };
    let server = Server::with(&options(false));
    assert_eq!(server.urls.len(), 16);
    let mut session = server.session(1, &[]);
    let luns = session.ask(0, &[0xa0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], 256).data;
    assert_eq!((luns.len(), luns[3]), (8 + 16 * 8, 128));
    for lun in 0..16 {
        session.settle(lun);
        let data = vec![lun + 1; 512];
        assert_eq!(session.put(lun, &ten(WRITE, 0, 5, 1), &data, 512).status, 0);
    }
    for lun in 0..16 {
        let read = session.ask(lun, &ten(READ, 0, 5, 1), 512).data;
        assert_eq!(read, vec![lun + 1; 512]);
    }
    drop(session);
    let server = Server::with(&options(true));
    let names: std::collections::BTreeSet<&str> = server.urls.iter().map(|u| &u[..]).collect();
    assert_eq!(names.len(), 16);
    assert!(names.iter().all(|url| url.ends_with("/0")));
    let mut session = server.session(1, &[]);
    let luns = session.ask(0, &[0xa0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0], 256).data;
    assert_eq!(luns.len(), 16);
}

/// A command that finds no place at the drive ends with TASK SET FULL (28h), and the others are carried out.
#[test]
fn a_full_drive_says_so() {
    let options = |window| {
        let iscsi = server::Options { window, ..server::Options::default() };
        let mut options = crate::iscsi::initiator::options("exos-x18", iscsi);
        // Far slower than the commands arrive.
        options.live.speed = 0.05;
        options
    };
    let server = Server::with(&options(None));
    let mut sessions: Vec<_> = (1..=3).map(|isid| server.session(isid, &[])).collect();
    sessions.iter_mut().for_each(|s| s.settle(0));
    // The drive has 32 tags. Three sessions may send 32 commands each.
    for (n, session) in sessions.iter_mut().enumerate() {
        for i in 0..20u32 {
            let place = 7_000_000 * (i + 20 * n as u32);
            let unit = session.command_header(0, 0xc1, &ten(READ, 0, place, 1), 512);
            session.send(&unit, &[]);
        }
    }
    let mut ends = Vec::new();
    for session in &mut sessions {
        for _ in 0..20 {
            let unit = session.next().unwrap();
            ends.push(unit.header[3]);
        }
    }
    let full = ends.iter().filter(|status| **status == 0x28).count();
    let good = ends.iter().filter(|status| **status == 0).count();
    assert_eq!(full + good, 60);
    assert!(good >= 32 && full > 0, "{good} good, {full} full");
}
