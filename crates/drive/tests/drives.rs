//! Every file in `drives/` is whole, sourced and consistent; the papers' drives have the papers'
//! values.

use headstack_drive::power::{self, Shape};
use headstack_drive::seek::SeekTable;
use headstack_drive::spec::{DriveSpec, SkewUnit};
use std::path::PathBuf;

/// Every drive file: path, text, description.
fn drives() -> Vec<(PathBuf, String, DriveSpec)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives"));
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("drives/ exists")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "drives/ is empty");
    paths
        .into_iter()
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let spec = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            (path, text, spec)
        })
        .collect()
}

fn drive(name: &str) -> DriveSpec {
    let found = drives().into_iter().map(|d| d.2).find(|d| d.name == name);
    found.unwrap_or_else(|| panic!("no drive {name}"))
}

fn seek_table(spec: &DriveSpec) -> SeekTable {
    SeekTable::build(
        &spec.seek,
        spec.geometry.cylinders,
        spec.positioning.seek_constant,
    )
    .unwrap_or_else(|e| panic!("{}: {e}", spec.name))
}

/// 512-byte blocks that the zones hold.
fn blocks(spec: &DriveSpec) -> u64 {
    let g = &spec.geometry;
    let sectors: u64 = g
        .zones
        .iter()
        .map(|z| {
            let track: u64 = (0..g.surfaces)
                .map(|s| u64::from(z.sectors_per_track.of(s)))
                .sum();
            u64::from(z.last_cylinder - z.first_cylinder + 1) * track
        })
        .sum();
    sectors * (g.sector_size.0 / 512)
}

/// Mean seek in milliseconds over uniform random pairs of cylinders.
fn mean_seek_ms(spec: &DriveSpec) -> f64 {
    let (table, n) = (seek_table(spec), spec.geometry.cylinders);
    let pairs = f64::from(n) * f64::from(n);
    (1..n)
        .map(|d| f64::from(table.ns(d)) * 1e-6 * 2.0 * f64::from(n - d) / pairs)
        .sum()
}

/// Sustained rate of one zone in MB/s: all tracks of a cylinder and one skew after each.
fn sustained_mb_per_s(spec: &DriveSpec, zone: usize) -> f64 {
    let (g, z) = (&spec.geometry, &spec.geometry.zones[zone]);
    assert_eq!(g.skew_unit, SkewUnit::Turns);
    let heads = f64::from(g.surfaces);
    let turns = heads + (heads - 1.0) * z.track_skew + z.cylinder_skew;
    let bytes = heads * f64::from(z.sectors_per_track.of(0)) * g.sector_size.0 as f64;
    bytes * 1e-6 / (turns * 60.0 / g.rotation_speed.0)
}

/// Dotted keys of all leaves; arrays are leaves.
fn leaves(value: &toml::Value, prefix: &str, found: &mut Vec<String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let dot = if prefix.is_empty() { "" } else { "." };
                leaves(value, &format!("{prefix}{dot}{key}"), found);
            }
        }
        _ => found.push(prefix.to_string()),
    }
}

#[test]
fn names_equal_file_stems() {
    for (path, _, spec) in drives() {
        assert_eq!(path.file_stem().unwrap().to_str(), Some(spec.name.as_str()));
        assert!(
            !spec.title.is_empty() && !spec.description.is_empty(),
            "{}",
            spec.name
        );
    }
}

#[test]
fn every_value_has_a_source_and_every_source_a_value() {
    for (path, text, spec) in drives() {
        let mut keys = Vec::new();
        let mut table: toml::Table = toml::from_str(&text).expect("it parsed before");
        for free in ["name", "title", "description", "sources"] {
            table.remove(free);
        }
        leaves(&toml::Value::Table(table), "", &mut keys);
        let covers = |source: &str, key: &str| {
            key == source
                || key
                    .strip_prefix(source)
                    .is_some_and(|rest| rest.starts_with('.'))
        };
        for key in &keys {
            assert!(
                spec.sources.keys().any(|s| covers(s, key)),
                "{}: sources: got nothing for {key}, need a document or `chosen: why`",
                path.display()
            );
        }
        for (source, text) in &spec.sources {
            assert!(
                keys.iter().any(|k| covers(source, k)) && !text.is_empty(),
                "{}: sources.{source}: got a source without a value",
                path.display()
            );
        }
    }
}

#[test]
fn zones_are_whole_and_hold_the_capacity() {
    for (_, _, spec) in drives() {
        let g = &spec.geometry;
        let mut next = 0;
        for z in &g.zones {
            assert_eq!(z.first_cylinder, next, "{}", spec.name);
            next = z.last_cylinder + 1;
        }
        assert_eq!(next, g.cylinders, "{}", spec.name);
        if let Some(capacity) = g.capacity_blocks {
            let held = blocks(&spec);
            // Not more than a percent is hidden either: the geometry is that of the capacity.
            assert!(
                held >= capacity,
                "{}: {held} of {capacity} blocks",
                spec.name
            );
            assert!(
                held - capacity < capacity / 100,
                "{}: {held} blocks",
                spec.name
            );
        }
    }
}

#[test]
fn models_build_and_know_the_drive() {
    for (_, _, spec) in drives() {
        seek_table(&spec);
        if let Some(cylinders) = spec.seek.get("cylinders") {
            assert_eq!(
                cylinders.as_u64(),
                Some(u64::from(spec.geometry.cylinders)),
                "{}",
                spec.name
            );
        }
        power::build(&spec.power, &Shape::of(&spec))
            .unwrap_or_else(|e| panic!("{}: {e}", spec.name));
    }
}

/// A skew that does not cover its switch would cost sequential transfers a turn per track.
#[test]
fn skews_cover_switches() {
    for (_, _, spec) in drives() {
        if spec.geometry.skew_unit != SkewUnit::Turns {
            continue;
        }
        let turn_ms = 60e3 / spec.geometry.rotation_speed.0;
        let switch = spec.positioning.head_switch.as_ms();
        let single = f64::from(seek_table(&spec).ns(1)) * 1e-6;
        for z in &spec.geometry.zones {
            assert!(z.track_skew * turn_ms >= switch - 1e-9, "{}", spec.name);
            assert!(z.cylinder_skew * turn_ms >= single - 1e-9, "{}", spec.name);
        }
    }
}

/// Seeks, rates and capacity of the ISCA 2008 paper's two drives.
#[test]
fn drives_of_the_intra_disk_parallelism_paper() {
    let hc = drive("barracuda-es-750");
    assert!(
        (mean_seek_ms(&hc) / 8.5 - 1.0).abs() < 0.01,
        "{}",
        mean_seek_ms(&hc)
    );
    assert_eq!(seek_table(&hc).ns(1), 800_000);
    let full = f64::from(seek_table(&hc).ns(hc.geometry.cylinders - 1)) * 1e-6;
    assert!((full - 17.0).abs() < 0.001, "{full}");
    // The paper gives 72 MB/s in one table; the drive's outer tracks reach some 80.
    let outer = sustained_mb_per_s(&hc, 0);
    assert!((72.0..=82.0).contains(&outer), "{outer} MB/s");

    let md = drive("cheetah-10k-19g");
    assert!(
        (mean_seek_ms(&md) / 5.2 - 1.0).abs() < 0.01,
        "{}",
        mean_seek_ms(&md)
    );
    assert_eq!(md.geometry.capacity_blocks, Some(19_070_000_000 / 512));
    let idle = power::build(&md.power, &Shape::of(&md)).unwrap().idle;
    assert!((idle - 12.31).abs() < 0.01, "{idle} W");
}

/// Tables 1 and 2 of the dual-actuator logging paper: turn and full stroke.
#[test]
fn drives_of_the_logging_paper() {
    for (name, turn_ms, full_ns) in [
        ("ibm-18es", 8.333, 12_742_000),
        ("cheetah-9lp", 5.973, 10_627_000),
    ] {
        let spec = drive(name);
        assert!((60e3 / spec.geometry.rotation_speed.0 - turn_ms).abs() < 0.001);
        assert_eq!(seek_table(&spec).ns(spec.geometry.cylinders - 1), full_ns);
    }
}

/// Published sustained rates at the outer and, where known, the inner edge; published seeks.
#[test]
fn data_sheets() {
    for (name, outer, inner) in [
        ("constellation-es3-4tb", 175.0, Some(83.0)),
        ("constellation-es3-2tb", 175.0, Some(83.0)),
        ("exos-x18", 270.0, None),
        ("ultrastar-7k4000", 171.0, None),
    ] {
        let spec = drive(name);
        let last = spec.geometry.zones.len() - 1;
        let first = sustained_mb_per_s(&spec, 0);
        assert!(
            (first / outer - 1.0).abs() < 0.005,
            "{name}: {first} MB/s outside"
        );
        if let Some(inner) = inner {
            let got = sustained_mb_per_s(&spec, last);
            assert!(
                (got / inner - 1.0).abs() < 0.005,
                "{name}: {got} MB/s inside"
            );
        }
    }
    let mean = mean_seek_ms(&drive("ultrastar-7k4000"));
    assert!((mean / 8.2 - 1.0).abs() < 0.01, "{mean} ms");
    let es3 = drive("constellation-es3-4tb");
    let watts = power::build(&es3.power, &Shape::of(&es3)).unwrap();
    assert!((watts.idle - 7.97).abs() < 0.01 && (watts.transfer - 10.70).abs() < 0.01);
}
