//! Extended headers, written from the protocol's text.

use crate::nbd::client::{
    read_reply, read_u32, read_u64, send_option, Server, BLOCK_STATUS, CACHE, FLUSH, READ, TRIM, WRITE, WRITE_ZEROES,
};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

/// The length is that of the data which follow.
const PAYLOAD: u16 = 1 << 5;

struct Extended {
    stream: UnixStream,
    cookie: u64,
}

/// Type and data of a chunk.
type Chunk = (u16, Vec<u8>);

impl Extended {
    fn new(server: &Server) -> Extended {
        let mut stream = server.greeted();
        for (code, data, kind) in [
            (11, &b"x"[..], 0x8000_0003),
            (8, b"", 1),
            (11, b"", 1),
            (11, b"", 0x8000_0003),
            // Structured replies would be a step back.
            (8, b"", 0x8000_000a),
        ] {
            send_option(&mut stream, code, data);
            assert_eq!(read_reply(&mut stream).1, kind, "option {code} {data:?}");
        }
        let query = b"\0\0\0\0\0\0\0\x01\0\0\0\x0fbase:allocation";
        send_option(&mut stream, 10, query);
        assert_eq!(read_reply(&mut stream).1, 4);
        assert_eq!(read_reply(&mut stream).1, 1);
        send_option(&mut stream, 7, &[0; 6]);
        while read_reply(&mut stream).1 != 1 {}
        Extended { stream, cookie: 0 }
    }

    /// The chunks of the reply to a request.
    fn ask(&mut self, flags: u16, command: u16, offset: u64, length: u64, data: &[u8]) -> Vec<Chunk> {
        self.cookie += 1;
        let mut all = 0x21e4_1c71u32.to_be_bytes().to_vec();
        all.extend_from_slice(&flags.to_be_bytes());
        all.extend_from_slice(&command.to_be_bytes());
        for field in [self.cookie, offset, length] {
            all.extend_from_slice(&field.to_be_bytes());
        }
        all.extend_from_slice(data);
        self.stream.write_all(&all).unwrap();
        let mut chunks = Vec::new();
        loop {
            let stream = &mut self.stream;
            assert_eq!(read_u32(stream), 0x6e8a_278c);
            let kinds = read_u32(stream);
            assert_eq!(read_u64(stream), self.cookie);
            assert_eq!(read_u64(stream), offset, "the offset of the request");
            let mut data = vec![0; read_u64(stream) as usize];
            stream.read_exact(&mut data).unwrap();
            chunks.push((kinds as u16, data));
            if kinds >> 16 == 1 {
                return chunks;
            }
        }
    }

    /// The error of the reply; 0 for none.
    fn error(&mut self, flags: u16, command: u16, offset: u64, length: u64, data: &[u8]) -> u32 {
        match &self.ask(flags, command, offset, length, data)[..] {
            [(0, data)] if data.is_empty() => 0,
            [(0x8001, data)] => u32::from_be_bytes(data[..4].try_into().unwrap()),
            chunks => panic!("{chunks:?}"),
        }
    }
}

#[test]
fn data_are_as_with_other_headers() {
    let server = Server::start("ibm-18es", 0.0);
    let mut client = Extended::new(&server);
    let data: Vec<u8> = (0..4096u32).map(|i| (i * 7) as u8).collect();
    assert_eq!(client.error(PAYLOAD, WRITE, 1 << 20, 4096, &data), 0);
    assert_eq!(client.error(0, FLUSH, 0, 0, b""), 0);
    let mut want = (1u64 << 20).to_be_bytes().to_vec();
    want.extend_from_slice(&data);
    assert_eq!(client.ask(0, READ, 1 << 20, 4096, b""), [(1, want)]);
    assert_eq!(client.error(0, WRITE_ZEROES, 1 << 20, 4096, b""), 0);
    // Another client sees the same.
    assert_eq!(server.client(true).read(1 << 20, 4096), [0; 4096]);
    assert_eq!(client.error(0, CACHE, 0, 4096, b""), 0);
}

#[test]
fn lengths_of_more_than_32_bits() {
    let server = Server::start("exos-x18", 0.0);
    let bytes = server.bytes;
    assert!(bytes > 1 << 44);
    let mut client = Extended::new(&server);
    assert_eq!(client.error(PAYLOAD, WRITE, 1 << 43, 1 << 20, &[1; 1 << 20]), 0);
    // Holes before and behind, each longer than 4 GiB: number of the metadata, number of extents, their lengths and flags.
    let chunks = client.ask(0, BLOCK_STATUS, 0, bytes, b"");
    let mut want = vec![0, 0, 0, 1, 0, 0, 0, 3];
    let behind = bytes - (1 << 43) - (1 << 20);
    for (length, flags) in [(1u64 << 43, 3u64), (1 << 20, 0), (behind, 3)] {
        want.extend_from_slice(&length.to_be_bytes());
        want.extend_from_slice(&flags.to_be_bytes());
    }
    assert_eq!(chunks, [(6, want)]);
    // All of the disk is trimmed at once. One command of the drive has at most 32 bits: too large otherwise.
    assert_eq!(client.error(0, TRIM, 0, bytes, b""), 0);
    let chunks = client.ask(0, BLOCK_STATUS, 0, bytes, b"");
    assert_eq!(chunks[0].1[4..8], [0, 0, 0, 1]);
    for command in [WRITE_ZEROES, CACHE] {
        assert_eq!(client.error(0, command, 0, 1 << 32, b""), 75, "{command}");
    }
    assert_eq!(client.error(0, READ, 0, 1 << 40, b""), 75);
}

#[test]
fn wrong_requests_are_refused_and_their_data_skipped() {
    let server = Server::start("ibm-18es", 0.0);
    let mut client = Extended::new(&server);
    for (flags, command, offset, length, data, error) in [
        // Data that nobody asked for.
        (PAYLOAD, READ, 0, 5, &b"stray"[..], 22),
        (PAYLOAD, BLOCK_STATUS, 0, 3, b"abc", 22),
        (1 << 9, READ, 0, 8, b"", 22),
        (0, READ, u64::MAX, 2, b"", 22),
        (0, READ, 1 << 63, 1 << 63, b"", 22),
        (PAYLOAD, WRITE, server.bytes, 4, b"over", 28),
        (0, TRIM, 0, u64::MAX, b"", 22),
        (0, 77, 0, 0, b"", 22),
        // The connection is as good as before.
        (PAYLOAD, WRITE, 0, 4, b"kept", 0),
    ] {
        let got = client.error(flags, command, offset, length, data);
        assert_eq!(got, error, "{flags} {command} {offset} {length}");
    }
    assert_eq!(server.client(false).read(0, 4), b"kept");
}
