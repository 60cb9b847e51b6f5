//! Faults on purpose as a SCSI drive tells them, and commands that are aborted.

use crate::iscsi::initiator::{header, options, ten, Initiator, Server, Unit};
use headstack_block::layer::{Bad, Busy, Fails, FaultSetting, Setting, Stuck, Weak};
use headstack_target::iscsi::server;
use headstack_units::Span;

const READ: u8 = 0x28;
const WRITE: u8 = 0x2a;

fn set(server: &Server, setting: Setting) {
    let done = server.handle.ask(move |live| live.set_fault(&[], setting));
    done.unwrap().unwrap();
}

/// MODE SELECT of one page with these bytes changed.
fn select(session: &mut Initiator, page: u8, changes: &[(usize, u8)]) -> Option<(u8, u8, u8)> {
    let got = session.ask(0, &[0x1a, 0x08, page, 0, 255, 0], 255).data;
    let mut list = [&[0; 4][..], &got[4..]].concat();
    changes.iter().for_each(|(at, value)| list[4 + at] = *value);
    let cdb = [0x15, 0x10, 0, 0, list.len() as u8, 0];
    session.put(0, &cdb, &list, 0).sense
}

/// Parameter `code` of a log page.
fn logged(session: &mut Initiator, page: u8, code: u16) -> u64 {
    let data = session.ask(0, &[0x4d, 0, 0x40 | page, 0, 0, 0, 0, 1, 0, 0], 256).data;
    let mut at = 4;
    while at + 4 <= data.len() {
        let length = usize::from(data[at + 3]);
        if u16::from_be_bytes([data[at], data[at + 1]]) == code {
            let value = &data[at + 4..at + 4 + length];
            return value.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
        }
        at += 4 + length;
    }
    panic!("page {page:x}h has no parameter {code}");
}

/// Of a write that fails nothing is to be read by others.
#[test]
fn a_refused_write_changes_nothing() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    let (old, new) = (vec![1; 16 * 512], vec![2; 16 * 512]);
    assert_eq!(session.put(0, &ten(WRITE, 0, 1000, 16), &old, 0).status, 0);
    let bad = Setting::Fault(FaultSetting::Bad(Bad { unit: 0, block: 1009, blocks: 1, fails: Fails::Writes }));
    for (fault, key) in [(bad, 3), (Setting::Fault(FaultSetting::Gone(true)), 2)] {
        set(&server, fault);
        // WRITE, WRITE AND VERIFY, WRITE SAME.
        for (opcode, data) in [(WRITE, &new[..]), (0x2e, &new), (0x41, &new[..512])] {
            let answer = session.put(0, &ten(opcode, 0, 1000, 16), data, 0);
            assert_eq!(answer.sense.map(|s| s.0), Some(key), "{opcode:x}h");
        }
        set(&server, Setting::Fault(FaultSetting::Gone(false)));
        let seen = session.ask(0, &ten(READ, 0, 1000, 16), 16 * 512);
        assert!(seen.data == old);
    }
}

/// SBC-4: a block that is read after retries is good; RECOVERED DATA WITH RETRIES with its address if PER is set. It is
/// counted, takes its time, and is well once it was written.
#[test]
fn recovered_errors_take_their_time() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    let timed = |session: &mut Initiator| {
        let before = server.handle.ask(|live| live.counters.devices[0].reads.time_ns).unwrap();
        let answer = session.ask(0, &ten(READ, 0, 1000, 8), 8 * 512);
        let after = server.handle.ask(|live| live.counters.devices[0].reads.time_ns).unwrap();
        (answer, after - before)
    };
    let takes = Span(700_000_000);
    set(&server, Setting::Fault(FaultSetting::Weak(Weak { unit: 0, block: 1003, blocks: 2, takes })));
    let (answer, time) = timed(&mut session);
    assert_eq!((answer.status, answer.data.len()), (0, 8 * 512));
    // At most some tens of ms besides.
    assert!((700_000_000..800_000_000).contains(&time), "{time} ns");
    assert_eq!(logged(&mut session, 0x03, 3), 1);
    assert_eq!(select(&mut session, 0x01, &[(2, 0x84)]), None);
    let unit = session.command_header(0, 0xc1, &ten(READ, 0, 1000, 8), 8 * 512);
    session.send(&unit, &[]);
    let said = session.next().unwrap();
    let sense = &said.data[2..];
    assert_eq!((said.header[3], sense[0], sense[2], sense[12], sense[13]), (2, 0xf0, 1, 0x17, 1));
    assert_eq!(sense[3..7], 1003u32.to_be_bytes());
    assert_eq!(session.put(0, &ten(WRITE, 0, 1000, 8), &[9; 8 * 512], 0).status, 0);
    let (answer, time) = timed(&mut session);
    assert_eq!((answer.sense, answer.data), (None, vec![9; 8 * 512]));
    assert!(time < 700_000_000, "{time} ns");
    assert_eq!(logged(&mut session, 0x03, 3), 2);
}

/// BUSY (08h) to what needs the drive, for as long as the fault lasts; INQUIRY is answered.
#[test]
fn a_busy_drive_says_so() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    set(&server, Setting::Fault(FaultSetting::Busy(Busy { lasts: Span(3_600_000_000_000) })));
    assert_eq!(session.ask(0, &ten(READ, 0, 0, 1), 512).status, 0x08);
    assert_eq!(session.put(0, &ten(WRITE, 0, 0, 1), &[1; 512], 512).status, 0x08);
    assert_eq!(session.ask(0, &[0; 6], 0).status, 0x08);
    assert_eq!(session.ask(0, &[0x12, 0, 0, 0, 96, 0], 96).status, 0);
    set(&server, Setting::Fault(FaultSetting::Busy(Busy { lasts: Span::ZERO })));
    assert_eq!(session.ask(0, &ten(READ, 0, 0, 1), 512).data, [0; 512], "nothing was written");
}

/// SPC-5: FAILURE PREDICTION THRESHOLD EXCEEDED on request, in the log, and as a unit attention if MRIE is 2.
#[test]
fn a_failure_is_predicted() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    session.settle(0);
    let request = [0x03, 0, 0, 0, 18, 0];
    assert_eq!(session.ask(0, &request, 18).data[12], 0);
    set(&server, Setting::Fault(FaultSetting::PredictsFailure(true)));
    assert_eq!(session.ask(0, &ten(READ, 0, 0, 1), 512).status, 0, "told to nobody by default");
    let sense = session.ask(0, &request, 18).data;
    assert_eq!((sense[2], sense[12], sense[13]), (0, 0x5d, 0));
    assert_eq!(logged(&mut session, 0x2f, 0) >> 8, 0x5d00);
    assert_eq!(session.ask(0, &[0x1d, 4, 0, 0, 0, 0], 0).sense, Some((4, 0x3e, 0x03)));
    set(&server, Setting::Fault(FaultSetting::PredictsFailure(false)));
    assert_eq!(session.ask(0, &ten(READ, 0, 0, 1), 512).status, 0);
    assert_eq!(session.ask(0, &request, 18).data[12], 0);
    // MRIE 3 is none of those that there are.
    assert_eq!(select(&mut session, 0x1c, &[(3, 3)]), Some((5, 0x26, 0)));
    assert_eq!(select(&mut session, 0x1c, &[(3, 2)]), None);
    set(&server, Setting::Fault(FaultSetting::PredictsFailure(true)));
    // What changes in the drive is seen with the next command, which may pass.
    let ends: Vec<_> = (0..2).map(|_| session.ask(0, &ten(READ, 0, 0, 1), 512).sense).collect();
    assert!(ends.contains(&Some((6, 0x5d, 0))), "{ends:?}");
}

/// The drive's places are the unit's: a depth of 2 that is set while it runs leaves two commands of twenty.
#[test]
fn places_follow_the_depth_of_the_drive() {
    let mut slow = options("exos-x18", server::Options::default());
    slow.live.speed = 0.02;
    let server = Server::with(&slow);
    let mut session = server.session(1, &[]);
    session.settle(0);
    let change = |depth| {
        let setting = Setting::Drive(headstack_drive::Setting::QueueDepth(depth));
        let done = server.handle.ask(move |live| live.set(&[0, 0], setting));
        done.unwrap().unwrap();
    };
    change(2);
    let ends = flood(&mut session, 20);
    let full = ends.iter().filter(|unit| unit.header[3] == 0x28).count();
    assert!((15..=18).contains(&full), "{full} of 20 found no place among two");
    change(32);
    let ends = flood(&mut session, 20);
    assert!(ends.iter().all(|unit| unit.header[3] == 0));
}

/// Sends reads all over the disk at once; how they end.
fn flood(session: &mut Initiator, n: u32) -> Vec<Unit> {
    for i in 0..n {
        let read = ten(READ, 0, 7_000_000 * (i + 1), 1);
        let unit = session.command_header(0, 0xc1, &read, 512);
        session.send(&unit, &[]);
    }
    (0..n).map(|_| session.next().unwrap()).collect()
}

/// ABORT TASK of what waits in the drive, and of what a drive has that hangs: no answer comes, the place is free, and the
/// drive does not do it any more.
#[test]
fn an_aborted_command_leaves_the_drive() {
    let mut slow = options("exos-x18", server::Options::default());
    slow.live.speed = 0.01;
    let server = Server::with(&slow);
    let mut session = server.session(1, &[]);
    session.settle(0);
    for hangs in [false, true] {
        if hangs {
            set(&server, Setting::Fault(FaultSetting::Stuck(Some(Stuck { lasts: Span(3_600_000_000_000) }))));
        }
        let mut tags = Vec::new();
        for i in 0..16u32 {
            let read = ten(READ, 0, 7_000_000 * (i + 1), 1);
            let unit = session.command_header(0, 0xc1, &read, 512);
            session.send(&unit, &[]);
            tags.push(session.itt);
        }
        for tag in &tags {
            abort(&mut session, *tag);
        }
        // Of what waited nothing is left; one or two commands were in service. With a drive that hangs, nothing at all.
        let most = if hangs { 0 } else { 2 };
        let left = server.outstanding();
        assert!(left <= most, "{left} commands are left, hangs: {hangs}");
        if hangs {
            set(&server, Setting::Fault(FaultSetting::Stuck(Some(Stuck { lasts: Span::ZERO }))));
        }
        server.until_outstanding(0);
        let read = session.ask(0, &ten(READ, 0, 5, 1), 512);
        assert_eq!((read.status, read.data.len()), (0, 512));
    }
}

/// ABORT TASK of a command, answered with "function complete" or, if it has ended meanwhile, "no such task"; the answers of
/// commands that ended before are left out.
fn abort(session: &mut Initiator, tag: u32) {
    session.itt += 1;
    let mut unit = header(0x42, 0x81, 0, session.itt);
    unit[20..24].copy_from_slice(&tag.to_be_bytes());
    unit[24..28].copy_from_slice(&session.cmd_sn.to_be_bytes());
    session.send(&unit, &[]);
    loop {
        let answer = session.next().unwrap();
        if answer.opcode() == 0x22 {
            assert!(answer.header[2] <= 1, "response {}", answer.header[2]);
            return;
        }
    }
}
