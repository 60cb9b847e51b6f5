//! Heads that are removed while the drive works, and taken back: capacity, sense data, health, time.

use crate::iscsi::initiator::{options, sixteen, ten, Initiator, Server};
use headstack_block::layer::{Bad, Fails, FailureSetting, FaultSetting, Setting};
use headstack_target::iscsi::server;
use headstack_target::power::{Afterwards, PowerLosses};

/// 8 surfaces of 776 tracks of 33 sectors, 3,575 revolutions a minute, skews of .012 and .477 turns.
const DRIVE: &str = "conner-cp3100";
const SURFACE: u64 = 776 * 33;
const READ: u8 = 0x28;
const WRITE: u8 = 0x2a;
const TRUNCATE: u8 = 0x18;
const RESTORE: u8 = 0x19;

fn served(losses: PowerLosses) -> Server {
    let mut options = options(DRIVE, server::Options::default());
    options.live.losses = losses;
    Server::with(&options)
}

fn set(server: &Server, setting: Setting) {
    let done = server.handle.ask(move |live| live.set_fault(&[], setting));
    done.unwrap().unwrap();
}

fn sense(session: &mut Initiator, cdb: &[u8]) -> Option<(u8, u8, u8)> {
    session.ask(0, cdb, 4096).sense
}

fn ready(session: &mut Initiator) -> Option<(u8, u8, u8)> {
    sense(session, &[0; 6])
}

/// REMOVE ELEMENT AND TRUNCATE of an element, so that `blocks` are left; 0: as many as can be.
fn remove(session: &mut Initiator, element: u32, blocks: u64) -> Option<(u8, u8, u8)> {
    sense(session, &sixteen(0x9e, TRUNCATE, blocks, element, 0))
}

fn restore(session: &mut Initiator) -> Option<(u8, u8, u8)> {
    sense(session, &sixteen(0x9e, RESTORE, 0, 0, 0))
}

/// Blocks that READ CAPACITY(16) tells.
fn capacity(session: &mut Initiator) -> u64 {
    let answer = session.ask(0, &sixteen(0x9e, 0x10, 0, 32, 0), 32);
    assert_eq!(answer.status, 0);
    u64::from_be_bytes(answer.data[..8].try_into().unwrap()) + 1
}

/// Number, health and whether it can be restored of each element that is not good; the one that is being removed.
fn bad_elements(session: &mut Initiator) -> (Vec<(u32, u8, u8)>, u32) {
    let report = session.ask(0, &sixteen(0x9e, 0x17, 0, 4096, 0x40), 4096);
    assert_eq!(report.status, 0);
    let number = |at: usize| u32::from_be_bytes(report.data[at..at + 4].try_into().unwrap());
    let each = report.data[32..].chunks(32).enumerate();
    let each = each.map(|(i, d)| (number(36 + 32 * i), d[15], d[13]));
    (each.collect(), number(8))
}

/// SBC-4: the capacity falls by what the element holds, its data and all others are lost, initiators are told; then all of it
/// comes back. The time is that of one write of the medium, in closed form.
#[test]
fn a_head_is_removed_and_taken_back() {
    let server = served(PowerLosses::default());
    let (mut session, mut other) = (server.session(1, &[]), server.session(2, &[]));
    session.settle(0);
    other.settle(0);
    assert_eq!(capacity(&mut session), 8 * SURFACE);
    assert_eq!(session.put(0, &ten(WRITE, 0, 7, 1), &[9; 512], 512).status, 0);
    let now = || server.handle.ask(|live| live.now()).unwrap();
    let begin = now();
    assert_eq!(remove(&mut session, 3, 0), None);
    for session in [&mut session, &mut other] {
        assert_eq!(ready(session), Some((6, 0x2a, 0x09)), "the capacity has changed");
        assert_eq!(ready(session), None);
    }
    let seconds = (now().0 - begin.0) as f64 / 1e9;
    let turn = 60.0 / 3575.0;
    let expected = 776.0 * turn * (7.0 + 6.0 * 0.012 + 0.477);
    assert!((seconds / expected - 1.0).abs() < 2e-3, "{seconds} s, expected {expected}");
    assert_eq!(capacity(&mut session), 7 * SURFACE);
    assert_eq!(session.ask(0, &ten(READ, 0, 7, 1), 512).data, [0; 512]);
    let past = ten(READ, 0, (7 * SURFACE) as u32, 1);
    assert_eq!(sense(&mut session, &past), Some((5, 0x21, 0)));
    assert_eq!(bad_elements(&mut session), (vec![(3, 0xff, 1)], 0));
    // The last block can be written and read.
    let last = ten(WRITE, 0, (7 * SURFACE - 1) as u32, 1);
    assert_eq!(session.put(0, &last, &[5; 512], 512).status, 0);
    // It is removed already, and there are eight.
    for element in [3, 0, 9] {
        assert_eq!(remove(&mut session, element, 0), Some((5, 0x24, 0)));
    }
    // More blocks than are left, then less.
    assert_eq!(remove(&mut session, 8, 6 * SURFACE + 1), Some((5, 0x24, 0)));
    assert_eq!(remove(&mut session, 8, 1000), None);
    assert_eq!(ready(&mut session), Some((6, 0x2a, 0x09)));
    assert_eq!(capacity(&mut session), 1000);
    assert_eq!(bad_elements(&mut session).0, [(3, 0xff, 1), (8, 0xff, 1)]);
    assert_eq!(restore(&mut session), None);
    assert_eq!(ready(&mut session), Some((6, 0x2a, 0x09)));
    assert_eq!(capacity(&mut session), 8 * SURFACE);
    assert_eq!(bad_elements(&mut session), (vec![], 0));
    assert_eq!(session.ask(0, &ten(READ, 0, 7 * SURFACE as u32 - 1, 1), 512).data, [0; 512]);
}

/// While the drive writes itself anew it takes hardly any commands, and says how far it is.
#[test]
fn a_drive_that_removes_a_head_is_away() {
    let server = served(PowerLosses::default());
    let mut session = server.session(1, &[]);
    session.settle(0);
    let away = Some((2, 0x04, 0x24));
    // It hangs in the middle of it.
    set(&server, Setting::Fault(FaultSetting::Stuck(None)));
    assert_eq!(remove(&mut session, 2, 0), None);
    assert_eq!(ready(&mut session), away);
    assert_eq!(sense(&mut session, &ten(READ, 0, 0, 1)), away);
    assert_eq!(sense(&mut session, &sixteen(0x9e, 0x10, 0, 32, 0)), away);
    assert_eq!(remove(&mut session, 4, 0), away);
    assert_eq!(restore(&mut session), away);
    assert_eq!(sense(&mut session, &[0x12, 0, 0, 0, 96, 0]), None, "INQUIRY");
    assert_eq!(bad_elements(&mut session), (vec![(2, 0xfe, 0)], 2));
    let told = session.ask(0, &[0x03, 0, 0, 0, 18, 0], 18).data;
    assert_eq!((told[2], told[12], told[13]), (2, 0x04, 0x24));
    assert_eq!(told[15..], [0x80, 0, 0], "nothing is written yet");
    // Over any front end.
    let refused = server.handle.ask(|live| live.remake(0, &[4].into(), None).is_err());
    assert!(refused.unwrap());
    set(&server, Setting::Fault(FaultSetting::Gone(false)));
    assert_eq!(ready(&mut session), Some((6, 0x2a, 0x09)));
    set(&server, Setting::Fault(FaultSetting::Stuck(None)));
    assert_eq!(restore(&mut session), None);
    assert_eq!(ready(&mut session), Some((2, 0x04, 0x25)));
    assert_eq!(bad_elements(&mut session).0, [(2, 0xfc, 0)]);
    set(&server, Setting::Fault(FaultSetting::Gone(false)));
    assert_eq!(ready(&mut session), Some((6, 0x2a, 0x09)));
    assert_eq!(capacity(&mut session), 8 * SURFACE);
}

/// A write that fails, then a loss of power: the removal fails, and may be asked for again.
#[test]
fn a_removal_may_fail() {
    let losses = PowerLosses { is_possible: true, afterwards: Afterwards::Continue, ..PowerLosses::default() };
    let server = served(losses);
    let mut session = server.session(1, &[]);
    session.settle(0);
    let bad = |fails| Setting::Fault(FaultSetting::Bad(Bad { unit: 0, block: 5000, blocks: 1, fails }));
    set(&server, bad(Fails::Writes));
    assert_eq!(remove(&mut session, 1, 0), None);
    assert_eq!(ready(&mut session), Some((3, 0x31, 0x04)));
    assert_eq!(sense(&mut session, &ten(READ, 0, 0, 1)), Some((3, 0x31, 0x04)));
    assert_eq!(bad_elements(&mut session).0, [(1, 0xfd, 1)]);
    // The same failure on the way back.
    assert_eq!(restore(&mut session), None);
    assert_eq!(ready(&mut session), Some((3, 0x31, 0x05)));
    assert_eq!(bad_elements(&mut session).0, [(1, 0xfb, 0)]);
    set(&server, bad(Fails::None));
    set(&server, Setting::Fault(FaultSetting::Stuck(None)));
    assert_eq!(remove(&mut session, 1, 0), None);
    server.handle.ask(|live| live.lose_power()).unwrap().unwrap();
    assert_eq!(ready(&mut session), Some((3, 0x31, 0x04)));
    set(&server, Setting::Fault(FaultSetting::Gone(false)));
    assert_eq!(remove(&mut session, 1, 0), None);
    assert_eq!(ready(&mut session), Some((6, 0x2a, 0x09)));
    assert_eq!(capacity(&mut session), 7 * SURFACE);
    // The smaller drive survives a loss of power.
    server.handle.ask(|live| live.lose_power()).unwrap().unwrap();
    assert_eq!(capacity(&mut session), 7 * SURFACE);
    assert_eq!(bad_elements(&mut session).0, [(1, 0xff, 1)]);
}

/// Other heads that have failed stay so, under their numbers; what the drive was set to stays; energy only grows.
#[test]
fn the_rest_of_the_drive_stays() {
    let server = served(PowerLosses::default());
    let mut session = server.session(1, &[]);
    session.settle(0);
    let fail = |surface| {
        let part = headstack_drive::Failure { stack: 0, arm: 0, surface: Some(surface), warning: true };
        let failed = move |live: &mut headstack_target::live::Live| {
            live.set(&[0, 0], Setting::Failure(FailureSetting::Part(part)))
        };
        server.handle.ask(failed).unwrap().unwrap();
    };
    fail(1);
    assert_eq!(bad_elements(&mut session).0, [(2, 0xcf, 0)]);
    let joules = || server.handle.ask(|live| live.joules()[0]).unwrap();
    let before = joules();
    assert_eq!(remove(&mut session, 2, 0), None);
    assert_eq!(ready(&mut session), Some((6, 0x2a, 0x09)));
    assert_eq!(bad_elements(&mut session).0, [(2, 0xff, 1)]);
    // All heads of the smaller drive can be read: 98 s at 7 W and more.
    assert_eq!(sense(&mut session, &ten(READ, 0, 33, 1)), None);
    let after = joules();
    assert!(after - before > 98.0 * 7.0 && after - before < 98.0 * 14.0, "{before} {after}");
    // Head 5 of the whole drive is now number 4.
    fail(4);
    assert_eq!(bad_elements(&mut session).0, [(2, 0xff, 1), (6, 0xcf, 0)]);
    assert_eq!(restore(&mut session), None);
    // The failed heads are back, so the drive cannot write itself anew.
    assert_eq!(ready(&mut session), Some((3, 0x31, 0x05)));
    assert_eq!(bad_elements(&mut session).0, [(2, 0xfb, 0), (6, 0xcf, 0)]);
}
