//! The drive's buffer: segments for reads, and written data that are not yet on the medium.

use crate::counters::Counters;
use crate::mapping::Mapping;
use crate::mechanics::Mechanics;
use crate::parallelism::HeadSet;
use crate::spec::CacheSpec;
use headstack_units::{Lba, Time};

pub mod blocks;
pub mod dirty;
mod filter;
mod index;
pub mod segments;
mod unwritten;

pub(crate) use blocks::{Blocks, PartialSector, SectorSize};
pub(crate) use dirty::Scope;
pub(crate) use segments::{Segment, Segments};
pub(crate) use unwritten::Unwritten;

/// The content of the buffer.
#[derive(Debug, Default)]
// In this order in memory: what each command needs is together (docs/design/decisions.md, closed loops).
#[repr(C)]
pub(crate) struct Buffer {
    pub segments: Segments,
    pub unwritten: Unwritten,
    /// The size of a physical sector.
    pub size: SectorSize,
    /// What is counted of writes that need more than one pass, or are lost.
    pub counted: Counters,
}

impl Buffer {
    /// The empty buffer of a drive with sectors of this size; without a cache it has no segments.
    pub fn new(cache: &CacheSpec, size: SectorSize) -> Buffer {
        let segments = if cache.enabled { cache.segments as usize } else { 0 };
        let separate = cache.enabled && cache.separate_write_segment;
        Buffer {
            segments: Segments::new(segments, cache.segment_sectors as u64, separate),
            unwritten: Unwritten::new(cache, size),
            size,
            ..Buffer::default()
        }
    }

    /// Whether the buffer holds neither data for reads nor data to be written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.list.is_empty() && self.unwritten.is_empty()
    }

    /// The blocks of `count` physical sectors from `sector` on.
    #[inline]
    pub fn blocks(&self, sector: u64, count: u32) -> Blocks {
        self.size.blocks_of(sector, sector + u64::from(count))
    }

    /// Drops the unwritten data whose place no head set reaches any more.
    pub fn drop_unreachable(&mut self, m: &Mechanics, mapping: &Mapping, head_sets: &[HeadSet]) {
        // Data that are still on the link are lost as well.
        self.unwritten.settle(Time::NEVER);
        let mut lost = Vec::new();
        for extent in self.unwritten.dirty.sweep(Lba(0), Scope::All) {
            let (mut at, end) = self.size.sectors_of(extent);
            while let Some(place) = mapping.locate(m, at) {
                let past = at + u64::from(place.run);
                if !head_sets.iter().any(|p| p.reaches(1 << place.head, place.cylinder, true)) {
                    lost.push(self.size.blocks_of(at, past));
                }
                at = past;
                if at >= end {
                    break;
                }
            }
        }
        for range in lost {
            if self.unwritten.dirty.remove(range) > 0 {
                self.counted.n_lost_writes += 1;
            }
        }
    }
}
