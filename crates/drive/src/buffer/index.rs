//! An index of many segments: by address, and in order of last use.
//!
//! # Model
//! The address space is divided into cells that are at least as long as a segment. So a segment that holds a sector
//! starts in the sector's cell or in the one before. The segments are in chains by a hash of the cell in which they
//! start. Neighbouring cells mostly have neighbouring chains, which are in one line of the processor's cache.
//! [`Segments`](super::Segments) compares the addresses of what a chain gives; the answers are those of a search
//! through all segments.

use super::Segment;

/// No segment.
const NONE: u32 = u32::MAX;

/// Base-2 logarithm of the number of chains that neighbouring cells share.
const LINE_BITS: u32 = 4;

#[derive(Debug, Clone, Copy)]
struct Link {
    /// The cell in which the segment starts, and its neighbours in the chain.
    cell: u64,
    before: u32,
    after: u32,
    /// Its neighbours in the order of last use.
    older: u32,
    newer: u32,
}

/// The index. It must be told of every change of a segment.
#[derive(Debug)]
pub(super) struct Index {
    /// Base-2 logarithm of the sectors of a cell.
    cell_bits: u32,
    chain_bits: u32,
    /// The first segment of each chain.
    chains: Vec<u32>,
    /// One bit per chain: whether it has a segment. Most questions are about addresses without one, and are
    /// answered from these few words.
    filled: Vec<u64>,
    links: Vec<Link>,
    /// The segments used longest ago and latest, of those that serve reads.
    oldest: u32,
    newest: u32,
    /// One bit per segment that serves reads: whether it is empty or was never used.
    vacant: Vec<u64>,
    vacancies: usize,
    /// The first segment that serves reads.
    first: usize,
}

impl Index {
    /// An index of segments that hold at most `size` sectors. Those from `first` on serve reads.
    pub fn new(list: &[Segment], size: u64, first: usize) -> Index {
        let chain_bits = (list.len() * 8).next_power_of_two().trailing_zeros();
        let link = Link { cell: 0, before: NONE, after: NONE, older: NONE, newer: NONE };
        let mut index = Index {
            cell_bits: size.next_power_of_two().trailing_zeros(),
            chain_bits: chain_bits.max(LINE_BITS + 1),
            chains: Vec::new(),
            filled: Vec::new(),
            links: vec![link; list.len()],
            oldest: NONE,
            newest: NONE,
            vacant: vec![0; list.len().div_ceil(64)],
            vacancies: 0,
            first,
        };
        index.chains = vec![NONE; 1 << index.chain_bits];
        index.filled = vec![0; index.chains.len().div_ceil(64)];
        for (i, s) in list.iter().enumerate() {
            index.links[i].cell = s.start >> index.cell_bits;
            index.chain_in(i);
            if i >= first {
                index.order_last(i);
            }
            index.mark(i, s);
        }
        index
    }

    #[inline]
    fn chain_of(&self, cell: u64) -> usize {
        // Fibonacci hashing of the group of cells.
        let spread = (cell >> LINE_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let line = spread >> (64 - (self.chain_bits - LINE_BITS));
        (line << LINE_BITS | cell & ((1 << LINE_BITS) - 1)) as usize
    }

    fn chain_in(&mut self, i: usize) {
        let chain = self.chain_of(self.links[i].cell);
        let after = std::mem::replace(&mut self.chains[chain], i as u32);
        self.filled[chain / 64] |= 1 << (chain % 64);
        (self.links[i].before, self.links[i].after) = (NONE, after);
        if after != NONE {
            self.links[after as usize].before = i as u32;
        }
    }

    fn chain_out(&mut self, i: usize) {
        let Link { cell, before, after, .. } = self.links[i];
        match before {
            NONE => {
                let chain = self.chain_of(cell);
                self.chains[chain] = after;
                if after == NONE {
                    self.filled[chain / 64] &= !(1 << (chain % 64));
                }
            }
            b => self.links[b as usize].after = after,
        }
        if after != NONE {
            self.links[after as usize].before = before;
        }
    }

    fn order_last(&mut self, i: usize) {
        let older = std::mem::replace(&mut self.newest, i as u32);
        (self.links[i].older, self.links[i].newer) = (older, NONE);
        match older {
            NONE => self.oldest = i as u32,
            o => self.links[o as usize].newer = i as u32,
        }
    }

    /// Sets the segment's bit of `vacant`.
    #[inline]
    fn mark(&mut self, i: usize, s: &Segment) {
        if i < self.first {
            return;
        }
        let vacant = s.is_empty() || s.used == 0;
        let (word, bit) = (&mut self.vacant[i / 64], 1 << (i % 64));
        if vacant != (*word & bit != 0) {
            *word ^= bit;
            self.vacancies = if vacant { self.vacancies + 1 } else { self.vacancies - 1 };
        }
    }

    /// Segment `i` has changed: it is now `s`.
    #[inline(never)]
    pub fn changed(&mut self, i: usize, s: &Segment) {
        let cell = s.start >> self.cell_bits;
        if cell != self.links[i].cell {
            self.chain_out(i);
            self.links[i].cell = cell;
            self.chain_in(i);
        }
        self.mark(i, s);
    }

    /// Segment `i` was used, and may have changed: it is now `s`.
    #[inline(never)]
    pub fn used(&mut self, i: usize, s: &Segment) {
        self.changed(i, s);
        if i < self.first || self.newest == i as u32 {
            return;
        }
        let Link { older, newer, .. } = self.links[i];
        match older {
            NONE => self.oldest = newer,
            o => self.links[o as usize].newer = newer,
        }
        // It is not the newest one.
        self.links[newer as usize].older = older;
        self.order_last(i);
    }

    /// The first vacant segment, else the one used longest ago; `None` if there are none.
    pub fn victim(&self) -> Option<usize> {
        if self.vacancies > 0 {
            let word = self.vacant.iter().position(|w| *w != 0)?;
            return Some(word * 64 + self.vacant[word].trailing_zeros() as usize);
        }
        (self.oldest != NONE).then_some(self.oldest as usize)
    }

    /// The first segment of the chain of a cell.
    #[inline]
    fn chain(&self, cell: u64) -> u32 {
        let chain = self.chain_of(cell);
        match self.filled[chain / 64] >> (chain % 64) & 1 {
            0 => NONE,
            _ => self.chains[chain],
        }
    }

    /// Calls `each` with the segments that may hold `sector`, and possibly with others.
    #[inline]
    pub fn near(&self, sector: u64, mut each: impl FnMut(usize)) {
        let cell = sector >> self.cell_bits;
        for cell in [cell.wrapping_sub(1), cell] {
            let mut at = self.chain(cell);
            while at != NONE {
                each(at as usize);
                at = self.links[at as usize].after;
            }
        }
    }

    /// Adds to `found` the segments that may overlap `[start, end)`, and possibly others. Some may be added twice.
    /// False, and nothing added, if the range has so many cells that all segments are faster looked through.
    pub fn within(&self, start: u64, end: u64, found: &mut Vec<usize>) -> bool {
        let first = start >> self.cell_bits;
        let last = end.saturating_sub(1).max(start) >> self.cell_bits;
        if last - first > self.links.len() as u64 / 8 {
            return false;
        }
        for cell in first.saturating_sub(1)..=last {
            let mut at = self.chain(cell);
            while at != NONE {
                found.push(at as usize);
                at = self.links[at as usize].after;
            }
        }
        true
    }
}
