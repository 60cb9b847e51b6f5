//! A drive-managed shingled drive: a media cache that takes writes, and bands that are cleaned.
//!
//! # Model
//! The tracks of a band overlap, so a band is written as a whole, from its start. The first sectors of the layout, at
//! the outer diameter, are the *media cache*. It is a log: each write goes to the sectors behind the last write, and a
//! map records which addresses lie there. The rest of the layout holds the bands. Each address has a fixed place in a
//! band, its *home*.
//!
//! A write that begins at the *write pointer* of its band, directly behind the band's data, goes to its home instead.
//! So a sequential stream fills empty bands at full speed.
//!
//! *Cleaning* a band reads its extents from the cache, then the band itself, and writes the band back. It takes the
//! band of the oldest data in the cache (FIFO). It works track by track when the drive is idle, so a command waits for
//! one track at most. When the cache is full, a write waits until enough bands are cleaned. While a band is cleaned,
//! commands read its data from their old places.
//!
//! Space in the log becomes free only at its oldest end, when the data there have been cleaned or overwritten.
//! # Source
//! A. Aghayev, P. Desnoyers, "Skylight: A Window on Shingled Disk Operation", FAST 2015: a persistent cache at the
//! outer diameter, its size, static mapping of bands, their size, aggressive and lazy cleaning, FIFO order.
//! # Validity
//! The map is in memory; writing it to the medium takes no time. A band is read into memory and written back in place.
//! No copy is written to protect it against a loss of power. A stream that overwrites bands goes through the cache.

mod clean;
mod extents;
pub mod parameters;
mod write;

pub use parameters::{read, MediaCacheParameters};
pub use write::Writer;

use super::moves::Moves;
use super::zoned::Initial;
use crate::layout::Place;
use crate::mechanics::Mechanics;
use clean::Cleaning;
use extents::{Extent, Extents};
use headstack_engine::SpecError;
use headstack_units::Span;
use parameters::When;
use std::collections::VecDeque;

/// A media cache, its bands, and their state. Sizes are in physical sectors.
#[derive(Debug)]
pub struct MediaCache {
    /// Size of the cache. The homes lie behind it.
    pub size: u64,
    /// Sectors of a band; the last one may be smaller.
    pub band: u64,
    /// Number of physical sectors that have an address.
    pub capacity: u64,
    /// The largest number of extents; `u64::MAX`: no limit.
    pub most_extents: u64,
    aggressive: bool,
    /// How long the drive must have been idle before it cleans.
    pub clean_after: Span,
    /// Lower bound of a write's movement.
    pub minimum_write: Span,
    pub cached: Extents,
    /// The extents written to the cache, oldest first. Their sectors follow each other and wrap around at the end.
    pub log: VecDeque<Extent>,
    /// Where the log ends: the number of sectors ever written to it. The position in the cache is this number modulo
    /// its size.
    head: u64,
    /// Write pointer of each band: the number of its sectors that have been written.
    written: Box<[u32]>,
    cleaning: Option<Cleaning>,
    pub(super) moves: Moves,
    /// Number of bands that were cleaned.
    pub cleaned: u64,
}

/// Number of physical sectors that are offered of a layout with `capacity` sectors of `sector` bytes.
pub fn offered_sectors(p: &MediaCacheParameters, sector: u64, capacity: u64) -> u64 {
    capacity.saturating_sub(p.cache_size.0 / sector)
}

impl MediaCache {
    /// The cache and the bands of a unit.
    ///
    /// # Errors
    /// A cache that takes more than half of the medium, or more bands than fit into memory.
    pub fn new(
        p: &MediaCacheParameters,
        m: &Mechanics,
        sector: u64,
        minimum_write: Span,
    ) -> Result<MediaCache, SpecError> {
        let (size, all) = (p.cache_size.0 / sector, m.layout.capacity());
        if size > all / 2 {
            return Err(SpecError::new(
                "mapping.cache_size",
                p.cache_size,
                format!("at most half of the medium, {} B", all / 2 * sector),
            ));
        }
        let (band, capacity) = (p.band_size.0 / sector, all - size);
        let written = (0..capacity.div_ceil(band)).map(|b| match p.initial {
            Initial::Empty => 0,
            Initial::Full => band.min(capacity - b * band) as u32,
        });
        Ok(MediaCache {
            size,
            band,
            capacity,
            most_extents: match p.cache_extents {
                0 => u64::MAX,
                n => n,
            },
            aggressive: p.cleaning == When::Aggressive,
            clean_after: p.clean_after,
            minimum_write,
            cached: Extents::default(),
            log: VecDeque::new(),
            head: 0,
            written: written.collect(),
            cleaning: None,
            moves: Moves::default(),
            cleaned: 0,
        })
    }

    /// The sector of the layout that holds an address, and how many addresses before it and from it on lie in
    /// consecutive sectors.
    fn whereabouts(&self, address: u64) -> (u64, u64, u64) {
        match self.cached.at(address) {
            Ok(e) => {
                let inside = address - e.address;
                // The log wraps around at the end of the cache.
                let sector = (e.at + inside) % self.size;
                let run = (e.count - inside).min(self.size - sector);
                (sector, inside.min(sector), run)
            }
            Err((from, past)) => (self.size + address, address - from, past.min(self.capacity) - address),
        }
    }

    /// Writes the present place of `address` into `place`. False, and nothing written, past the end.
    #[inline]
    pub fn locate_into(&self, m: &Mechanics, address: u64, place: &mut Place) -> bool {
        if address >= self.capacity {
            return false;
        }
        let (sector, before, run) = self.whereabouts(address);
        if !m.layout.locate_into(sector, place) {
            return false;
        }
        place.run = u64::from(place.run).min(run) as u32;
        place.before = u64::from(place.before).min(before) as u32;
        true
    }

    /// The first and the last of the addresses around `address` that lie in consecutive sectors of its track.
    #[inline]
    pub fn track_bounds(&self, m: &Mechanics, address: u64) -> (u64, u64) {
        let (sector, before, run) = self.whereabouts(address);
        let (low, high) = m.layout.track_bounds(sector);
        (address - before.min(sector - low), address + (run - 1).min(high - sector))
    }

    /// The place that the next write to the cache gets.
    pub fn next_place(&self, m: &Mechanics) -> Option<Place> {
        m.layout.locate(self.head % self.size)
    }
}
