//! Writes of a drive with a media cache: to the cache, or directly to their home at the write pointer of a band.

use super::{Extent, MediaCache};
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::service::pass::{AccessRequest, Places};
use headstack_units::Time;

impl MediaCache {
    /// How many sectors of a write of `count` from `address` on go to the same kind of place, and whether this is their
    /// home.
    pub fn piece(&self, address: u64, count: u32) -> (u32, bool) {
        let band = self.band_of(address);
        let (start, past) = self.bounds(band);
        let direct = address == start + u64::from(self.written[band as usize])
            && self.cleaning.as_ref().is_none_or(|c| c.band != band);
        let most = match direct {
            true => past - address,
            // In the cache a piece may continue into the next band, unless that band can take the rest directly.
            false => self.to_direct(address, count).min(self.most()),
        };
        (u64::from(count).min(most) as u32, direct)
    }

    /// Number of sectors from `address` on before a band that takes the rest directly.
    fn to_direct(&self, address: u64, count: u32) -> u64 {
        let past = address + u64::from(count);
        let mut band = self.band_of(address) + 1;
        while band * self.band < past {
            if self.written.get(band as usize) == Some(&0) {
                break;
            }
            band += 1;
        }
        (band * self.band - address).min(u64::from(count))
    }

    pub fn band_of(&self, address: u64) -> u64 {
        address / self.band
    }

    /// The addresses of a band: its first one, and the one after its last.
    pub fn bounds(&self, band: u64) -> (u64, u64) {
        let start = band * self.band;
        (start, (start + self.band).min(self.capacity))
    }

    /// The longest piece of a write that goes to the cache: a quarter of the cache, so that long writes find room.
    fn most(&self) -> u64 {
        self.size.div_ceil(4)
    }

    /// Whether the cache has room for `count` sectors of a write, or for its longest piece if that is less. A write
    /// inside an extent divides it in three.
    pub fn has_room(&self, count: u32) -> bool {
        let oldest = self.log.front().map_or(self.head, |e| e.at);
        self.head - oldest + u64::from(count).min(self.most()) <= self.size
            && self.cached.len() + 2 <= self.most_extents
    }

    /// Takes the place for the next sectors of a write and returns it.
    fn take(&mut self, m: &Mechanics, address: u64, count: u32, direct: bool) -> Option<Place> {
        let (sector, most) = match direct {
            true => (self.size + address, u64::MAX),
            false => {
                let sector = self.head % self.size;
                (sector, self.size - sector)
            }
        };
        let place = m.layout.locate(sector)?;
        let run = u64::from(place.run.min(count)).min(most);
        if direct {
            self.cached.remove(address, address + run);
            self.written[self.band_of(address) as usize] += run as u32;
        } else {
            let new = Extent { address, count: run, at: self.head };
            self.cached.insert(new);
            self.log.push_back(new);
            self.head += run;
        }
        self.trim();
        self.moves.note(address, address + run);
        Some(Place { run: run as u32, before: 0, ..place })
    }

    /// Frees the oldest sectors of the log that hold no current copy.
    #[inline]
    pub fn trim(&mut self) {
        while let Some(oldest) = self.log.front() {
            if self.cached.first_copy(oldest).is_some() {
                return;
            }
            self.log.pop_front();
        }
    }
}

/// Chooses the places of a pass that writes a piece ([`MediaCache::piece`]): home if `direct`.
pub struct Writer<'a> {
    pub media: &'a mut MediaCache,
    pub direct: bool,
}

impl Places for Writer<'_> {
    fn place(&mut self, m: &Mechanics, order: &AccessRequest, done: u32, _: &Arm, _: Time) -> Option<Place> {
        let address = order.sector + u64::from(done);
        self.media.take(m, address, order.count - done, self.direct)
    }
}
