//! The waiting requests of all processes: those of each process in order of address and in order of arrival.

use crate::layer::elevator::Queued;
use headstack_units::Time;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// A waiting request.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    pub queue: u32,
    pub submitter: u32,
    pub lba: u64,
    pub blocks: u64,
    /// When it is late.
    pub deadline: Time,
    /// Order of arrival; decides between equal addresses.
    order: u64,
    /// Its place in the order of arrival, which a merge can give to another request.
    turn: u64,
}

impl Waiting {
    /// The block after its last one.
    pub fn end(&self) -> u64 {
        self.lba + self.blocks
    }

    fn by_address(&self, slot: u32) -> (u32, u64, u64, u32) {
        (self.queue, self.lba, self.order, slot)
    }

    fn by_turn(&self, slot: u32) -> (u32, u64, u32) {
        (self.queue, self.turn, slot)
    }
}

/// How far from the head a request may lie behind it, and how much farther such a request counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackSeek {
    pub most: u64,
    pub penalty: u64,
}

/// How soon a request is to be served with the head at a place; the least is first.
type Nearness = (bool, u64, Reverse<u64>);

impl BackSeek {
    /// Requests ahead of the head, and those a little behind it, come in order of distance. Those farther behind come last,
    /// from the lowest address on. Of two at equal distances the higher address is first.
    fn nearness(&self, lba: u64, head: u64) -> Nearness {
        let (ahead, behind) = (lba.checked_sub(head), head.saturating_sub(lba));
        match ahead {
            Some(distance) => (false, distance, Reverse(lba)),
            None if behind <= self.most => {
                let counted = behind.saturating_mul(self.penalty);
                (false, counted, Reverse(lba))
            }
            None => (true, lba, Reverse(lba)),
        }
    }
}

/// Waiting requests.
#[derive(Debug, Default)]
pub(super) struct Requests {
    /// By slot.
    places: Vec<Option<Waiting>>,
    by_address: BTreeSet<(u32, u64, u64, u32)>,
    pub by_turn: BTreeSet<(u32, u64, u32)>,
    order: u64,
}

impl Requests {
    pub fn add(&mut self, queue: u32, request: &Queued, deadline: Time) {
        self.order += 1;
        let waiting = Waiting {
            queue,
            submitter: request.submitter,
            lba: request.lba,
            blocks: request.blocks,
            deadline,
            order: self.order,
            turn: self.order,
        };
        let slot = request.slot;
        if slot as usize >= self.places.len() {
            self.places.resize(slot as usize + 1, None);
        }
        self.places[slot as usize] = Some(waiting);
        self.by_address.insert(waiting.by_address(slot));
        self.by_turn.insert(waiting.by_turn(slot));
    }

    pub fn get(&self, slot: u32) -> Option<Waiting> {
        self.places.get(slot as usize).copied().flatten()
    }

    pub fn remove(&mut self, slot: u32) -> Option<Waiting> {
        let waiting = self.places.get_mut(slot as usize)?.take()?;
        self.by_address.remove(&waiting.by_address(slot));
        self.by_turn.remove(&waiting.by_turn(slot));
        Some(waiting)
    }

    /// A request has another address or length.
    pub fn reshape(&mut self, request: &Queued) {
        let slot = request.slot;
        let Some(Some(waiting)) = self.places.get_mut(slot as usize) else { return };
        waiting.blocks = request.blocks;
        if waiting.lba != request.lba {
            self.by_address.remove(&waiting.by_address(slot));
            waiting.lba = request.lba;
            self.by_address.insert(waiting.by_address(slot));
        }
    }

    /// A request takes the place of another one in the order of arrival if that came earlier.
    pub fn take_turn_of(&mut self, slot: u32, other: u32) {
        let (Some(own), Some(earlier)) = (self.get(slot), self.get(other)) else { return };
        if own.queue != earlier.queue || (own.deadline, own.turn) < (earlier.deadline, earlier.turn) {
            return;
        }
        self.by_turn.remove(&own.by_turn(slot));
        self.by_turn.remove(&earlier.by_turn(other));
        let exchange = |to: &Waiting, from: &Waiting| Waiting { deadline: from.deadline, turn: from.turn, ..*to };
        for (slot, waiting) in [(slot, exchange(&own, &earlier)), (other, exchange(&earlier, &own))] {
            self.places[slot as usize] = Some(waiting);
            self.by_turn.insert(waiting.by_turn(slot));
        }
    }

    /// The request of a queue that came first.
    pub fn oldest(&self, queue: u32) -> Option<u32> {
        let own = (queue, 0, 0)..=(queue, u64::MAX, u32::MAX);
        self.by_turn.range(own).next().map(|k| k.2)
    }

    /// Of the requests of a queue the one to serve after `served`, which is removed from it: the nearer of its neighbours in
    /// order of address. Behind the last one the first one follows.
    pub fn after(&self, served: &Waiting, back: BackSeek) -> Option<u32> {
        let (queue, here) = (served.queue, served.by_address(0));
        let first = (queue, 0, 0, 0);
        let last = (queue, u64::MAX, u64::MAX, u32::MAX);
        let mut ahead = self.by_address.range(here..=last);
        let before = self.by_address.range(first..here).next_back();
        let ahead = ahead.next().or_else(|| self.by_address.range(first..=last).next());
        let both = ahead.into_iter().chain(before);
        let nearest = both.min_by_key(|k| back.nearness(k.1, served.lba));
        nearest.map(|k| k.3)
    }

    /// The one of two requests that is to be served first with the head at a place.
    pub fn nearer(&self, one: Option<u32>, other: u32, head: u64, back: BackSeek) -> u32 {
        let nearness = |slot| self.get(slot).map(|w| back.nearness(w.lba, head));
        match one {
            Some(one) if nearness(one) <= nearness(other) => one,
            _ => other,
        }
    }
}
