//! The written data of a drive's buffer that the medium does not have yet.
//!
//! # Model
//! Extents of 512-byte blocks that neither touch nor overlap, in order of address. Writes that touch
//! merge, so that a stream of small writes is one extent. The medium is written in physical sectors; a
//! sector of which only some blocks are dirty has to be read before it is written. Such sectors lie at
//! the edges of extents: an edge remembers when its data came, so that it may wait to be filled.
//!
//! Selection goes by position: the extents at and above an address, then round to the lowest. Those
//! without a whole sector, whose edges may still wait, are left out without being visited.
//!
//! Every operation costs `O(log n)` for each extent that it touches.

use std::collections::{BTreeMap, BTreeSet};

/// One extent from its start, the key of the map, to `past`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    past: u64,
    /// None of its data came before this.
    floor: u64,
    /// The same where it is short; what a pass left of a stream is as young as its end.
    since: u64,
    /// When the data of its first block came, and of its last.
    head_since: u64,
    tail_since: u64,
}

/// Blocks `start` to `past`, that one excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Blocks {
    pub start: u64,
    pub past: u64,
}

impl Blocks {
    pub fn new(start: u64, past: u64) -> Blocks {
        Blocks { start, past }
    }

    pub fn count(&self) -> u64 {
        self.past.saturating_sub(self.start)
    }
}

/// Which extents a sweep visits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Those with a whole sector, or an edge that has waited long enough.
    Due,
    /// All.
    All,
}

/// The dirty data of one buffer.
#[derive(Debug)]
pub(crate) struct DirtyExtents {
    /// Blocks per physical sector, a power of two.
    sector: u64,
    /// How long an edge may wait for the rest of its sector.
    partial_wait: u64,
    extents: BTreeMap<u64, Extent>,
    blocks: u64,
    /// `(since, start)` of every extent.
    by_age: BTreeSet<(u64, u64)>,
    /// Starts of the extents of [`Scope::Due`]. Unused with sectors of one block: then all are.
    due: BTreeSet<u64>,
    /// `(time that an edge came, start)` of the other extents.
    waiting: BTreeSet<(u64, u64)>,
    /// When edges were last found to have waited long enough.
    promoted: u64,
}

impl DirtyExtents {
    /// Nothing is dirty. `sector` is a power of two; edges wait for `partial_wait` nanoseconds.
    pub fn new(sector: u64, partial_wait: u64) -> DirtyExtents {
        DirtyExtents {
            sector: sector.max(1),
            partial_wait,
            extents: BTreeMap::new(),
            blocks: 0,
            by_age: BTreeSet::new(),
            due: BTreeSet::new(),
            waiting: BTreeSet::new(),
            promoted: 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.extents.is_empty()
    }

    /// Number of extents.
    pub fn len(&self) -> usize {
        self.extents.len()
    }

    /// From the first dirty block to the last.
    pub fn span(&self) -> Option<Blocks> {
        let first = self.extents.first_key_value()?;
        let last = self.extents.last_key_value()?;
        Some(Blocks::new(*first.0, last.1.past))
    }

    /// Dirty blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// When the oldest data came, as far as is known.
    pub fn oldest(&self) -> Option<u64> {
        self.by_age.first().map(|e| e.0)
    }

    fn down(&self, block: u64) -> u64 {
        block & !(self.sector - 1)
    }

    fn up(&self, block: u64) -> u64 {
        self.down(block.saturating_add(self.sector - 1))
    }

    /// The sectors that hold any of these blocks.
    pub fn in_sectors(&self, range: Blocks) -> Blocks {
        Blocks::new(self.down(range.start), self.up(range.past))
    }

    /// When the older of the edges that fill no sector came; `None` if both ends are whole.
    fn edge_since(&self, start: u64, extent: &Extent) -> Option<u64> {
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

    /// Start and extent of the last one that starts below `block`.
    fn before(&self, block: u64) -> Option<(u64, Extent)> {
        let found = self.extents.range(..block).next_back();
        found.map(|(s, e)| (*s, *e))
    }

    /// Makes `range` dirty with data that came at `now`.
    pub fn insert(&mut self, range: Blocks, now: u64) {
        if range.start >= range.past {
            return;
        }
        let mut start = range.start;
        let mut merged = Extent {
            past: range.past,
            floor: now,
            since: now,
            head_since: now,
            tail_since: now,
        };
        // Whatever starts at or below the end and reaches the start touches the new data.
        while let Some((s, e)) = self.before(range.past.saturating_add(1)) {
            if e.past < range.start {
                break;
            }
            self.pull(s);
            let inside = range.start <= s && e.past <= range.past;
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

    /// Takes `range` out, whatever of it is dirty; returns the number of blocks that were.
    pub fn remove(&mut self, range: Blocks) -> u64 {
        let before = self.blocks;
        while let Some((start, extent)) = self.before(range.past) {
            if extent.past <= range.start || range.start >= range.past {
                break;
            }
            self.pull(start);
            if start < range.start {
                let past = range.start;
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
            if range.past < extent.past {
                let left = extent.past - range.past;
                self.put(
                    range.past,
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

    /// Age of what is left at an end of an extent: less than a sector is as old as that end; of more
    /// only the age of the oldest is known.
    fn left_since(&self, blocks: u64, oldest: u64, end: u64) -> u64 {
        if blocks < self.sector {
            end
        } else {
            oldest
        }
    }

    /// Whether all of `range` is dirty.
    pub fn covers(&self, range: Blocks) -> bool {
        range.start >= range.past
            || self
                .before(range.start.saturating_add(1))
                .is_some_and(|(_, e)| e.past >= range.past)
    }

    /// The lowest dirty blocks in `range`, as far as they reach in it without a gap.
    pub fn first_in(&self, range: Blocks) -> Option<Blocks> {
        let reaches = self
            .before(range.start.saturating_add(1))
            .filter(|(_, e)| e.past > range.start);
        let (start, extent) = match reaches {
            Some(found) => found,
            None => {
                let next = self.extents.range(range.start..).next()?;
                (*next.0, *next.1)
            }
        };
        let start = start.max(range.start);
        (start < range.past).then(|| Blocks::new(start, extent.past.min(range.past)))
    }

    /// Brings the edges that have waited long enough by `now` into [`Scope::Due`].
    pub fn promote(&mut self, now: u64) {
        while let Some((since, start)) = self.waiting.first().copied() {
            if since.saturating_add(self.partial_wait) > now {
                break;
            }
            self.waiting.pop_first();
            self.due.insert(start);
            self.promoted = self.promoted.max(now);
        }
    }

    /// When [`Scope::Due`] has or gets something: since edges were last found to have waited long enough,
    /// or when the next one will have; `None` if nothing is dirty.
    pub fn due_from(&self) -> Option<u64> {
        if self.has(Scope::Due) {
            return Some(self.promoted);
        }
        let first = self.waiting.first();
        first.map(|(since, _)| since.saturating_add(self.partial_wait))
    }

    /// Whether a sweep of this scope visits anything.
    pub fn has(&self, scope: Scope) -> bool {
        match scope {
            Scope::Due if self.sector > 1 => !self.due.is_empty(),
            _ => !self.extents.is_empty(),
        }
    }

    /// The extents in the order of C-LOOK from `from` on: at and above it, then round from the lowest.
    /// One that reaches across `from` comes first with its upper part, last with its lower part.
    pub fn sweep(&self, from: u64, scope: Scope) -> impl Iterator<Item = Blocks> + '_ {
        let across = self.before(from).filter(|(s, e)| {
            e.past > from && (scope == Scope::All || self.sector == 1 || self.due.contains(s))
        });
        let upper = across.map(|(_, e)| Blocks::new(from, e.past));
        let lower = across.map(|(s, _)| Blocks::new(s, from));
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
            Blocks::new(start, past)
        };
        let below = starts(false).filter(move |s| Some(*s) != across);
        let rest = starts(true).chain(below).map(whole);
        upper.into_iter().chain(rest).chain(lower)
    }

    /// The sectors of an extent, or of a part of it, that are to be written by `now`: edges that may
    /// still wait are left out, unless `all` must go. In blocks; `None` if nothing is left.
    pub fn to_write(&self, part: Blocks, now: u64, all: bool) -> Option<Blocks> {
        let (start, extent) = self.before(part.start.saturating_add(1))?;
        let waits = |since: u64| !all && since.saturating_add(self.partial_wait) > now;
        let mut sectors = self.in_sectors(part);
        let (down, up) = (self.down(start), self.up(extent.past));
        if down + self.sector == up {
            // Both edges in one sector: the older one decides.
            let since = self.edge_since(start, &extent);
            return (!since.is_some_and(waits)).then_some(sectors);
        }
        if sectors.start < start && waits(extent.head_since) {
            sectors.start = down + self.sector;
        }
        if sectors.past > extent.past && waits(extent.tail_since) {
            sectors.past = up - self.sector;
        }
        (sectors.start < sectors.past).then_some(sectors)
    }

    /// How many of these whole sectors are dirty only in part; the first and the last may be, and any
    /// between two extents.
    pub fn partial_sectors(&self, sectors: Blocks) -> Vec<u64> {
        let mut found: Vec<u64> = Vec::new();
        let mut at = sectors.start;
        while let Some(dirty) = self.first_in(Blocks::new(at, sectors.past)) {
            for edge in [dirty.start, dirty.past] {
                let sector = self.down(edge);
                if sector != edge && found.last() != Some(&sector) {
                    found.push(sector);
                }
            }
            at = dirty.past;
        }
        found
    }
}
