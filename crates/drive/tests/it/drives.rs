//! Every file in `drives/` is whole, sourced and consistent; the papers' drives have the papers'
//! values.

use headstack_drive::cost::{self, Parts};
use headstack_drive::power::{self, Shape};
use headstack_drive::seek::{self, SeekTable};
use headstack_drive::spec::{ArmShare, DriveSpec, SkewUnit};
use headstack_drive::{Command, Drive, DriveOptions};
use headstack_testkit::commands;
use headstack_testkit::{shipped, XorShift};
use headstack_units::{Span, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

fn seek_table(spec: &DriveSpec) -> SeekTable {
    SeekTable::build(&spec.seek, spec.geometry.cylinders, spec.positioning.seek_constant, &seek::PLUGINS)
        .unwrap_or_else(|e| panic!("{}: {e}", spec.name))
}

/// 512-byte blocks that the zones hold.
fn blocks(spec: &DriveSpec) -> u64 {
    let g = &spec.geometry;
    let sectors: u64 = g
        .zones
        .iter()
        .map(|z| {
            let track: u64 = (0..g.surfaces).map(|s| u64::from(z.sectors_per_track.of(s))).sum();
            u64::from(z.last_cylinder - z.first_cylinder + 1) * track
        })
        .sum();
    sectors * (g.sector_size.0 / 512)
}

/// Mean seek in milliseconds over uniform random pairs of cylinders.
fn mean_seek_ms(spec: &DriveSpec) -> f64 {
    let (table, n) = (seek_table(spec), spec.geometry.cylinders);
    let pairs = f64::from(n) * f64::from(n);
    (1..n).map(|d| table.time(d).as_ms() * 2.0 * f64::from(n - d) / pairs).sum()
}

/// Sustained rate of one zone in MB/s: all tracks of a cylinder and one skew after each, or in bands as many
/// tracks of one surface; of all assemblies together where each has surfaces of its own.
pub(crate) fn sustained_mb_per_s(spec: &DriveSpec, zone: usize) -> f64 {
    let (g, z) = (&spec.geometry, &spec.geometry.zones[zone]);
    assert_eq!(g.skew_unit, SkewUnit::Turns);
    let shares = match spec.parallelism.arm_share {
        ArmShare::All => 1.0,
        ArmShare::OwnShare => f64::from(spec.dash.arms),
    };
    let heads = f64::from(g.surfaces) / shares;
    let turns = match g.layout.as_str() {
        "adaptive" | "banded" => heads * (1.0 + z.cylinder_skew),
        _ => heads + (heads - 1.0) * z.track_skew + z.cylinder_skew,
    };
    let bytes = heads * f64::from(z.sectors_per_track.of(0)) * g.sector_size.0 as f64;
    shares * bytes * 1e-6 / (turns * 60.0 / g.rotation_speed.0)
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
    for (path, _, spec) in shipped::files() {
        assert_eq!(path.file_stem().unwrap().to_str(), Some(spec.name.as_str()));
        assert!(!spec.title.is_empty() && !spec.description.is_empty(), "{}", spec.name);
    }
}

#[test]
fn every_value_has_a_source_and_every_source_a_value() {
    for (path, text, spec) in shipped::files() {
        let mut keys = Vec::new();
        let mut table: toml::Table = toml::from_str(&text).expect("it parsed before");
        for free in ["name", "title", "description", "sources"] {
            table.remove(free);
        }
        leaves(&toml::Value::Table(table), "", &mut keys);
        let covers = |source: &str, key: &str| {
            key == source || key.strip_prefix(source).is_some_and(|rest| rest.starts_with('.'))
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
    for (_, _, spec) in shipped::files() {
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
            assert!(held >= capacity, "{}: {held} of {capacity} blocks", spec.name);
            assert!(held - capacity < capacity / 100, "{}: {held} blocks", spec.name);
        }
    }
}

#[test]
fn models_build_and_know_the_drive() {
    for (_, _, spec) in shipped::files() {
        seek_table(&spec);
        if let Some(cylinders) = spec.seek.get("cylinders") {
            assert_eq!(cylinders.as_u64(), Some(u64::from(spec.geometry.cylinders)), "{}", spec.name);
        }
        power::build(&spec.power, &Shape::of(&spec), &power::PLUGINS).unwrap_or_else(|e| panic!("{}: {e}", spec.name));
        cost::build(&spec.cost, &Parts::of(&spec).expect("parts"), &cost::PLUGINS)
            .unwrap_or_else(|e| panic!("{}: {e}", spec.name));
        Drive::builtin(&spec, &DriveOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", spec.name));
    }
}

/// A skew that does not cover its switch, and the settling before a write where the drive settles then,
/// costs sequential transfers a turn per track.
#[test]
fn skews_cover_switches_and_settling() {
    for (_, _, spec) in shipped::files() {
        if spec.geometry.skew_unit != SkewUnit::Turns {
            // The logging paper's drives state no skew.
            assert!(["ibm-18es", "cheetah-9lp"].contains(&spec.name.as_str()));
            continue;
        }
        let p = &spec.positioning;
        let turn_ms = 60e3 / spec.geometry.rotation_speed.0;
        let settle = p.write_settle.as_ms().max(0.0);
        let switch = p.head_switch.as_ms();
        let single = seek_table(&spec).time(1).as_ms();
        let track = switch + f64::from(u8::from(p.settle_after_head_switch)) * settle;
        // The first track of the next cylinder may need another head as well.
        let cylinder = single.max(switch) + settle;
        for z in &spec.geometry.zones {
            assert!(z.track_skew * turn_ms >= track - 1e-9, "{}", spec.name);
            let skew = z.cylinder_skew * turn_ms;
            assert!(skew >= cylinder - 1e-9, "{}: {skew} ms", spec.name);
        }
    }
}

/// What the mechanics do over as many tracks as there are heads is what the formula of docs/models/drives.md
/// says, outside and inside.
#[test]
fn long_reads_get_the_rate_of_the_formula() {
    for spec in shipped::drives() {
        let zones = &spec.geometry.zones;
        if spec.geometry.skew_unit != SkewUnit::Turns {
            continue;
        }
        let drive = Drive::builtin(&spec, &DriveOptions::default()).expect(&spec.name);
        let mechanics = drive.mechanics();
        let shares = match spec.parallelism.arm_share {
            ArmShare::All => 1.0,
            ArmShare::OwnShare => f64::from(spec.dash.arms),
        };
        let last = zones.len() - 1;
        // In the last zone, and far enough from the end.
        let inside = mechanics.layout.capacity() * 99 / 100;
        for (first, zone) in [(0, 0), (mechanics.layout.track_bounds(inside).0, last)] {
            let rate = mechanics.sustained_sectors_per_s(first, spec.geometry.surfaces);
            let ours = rate.expect("a sector") * spec.geometry.sector_size.0 as f64 * shares * 1e-6;
            let formula = sustained_mb_per_s(&spec, zone);
            let off = ours / formula - 1.0;
            assert!(off.abs() < 0.005, "{}: {ours} {formula} MB/s", spec.name);
        }
        assert_eq!(mechanics.sustained_sectors_per_s(u64::MAX, 1), None);
    }
}

/// Seeks, rates and capacity of the ISCA 2008 paper's two drives.
#[test]
fn drives_of_the_intra_disk_parallelism_paper() {
    let hc = shipped::drive("barracuda-es-750");
    assert!((mean_seek_ms(&hc) / 8.5 - 1.0).abs() < 0.01, "{}", mean_seek_ms(&hc));
    assert_eq!(seek_table(&hc).time(1), Span(800_000));
    let full = seek_table(&hc).time(hc.geometry.cylinders - 1).as_ms();
    assert!((full - 17.0).abs() < 0.001, "{full}");
    let outer = sustained_mb_per_s(&hc, 0);
    assert!((outer / 72.0 - 1.0).abs() < 0.01, "{outer} MB/s");

    let md = shipped::drive("cheetah-10k-19g");
    assert!((mean_seek_ms(&md) / 5.2 - 1.0).abs() < 0.01, "{}", mean_seek_ms(&md));
    assert_eq!(md.geometry.capacity_blocks, Some(19_070_000_000 / 512));
    let idle = power::build(&md.power, &Shape::of(&md), &power::PLUGINS).unwrap().idle;
    assert!((idle - 12.31).abs() < 0.01, "{idle} W");
}

/// Tables 1 and 2 of the dual-actuator logging paper: turn and full stroke.
#[test]
fn drives_of_the_logging_paper() {
    for (name, turn_ms, full_ns) in [("ibm-18es", 8.333, 12_742_000), ("cheetah-9lp", 5.973, 10_627_000)] {
        let spec = shipped::drive(name);
        assert!((60e3 / spec.geometry.rotation_speed.0 - turn_ms).abs() < 0.001);
        assert_eq!(seek_table(&spec).time(spec.geometry.cylinders - 1), Span(full_ns));
    }
}

/// Published sustained rates at the outer and, where known, the inner edge; published seeks.
#[test]
fn data_sheets() {
    for (name, outer, inner) in [
        ("constellation-es3-4tb", 175.0, Some(83.0)),
        ("constellation-es3-2tb", 175.0, Some(83.0)),
        ("exos-x18", 270.0, None),
        ("exos-2x14", 524.0, None),
        ("exos-2x18-sas", 545.0, None),
        ("exos-2x18-sata", 545.0, None),
        ("ultrastar-hs760", 582.0, None),
        ("ultrastar-7k4000", 171.0, None),
    ] {
        let spec = shipped::drive(name);
        let last = spec.geometry.zones.len() - 1;
        let first = sustained_mb_per_s(&spec, 0);
        assert!((first / outer - 1.0).abs() < 0.005, "{name}: {first} MB/s outside");
        if let Some(inner) = inner {
            let got = sustained_mb_per_s(&spec, last);
            assert!((got / inner - 1.0).abs() < 0.005, "{name}: {got} MB/s inside");
        }
    }
    let mean = mean_seek_ms(&shipped::drive("ultrastar-7k4000"));
    assert!((mean / 8.2 - 1.0).abs() < 0.01, "{mean} ms");
    let es3 = shipped::drive("constellation-es3-4tb");
    let watts = power::build(&es3.power, &Shape::of(&es3), &power::PLUGINS).unwrap();
    assert!((watts.idle - 7.97).abs() < 0.01 && (watts.transfer - 10.70).abs() < 0.01);
    // The manual prints watts beside the currents: idle, sequential reads, random reads. Random reads are 60 % seeks and
    // 1 % transfers here.
    let re = shipped::drive("wd-re-2tb");
    let w = power::build(&re.power, &Shape::of(&re), &power::PLUGINS).unwrap();
    let random = 0.6 * w.seek + 0.39 * w.rotation + 0.01 * w.transfer;
    for (got, printed) in [(w.idle, 6.4), (w.transfer, 8.1), (random, 9.0)] {
        assert!((got - printed).abs() < 0.06, "{got} W, printed {printed} W");
    }
}

/// Table 1 of the ISCA 2008 paper: megabytes, MB/s, actuators, watts per box, dollars per megabyte.
#[test]
fn historical_drives_of_table_1() {
    for (name, megabytes, rate, arms, box_watts, low, high) in [
        ("ibm-3380-ak4", 7500.0, 3.0, 4, 6600.0, 10.0, 18.0),
        ("fujitsu-m2361a", 600.0, 2.5, 1, 640.0, 17.0, 20.0),
        ("conner-cp3100", 100.0, 1.0, 1, 10.0, 7.0, 10.0),
    ] {
        let spec = shipped::drive(name);
        let whole = Drive::builtin(&spec, &DriveOptions::default()).unwrap();
        let held = whole.design.capacity_blocks() as f64 * 512e-6;
        // The table rounds the CP3100's 105 MB down.
        assert!((held / megabytes - 1.0).abs() < 0.05, "{name}: {held} MB");
        let turn_s = 60.0 / spec.geometry.rotation_speed.0;
        let media = f64::from(spec.geometry.zones[0].sectors_per_track.of(0)) * 512e-6 / turn_s;
        assert!((media / rate - 1.0).abs() < 0.01, "{name}: {media} MB/s");
        let shape = Shape::of(&spec);
        assert_eq!(shape.arms, arms, "{name}");
        let watts = power::build(&spec.power, &shape, &power::PLUGINS).unwrap().mix(f64::from(arms), 0.0, 0.0);
        assert!((watts / box_watts - 1.0).abs() < 0.001, "{name}: {watts} W");
        let cost =
            cost::build(&spec.cost, &Parts::of(&spec).expect("parts"), &cost::PLUGINS).unwrap().expect("a price");
        assert!((cost.low / held - low).abs() < 0.01 && (cost.high / held - high).abs() < 0.01);
    }
}

/// Reads per second with `outstanding` commands always at the drive; `next` gives first block and
/// number of blocks.
fn reads_per_s(spec: &DriveSpec, outstanding: usize, mut next: impl FnMut() -> (u64, u32)) -> f64 {
    let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
    let mut arrivals: BinaryHeap<Reverse<u64>> = (0..outstanding).map(|_| Reverse(0)).collect();
    let (mut id, mut n, mut first, mut last) = (0, 0, 0, 0);
    while n < 6000 {
        let event = drive.next_event();
        if let Some(Reverse(now)) = arrivals.peek().copied().filter(|now| now.0 <= event.0) {
            arrivals.pop();
            let (lba, blocks) = next();
            let request = commands::command(id, Command::Read, lba, blocks);
            drive.submit(Time(now), request);
            id += 1;
            continue;
        }
        drive.advance(Time(event.0 + 1), &mut |c| {
            assert!(!c.error);
            arrivals.push(Reverse(c.completion.0));
            n += 1;
            if n == 1000 {
                first = c.completion.0;
            }
            last = last.max(c.completion.0);
        });
    }
    5000.0 / ((last - first) as f64 * 1e-9)
}

/// Random 4 KiB reads per second.
fn random_reads_per_s(spec: &DriveSpec, outstanding: usize) -> f64 {
    let drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
    let places = drive.design.capacity_blocks() / 8;
    let mut noise = XorShift::default();
    reads_per_s(spec, outstanding, || (noise.below(places) * 8, 8))
}

/// One stream of 64 KiB reads goes at the rate of the medium, whether one command is outstanding or
/// several: the drive reads on while the host thinks, and serves the read that it is reading for.
#[test]
fn sequential_reads_keep_the_media_rate() {
    for name in ["exos-x18", "constellation-es3-4tb", "constellation-es3-2tb", "ultrastar-7k4000"] {
        let spec = shipped::drive(name);
        let want = sustained_mb_per_s(&spec, 0);
        for outstanding in [1, 4, 16] {
            let mut at = 0;
            let got = reads_per_s(&spec, outstanding, || {
                at += 128;
                (at - 128, 128)
            });
            let got = got * 65536e-6;
            assert!((got / want - 1.0).abs() < 0.02, "{name}, {outstanding}: {got} of {want} MB/s");
        }
    }
}

/// Published random reads at queue depth 16. `tests/python/drives/test_drives.py` has the writes.
#[test]
fn random_reads_at_depth_16() {
    for (name, published) in
        [("exos-x18", 170.0), ("exos-2x14", 304.0), ("exos-2x18-sas", 304.0), ("exos-2x18-sata", 304.0)]
    {
        let got = random_reads_per_s(&shipped::drive(name), 16);
        println!("{name}: {got:.1} random reads per second, published {published}");
        assert!((got / published - 1.0).abs() < 0.05, "{name}: {got}");
    }
    // 1.7 times one actuator: half the surfaces and addresses, one assembly.
    let dual = shipped::drive("ultrastar-hs760");
    let mut single = shipped::drive("ultrastar-hs760");
    single.dash.arms = 1;
    let gain = random_reads_per_s(&dual, 16) / random_reads_per_s(&single, 16);
    println!("ultrastar-hs760: {gain:.2} times one actuator, published 1.7");
    assert!((gain / 1.7 - 1.0).abs() < 0.1, "{gain}");
}

/// SAS shows each actuator as a unit with its own queue, serial ATA one device; each actuator of the
/// mainframe drive is a device.
#[test]
fn actuators_are_units_where_they_should_be() {
    for (name, units) in
        [("exos-2x14", 2), ("exos-2x18-sas", 2), ("exos-2x18-sata", 1), ("ultrastar-hs760", 2), ("ibm-3380-ak4", 4)]
    {
        let spec = shipped::drive(name);
        let whole = Drive::builtin(&spec, &DriveOptions::default()).unwrap();
        let shown = whole.design.logical_units();
        assert_eq!(shown.len(), units, "{name}");
        assert_eq!(shown.iter().sum::<u64>(), whole.design.capacity_blocks());
        let of_stacks = u64::from(spec.dash.stacks) * spec.geometry.capacity_blocks.unwrap();
        assert_eq!(whole.design.capacity_blocks(), of_stacks);
    }
    let watts = |name| {
        let spec = shipped::drive(name);
        power::build(&spec.power, &Shape::of(&spec), &power::PLUGINS).unwrap().idle
    };
    assert!((watts("exos-2x14") - 7.2).abs() < 0.01);
}
