//! Tests of the adaptive layout beyond the contract, which is checked for all layouts.

use crate::parts::layout::{banded, build, check, geometry, zone};
use headstack_drive::layout::Place;
use headstack_drive::models::Models;
use headstack_drive::spec::{Derived, DriveSpec, GeometrySpec, Params, PerSurface, SkewUnit, Sparing};
use headstack_drive::{Command, Completion, DriveDesign, DriveRequest};
use headstack_testkit::SplitMix;
use headstack_units::{Lba, Span, Time, Turn};
use serde_json::{json, Value};

/// Parameters of an adaptive layout: bits and tracks per inch of each surface.
pub(in crate::parts::layout) fn densities(band_cylinders: u32, density: &[(f64, f64)]) -> Params {
    let mut table = banded(band_cylinders);
    let each = |(bpi, tpi): &(f64, f64)| json!({"bpi": bpi, "tpi": tpi});
    table.insert("density".into(), density.iter().map(each).collect());
    table
}

/// Sectors per track of a surface in a zone, as the files of the layouts define them.
pub(in crate::parts::layout) fn sectors_on(g: &GeometrySpec, zone: usize, head: u32) -> u32 {
    let nominal = g.zones[zone].sectors_per_track.of(head);
    let density = g.layout_parameters.get("density").and_then(Value::as_array);
    let bpi = density.map(|list| list[(head as usize).min(list.len() - 1)]["bpi"].clone());
    let factor = bpi.and_then(|f| f.as_f64()).unwrap_or(1.0);
    (f64::from(nominal) * factor).round().max(1.0) as u32
}

/// Draws densities, orders and bands of an adaptive layout. It has no defects.
pub(in crate::parts::layout) fn vary(g: &mut GeometrySpec, d: &mut SplitMix) {
    g.sparing = Sparing::None;
    for z in &mut g.zones {
        (z.empty_sectors, z.spares) = (0, 0);
        z.slips.clear();
    }
    let mut factor = |most: u32| f64::from(d.between(25, most)) / 100.0;
    let density: Vec<(f64, f64)> = (0..g.surfaces).map(|_| (factor(150), factor(400))).collect();
    g.layout_parameters = densities(d.between(1, 5), &density);
    let mut set = |key: &str, values: [&str; 2]| {
        let value = values[d.below(2) as usize];
        g.layout_parameters.insert(key.into(), value.into());
    };
    set("head_order", ["same", "alternate"]);
    set("direction", ["inward", "serpentine"]);
}

/// A place as a walk finds it: everything but the counts of the run.
type Step = (u32, u32, u32, u32, Turn);

/// All sectors of a disk in order of address, by walking over zones, bands, heads and tracks.
fn walk(g: &GeometrySpec) -> Vec<Step> {
    let p = &g.layout_parameters;
    let width = p["band_cylinders"].as_u64().unwrap() as u32;
    let serpentine = p.get("direction") == Some(&json!("serpentine"));
    let alternate = p.get("head_order") == Some(&json!("alternate"));
    let density = p["density"].as_array().unwrap();
    let tpi = |h: u32| density[(h as usize).min(density.len() - 1)]["tpi"].as_f64().unwrap();
    let mut steps = Vec::new();
    for (z, zone) in g.zones.iter().enumerate() {
        let unit = match g.skew_unit {
            SkewUnit::Turns => 1.0,
            SkewUnit::Sectors => f64::from(zone.sectors_per_track.of(0)),
        };
        let skew = |amount: f64| match g.skew_unit {
            SkewUnit::Turns => Turn::from_turns(amount),
            SkewUnit::Sectors => Turn::from_turns(amount.trunc() / unit),
        };
        let mut angle = skew(zone.offset);
        let mut last = None;
        let (mut outer, mut band) = (zone.first_cylinder, 0);
        while outer <= zone.last_cylinder {
            let here = width.min(zone.last_cylinder + 1 - outer);
            let mut heads: Vec<u32> = (0..g.surfaces).collect();
            if alternate && band % 2 == 1 {
                heads.reverse();
            }
            for h in heads {
                let tracks = ((f64::from(here) * tpi(h)).round() as u32).max(1);
                let mut inward: Vec<u32> = (0..tracks).collect();
                if serpentine && h % 2 == 1 {
                    inward.reverse();
                }
                for t in inward {
                    angle = match last {
                        None => angle,
                        Some(before) if before == (h, band) => angle.plus(skew(zone.cylinder_skew)),
                        Some(_) => angle.plus(skew(zone.track_skew)),
                    };
                    last = Some((h, band));
                    let middle = (f64::from(t) + 0.5) / f64::from(tracks) * f64::from(here);
                    let position = ((f64::from(outer) + middle) * 4.0 + 1e-9).floor() as u32;
                    for s in 0..sectors_on(g, z, h) {
                        let at = Turn::from_ratio(u64::from(s), u64::from(sectors_on(g, z, h)));
                        steps.push((position, h, s, z as u32, angle.plus(at)));
                    }
                }
            }
            outer += here;
            band += 1;
        }
    }
    steps
}

fn near(a: Turn, b: Turn) -> bool {
    let off = a.since(b).as_turns();
    !(1e-9..=1.0 - 1e-9).contains(&off)
}

#[test]
fn a_walk_over_bands_heads_and_tracks_meets_every_address() {
    for seed in 0..200 {
        let mut d = SplitMix(seed);
        let mut zones = Vec::new();
        let mut first = 0;
        for _ in 0..d.between(1, 3) {
            let last = first + d.between(0, 11);
            let mut z = zone(first, last, PerSurface::Same(d.between(3, 12)));
            z.track_skew = d.between(0, 3) as f64;
            z.cylinder_skew = d.between(0, 5) as f64;
            z.offset = d.between(0, 5) as f64;
            zones.push(z);
            first = last + 1 + d.between(0, 2);
        }
        let mut g = geometry("adaptive", d.between(1, 4), zones);
        g.skew_unit = [SkewUnit::Sectors, SkewUnit::Turns][d.below(2) as usize];
        vary(&mut g, &mut d);
        let layout = build(&g).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        check(layout.as_ref(), &g, &format!("seed {seed}"));
        let want = walk(&g);
        assert_eq!(layout.capacity(), want.len() as u64, "seed {seed}: {g:?}");
        for (a, w) in want.iter().enumerate() {
            let p = layout.locate(a as u64).unwrap();
            let got = (p.cylinder, u32::from(p.head), p.sector, u32::from(p.zone));
            assert_eq!(got, (w.0, w.1, w.2, w.3), "seed {seed}: {a} of {g:?}");
            assert!(near(p.angle, w.4), "seed {seed}: {a}: {p:?} at {}", w.4);
        }
    }
}

/// At nominal density in serpentines the layout is `banded`, with positions in the middle of cylinders.
#[test]
fn nominal_density_is_banded() {
    for seed in 0..50 {
        let mut d = SplitMix(seed);
        let mut zones = vec![
            zone(0, d.between(0, 9), PerSurface::Same(d.between(3, 12))),
            zone(10, 10 + d.between(0, 9), PerSurface::Same(d.between(3, 12))),
        ];
        for z in &mut zones {
            (z.track_skew, z.cylinder_skew, z.offset) = (2.0, 3.0, 1.0);
        }
        let surfaces = d.between(1, 4);
        let mut g = geometry("adaptive", surfaces, zones);
        g.layout_parameters = densities(d.between(1, 12), &[(1.0, 1.0)]);
        let mut banded = g.clone();
        banded.layout = "banded".into();
        banded.layout_parameters.remove("density");
        let direction = json!("serpentine");
        g.layout_parameters.insert("direction".into(), direction);
        let (own, banded) = (build(&g).unwrap(), build(&banded).unwrap());
        assert_eq!(own.capacity(), banded.capacity(), "seed {seed}");
        for a in 0..own.capacity() {
            let want = banded.locate(a).unwrap();
            let before = own.locate(a).unwrap().before;
            let want = Place { cylinder: 4 * want.cylinder + 2, before, ..want };
            assert_eq!(own.locate(a), Some(want), "seed {seed}: {a}");
            assert_eq!(own.track_bounds(a), banded.track_bounds(a), "seed {seed}");
        }
    }
}

/// Tables per surface say what densities say.
#[test]
fn tables_of_formats_and_densities_agree() {
    let zones = vec![zone(0, 8, PerSurface::Same(10)), zone(9, 11, PerSurface::Same(8))];
    let mut dense = geometry("adaptive", 2, zones);
    dense.layout_parameters = densities(4, &[(1.2, 0.75), (0.5, 1.5)]);
    let mut tables = dense.clone();
    tables.layout_parameters = Params::new();
    tables.layout_parameters.insert("band_cylinders".into(), 4.into());
    // 0.75 x 4 and 1.5 x 4 tracks; 10 and 8 sectors times 1.2 and 0.5, rounded.
    let format = |tracks: u32, sectors: u32| json!({"tracks_per_band": tracks, "sectors_per_track": sectors});
    tables
        .layout_parameters
        .insert("surface_zones".into(), json!([[format(3, 12), format(3, 10)], [format(6, 5), format(6, 4)]]));
    let (a, b) = (build(&dense).unwrap(), build(&tables).unwrap());
    // Zone 0: two bands and one cylinder; zone 1: three cylinders in one band.
    let zone_0 = 2 * (3 * 12 + 6 * 5) + (12 + 2 * 5);
    // 2.25 and 4.5 tracks, halves away from zero.
    let zone_1 = 2 * 10 + 5 * 4;
    assert_eq!(a.capacity(), zone_0 + zone_1);
    assert_eq!(a.capacity(), b.capacity());
    for s in 0..a.capacity() {
        assert_eq!(a.locate(s), b.locate(s), "{s}");
    }
}

/// 1000 tracks between 46 and 21 mm are 25 um apart, 1016 per inch. At 31 mm, where the first zone ends, a track
/// is 2 pi 31 mm long.
#[test]
fn radii_give_densities() {
    let mut g =
        geometry("adaptive", 2, vec![zone(0, 599, PerSurface::Same(1000)), zone(600, 999, PerSurface::Same(700))]);
    g.layout_parameters = densities(100, &[(1.0, 1.0), (1.25, 0.8)]);
    let formats = |g: &GeometrySpec| build(g).unwrap().adaptive().unwrap().surface_formats();
    assert!(formats(&g)[0][0].bits_per_inch.is_none());
    for (key, value) in [("outer_radius", "46 mm"), ("inner_radius", "2.1 cm")] {
        g.layout_parameters.insert(key.into(), value.into());
    }
    let formats = formats(&g);
    assert_eq!((formats.len(), formats[0].len()), (2, 2));
    let length_in = |mm: f64| 2.0 * std::f64::consts::PI * mm / 25.4;
    for (head, zone, tracks, sectors, mm) in [(0, 0, 100, 1000, 31.0), (1, 0, 80, 1250, 31.0), (1, 1, 80, 875, 21.0)] {
        let f = formats[head][zone];
        assert_eq!((f.tracks_per_band, f.sectors_per_track), (tracks, sectors));
        // 6000 rpm.
        let bytes = f64::from(sectors) * 512.0;
        assert!((f.rate_bytes_per_s / (100.0 * bytes) - 1.0).abs() < 1e-12);
        let bpi = bytes * 8.0 / length_in(mm);
        assert!((f.bits_per_inch.unwrap() / bpi - 1.0).abs() < 1e-12, "{f:?}");
        let tpi = 1016.0 * f64::from(tracks) / 100.0;
        assert!((f.tracks_per_inch.unwrap() / tpi - 1.0).abs() < 1e-12, "{f:?}");
    }
}

/// Neighbouring tracks of a dense surface are different places, and a movement between them takes the
/// time of one cylinder, whatever the density between two thirds and four.
#[test]
fn neighbouring_tracks_are_one_seek_apart() {
    let spec: DriveSpec = toml::from_str(
        "name = \"one\"\n[geometry]\nrotation_speed = \"6000 rpm\"\nsurfaces = 1\ncylinders = 1000\n\
         layout = \"adaptive\"\nband_cylinders = 100\n\
         zones = [{ first_cylinder = 0, last_cylinder = 999, sectors_per_track = 2 }]\n\
         [seek]\nmodel = \"linear\"\nsingle = \"1 ms\"\nfull = \"10.98 ms\"\ncylinders = 1000",
    )
    .unwrap();
    for tpi in [0.667, 0.78, 0.97, 1.0, 1.03, 1.28, 2.5, 4.0] {
        let mut g = spec.geometry.clone();
        g.layout_parameters = densities(100, &[(1.0, tpi)]);
        let m = Models::builtin().mechanics(&spec, &g, Turn(0)).unwrap();
        let mut before = m.layout.locate(0).unwrap();
        for track in 1..m.layout.capacity() / 2 {
            let place = m.layout.locate(2 * track).unwrap();
            assert!(place.cylinder > before.cylinder, "{tpi}: {track}");
            let arm = headstack_drive::mechanics::Arm { cylinder: before.cylinder, ..Default::default() };
            assert_eq!(m.move_time(&arm, place.cylinder, 0, false), Span(1_000_000), "{tpi}: {track}");
            before = place;
        }
        // The whole stroke, less a track at most at each end: 1 ms and 10 us for each further cylinder.
        let far = m.move_time(&Default::default(), before.cylinder, 0, false);
        let want = Span(1_000_000 + 10_000 * 998);
        assert!((far - want).0.abs() <= 20_000, "{tpi}: {far} of {want}");
    }
}

/// The parts of a drive with an own share of surfaces have the densities of their surfaces.
#[test]
fn a_share_of_surfaces_keeps_their_densities() {
    let mut whole = geometry("adaptive", 4, vec![zone(0, 8, PerSurface::Same(10))]);
    let list = [(1.2, 0.75), (0.5, 1.5), (0.8, 1.25), (1.0, 1.0)];
    whole.layout_parameters = densities(3, &list);
    let mut part = whole.clone();
    part.surfaces = 2;
    part.derived = Some(Derived { by: "parallelism.arm_share", first_surface: 2, of_surfaces: 4 });
    let mut alone = part.clone();
    alone.derived = None;
    alone.layout_parameters = densities(3, &list[2..]);
    let (part, alone) = (build(&part).unwrap(), build(&alone).unwrap());
    assert_eq!(part.capacity(), alone.capacity());
    for s in 0..part.capacity() {
        assert_eq!(part.locate(s), alone.locate(s), "{s}");
    }
}

/// Drives at other points of the DASH space serve every address; those that access several surfaces at once are
/// refused.
#[test]
fn drives_with_several_arms_or_stacks_serve_all_addresses() {
    let design = |dash: &str, rest: &str| {
        let text = format!(
            "name = \"d\"\ndash = \"{dash}\"\n[geometry]\nrotation_speed = \"6000 rpm\"\nsurfaces = 4\n\
             cylinders = 60\nlayout = \"adaptive\"\nband_cylinders = 7\ndirection = \"serpentine\"\n\
             density = [{{ bpi = 1.2, tpi = 0.75 }}, {{ bpi = 0.5, tpi = 1.5 }}, \
             {{ bpi = 0.8, tpi = 1.25 }}, {{ bpi = 1.0, tpi = 1.0 }}]\n\
             zones = [{{ first_cylinder = 0, last_cylinder = 59, sectors_per_track = 20 }}]\n\
             [seek]\nmodel = \"linear\"\nsingle = \"1 ms\"\nfull = \"9 ms\"\ncylinders = 60\n\
             [queue]\nscheduler = \"sptf\"\n{rest}"
        );
        let spec: DriveSpec = toml::from_str(&text).unwrap_or_else(|e| panic!("{dash}: {e}"));
        DriveDesign::new(&spec, &Models::builtin())
    };
    // Sectors of a surface: eight bands of seven cylinders and one of four.
    let held = |sectors: u64, tracks: u64, last: u64| sectors * (8 * tracks + last);
    let each = [held(24, 5, 3), held(10, 11, 6), held(16, 9, 5), held(20, 7, 4)];
    let all: u64 = each.iter().sum();
    let least = (each[0] + each[1]).min(each[2] + each[3]);
    let share = "[parallelism]\narm_share = \"own-share\"";
    let radial = "[parallelism]\nheads = \"radial\"";
    let started = "[parallelism]\narms = [{ start_cylinder = 59 }, { start_cylinder = 0 }]";
    let scan = "[media_scan]\nmode = \"freeblock\"\nblock = \"1 KiB\"";
    for (dash, rest, blocks) in [
        ("D1A1S1H1", "", all),
        ("D1A2S1H1", started, all),
        ("D1A2S1H1", share, 2 * least),
        ("D1A4S1H1", share, 4 * each.iter().copied().min().unwrap()),
        ("D1A1S1H2", radial, all),
        ("D2A1S1H1", "", 2 * all),
        ("D1A1S1H1", scan, all),
    ] {
        let design = design(dash, rest).unwrap_or_else(|e| panic!("{dash}: {e}"));
        assert_eq!(design.capacity_blocks(), blocks, "{dash} {rest}");
        let mut drive = design.drive(&Default::default()).unwrap();
        let mut d = SplitMix(1);
        let n = 500;
        let mut served = 0;
        for id in 0..n {
            let size = d.between(1, 40);
            let request = DriveRequest {
                id,
                command: Command::Read,
                lba: Lba(d.below(blocks - u64::from(size) + 1)),
                blocks: size,
                ..DriveRequest::default()
            };
            let mut count = |c: &Completion| {
                assert!(!c.error, "{dash} {rest}: {c:?}");
                served += 1;
            };
            drive.advance(Time(id * 2_000_000), &mut count);
            drive.submit(Time(id * 2_000_000), request);
            if id + 1 == n {
                drive.advance(Time::NEVER, &mut count);
            }
        }
        assert_eq!(served, n, "{dash} {rest}");
    }
    let error = design("D1A1S2H1", "").err().map(|e| e.key);
    assert_eq!(error, Some("dash".into()));
    let error = design("D1A2S2H1", share).err().map(|e| e.key);
    assert_eq!(error, Some("dash".into()));
}

#[test]
fn contradictory_parameters_are_refused_by_key() {
    let base = || geometry("adaptive", 2, vec![zone(0, 9, PerSurface::Same(10))]);
    let set = |key: &str, value: Value| {
        let mut g = base();
        g.layout_parameters.insert(key.into(), value);
        g
    };
    let with = |change: &dyn Fn(&mut GeometrySpec)| {
        let mut g = base();
        change(&mut g);
        g
    };
    let tables = |value: Value| {
        with(&|g| {
            g.layout_parameters = set("surface_zones", value.clone()).layout_parameters;
            g.layout_parameters.remove("density");
        })
    };
    let table = |n: u32, s: u32| json!([{"tracks_per_band": n, "sectors_per_track": s}]);
    let each = |bpi: f64, tpi: f64| json!([{"bpi": 1.0, "tpi": 1.0}, {"bpi": bpi, "tpi": tpi}]);
    let cases = [
        ("geometry.band_cylinders: got 0", set("band_cylinders", 0.into())),
        ("geometry.density[1].bpi: got 4.1", set("density", each(4.1, 1.0))),
        ("geometry.density[1].tpi: got 0.2", set("density", each(1.0, 0.2))),
        (
            "geometry.density: got 3",
            set("density", json!([{"bpi": 1.0, "tpi": 1.0}, {"bpi": 1.0, "tpi": 1.0}, {"bpi": 1.0, "tpi": 1.0}])),
        ),
        ("geometry.density: got 2.5", set("density", 2.5.into())),
        ("geometry.density[0]: got key \"bpu\"", set("density", json!([{"bpu": 1.0, "tpi": 1.0}]))),
        ("geometry.head_order", set("head_order", "other".into())),
        ("geometry.direction", set("direction", "outward".into())),
        ("geometry.surface_zones: got both", set("surface_zones", json!([table(3, 10), table(3, 10)]))),
        ("geometry.surface_zones: got 1", tables(json!([table(3, 10)]))),
        ("geometry.surface_zones[1]: got 0 entries", tables(json!([table(3, 10), []]))),
        ("geometry.surface_zones[1][0].tracks_per_band: got 0", tables(json!([table(3, 10), table(0, 10)]))),
        ("geometry.surface_zones[1][0].tracks_per_band: got 13", tables(json!([table(3, 10), table(13, 10)]))),
        ("geometry.surface_zones[0][0].sectors_per_track: got 0", tables(json!([table(3, 0), table(3, 10)]))),
        ("geometry.outer_radius: got 2", set("outer_radius", "2 m".into())),
        (
            "geometry.inner_radius: got 0.05 m",
            with(&|g| {
                g.layout_parameters.insert("outer_radius".into(), "46 mm".into());
                g.layout_parameters.insert("inner_radius".into(), "5 cm".into());
            }),
        ),
        ("geometry.sparing", with(&|g| g.sparing = Sparing::ZoneEnd)),
        ("geometry.zones[0].slips: got 1", with(&|g| g.zones[0].slips = vec![3])),
        ("geometry.zones[0].spares: got 1", with(&|g| g.zones[0].spares = 1)),
        (
            "geometry.zones[0].sectors_per_track: got 3 numbers",
            with(&|g| g.zones[0].sectors_per_track = PerSurface::Each(vec![3, 4, 5])),
        ),
        (
            "geometry.zones[0].sectors_per_track: got 20000000",
            with(&|g| {
                g.zones[0].sectors_per_track = PerSurface::Same(10_000_000);
                g.layout_parameters.insert("density".into(), each(2.0, 1.0));
            }),
        ),
        ("geometry.cylinders: got 12500001", with(&|g| g.cylinders = 12_500_001)),
        ("geometry.capacity_blocks: got 201", with(&|g| g.capacity_blocks = Some(201))),
        (
            "dash: got several surfaces",
            with(&|g| g.derived = Some(Derived { by: "dash", first_surface: 0, of_surfaces: 4 })),
        ),
    ];
    for (message, g) in cases {
        let error = build(&g).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(message), "{message}: {error:?}");
    }
    // One density for all surfaces, and none at all.
    for density in [json!({"bpi": 1.0, "tpi": 1.0}), json!([{"bpi": 1.0, "tpi": 1.0}])] {
        assert!(build(&set("density", density)).is_ok());
    }
    assert!(build(&with(&|g| drop(g.layout_parameters.remove("density")))).is_ok());
}
