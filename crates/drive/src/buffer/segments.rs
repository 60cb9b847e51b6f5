//! Segments of the buffer: contiguous ranges of sectors, replaced in LRU order.

use super::filter::Filter;
use super::index::Index;
use headstack_units::Time;

/// One segment, with the sectors `[start, end)`; `end` is never below `start`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Segment {
    pub start: u64,
    pub end: u64,
    /// Order of last use: the largest number is the latest.
    pub used: u64,
    /// Time before which commands do not see its data, because the command in service still reads them.
    pub visible_at: Time,
    /// When the whole track will have been read; [`Time::NEVER`] if that is not awaited. From then on the
    /// segment starts at `track_start`.
    pub whole_track: Time,
    pub track_start: u64,
}

impl Segment {
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }
    #[inline]
    pub fn holds(&self, sector: u64) -> bool {
        // A single comparison that is nearly always false. Two comparisons would be mispredicted, because an
        // address lies on either side of a segment about equally often.
        sector.wrapping_sub(self.start) < self.end.wrapping_sub(self.start)
    }
    /// Whether it holds some of the sectors `[start, end)`, or is empty at a position inside them.
    #[inline]
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        self.holds(start) || self.start.wrapping_sub(start) < end - start
    }
    pub fn clear(&mut self) {
        self.start = 0;
        self.end = 0;
        self.whole_track = Time::NEVER;
        self.visible_at = Time::ZERO;
    }
    /// Keeps only the last `size` sectors.
    pub fn bound(&mut self, size: u64) {
        self.start = self.start.max(self.end.saturating_sub(size));
    }
}

/// All segments of a buffer.
#[derive(Debug, Default)]
// In this order in memory: what each command needs is together (docs/design/decisions.md, closed loops).
#[repr(C)]
pub struct Segments {
    /// The segments by number.
    pub list: Vec<Segment>,
    /// When each segment was last used; 0 if it is empty.
    ages: Vec<u64>,
    /// With many segments: what is asked of a search through all of them otherwise. The answers are the same.
    index: Option<Box<Index>>,
    pub size: u64,
    clock: u64,
    /// Whether segment 0 takes writes only and never serves reads.
    pub separate_write: bool,
    /// What says of most addresses that no segment holds them.
    filter: Filter,
    /// For reuse: segments that may overlap a range.
    found: Vec<usize>,
}

/// More segments than this get an index.
pub const FEW: usize = 32;

impl Segments {
    pub fn new(count: usize, size: u64, separate_write: bool) -> Segments {
        let mut segments = Segments::unindexed(count, size, separate_write);
        if count > FEW {
            let first = segments.first_for_reads();
            segments.index = Some(Box::new(Index::new(&segments.list, size, first)));
        }
        segments
    }

    /// Segments without an index, however many there are.
    pub fn unindexed(count: usize, size: u64, separate_write: bool) -> Segments {
        let mut empty = Segment::default();
        empty.clear();
        let list = vec![empty; count];
        Segments {
            size,
            separate_write,
            clock: 0,
            ages: vec![0; count],
            filter: Filter::new(&list, size),
            list,
            index: None,
            found: Vec::new(),
        }
    }

    /// Changes segment `i`.
    #[inline]
    pub fn change(&mut self, i: usize, change: impl FnOnce(&mut Segment)) {
        change(&mut self.list[i]);
        match &mut self.index {
            Some(index) => index.changed(i, &self.list[i]),
            None => self.changed(i),
        }
    }

    /// Without an index: segment `i` has changed.
    // What was just written is read field by field: a copy of the segment would have to wait for the writes.
    #[inline]
    fn changed(&mut self, i: usize) {
        let s = &self.list[i];
        self.ages[i] = if s.is_empty() { 0 } else { s.used };
        if self.filter.add(s.start, s.end) {
            self.filter.renew(&self.list);
        }
    }

    #[inline]
    pub fn touch(&mut self, i: usize) {
        self.reuse(i, |_| {});
    }

    /// Changes segment `i`, which is now the one used last.
    #[inline]
    pub fn reuse(&mut self, i: usize, change: impl FnOnce(&mut Segment)) {
        self.clock += 1;
        let s = &mut self.list[i];
        s.used = self.clock;
        change(s);
        match &mut self.index {
            Some(index) => index.used(i, &self.list[i]),
            None => self.changed(i),
        }
    }

    fn first_for_reads(&self) -> usize {
        self.separate_write as usize
    }

    /// The segment that holds `sector`, among those that serve reads. Of several, the one used last, because
    /// read-ahead continues into it.
    #[inline]
    pub fn find(&self, sector: u64) -> Option<usize> {
        if self.index.is_some() {
            return self.find_near(sector);
        }
        self.last_used(sector, |s| s.holds(sector))
    }

    #[inline(never)]
    fn find_near(&self, sector: u64) -> Option<usize> {
        self.last_used_near(sector, |s| s.holds(sector))
    }

    /// Of the segments that serve reads and for which `holds` is true, the one used last. `holds` is true for segments that
    /// hold `sector` only.
    #[inline]
    fn last_used(&self, sector: u64, holds: impl Fn(&Segment) -> bool) -> Option<usize> {
        if !self.filter.may_hold(sector) {
            return None;
        }
        self.last_used_of_all(holds)
    }

    #[inline(never)]
    fn last_used_of_all(&self, holds: impl Fn(&Segment) -> bool) -> Option<usize> {
        let mut best: Option<(usize, u64)> = None;
        for (i, s) in self.list.iter().enumerate().skip(self.first_for_reads()) {
            if holds(s) && best.is_none_or(|b| s.used >= b.1) {
                best = Some((i, s.used));
            }
        }
        best.map(|b| b.0)
    }

    /// As [`Segments::last_used`], with the index. `holds` is true for segments that hold `sector` only.
    #[inline]
    fn last_used_near(&self, sector: u64, holds: impl Fn(&Segment) -> bool) -> Option<usize> {
        let index = self.index.as_ref()?;
        let mut best: Option<(u64, usize)> = None;
        index.near(sector, |i| {
            let s = &self.list[i];
            // Of segments that were never used, the last one, as in a search through all of them.
            if holds(s) && i >= self.first_for_reads() && Some((s.used, i)) > best {
                best = Some((s.used, i));
            }
        });
        best.map(|b| b.1)
    }

    /// The segment that holds all of a read's sectors when the read arrives at `now`.
    #[inline]
    pub fn holds_at(&self, now: Time, start: u64, end: u64) -> Option<usize> {
        if self.index.is_some() {
            return self.holds_at_near(now, start, end);
        }
        self.last_used(start, |s| s.holds(start) & (end <= s.end) & (s.visible_at <= now))
    }

    #[inline(never)]
    fn holds_at_near(&self, now: Time, start: u64, end: u64) -> Option<usize> {
        self.last_used_near(start, |s| s.holds(start) & (end <= s.end) & (s.visible_at <= now))
    }

    /// The segment to be replaced: an empty one, else the least recently used.
    #[inline]
    pub fn victim(&self) -> Option<usize> {
        if let Some(index) = &self.index {
            return index.victim();
        }
        let from = self.first_for_reads();
        let (mut best, mut least) = (from, u64::MAX);
        for (i, used) in self.ages.iter().enumerate().skip(from) {
            // An empty segment counts as never used.
            best = if *used < least { i } else { best };
            least = least.min(*used);
        }
        (best < self.list.len()).then_some(best)
    }

    /// Clears every segment that overlaps `[start, end)`, except `keep`.
    #[inline]
    pub fn invalidate(&mut self, start: u64, end: u64, keep: Option<usize>) {
        if self.index.is_some() {
            return self.invalidate_near(start, end, keep);
        }
        if self.filter.may_overlap(start, end) {
            self.invalidate_in_all(start, end, keep);
        }
    }

    #[inline(never)]
    fn invalidate_in_all(&mut self, start: u64, end: u64, keep: Option<usize>) {
        let mut from = 0;
        let found = |s: &Segment| s.overlaps(start, end);
        while let Some(ahead) = self.list[from..].iter().position(found) {
            let i = from + ahead;
            if Some(i) != keep {
                self.change(i, Segment::clear);
            }
            from = i + 1;
        }
    }

    #[inline(never)]
    fn invalidate_near(&mut self, start: u64, end: u64, keep: Option<usize>) {
        let mut found = std::mem::take(&mut self.found);
        found.clear();
        let indexed = self.index.as_ref();
        if !indexed.is_some_and(|index| index.within(start, end, &mut found)) {
            found.extend(0..self.list.len());
        }
        for i in &found {
            if self.list[*i].overlaps(start, end) && Some(*i) != keep {
                self.change(*i, Segment::clear);
            }
        }
        self.found = found;
    }

    /// Records that the sectors before `past` have been read into a segment.
    #[inline]
    pub fn extend(&mut self, segment: usize, past: u64) {
        let size = self.size;
        if self.index.is_none() && self.filter.is_one_cell(self.list[segment].end, past) {
            // The usual step of read-ahead: the segment stays in its cells.
            let s = &mut self.list[segment];
            s.end = s.end.max(past);
            s.bound(size);
            self.ages[segment] = if s.is_empty() { 0 } else { s.used };
            return;
        }
        self.change(segment, |s| {
            s.end = s.end.max(past);
            s.bound(size);
        });
    }

    /// The first segment that holds some of the sectors `[start, end)`.
    #[inline]
    fn first_overlapping(&mut self, start: u64, end: u64) -> Option<usize> {
        if self.index.is_some() {
            return self.first_overlapping_near(start, end);
        }
        match self.filter.may_overlap(start, end) {
            true => self.first_overlapping_of_all(start, end),
            false => None,
        }
    }

    #[inline(never)]
    fn first_overlapping_of_all(&self, start: u64, end: u64) -> Option<usize> {
        self.list.iter().position(|s| s.overlaps(start, end))
    }

    #[inline(never)]
    fn first_overlapping_near(&mut self, start: u64, end: u64) -> Option<usize> {
        let index = self.index.as_ref()?;
        self.found.clear();
        if index.within(start, end, &mut self.found) {
            let found = self.found.iter().copied();
            return found.filter(|i| self.list[*i].overlaps(start, end)).min();
        }
        self.first_overlapping_of_all(start, end)
    }

    /// The segment that takes written sectors: `appended` if they continue its data. Also the first segment
    /// that already holds some of the sectors. `None` if there are no segments.
    #[inline]
    pub fn for_written(&mut self, start: u64, end: u64, appended: Option<usize>) -> Option<(usize, Option<usize>)> {
        if self.list.is_empty() {
            return None;
        }
        let old = self.first_overlapping(start, end);
        let taken = match appended {
            None if self.separate_write => Some(0),
            None => old.or_else(|| self.victim()),
            appended => appended,
        };
        taken.map(|i| (i, old))
    }

    /// Puts written sectors into segment `i`, behind its data if they continue those. Drops the old sectors
    /// from other segments; `old` is the first segment that holds some of them.
    #[inline]
    pub fn write_into(&mut self, (i, old): (usize, Option<usize>), (start, end): (u64, u64), goes_on: bool) {
        if old.is_some() {
            self.invalidate(start, end, Some(i));
        }
        let size = self.size;
        self.reuse(i, |s| {
            if !goes_on || s.end != start {
                s.start = start;
            }
            s.end = end;
            s.visible_at = Time::ZERO;
            s.whole_track = Time::NEVER;
            s.bound(size);
        });
    }

    /// As [`Segments::write_into`], with the segment that [`Segments::for_written`] chooses. Returns that
    /// segment.
    #[inline]
    pub fn place_written(&mut self, start: u64, end: u64) -> Option<usize> {
        let taken = self.for_written(start, end, None)?;
        self.write_into(taken, (start, end), false);
        Some(taken.0)
    }

    /// A command interrupts at `at` the reading of the rest of a segment's track, unless it is done.
    #[inline]
    pub fn leave_track(&mut self, segment: usize, at: Time) {
        // This changes no address, so the index need not know.
        let s = &mut self.list[segment];
        if at < s.whole_track {
            s.whole_track = Time::NEVER;
        }
    }

    /// Extends segments to the start of their track, if a whole turn has passed since.
    #[inline]
    pub fn complete_tracks(&mut self, now: Time) {
        let size = self.size;
        for i in 0..self.list.len() {
            if self.list[i].whole_track <= now {
                self.change(i, |s| {
                    s.start = s.start.min(s.track_start);
                    s.bound(size);
                    s.whole_track = Time::NEVER;
                });
            }
        }
    }
}
