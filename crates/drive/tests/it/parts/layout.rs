//! The contract of every layout, checked by brute force on small random geometries.

use crate::parts::layout::adaptive::{densities, sectors_on, vary};
use headstack_drive::layout::extents::Map;
use headstack_drive::layout::*;
use headstack_drive::spec::{Derived, GeometrySpec, PerSurface, SkewUnit, Sparing, ZoneSpec};
use headstack_schema::{Params, SpecError, Table};
use headstack_testkit::SplitMix;
use headstack_units::{Bytes, Rpm};
use std::collections::BTreeMap;

mod adaptive;

/// The built-in layout of a geometry.
pub(super) fn build(spec: &GeometrySpec) -> Result<Box<dyn Layout>, SpecError> {
    headstack_drive::layout::build(spec, &PLUGINS)
}

pub(super) fn geometry(layout: &str, surfaces: u32, zones: Vec<ZoneSpec>) -> GeometrySpec {
    GeometrySpec {
        rotation_speed: Rpm(6000.0),
        surfaces,
        cylinders: zones.iter().map(|z| z.last_cylinder + 1).max().unwrap_or(1),
        sector_size: Bytes(512),
        layout: layout.into(),
        skew_unit: SkewUnit::Sectors,
        sparing: Sparing::None,
        sparing_range_cylinders: 1,
        zones,
        capacity_blocks: None,
        layout_parameters: match layout {
            "banded" => banded(3),
            "adaptive" => densities(3, &vec![(1.0, 1.0); surfaces as usize]),
            _ => Params::new(),
        },
        derived: None,
    }
}

pub(super) fn banded(band_cylinders: u32) -> Params {
    [("band_cylinders".to_string(), band_cylinders.into())].into_iter().collect()
}

/// Changes the map of a geometry of extents.
fn change_map(g: &mut GeometrySpec, change: impl FnOnce(&mut Map)) {
    let mut map = match g.layout_parameters.is_empty() {
        true => Map::default(),
        false => Map::read_beside(&[], &g.layout_parameters).expect("a map"),
    };
    change(&mut map);
    match serde_json::to_value(map) {
        Ok(serde_json::Value::Object(table)) => g.layout_parameters = table,
        other => panic!("got {other:?}, need a table"),
    }
}

pub(super) fn zone(first: u32, last: u32, spt: PerSurface) -> ZoneSpec {
    ZoneSpec {
        first_cylinder: first,
        last_cylinder: last,
        sectors_per_track: spt,
        track_skew: 0.0,
        cylinder_skew: 0.0,
        offset: 0.0,
        empty_sectors: 0,
        spares: 0,
        slips: Vec::new(),
        remaps: Vec::new(),
    }
}

fn takes_any_sparing(layout: &str, same: bool) -> bool {
    layout != "banded" && same
}

/// A random geometry of up to three zones, with everything that this layout allows except remaps.
fn random(layout: &str, sparing: Sparing, d: &mut SplitMix) -> GeometrySpec {
    let surfaces = d.between(1, 4);
    let plain = matches!(sparing, Sparing::None | Sparing::DiskEnd | Sparing::ZoneEnd | Sparing::ZoneEndSlipToDiskEnd);
    let mut zones = Vec::new();
    let mut first = 0;
    for _ in 0..d.between(1, 3) {
        let last = first + d.between(1, 7);
        let spt = if plain && d.below(2) == 0 {
            PerSurface::Each((0..surfaces).map(|_| d.between(3, 12)).collect())
        } else {
            PerSurface::Same(d.between(3, 12))
        };
        let mut z = zone(first, last, spt);
        z.track_skew = d.between(0, 3) as f64;
        z.cylinder_skew = d.between(0, 5) as f64;
        z.offset = d.between(0, 5) as f64;
        z.empty_sectors = d.between(0, 2);
        if sparing != Sparing::None {
            z.spares = d.between(0, 2);
            let places = (last - first + 1) * surfaces * 3;
            let limit = if sparing == Sparing::Tracks { ((last - first + 1) * surfaces) as u64 } else { places as u64 };
            z.slips = (0..d.below(3)).map(|_| d.below(limit)).collect();
        }
        zones.push(z);
        first = last + 1;
    }
    let mut g = geometry(layout, surfaces, zones);
    g.sparing = sparing;
    g.skew_unit = [SkewUnit::Sectors, SkewUnit::Turns][d.below(2) as usize];
    if layout == "banded" {
        g.layout_parameters = banded(d.between(1, 5));
    }
    g.sparing_range_cylinders = d.between(1, 3);
    if layout == "extents" {
        scatter(&mut g, d);
    }
    if layout == "adaptive" {
        vary(&mut g, d);
    }
    g
}

/// Divides the tracks of each zone into extents in random order. Some of the remaining sectors are defects.
fn scatter(g: &mut GeometrySpec, d: &mut SplitMix) {
    g.sparing = Sparing::None;
    let mut map = Map::default();
    let mut first = 0;
    for z in &mut g.zones {
        (z.empty_sectors, z.spares) = (0, 0);
        z.slips.clear();
        let mut pieces = Vec::new();
        for c in z.first_cylinder..=z.last_cylinder {
            for h in 0..g.surfaces {
                let (mut s, spt) = (d.between(0, 2), z.sectors_per_track.of(h));
                while s < spt {
                    let count = d.between(1, spt - s);
                    pieces.push([count, c, h, s]);
                    let gap = d.between(0, 1);
                    s += count + gap;
                    if gap > 0 && s <= spt {
                        map.extent_defects.push([c, h, s - 1].map(u64::from));
                    }
                }
            }
        }
        while !pieces.is_empty() {
            let [count, c, h, s] = pieces.swap_remove(d.below(pieces.len() as u64) as usize).map(u64::from);
            map.extents.push([first, count, c, h, s]);
            first += count;
        }
    }
    // The list need not be sorted.
    for i in (1..map.extents.len()).rev() {
        map.extents.swap(i, d.below(i as u64 + 1) as usize);
    }
    change_map(g, |m| *m = map);
}

/// The same disk, with its address order written as extents.
fn mapped(g: &GeometrySpec) -> Option<GeometrySpec> {
    let layout = build(g).ok()?;
    let mut mapped = g.clone();
    mapped.layout = "extents".into();
    mapped.sparing = Sparing::None;
    for z in &mut mapped.zones {
        (z.empty_sectors, z.spares) = (0, 0);
        z.slips.clear();
    }
    let mut map = Map::default();
    let mut a = 0;
    while let Some(p) = layout.locate(a) {
        let numbers = [p.cylinder, p.head.into(), p.sector].map(u64::from);
        let [c, h, s] = numbers;
        map.extents.push([a, p.run.into(), c, h, s]);
        a += u64::from(p.run);
    }
    change_map(&mut mapped, |m| *m = map);
    Some(mapped)
}

pub(super) type Spot = (u32, u32, u32);

/// Checks everything that the trait promises, by brute force. Returns the place of each address.
pub(super) fn check(layout: &dyn Layout, g: &GeometrySpec, what: &str) -> BTreeMap<Spot, u64> {
    let mut at: BTreeMap<Spot, u64> = BTreeMap::new();
    let capacity = layout.capacity();
    let steps = layout.steps_per_cylinder();
    let mut places = Vec::new();
    for a in 0..capacity {
        let p = layout.locate(a).unwrap_or_else(|| panic!("{what}: no place of {a}"));
        let spot = (p.cylinder, p.head as u32, p.sector);
        assert!(p.cylinder < g.cylinders * steps, "{what}: {a} {p:?}");
        let sectors = layout.track_sectors(p.cylinder, p.head as u32);
        assert_eq!(sectors, p.sectors_per_track, "{what}: {a} {p:?}");
        let z = &g.zones[p.zone as usize];
        assert!((z.first_cylinder..=z.last_cylinder).contains(&(p.cylinder / steps)), "{what}: {a} {p:?}");
        assert!((p.head as u32) < g.surfaces, "{what}: {a} {p:?}");
        assert_eq!(p.sectors_per_track, sectors_on(g, p.zone as usize, p.head as u32), "{what}: {a} {p:?}");
        assert!(p.sector < p.sectors_per_track, "{what}: {a} {p:?}");
        let width = 60e9 / g.rotation_speed.0 / p.sectors_per_track as f64;
        assert!((p.sector_ns - width).abs() < 1e-6, "{what}: {a} {p:?}");
        if let Some(b) = at.insert(spot, a) {
            panic!("{what}: {a} and {b} both lie at {spot:?}");
        }
        places.push(p);
    }
    assert_eq!(layout.locate(capacity), None, "{what}");
    // The inverse, also for sectors without an address.
    let most = places.iter().map(|p| p.sectors_per_track).max();
    for c in 0..(g.cylinders + 1) * steps {
        for h in 0..g.surfaces + 1 {
            for s in 0..most.unwrap_or(0) + 2 {
                let got = layout.address_at(c, h, s);
                assert_eq!(got, at.get(&(c, h, s)).copied(), "{what}: ({c}, {h}, {s})");
            }
            // Where no track lies, no sector has an address.
            if layout.track_sectors(c, h) == 0 {
                let addresses = at.range((c, h, 0)..=(c, h, u32::MAX));
                assert_eq!(addresses.count(), 0, "{what}: ({c}, {h})");
            }
            // A track near a position is on that head, and not farther than its pitch, at most four cylinders.
            if let Some(near) = layout.track_near(c, h) {
                let p = places[near as usize];
                assert_eq!(u32::from(p.head), h, "{what}: near ({c}, {h}): {p:?}");
                let own = layout.address_at(c, h, 0);
                assert!(own.is_none_or(|a| a == near), "{what}: near ({c}, {h})");
                assert!(p.cylinder.abs_diff(c) <= 4 * steps, "{what}: {p:?} near {c}");
            }
        }
    }
    // Runs: each address follows the one before it on the track and under the head.
    for (a, p) in places.iter().enumerate() {
        assert!(p.run >= 1 && a as u64 + p.run as u64 <= capacity, "{what}: {a} {p:?}");
        for i in 1..p.run {
            let q = places[a + i as usize];
            assert_eq!(
                (q.cylinder, q.head, q.sector, q.run),
                (p.cylinder, p.head, p.sector + i, p.run - i),
                "{what}: {i} after {a}"
            );
            let turned = q.angle.since(p.angle).as_turns();
            let want = i as f64 / p.sectors_per_track as f64;
            assert!((turned - want).abs() < 1e-12, "{what}: {i} after {a}: {turned} for {want}");
        }
    }
    for (a, p) in places.iter().enumerate() {
        assert!(p.before as usize <= a, "{what}: {a} {p:?}");
        let first = places[a - p.before as usize];
        assert!(first.run > p.before, "{what}: {a} {p:?} after {first:?}");
    }
    // Track bounds: the lowest and the highest address on the track.
    let remapped = g.zones.iter().any(|z| !z.remaps.is_empty());
    let mut bounds: BTreeMap<(u32, u16), (u64, u64)> = BTreeMap::new();
    for (a, p) in places.iter().enumerate() {
        let a = a as u64;
        let b = bounds.entry((p.cylinder, p.head)).or_insert((a, a));
        b.1 = a;
    }
    for (a, p) in places.iter().enumerate() {
        let got = layout.track_bounds(a as u64);
        assert!(got.0 <= a as u64 && a as u64 <= got.1, "{what}: {a} outside {got:?}");
        if !remapped {
            assert_eq!(got, bounds[&(p.cylinder, p.head)], "{what}: {a}");
        }
    }
    at
}

/// The example of each layout builds on a disk of two surfaces, ten cylinders and ten sectors per track.
/// Unknown keys, parameters of other layouts included, are refused by name.
#[test]
fn each_reads_its_own_keys_and_no_others() {
    let disk = |name: &str, example: &str| -> GeometrySpec {
        let text = format!(
            "rotation_speed = \"6000 rpm\"\nsurfaces = 2\ncylinders = 10\nlayout = {name:?}\n{example}\n\
             zones = [{{ first_cylinder = 0, last_cylinder = 9, sectors_per_track = 10 }}]"
        );
        toml::from_str(&text).expect("a geometry")
    };
    for plugin in PLUGINS.iter() {
        let g = disk(plugin.name(), plugin.example());
        let layout = build(&g).unwrap_or_else(|e| panic!("example of {}: {e}", plugin.name()));
        check(layout.as_ref(), &g, plugin.name());
        for (key, value, hint) in [("no_such_key", 1.into(), ""), ("surfces", 1.into(), "; did you mean \"surfaces\"?")]
        {
            let mut g = g.clone();
            g.layout_parameters.insert(key.into(), value);
            let error = build(&g).err().map(|e| e.to_string()).unwrap_or_default();
            let start = format!("geometry: got key {key:?}, need one of rotation_speed, surfaces, ");
            assert!(error.starts_with(&start) && error.ends_with(hint), "{error}");
        }
        for other in PLUGINS.iter().filter(|p| p.name() != plugin.name() && !p.example().is_empty()) {
            let mut g = g.clone();
            let table: Params = toml::from_str(other.example()).expect("TOML");
            let known = |key: &String| g.layout_parameters.contains_key(key);
            if table.keys().all(known) {
                continue;
            }
            g.layout_parameters.extend(table);
            let error = build(&g).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains("geometry: got key"), "{} {}: {error:?}", plugin.name(), other.name());
        }
    }
}

/// A field missing from the list of keys would have no name in errors; an extra name would be taken for a
/// parameter.
#[test]
fn the_list_of_keys_is_complete() {
    let mut g = geometry("cylinder-major", 1, vec![zone(0, 1, PerSurface::Same(3))]);
    g.capacity_blocks = Some(3);
    let table = serde_json::to_value(&g).unwrap();
    let written: Vec<&str> = table.as_object().unwrap().keys().map(String::as_str).collect();
    let declared: Vec<&str> = GeometrySpec::schema().fields.into_iter().map(|f| f.key).collect();
    assert_eq!(written, declared);
}

/// Extents name surfaces, so a drive that joins or divides its surfaces is refused.
#[test]
fn extents_are_of_whole_drives() {
    let mut g = geometry("extents", 2, vec![zone(0, 3, PerSurface::Same(10))]);
    change_map(&mut g, |m| m.extents = vec![[0, 10, 0, 0, 0]]);
    assert!(build(&g).is_ok());
    g.derived = Some(Derived { by: "dash", first_surface: 0, of_surfaces: 2 });
    assert_eq!(build(&g).err().map(|e| e.key), Some("dash".into()));
}

#[test]
fn every_layout_is_a_bijection_with_true_runs_and_bounds() {
    for plugin in PLUGINS.iter() {
        for sparing in Sparing::SCHEMES {
            let (mut built, mut refused) = (0, String::new());
            for seed in 0..120 {
                let mut d = SplitMix(seed);
                let g = random(plugin.name(), sparing, &mut d);
                let what = format!("{} {sparing:?} seed {seed}: {g:?}", plugin.name());
                match build(&g) {
                    Ok(layout) => {
                        built += 1;
                        check(layout.as_ref(), &g, &what);
                    }
                    Err(e) => refused = e.to_string(),
                }
            }
            let same =
                !matches!(sparing, Sparing::None | Sparing::DiskEnd | Sparing::ZoneEnd | Sparing::ZoneEndSlipToDiskEnd);
            if takes_any_sparing(plugin.name(), true) || !same {
                assert!(built >= 20, "{} {sparing:?}: {built} built, {refused}", plugin.name());
            } else {
                assert!(refused.contains("spares"), "{} {sparing:?}: {refused}", plugin.name());
            }
        }
    }
}

/// Large drives are looked up in buckets of addresses; slips and zone ends lie anywhere in them.
#[test]
fn stretches_of_addresses_keep_the_promises() {
    for (seed, sparing) in [Sparing::DiskEnd, Sparing::ZoneEndSlipToDiskEnd].into_iter().enumerate() {
        let mut d = SplitMix(seed as u64);
        let mut zones = vec![
            zone(0, 43, PerSurface::Same(97)),
            zone(44, 60, PerSurface::Each(vec![83, 61])),
            zone(61, 99, PerSurface::Same(40)),
        ];
        for z in &mut zones {
            z.slips = (0..d.between(1, 9)).map(|_| d.below(2400)).collect();
            (z.empty_sectors, z.spares) = (d.between(0, 50), 9);
            (z.track_skew, z.cylinder_skew) = (5.0, 11.0);
        }
        let mut g = geometry("cylinder-major", 2, zones);
        g.sparing = sparing;
        let layout = build(&g).unwrap();
        assert!(layout.capacity() > 2 * 4096, "wider stretches than one address");
        check(layout.as_ref(), &g, &format!("{sparing:?}"));
    }
}

/// A map written from a zoned layout puts every address at the same place and angle. (With rules that slip
/// inside cylinders and tracks, later sectors are turned by the slips.)
#[test]
fn extents_repeat_the_layout_that_they_were_taken_from() {
    for sparing in [Sparing::None, Sparing::Tracks, Sparing::DiskEnd, Sparing::Range, Sparing::ZoneEnd] {
        let mut compared = 0;
        for seed in 0..60 {
            let g = random("cylinder-major", sparing, &mut SplitMix(seed));
            let Some(map) = mapped(&g) else { continue };
            let (zoned, extents) = (build(&g).unwrap(), build(&map).unwrap());
            assert_eq!(zoned.capacity(), extents.capacity());
            for a in 0..zoned.capacity() {
                let (mut want, got) = (zoned.locate(a).unwrap(), extents.locate(a).unwrap());
                // Joined extents may continue beyond the end of the zoned layout's run.
                assert!(got.run >= want.run, "{sparing:?} {seed}: {a}");
                assert!(got.before >= want.before, "{sparing:?} {seed}: {a}");
                (want.run, want.before) = (got.run, got.before);
                assert_eq!(got, want, "{sparing:?} {seed}: {a}");
                assert_eq!(extents.track_bounds(a), zoned.track_bounds(a));
                compared += 1;
            }
        }
        assert!(compared > 1000, "{sparing:?}: {compared}");
    }
}

type Change = Box<dyn Fn(&mut GeometrySpec)>;

/// Each change makes a geometry that is refused, with these words.
fn refused(base: impl Fn() -> GeometrySpec, cases: Vec<(&str, Change)>) {
    for (words, change) in cases {
        let mut g = base();
        change(&mut g);
        let error = build(&g).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(words), "{words}: {error:?}");
    }
}

#[test]
fn contradictory_extents_are_refused_by_key() {
    let base = || {
        let mut g = geometry("extents", 2, vec![zone(0, 3, PerSurface::Same(10)), zone(4, 9, PerSurface::Same(8))]);
        // Out of order on purpose: the second half of the first track comes much later.
        change_map(&mut g, |m| {
            m.extents = vec![[5, 8, 0, 1, 2], [0, 5, 0, 0, 0], [13, 8, 4, 0, 0]];
            m.extent_defects = vec![[0, 1, 1], [4, 1, 0]];
        });
        g
    };
    check(build(&base()).unwrap().as_ref(), &base(), "three extents");
    let cases: Vec<(&str, Change)> = vec![
        ("geometry.extents: got 0", Box::new(|g| change_map(g, |m| m.extents.clear()))),
        ("geometry.extents[0]: got first address 6, need 5", Box::new(|g| change_map(g, |m| m.extents[0][0] = 6))),
        ("geometry.extents[0]: got first address 4, need 5", Box::new(|g| change_map(g, |m| m.extents[0][0] = 4))),
        ("geometry.extents[2]: got 8 sectors from sector 1 on", Box::new(|g| change_map(g, |m| m.extents[2][4] = 1))),
        ("geometry.extents[2]: got 0 sectors", Box::new(|g| change_map(g, |m| m.extents[2][1] = 0))),
        (
            "geometry.extents[2]: got 8 sectors from sector 18446744073709551615 on",
            Box::new(|g| change_map(g, |m| m.extents[2][4] = u64::MAX)),
        ),
        ("geometry.extents[1]: got cylinder 10", Box::new(|g| change_map(g, |m| m.extents[1][2] = 10))),
        ("geometry.extents[1]: got head 2", Box::new(|g| change_map(g, |m| m.extents[1][3] = 2))),
        ("geometry.extents[0]: got zone 0 after zone 1", Box::new(|g| change_map(g, |m| m.extents[1][2] = 5))),
        (
            "geometry.extents: got cylinder 0, head 0, sector 2 twice",
            Box::new(|g| change_map(g, |m| m.extents[0][3] = 0)),
        ),
        (
            "geometry.extent_defects[0]: got cylinder 0, head 1, sector 2",
            Box::new(|g| change_map(g, |m| m.extent_defects[0][2] = 2)),
        ),
        ("geometry.extent_defects[1]: got head 2", Box::new(|g| change_map(g, |m| m.extent_defects[1][1] = 2))),
        ("geometry.sparing", Box::new(|g| g.sparing = Sparing::ZoneEnd)),
        ("geometry.zones[1].slips: got 1", Box::new(|g| g.zones[1].slips = vec![3])),
        ("geometry.zones[1].first_cylinder", Box::new(|g| g.zones[1].first_cylinder = 3)),
        ("geometry.capacity_blocks: got 22, need 1 to 21", Box::new(|g| g.capacity_blocks = Some(22))),
    ];
    refused(base, cases);
    // A drive may offer less than its map holds.
    let mut g = base();
    g.capacity_blocks = Some(9);
    check(build(&g).unwrap().as_ref(), &g, "part of the map");
}

/// Data of remapped sectors lie in the given spare sectors; everything else stays.
#[test]
fn remaps_move_single_places_into_spares() {
    for sparing in Sparing::SCHEMES {
        for seed in 0..200 {
            let mut d = SplitMix(seed);
            let mut g = random("cylinder-major", sparing, &mut d);
            g.zones.truncate(1);
            g.cylinders = g.zones[0].last_cylinder + 1;
            let PerSurface::Same(spt) = g.zones[0].sectors_per_track else { continue };
            let Ok(plain) = build(&g) else { continue };
            let what = format!("{sparing:?} seed {seed}: {g:?}");
            let at = check(plain.as_ref(), &g, &what);
            let spot = |i: u64| {
                let (track, sector) = (i / spt as u64, i % spt as u64);
                let s = g.surfaces as u64;
                ((track / s) as u32, (track % s) as u32, sector as u32)
            };
            let unit = if sparing == Sparing::Tracks { spt as u64 } else { 1 };
            let units = (g.cylinders * g.surfaces * spt) as u64 / unit;
            let used = |u: u64| (0..unit).any(|k| at.contains_key(&spot(u * unit + k)));
            let spare = (0..units).find(|u| !used(*u) && !g.zones[0].slips.contains(u));
            let from = (0..units).filter(|u| used(*u)).nth(d.below(5) as usize);
            let (Some(spare), Some(from)) = (spare, from) else { continue };
            let mut with = g.clone();
            with.zones[0].remaps = vec![[from, spare]];
            let moved = check(build(&with).unwrap().as_ref(), &with, &what);
            for (place, address) in &at {
                let lies = (0..unit).find(|k| spot(from * unit + k) == *place);
                let want = lies.map_or(*place, |k| spot(spare * unit + k));
                assert_eq!(moved.get(&want), Some(address), "{what} {from} to {spare}");
            }
        }
    }
}

/// The order of tracks of each layout, written out by hand.
#[test]
fn tracks_come_in_the_promised_order() {
    let order = |layout: &str, first: u32, spt: PerSurface| -> Vec<(u32, u16)> {
        let mut zones = vec![zone(first, first + 3, spt)];
        if first > 0 {
            zones.insert(0, zone(0, first - 1, PerSurface::Same(5)));
        }
        let g = geometry(layout, 2, zones);
        let built = build(&g).unwrap();
        let mut tracks: Vec<(u32, u16)> = (0..built.capacity())
            .map(|a| built.locate(a).unwrap())
            .filter(|p| p.cylinder >= first)
            .map(|p| (p.cylinder - first, p.head))
            .collect();
        tracks.dedup();
        tracks
    };
    for spt in [PerSurface::Same(4), PerSurface::Each(vec![4, 6])] {
        let straight = vec![(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)];
        let odd = vec![(0, 0), (0, 1), (1, 1), (1, 0), (2, 0), (2, 1), (3, 1), (3, 0)];
        let even = vec![(0, 1), (0, 0), (1, 0), (1, 1), (2, 1), (2, 0), (3, 0), (3, 1)];
        // Bands of three cylinders; outward on odd heads.
        let bands = vec![(0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1), (3, 0), (3, 1)];
        assert_eq!(order("cylinder-major", 0, spt.clone()), straight);
        assert_eq!(order("serpentine", 0, spt.clone()), odd);
        assert_eq!(order("serpentine", 1, spt.clone()), odd);
        assert_eq!(order("serpentine-disk", 0, spt.clone()), odd);
        assert_eq!(order("serpentine-disk", 1, spt.clone()), even);
        assert_eq!(order("banded", 0, spt), bands);
    }
}

/// Each track is turned by the track and cylinder skews of all switches before it.
#[test]
fn skews_add_up_over_switches() {
    for layout in ["cylinder-major", "serpentine", "serpentine-disk", "banded"] {
        let mut z = zone(0, 6, PerSurface::Same(20));
        (z.track_skew, z.cylinder_skew, z.offset) = (3.0, 7.0, 2.0);
        let g = geometry(layout, 3, vec![z]);
        let built = build(&g).unwrap();
        let mut want = 2.0 / 20.0;
        let mut before = built.locate(0).unwrap();
        for a in (0..built.capacity()).step_by(20) {
            let p = built.locate(a).unwrap();
            assert_eq!(p.sector, 0);
            if a > 0 {
                // Cylinder-major layouts add the cylinder skew between cylinders. Banded ones add it between
                // the tracks of a surface, and the track skew between surfaces.
                let cylinder = if layout == "banded" { p.head == before.head } else { p.cylinder != before.cylinder };
                want += if cylinder { 7.0 } else { 3.0 } / 20.0;
            }
            let off = (p.angle.as_turns() - want + 0.5).rem_euclid(1.0) - 0.5;
            assert!(off.abs() < 1e-9, "{layout} {a}: {} for {want}", p.angle);
            before = p;
        }
    }
}

#[test]
fn contradictory_geometries_are_refused_by_key() {
    let base = || geometry("cylinder-major", 2, vec![zone(0, 9, PerSurface::Same(10))]);
    let cases: Vec<(&str, Change)> = vec![
        ("geometry.layout", Box::new(|g| g.layout = "serpentin".into())),
        ("geometry.surfaces", Box::new(|g| g.surfaces = 0)),
        ("geometry.zones", Box::new(|g| g.zones.clear())),
        ("first_cylinder", Box::new(|g| g.zones.push(zone(5, 9, PerSurface::Same(9))))),
        ("last_cylinder", Box::new(|g| g.zones[0].last_cylinder = 10)),
        ("sectors_per_track", Box::new(|g| g.zones[0].sectors_per_track = PerSurface::Same(0))),
        ("sectors_per_track", Box::new(|g| g.zones[0].sectors_per_track = PerSurface::Each(vec![1]))),
        ("capacity_blocks", Box::new(|g| g.capacity_blocks = Some(201))),
        (
            "capacity_blocks",
            Box::new(|g| {
                g.sector_size = Bytes(4096);
                g.capacity_blocks = Some(7);
            }),
        ),
        (
            "slips",
            Box::new(|g| {
                g.sparing = Sparing::CylinderEnd;
                g.zones[0].spares = 1;
                g.zones[0].slips = vec![3, 5];
            }),
        ),
        ("remaps", Box::new(|g| g.zones[0].remaps = vec![[3, 200]])),
        ("remaps", Box::new(|g| g.zones[0].remaps = vec![[3, 4]])),
        (
            "band_cylinders",
            Box::new(|g| {
                g.layout = "banded".into();
            }),
        ),
    ];
    refused(base, cases);
    // A band wider than the disk is one band.
    let mut g = base();
    g.layout = "banded".into();
    g.layout_parameters = banded(u32::MAX);
    check(build(&g).unwrap().as_ref(), &g, "one band");
}
