//! `dm_layout_g1` and `dm_layout_g2`: zones, skews, spares, and the order of addresses.

use super::fields::{count_of, indices_of, Fields};
use super::{Note, Treatment};
use crate::ast::{Block, Value};
use crate::error::{Error, Position};
use crate::loader::Loader;
use headstack_drive::layout::extents::Map;
use headstack_drive::spec::{GeometrySpec, Params, PerSurface, SkewUnit, Sparing, ZoneSpec};
use headstack_units::{Bytes, Rpm};
use serde_json::json;
use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Most cylinders of a disk.
pub(super) const MOST_CYLINDERS: u32 = 10_000_000;

/// Surfaces and cylinders of the disk.
pub(super) struct Shape {
    pub surfaces: u32,
    pub cylinders: u32,
}

/// Reads a layout block; the rotation speed is left at zero.
pub(super) fn read(
    block: &Block,
    shape: &Shape,
    loader: &dyn Loader,
    report: &mut Vec<Note>,
) -> Result<GeometrySpec, Error> {
    let mut geometry = GeometrySpec {
        rotation_speed: Rpm(0.0),
        surfaces: shape.surfaces,
        cylinders: shape.cylinders,
        sector_size: Bytes(512),
        layout: String::new(),
        skew_unit: SkewUnit::Sectors,
        sparing: Sparing::None,
        sparing_range_cylinders: 1,
        zones: Vec::new(),
        capacity_blocks: None,
        layout_parameters: Params::new(),
        derived: None,
    };
    let mut fields = Fields::new(block, "Layout Model");
    match block.kind.as_str() {
        "dm_layout_g1" => read_mapping(&mut fields, &mut geometry)?,
        "dm_layout_g2" => read_map(&mut fields, shape, loader, &mut geometry)?,
        kind => {
            let need = "a block dm_layout_g1 or dm_layout_g2; others are not supported";
            return Err(Error::new(block.at.clone(), format!("a block {kind}"), need));
        }
    }
    let g1 = block.kind == "dm_layout_g1";
    let common = fields.get("Skew units").map(unit).transpose()?;
    let zones = fields.need("Zones")?;
    let mut units = Vec::new();
    let mut notes: Vec<Note> = Vec::new();
    for value in zones.list()? {
        let mut zone_notes = Vec::new();
        let (zone, own) = zone(value, &geometry, g1, &mut zone_notes)?;
        refuse_overlap(value, &zone, &geometry.zones)?;
        // DiskSim also counts the blocks of this cylinder.
        geometry.cylinders = geometry.cylinders.max(zone.last_cylinder + 1);
        geometry.zones.push(zone);
        units.push(own.or(common).unwrap_or(SkewUnit::Sectors));
        // One note stands for all zones, unless the value of another zone is treated differently.
        for note in zone_notes {
            let same = |n: &Note| n.parameter == note.parameter && n.treatment == note.treatment;
            if note.treatment == Treatment::Tolerated || !notes.iter().any(same) {
                notes.push(note);
            }
        }
    }
    if geometry.zones.is_empty() {
        return Err(Error::new(zones.at.clone(), zones.show(), "at least one zone"));
    }
    note_gaps(&geometry.zones, zones, &mut notes);
    fields.finish(report);
    report.extend(notes);
    unite_skews(&mut geometry, &units);
    Ok(geometry)
}

/// Reads the order of addresses and the sparing of a block `dm_layout_g1`.
fn read_mapping(fields: &mut Fields, geometry: &mut GeometrySpec) -> Result<(), Error> {
    let mapping = fields.count("LBN-to-PBN mapping scheme", 0, 2, 0)?;
    geometry.layout = ["cylinder-major", "serpentine", "serpentine-disk"][mapping as usize].into();
    geometry.sparing = Sparing::SCHEMES[fields.count("Sparing scheme used", 0, 10, 0)? as usize];
    geometry.sparing_range_cylinders = fields.count("Rangesize for sparing", 0, 10_000_000, 1)?.max(1);
    if geometry.sparing != Sparing::Range {
        fields.no_effect(&["Rangesize for sparing"], "only scheme 8 has ranges")?;
    }
    Ok(())
}

/// Reads the map of extents that a block `dm_layout_g2` names.
fn read_map(fields: &mut Fields, shape: &Shape, loader: &dyn Loader, geometry: &mut GeometrySpec) -> Result<(), Error> {
    geometry.layout = "extents".into();
    let value = fields.need("Layout Map File")?;
    let name = value.word()?;
    let (path, text) = loader
        .load(name, Some(&value.at.file))
        .map_err(|why| Error::new(value.at.clone(), format!("{name:?}: {why}"), "a layout map"))?;
    let map = map(&path, &text, shape)?;
    geometry.layout_parameters =
        [("extents".to_string(), json!(map.extents)), ("extent_defects".to_string(), json!(map.extent_defects))]
            .into_iter()
            .collect();
    Ok(())
}

/// Gives the skews of all zones one unit, which the schema has for the whole disk. If theirs differ, sectors are truncated to
/// integers and converted to turns.
fn unite_skews(geometry: &mut GeometrySpec, units: &[SkewUnit]) {
    if units.iter().all(|u| *u == units[0]) {
        geometry.skew_unit = units[0];
        return;
    }
    geometry.skew_unit = SkewUnit::Turns;
    for (zone, unit) in geometry.zones.iter_mut().zip(units) {
        if *unit == SkewUnit::Sectors {
            let sectors = zone.sectors_per_track.of(0) as f64;
            for value in [&mut zone.track_skew, &mut zone.cylinder_skew, &mut zone.offset] {
                *value = value.trunc() / sectors;
            }
        }
    }
}

fn unit(value: &Value) -> Result<SkewUnit, Error> {
    match value.word()? {
        "sectors" => Ok(SkewUnit::Sectors),
        "revolutions" => Ok(SkewUnit::Turns),
        _ => Err(Error::new(value.at.clone(), value.show(), "sectors or revolutions")),
    }
}

/// Refuses zones that share a cylinder. DiskSim accepts them and has two blocks in one place.
fn refuse_overlap(value: &Value, zone: &ZoneSpec, earlier: &[ZoneSpec]) -> Result<(), Error> {
    let shared = |z: &ZoneSpec| z.first_cylinder <= zone.last_cylinder && zone.first_cylinder <= z.last_cylinder;
    let Some(i) = earlier.iter().position(shared) else { return Ok(()) };
    let (first, last) = (zone.first_cylinder, zone.last_cylinder);
    let (from, to) = (earlier[i].first_cylinder, earlier[i].last_cylinder);
    Err(Error::new(
        value.at.clone(),
        format!("a zone of cylinders {first} to {last}"),
        format!("none of zone {i}'s {from} to {to}: two blocks would share a place"),
    ))
}

/// Cylinders between zones are unused: one note for all gaps.
fn note_gaps(zones: &[ZoneSpec], value: &Value, notes: &mut Vec<Note>) {
    let mut limits: Vec<(u32, u32)> = zones.iter().map(|z| (z.first_cylinder, z.last_cylinder)).collect();
    limits.sort_unstable();
    let gaps = limits.windows(2).map(|pair| pair[0].1 + 1..pair[1].0);
    let gaps: Vec<Range<u32>> = gaps.filter(|gap| !gap.is_empty()).collect();
    let Some(first) = gaps.first() else { return };
    let more = match gaps.len() {
        1 => String::new(),
        n => {
            let cylinders: usize = gaps.iter().map(Range::len).sum();
            format!("; {n} such gaps in all, {cylinders} cylinders")
        }
    };
    let (from, to) = (first.start, first.end - 1);
    notes.push(Note {
        parameter: "Layout Model: Zones".into(),
        value: value.show(),
        at: value.at.to_string(),
        treatment: Treatment::Tolerated,
        detail: format!("cylinders {from} to {to} belong to no zone and hold no block{more}"),
    });
}

fn zone(
    value: &Value,
    geometry: &GeometrySpec,
    g1: bool,
    report: &mut Vec<Note>,
) -> Result<(ZoneSpec, Option<SkewUnit>), Error> {
    let block = value.block()?;
    let kind = if g1 { "dm_layout_g1_zone" } else { "dm_layout_g2_zone" };
    if block.kind != kind {
        return Err(Error::new(block.at.clone(), value.show(), format!("a block {kind}")));
    }
    let mut fields = Fields::new(block, "Layout Model: Zones");
    let first = fields.need("First cylinder number")?;
    let last = fields.need("Last cylinder number")?;
    let first_cylinder = count_of(first, 0, MOST_CYLINDERS - 1)?;
    let last_cylinder = count_of(last, first_cylinder, MOST_CYLINDERS - 1)?;
    if last_cylinder >= geometry.cylinders {
        let detail = format!(
            "the last of {} cylinders is {}: the disk gets {} more, as DiskSim counts their blocks",
            geometry.cylinders,
            geometry.cylinders - 1,
            last_cylinder + 1 - geometry.cylinders
        );
        fields.note("Last cylinder number", Treatment::Tolerated, &detail);
    }
    let sectors = count_of(fields.need("Blocks per track")?, 1, 10_000_000)?;
    let mut zone = ZoneSpec {
        first_cylinder,
        last_cylinder,
        sectors_per_track: PerSurface::Same(sectors),
        track_skew: skew(&mut fields, "Skew for track switch")?,
        cylinder_skew: skew(&mut fields, "Skew for cylinder switch")?,
        offset: 0.0,
        empty_sectors: 0,
        spares: 0,
        slips: Vec::new(),
        remaps: Vec::new(),
    };
    let own = fields.get("Skew units").map(unit).transpose()?;
    if g1 {
        zone.offset = skew(&mut fields, "Offset of first block")?;
        zone.empty_sectors = fields.count("Empty space at zone front", 0, u32::MAX, 0)?;
        zone.spares = fields.count("Number of spares", 0, u32::MAX, 0)?;
        zone.slips = fields.get("slips").map_or(Ok(Vec::new()), indices_of)?;
        if let Some(value) = fields.get("defects") {
            let flat = indices_of(value)?;
            if flat.len() % 2 != 0 {
                return Err(Error::new(value.at.clone(), value.show(), "pairs: from, to"));
            }
            zone.remaps = flat.chunks_exact(2).map(|p| [p[0], p[1]]).collect();
        }
        tolerate_defects(&mut fields, &mut zone, sectors, geometry);
    } else {
        zone.offset = skew(&mut fields, "Zone Skew")?;
        fields.no_effect(&["First LBN", "Last LBN"], "the extents say the same")?;
    }
    fields.finish(report);
    Ok((zone, own))
}

/// Removes impossible slips and remaps and reports them. DiskSim accepts them: it never reaches places outside
/// the zone, and loses blocks that slips push beyond the spares.
fn tolerate_defects(fields: &mut Fields, zone: &mut ZoneSpec, sectors: u32, geometry: &GeometrySpec) {
    let tracks = u64::from(zone.last_cylinder - zone.first_cylinder + 1) * u64::from(geometry.surfaces);
    let per_track = match geometry.sparing {
        Sparing::Tracks => 1,
        _ => u64::from(sectors),
    };
    let places = tracks * per_track;
    let mut said = Vec::new();
    if zone.slips.windows(2).any(|w| w[0] > w[1]) {
        fields.note("slips", Treatment::Honoured, "taken in rising order");
    }
    let n = keep(&mut zone.slips, |slip| *slip < places);
    if n > 0 {
        said.push(format!("{n} outside the zone's {places} places left out"));
    }
    let per_cylinder = per_track * u64::from(geometry.surfaces);
    // Number of places that share spares. Where slips reduce the number of addresses, there are always enough.
    let unit = match geometry.sparing {
        Sparing::Tracks | Sparing::ZoneEnd => Some(places),
        Sparing::CylinderEnd | Sparing::CylinderFront => Some(per_cylinder),
        Sparing::TrackEnd => Some(per_track),
        Sparing::Range => Some(per_cylinder * u64::from(geometry.sparing_range_cylinders)),
        _ => None,
    };
    if let Some(unit) = unit {
        let mut sorted = zone.slips.clone();
        sorted.sort_unstable();
        sorted.dedup();
        let mut kept = HashSet::new();
        let (mut now, mut taken) = (u64::MAX, 0);
        for slip in sorted {
            // A range that is cut short by the end of the zone has no spares.
            let spares = if (slip / unit + 1) * unit <= places { zone.spares } else { 0 };
            (now, taken) = if slip / unit == now { (now, taken) } else { (slip / unit, 0) };
            if taken < spares {
                kept.insert(slip);
                taken += 1;
            }
        }
        let n = keep(&mut zone.slips, |slip| kept.contains(slip));
        if n > 0 {
            said.push(format!("{n} more than the spares can take in left out"));
        }
    }
    if !said.is_empty() {
        fields.note("slips", Treatment::Tolerated, &said.join("; "));
    }
    let n = keep(&mut zone.remaps, |[from, to]| from.max(to) < &places);
    if n > 0 {
        let detail = format!("{n} outside the zone's {places} places left out");
        fields.note("defects", Treatment::Tolerated, &detail);
    }
}

/// Keeps some of a list; returns how many are left out.
fn keep<T>(list: &mut Vec<T>, kept: impl FnMut(&T) -> bool) -> usize {
    let given = list.len();
    list.retain(kept);
    given - list.len()
}

fn skew(fields: &mut Fields, name: &str) -> Result<f64, Error> {
    let skew = fields.real(name)?;
    if skew.abs() <= 1e9 {
        return Ok(skew);
    }
    let at = fields.block.at.clone();
    Err(Error::new(at, format!("{name} = {skew}"), "at most 1e9"))
}

/// A layout map: two title lines, the disk's shape, extents, defects.
fn map(path: &Path, text: &str, shape: &Shape) -> Result<Map, Error> {
    let mut map = Map::default();
    let file = Arc::new(path.to_path_buf());
    for (index, line) in text.lines().enumerate().skip(3) {
        if line.trim().is_empty() {
            continue;
        }
        let fail = |need: &str| {
            let at = Position { file: file.clone(), line: index as u32 + 1, column: 1 };
            let got = format!("{:?}", line.chars().take(60).collect::<String>());
            Err(Error::new(at, got, need))
        };
        let words: Vec<&str> =
            line.split(|c: char| c.is_whitespace() || c == ',').filter(|w| !w.is_empty()).take(12).collect();
        let number = |w: &str| w.parse::<u64>().ok().filter(|n| *n <= u32::MAX as u64 * 512);
        match words[..] {
            ["lbn", lbn, "-->", "cyl", c, "head", h, "sect", s, word, n] => {
                let values = [lbn, n, c, h, s].map(number);
                let [Some(lbn), Some(n), Some(c), Some(h), Some(s)] = values else { return fail("numbers from 0 on") };
                if c >= shape.cylinders as u64 || h >= shape.surfaces as u64 {
                    return fail("a cylinder and a head of the disk");
                }
                let count = n + u64::from(word == "seqcnt");
                map.extents.push([lbn, count, c, h, s]);
            }
            ["Defect", "at", "cyl", c, "head", h, "sect", s] => {
                let [Some(c), Some(h), Some(s)] = [c, h, s].map(number) else { return fail("numbers from 0 on") };
                map.extent_defects.push([c, h, s]);
            }
            _ => return fail("lbn L --> cyl C, head H, sect S, WORD N or Defect at cyl C, head H, sect S"),
        }
    }
    if map.extents.is_empty() {
        let at = Position { file, line: 4, column: 1 };
        return Err(Error::new(at, "no extent", "at least one line lbn L --> cyl C, …"));
    }
    Ok(map)
}
