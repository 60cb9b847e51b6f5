//! Code that all zoned layouts share: zones, spares, slips, remaps and skews.
//!
//! The sectors of a zone are numbered along its tracks in logical order by a *physical index*. Spare sectors,
//! slipped sectors and unused sectors at the front of the zone have no address, so the mapping from addresses
//! to physical indices is monotone. `TrackOrder` gives the track of a physical index.

mod order;

pub(super) use order::{BandOrder, HeadOrder, StackOrder};

use super::shape::{self, Skews};
use super::{Grid, Layout, Place};
use crate::spec::{GeometrySpec, Sparing, ZoneSpec};
use headstack_engine::SpecError;
use headstack_units::{Divisor, Turn};
use order::TrackOrder;

/// The track format of one surface.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Format {
    sectors: Divisor,
    sector_ns: f64,
}

/// One zone, prepared for look-ups.
// It has more fields than other types because each look-up needs most of them together: a part for spares and defects was
// tried, and every use became longer.
pub(super) struct Zone {
    first_cylinder: u32,
    cylinders: u32,
    surfaces: Divisor,
    /// The track format, if it is the same on all surfaces.
    same: Option<Format>,
    per_surface: Vec<Format>,
    cylinder_sectors: u64,
    first_address: u64,
    addresses: u64,
    /// `first_address + addresses`.
    past_address: u64,
    /// The same, but not beyond the capacity of the drive.
    end: u64,
    /// Set if there are no remaps, and no spares between addresses, so that only slips shift the addresses.
    plain: bool,
    empty: u64,
    spares: u64,
    sparing: Sparing,
    unit_data: u64,
    unit_places: u64,
    unit_front: u64,
    slips: Vec<u64>,
    /// `slips[i] - i`: the number of slips before an address is a partition point of this list.
    slips_less_rank: Vec<u64>,
    remaps: Vec<[u64; 2]>,
    skews: Skews,
}

/// Division in 32 bits where both numbers fit, as they nearly always do. It is faster.
#[inline]
fn div_rem(a: u64, b: u64) -> (u64, u64) {
    if (a | b) >> 32 == 0 {
        let (a, b) = (a as u32, b as u32);
        ((a / b) as u64, (a % b) as u64)
    } else {
        (a / b, a % b)
    }
}

impl Zone {
    fn sectors_on(&self, head: u32) -> u32 {
        self.per_surface[head as usize].sectors.get()
    }

    /// The physical index of the `v`-th sector that is not slipped, the number of sectors from it to the next
    /// slip, and the number between the last slip and it.
    #[inline]
    fn pushed(&self, v: u64) -> (u64, u64, u64) {
        if self.slips_less_rank.is_empty() {
            return (v, u64::MAX, v);
        }
        let pushed = self.slips_less_rank.partition_point(|s| *s <= v);
        let (past, next) = self.slips_less_rank.split_at(pushed);
        let run = next.first().map_or(u64::MAX, |s| s - v);
        (v + pushed as u64, run, v - past.last().unwrap_or(&0))
    }

    /// The physical index of the `r`-th address of the zone, and an upper bound of the number of addresses
    /// from it on with consecutive indices.
    #[inline]
    fn index_of(&self, r: u64) -> (u64, u64) {
        let v = r + self.empty;
        match self.sparing {
            Sparing::None => (v, u64::MAX),
            Sparing::DiskEnd | Sparing::ZoneEnd | Sparing::ZoneEndSlipToDiskEnd => {
                let (index, run, _) = self.pushed(v);
                (index, run)
            }
            Sparing::Tracks => {
                let spt = self.sectors_on(0) as u64;
                let (track, sector) = div_rem(v, spt);
                let pushed = self.slips_less_rank.partition_point(|s| *s <= track);
                ((track + pushed as u64) * spt + sector, spt - sector)
            }
            Sparing::CylinderEnd | Sparing::CylinderFront | Sparing::TrackEnd | Sparing::Range => {
                let (unit, within) = div_rem(v, self.unit_data);
                let base = unit * self.unit_places + self.unit_front + within;
                let first = self.slips.partition_point(|s| *s < unit * self.unit_places);
                let mut pushed = 0;
                let mut run = self.unit_data - within;
                for slip in &self.slips[first..] {
                    if *slip >= (unit + 1) * self.unit_places {
                        break;
                    }
                    if *slip <= base + pushed {
                        pushed += 1;
                    } else {
                        run = run.min(slip - base - pushed);
                        break;
                    }
                }
                (base + pushed, run)
            }
            Sparing::CylinderEndSlipToZoneEnd | Sparing::CylinderFrontSlipToZoneEnd => {
                let place = |v: u64| {
                    let (unit, within) = div_rem(v, self.unit_data);
                    (unit * self.unit_places + self.unit_front + within, self.unit_data - within)
                };
                let mut v = v;
                let (mut index, mut run) = place(v);
                for slip in &self.slips {
                    if *slip <= index {
                        v += 1;
                        (index, run) = place(v);
                    } else {
                        run = run.min(slip - index);
                        break;
                    }
                }
                (index, run)
            }
        }
    }

    /// The first address in `within` whose index is at least `bound`, or the end of `within`. Addresses are
    /// counted in the zone.
    fn first_from(&self, bound: u64, within: std::ops::Range<u64>) -> u64 {
        let (mut low, mut high) = (within.start, within.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.index_of(middle).0 < bound {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Refuses spares and slips that do not fit: the last address must lie inside the zone.
    fn refuse_overflow(&self, places: u64) -> Result<(), SpecError> {
        let (last, _) = self.index_of(self.addresses - 1);
        if last < places {
            return Ok(());
        }
        Err(SpecError::new(
            "slips",
            format!("{} slips", self.slips.len()),
            format!("at most what {} spares can take in", self.spares),
        ))
    }

    /// Refuses slips that shift data out of their unit onto other data, and remaps onto sectors in use. Both
    /// would give two addresses the same place.
    fn refuse_collisions(&self, places: u64) -> Result<(), SpecError> {
        if self.unit_places < places {
            for slip in &self.slips {
                let next = (slip / self.unit_places + 1) * self.unit_data;
                let Some(r) = next.checked_sub(self.empty).filter(|r| *r > 0) else { continue };
                if r < self.addresses && self.index_of(r - 1).0 >= self.index_of(r).0 {
                    return Err(SpecError::new(
                        "slips",
                        slip,
                        format!("at most what {} spares can take in", self.spares),
                    ));
                }
            }
        }
        let unit = match self.sparing {
            Sparing::Tracks => self.sectors_on(0) as u64,
            _ => 1,
        };
        let mut targets: Vec<u64> = self.remaps.iter().map(|r| r[1]).collect();
        targets.sort_unstable();
        for (list, what) in
            [(self.remaps.iter().map(|r| r[0]).collect(), "moved once"), (targets, "the target of one remap")]
        {
            let list: Vec<u64> = list;
            if let Some(twice) = list.windows(2).find(|w| w[0] == w[1]) {
                return Err(SpecError::new("remaps", twice[0], format!("places each {what}")));
            }
        }
        for [_, to] in &self.remaps {
            if self.remaps.binary_search_by_key(to, |r| r[0]).is_ok() {
                continue;
            }
            let r = self.first_from(to * unit, 0..self.addresses);
            if r < self.addresses && self.index_of(r).0 < (to + 1) * unit {
                return Err(SpecError::new("remaps", to, "a place that holds no address"));
            }
        }
        Ok(())
    }

    /// Applies remaps: the physical index of the data, and the length of the run from there.
    #[inline]
    fn remapped(&self, index: u64, run: u64) -> (u64, u64) {
        if self.remaps.is_empty() {
            return (index, run);
        }
        if self.sparing == Sparing::Tracks {
            // With this rule, remaps name tracks.
            let spt = self.sectors_on(0) as u64;
            let (track, sector) = div_rem(index, spt);
            let moved = self.remaps.iter().find(|r| r[0] == track);
            return (moved.map_or(track, |r| r[1]) * spt + sector, run.min(spt - sector));
        }
        match self.remaps.binary_search_by_key(&index, |r| r[0]) {
            Ok(i) => (self.remaps[i][1], 1),
            Err(i) => {
                let next = self.remaps.get(i).map_or(u64::MAX, |r| r[0] - index);
                (index, run.min(next))
            }
        }
    }

    /// The number of slips by which the angle of this sector is shifted: for rules that slip inside cylinders
    /// or tracks, those before its cylinder or track; otherwise none.
    fn slips_before(&self, index: u64) -> u64 {
        let unit = match self.sparing {
            Sparing::CylinderEnd
            | Sparing::CylinderFront
            | Sparing::CylinderEndSlipToZoneEnd
            | Sparing::CylinderFrontSlipToZoneEnd => self.cylinder_sectors,
            Sparing::TrackEnd => self.sectors_on(0) as u64,
            _ => return 0,
        };
        if self.slips.is_empty() {
            return 0;
        }
        let start = index / unit * unit;
        self.slips.partition_point(|s| *s < start) as u64
    }
}

/// A layout made of zones.
pub(super) struct ZonedLayout<O> {
    order: O,
    zones: Vec<Zone>,
    capacity: u64,
    /// Buckets of `1 << bucket_shift` addresses.
    buckets: Vec<Bucket>,
    bucket_shift: u32,
}

/// Data about a range of addresses, for fast look-up.
#[derive(Clone, Copy)]
struct Bucket {
    /// Zone of the first address.
    zone: u16,
    /// The number of slips that shift all of its addresses, if they lie in one plain zone and no slip lies on
    /// their tracks; else [`Bucket::MIXED`].
    pushed: u16,
}

impl Bucket {
    const MIXED: u16 = u16::MAX;

    fn new(zones: &[Zone], addresses: std::ops::Range<u64>) -> Bucket {
        let zone = zones.partition_point(|z| z.past_address <= addresses.start);
        let pushed = zones.get(zone).and_then(|z| {
            if !z.plain || addresses.end > z.past_address {
                return None;
            }
            let track = z.per_surface.iter().map(|f| u64::from(f.sectors.get())).max()?;
            let v = addresses.start - z.first_address + z.empty;
            let past = v + (addresses.end - addresses.start) + track;
            let count = z.slips_less_rank.partition_point(|s| *s <= v.saturating_sub(track));
            let none = z.slips_less_rank.get(count).is_none_or(|s| *s >= past);
            u16::try_from(count).ok().filter(|n| none && *n != Bucket::MIXED)
        });
        Bucket { zone: zone as u16, pushed: pushed.unwrap_or(Bucket::MIXED) }
    }
}

impl<O: TrackOrder> ZonedLayout<O> {
    pub(super) fn build(spec: &GeometrySpec, order: O) -> Result<Self, SpecError> {
        let period_ns = shape::period_ns(spec)?;
        let mut zones = Vec::with_capacity(spec.zones.len());
        let mut first_address = 0u64;
        for (i, zone) in spec.zones.iter().enumerate() {
            let zone = build_zone(spec, zone, first_address, period_ns, &order).map_err(shape::in_zone(i))?;
            first_address += zone.addresses;
            zones.push(zone);
        }
        let capacity = shape::capacity(spec, first_address)?;
        for zone in &mut zones {
            zone.end = zone.past_address.min(capacity);
        }
        let mut bucket_shift = 0;
        while (first_address >> bucket_shift) >= 4096 {
            bucket_shift += 1;
        }
        let buckets = (0..=(first_address >> bucket_shift))
            .map(|b| Bucket::new(&zones, b << bucket_shift..(b + 1) << bucket_shift))
            .collect();
        Ok(ZonedLayout { order, zones, capacity, buckets, bucket_shift })
    }

    #[inline]
    fn bucket(&self, address: u64) -> Bucket {
        self.buckets[(address >> self.bucket_shift) as usize]
    }

    #[inline]
    fn zone_of(&self, address: u64) -> usize {
        let mut zone = self.bucket(address).zone as usize;
        while address >= self.zones[zone].past_address {
            zone += 1;
        }
        zone
    }
}

/// A physical index, and what lies around it.
struct Found {
    index: u64,
    /// Upper bounds of the numbers of sectors with consecutive indices from it on, and before it.
    run: u64,
    before: u64,
    /// As [`Zone::slips_before`].
    slips_before: u64,
}

impl<O: TrackOrder> ZonedLayout<O> {
    /// As [`Layout::locate_into`], for an address in a bucket whose addresses are not all shifted alike.
    #[inline(never)]
    fn locate_mixed(&self, sector: u64, place: &mut Place) {
        let z = self.zone_of(sector);
        let zone = &self.zones[z];
        let r = sector - zone.first_address;
        let (index, run, before, slips_before) = if zone.plain {
            let (index, run, before) = zone.pushed(r + zone.empty);
            (index, run, before.min(r), 0)
        } else {
            let (index, run) = zone.index_of(r);
            let (index, run) = zone.remapped(index, run);
            (index, run, 0, zone.slips_before(index))
        };
        let found = Found { index, run, before, slips_before };
        self.put(zone, z as u16, sector, found, place);
    }

    /// Writes the place of `sector`, which was found in zone number `z`.
    #[inline(always)]
    fn put(&self, zone: &Zone, z: u16, sector: u64, found: Found, place: &mut Place) {
        let at = self.order.split(zone, found.index);
        let sectors_per_track = at.format.sectors.get();
        let run = found.run.min((sectors_per_track - at.sector) as u64).min(zone.end - sector);
        let angle = zone.skews.angle(
            at.track_skews,
            at.cylinder_skews,
            at.sector as u64 + found.slips_before,
            at.format.sectors.inverse(),
        );
        *place = Place {
            cylinder: zone.first_cylinder + at.cylinder,
            head: at.head as u16,
            zone: z,
            sector: at.sector,
            sectors_per_track,
            run: run as u32,
            before: found.before.min(at.sector as u64) as u32,
            angle,
            sector_ns: at.format.sector_ns,
        };
    }
}

/// Whether spares and slips are spread over the zone in one way, so that places follow addresses.
fn is_plain(sparing: Sparing) -> bool {
    matches!(sparing, Sparing::None | Sparing::DiskEnd | Sparing::ZoneEnd | Sparing::ZoneEndSlipToDiskEnd)
}

/// The places of a zone, as its sparing divides them.
struct ZonePlaces {
    /// All places, those of a cylinder, of a track, and of a unit that has spares of its own.
    all: u64,
    cylinder: u64,
    track: u64,
    unit: u64,
    /// Spares at the front of each unit.
    unit_front: u64,
}

impl ZonePlaces {
    fn new(spec: &GeometrySpec, zone: &ZoneSpec, formats: &[u32], cylinders: u32) -> ZonePlaces {
        let cylinder: u64 = formats.iter().map(|n| *n as u64).sum();
        let all = cylinder * cylinders as u64;
        let track = formats[0] as u64;
        let range = spec.sparing_range_cylinders.max(1) as u64;
        let (unit, unit_front) = match spec.sparing {
            Sparing::CylinderEnd | Sparing::CylinderEndSlipToZoneEnd => (cylinder, 0),
            Sparing::CylinderFront | Sparing::CylinderFrontSlipToZoneEnd => (cylinder, zone.spares as u64),
            Sparing::TrackEnd => (track, 0),
            Sparing::Range => (cylinder * range, 0),
            _ => (all, 0),
        };
        ZonePlaces { all, cylinder, track, unit, unit_front }
    }

    /// The limit of the numbers of slipped and remapped places, or tracks.
    fn limit(&self, sparing: Sparing) -> u64 {
        match sparing {
            Sparing::Tracks => self.all / self.track,
            _ => self.all,
        }
    }

    /// The number of places without an address, if `slips` are slipped.
    ///
    /// # Errors
    /// More than the zone can spare.
    fn lost(&self, spec: &GeometrySpec, zone: &ZoneSpec, cylinders: u32, slips: u64) -> Result<u64, SpecError> {
        let (spares, c) = (zone.spares as u64, cylinders as u64);
        let range = spec.sparing_range_cylinders.max(1) as u64;
        let lost = match spec.sparing {
            Sparing::None => 0,
            Sparing::Tracks => spares * self.track,
            Sparing::CylinderEnd | Sparing::CylinderFront => spares * c,
            Sparing::TrackEnd => spares * c * spec.surfaces as u64,
            Sparing::CylinderEndSlipToZoneEnd | Sparing::CylinderFrontSlipToZoneEnd => spares * c + slips,
            Sparing::DiskEnd => slips,
            Sparing::Range => spares * (c / range),
            Sparing::ZoneEnd => spares,
            Sparing::ZoneEndSlipToDiskEnd => spares + slips,
        } + zone.empty_sectors as u64;
        let need = format!("fewer than the zone's {} places", self.all);
        if u64::from(zone.empty_sectors) >= self.all {
            return Err(SpecError::new("empty_sectors", zone.empty_sectors, need));
        }
        if lost >= self.all {
            let got = format!("{lost} places without address");
            return Err(SpecError::new("spares", got, need));
        }
        Ok(lost)
    }
}

/// The slipped places of a zone, or its slipped tracks, each once and in order.
fn slips(zone: &ZoneSpec) -> Vec<u64> {
    let mut slips = zone.slips.clone();
    slips.sort_unstable();
    slips.dedup();
    slips
}

fn build_zone(
    spec: &GeometrySpec,
    zone: &ZoneSpec,
    first_address: u64,
    period_ns: f64,
    order: &impl TrackOrder,
) -> Result<Zone, SpecError> {
    let cylinders = shape::cylinders(spec, zone)?;
    let formats = shape::formats(spec, zone)?;
    let same = formats.iter().all(|n| *n == formats[0]);
    let skews = shape::skews(spec, zone, formats[0]);
    let format = |n: &u32| Format { sectors: Divisor::new(*n), sector_ns: period_ns / *n as f64 };
    let per_surface: Vec<Format> = formats.iter().map(format).collect();
    let (sparing, spares, plain) = (spec.sparing, zone.spares as u64, is_plain(spec.sparing));
    if !plain && (!same || !order.is_cylinder_major()) {
        return Err(unlike_sparing(sparing));
    }
    let places = ZonePlaces::new(spec, zone, &formats, cylinders);
    if spares >= places.unit {
        return Err(SpecError::new("spares", spares, format!("fewer than {}", places.unit)));
    }
    let limit = places.limit(sparing);
    let below = || format!("places below {limit}");
    let slips = slips(zone);
    if let Some(last) = slips.last().filter(|last| **last >= limit) {
        return Err(SpecError::new("slips", last, below()));
    }
    let lost = places.lost(spec, zone, cylinders, slips.len() as u64)?;
    let mut remaps = zone.remaps.clone();
    remaps.sort_unstable();
    if let Some(bad) = remaps.iter().flatten().find(|p| **p >= limit) {
        return Err(SpecError::new("remaps", bad, below()));
    }
    let built = Zone {
        first_cylinder: zone.first_cylinder,
        cylinders,
        surfaces: Divisor::new(spec.surfaces),
        same: same.then(|| per_surface[0]),
        cylinder_sectors: places.cylinder,
        first_address,
        addresses: places.all - lost,
        past_address: first_address + (places.all - lost),
        end: first_address + (places.all - lost),
        plain: plain && remaps.is_empty(),
        empty: zone.empty_sectors as u64,
        spares,
        sparing,
        unit_data: places.unit - if plain { 0 } else { spares.min(places.unit - 1) },
        unit_places: places.unit,
        unit_front: places.unit_front,
        slips_less_rank: slips.iter().enumerate().map(|(i, s)| s - i as u64).collect(),
        slips,
        remaps,
        skews,
        per_surface,
    };
    built.refuse_overflow(places.all)?;
    built.refuse_collisions(places.all)?;
    Ok(built)
}

/// The error of a rule that spares inside cylinders or tracks, where these are unlike or not in order.
fn unlike_sparing(sparing: Sparing) -> SpecError {
    SpecError::new(
        "spares",
        format!("sparing {sparing:?}"),
        "none, disk-end, zone-end or zone-end-slip-to-disk-end for banded layouts and for \
         surfaces with formats of their own",
    )
}

impl<O: TrackOrder> Layout for ZonedLayout<O> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline]
    fn locate_into(&self, sector: u64, place: &mut Place) -> bool {
        if sector >= self.capacity {
            return false;
        }
        let bucket = self.bucket(sector);
        if bucket.pushed == Bucket::MIXED {
            self.locate_mixed(sector, place);
            return true;
        }
        let zone = &self.zones[usize::from(bucket.zone)];
        let r = sector - zone.first_address;
        let found =
            Found { index: r + zone.empty + u64::from(bucket.pushed), run: u64::MAX, before: r, slips_before: 0 };
        self.put(zone, bucket.zone, sector, found, place);
        true
    }

    fn address_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let zone =
            self.zones.iter().find(|z| cylinder >= z.first_cylinder && cylinder - z.first_cylinder < z.cylinders)?;
        if head >= zone.surfaces.get() || sector >= zone.sectors_on(head) {
            return None;
        }
        let mut index = self.order.join(zone, cylinder - zone.first_cylinder, head, sector);
        if zone.sparing == Sparing::Tracks && !zone.remaps.is_empty() {
            let spt = zone.sectors_on(0) as u64;
            let track = index / spt;
            match zone.remaps.iter().find(|r| r[1] == track) {
                Some(r) => index = r[0] * spt + index % spt,
                None if zone.remaps.iter().any(|r| r[0] == track) => return None,
                None => {}
            }
        } else if let Some(r) = zone.remaps.iter().find(|r| r[1] == index) {
            index = r[0];
        } else if zone.remaps.binary_search_by_key(&index, |r| r[0]).is_ok() {
            return None;
        }
        // The mapping is monotone, so a binary search finds the address, if there is one.
        let low = zone.first_from(index, 0..zone.addresses);
        let address = zone.first_address + low;
        (low < zone.addresses && zone.index_of(low).0 == index && address < self.capacity).then_some(address)
    }

    fn track_sectors(&self, cylinder: u32, head: u32) -> u32 {
        let inside = |z: &&Zone| cylinder >= z.first_cylinder && cylinder - z.first_cylinder < z.cylinders;
        match self.zones.iter().find(inside) {
            Some(zone) if head < zone.surfaces.get() => zone.sectors_on(head),
            _ => 0,
        }
    }

    fn grid(&self) -> Option<Grid> {
        let [zone] = self.zones.as_slice() else { return None };
        let whole = zone.plain && zone.empty == 0 && zone.slips.is_empty();
        let still = zone.skews.track == Turn::default() && zone.skews.cylinder == Turn::default();
        let same = zone.same.filter(|_| whole && still)?;
        Some(Grid { offset: zone.skews.offset, sectors_per_track: same.sectors.get() })
    }

    fn track_bounds(&self, sector: u64) -> (u64, u64) {
        let sector = sector.min(self.capacity - 1);
        let zone = &self.zones[self.zone_of(sector)];
        let r = sector - zone.first_address;
        let (index, run) = zone.index_of(r);
        let at = self.order.split(zone, index);
        let start = index - at.sector as u64;
        let end = start + at.format.sectors.get() as u64;
        let from = r.saturating_sub(at.sector as u64);
        let to = (r + (end - index)).min(zone.addresses);
        // If the track has no gap, addresses differ as their physical indices do.
        let first = if zone.index_of(from).0 >= start { from } else { zone.first_from(start, from..r) };
        let past = if run >= end - index { to } else { zone.first_from(end, r..to) };
        let last = (zone.first_address + past - 1).min(self.capacity - 1);
        (zone.first_address + first, last)
    }
}
