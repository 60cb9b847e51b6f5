//! Numbers of 512-byte blocks and of physical sectors.
//!
//! The host, the queue of the buffer's data and the zones count blocks of 512 bytes ([`Lba`]). Mapping and mechanics
//! count physical sectors, as plain numbers. [`SectorSize`] is the only way from one to the other.

use headstack_units::{Bytes, Lba};

/// Blocks `start` to `past - 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blocks {
    pub start: Lba,
    pub past: Lba,
}

impl Blocks {
    pub fn new(start: Lba, past: Lba) -> Blocks {
        Blocks { start, past }
    }

    pub fn count(&self) -> u64 {
        self.past.0.saturating_sub(self.start.0)
    }

    pub fn is_empty(&self) -> bool {
        self.start >= self.past
    }
}

/// A physical sector of which only some blocks are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PartialSector(pub u64);

/// The size of a physical sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SectorSize {
    /// Base-2 logarithm of its number of blocks.
    shift: u32,
}

impl SectorSize {
    /// A size that is a power of two, 512 bytes or more.
    pub fn of(bytes: Bytes) -> SectorSize {
        let shift = (bytes.0 / 512).trailing_zeros();
        SectorSize { shift }
    }

    /// Number of blocks of a sector.
    #[inline]
    pub fn blocks(self) -> u64 {
        1 << self.shift
    }

    /// The first block of a sector.
    #[inline]
    pub fn first_block(self, sector: u64) -> Lba {
        Lba(sector << self.shift)
    }

    /// The blocks of the sectors from `first` on, up to the one before `past`.
    #[inline]
    pub fn blocks_of(self, first: u64, past: u64) -> Blocks {
        Blocks::new(self.first_block(first), self.first_block(past))
    }

    /// The sector that holds a block.
    #[inline]
    pub fn sector_of(self, block: Lba) -> u64 {
        block.0 >> self.shift
    }

    /// The sectors that hold blocks of a range: the first one, and the one after the last.
    #[inline]
    pub fn sectors_of(self, blocks: Blocks) -> (u64, u64) {
        let last = (blocks.past.0 + (self.blocks() - 1)) >> self.shift;
        (self.sector_of(blocks.start), last)
    }

    /// Whether a sector begins with this block.
    #[inline]
    pub fn begins_at(self, block: Lba) -> bool {
        block.0 & (self.blocks() - 1) == 0
    }

    /// Number of sectors that fit into so many blocks.
    #[inline]
    pub fn fitting(self, blocks: u64) -> u64 {
        blocks >> self.shift
    }

    /// The sectors that a range of blocks covers only in part, in order, and their number. The range is not empty.
    #[inline]
    pub fn edges(self, blocks: Blocks) -> ([PartialSector; 2], usize) {
        let (first, past) = self.sectors_of(blocks);
        let (mut edges, mut n) = ([PartialSector(first); 2], 0);
        if !self.begins_at(blocks.start) {
            n = 1;
        }
        if !self.begins_at(blocks.past) && (n == 0 || past - 1 != first) {
            edges[n] = PartialSector(past - 1);
            n += 1;
        }
        (edges, n)
    }
}
