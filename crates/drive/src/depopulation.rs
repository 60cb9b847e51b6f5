//! The removal of a head: the description of the drive that remains.
//!
//! # Model
//! Without a head its tracks are no longer addressed: the zones and bands of the other surfaces stay, and the addresses
//! close up. The capacity falls by what the surface holds.
//!
//! # Source
//! Removal of a storage element: SBC-4 and ACS-5 (REMOVE ELEMENT AND TRUNCATE). All data are lost, and the new capacity is at
//! most the old one less that of the element.
//!
//! # Validity
//! Drives with one arm assembly that reaches all surfaces, without spare or defective sectors. What the other heads do stays as
//! it was: performance after a removal has not been published.

use crate::layout;
use crate::{DriveSpec, Models};
use headstack_schema::SpecError;
use serde_json::{Map, Value};

/// Layouts whose cylinders have all surfaces.
const BY_CYLINDER: [&str; 3] = ["cylinder-major", "serpentine", "serpentine-disk"];
/// Layouts whose bands have one surface after another.
const BY_BAND: [&str; 2] = ["banded", "adaptive"];
/// How well offsets must continue the skew to be computed anew, in turns.
const CONTINUES: f64 = 0.011;
/// Blocks that addresses count.
const BLOCK: u64 = 512;

type Object = Map<String, Value>;

/// Refuses drives whose surfaces are not all on one assembly, or whose zones have defects.
///
/// # Errors
/// A kind of drive that is not supported.
pub fn check(spec: &Value) -> Result<(), SpecError> {
    let geometry = &spec["geometry"];
    let layout = geometry["layout"].as_str().unwrap_or(BY_CYLINDER[0]);
    if !BY_CYLINDER.contains(&layout) && !BY_BAND.contains(&layout) {
        let need = format!("one of {}, {}", BY_CYLINDER.join(", "), BY_BAND.join(", "));
        let got = format!("{layout:?}");
        return Err(SpecError::new("geometry.layout", got, need));
    }
    let dash = spec["dash"].as_str().unwrap_or("D1A1S1H1");
    if dash != "D1A1S1H1" {
        let need = "D1A1S1H1: drives with more parts are not supported";
        return Err(SpecError::new("dash", format!("{dash:?}"), need));
    }
    for (i, zone) in list(&geometry["zones"]).iter().enumerate() {
        for key in ["empty_sectors", "spares", "slips", "remaps"] {
            let value = &zone[key];
            let is_none = match value {
                Value::Null => true,
                Value::Array(all) => all.is_empty(),
                other => other.as_f64() == Some(0.0),
            };
            if !is_none {
                let need = "none: defects and spares are not supported";
                let key = format!("geometry.zones[{i}].{key}");
                return Err(SpecError::new(key, value, need));
            }
        }
    }
    let own = surfaces_of(geometry).div_ceil(2);
    match spec["power"]["platters"].as_u64() {
        Some(platters) if platters != own => {
            let need = format!("those of the drive, {own}: another number is not supported");
            Err(SpecError::new("power.platters", platters, need))
        }
        _ => Ok(()),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn surfaces_of(geometry: &Value) -> u64 {
    geometry["surfaces"].as_u64().unwrap_or(0)
}

/// Number of 512-byte blocks that each surface of a drive holds, also those that the drive does not offer.
///
/// # Errors
/// A layout that cannot be built.
pub fn held(spec: &DriveSpec, models: &Models) -> Result<Vec<u64>, SpecError> {
    let geometry = &spec.geometry;
    let of_sector = geometry.sector_size.0 / BLOCK;
    let layout = layout::build(geometry, &models.layouts)?;
    let surfaces = 0..geometry.surfaces;
    let sectors = |head: u32| match layout.adaptive() {
        Some(adaptive) => adaptive.held_by(head as usize),
        None => {
            let each = geometry.zones.iter().map(|zone| {
                let cylinders = u64::from(zone.last_cylinder - zone.first_cylinder) + 1;
                cylinders * u64::from(zone.sectors_per_track.of(head))
            });
            each.sum()
        }
    };
    Ok(surfaces.map(|head| sectors(head) * of_sector).collect())
}

/// The description of a drive without one of its heads, counted from 0, with the sources of its values.
///
/// # Errors
/// There is no such head, or it is the only one, or the kind of drive is not supported.
pub fn without_head(spec: &Value, head: i64, models: &Models) -> Result<Value, SpecError> {
    let surfaces = surfaces_of(&spec["geometry"]);
    if surfaces < 2 {
        let need = "two or more to remove one";
        return Err(SpecError::new("geometry.surfaces", surfaces, need));
    }
    let head = match usize::try_from(head) {
        Ok(head) if (head as u64) < surfaces => head,
        _ => {
            let need = format!("one from 0 to {}", surfaces - 1);
            return Err(SpecError::new("head", head, need));
        }
    };
    check(spec)?;
    let held = held(&DriveSpec::from_value(spec.clone(), models)?, models)?[head];
    let mut made = spec.clone();
    describe(&mut made, spec, head);
    let why = format!("derived: without head {head}: ");
    let mut sources: Object = made["sources"].as_object().cloned().unwrap_or_default();
    let told = format!("{why}{surfaces} less one");
    sources.insert("geometry.surfaces".into(), told.into());
    remove_from(&mut made["geometry"], &spec["geometry"], head);
    if let Some(blocks) = spec["geometry"]["capacity_blocks"].as_u64() {
        made["geometry"]["capacity_blocks"] = blocks.saturating_sub(held).into();
        let told = format!("{why}the old number less what its surface holds");
        sources.insert("geometry.capacity_blocks".into(), told.into());
    }
    if let Some(power) = made.get_mut("power").and_then(Value::as_object_mut) {
        // The spindle's watts hold for the platters that are there; absent, for the drive's own.
        power.shift_remove("platters");
    }
    drop_faults(&mut made, head);
    made["sources"] = sources.into();
    DriveSpec::from_value(made.clone(), models)?;
    Ok(made)
}

fn describe(made: &mut Value, spec: &Value, head: usize) {
    let name = spec["name"].as_str().unwrap_or_default();
    let title = spec["title"].as_str().unwrap_or(name);
    made["name"] = format!("{name}-without-head-{head}").into();
    made["title"] = format!("{title}, without head {head}").into();
    let text = format!(
        "The drive {name} after the removal of head {head} (headstack drives depopulate). The platters are still there, so \
         watts and seeks are unchanged."
    );
    made["description"] = text.into();
}

/// Takes a head out of a geometry.
fn remove_from(made: &mut Value, before: &Value, head: usize) {
    made["surfaces"] = (surfaces_of(before) - 1).into();
    for key in ["density", "surface_zones"] {
        // A list with one entry holds for all surfaces.
        if let Some(all) = made.get_mut(key).and_then(Value::as_array_mut) {
            if all.len() > 1 {
                all.remove(head);
            }
        }
    }
    for zone in made["zones"].as_array_mut().into_iter().flatten() {
        if let Some(each) = zone["sectors_per_track"].as_array_mut() {
            each.remove(head);
        }
    }
    continue_skew(before, made);
}

/// Removes the faults of a head that is gone; heads after it have lower numbers now.
fn drop_faults(made: &mut Value, head: usize) {
    let Some(parts) = made.get_mut("parallelism").and_then(Value::as_object_mut) else { return };
    let Some(Value::Array(mut faults)) = parts.shift_remove("faults") else { return };
    let surface = |fault: &Value| fault["surface"].as_u64();
    faults.retain(|fault| surface(fault) != Some(head as u64));
    for fault in &mut faults {
        if let Some(of) = surface(fault).filter(|of| *of > head as u64) {
            fault["surface"] = (of - 1).into();
        }
    }
    if !faults.is_empty() {
        parts.insert("faults".into(), faults.into());
    } else if parts.is_empty() {
        if let Some(made) = made.as_object_mut() {
            made.shift_remove("parallelism");
        }
    }
}

/// The offsets that continue the skew over the borders of zones, in turns.
fn offsets(geometry: &Value) -> Vec<f64> {
    let number = |zone: &Value, key: &str| zone[key].as_f64().unwrap_or(0.0);
    let zones = list(&geometry["zones"]);
    let mut at = zones.first().map_or(0.0, |zone| number(zone, "offset"));
    let between = (surfaces_of(geometry) - 1) as f64;
    let each = zones.iter().map(|zone| {
        let own = at.rem_euclid(1.0);
        let skew = between * number(zone, "track_skew") + number(zone, "cylinder_skew");
        at += (number(zone, "last_cylinder") - number(zone, "first_cylinder") + 1.0) * skew;
        own
    });
    each.collect()
}

/// Computes the offsets of zones anew, if they continued the skew of the zones before.
fn continue_skew(before: &Value, made: &mut Value) {
    let is_by_cylinder = made["layout"].as_str().is_some_and(|layout| BY_CYLINDER.contains(&layout));
    if made["skew_unit"].as_str() != Some("turns") || !is_by_cylinder {
        return;
    }
    let given = list(&before["zones"]).iter();
    let given = given.map(|zone| zone["offset"].as_f64().unwrap_or(0.0));
    let apart = |(a, b): (f64, f64)| ((a - b + 0.5).rem_euclid(1.0) - 0.5).abs();
    if given.zip(offsets(before)).map(apart).any(|d| d > CONTINUES) {
        return;
    }
    let new = offsets(made);
    let zones = made["zones"].as_array_mut().into_iter().flatten();
    for (zone, offset) in zones.zip(new) {
        zone["offset"] = ((offset * 1e6).round() / 1e6).rem_euclid(1.0).into();
    }
}
