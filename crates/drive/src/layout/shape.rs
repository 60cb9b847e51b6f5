//! Checks and derived values that all layouts share: surfaces, speed, track formats, skews and capacity.

use crate::bounds::{bounded, MOST_BLOCKS};
use crate::spec::{GeometrySpec, PerSurface, SkewUnit, ZoneSpec};
use headstack_engine::SpecError;
use headstack_units::Turn;

/// Checks the disk's bounds, and that zones lie inside the disk and do not overlap. Returns the time of a
/// turn in nanoseconds.
pub(super) fn period_ns(spec: &GeometrySpec) -> Result<f64, SpecError> {
    spec.check()?;
    for (i, zone) in spec.zones.iter().enumerate() {
        cylinders(spec, zone).map_err(in_zone(i))?;
    }
    refuse_overlaps(&spec.zones)?;
    Ok(60e9 / spec.rotation_speed.0)
}

/// Adds the zone's index to the key of an error.
pub(super) fn in_zone(index: usize) -> impl Fn(SpecError) -> SpecError {
    move |e| e.within(&format!("geometry.zones[{index}]"))
}

/// Number of cylinders of a zone.
pub(super) fn cylinders(spec: &GeometrySpec, zone: &ZoneSpec) -> Result<u32, SpecError> {
    bounded("first_cylinder", zone.first_cylinder, 0..=spec.cylinders - 1)?;
    if zone.last_cylinder < zone.first_cylinder || zone.last_cylinder >= spec.cylinders {
        return Err(SpecError::new(
            "last_cylinder",
            zone.last_cylinder,
            format!("first_cylinder ({}) to {}", zone.first_cylinder, spec.cylinders - 1),
        ));
    }
    Ok(zone.last_cylinder - zone.first_cylinder + 1)
}

/// Sectors per track of a zone, for each surface.
pub(super) fn formats(spec: &GeometrySpec, zone: &ZoneSpec) -> Result<Vec<u32>, SpecError> {
    if let PerSurface::Each(list) = &zone.sectors_per_track {
        if list.len() != spec.surfaces as usize {
            return Err(SpecError::new(
                "sectors_per_track",
                format!("{} numbers", list.len()),
                format!("one for each of {} surfaces", spec.surfaces),
            ));
        }
    }
    let formats: Vec<u32> = (0..spec.surfaces).map(|h| zone.sectors_per_track.of(h)).collect();
    Ok(formats)
}

/// Skews of the tracks of a zone, as angles.
pub(super) struct Skews {
    /// Between successive tracks of a cylinder.
    pub track: Turn,
    /// Between successive cylinders.
    pub cylinder: Turn,
    /// Angle of the zone's first sector.
    pub offset: Turn,
}

/// The skews of a zone. `sectors_per_track` is the number on its first surface.
pub(super) fn skews(spec: &GeometrySpec, zone: &ZoneSpec, sectors_per_track: u32) -> Skews {
    let turn = |amount: f64| match spec.skew_unit {
        // Fractions of a sector are dropped, as in DiskSim.
        SkewUnit::Sectors => Turn::from_turns(amount.trunc() / f64::from(sectors_per_track)),
        SkewUnit::Turns => Turn::from_turns(amount),
    };
    Skews { track: turn(zone.track_skew), cylinder: turn(zone.cylinder_skew), offset: turn(zone.offset) }
}

impl Skews {
    /// Angle of a sector on a track after so many track and cylinder switches; `per_sector` is the angle of
    /// one sector, in units of 2^-64 turn.
    #[inline]
    pub fn angle(&self, tracks: u64, cylinders: u64, sector: u64, per_sector: u64) -> Turn {
        Turn(
            self.offset
                .0
                .wrapping_add(self.track.0.wrapping_mul(tracks))
                .wrapping_add(self.cylinder.0.wrapping_mul(cylinders))
                .wrapping_add(per_sector.wrapping_mul(sector)),
        )
    }
}

/// Number of addresses that the drive offers, of the `held` that its zones hold.
pub(super) fn capacity(spec: &GeometrySpec, held: u64) -> Result<u64, SpecError> {
    let per_block = spec.sector_size.0 / 512;
    if held > MOST_BLOCKS / per_block {
        return Err(SpecError::new(
            "geometry.zones",
            format!("{held} sectors of {}", spec.sector_size),
            format!("at most {MOST_BLOCKS} blocks of 512 bytes"),
        ));
    }
    match spec.capacity_blocks {
        None => Ok(held),
        Some(blocks) if (1..=held).contains(&(blocks / per_block)) => Ok(blocks / per_block),
        Some(blocks) => Err(SpecError::new(
            "geometry.capacity_blocks",
            blocks,
            format!("{per_block} to {}, which is what the surfaces hold", held * per_block),
        )),
    }
}

/// No cylinder may belong to two zones, because two addresses would then share a place.
fn refuse_overlaps(zones: &[ZoneSpec]) -> Result<(), SpecError> {
    let mut order: Vec<usize> = (0..zones.len()).collect();
    order.sort_by_key(|i| zones[*i].first_cylinder);
    for pair in order.windows(2) {
        let past = zones[pair[0]].last_cylinder + 1;
        let first = zones[pair[1]].first_cylinder;
        if first < past {
            return Err(SpecError::new(
                format!("geometry.zones[{}].first_cylinder", pair[1]),
                first,
                format!("{past} or more: zone {} ends there", pair[0]),
            ));
        }
    }
    Ok(())
}
