//! Arbitrary bytes as a client, without sockets and without a drive: for fuzzers and for tests that replay what they
//! found.

use crate::clients::{Connection as _, Work, MOST_UNTAKEN, WORK_BYTES};
use crate::live::Live;
use crate::nbd::connection::Connection;
use crate::nbd::tls::Tls;
use std::io::{self, Read, Write};

/// A client that has sent everything already, and takes every reply.
struct Sent<'a> {
    /// What a read gets is never of two packets.
    packets: &'a [&'a [u8]],
    rest: &'a [u8],
    /// Bytes of replies.
    taken: u64,
}

impl Read for Sent<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let ([], [first, others @ ..]) = (self.rest, self.packets) {
            (self.rest, self.packets) = (first, others);
        }
        self.rest.read(buffer)
    }
}

impl Write for Sent<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.taken += data.len() as u64;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A client sends these packets in pieces of at most `piece` bytes and then nothing more. Its requests end as soon as
/// they are taken. Returns the number of requests and the bytes of its replies.
///
/// # Errors
/// The client was closed before its end.
pub fn converse(packets: &[&[u8]], piece: usize, tls: &Tls, live: &mut Live) -> io::Result<(u64, u64)> {
    let mut client = Sent { packets, rest: &[], taken: 0 };
    let (mut connection, mut buffer) = (Connection::new(tls), vec![0; piece.max(1)]);
    let (mut requests, mut open) = (0, Vec::new());
    while !connection.is_over() {
        let room = connection.room().min(buffer.len());
        if room > 0 {
            connection.receive(&mut client, &mut buffer[..room])?;
        }
        let mut work = Work::of(WORK_BYTES);
        connection.step(tls, live, MOST_UNTAKEN, &mut work, |_, _, request, _| open.push(request))?;
        requests += open.len() as u64;
        for request in open.drain(..) {
            connection.ended(&request, None);
        }
        connection.send(&mut client, live, MOST_UNTAKEN, &mut work)?;
    }
    Ok((requests, client.taken))
}
