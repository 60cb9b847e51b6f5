//! Bounds of the numbers of a description that several tables share, and what several fields must keep to.
//!
//! The bounds are wider than any disk needs. They are narrow enough that no sum or product during a run
//! overflows: a command takes minutes at most, a run of 10^8 commands stays below the 584 years of 64 bits of
//! nanoseconds, and an address in blocks fits 50 bits. Each field of a table states its own bounds.

use crate::spec::{CacheSpec, DriveSpec, GeometrySpec, LinkSpec, MediaScan, MediaScanMode};
use headstack_schema::{Parameter, SpecError};
use headstack_units::{Bandwidth, Bytes, Span};
use std::fmt::Display;
use std::ops::RangeInclusive;

const NS_PER_S: i64 = 1_000_000_000;

/// Controller overhead of one command.
pub(crate) const MOST_OVERHEAD: Span = Span(10 * NS_PER_S);
/// One seek, head switch or settling.
pub(crate) const MOST_MOVEMENT: Span = Span(NS_PER_S);
/// Transfer of one physical sector over the link: some kilobytes per second.
pub(crate) const MOST_SECTOR: Span = Span(NS_PER_S / 10);
/// Of the link.
pub(crate) const MOST_RATE: Bandwidth = Bandwidth(1e12);
/// How long a command or data may be left waiting.
pub(crate) const MOST_WAIT: Span = Span(24 * 3600 * NS_PER_S);
/// A recovery or a spin-up.
pub(crate) const MOST_PAUSE: Span = Span(3600 * NS_PER_S);
/// When a part may fail: a hundred years of 365 days.
pub(crate) const MOST_LIFE: Span = Span(100 * 365 * 24 * 3600 * NS_PER_S);
/// Mean time to failure; the 2.5 million hours of data sheets are 285 years.
pub(crate) const MOST_MEAN_LIFE: Span = Span(290 * 365 * 24 * 3600 * NS_PER_S);
/// Sectors of a segment, of read-ahead or of a threshold.
pub(crate) const MOST_SECTORS: u32 = 1 << 24;
/// The year of the IBM 350, the first disk drive.
pub(crate) const FIRST_DISK: u32 = 1956;
pub(crate) const LATEST_DISK: u32 = 2100;
/// Extents among which destaging chooses.
pub(crate) const MOST_WINDOW: u32 = 1024;
pub(crate) const MOST_SEGMENTS: u32 = 65_536;
pub(crate) const MOST_COMMANDS: u32 = 1 << 20;
/// Cylinders of a disk.
pub(crate) const MOST_CYLINDERS: u32 = 50_000_000;
/// Recording surfaces of a stack.
pub(crate) const MOST_SURFACES: u32 = 1024;
/// Sectors of a track, summed over surfaces that work at once.
pub(crate) const MOST_TRACK: u32 = 10_000_000;
/// 512-byte blocks of a stack: 36 PB.
pub(crate) const MOST_BLOCKS: u64 = 1 << 46;
/// Blocks that a scan of the medium keeps track of.
pub(crate) const MOST_SCANNED: u128 = 1 << 32;

/// `value`, or an error at `key` if it is outside `range` or not a number.
pub(crate) fn bounded<T: PartialOrd + Display>(
    key: impl Into<String>,
    value: T,
    range: RangeInclusive<T>,
) -> Result<T, SpecError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let need = format!("{} to {}", range.start(), range.end());
    Err(SpecError::new(key, value, need))
}

impl DriveSpec {
    /// Checks every parameter against its bounds, and the tables against each other, except the parameters of
    /// models.
    ///
    /// # Errors
    /// The dotted key, the value and its bound.
    pub fn check(&self) -> Result<(), SpecError> {
        Parameter::check(self)?;
        let geometry = &self.geometry;
        self.parallelism.check(self.dash, geometry)?;
        let scan = self.media_scan.check_size(geometry);
        scan.map_err(|e| e.within("media_scan"))?;
        let cache = self.cache.check_size(geometry.sector_size);
        cache.map_err(|e| e.within("cache"))?;
        let link = self.link.check_rate(geometry.sector_size);
        link.map_err(|e| e.within("link"))
    }
}

impl GeometrySpec {
    /// Checks every parameter against its bounds. Layouts check their own, and zones against the size.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        Parameter::check(self).map_err(|e| e.within("geometry"))
    }

    pub(crate) fn check_fields(&self) -> Result<(), SpecError> {
        if !matches!(self.sector_size.0, 512 | 4096) {
            let need = "512 B or 4 KiB";
            return Err(SpecError::new("sector_size", self.sector_size, need));
        }
        match self.zones.len() {
            1..=65_535 => Ok(()),
            n => Err(SpecError::new("zones", n, "1 to 65535 zones")),
        }
    }
}

impl MediaScan {
    fn check_size(&self, geometry: &GeometrySpec) -> Result<(), SpecError> {
        let MediaScan { mode, block } = self;
        if *mode == MediaScanMode::None {
            return Ok(());
        }
        let tracks = u128::from(geometry.cylinders) * u128::from(geometry.surfaces);
        let longest = |z: &crate::spec::ZoneSpec| {
            (0..geometry.surfaces)
                .map(|h| z.sectors_per_track.of(h))
                .max()
        };
        let most = geometry.zones.iter().filter_map(longest).max().unwrap_or(0);
        let bytes = tracks * u128::from(most) * u128::from(geometry.sector_size.0);
        let least = bytes.div_ceil(MOST_SCANNED);
        if u128::from(block.0) < least {
            let need = format!("at least {least} B for a medium of that size");
            return Err(SpecError::new("block", block, need));
        }
        Ok(())
    }
}

impl CacheSpec {
    pub(crate) fn check_fields(&self) -> Result<(), SpecError> {
        let least = |needed: bool| u32::from(needed);
        let of_enabled = least(self.enabled);
        bounded("segments", self.segments, of_enabled..=MOST_SEGMENTS)?;
        if self.enabled && self.separate_write_segment && self.segments < 2 {
            let need = "2 or more, one of which is for writes (separate_write_segment)";
            return Err(SpecError::new("segments", self.segments, need));
        }
        let sectors = self.segment_sectors;
        bounded("segment_sectors", sectors, of_enabled..=MOST_SECTORS)?;
        let of_write_back = least(self.write_back);
        let segments = self.write_segments;
        bounded("write_segments", segments, of_write_back..=MOST_SEGMENTS)?;
        Ok(())
    }

    fn check_size(&self, sector: Bytes) -> Result<(), SpecError> {
        let buffer = u64::from(self.segments) * u64::from(self.segment_sectors) * sector.0;
        let fits = |limit: &Bytes| limit.0 >= sector.0 && (limit.0 <= buffer || !self.enabled);
        if let Some(limit) = self.dirty_limit.filter(|l| !fits(l)) {
            let need = format!("a sector to the whole buffer, {}", Bytes(buffer));
            return Err(SpecError::new("dirty_limit", limit, need));
        }
        Ok(())
    }
}

impl LinkSpec {
    fn check_rate(&self, sector: Bytes) -> Result<(), SpecError> {
        if let Some(rate) = self.rate {
            let least = sector.0 as f64 * 1e9 / MOST_SECTOR.0 as f64;
            bounded("rate", rate, Bandwidth(least)..=MOST_RATE)?;
        }
        Ok(())
    }
}
