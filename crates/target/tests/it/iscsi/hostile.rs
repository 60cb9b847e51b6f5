//! Initiators that break the protocol, stop in the middle or vanish: others are served.

use crate::iscsi::initiator::{header, login, options, path, ten, unit, units, Server, SMALL};
use headstack_target::clients::{Connection as _, Work, WORK_BYTES};
use headstack_target::iscsi::connection::{Connection, Shared};
use headstack_target::iscsi::fuzzing::{converse, shelf, OTHER_TARGET, TARGET};
use headstack_target::iscsi::login::Admission;
use headstack_target::iscsi::server;
use headstack_target::live::Live;
use headstack_testkit::damage::{self, damage, damage_record};
use headstack_testkit::{cases, Takes, XorShift};
use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Opcode, flags, length of headers and data, LUN, tag, length or other tag, numbers, descriptor block or offset.
const FIELDS: [Range<usize>; 13] =
    [0..1, 1..2, 4..5, 5..8, 8..16, 16..20, 20..24, 24..28, 28..32, 32..33, 33..48, 40..44, 44..48];

fn live() -> Live {
    let options = options(SMALL, server::Options::default());
    Live::open(&options.live).unwrap()
}

/// Two drives, each of which is a target.
fn two() -> Live {
    let file = crate::iscsi::initiator::shelf(2);
    let options = options(&path(&file), server::Options::default());
    Live::open(&options.live).unwrap()
}

/// What an answer has but for the numbers that depend on the order in which commands end.
fn content(answer: &[u8]) -> Vec<Vec<u8>> {
    let starts = units(answer);
    let unit = |w: &[usize]| [&answer[w[0]..w[0] + 24], &answer[w[0] + 48..w[1]]].concat();
    let mut all: Vec<Vec<u8>> = starts.windows(2).map(unit).collect();
    all.sort_unstable();
    all
}

/// The operation codes of the units of an answer, sorted: commands may end in another order than they were sent.
fn opcodes(answer: &[u8]) -> Vec<u8> {
    let starts = units(answer);
    assert_eq!(starts.last(), Some(&answer.len()));
    let mut all: Vec<u8> = starts.windows(2).map(|w| answer[w[0]] & 0x3f).collect();
    all.sort_unstable();
    all
}

/// What each session of the corpus is answered with.
#[test]
fn the_corpus_is_understood() {
    let mut live = live();
    let found: Vec<(String, Vec<u8>)> = (damage::corpus("iscsi_session").into_iter())
        .map(|(name, bytes)| {
            let mut shelf = shelf(&mut live);
            let admission = Admission::default();
            let said = converse(&[&bytes], 1 << 16, &admission, &mut shelf, &mut live).unwrap();
            (name, opcodes(&said[0]))
        })
        .collect();
    let found: Vec<(&str, &[u8])> = found.iter().map(|(n, c)| (&n[..], &c[..])).collect();
    assert_eq!(
        found,
        [
            // A login and the list of targets, then a logout.
            ("discovery", &[0x23, 0x24, 0x26][..]),
            // A unit that says it is longer than any may be.
            ("long-unit", &[0x23]),
            // A login, then: an attention, a read, a write with and without R2T, mode pages, a flush.
            ("session", &[0x21, 0x21, 0x21, 0x21, 0x23, 0x25, 0x25, 0x31]),
            // An attention; then data that nobody has asked for end the session with a reject.
            ("unasked-data", &[0x21, 0x23, 0x31, 0x3f]),
        ]
    );
}

/// Each session with and without damage, without sockets: nothing panics, no room for data and no command is lost, and an
/// initiator of another target gets at the same time what it gets when it is alone. In a thorough run these are a million sessions.
#[test]
fn the_corpus_does_no_harm() {
    let mut live = two();
    let admission = Admission::default();
    let seed = 67;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    let rounds = match cases(1) {
        1 => 2000,
        _ => 1_000_000 / damage::corpus("iscsi_session").len() as u64 + 1,
    };
    let good = damage::corpus("iscsi_session").into_iter().find(|(name, _)| name == "session");
    let good = replaced(&good.unwrap().1, TARGET.as_bytes(), OTHER_TARGET.as_bytes());
    let mut alone = Vec::new();
    // The first session sets what the second one finds.
    for _ in 0..2 {
        let mut shelf = shelf(&mut live);
        alone = converse(&[&[], &good], 1 << 16, &admission, &mut shelf, &mut live).unwrap();
    }
    let expected = content(&alone[1]);
    assert!(expected.len() >= 8, "a session that does something");
    for (name, whole) in damage::corpus("iscsi_session") {
        let mut shelf = shelf(&mut live);
        for round in 0..rounds {
            let mut bytes = whole.clone();
            match round % 3 {
                _ if round == 0 => {}
                0 => damage(&mut bytes, 48, &[], &mut rng),
                _ => (0..1 + rng.below(3)).for_each(|_| {
                    let starts = units(&bytes);
                    damage_record(&mut bytes, &starts, &FIELDS, &mut rng);
                }),
            }
            let piece = [1 << 16, 1000, 7][rng.below(3) as usize];
            let both = [&bytes[..], &good[..]];
            let talking = if round % 8 == 0 { &both[..] } else { &both[..1] };
            let said = converse(talking, piece, &admission, &mut shelf, &mut live).unwrap();
            if let Some(said) = said.get(1) {
                assert!(content(said) == expected, "seed {seed}, {name}, round {round}");
            }
            assert_eq!((shelf.room.bytes(), shelf.outstanding()), (0, 0), "seed {seed}, {name}, round {round}");
        }
    }
}

/// The bytes with each `old` replaced by `new`, which is as long.
fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut made = bytes.to_vec();
    for at in 0..made.len().saturating_sub(old.len()) {
        if made[at..].starts_with(old) {
            made[at..at + new.len()].copy_from_slice(new);
        }
    }
    assert_ne!(made, bytes);
    made
}

/// Descriptor blocks at random, most of them of commands that exist.
#[test]
fn any_descriptor_block_is_answered() {
    let server = Server::start();
    let mut session = server.session(1, &[]);
    let seed = 71;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    for _ in 0..cases(3000) {
        let mut cdb: Vec<u8> = (0..16).map(|_| rng.below(256) as u8 & rng.below(256) as u8).collect();
        if rng.below(4) > 0 {
            let known = [
                0x00, 0x03, 0x08, 0x0a, 0x12, 0x15, 0x1a, 0x1b, 0x25, 0x28, 0x2a, 0x2e, 0x2f, 0x34, 0x35, 0x41, 0x4d,
                0x55, 0x5a, 0x5e, 0x5f, 0x88, 0x8a, 0x8f, 0x93, 0x9e, 0xa0, 0xa3,
            ];
            cdb[0] = known[rng.below(known.len() as u64) as usize];
            cdb[1..].iter_mut().for_each(|b| *b &= [0, 0xff, 0x0f][rng.below(3) as usize]);
        }
        let lun = rng.below(2) as u8;
        if rng.below(2) == 0 {
            let data = vec![rng.below(256) as u8; rng.below(3000) as usize];
            let immediate = data.len().min(rng.below(2000) as usize);
            session.put(lun, &cdb, &data, immediate);
        } else {
            session.ask(lun, &cdb, rng.below(70_000) as u32);
        }
    }
    let mut other = server.session(2, &[]);
    other.settle(0);
}

#[test]
fn initiators_that_vanish_change_nothing() {
    let server = Server::start();
    let mut good = server.session(1, &[]);
    good.settle(0);
    assert_eq!(good.put(0, &ten(0x2a, 0, 0, 1), &[5; 512], 512).status, 0);
    for (_, whole) in damage::corpus("iscsi_session") {
        for length in (0..whole.len()).step_by(5) {
            let mut bad = server.connect();
            bad.write_all(&whole[..length]).unwrap();
        }
    }
    // One that asks for a long write and never sends it, and one that sends commands past its window.
    let mut silent = server.session(8, &[]);
    silent.settle(0);
    let unit = silent.command_header(0, 0xa1, &ten(0x2a, 0, 0, 60_000), 60_000 * 512);
    silent.send(&unit, &[]);
    assert_eq!(silent.next().unwrap().opcode(), 0x31);
    let mut rude = server.session(9, &[]);
    rude.settle(0);
    rude.cmd_sn += 100_000;
    let unit = rude.command_header(0, 0xc1, &[0; 6], 0);
    rude.send(&unit, &[]);
    // It is ignored: a ping is answered next.
    let mut ping = header(0x40, 0x80, 0, 77);
    ping[20..24].fill(0xff);
    rude.send(&ping, &[]);
    assert_eq!(rude.next().unwrap().u32(16), 77);
    assert_eq!(good.ask(0, &ten(0x28, 0, 0, 1), 512).data, [5; 512]);
}

/// 999 pings of an initiator that takes few of the answers, or all: beyond its share one answer is held, and none is lost.
#[test]
fn what_is_not_taken_has_a_bound() {
    const SHARE: usize = 100_000;
    let (mut live, admission) = (live(), Admission::default());
    let mut shelf = shelf(&mut live);
    let mut connection = Connection::new(1, "127.0.0.1:3260".into());
    let ping = unit(0x40, 0x80, &[1; 3000], &[(20, u32::MAX), (24, 100)]);
    let all = [login(0x87, "SessionType=Discovery"), ping.repeat(999)].concat();
    let (mut rest, mut buffer, mut most) = (&all[..], vec![0; 1 << 16], 0);
    let mut socket = Takes(0, Vec::new());
    for takes in [0, 1, 50_000, 500_000, usize::MAX] {
        socket.0 = takes;
        for _ in 0..200 {
            let room = connection.room().min(rest.len()).min(buffer.len());
            if room > 0 && connection.untaken() < SHARE {
                (connection.receive(&mut rest, &mut buffer[..room])).unwrap();
            }
            let mut shared = Shared { shelf: &mut shelf, admission: &admission, most_places: 8, share: SHARE };
            let mut work = Work::of(WORK_BYTES);
            connection.step(&mut shared, &mut live, &mut work);
            most = most.max(connection.untaken());
            connection.send(&mut socket, &mut live, SHARE, &mut work).unwrap();
        }
        assert!(takes > 50_000 || most >= SHARE, "got {most} bytes");
    }
    // A reply that waits has 100 or 200 bytes besides those of its unit.
    assert!(most < SHARE + 3000 + 256, "got {most} bytes");
    assert_eq!(opcodes(&socket.1), [vec![0x20; 999], vec![0x23]].concat());
}

/// Four sessions ask for as many long writes as they may, and send some bytes again and again: a fifth one writes.
#[test]
fn slow_writes_do_not_hold_the_room_of_others() {
    let server = Server::start();
    let mut slow: Vec<_> = (1..5).map(|i| server.session(i, &[])).collect();
    for session in &mut slow {
        session.settle(0);
        for _ in 0..16 {
            let unit = session.command_header(0, 0xa1, &ten(0x2a, 0, 0, 65_535), 65_535 * 512);
            session.send(&unit, &[]);
        }
        assert_eq!(session.next().unwrap().opcode(), 0x31);
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0.. {
                for session in &mut slow {
                    let place = [(16, 2), (20, 1), (36, i), (40, 4 * i)];
                    let _ = session.stream.write_all(&unit(0x05, 0, &[5; 4], &place));
                }
                if is_over.load(Ordering::Relaxed) || i == 5000 {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let mut good = server.session(5, &[]);
        good.settle(0);
        // 20 MB are more than its share, which is a fifth of 32 MiB.
        for blocks in [8, 8, 40_000, 8] {
            let data = vec![7; usize::from(blocks) * 512];
            assert_eq!(good.put(0, &ten(0x2a, 0, 0, blocks), &data, 0).status, 0);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
