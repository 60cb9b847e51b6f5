//! Written data in the buffer: arriving over the link, waiting, or being written to the medium.

use super::blocks::{Blocks, SectorSize};
use super::dirty::{DirtyExtents, Scope};
use crate::spec::CacheSpec;
use headstack_units::{Bytes, Lba, Time};

/// With more extents than this, their common range is reported instead of each one.
const MANY: usize = 256;

/// All accepted data that are not yet on the medium, in 512-byte blocks. Times are in nanoseconds.
#[derive(Debug)]
pub(crate) struct Unwritten {
    /// Data that wait for the mechanism.
    pub dirty: DirtyExtents,
    /// Data that arrive over the link at present, and when all of them have arrived.
    incoming: Option<(Blocks, Time)>,
    /// Data that are being written to the medium: at most one range for each assembly.
    on_their_way: Vec<Blocks>,
    /// Most blocks held at once.
    limit: u64,
    /// Longest piece in which data of a write are accepted, in blocks.
    piece: u64,
    /// Most blocks written in a pass, so that new data can arrive meanwhile.
    pub pass_most: u64,
    /// When the latest data arrived. What they make due is not due earlier.
    pub newest: Time,
    /// When the mechanism finishes the latest command.
    pub command_end: Time,
}

impl Default for Unwritten {
    fn default() -> Unwritten {
        Unwritten::new(&CacheSpec::default(), SectorSize::default())
    }
}

impl Unwritten {
    /// No data.
    pub fn new(cache: &CacheSpec, size: SectorSize) -> Unwritten {
        let segment = u64::from(cache.segment_sectors) * size.blocks();
        let limit = cache.write_room(Bytes(size.blocks() * 512)).0 / 512;
        Unwritten {
            dirty: DirtyExtents::new(size, cache.partial_wait),
            incoming: None,
            on_their_way: Vec::new(),
            limit,
            // Small enough for link and medium to work at the same time.
            piece: segment.min(limit / 4).max(size.blocks()),
            pass_most: (limit / 2).max(size.blocks()),
            newest: Time::ZERO,
            command_end: Time::ZERO,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.dirty.extents.is_empty() && self.incoming.is_none() && self.on_their_way.is_empty()
    }

    /// Whether data wait that no pass has taken.
    #[inline]
    pub fn waits(&self) -> bool {
        !self.dirty.extents.is_empty() || self.incoming.is_some()
    }

    /// The first piece of the rest of a write.
    pub fn piece_of(&self, rest: Blocks) -> Blocks {
        let past = rest.start.0 + rest.count().min(self.piece);
        Blocks::new(rest.start, Lba(past))
    }

    /// Whether there is room for a piece, or it only overwrites dirty data.
    pub fn has_room(&self, piece: Blocks) -> bool {
        piece.count() <= self.room() || self.dirty.covers(piece)
    }

    /// Number of blocks for which there is room.
    pub fn room(&self) -> u64 {
        let (held, limit) = self.held();
        limit.saturating_sub(held)
    }

    /// Number of blocks held, and the most.
    pub fn held(&self) -> (u64, u64) {
        let incoming = self.incoming.map_or(0, |(r, _)| r.count());
        let away: u64 = self.on_their_way.iter().map(Blocks::count).sum();
        (self.dirty.blocks + incoming + away, self.limit)
    }

    /// Starts the arrival of `range`, which is complete at `ready`. Earlier data have arrived by `now`.
    pub fn bring(&mut self, now: Time, range: Blocks, ready: Time) {
        self.settle(now);
        self.incoming = Some((range, ready));
    }

    /// When all that the link brings is there, if it brings something.
    #[inline]
    /// When the data on the link have arrived; `None` if there are none.
    pub fn incoming_until(&self) -> Option<Time> {
        self.incoming.map(|(_, ready)| ready)
    }

    /// Marks data as dirty that have arrived by `now`.
    pub fn settle(&mut self, now: Time) {
        if let Some((range, ready)) = self.incoming.filter(|i| i.1 <= now) {
            self.incoming = None;
            self.newest = ready;
            self.dirty.insert(range, ready);
        }
    }

    /// A pass starts to write the dirty blocks of these sectors.
    pub fn send(&mut self, sectors: Blocks) {
        self.dirty.remove(sectors);
        self.on_their_way.push(sectors);
    }

    /// The data of a pass are on the medium.
    pub fn sent(&mut self, sectors: Blocks) {
        if let Some(i) = self.on_their_way.iter().position(|r| *r == sectors) {
            self.on_their_way.swap_remove(i);
        }
    }

    /// Ranges that contain all data that are held. If there are many extents, one range contains them all.
    pub fn stretches(&self, each: &mut dyn FnMut(Blocks)) {
        let others = self.on_their_way.iter().copied();
        others.chain(self.incoming.map(|i| i.0)).for_each(&mut *each);
        if self.dirty.extents.len() <= MANY {
            self.dirty.sweep(Lba(0), Scope::All).for_each(each);
        } else if let Some(all) = self.dirty.span() {
            each(all);
        }
    }

    /// Gives the parts of `range` that are held.
    pub fn in_range(&self, range: Blocks, each: &mut dyn FnMut(Blocks)) {
        let moving = self.on_their_way.iter().copied();
        for held in moving.chain(self.incoming.map(|i| i.0)) {
            let (start, past) = (held.start.max(range.start), held.past.min(range.past));
            if start < past {
                each(Blocks::new(start, past));
            }
        }
        let mut rest = range;
        while let Some(found) = self.dirty.first_in(rest) {
            each(found);
            rest = Blocks::new(found.past, range.past);
        }
    }

    /// Whether the buffer has all of `range` at `now`: a read needs no mechanism.
    #[inline]
    /// Whether the buffer holds all of `range` at `now`, so that a read does not need the mechanism.
    pub fn covers(&self, range: Blocks, now: Time) -> bool {
        !self.is_empty() && self.covers_all(range, now)
    }

    fn covers_all(&self, range: Blocks, now: Time) -> bool {
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
