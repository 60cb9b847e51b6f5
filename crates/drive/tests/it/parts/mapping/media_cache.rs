//! The media cache is compared with a naive medium, in which every sector remembers what was written to it last.

use crate::parts::fixtures::small_drive;
use headstack_drive::layout::Place;
use headstack_drive::mapping::media_cache::parameters::When;
use headstack_drive::mapping::media_cache::{MediaCache, MediaCacheParameters, Writer};
use headstack_drive::mapping::zoned::Initial;
use headstack_drive::mechanics::{Arm, Mechanics};
use headstack_drive::service::pass::{AccessRequest, LayoutPlaces, Places};
use headstack_drive::Models;
use headstack_testkit::XorShift;
use headstack_units::{Bytes, Span, Time, Turn};
use std::collections::HashMap;

/// The content of a sector: an address, and the number of the write of the host.
type Content = Option<(u64, u64)>;

/// A medium, what the host expects on it, and the memory into which a band is read.
struct Naive {
    m: Mechanics,
    medium: Vec<Content>,
    newest: Vec<Content>,
    memory: HashMap<u64, u64>,
    /// The sector behind the latest write to each band.
    ends: HashMap<u64, u64>,
    writes: u64,
}

impl Naive {
    fn sector(&self, place: &Place) -> u64 {
        let (c, h) = (place.cylinder, u32::from(place.head));
        let found = self.m.layout.address_at(c, h, place.sector);
        found.expect("a usable sector")
    }

    /// Tracks of a band overlap: a write to it begins at its start, or where the latest one ended.
    fn check_order(&mut self, media: &MediaCache, sector: u64, count: u64) {
        if sector < media.size {
            assert!(sector + count <= media.size, "a write crosses the end of the cache");
            return;
        }
        let band = media.band_of(sector - media.size);
        let (start, past) = media.bounds(band);
        let end = self.ends.insert(band, sector + count);
        let in_order = sector == media.size + start || Some(sector) == end;
        assert!(in_order, "band {band}: a write at {sector} after {end:?}");
        assert!(sector + count <= media.size + past, "a write leaves band {band}");
    }

    fn write(&mut self, media: &mut MediaCache, mut address: u64, mut left: u32) {
        self.writes += 1;
        while left > 0 {
            let (count, direct) = media.piece(address, left);
            while !direct && !media.has_room(count) {
                self.clean(media);
            }
            let order = AccessRequest::plain(address, count, Time::ZERO);
            let mut done = 0;
            while done < count {
                let mut writer = Writer { media, direct };
                let place = writer.place(&self.m, &order, done, &Arm::default(), Time::ZERO);
                let place = place.expect("a place");
                let (sector, run) = (self.sector(&place), place.run.min(count - done));
                self.check_order(media, sector, u64::from(run));
                for i in 0..u64::from(run) {
                    let content = Some((address + u64::from(done) + i, self.writes));
                    self.medium[(sector + i) as usize] = content;
                    self.newest[(address + u64::from(done) + i) as usize] = content;
                }
                done += run;
            }
            address += u64::from(count);
            left -= count;
        }
    }

    /// One step of cleaning.
    fn clean(&mut self, media: &mut MediaCache) {
        let step = media.next_step(&self.m).expect("something to clean");
        let mut places = LayoutPlaces;
        let order = AccessRequest::plain(step.sector, step.count, Time::ZERO);
        let place = places.place(&self.m, &order, 0, &Arm::default(), Time::ZERO);
        assert!(place.expect("a place").run >= step.count, "a step leaves its track");
        for sector in step.sector..step.sector + u64::from(step.count) {
            if step.write {
                let address = sector - media.size;
                let version = self.memory.get(&address);
                self.medium[sector as usize] = version.map(|v| (address, *v));
            } else if let Some((address, version)) = self.medium[sector as usize] {
                let known = self.memory.entry(address).or_insert(version);
                *known = version.max(*known);
            }
        }
        if step.write {
            self.check_order(media, step.sector, u64::from(step.count));
        }
        if media.step_ends(&step) {
            self.memory.clear();
        }
    }

    /// Every address is found where its newest copy is.
    fn check(&self, media: &MediaCache) {
        let mut place = Place::default();
        let mut address = 0;
        while address < media.capacity {
            assert!(media.locate_into(&self.m, address, &mut place));
            let sector = self.sector(&place);
            assert!(place.run > 0);
            assert!(u64::from(place.before) <= address);
            let from = address - u64::from(place.before);
            let (low, high) = media.track_bounds(&self.m, address);
            assert!(low <= from && address + u64::from(place.run) - 1 <= high);
            for a in low..=high {
                let newest = self.newest[a as usize];
                let held = self.medium[(sector + a - address) as usize];
                assert!(newest.is_none() || held == newest, "{a}: {held:?}, not {newest:?}");
            }
            address += u64::from(place.run);
        }
        assert!(!media.locate_into(&self.m, media.capacity, &mut place));
    }
}

fn both(p: &MediaCacheParameters) -> (MediaCache, Naive) {
    let spec = small_drive("");
    let m = Models::builtin().mechanics(&spec, &spec.geometry, Turn(0)).expect("mechanics");
    let media = MediaCache::new(p, &m, 512, Span::ZERO).expect("a media cache");
    let naive = Naive {
        medium: vec![None; m.layout.capacity() as usize],
        newest: vec![None; media.capacity as usize],
        memory: HashMap::new(),
        ends: HashMap::new(),
        writes: 0,
        m,
    };
    (media, naive)
}

/// Random writes, some of them sequential, with random steps of cleaning in between. No copy is lost, bands are written
/// in order, and in the end an idle drive has all data in their homes.
#[test]
fn no_copy_is_lost_and_bands_are_written_in_order() {
    let mut noise = XorShift::default();
    let mut full = 0;
    for run in 0..24 {
        let p = MediaCacheParameters {
            cache_size: Bytes(512 * [96, 500, 1500][run % 3]),
            cache_extents: [0, 8, 40][run / 3 % 3],
            band_size: Bytes(512 * [128, 300][run % 2]),
            cleaning: When::Aggressive,
            initial: [Initial::Empty, Initial::Full][run / 2 % 2],
            ..MediaCacheParameters::default()
        };
        let (mut media, mut naive) = both(&p);
        let capacity = media.capacity;
        if p.initial == Initial::Full {
            for address in 0..capacity {
                naive.newest[address as usize] = Some((address, 0));
                naive.medium[(media.size + address) as usize] = Some((address, 0));
            }
        }
        let mut stream = 0;
        for _ in 0..300 {
            let most = [4, 30, 400][noise.below(3) as usize];
            let count = 1 + noise.below(most);
            let address = match noise.below(3) {
                0 => stream,
                1 => noise.below(capacity) / media.band * media.band,
                _ => noise.below(capacity),
            };
            let count = (capacity - address).min(count) as u32;
            let before = media.cleaned;
            naive.write(&mut media, address, count);
            full += media.cleaned - before;
            stream = (address + u64::from(count)) % capacity;
            for _ in 0..noise.below(12) {
                if !media.cached.is_empty() {
                    naive.clean(&mut media);
                }
            }
            assert!(media.cached.len() <= media.most_extents);
            naive.check(&media);
        }
        while media.wants_cleaning() {
            naive.clean(&mut media);
        }
        naive.check(&media);
        assert_eq!((media.log.len(), media.cached.len()), (0, 0), "run {run}");
    }
    assert!(full > 500, "writes waited for the cleaning of {full} bands");
}
