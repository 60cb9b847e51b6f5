//! The handshake, byte by byte from the protocol's text.

use crate::nbd::client::{read_reply, read_u64, send_option, Server};
use std::io::{Read, Write};

const SMALL: &str = "ibm-18es";

#[test]
fn exports_are_listed_and_described() {
    let server = Server::start(SMALL, 0.0);
    let mut stream = server.greeted();
    send_option(&mut stream, 3, b"");
    let (code, kind, data) = read_reply(&mut stream);
    assert_eq!((code, kind), (3, 2));
    assert_eq!(data, b"\0\0\0\x010ibm-18es");
    assert_eq!(read_reply(&mut stream).1, 1);
    // LIST has no data.
    send_option(&mut stream, 3, b"x");
    assert_eq!(read_reply(&mut stream).1, 0x8000_0003);
    // INFO of the export "0", with its name and description.
    send_option(&mut stream, 6, b"\0\0\0\x010\0\x02\0\x01\0\x02");
    let mut facts = Vec::new();
    loop {
        let (code, kind, data) = read_reply(&mut stream);
        assert_eq!(code, 6);
        if kind == 1 {
            break;
        }
        assert_eq!(kind, 3);
        facts.push(data);
    }
    let mut size = vec![0, 0];
    size.extend_from_slice(&server.bytes.to_be_bytes());
    // Flags: valid, flush, FUA, rotational, trim, zeroes, several connections, cache, fast zeroes; no DF without
    // structured replies.
    size.extend_from_slice(&[0x0d, 0x7d]);
    assert_eq!(facts[0], size);
    assert_eq!(facts[1][..2], [0, 3]);
    assert_eq!(facts[1][10..], (32u32 << 20).to_be_bytes());
    assert_eq!(facts[2], b"\0\x010");
    assert_eq!(facts[3], b"\0\x02ibm-18es");
}

#[test]
fn wrong_options_are_refused_and_the_next_one_is_understood() {
    let server = Server::start(SMALL, 0.0);
    let mut stream = server.greeted();
    for (code, data, kind) in [
        (99, &b"whatever"[..], 0x8000_0001u32),
        // TLS.
        (5, b"", 0x8000_0001),
        (7, b"\0\0\0\x03abc\0\0", 0x8000_0006),
        (7, b"\0\0\0\xffabc\0\0", 0x8000_0003),
        (7, b"", 0x8000_0003),
        (8, b"x", 0x8000_0003),
        // Metadata need structured replies.
        (10, b"\0\0\0\0\0\0\0\0", 0x8000_0003),
        (8, b"", 1),
        (10, b"\0\0\0\0\xff\xff\xff\xff", 0x8000_0003),
        (10, b"\0\0\0\0\0\0\0\0", 1),
    ] {
        send_option(&mut stream, code, data);
        let (of, got, _) = read_reply(&mut stream);
        assert_eq!((of, got), (code, kind), "{data:?}");
    }
    // Long data are skipped.
    send_option(&mut stream, 99, &vec![7; 200_000]);
    assert_eq!(read_reply(&mut stream).1, 0x8000_0009);
    send_option(&mut stream, 3, b"");
    assert_eq!(read_reply(&mut stream).1, 2);
    // All contexts are listed; only the known one.
    assert_eq!(read_reply(&mut stream).1, 1);
    send_option(&mut stream, 9, b"\0\0\0\0\0\0\0\0");
    let (_, kind, data) = read_reply(&mut stream);
    assert_eq!((kind, &data[4..]), (4, &b"base:allocation"[..]));
    assert_eq!(read_reply(&mut stream).1, 1);
    send_option(&mut stream, 2, b"");
    assert_eq!(read_reply(&mut stream).1, 1);
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"");
}

#[test]
fn old_clients_name_an_export() {
    let server = Server::start(SMALL, 0.0);
    let mut stream = server.greeted();
    send_option(&mut stream, 1, b"");
    assert_eq!(read_u64(&mut stream), server.bytes);
    let mut flags = [0; 2];
    stream.read_exact(&mut flags).unwrap();
    assert_eq!(flags, [0x0d, 0x7d]);
    // Without the flag for it, 124 zeroes follow.
    let mut stream = server.connect();
    stream.read_exact(&mut [0; 18]).unwrap();
    stream.write_all(&1u32.to_be_bytes()).unwrap();
    send_option(&mut stream, 1, b"0");
    let mut all = [1; 134];
    stream.read_exact(&mut all).unwrap();
    assert_eq!(all[10..], [0; 124]);
    // No such export: the connection ends.
    let mut stream = server.greeted();
    send_option(&mut stream, 1, b"no");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn too_many_options_end_the_connection() {
    let server = Server::start(SMALL, 0.0);
    let mut stream = server.greeted();
    for _ in 0..64 {
        send_option(&mut stream, 99, b"");
        assert_eq!(read_reply(&mut stream).1, 0x8000_0001);
    }
    send_option(&mut stream, 99, b"");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
}
