//! Waiting requests by direction, in order of address and in order of deadline.

use super::Queued;
use headstack_engine::SpecError;
use headstack_units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Index of the reads.
pub(crate) const READ: usize = 0;
/// Index of the writes.
pub(crate) const WRITE: usize = 1;

/// The parameters that both deadline elevators share.
///
/// | parameter | means | if absent |
/// |---|---|---|
/// | `read_expire`, `write_expire` | deadline of a request, counted from its arrival | 500 ms, 5 s |
/// | `fifo_batch` | requests of one batch | 16 |
/// | `writes_starved` | batches of reads before one of writes | 2 |
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Parameters {
    pub read_expire: Span,
    pub write_expire: Span,
    pub fifo_batch: u32,
    pub writes_starved: u32,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            read_expire: Span::from_ms(500.0),
            write_expire: Span::from_ms(5000.0),
            fifo_batch: 16,
            writes_starved: 2,
        }
    }
}

impl Parameters {
    pub fn check(self) -> Result<Parameters, SpecError> {
        for (key, span) in [
            ("read_expire", self.read_expire),
            ("write_expire", self.write_expire),
        ] {
            if span.0 < 0 {
                return Err(SpecError::new(key, span, "a time that is not negative"));
            }
        }
        Ok(self)
    }
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
        BatchDirection {
            writes_starved: parameters.writes_starved,
            starved: 0,
        }
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

/// The keys by which a waiting request is sorted.
#[derive(Debug, Clone, Copy)]
struct Place {
    direction: usize,
    lba: u64,
    /// Order of arrival; decides between equal addresses.
    order: u64,
    deadline: Time,
    /// Decides between equal deadlines.
    turn: u64,
}

/// Waiting requests, by direction.
#[derive(Debug)]
pub(crate) struct Sorted {
    expire: [Span; 2],
    /// The place of each request, by slot.
    places: Vec<Option<Place>>,
    trees: [BTreeSet<(u64, u64, u32)>; 2],
    fifos: [BTreeSet<(Time, u64, u32)>; 2],
    order: u64,
}

impl Sorted {
    pub fn new(read_expire: Span, write_expire: Span) -> Sorted {
        Sorted {
            expire: [read_expire, write_expire],
            places: Vec::new(),
            trees: Default::default(),
            fifos: Default::default(),
            order: 0,
        }
    }

    pub fn add(&mut self, now: Time, request: &Queued) {
        let direction = usize::from(request.write);
        self.order += 1;
        let place = Place {
            direction,
            lba: request.lba,
            order: self.order,
            deadline: now + self.expire[direction],
            turn: self.order,
        };
        let slot = request.slot as usize;
        if slot >= self.places.len() {
            self.places.resize(slot + 1, None);
        }
        self.places[slot] = Some(place);
        self.enter(request.slot, place);
    }

    fn enter(&mut self, slot: u32, p: Place) {
        self.trees[p.direction].insert((p.lba, p.order, slot));
        self.fifos[p.direction].insert((p.deadline, p.turn, slot));
    }

    fn place(&self, slot: u32) -> Option<Place> {
        self.places.get(slot as usize).copied().flatten()
    }

    fn leave(&mut self, slot: u32) -> Option<Place> {
        let p = self.places.get_mut(slot as usize)?.take()?;
        self.trees[p.direction].remove(&(p.lba, p.order, slot));
        self.fifos[p.direction].remove(&(p.deadline, p.turn, slot));
        Some(p)
    }

    /// Removes a request; returns its direction and address.
    pub fn remove(&mut self, slot: u32) -> Option<(usize, u64)> {
        self.leave(slot).map(|p| (p.direction, p.lba))
    }

    pub fn resort(&mut self, request: &Queued) {
        if let Some(place) = self.leave(request.slot) {
            let place = Place {
                lba: request.lba,
                ..place
            };
            self.places[request.slot as usize] = Some(place);
            self.enter(request.slot, place);
        }
    }

    /// Removes `gone`; `survivor` takes the earlier of the two deadlines.
    pub fn absorb(&mut self, survivor: u32, gone: u32) {
        let (Some(other), Some(mut place)) = (self.leave(gone), self.leave(survivor)) else {
            return;
        };
        if (other.deadline, other.turn) < (place.deadline, place.turn) {
            (place.deadline, place.turn) = (other.deadline, other.turn);
        }
        self.places[survivor as usize] = Some(place);
        self.enter(survivor, place);
    }

    pub fn direction(&self, slot: u32) -> Option<usize> {
        self.place(slot).map(|p| p.direction)
    }

    /// The next request behind this one in order of address, of the same direction.
    pub fn successor(&self, slot: u32) -> Option<u32> {
        let p = self.place(slot)?;
        let from = (p.lba, p.order, slot + 1);
        self.trees[p.direction].range(from..).next().map(|e| e.2)
    }

    /// The first request of a direction whose address is at least `lba`.
    pub fn at_or_behind(&self, direction: usize, lba: u64) -> Option<u32> {
        self.trees[direction]
            .range((lba, 0, 0)..)
            .next()
            .map(|e| e.2)
    }

    /// The earliest deadline of a direction, and its request.
    pub fn oldest(&self, direction: usize) -> Option<(Time, u32)> {
        self.fifos[direction].first().map(|e| (e.0, e.2))
    }

    pub fn waits(&self, direction: usize) -> bool {
        !self.fifos[direction].is_empty()
    }

    pub fn len(&self) -> usize {
        self.fifos.iter().map(BTreeSet::len).sum()
    }
}
