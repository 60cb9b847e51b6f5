//! Bounds of the numbers of a description that several tables share.
//!
//! The bounds are wider than any disk needs. They are narrow enough that no sum or product during a run
//! overflows: a command takes minutes at most, a run of 10^8 commands stays below the 584 years of 64 bits of
//! nanoseconds, and an address in blocks fits 50 bits. Each field of a table states its own bounds.

use headstack_schema::SpecError;
use headstack_units::{Bandwidth, Span};
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
