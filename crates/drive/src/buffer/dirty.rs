//! Dirty data: written data in a drive's buffer that are not yet on the medium.
//!
//! # Model
//! Dirty data are extents of 512-byte blocks that neither touch nor overlap, in order of address. Writes that
//! touch are merged, so a stream of small writes forms one extent. The medium is written in physical sectors;
//! a sector of which only some blocks are dirty has to be read before it is written. Such sectors lie at the
//! edges of extents. For each edge the arrival time of its data is kept, because an edge may wait for the
//! rest of its sector.
//!
//! Extents are selected by position: those at and above an address, then those from the lowest one on. An
//! extent without a whole sector whose edges may still wait is skipped at no cost.
//!
//! Every operation costs `O(log n)` for each extent that it changes.

use super::blocks::{Blocks, PartialSector, SectorSize};
use headstack_units::{Lba, Span, Time};
use std::collections::{BTreeMap, BTreeSet};

/// One extent. It begins at its key in the map and ends before block `past`. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    past: u64,
    /// A lower bound of the arrival times of its data.
    floor: Time,
    /// Assumed arrival time of its oldest data, by which extents are ordered. It may be later than `floor`: what
    /// a pass leaves of an extent takes the time of its end if it is shorter than a sector.
    since: Time,
    /// Arrival time of the data of its first block, and of its last block.
    head_since: Time,
    tail_since: Time,
}

/// Which extents are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Extents with a whole sector, and extents with an edge that has waited long enough.
    Due,
    /// All extents.
    All,
}

/// The dirty data of one buffer.
#[derive(Debug, Default)]
pub struct DirtyExtents {
    /// The size of a physical sector, and its number of blocks.
    size: SectorSize,
    sector: u64,
    /// How long an edge may wait for the rest of its sector.
    partial_wait: Span,
    pub extents: BTreeMap<u64, Extent>,
    /// Number of dirty blocks.
    pub blocks: u64,
    /// `(since, start)` of every extent.
    by_age: BTreeSet<(Time, u64)>,
    /// Starts of the extents in [`Scope::Due`]. Not used if a sector is one block: then every extent is due.
    due: BTreeSet<u64>,
    /// `(arrival time of an edge, start)` of the other extents.
    waiting: BTreeSet<(Time, u64)>,
    /// When an edge was last found to have waited long enough.
    promoted: Time,
}

impl DirtyExtents {
    /// A buffer without dirty data; edges wait for `partial_wait`.
    pub fn new(size: SectorSize, partial_wait: Span) -> DirtyExtents {
        DirtyExtents { size, sector: size.blocks(), partial_wait, ..DirtyExtents::default() }
    }

    /// The range from the first dirty block to the last one.
    pub fn span(&self) -> Option<Blocks> {
        let first = self.extents.first_key_value()?;
        let last = self.extents.last_key_value()?;
        Some(blocks(*first.0, last.1.past))
    }

    /// Assumed arrival time of the oldest data; `None` if nothing is dirty.
    pub fn oldest(&self) -> Option<Time> {
        self.by_age.first().map(|e| e.0)
    }

    fn down(&self, block: u64) -> u64 {
        block & !(self.sector - 1)
    }

    fn up(&self, block: u64) -> u64 {
        self.down(block.saturating_add(self.sector - 1))
    }

    /// The range of whole sectors that contains `range`, in blocks.
    pub fn in_sectors(&self, range: Blocks) -> Blocks {
        blocks(self.down(range.start.0), self.up(range.past.0))
    }

    /// Arrival time of the older edge that does not fill its sector; `None` if both ends do.
    fn edge_since(&self, start: u64, extent: &Extent) -> Option<Time> {
        let head = (self.down(start) != start).then_some(extent.head_since);
        let tail = (self.down(extent.past) != extent.past).then_some(extent.tail_since);
        match (head, tail) {
            (Some(h), Some(t)) => Some(h.min(t)),
            (h, t) => h.or(t),
        }
    }

    fn has_whole_sector(&self, start: u64, extent: &Extent) -> bool {
        self.up(start) < self.down(extent.past)
    }

    fn put(&mut self, start: u64, extent: Extent) {
        self.blocks += extent.past - start;
        self.by_age.insert((extent.since, start));
        if self.sector > 1 {
            if self.has_whole_sector(start, &extent) {
                self.due.insert(start);
            } else if let Some(since) = self.edge_since(start, &extent) {
                self.waiting.insert((since, start));
            }
        }
        self.extents.insert(start, extent);
    }

    fn pull(&mut self, start: u64) -> Option<Extent> {
        let extent = self.extents.remove(&start)?;
        self.blocks -= extent.past - start;
        self.by_age.remove(&(extent.since, start));
        if self.sector > 1 && !self.due.remove(&start) {
            if let Some(since) = self.edge_since(start, &extent) {
                self.waiting.remove(&(since, start));
            }
        }
        Some(extent)
    }

    /// The last extent that starts below `block`, with its start.
    fn before(&self, block: u64) -> Option<(u64, Extent)> {
        let found = self.extents.range(..block).next_back();
        found.map(|(s, e)| (*s, *e))
    }

    /// Marks `range` as dirty with data that arrived at `now`.
    #[inline]
    pub fn insert(&mut self, range: Blocks, now: Time) {
        if range.is_empty() {
            return;
        }
        let (first, past) = (range.start.0, range.past.0);
        let mut start = first;
        let mut merged = Extent { past, floor: now, since: now, head_since: now, tail_since: now };
        // An extent that starts at or below the end of the new range and reaches its start touches it.
        while let Some((s, e)) = self.before(past.saturating_add(1)) {
            if e.past < first {
                break;
            }
            self.pull(s);
            let inside = first <= s && e.past <= past;
            if !inside {
                merged.since = merged.since.min(e.since);
                merged.floor = merged.floor.min(e.floor);
            }
            if e.past > merged.past {
                merged.past = e.past;
                merged.tail_since = e.tail_since;
            }
            if s < start {
                start = s;
                merged.head_since = e.head_since;
            }
        }
        self.put(start, merged);
    }

    /// Marks `range` as clean. Returns how many of its blocks were dirty.
    #[inline]
    pub fn remove(&mut self, range: Blocks) -> u64 {
        let before = self.blocks;
        let (first, end) = (range.start.0, range.past.0);
        while let Some((start, extent)) = self.before(end) {
            if extent.past <= first || range.is_empty() {
                break;
            }
            self.pull(start);
            if start < first {
                let past = first;
                self.put(
                    start,
                    Extent {
                        past,
                        since: self.left_since(past - start, extent.since, extent.head_since),
                        tail_since: extent.floor,
                        ..extent
                    },
                );
            }
            if end < extent.past {
                let left = extent.past - end;
                self.put(
                    end,
                    Extent {
                        since: self.left_since(left, extent.since, extent.tail_since),
                        head_since: extent.floor,
                        ..extent
                    },
                );
            }
        }
        before - self.blocks
    }

    /// Arrival time assumed for what remains at one end of an extent. If it is shorter than a sector, all of
    /// it arrived with that end (`end`). Otherwise only the oldest time is known.
    fn left_since(&self, blocks: u64, oldest: Time, end: Time) -> Time {
        if blocks < self.sector {
            end
        } else {
            oldest
        }
    }

    /// Whether all of `range` is dirty.
    pub fn covers(&self, range: Blocks) -> bool {
        range.is_empty() || self.before(range.start.0.saturating_add(1)).is_some_and(|(_, e)| e.past >= range.past.0)
    }

    /// The lowest run of dirty blocks in `range`.
    pub fn first_in(&self, range: Blocks) -> Option<Blocks> {
        let (first, end) = (range.start.0, range.past.0);
        let reaches = self.before(first.saturating_add(1)).filter(|(_, e)| e.past > first);
        let (start, extent) = match reaches {
            Some(found) => found,
            None => {
                let next = self.extents.range(first..).next()?;
                (*next.0, *next.1)
            }
        };
        let start = start.max(first);
        (start < end).then(|| blocks(start, extent.past.min(end)))
    }

    /// Adds the extents whose edges have waited long enough by `now` to [`Scope::Due`].
    #[inline]
    pub fn promote(&mut self, now: Time) {
        while let Some((since, start)) = self.waiting.first().copied() {
            if since + self.partial_wait > now {
                break;
            }
            self.waiting.pop_first();
            self.due.insert(start);
            self.promoted = self.promoted.max(now);
        }
    }

    /// When [`Scope::Due`] holds an extent: since the time at which edges were last found to have waited long
    /// enough, or when the next one will have. `None` if nothing is dirty.
    pub fn due_from(&self) -> Option<Time> {
        if self.has(Scope::Due) {
            return Some(self.promoted);
        }
        let first = self.waiting.first();
        first.map(|(since, _)| *since + self.partial_wait)
    }

    /// Whether `scope` holds an extent.
    pub fn has(&self, scope: Scope) -> bool {
        match scope {
            Scope::Due if self.sector > 1 => !self.due.is_empty(),
            _ => !self.extents.is_empty(),
        }
    }

    /// The extents in C-LOOK order from `from`: those at and above it, then those from the lowest one on. If
    /// an extent contains `from`, its upper part comes first and its lower part last.
    pub fn sweep(&self, from: Lba, scope: Scope) -> impl Iterator<Item = Blocks> + '_ {
        let from = from.0;
        let across = self
            .before(from)
            .filter(|(s, e)| e.past > from && (scope == Scope::All || self.sector == 1 || self.due.contains(s)));
        let upper = across.map(|(_, e)| blocks(from, e.past));
        let lower = across.map(|(s, _)| blocks(s, from));
        let across = across.map(|(s, _)| s);
        let list = (scope == Scope::Due && self.sector > 1).then_some(&self.due);
        let starts = move |above: bool| -> Box<dyn Iterator<Item = u64> + '_> {
            match (list, above) {
                (Some(due), true) => Box::new(due.range(from..).copied()),
                (Some(due), false) => Box::new(due.range(..from).copied()),
                (None, true) => Box::new(self.extents.range(from..).map(|e| *e.0)),
                (None, false) => Box::new(self.extents.range(..from).map(|e| *e.0)),
            }
        };
        let whole = move |start: u64| {
            let past = self.extents.get(&start).map_or(start, |e| e.past);
            blocks(start, past)
        };
        let below = starts(false).filter(move |s| Some(*s) != across);
        let rest = starts(true).chain(below).map(whole);
        upper.into_iter().chain(rest).chain(lower)
    }

    /// The sectors of `part` (an extent or a part of one) that can be written at `now`, as blocks. Edges that
    /// may still wait are left out unless `all` is set. `None` if nothing remains.
    #[inline]
    pub fn to_write(&self, part: Blocks, now: Time, all: bool) -> Option<Blocks> {
        // Nearly every part begins where its extent does, which is found faster.
        let (start, extent) = match self.extents.get(&part.start.0) {
            Some(extent) => (part.start.0, *extent),
            None => self.before(part.start.0)?,
        };
        let waits = |since: Time| !all && since + self.partial_wait > now;
        let mut sectors = self.in_sectors(part);
        let (down, up) = (self.down(start), self.up(extent.past));
        if down + self.sector == up {
            // Both edges lie in one sector: the older one counts.
            let since = self.edge_since(start, &extent);
            return (!since.is_some_and(waits)).then_some(sectors);
        }
        if sectors.start.0 < start && waits(extent.head_since) {
            sectors.start = Lba(down + self.sector);
        }
        if sectors.past.0 > extent.past && waits(extent.tail_since) {
            sectors.past = Lba(up - self.sector);
        }
        (!sectors.is_empty()).then_some(sectors)
    }

    /// Those of these whole sectors that are dirty only in part. The first and the last may be, and a sector
    /// that two extents share.
    pub fn partial_sectors(&self, sectors: Blocks) -> Vec<PartialSector> {
        let mut found: Vec<PartialSector> = Vec::new();
        let mut at = sectors.start;
        while let Some(dirty) = self.first_in(Blocks::new(at, sectors.past)) {
            let (edges, n) = self.size.edges(dirty);
            for edge in &edges[..n] {
                if found.last() != Some(edge) {
                    found.push(*edge);
                }
            }
            at = dirty.past;
        }
        found
    }
}

/// The blocks of the numbers `start` to `past - 1`.
fn blocks(start: u64, past: u64) -> Blocks {
    Blocks::new(Lba(start), Lba(past))
}
