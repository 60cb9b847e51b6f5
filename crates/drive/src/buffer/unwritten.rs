//! Written data on their way through the buffer: on the link, waiting, on their way to the medium.

use super::dirty::{Blocks, DirtyExtents, Scope};
use crate::spec::CacheSpec;

/// More extents than so many are told as one stretch.
const MANY: usize = 256;

/// All data that were accepted and that the medium does not have yet, in 512-byte blocks.
#[derive(Debug)]
pub(crate) struct Unwritten {
    /// What waits for the mechanism.
    pub dirty: DirtyExtents,
    /// What the link brings just now, and when all of it is there.
    incoming: Option<(Blocks, u64)>,
    /// What the mechanism is writing: at most one range for each assembly.
    on_their_way: Vec<Blocks>,
    /// At most so many blocks are held.
    limit: u64,
    /// A longer write comes in pieces of so many blocks.
    piece: u64,
    /// A pass takes at most so many blocks, so that others can come in meanwhile.
    pub pass_most: u64,
    /// When the newest data had come: what they make due is due no earlier.
    pub newest: u64,
    /// When the mechanism ended the last command, or will.
    pub command_end: u64,
}

impl Default for Unwritten {
    fn default() -> Unwritten {
        Unwritten::new(&CacheSpec::default(), 0)
    }
}

impl Unwritten {
    /// Nothing is held. Physical sectors are `1 << shift` blocks.
    pub fn new(cache: &CacheSpec, shift: u32) -> Unwritten {
        let segment = u64::from(cache.segment_sectors) << shift;
        let limit = match cache.dirty_limit {
            Some(bytes) => bytes.0 / 512,
            None => segment.saturating_mul(u64::from(cache.write_segments)),
        };
        Unwritten {
            dirty: DirtyExtents::new(1 << shift, cache.partial_wait.non_negative()),
            incoming: None,
            on_their_way: Vec::new(),
            limit,
            // Small enough for link and medium to work at the same time.
            piece: segment.min(limit / 4).max(1 << shift),
            pass_most: (limit / 2).max(1 << shift),
            newest: 0,
            command_end: 0,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dirty.is_empty() && self.incoming.is_none() && self.on_their_way.is_empty()
    }

    /// Whether there is anything that a pass has not taken yet.
    #[inline]
    pub fn waits(&self) -> bool {
        !self.dirty.is_empty() || self.incoming.is_some()
    }

    /// The first of the pieces that the rest of a write comes in.
    pub fn piece_of(&self, rest: Blocks) -> Blocks {
        Blocks::new(rest.start, rest.start + rest.count().min(self.piece))
    }

    /// Whether there is a place for it, or what it overwrites still has one.
    pub fn has_room(&self, piece: Blocks) -> bool {
        piece.count() <= self.room() || self.dirty.covers(piece)
    }

    /// Blocks that may still come in.
    pub fn room(&self) -> u64 {
        let incoming = self.incoming.map_or(0, |(r, _)| r.count());
        let away: u64 = self.on_their_way.iter().map(Blocks::count).sum();
        self.limit
            .saturating_sub(self.dirty.blocks() + incoming + away)
    }

    /// The link brings `range` until `ready`; it has brought everything before by `now`.
    pub fn bring(&mut self, now: u64, range: Blocks, ready: u64) {
        self.settle(now);
        self.incoming = Some((range, ready));
    }

    /// When all that the link brings is there, if it brings something.
    #[inline]
    pub fn incoming_until(&self) -> Option<u64> {
        self.incoming.map(|(_, ready)| ready)
    }

    /// What the link has brought by `now` is dirty.
    pub fn settle(&mut self, now: u64) {
        if let Some((range, ready)) = self.incoming.filter(|i| i.1 <= now) {
            self.incoming = None;
            self.newest = ready;
            self.dirty.insert(range, ready);
        }
    }

    /// A pass takes the dirty blocks of these sectors.
    pub fn send(&mut self, sectors: Blocks) {
        self.dirty.remove(sectors);
        self.on_their_way.push(sectors);
    }

    /// They are on the medium.
    pub fn sent(&mut self, sectors: Blocks) {
        if let Some(i) = self.on_their_way.iter().position(|r| *r == sectors) {
            self.on_their_way.swap_remove(i);
        }
    }

    /// Stretches of addresses beside which it holds nothing: what it holds, or one round all of it where
    /// that is in many parts.
    pub fn stretches(&self, each: &mut dyn FnMut(Blocks)) {
        let others = self.on_their_way.iter().copied();
        others
            .chain(self.incoming.map(|i| i.0))
            .for_each(&mut *each);
        if self.dirty.len() <= MANY {
            self.dirty.sweep(0, Scope::All).for_each(each);
        } else if let Some(all) = self.dirty.span() {
            each(all);
        }
    }

    /// Whether the buffer has all of `range` at `now`: a read needs no mechanism.
    #[inline]
    pub fn covers(&self, range: Blocks, now: u64) -> bool {
        !self.is_empty() && self.covers_all(range, now)
    }

    fn covers_all(&self, range: Blocks, now: u64) -> bool {
        let incoming = self.incoming.filter(|i| i.1 <= now).map(|i| i.0);
        if incoming.is_none() && self.on_their_way.is_empty() {
            return self.dirty.covers(range);
        }
        let mut at = range.start;
        while at < range.past {
            let others = self.on_their_way.iter().copied().chain(incoming);
            let dirty = self.dirty.first_in(Blocks::new(at, range.past));
            let mut holding = others.chain(dirty).filter(|r| r.start <= at && at < r.past);
            match holding.next() {
                Some(r) => at = r.past,
                None => return false,
            }
        }
        true
    }
}
