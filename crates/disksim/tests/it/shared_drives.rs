//! The five measured drives and two system files of the reference data, if available.

use crate::measured::{data, DRIVES};
use headstack_disksim::validate::{demerit, demerit_histogram, pairs};
use headstack_disksim::{import_file, parse, FileLoader, Treatment};
use headstack_drive::seek::{self, SeekTable};
use headstack_drive::spec::{ReadAhead, Sparing};
use headstack_drive::DriveSpec;
use headstack_units::Span;

/// Zones, slips, remaps and spares by counting words in the text, without the parser.
fn count_text(text: &str) -> (usize, usize, usize, u64) {
    let bare: String = text.lines().map(|l| l.split('#').next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let lists = |name: &str| -> usize {
        bare.match_indices(name)
            .map(|(i, _)| {
                let rest = &bare[i..];
                let (from, to) = (rest.find('[').unwrap(), rest.find(']').unwrap());
                rest[from + 1..to].split(',').filter(|w| !w.trim().is_empty()).count()
            })
            .sum()
    };
    let spares = bare.match_indices("Number of spares").map(|(i, name)| {
        let rest = bare[i + name.len()..].trim_start_matches([' ', '=']);
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap()
    });
    let zones = bare.matches("dm_layout_g1_zone").count();
    (zones, lists("slips"), lists("defects") / 2, spares.sum())
}

#[test]
fn every_drive_converts_with_all_its_zones_and_slips() {
    let Some(data) = data() else { return };
    for name in DRIVES {
        let import = import_file(data.join(format!("{name}.parv"))).unwrap();
        let model = if name == "hp_c2247a" { "hp_c2247a_validate" } else { name };
        let text = std::fs::read_to_string(data.join(format!("{model}.model"))).unwrap();
        let zones = &import.spec.geometry.zones;
        let found = (
            zones.len(),
            zones.iter().map(|z| z.slips.len()).sum(),
            zones.iter().map(|z| z.remaps.len()).sum(),
            zones.iter().map(|z| z.spares as u64).sum(),
        );
        assert_eq!(found, count_text(&text), "{name}");
        for note in &import.report {
            assert_ne!(note.treatment, Treatment::Unknown, "{name}: {note:?}");
        }
        // The drive as TOML equals the imported drive.
        let text = serde_json::to_string(&import.spec).unwrap();
        assert_eq!(serde_json::from_str::<DriveSpec>(&text).unwrap(), import.spec, "{name}");
    }
}

#[test]
fn seek_tables_equal_the_reference_points() {
    let Some(data) = data() else { return };
    for name in DRIVES {
        let spec = import_file(data.join(format!("{name}.parv"))).unwrap().spec;
        let table = SeekTable::build(&spec.seek, spec.geometry.cylinders, Span::ZERO, &seek::PLUGINS).unwrap();
        let points = std::fs::read_to_string(data.join(format!("fixtures/{name}.seek.csv"))).unwrap();
        for line in points.lines().skip(1) {
            let (distance, ms) = line.split_once(',').unwrap();
            let distance: u32 = distance.parse().unwrap();
            if distance >= spec.geometry.cylinders {
                continue;
            }
            let ms: f64 = ms.parse().unwrap();
            let ours = table.time(distance).as_ms();
            assert!((ours - ms).abs() <= 1.5e-6, "{name} {distance}: {ours} for {ms}");
        }
    }
}

#[test]
fn values_are_those_of_the_files() {
    let Some(data) = data() else { return };
    let hp = import_file(data.join("hp_c2247a.parv")).unwrap().spec;
    assert_eq!(hp.link.read_sector_time, Some(Span(170_100)));
    assert_eq!(hp.link.write_sector_time, Some(Span(186_860)));
    assert_eq!(hp.geometry.sparing, Sparing::Tracks);
    assert_eq!(hp.positioning.minimum_write, Span(600_000));
    assert_eq!(hp.cache.read_watermark, 0.75);
    let extra = hp.overhead.extra_write_disconnect.unwrap();
    assert_eq!((extra.pause, extra.buffered_sectors), (Span(428_850), 10));
    assert_eq!(hp.queue.depth, 1);
    let atlas = import_file(data.join("atlas10k.parv")).unwrap().spec;
    assert_eq!(atlas.geometry.layout, "serpentine");
    assert_eq!(atlas.cache.read_ahead, ReadAhead::NextTrack);
    assert!(atlas.cache.write_back && atlas.cache.keep_passing_sectors);
    assert!(atlas.overhead.extra_write_disconnect.is_none());
    assert_eq!(atlas.link.read_sector_time, Some(Span(99_000)));
}

#[test]
fn system_files_parse_and_list_their_disks() {
    let Some(data) = data() else { return };
    for name in ["synthopen.parv", "3disks.parv"] {
        let document = parse(&data.join(name), &FileLoader::default()).unwrap();
        let disks = document.disks(&FileLoader::default()).unwrap();
        let text = std::fs::read_to_string(data.join(name)).unwrap();
        let sourced = text.lines().filter(|l| l.trim_start().starts_with("source")).count();
        assert_eq!(disks.len(), sourced, "{name}");
        assert!(disks.iter().all(|d| !d.instances.is_empty()), "{name}");
    }
    let document = parse(&data.join("synthopen.parv"), &FileLoader::default()).unwrap();
    let above: Vec<&str> = document.above("disk2").iter().map(|n| n.name.as_str()).collect();
    assert_eq!(above, ["bus1", "ctlr0", "bus0", "driver0"]);
}

/// The demerit of DiskSim's own responses is that printed by DiskSim's tool.
#[test]
fn demerit_is_that_of_the_original_tool() {
    let Some(data) = data() else { return };
    let names: Vec<String> = pairs(&data).unwrap().into_iter().map(|p| p.name).collect();
    assert_eq!(names, DRIVES);
    for (name, published_ms) in DRIVES.iter().zip([0.268, 0.348, 0.107, 0.090, 0.136]) {
        let trace = std::fs::read_to_string(data.join(format!("{name}.trace"))).unwrap();
        let measured: Vec<f64> = trace
            .lines()
            .filter_map(|l| l.split_whitespace().nth(4)?.parse::<f64>().ok())
            .map(|us| us * 1e-6)
            .collect();
        let responses = std::fs::read_to_string(data.join(format!("fixtures/{name}.resp"))).unwrap();
        let simulated: Vec<f64> = responses.lines().map(|l| l.parse::<f64>().unwrap() * 1e-3).collect();
        let histogram_ms = 1e3 * demerit_histogram(&measured, &simulated);
        assert!((histogram_ms - published_ms).abs() <= 0.0006, "{name}: {histogram_ms}");
        let sorted_ms = 1e3 * demerit(&measured, &simulated);
        assert!((sorted_ms - published_ms).abs() <= 0.02, "{name}: {sorted_ms}");
    }
}
