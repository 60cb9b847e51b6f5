//! Which addresses a few segments may hold: answers most questions without a look at the segments.
//!
//! # Model
//! A Bloom filter with one hash. The address space is divided into cells that are at least as long as a segment, so a
//! segment lies in two cells at most. Each cell in which a segment lies has a bit, by a hash; cells may share one. The
//! bits of sectors that a segment no longer holds stay until so many bits were added that the filter is made anew.
//! An address whose cell has no bit is in no segment. Any other must be looked for.

use super::Segment;

/// Base-2 logarithm of the length of a cell in segments. Read-ahead seldom leaves a cell, and few segments lie in two.
const LONGER: u32 = 3;

/// Words of bits. They are one line of the processor's cache.
const WORDS: usize = 8;

/// The filter. It must be told of every change of a segment that adds sectors.
#[derive(Debug, Default)]
pub(super) struct Filter {
    bits: [u64; WORDS],
    /// Base-2 logarithm of the sectors of a cell.
    cell_bits: u32,
    /// Number of bits that were added since the filter was made, and with how many it is made anew.
    added: u32,
    most: u32,
}

impl Filter {
    /// For segments that hold at most `size` sectors.
    pub fn new(segments: &[Segment], size: u64) -> Filter {
        let mut filter = Filter {
            bits: [0; WORDS],
            cell_bits: size.clamp(1, 1 << 59).next_power_of_two().trailing_zeros() + LONGER,
            added: 0,
            // As many as the segments have themselves.
            most: 2 * segments.len() as u32,
        };
        filter.renew(segments);
        filter
    }

    /// The word and the bit of a cell.
    #[inline]
    fn place(cell: u64) -> (usize, u64) {
        // Fibonacci hashing.
        let spread = cell.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (spread as usize >> 29 & (WORDS - 1), 1 << (spread >> 23 & 63))
    }

    #[inline]
    fn has(&self, cell: u64) -> bool {
        let (word, bit) = Filter::place(cell);
        self.bits[word] & bit != 0
    }

    /// Whether a segment may hold `sector`.
    #[inline]
    pub fn may_hold(&self, sector: u64) -> bool {
        self.has(sector >> self.cell_bits)
    }

    /// Whether a segment may hold some of the sectors `[start, end)`, or start among them.
    #[inline]
    pub fn may_overlap(&self, start: u64, end: u64) -> bool {
        let first = start >> self.cell_bits;
        let last = end.saturating_sub(1).max(start) >> self.cell_bits;
        self.has(first) || (last != first && (last > first + 1 || self.has(last)))
    }

    /// Whether the sectors before `a` and before `b` are in one cell.
    #[inline]
    pub fn is_one_cell(&self, a: u64, b: u64) -> bool {
        (a.wrapping_sub(1) ^ b.wrapping_sub(1)) >> self.cell_bits == 0
    }

    /// A segment now has the sectors `[start, end)`. True if the filter should be made anew.
    #[inline]
    pub fn add(&mut self, start: u64, end: u64) -> bool {
        if end == 0 {
            return false;
        }
        let first = start >> self.cell_bits;
        let last = end.saturating_sub(1).max(start) >> self.cell_bits;
        debug_assert!(last <= first + 1, "{start} to {end} is longer than a segment");
        self.set(first);
        if last != first {
            self.set(last);
        }
        self.added > self.most
    }

    #[inline]
    fn set(&mut self, cell: u64) {
        let (word, bit) = Filter::place(cell);
        self.added += u32::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
    }

    /// Makes the filter anew for these segments.
    #[inline(never)]
    pub fn renew(&mut self, segments: &[Segment]) {
        self.bits = [0; WORDS];
        // Segments that were cleared.
        self.set(0);
        for s in segments {
            self.add(s.start, s.end);
        }
        self.added = 0;
    }
}
