//! The parameters of the layout, and the track formats that they give to each surface.

use super::{Adaptive, STEPS};
use crate::bounds::{bounded, MOST_CYLINDERS, MOST_TRACK};
use crate::layout::shape::{cylinders, formats, in_zone};
use crate::spec::{GeometrySpec, Sparing, ZoneSpec};
use headstack_schema::{by_kind, Adapter, Choice, Kind, Parameter, SpecError, Table};
use headstack_units::Length;
use serde_json::Value;
use std::ops::RangeInclusive;

/// Factors on nominal densities.
const FACTORS: RangeInclusive<f64> = 1.0 / STEPS as f64..=STEPS as f64;
/// Radii of platters.
const RADII: RangeInclusive<Length> = Length(1e-3)..=Length(1.0);

/// The densities of a surface as factors on the nominal ones.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub struct Density {
    /// Factor on the bits per inch of a track.
    #[param(range = FACTORS)]
    pub bpi: f64,
    /// Factor on the tracks per inch.
    #[param(range = FACTORS)]
    pub tpi: f64,
}

impl Density {
    /// The nominal densities.
    pub const NOMINAL: Density = Density { bpi: 1.0, tpi: 1.0 };
}

/// The format of a surface in a zone, as drives report it.
#[derive(Debug, Clone, Copy, PartialEq, Table)]
pub(crate) struct SurfaceZone {
    /// Tracks in a full band, at most four times `band_cylinders`.
    #[param(range = 1..=MOST_CYLINDERS * STEPS)]
    pub tracks_per_band: u32,
    /// Sectors of a track.
    #[param(range = 1..=MOST_TRACK)]
    pub sectors_per_track: u32,
}

/// The order of the heads in successive bands of a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub(crate) enum HeadOrder {
    /// From the first head to the last in every band.
    #[default]
    Same,
    /// From the last to the first in every other band.
    Alternate,
}

/// The order of the tracks of a band on one surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub(crate) enum Direction {
    /// Inward on every surface.
    #[default]
    Inward,
    /// Inward on even heads, outward on odd ones.
    Serpentine,
}

/// The keys that this layout adds to `[geometry]`.
#[derive(Debug, Table)]
#[table(
    model = "bands of one radius on every surface, each surface with bits and tracks per inch of its own",
    example = "band_cylinders = 4\ndensity = [{ bpi = 1.25, tpi = 0.75 }, { bpi = 0.8, tpi = 1.25 }]\n\
        head_order = \"alternate\"\ndirection = \"serpentine\"\n\
        outer_radius = \"46 mm\"\ninner_radius = \"22.5 mm\"",
    build = |own, spec| Ok(Box::new(Adaptive::of(spec, own)?))
)]
pub(crate) struct Parameters {
    /// Radial width of a band, in nominal tracks, the same on every surface. The last band of a zone may be narrower.
    #[param(range = 1..=MOST_CYLINDERS)]
    pub band_cylinders: u32,
    /// Factors on the nominal bits and tracks per inch, 0.25 to 4: one entry for each surface, or one for all.
    #[param(with = Densities)]
    density: Option<Vec<Density>>,
    /// Instead of `density`: for each surface a list with one `{ tracks_per_band, sectors_per_track }` for each zone.
    surface_zones: Option<Vec<Vec<SurfaceZone>>>,
    /// The order of the heads in successive bands.
    #[param(default)]
    pub head_order: HeadOrder,
    /// The order of the tracks of a band on one surface.
    #[param(default)]
    pub direction: Direction,
    /// Radius of the outer edge of the first cylinder ("46 mm"); it changes no time.
    #[param(range = RADII)]
    pub outer_radius: Option<Length>,
    /// Radius of the inner edge of the last cylinder, less than the outer radius; it changes no time.
    #[param(range = RADII)]
    pub inner_radius: Option<Length>,
}

/// One density for all surfaces, or a list with one for each.
struct Densities;

impl Adapter<Option<Vec<Density>>> for Densities {
    fn kind() -> Kind {
        Kind::OneOf(vec![Density::kind(), <Vec<Density>>::kind()])
    }
    fn read(value: &Value) -> Result<Option<Vec<Density>>, SpecError> {
        let need = "{ bpi = 1.0, tpi = 1.0 } for all surfaces, or a list with one for each";
        by_kind(value, need, |value| match value {
            Value::Object(_) => Some(Density::read(value).map(|d| Some(vec![d]))),
            Value::Array(_) => Some(Parameter::read(value)),
            _ => None,
        })
    }
    fn write(value: &Option<Vec<Density>>) -> Value {
        value.write()
    }
}

/// The format of one surface in one zone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Format {
    /// Sectors of a track.
    pub sectors: u32,
    /// Tracks in a full band, and in the narrower last band (0 if there is none).
    pub tracks: u32,
    pub last_tracks: u32,
}

/// The bands of a zone, in cylinders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bands {
    /// Number of full bands, and the width of one.
    pub full: u32,
    pub width: u32,
    /// Width of the last band if it is narrower, else 0.
    pub last: u32,
}

impl Parameters {
    /// Checks the parameters by themselves and against the geometry.
    pub fn check(&self, spec: &GeometrySpec) -> Result<(), SpecError> {
        let most = MOST_CYLINDERS / STEPS;
        bounded("geometry.cylinders", spec.cylinders, 1..=most)?;
        if spec.sparing != Sparing::None {
            let got = format!("{:?}", spec.sparing);
            return Err(SpecError::new("geometry.sparing", got, NO_DEFECTS));
        }
        if let Some(derived) = spec.derived.filter(|d| d.by == "dash") {
            return Err(SpecError::new(
                derived.by,
                "several surfaces at once, whose tracks differ in number",
                "S1: surfaces of an adaptive layout cannot be joined",
            ));
        }
        if let (Some(outer), Some(inner)) = (self.outer_radius, self.inner_radius) {
            if inner >= outer {
                return Err(SpecError::new(
                    "geometry.inner_radius",
                    inner,
                    format!("less than the outer radius, {outer}"),
                ));
            }
        }
        Ok(())
    }

    /// The parameters with these densities.
    pub fn with_density(self, density: &[Density]) -> Parameters {
        Parameters { density: Some(density.to_vec()), surface_zones: None, ..self }
    }

    /// The bands of a zone.
    pub fn bands(&self, spec: &GeometrySpec, zone: &ZoneSpec) -> Result<Bands, SpecError> {
        let cylinders = cylinders(spec, zone)?;
        let width = self.band_cylinders.min(cylinders);
        Ok(Bands { full: cylinders / width, width, last: cylinders % width })
    }

    /// The formats of every surface in every zone: one list per zone.
    pub fn formats(&self, spec: &GeometrySpec) -> Result<Vec<Vec<Format>>, SpecError> {
        // The surfaces that this geometry has of the drive's.
        let (first, of) = spec.derived.map_or((0, spec.surfaces), |d| (d.first_surface, d.of_surfaces));
        let surfaces = first as usize..(first + spec.surfaces) as usize;
        let lists = (&self.density, &self.surface_zones);
        match lists {
            (Some(_), Some(_)) => {
                Err(SpecError::new("geometry.surface_zones", "both density and surface_zones", "one of them"))
            }
            (_, Some(tables)) => self.of_tables(spec, tables, (surfaces, of as usize)),
            (density, None) => {
                let nominal = [Density::NOMINAL];
                let list = density.as_deref().unwrap_or(&nominal);
                self.of_densities(spec, list, (surfaces, of as usize))
            }
        }
    }

    fn of_densities(
        &self,
        spec: &GeometrySpec,
        list: &[Density],
        (surfaces, of): (std::ops::Range<usize>, usize),
    ) -> Result<Vec<Vec<Format>>, SpecError> {
        let key = "geometry.density";
        if list.len() != of && list.len() != 1 {
            return Err(one_each(key, list.len(), of, "density"));
        }
        for (h, d) in list.iter().enumerate() {
            d.check().map_err(|e| e.within(&format!("{key}[{h}]")))?;
        }
        let of_zone = |zone: &ZoneSpec| {
            let nominal = nominal(spec, zone)?;
            let bands = self.bands(spec, zone)?;
            let format = |h: usize| {
                let d = list[h.min(list.len() - 1)];
                let nominal = f64::from(nominal[h - surfaces.start]);
                let sectors = (nominal * d.bpi).round().max(1.0) as u32;
                let tracks = |width: u32| match width {
                    0 => 0,
                    w => ((f64::from(w) * d.tpi).round() as u32).clamp(1, w * STEPS),
                };
                Ok(Format {
                    sectors: bounded("sectors_per_track", sectors, 1..=MOST_TRACK)?,
                    tracks: tracks(bands.width),
                    last_tracks: tracks(bands.last),
                })
            };
            surfaces.clone().map(format).collect::<Result<Vec<_>, _>>()
        };
        let zones = spec.zones.iter().enumerate();
        zones.map(|(i, zone)| of_zone(zone).map_err(in_zone(i))).collect()
    }

    fn of_tables(
        &self,
        spec: &GeometrySpec,
        tables: &[Vec<SurfaceZone>],
        (surfaces, of): (std::ops::Range<usize>, usize),
    ) -> Result<Vec<Vec<Format>>, SpecError> {
        let key = "geometry.surface_zones";
        if tables.len() != of {
            return Err(one_each(key, tables.len(), of, "table"));
        }
        for (h, table) in tables.iter().enumerate() {
            if table.len() != spec.zones.len() {
                let got = format!("{} entries", table.len());
                let need = format!("one for each of {} zones", spec.zones.len());
                return Err(SpecError::new(format!("{key}[{h}]"), got, need));
            }
        }
        let of_zone = |z: usize, zone: &ZoneSpec| {
            nominal(spec, zone).map_err(in_zone(z))?;
            let bands = self.bands(spec, zone).map_err(in_zone(z))?;
            let format = |h: usize| {
                let at = |name: &str| format!("{key}[{h}][{z}].{name}");
                let own = tables[h][z];
                let (n, most) = (own.tracks_per_band, self.band_cylinders);
                let most_tracks = most.saturating_mul(STEPS);
                bounded(at("tracks_per_band"), n, 1..=most_tracks)?;
                let sectors = own.sectors_per_track;
                // A band narrower than `band_cylinders` has its share of the tracks.
                let tracks = |width: u32| match width {
                    0 => 0,
                    w => {
                        let share = f64::from(n) * f64::from(w) / f64::from(most);
                        (share.round() as u32).clamp(1, w * STEPS)
                    }
                };
                Ok(Format { sectors, tracks: tracks(bands.width), last_tracks: tracks(bands.last) })
            };
            surfaces.clone().map(format).collect::<Result<Vec<_>, SpecError>>()
        };
        let zones = spec.zones.iter().enumerate();
        zones.map(|(z, zone)| of_zone(z, zone)).collect()
    }
}

const NO_DEFECTS: &str = "none: an adaptive layout has no spares or defects";

fn one_each(key: &str, got: usize, need: usize, what: &str) -> SpecError {
    let need = match what {
        "density" => format!("one density for all surfaces, or one for each of {need}"),
        _ => format!("one {what} for each of {need} surfaces"),
    };
    SpecError::new(key, format!("{got}"), need)
}

/// The nominal sectors per track of a zone on each surface. The zone must have no spares or defects.
fn nominal(spec: &GeometrySpec, zone: &ZoneSpec) -> Result<Vec<u32>, SpecError> {
    for (key, count) in [
        ("empty_sectors", zone.empty_sectors as usize),
        ("spares", zone.spares as usize),
        ("slips", zone.slips.len()),
        ("remaps", zone.remaps.len()),
    ] {
        if count > 0 {
            return Err(SpecError::new(key, count, NO_DEFECTS));
        }
    }
    formats(spec, zone)
}
