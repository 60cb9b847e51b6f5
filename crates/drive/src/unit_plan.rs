//! The units into which a drive is divided: its stacks, or the assemblies that have surfaces of their own.

use crate::parallelism::{ArmShare, ArmSpec};
use crate::spec::{Derived, DriveSpec, GeometrySpec, PerSurface, SkewUnit, Sparing, ZoneSpec};
use headstack_schema::SpecError;

/// A part of a drive with a queue and assemblies of its own: a stack or, with `own-share`, an assembly and
/// its surfaces.
#[derive(Debug, Clone)]
pub(crate) struct UnitPlan {
    pub geometry: GeometrySpec,
    pub arms: Vec<ArmSpec>,
    /// Index of the disk stack, and of the first assembly in it; used for faults.
    pub stack: u32,
    pub first_arm: u32,
    /// The stack's first surface that belongs to the unit.
    pub first_surface: u32,
}

/// The units of a drive in order of address: the stacks, and in each stack the shares.
pub(crate) fn units(spec: &DriveSpec) -> Result<Vec<UnitPlan>, SpecError> {
    spec.check()?;
    let (dash, p) = (spec.dash, &spec.parallelism);
    let arms = p.assemblies(dash);
    let mut plans = Vec::new();
    for stack in 0..dash.stacks {
        if p.arm_share == ArmShare::All {
            plans.push(UnitPlan {
                geometry: ganged(&spec.geometry, dash.surfaces)?,
                arms: arms.clone(),
                stack,
                first_arm: 0,
                first_surface: 0,
            });
            continue;
        }
        let share = spec.geometry.surfaces / dash.arms;
        for (a, arm) in arms.iter().enumerate() {
            let first = share * a as u32;
            let part = surfaces_of(&spec.geometry, first, share, dash.arms);
            plans.push(UnitPlan {
                geometry: ganged(&part, dash.surfaces)?,
                arms: vec![arm.clone()],
                stack,
                first_arm: a as u32,
                first_surface: first,
            });
        }
    }
    Ok(plans)
}

/// The geometry of `count` surfaces from `first` on, one of `shares` equal parts.
fn surfaces_of(geometry: &GeometrySpec, first: u32, count: u32, shares: u32) -> GeometrySpec {
    let mut part = geometry.clone();
    if shares > 1 {
        part.derived =
            Some(Derived { by: "parallelism.arm_share", first_surface: first, of_surfaces: geometry.surfaces });
    }
    part.surfaces = count;
    for zone in &mut part.zones {
        if let PerSurface::Each(list) = &zone.sectors_per_track {
            let own = list.iter().skip(first as usize).take(count as usize);
            zone.sectors_per_track = PerSurface::Each(own.copied().collect());
        }
    }
    part.capacity_blocks = geometry.capacity_blocks.map(|n| n / shares as u64);
    part
}

/// The geometry in which `m` neighbouring surfaces form one logical track.
fn ganged(geometry: &GeometrySpec, m: u32) -> Result<GeometrySpec, SpecError> {
    if m == 1 {
        return Ok(geometry.clone());
    }
    let movable = matches!(geometry.sparing, Sparing::None | Sparing::DiskEnd | Sparing::ZoneEnd);
    let defects = |z: &ZoneSpec| !z.slips.is_empty() || !z.remaps.is_empty();
    if !movable || geometry.zones.iter().any(defects) {
        return Err(SpecError::new(
            "dash",
            format!("S{m} with slips, remaps or spares on each track or cylinder"),
            "S1: surfaces at once are not supported for such formats",
        ));
    }
    let mut out = geometry.clone();
    let whole = (0, geometry.surfaces);
    let (first_surface, of_surfaces) = geometry.derived.map_or(whole, |d| (d.first_surface, d.of_surfaces));
    out.derived = Some(Derived { by: "dash", first_surface, of_surfaces });
    out.surfaces = geometry.surfaces.div_ceil(m);
    out.skew_unit = SkewUnit::Turns;
    for zone in &mut out.zones {
        let spt: Vec<u32> = (0..geometry.surfaces).map(|s| zone.sectors_per_track.of(s)).collect();
        if geometry.skew_unit == SkewUnit::Sectors {
            // In whole sectors of the first surface, as the layout counts skews.
            let unit = f64::from(spt.first().copied().unwrap_or(1).max(1));
            for skew in [&mut zone.track_skew, &mut zone.cylinder_skew, &mut zone.offset] {
                *skew = skew.trunc() / unit;
            }
        }
        let gangs: Vec<u32> =
            spt.chunks(m as usize).map(|g| g.iter().fold(0u32, |a, n| a.saturating_add(*n))).collect();
        zone.sectors_per_track = match gangs.first() {
            Some(first) if gangs.iter().all(|g| g == first) => PerSurface::Same(*first),
            _ => PerSurface::Each(gangs),
        };
    }
    Ok(out)
}
