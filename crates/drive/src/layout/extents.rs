//! Extents: a list of runs of addresses, each with its track and first sector.
//!
//! # Model
//! Each extent places `count` addresses on consecutive sectors of one track. Together the extents cover the
//! addresses from 0 on, without gap or overlap. Sectors in no extent hold no address. A zone gives the
//! sectors per track and the angle of sector `s` of head `h` in its `c`-th cylinder: `offset + (h + (S -
//! 1)·c)·track_skew + c·cylinder_skew + s / sectors_per_track`, with `S` surfaces.
//! # Source
//! DiskSim 4.0, layout g2: zones and a layout map as DIXtrac extracts it from a drive.
//! # Validity
//! Exact for a drive whose map was extracted. The map already contains spares, slips and remaps; defects are
//! only checked against it.

use super::shape::{self, Skews};
use super::{Layout, Place};
use crate::spec::{GeometrySpec, Sparing};
use headstack_schema::{SpecError, Table};

/// The parameters: the map.
#[derive(Debug, Clone, PartialEq, Default, Table)]
#[table(
    model = "a list says which run of addresses lies on which track",
    example = "extents = [[0, 10, 0, 0, 0], [10, 9, 0, 1, 1]]\nextent_defects = [[0, 1, 0]]",
    build = |map, spec| Ok(Box::new(Extents::build(spec, &map)?))
)]
pub struct Map {
    /// Runs of addresses, in any order: `[first address, count, cylinder, head, first sector]`.
    pub extents: Vec<[u64; 5]>,
    /// Sectors that belong to no run, for a check: `[cylinder, head, sector]`.
    #[param(default, omit = Vec::is_empty)]
    pub extent_defects: Vec<[u64; 3]>,
}

/// What the tracks of a zone share.
struct Zone {
    first_cylinder: u32,
    last_cylinder: u32,
    formats: Vec<u32>,
    skews: Skews,
}

/// Consecutive addresses on consecutive sectors of a track.
struct Run {
    first: u64,
    count: u32,
    cylinder: u32,
    sector: u32,
    head: u16,
    zone: u16,
    /// First and last address on its track.
    bounds: (u64, u64),
}

impl Run {
    fn past(&self) -> u64 {
        self.first + u64::from(self.count)
    }
    fn track(&self) -> (u32, u16) {
        (self.cylinder, self.head)
    }
}

struct Extents {
    zones: Vec<Zone>,
    surfaces: u32,
    period_ns: f64,
    capacity: u64,
    /// In address order.
    runs: Vec<Run>,
    /// Indices of the runs, in order of cylinder, head and sector.
    by_place: Vec<u32>,
}

impl Extents {
    fn build(spec: &GeometrySpec, map: &Map) -> Result<Extents, SpecError> {
        if let Some(derived) = spec.derived {
            return Err(SpecError::new(
                derived.by,
                "a layout of extents, which name the surfaces of the drive",
                "surfaces that are neither joined nor shared out",
            ));
        }
        let period_ns = shape::period_ns(spec)?;
        if spec.sparing != Sparing::None {
            return Err(SpecError::new(
                "geometry.sparing",
                format!("{:?}", spec.sparing),
                "none: extents leave out what holds no address",
            ));
        }
        let zones = Extents::zones(spec)?;
        let mut runs = runs(spec, &map.extents, &zones)?;
        let held = runs.last().map_or(0, Run::past);
        let capacity = shape::capacity(spec, held)?;
        let by_place = Extents::in_order_of_place(&mut runs)?;
        let layout = Extents { zones, surfaces: spec.surfaces, period_ns, capacity, runs, by_place };
        layout.check_defects(spec, map)?;
        Ok(layout)
    }

    /// The zones of a description.
    fn zones(spec: &GeometrySpec) -> Result<Vec<Zone>, SpecError> {
        let mut zones = Vec::with_capacity(spec.zones.len());
        for (i, zone) in spec.zones.iter().enumerate() {
            let built = || {
                shape::cylinders(spec, zone)?;
                for (key, count) in [
                    ("empty_sectors", zone.empty_sectors as usize),
                    ("spares", zone.spares as usize),
                    ("slips", zone.slips.len()),
                    ("remaps", zone.remaps.len()),
                ] {
                    if count > 0 {
                        let need = "none: extents leave out what holds no address";
                        return Err(SpecError::new(key, count, need));
                    }
                }
                let formats = shape::formats(spec, zone)?;
                Ok(Zone {
                    first_cylinder: zone.first_cylinder,
                    last_cylinder: zone.last_cylinder,
                    skews: shape::skews(spec, zone, formats[0]),
                    formats,
                })
            };
            zones.push(built().map_err(shape::in_zone(i))?);
        }
        Ok(zones)
    }

    /// The numbers of the runs in order of place. No two of them may overlap, and each gets the bounds of its track.
    fn in_order_of_place(runs: &mut [Run]) -> Result<Vec<u32>, SpecError> {
        let mut by_place: Vec<u32> = (0..runs.len() as u32).collect();
        by_place.sort_unstable_by_key(|i| {
            let r = &runs[*i as usize];
            (r.cylinder, r.head, r.sector)
        });
        let mut from = 0;
        while from < by_place.len() {
            let track = runs[by_place[from] as usize].track();
            let (mut to, mut past) = (from, 0);
            let mut bounds = (u64::MAX, 0);
            while let Some(r) = by_place.get(to).map(|i| &runs[*i as usize]) {
                if r.track() != track {
                    break;
                }
                if r.sector < past {
                    let (c, h) = track;
                    return Err(SpecError::new(
                        "geometry.extents",
                        format!("cylinder {c}, head {h}, sector {} twice", r.sector),
                        "each place once",
                    ));
                }
                past = r.sector + r.count;
                bounds = (bounds.0.min(r.first), bounds.1.max(r.past() - 1));
                to += 1;
            }
            for i in &by_place[from..to] {
                runs[*i as usize].bounds = bounds;
            }
            from = to;
        }
        Ok(by_place)
    }

    /// Refuses a defect at a place that holds an address.
    fn check_defects(&self, spec: &GeometrySpec, map: &Map) -> Result<(), SpecError> {
        for (i, [cylinder, head, sector]) in map.extent_defects.iter().enumerate() {
            let key = || format!("geometry.extent_defects[{i}]");
            let (cylinder, head, _) = track(spec, &self.zones, [*cylinder, *head], key())?;
            let at = u32::try_from(*sector).ok().and_then(|s| self.run_at(cylinder, u32::from(head), s));
            if let Some(run) = at {
                return Err(SpecError::new(
                    key(),
                    format!("cylinder {cylinder}, head {head}, sector {sector}"),
                    format!("a place that the extent of address {} leaves out", run.first),
                ));
            }
        }
        Ok(())
    }

    fn run_of(&self, sector: u64) -> &Run {
        let past = self.runs.partition_point(|r| r.first <= sector);
        &self.runs[past.saturating_sub(1)]
    }

    /// The run that holds a physical sector.
    fn run_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<&Run> {
        let past = self.by_place.partition_point(|i| {
            let r = &self.runs[*i as usize];
            (r.cylinder, u32::from(r.head), r.sector) <= (cylinder, head, sector)
        });
        let r = &self.runs[self.by_place[past.checked_sub(1)?] as usize];
        let here = (r.cylinder, u32::from(r.head)) == (cylinder, head);
        (here && sector - r.sector < r.count).then_some(r)
    }
}

/// Cylinder, head and zone of a track in an extent or a defect.
fn track(
    spec: &GeometrySpec,
    zones: &[Zone],
    [cylinder, head]: [u64; 2],
    key: String,
) -> Result<(u32, u16, u16), SpecError> {
    let holds =
        |z: &crate::spec::ZoneSpec| (u64::from(z.first_cylinder)..=u64::from(z.last_cylinder)).contains(&cylinder);
    let Some(zone) = spec.zones.iter().position(holds) else {
        let got = format!("cylinder {cylinder}");
        return Err(SpecError::new(key, got, "a cylinder of a zone"));
    };
    if head >= zones[zone].formats.len() as u64 {
        let need = format!("a head below {}", spec.surfaces);
        return Err(SpecError::new(key, format!("head {head}"), need));
    }
    Ok((cylinder as u32, head as u16, zone as u16))
}

/// The extents in order of address; neighbours on a track are joined.
fn runs(spec: &GeometrySpec, extents: &[[u64; 5]], zones: &[Zone]) -> Result<Vec<Run>, SpecError> {
    if extents.is_empty() || extents.len() > u32::MAX as usize {
        return Err(SpecError::new("geometry.extents", extents.len(), "1 to 4294967295 extents"));
    }
    let mut order: Vec<usize> = (0..extents.len()).collect();
    order.sort_by_key(|i| extents[*i][0]);
    let mut runs: Vec<Run> = Vec::with_capacity(order.len());
    for i in order {
        let [first, count, cylinder, head, sector] = extents[i];
        let key = || format!("geometry.extents[{i}]");
        let (cylinder, head, zone) = track(spec, zones, [cylinder, head], key())?;
        let next = runs.last().map_or(0, Run::past);
        if first != next {
            return Err(SpecError::new(
                key(),
                format!("first address {first}"),
                format!("{next}: addresses from 0 on, each once"),
            ));
        }
        let sectors = zones[zone as usize].formats[head as usize];
        if count == 0 || sector >= u64::from(sectors) || count > u64::from(sectors) - sector {
            return Err(SpecError::new(
                key(),
                format!("{count} sectors from sector {sector} on"),
                format!("1 or more within the track's {sectors} sectors"),
            ));
        }
        let (count, sector) = (count as u32, sector as u32);
        match runs.last_mut() {
            Some(r) if r.zone > zone => {
                return Err(SpecError::new(
                    key(),
                    format!("zone {zone} after zone {}", r.zone),
                    "zones in the order of addresses",
                ));
            }
            Some(r) if r.track() == (cylinder, head) && r.sector + r.count == sector => {
                r.count += count;
            }
            _ => runs.push(Run { first, count, cylinder, sector, head, zone, bounds: (0, 0) }),
        }
    }
    Ok(runs)
}

impl Layout for Extents {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn locate_into(&self, sector: u64, place: &mut Place) -> bool {
        if sector >= self.capacity {
            return false;
        }
        let r = self.run_of(sector);
        let into = (sector - r.first) as u32;
        let zone = &self.zones[r.zone as usize];
        let sectors_per_track = zone.formats[r.head as usize];
        let cylinders = u64::from(r.cylinder - zone.first_cylinder);
        let tracks = u64::from(r.head) + u64::from(self.surfaces - 1) * cylinders;
        let at = r.sector + into;
        *place = Place {
            cylinder: r.cylinder,
            head: r.head,
            zone: r.zone,
            sector: at,
            sectors_per_track,
            run: u64::from(r.count - into).min(self.capacity - sector) as u32,
            before: into,
            angle: zone.skews.angle(tracks, cylinders, u64::from(at), u64::MAX / u64::from(sectors_per_track)),
            sector_ns: self.period_ns / f64::from(sectors_per_track),
        };
        true
    }

    fn address_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let r = self.run_at(cylinder, head, sector)?;
        let address = r.first + u64::from(sector - r.sector);
        (address < self.capacity).then_some(address)
    }

    fn track_sectors(&self, cylinder: u32, head: u32) -> u32 {
        let inside = |z: &&Zone| (z.first_cylinder..=z.last_cylinder).contains(&cylinder);
        let zone = self.zones.iter().find(inside);
        let sectors = zone.and_then(|z| z.formats.get(head as usize));
        sectors.copied().unwrap_or(0)
    }

    fn track_bounds(&self, sector: u64) -> (u64, u64) {
        let last = self.capacity - 1;
        let (first, end) = self.run_of(sector.min(last)).bounds;
        (first, end.min(last))
    }
}
