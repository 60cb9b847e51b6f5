//! Cleaning: the extents of a band go from the cache to their homes.

use super::{Extent, MediaCache};
use crate::layout::Place;
use crate::mechanics::Mechanics;

/// A band that is being cleaned.
#[derive(Debug)]
pub struct Cleaning {
    pub band: u64,
    /// Its extents that were in the cache when cleaning began, in order of their sectors in the cache.
    extents: Vec<Extent>,
    /// How many of these extents have been read, and how many sectors of the next one.
    read: (usize, u64),
    /// Sectors of the band to be read, and how many of them have been.
    home: (u64, u64),
    /// Sectors of the band to be written, and how many of them have been.
    back: (u64, u64),
}

/// The next step of cleaning: sectors of the layout that are read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub sector: u64,
    pub count: u32,
    pub write: bool,
}

impl MediaCache {
    /// Whether the drive would clean when it is idle.
    #[inline]
    pub fn wants_cleaning(&self) -> bool {
        self.aggressive && !self.cached.is_empty()
    }

    /// The next step; `None` if the cache is empty. If no band is being cleaned, the band of the oldest data is begun.
    /// A step ends at the end of its track at the latest.
    #[inline]
    pub fn next_step(&mut self, m: &Mechanics) -> Option<Step> {
        if self.cleaning.is_none() {
            self.cleaning = Some(self.plan()?);
        }
        let (size, cleaning) = (self.size, self.cleaning.as_ref()?);
        let start = size + cleaning.band * self.band;
        let (next, done) = cleaning.read;
        let (sector, left, write) = match cleaning.extents.get(next) {
            Some(e) => {
                let sector = (e.at + done) % size;
                (sector, (e.count - done).min(size - sector), false)
            }
            None => {
                let read = cleaning.home.1 < cleaning.home.0;
                let (all, done) = if read { cleaning.home } else { cleaning.back };
                (start + done, all - done, !read)
            }
        };
        let place: Place = m.layout.locate(sector)?;
        Some(Step { sector, count: u64::from(place.run).min(left) as u32, write })
    }

    /// A step was carried out. True if it was the last one of its band, which is clean then.
    #[inline]
    pub fn step_ends(&mut self, step: &Step) -> bool {
        let Some(cleaning) = &mut self.cleaning else { return false };
        let count = u64::from(step.count);
        let (next, done) = &mut cleaning.read;
        if let Some(e) = cleaning.extents.get(*next) {
            *done += count;
            if *done == e.count {
                (*next, *done) = (*next + 1, 0);
            }
            return false;
        }
        if !step.write {
            cleaning.home.1 += count;
            return false;
        }
        cleaning.back.1 += count;
        let ends = cleaning.back.1 >= cleaning.back.0;
        if ends {
            self.commit();
        }
        ends
    }

    /// The work for the band of the oldest data in the cache.
    fn plan(&self) -> Option<Cleaning> {
        let oldest = self.log.front()?;
        let band = self.band_of(self.cached.first_copy(oldest)?.address);
        let (start, past) = self.bounds(band);
        let mut extents: Vec<Extent> = self.cached.overlapping(start, past).collect();
        let written = u64::from(self.written[band as usize]);
        let reaches = extents.last().map_or(0, |e| e.past() - start);
        let inside = extents.iter().filter(|e| e.address < start + written);
        let covered: u64 = inside.map(|e| e.past().min(start + written) - e.address).sum();
        extents.sort_unstable_by_key(|e| e.at);
        Some(Cleaning {
            band,
            extents,
            read: (0, 0),
            // If the cache has all data of the band, the band need not be read.
            home: (if covered == written { 0 } else { written }, 0),
            back: (written.max(reaches), 0),
        })
    }

    /// The cleaned band has been written. Data that the host has written to it in the meantime stay in the cache.
    fn commit(&mut self) {
        let Some(done) = self.cleaning.take() else { return };
        let (start, past) = self.bounds(done.band);
        self.written[done.band as usize] = done.back.0 as u32;
        for extent in &done.extents {
            self.cached.remove_copies(extent);
        }
        self.trim();
        self.moves.note(start, past);
        self.cleaned += 1;
    }
}
