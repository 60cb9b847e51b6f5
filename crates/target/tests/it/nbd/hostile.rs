//! Clients that break the protocol, stop in the middle or vanish: others are served.

use crate::nbd::client::{folder, option, options, request, Server, READ, WRITE};
use crate::nbd::tls::certificates;
use headstack_target::clients::{Connection as _, Work, WORK_BYTES};
use headstack_target::live::Live;
use headstack_target::nbd::connection::Connection;
use headstack_target::nbd::fuzzing::converse;
use headstack_target::nbd::tls::{Mode, Tls, TlsOptions};
use headstack_testkit::damage::{self, damage};
use headstack_testkit::{cases, Takes, XorShift};
use std::io::{self, Write};

const SMALL: &str = "ibm-18es";

/// A whole session: flags, structured replies or extended headers, use of the default export, a write, a read, extents, a
/// flush.
fn session(name: &str) -> Vec<u8> {
    let all = damage::corpus("nbd_session");
    let (_, bytes) = all.iter().find(|(of, _)| of == name).unwrap();
    bytes.clone()
}

/// Each session with and without damage, without sockets: nothing panics, and encryption cannot be gone around. In a
/// thorough run these are a million sessions.
#[test]
fn the_corpus_does_no_harm() {
    let folder = folder();
    let mut live = Live::open(&options(&folder, SMALL, 0.0).live).unwrap();
    let certificates = certificates();
    let tls = |mode| {
        let certificates = Some(certificates.as_ref()?.path().into());
        let options = TlsOptions { mode: Some(mode), certificates, verify_peer: false };
        Some(Tls::open(&options).unwrap())
    };
    let modes = [Some(Tls::default()), tls(Mode::On), tls(Mode::Require)];
    let seed = 61;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    // Flags and STARTTLS, after which a packet is that of the other layer.
    let starttls = b"\0\0\0\x03IHAVEOPT\0\0\0\x05\0\0\0\0";
    // Each round is six sessions: three modes, twice.
    let rounds = match cases(1) {
        1 => 100,
        _ => 1_000_000 / (6 * damage::corpus("nbd_session").len() as u64) + 1,
    };
    for (name, whole) in damage::corpus("nbd_session") {
        for round in 0..rounds {
            let mut bytes = whole.clone();
            if round > 0 {
                damage(&mut bytes, 30, &[], &mut rng);
            }
            let piece = [1 << 16, 1000, 7][rng.below(3) as usize];
            for tls in modes.iter().flatten() {
                let plain = converse(&[&bytes], piece, tls, &mut live);
                let secret = converse(&[starttls, &bytes], piece, tls, &mut live);
                // Nothing in plain text gets to the drive where encryption is required, or has begun.
                let requests = |done: io::Result<(u64, u64)>| done.map_or(0, |(n, _)| n);
                if tls.mode == Mode::Require {
                    assert_eq!(requests(plain), 0, "{name}, round {round}");
                }
                if tls.mode != Mode::Off {
                    assert_eq!(requests(secret), 0, "{name}, round {round}");
                }
            }
        }
    }
}

/// What each session of the corpus gets to the drive.
#[test]
fn the_corpus_is_understood() {
    let folder = folder();
    let mut live = Live::open(&options(&folder, SMALL, 0.0).live).unwrap();
    let found: Vec<(String, u64)> = (damage::corpus("nbd_session").into_iter())
        .map(|(name, bytes)| {
            let done = converse(&[&bytes], 1 << 16, &Tls::default(), &mut live);
            (name, done.unwrap().0)
        })
        .collect();
    let found: Vec<(&str, u64)> = found.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(
        found,
        [
            ("beyond-the-end", 0),
            ("client-hello", 0),
            ("export-name", 1),
            // A write, a read, zeroes, a flush; neither a read with data nor what lies beyond the end.
            ("extended", 4),
            // Two reads, a write, zeroes; neither zeroes that must be quick nor a flag that nobody knows.
            ("flags", 4),
            ("haggling", 0),
            ("long-option", 0),
            ("long-write", 0),
            // A write, a read, zeroes, a read ahead, a flush; a trim is none for the drive.
            ("plain", 5),
            ("starttls", 0),
            // Encryption is off.
            ("starttls-together", 0),
            ("structured", 3),
        ]
    );
}

/// Bytes that a client that sends these gets after the greeting of 18.
fn answered(live: &mut Live, bytes: &[u8]) -> u64 {
    let all = [&[0, 0, 0, 3], bytes].concat();
    // In pieces that end 64 KiB after the flags, too.
    converse(&[&all], 4, &Tls::default(), live).unwrap().1 - 18
}

/// Options of any length, of which 64 KiB are the longest that is looked at, and what an option can ask for: each fact once.
#[test]
fn options_have_answers_with_a_bound() {
    let folder = folder();
    let mut live = Live::open(&options(&folder, SMALL, 0.0).live).unwrap();
    for length in (65_500..65_560).chain([0, 1 << 17]) {
        let (unknown, list) = (option(99, &vec![0; length]), option(3, b""));
        // The refusal, and the list of one drive: its name with its length, its description, and the end of the list.
        let text = live.devices()[0].name.len() + live.devices()[0].description.len();
        let bytes = 20 + (24 + text) + 20;
        let found = answered(&mut live, &[unknown, list].concat());
        assert_eq!(found, bytes as u64, "{length} bytes");
    }
    // The description (2), 30,000 times; the size, the sizes of blocks and the end are told anyway.
    let asked = [&[0, 0, 0, 0, 0x75, 0x30], &[0, 2].repeat(30_000)[..]].concat();
    let text = live.devices()[0].description.len();
    let each = (20 + 12) + (20 + 14) + (20 + 2 + text) + 20;
    let found = answered(&mut live, &option(6, &asked).repeat(60));
    assert_eq!(found, 60 * each as u64);
}

/// What a client sends behind its choice of an export, in one packet: no more than its share is taken, from the first turn on.
#[test]
fn a_share_holds_from_the_first_request_on() {
    let folder = folder();
    let mut live = Live::open(&options(&folder, SMALL, 0.0).live).unwrap();
    let go = [&[0, 0, 0, 3], &option(7, &[0; 6])[..]].concat();
    let of = |command, length| request(0, command, 0, 0, length);
    for (sent, requests, file) in [(of(READ, 4096).repeat(1000), 10, 0), (of(WRITE, 1 << 20), 0, 1 << 20)] {
        let mut connection = Connection::new(&Tls::default());
        let all = [&go[..], &sent].concat();
        let (mut rest, mut buffer, mut taken) = (&all[..], vec![0; 1 << 16], 0);
        let mut socket = Takes(usize::MAX, Vec::new());
        for _ in 0..9 {
            connection.share(10, 4096);
            if !rest.is_empty() {
                connection.receive(&mut rest, &mut buffer).unwrap();
            }
            let mut work = Work::of(WORK_BYTES);
            connection.step(&Tls::default(), &mut live, 1 << 16, &mut work, |_, _, _, _| taken += 1).unwrap();
            connection.send(&mut socket, &mut live, 1 << 16, &mut work).unwrap();
        }
        assert_eq!((taken, connection.written(), connection.arriving()), (requests, file, 0));
    }
}

#[test]
fn clients_that_vanish_in_the_middle_change_nothing() {
    let server = Server::start(SMALL, 0.0);
    let mut good = server.client(false);
    good.write(1 << 20, &[5; 1000]);
    for whole in ["structured", "extended"].map(session) {
        for length in 0..whole.len() {
            let mut bad = server.connect();
            // Closed at once while the server has still to see that a thousand others have left.
            let _ = bad.write_all(&whole[..length]);
        }
    }
    assert_eq!(good.read(1 << 20, 1000), [5; 1000]);
}

#[test]
fn clients_beyond_the_limit_are_closed_and_the_others_are_served() {
    let server = Server::start(SMALL, 0.0);
    let mut good = server.client(false);
    let many: Vec<_> =
        (0..1100).map_while(|_| std::os::unix::net::UnixStream::connect(server.path("socket")).ok()).collect();
    good.write(0, b"still");
    assert_eq!(good.read(0, 5), b"still");
    drop(many);
    assert_eq!(server.client(true).read(0, 5), b"still");
}
