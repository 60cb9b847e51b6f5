//! Arbitrary bytes as an initiator, without sockets: for fuzzers and for tests that replay what they found.

use crate::clients::{Connection as _, Work, MOST_UNTAKEN, WORK_BYTES};
use crate::iscsi::connection::{Connection, Shared};
use crate::iscsi::login::Admission;
use crate::iscsi::shelf::{disk_of, Shelf, Target};
use crate::live::Live;
use crate::TargetError;
use std::collections::BTreeMap;

/// The name of the target that is served.
pub const TARGET: &str = "iqn.2026-11.org.headstack:fuzz";

/// A second target, of the same length of name, whose unit is the last device of a system.
pub const OTHER_TARGET: &str = "iqn.2026-11.org.headstack:good";

/// A shelf with one target, whose units are the devices of a system; the last of several is a target of its own.
pub fn shelf(live: &mut Live) -> Shelf {
    let number = live.devices().len();
    let first = 0..number.max(2) - 1;
    let others = first.end..number;
    let named = [(TARGET, first), (OTHER_TARGET, others)];
    let targets = named.into_iter().filter(|(_, units)| !units.is_empty());
    let targets: Vec<Target> = targets.map(|(name, units)| Target { name: name.into(), units }).collect();
    let mut disks = Vec::new();
    for target in &targets {
        for device in target.units.clone() {
            disks.push(disk_of(live, device, target));
        }
    }
    Shelf::new(targets, disks)
}

/// One initiator, which has sent everything already and takes every answer: what is left of that, in pieces of at most so
/// many bytes, what it has got, and its connection.
struct Initiator<'a> {
    rest: &'a [u8],
    taken: Vec<u8>,
    connection: Connection,
    buffer: Vec<u8>,
    is_over: bool,
}

impl<'a> Initiator<'a> {
    fn new(number: u64, bytes: &'a [u8], piece: usize) -> Initiator<'a> {
        Initiator {
            rest: bytes,
            taken: Vec::new(),
            connection: Connection::new(number, "127.0.0.1:3260".into()),
            buffer: vec![0; piece.max(1)],
            is_over: false,
        }
    }

    /// Reads, answers and writes; the session takes what has ended for it.
    fn turn(&mut self, admission: &Admission, shelf: &mut Shelf, live: &mut Live) {
        if self.is_over {
            return;
        }
        let before = (self.rest.len(), self.taken.len());
        let connection = &mut self.connection;
        let room = connection.room().min(self.buffer.len());
        let buffer = &mut self.buffer[..room];
        let is_silent = room > 0 && connection.receive(&mut self.rest, buffer).is_err();
        let mut shared = Shared { shelf, admission, most_places: 64, share: MOST_UNTAKEN };
        let mut work = Work::of(WORK_BYTES);
        connection.step(&mut shared, live, &mut work);
        let is_gone = connection.send(&mut self.taken, live, MOST_UNTAKEN, &mut work).is_err();
        let is_same = before == (self.rest.len(), self.taken.len());
        let is_quiet = is_same && self.rest.is_empty() && live.outstanding() == 0;
        self.is_over = is_silent || is_gone || connection.is_over() || is_quiet;
        if self.is_over {
            connection.close(shelf, live);
        }
    }
}

/// Each of these initiators sends its bytes in pieces of at most `piece` bytes and then nothing more. The clock of the system must
/// not wait. Returns what each gets.
///
/// # Errors
/// The record of the system cannot be written.
pub fn converse(
    bytes: &[&[u8]],
    piece: usize,
    admission: &Admission,
    shelf: &mut Shelf,
    live: &mut Live,
) -> Result<Vec<Vec<u8>>, TargetError> {
    let mut all: BTreeMap<u64, Initiator> =
        (1..).zip(bytes).map(|(number, bytes)| (number, Initiator::new(number, bytes, piece))).collect();
    while all.values().any(|initiator| !initiator.is_over) {
        for initiator in all.values_mut() {
            initiator.turn(admission, shelf, live);
        }
        loop {
            live.advance(|live, done| shelf.completed(live, &done))?;
            for finished in shelf.take_finished() {
                let of = all.get_mut(&finished.owner.session);
                if let Some(session) = of.and_then(|i| i.connection.session()) {
                    session.finished(finished, shelf);
                }
            }
            if !live.skip() {
                break;
            }
        }
        shelf.take_orders();
    }
    Ok(all.into_values().map(|i| i.taken).collect())
}
