//! Adaptive: every surface has its own bits and tracks per inch, and bands of one radial width hold the
//! tracks of a surface that fit there.
//!
//! # Model
//! Zones and bands are ranges of radius, counted in *nominal cylinders*: the tracks of a surface of nominal
//! density. All surfaces share them. A band of `band_cylinders` nominal tracks holds `round(band_cylinders ·
//! tpi)` tracks of a surface, each of `round(sectors_per_track · bpi)` sectors. Address order: the sectors of
//! a track; the tracks of a band on one surface; the surfaces (`head_order`); the bands inward. Tracks go
//! inward, or with `direction = "serpentine"` outward on odd heads. Within a zone, neighbouring tracks of a
//! surface are offset by the cylinder skew, and successive surfaces and bands by the track skew.
//!
//! Radial positions are counted in steps of a quarter of a nominal cylinder, which is no more than the pitch
//! of the densest tracks. So two tracks of a surface are never at the same position. Track `t` of `n` in a
//! band of `w` steps is at step `floor((2t + 1)·w / 2n)` of the band.
//! # Source
//! Krevat, Tucek and Ganger, "Disks are like snowflakes", CMU-PDL-11-102, sections 2 and 4.
//! # Validity
//! Drives since about 2005. Without defects or spares. The order of heads and tracks differs between makers.

use self::formats::Radii;
pub(super) use self::parameters::Parameters;
use self::parameters::{Bands, Direction, Format, HeadOrder};
use super::shape::{self, Skews};
use super::{parameters, Layout, ModelOfFolder, Place};
use crate::spec::GeometrySpec;
use headstack_schema::SpecError;
use headstack_units::Divisor;

mod formats;
mod parameters;

pub use self::formats::SurfaceFormat;
pub use self::parameters::Density;

/// Its name in drive files.
const NAME: &str = "adaptive";

/// Radial steps per nominal cylinder, and so the largest factor on tracks per inch.
pub(crate) const STEPS: u32 = 4;

/// The step in a band of `width` steps at which track `track` of `tracks`, counted inward, lies.
pub(crate) fn step_of(track: u32, tracks: u32, width: u32) -> u32 {
    let twice = (2 * u64::from(track) + 1) * u64::from(width);
    (twice / (2 * u64::from(tracks))) as u32
}

/// The tracks of one surface in a band.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Part {
    pub tracks: u32,
    /// Sectors and tracks of the surfaces before it in the band.
    pub sectors_before: u64,
    pub tracks_before: u64,
}

/// The content of a band of a given width.
#[derive(Default)]
#[doc(hidden)]
pub struct Band {
    /// Width in radial steps.
    pub width: u32,
    /// Sectors and tracks on all surfaces; 0 if the zone has no such band.
    pub sectors: u64,
    tracks: u64,
    /// In order of heads.
    pub parts: Box<[Part]>,
}

impl Band {
    fn new(cylinders: u32, formats: &[Format], tracks: impl Fn(&Format) -> u32) -> Band {
        let mut band = Band { width: cylinders * STEPS, ..Band::default() };
        let part = |f: &Format| {
            let part = Part { tracks: tracks(f), sectors_before: band.sectors, tracks_before: band.tracks };
            band.sectors += u64::from(part.tracks) * u64::from(f.sectors);
            band.tracks += u64::from(part.tracks);
            part
        };
        let parts = formats.iter().map(part).collect();
        band.parts = parts;
        band
    }

    /// The track of `tracks` that lies at a step of the band, if one does.
    fn track_at_step(&self, step: u32, tracks: u32) -> Option<u32> {
        let (n, w) = (u64::from(tracks), u64::from(self.width));
        let twice = (2 * n * u64::from(step)).saturating_sub(w);
        let track = twice.div_ceil(2 * w) as u32;
        (track < tracks && step_of(track, tracks, self.width) == step).then_some(track)
    }
}

/// A zone: full bands, and one that may be narrower.
#[doc(hidden)]
pub struct Zone {
    pub first_address: u64,
    pub past_address: u64,
    /// The step of its outer edge.
    first_step: u32,
    /// Number of full bands.
    pub bands: u64,
    pub full: Band,
    /// The narrower band at the end; without tracks if there is none.
    pub last: Band,
    /// Sectors per track of each surface.
    pub formats: Box<[Divisor]>,
    skews: Skews,
}

/// Where an address lies in its zone.
struct Spot {
    band: u64,
    head: usize,
    /// Track in the band and on its surface, in order of address.
    track: u32,
    sector: u32,
}

/// The layout; see the description of this file.
pub struct Adaptive {
    #[doc(hidden)]
    pub zones: Box<[Zone]>,
    /// Addresses, and those that the zones hold.
    capacity: u64,
    /// Number of sectors that the surfaces hold, whatever the drive offers.
    pub(crate) held: u64,
    pub(crate) surfaces: u32,
    pub(crate) alternate: bool,
    serpentine: bool,
    period_ns: f64,
    sector_bytes: u64,
    /// If both radii are given.
    radii: Option<Radii>,
}

impl Adaptive {
    /// The layout of a geometry, but for the densities of its surfaces: one for each surface of the drive, or
    /// one for all.
    pub(crate) fn of_density(spec: &GeometrySpec, density: &[Density]) -> Result<Adaptive, SpecError> {
        if spec.layout != NAME {
            return Err(SpecError::new(
                "geometry.layout",
                format!("{:?}", spec.layout),
                "\"adaptive\", for surfaces with densities of their own",
            ));
        }
        let own: Parameters = parameters(spec)?;
        Adaptive::of(spec, own.with_density(density))
    }

    fn of(spec: &GeometrySpec, own: Parameters) -> Result<Adaptive, SpecError> {
        let period_ns = shape::period_ns(spec)?;
        own.check(spec)?;
        let mut first_address = 0;
        let mut zones = Vec::with_capacity(spec.zones.len());
        for (i, formats) in own.formats(spec)?.iter().enumerate() {
            let zone = Zone::build(spec, i, first_address, (&own, formats)).map_err(shape::in_zone(i))?;
            first_address = zone.past_address;
            zones.push(zone);
        }
        Ok(Adaptive {
            zones: zones.into(),
            capacity: shape::capacity(spec, first_address)?,
            held: first_address,
            surfaces: spec.surfaces,
            alternate: own.head_order == HeadOrder::Alternate,
            serpentine: own.direction == Direction::Serpentine,
            period_ns,
            sector_bytes: spec.sector_size.0,
            radii: own.outer_radius.zip(own.inner_radius).map(|(outer, inner)| Radii {
                outer: outer.0,
                inner: inner.0,
                cylinders: spec.cylinders,
            }),
        })
    }

    /// Number of sectors that a surface holds, whatever the drive offers.
    pub(crate) fn held_by(&self, head: usize) -> u64 {
        let of_zone = |zone: &Zone| {
            let tracks = |band: &Band| band.parts.get(head).map_or(0, |p| u64::from(p.tracks));
            let tracks = zone.bands * tracks(&zone.full) + tracks(&zone.last);
            tracks * u64::from(zone.formats[head].get())
        };
        self.zones.iter().map(of_zone).sum()
    }

    /// Whether the tracks of a band go outward on this head.
    pub(crate) fn outward(&self, head: usize) -> bool {
        self.serpentine && head % 2 == 1
    }

    /// The head at position `i` of the order in a band.
    pub(crate) fn head_at(&self, band: u64, i: usize) -> usize {
        if self.alternate && band % 2 == 1 {
            self.surfaces as usize - 1 - i
        } else {
            i
        }
    }

    /// The place of a sector that the surfaces hold.
    pub(crate) fn place(&self, sector: u64) -> Place {
        let z = self.zones.partition_point(|z| z.past_address <= sector);
        let zone = &self.zones[z];
        let spot = self.spot(zone, sector - zone.first_address);
        let band = zone.band(spot.band);
        let part = band.parts[spot.head];
        let format = zone.formats[spot.head];
        let track = if self.outward(spot.head) { part.tracks - 1 - spot.track } else { spot.track };
        let order = self.head_at(spot.band, spot.head) as u64;
        let switches = spot.band * u64::from(self.surfaces) + order;
        let before = match self.head_at(spot.band, 0) {
            0 => part.tracks_before,
            _ => band.tracks - part.tracks_before - u64::from(part.tracks),
        };
        let tracks = spot.band * zone.full.tracks + before + u64::from(spot.track);
        let step = spot.band as u32 * zone.full.width + step_of(track, part.tracks, band.width);
        Place {
            cylinder: zone.first_step + step,
            head: spot.head as u16,
            zone: z as u16,
            sector: spot.sector,
            sectors_per_track: format.get(),
            run: format.get() - spot.sector,
            before: spot.sector,
            angle: zone.skews.angle(switches, tracks - switches, u64::from(spot.sector), format.inverse()),
            sector_ns: self.period_ns / f64::from(format.get()),
        }
    }

    /// Where the `r`-th sector of a zone lies.
    fn spot(&self, zone: &Zone, r: u64) -> Spot {
        let index = (r / zone.full.sectors).min(zone.bands);
        let band = zone.band(index);
        let rest = r - index * zone.full.sectors;
        // In reverse order, counted from the end of the band.
        let reversed = self.alternate && index % 2 == 1;
        let key = if reversed { band.sectors - 1 - rest } else { rest };
        let past = band.parts.partition_point(|p| p.sectors_before <= key);
        let head = past.saturating_sub(1);
        let format = zone.formats[head];
        let part = band.parts[head];
        let within = if reversed {
            let own = u64::from(part.tracks) * u64::from(format.get());
            rest - (band.sectors - part.sectors_before - own)
        } else {
            rest - part.sectors_before
        };
        let (track, sector) = format.div_rem(within);
        Spot { band: index, head, track: track as u32, sector }
    }

    /// The first address on a track, given in the order of addresses on its surface.
    fn track_start(&self, zone: &Zone, index: u64, head: usize, track: u32) -> u64 {
        let band = zone.band(index);
        let part = band.parts[head];
        let format = u64::from(zone.formats[head].get());
        let before = if self.alternate && index % 2 == 1 {
            band.sectors - part.sectors_before - u64::from(part.tracks) * format
        } else {
            part.sectors_before
        };
        zone.first_address + index * zone.full.sectors + before + u64::from(track) * format
    }

    /// The band at a radial position on the disk, and the step in it.
    fn band_at(&self, cylinder: u32) -> Option<(&Zone, u64, u32)> {
        let inside = |z: &&Zone| cylinder >= z.first_step && cylinder - z.first_step < z.width();
        let zone = self.zones.iter().find(inside)?;
        let step = cylinder - zone.first_step;
        let index = u64::from(step / zone.full.width).min(zone.bands);
        Some((zone, index, step - index as u32 * zone.full.width))
    }
}

impl Zone {
    fn build(
        spec: &GeometrySpec,
        index: usize,
        first_address: u64,
        (own, formats): (&Parameters, &[Format]),
    ) -> Result<Zone, SpecError> {
        let zone = &spec.zones[index];
        let Bands { full: bands, width, last } = own.bands(spec, zone)?;
        let full = Band::new(width, formats, |f| f.tracks);
        let last = Band::new(last, formats, |f| f.last_tracks);
        let sectors = u64::from(bands) * full.sectors + last.sectors;
        Ok(Zone {
            first_address,
            past_address: first_address + sectors,
            first_step: zone.first_cylinder * STEPS,
            bands: u64::from(bands),
            full,
            last,
            formats: formats.iter().map(|f| Divisor::new(f.sectors)).collect(),
            skews: shape::skews(spec, zone, zone.sectors_per_track.of(0)),
        })
    }

    /// Band number `index`.
    pub fn band(&self, index: u64) -> &Band {
        if index < self.bands {
            &self.full
        } else {
            &self.last
        }
    }

    /// Width in radial steps.
    fn width(&self) -> u32 {
        self.bands as u32 * self.full.width + self.last.width
    }
}

impl Layout for Adaptive {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn locate_into(&self, sector: u64, place: &mut Place) -> bool {
        if sector >= self.capacity {
            return false;
        }
        *place = self.place(sector);
        let left = self.capacity - sector;
        place.run = u64::from(place.run).min(left) as u32;
        true
    }

    fn address_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let (zone, index, step) = self.band_at(cylinder)?;
        let format = zone.formats.get(head as usize)?.get();
        let band = zone.band(index);
        let tracks = band.parts[head as usize].tracks;
        let inward = band.track_at_step(step, tracks)?;
        let track = if self.outward(head as usize) { tracks - 1 - inward } else { inward };
        let start = self.track_start(zone, index, head as usize, track);
        let address = start + u64::from(sector);
        (sector < format && address < self.capacity).then_some(address)
    }

    fn track_sectors(&self, cylinder: u32, head: u32) -> u32 {
        let sectors = || {
            let (zone, index, step) = self.band_at(cylinder)?;
            let format = zone.formats.get(head as usize)?.get();
            let band = zone.band(index);
            let tracks = band.parts.get(head as usize)?.tracks;
            band.track_at_step(step, tracks).map(|_| format)
        };
        sectors().unwrap_or(0)
    }

    fn track_near(&self, cylinder: u32, head: u32) -> Option<u64> {
        let (zone, index, step) = self.band_at(cylinder)?;
        let band = zone.band(index);
        let tracks = band.parts.get(head as usize)?.tracks;
        // The track at or nearest to the middle of the step.
        let twice = (2 * u64::from(step) + 1) * u64::from(tracks);
        let inward = twice / (2 * u64::from(band.width));
        let inward = (inward as u32).min(tracks - 1);
        let track = if self.outward(head as usize) { tracks - 1 - inward } else { inward };
        let start = self.track_start(zone, index, head as usize, track);
        (start < self.capacity).then_some(start)
    }

    fn track_bounds(&self, sector: u64) -> (u64, u64) {
        let sector = sector.min(self.capacity - 1);
        let place = self.place(sector);
        let first = sector - u64::from(place.sector);
        let last = first + u64::from(place.sectors_per_track) - 1;
        (first, last.min(self.capacity - 1))
    }

    fn steps_per_cylinder(&self) -> u32 {
        STEPS
    }

    fn tracks_per_round(&self, _surfaces: u32) -> u32 {
        let most = self.zones.iter().map(|z| z.full.tracks).max();
        most.unwrap_or(1).min(u64::from(u32::MAX)) as u32
    }

    fn adaptive(&self) -> Option<&Adaptive> {
        Some(self)
    }
}
