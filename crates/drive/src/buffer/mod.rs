//! The drive's buffer: segments for reads, and written data that the medium does not have yet.

use crate::mechanics::Mechanics;
use crate::parallelism::Path;

mod segments;

pub(crate) use segments::{Segment, Segments};

/// Written data waiting for the mechanism, in physical sectors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dirty {
    pub start: u64,
    pub end: u64,
    /// When they were in the buffer.
    pub ready: u64,
    /// Some sectors were written in part.
    pub partial: bool,
}

impl Dirty {
    pub fn overlaps(&self, start: u64, end: u64) -> bool {
        self.start < end && start < self.end
    }
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.start <= start && end <= self.end
    }
}

/// All that the buffer holds.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    pub segments: Segments,
    pub dirty: Vec<Dirty>,
    /// When the newest of the written data that have left for the medium had come.
    pub newest_sent: u64,
    /// Writes that completed in the buffer and whose place nothing reaches any more.
    pub lost_writes: u64,
}

impl Buffer {
    /// Neither data that a read could find nor data that are to be written.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.segments.list.is_empty() && self.dirty.is_empty()
    }

    /// Drops the unwritten data that no head set reaches any more.
    pub fn drop_unreachable(&mut self, mechanics: &Mechanics, paths: &[Path]) {
        let before = self.dirty.len();
        self.dirty.retain(|d| {
            let place = mechanics.layout.locate(d.start);
            let reached = |p: &Path| place.is_some_and(|at| p.reaches(1 << at.head, at.cylinder));
            paths.iter().any(reached)
        });
        self.lost_writes += (before - self.dirty.len()) as u64;
    }
}
