//! Waiting requests by direction, in order of address and in order of arrival, each with its deadline.

#[doc(hidden)]
pub mod by_address;

use super::Queued;
use by_address::{ByAddress, Key};
use headstack_schema::Table;
use headstack_units::{Span, Time};
use std::ops::RangeInclusive;

/// Index of the reads.
pub const READ: usize = 0;
/// Index of the writes.
pub const WRITE: usize = 1;

/// A deadline from 0 on; the limit is that of simulated time.
const DEADLINES: RangeInclusive<Span> = Span::ZERO..=Span(Time::LATEST.0 as i64);

/// The parameters that the deadline elevators share.
#[derive(Debug, Clone, Table)]
pub(crate) struct Parameters {
    /// Deadline of a read, counted from its arrival.
    #[param(default = Span(500_000_000), range = DEADLINES)]
    pub read_expire: Span,
    /// Deadline of a write, counted from its arrival.
    #[param(default = Span(5_000_000_000), range = DEADLINES)]
    pub write_expire: Span,
    /// Requests of one batch.
    #[param(default = 16)]
    pub fifo_batch: u32,
    /// Batches of reads before one of writes.
    #[param(default = 2)]
    pub writes_starved: u32,
}

/// Whether the next batch is of reads or of writes.
#[derive(Debug)]
pub(crate) struct BatchDirection {
    writes_starved: u32,
    /// Batches of reads that went before waiting writes.
    starved: u32,
}

impl BatchDirection {
    pub fn new(parameters: &Parameters) -> BatchDirection {
        BatchDirection { writes_starved: parameters.writes_starved, starved: 0 }
    }

    /// The direction of a new batch; `None` if nothing waits.
    pub fn choose(&mut self, waiting: &Sorted) -> Option<usize> {
        let (reads, writes) = (waiting.waits(READ), waiting.waits(WRITE));
        if reads {
            let starved = self.starved >= self.writes_starved;
            if !writes {
                return Some(READ);
            }
            self.starved = self.starved.saturating_add(1);
            if !starved {
                return Some(READ);
            }
        }
        writes.then(|| {
            self.starved = 0;
            WRITE
        })
    }
}

/// No request: the end of a list.
const NONE: u32 = u32::MAX;

/// A waiting request: the keys by which it is sorted, and its neighbours in the order of deadlines.
#[derive(Debug, Clone, Copy)]
struct Place {
    direction: usize,
    lba: u64,
    /// Order of arrival; decides between equal addresses.
    order: u64,
    deadline: Time,
    /// Decides between equal deadlines.
    turn: u64,
    /// The request with the next earlier deadline, and the one with the next later; [`NONE`] at the ends.
    earlier: u32,
    later: u32,
}

impl Place {
    fn key(&self, slot: u32) -> Key {
        Key { lba: self.lba, order: self.order, slot }
    }
}

/// The first and the last request of a direction in the order of deadlines, and their number.
#[derive(Debug, Clone, Copy)]
struct Fifo {
    first: u32,
    last: u32,
    len: usize,
}

const EMPTY: Fifo = Fifo { first: NONE, last: NONE, len: 0 };

/// Waiting requests, by direction.
///
/// Each direction has a list in order of arrival, in which each request knows its neighbours. This is the order of
/// deadlines unless the time to them was shortened while requests waited. Linux then also looks only at the deadline
/// of the first request of the list.
#[derive(Debug)]
pub struct Sorted {
    pub expire: [Span; 2],
    /// The place of each request, by slot.
    places: Vec<Option<Place>>,
    by_address: [ByAddress; 2],
    fifos: [Fifo; 2],
    order: u64,
}

impl Sorted {
    pub fn new(read_expire: Span, write_expire: Span) -> Sorted {
        Sorted {
            expire: [read_expire, write_expire],
            places: Vec::new(),
            by_address: Default::default(),
            fifos: [EMPTY; 2],
            order: 0,
        }
    }

    /// The time from a read's arrival to its deadline.
    pub fn read_expire(&self) -> Span {
        self.expire[READ]
    }

    /// Sets that time for reads that are added from now on.
    pub fn set_read_expire(&mut self, expire: Span) {
        self.expire[READ] = expire;
    }

    /// Adds a request at `now`, which never decreases.
    #[inline(always)]
    pub fn add(&mut self, now: Time, request: &Queued) {
        let direction = usize::from(request.write);
        self.order += 1;
        let last = self.fifos[direction].last;
        let place = Place {
            direction,
            lba: request.lba,
            order: self.order,
            deadline: now + self.expire[direction],
            turn: self.order,
            earlier: last,
            later: NONE,
        };
        let slot = request.slot as usize;
        if slot >= self.places.len() {
            self.places.resize(slot + 1, None);
        }
        self.places[slot] = Some(place);
        self.link(request.slot, last, NONE, direction);
        self.fifos[direction].len += 1;
        self.by_address[direction].insert(place.key(request.slot));
    }

    /// Makes a request the neighbour of `earlier` and `later` in the order of deadlines.
    fn link(&mut self, slot: u32, earlier: u32, later: u32, direction: usize) {
        self.set_later(earlier, slot, direction);
        self.set_earlier(later, slot, direction);
    }

    fn set_later(&mut self, of: u32, slot: u32, direction: usize) {
        match self.places.get_mut(of as usize) {
            Some(Some(place)) => place.later = slot,
            _ => self.fifos[direction].first = slot,
        }
    }

    fn set_earlier(&mut self, of: u32, slot: u32, direction: usize) {
        match self.places.get_mut(of as usize) {
            Some(Some(place)) => place.earlier = slot,
            _ => self.fifos[direction].last = slot,
        }
    }

    fn place(&self, slot: u32) -> Option<Place> {
        self.places.get(slot as usize).copied().flatten()
    }

    /// Removes a request; returns its place and the request behind it in order of address.
    #[inline(always)]
    fn leave(&mut self, slot: u32) -> Option<(Place, Option<u32>)> {
        let p = self.places.get_mut(slot as usize)?.take()?;
        let behind = self.by_address[p.direction].remove(p.key(slot));
        self.set_later(p.earlier, p.later, p.direction);
        self.set_earlier(p.later, p.earlier, p.direction);
        self.fifos[p.direction].len -= 1;
        Some((p, behind))
    }

    /// Removes a request; returns its direction and address, and its successor.
    #[inline]
    pub fn remove(&mut self, slot: u32) -> Option<(usize, u64, Option<u32>)> {
        self.leave(slot).map(|(p, behind)| (p.direction, p.lba, behind))
    }

    /// A request has a new address; its deadline stays.
    pub fn resort(&mut self, request: &Queued) {
        let slot = request.slot;
        if let Some(Some(place)) = self.places.get_mut(slot as usize) {
            let before = std::mem::replace(&mut place.lba, request.lba);
            let (now, keys) = (place.key(slot), &mut self.by_address[place.direction]);
            keys.remove(Key { lba: before, ..now });
            keys.insert(now);
        }
    }

    /// Removes `gone`; `survivor`, of the same direction, takes the earlier of the two deadlines.
    pub fn absorb(&mut self, survivor: u32, gone: u32) {
        if let (Some(other), Some(place)) = (self.place(gone), self.place(survivor)) {
            if (other.deadline, other.turn) < (place.deadline, place.turn) {
                self.take_turn_of(survivor, gone);
            }
        }
        self.leave(gone);
    }

    /// Moves a request directly before another one in the order of deadlines, and gives it that one's deadline.
    fn take_turn_of(&mut self, slot: u32, other: u32) {
        let (Some(from), Some(to)) = (self.place(slot), self.place(other)) else { return };
        self.set_later(from.earlier, from.later, from.direction);
        self.set_earlier(from.later, from.earlier, from.direction);
        // The neighbours may have been each other's.
        let earlier = self.place(other).map_or(NONE, |p| p.earlier);
        if let Some(Some(place)) = self.places.get_mut(slot as usize) {
            (place.deadline, place.turn) = (to.deadline, to.turn);
            (place.earlier, place.later) = (earlier, other);
        }
        self.link(slot, earlier, other, from.direction);
    }

    pub fn direction(&self, slot: u32) -> Option<usize> {
        self.place(slot).map(|p| p.direction)
    }

    /// The next request behind this one in order of address, of the same direction.
    pub fn successor(&self, slot: u32) -> Option<u32> {
        let p = self.place(slot)?;
        self.by_address[p.direction].behind(p.key(slot))
    }

    /// The first request of a direction whose address is at least `lba`.
    pub fn at_or_behind(&self, direction: usize, lba: u64) -> Option<u32> {
        self.by_address[direction].at_or_behind(lba)
    }

    /// The first request of a direction in its list, and that request's deadline.
    pub fn oldest(&self, direction: usize) -> Option<(Time, u32)> {
        let first = self.fifos[direction].first;
        self.place(first).map(|p| (p.deadline, first))
    }

    pub fn waits(&self, direction: usize) -> bool {
        self.fifos[direction].len > 0
    }

    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.fifos.iter().map(|f| f.len).sum()
    }
}
