//! Arbitrary bytes as an initiator, without sockets: for fuzzers and for tests that replay what they found.

use crate::connection::{Connection, Shared};
use crate::login::Admission;
use crate::shelf::{disk_of, Shelf, Target};
use headstack_live::clients::Connection as _;
use headstack_live::live::Live;
use headstack_live::LiveError;
use std::io::{self, Read, Write};

/// The name of the target that is served.
pub const TARGET: &str = "iqn.2026-11.org.headstack:fuzz";

/// An initiator that has sent everything already, and takes every answer.
struct Sent<'a> {
    rest: &'a [u8],
    taken: Vec<u8>,
}

impl Read for Sent<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.rest.read(buffer)
    }
}

impl Write for Sent<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.taken.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A shelf with one target, whose units are the devices of a system.
pub fn shelf(live: &mut Live) -> Shelf {
    let target = Target {
        name: TARGET.into(),
        units: 0..live.devices().len(),
    };
    let disks = target.units.clone().map(|d| disk_of(live, d, &target));
    let disks = disks.collect();
    Shelf::new(vec![target], disks)
}

/// An initiator sends these bytes in pieces of at most `piece` bytes and then nothing more. The clock of the system must
/// not wait. Returns what the initiator gets.
///
/// # Errors
/// The record of the system cannot be written.
pub fn converse(
    bytes: &[u8],
    piece: usize,
    admission: &Admission,
    shelf: &mut Shelf,
    live: &mut Live,
) -> Result<Vec<u8>, LiveError> {
    let mut client = Sent {
        rest: bytes,
        taken: Vec::new(),
    };
    let mut connection = Connection::new(1, "127.0.0.1:3260".into());
    let mut buffer = vec![0; piece.max(1)];
    loop {
        let before = (client.rest.len(), client.taken.len());
        if connection.can_receive() && connection.receive(&mut client, &mut buffer).is_err() {
            break;
        }
        let mut shared = Shared {
            shelf,
            admission,
            most_places: 64,
        };
        connection.step(&mut shared, live);
        loop {
            live.advance(|live, done| shelf.completed(live, &done))?;
            for finished in shelf.take_finished() {
                if let Some(session) = connection.session() {
                    session.finished(finished, shelf);
                }
            }
            if !live.skip() {
                break;
            }
        }
        shelf.take_orders();
        if connection.send(&mut client, live).is_err() {
            break;
        }
        let is_quiet = before == (client.rest.len(), client.taken.len()) && client.rest.is_empty();
        if connection.is_over() || is_quiet {
            break;
        }
    }
    connection.close(shelf, live);
    Ok(client.taken)
}
