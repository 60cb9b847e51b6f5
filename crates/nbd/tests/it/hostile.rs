//! Clients that break the protocol, stop in the middle or vanish: others are served.

use crate::client::Server;
use headstack_testkit::{cases, XorShift};
use std::io::{Read, Write};
use std::time::Duration;

const SMALL: &str = "ibm-18es";

/// A whole session: flags, structured replies, use of the default export, a write, a read, a flush.
fn session() -> Vec<u8> {
    let mut all = 3u32.to_be_bytes().to_vec();
    let mut option = |code: u32, data: &[u8]| {
        all.extend_from_slice(b"IHAVEOPT");
        all.extend_from_slice(&code.to_be_bytes());
        all.extend_from_slice(&(data.len() as u32).to_be_bytes());
        all.extend_from_slice(data);
    };
    option(8, b"");
    option(10, b"\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation");
    option(7, &[0; 6]);
    for (command, length, data) in [
        (1u16, 700u32, &[9; 700][..]),
        (0, 700, b""),
        (7, 4096, b""),
        (3, 0, b""),
    ] {
        all.extend_from_slice(&0x25609513u32.to_be_bytes());
        all.extend_from_slice(&[0, 0]);
        all.extend_from_slice(&command.to_be_bytes());
        all.extend_from_slice(&[7; 8]);
        all.extend_from_slice(&8192u64.to_be_bytes());
        all.extend_from_slice(&length.to_be_bytes());
        all.extend_from_slice(data);
    }
    all
}

#[test]
fn damaged_sessions_harm_nobody_else() {
    let server = Server::start(SMALL, 0.0);
    let mut good = server.client(true);
    good.write(0, b"kept");
    let seed = 31;
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    let whole = session();
    for _ in 0..cases(300) {
        let mut bytes = whole.clone();
        for _ in 0..rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(4) {
                0 => bytes[at] = rng.below(256) as u8,
                1 => bytes[at] ^= 1 << rng.below(8),
                2 => bytes.truncate(at + 1),
                _ => drop(bytes.drain(at..)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        let mut bad = server.connect();
        bad.set_read_timeout(Some(Duration::from_millis(2)))
            .unwrap();
        // The server may have closed the connection already.
        let _ = bad.write_all(&bytes);
        let mut answers = [0; 4096];
        while matches!(bad.read(&mut answers), Ok(n) if n > 0) {}
    }
    assert_eq!(good.read(0, 4), b"kept");
}

#[test]
fn clients_that_vanish_in_the_middle_change_nothing() {
    let server = Server::start(SMALL, 0.0);
    let mut good = server.client(false);
    good.write(1 << 20, &[5; 1000]);
    let whole = session();
    for length in 0..whole.len() {
        let mut bad = server.connect();
        bad.write_all(&whole[..length]).unwrap();
    }
    assert_eq!(good.read(1 << 20, 1000), [5; 1000]);
    // A client that asks for much and takes nothing.
    let mut greedy = server.client(false);
    for i in 0..64 {
        greedy.send(0, 0, i << 25, 32 << 20, b"");
    }
    for _ in 0..20 {
        good.read(0, 100_000);
    }
}

#[test]
fn clients_beyond_the_limit_are_closed_and_the_others_are_served() {
    let server = Server::start(SMALL, 0.0);
    let mut good = server.client(false);
    let many: Vec<_> = (0..1100)
        .map_while(|_| std::os::unix::net::UnixStream::connect(server.folder.join("socket")).ok())
        .collect();
    good.write(0, b"still");
    assert_eq!(good.read(0, 5), b"still");
    drop(many);
    assert_eq!(server.client(true).read(0, 5), b"still");
}
