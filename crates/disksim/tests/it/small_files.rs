//! Small files written for these tests: grammar, errors, every seek type, both layouts.

use headstack_disksim::{parse, Error, Import, MemoryLoader, Treatment};
use headstack_drive::spec::{SkewUnit, Sparing};
use headstack_drive::{layout, Drive, DriveOptions};
use headstack_units::Span;
use std::path::Path;

const SYSTEM: &str = include_str!("../../../../fuzz/corpus/disksim_parser/drive.parv");
const G2: &str = include_str!("../../../../fuzz/corpus/disksim_parser/table.model");

fn loader(main: &str) -> MemoryLoader {
    let corpus = [
        ("main", main),
        ("a.seek", include_str!("../../../../fuzz/corpus/disksim_parser/a.seek")),
        ("a.map", include_str!("../../../../fuzz/corpus/disksim_parser/a.map")),
        ("name.inc", "Print stats"),
    ];
    MemoryLoader { files: corpus.map(|(n, t)| (n.to_string(), t.to_string())).into() }
}

fn import(main: &str) -> Result<Import, Error> {
    let loader = loader(main);
    let document = parse(Path::new("main"), &loader)?;
    Ok(document.disks(&loader)?.remove(0))
}

fn error(main: &str) -> String {
    let loader = loader(main);
    let result = parse(Path::new("main"), &loader).and_then(|d| d.disks(&loader));
    result.unwrap_err().to_string()
}

#[test]
fn a_system_becomes_a_drive() {
    let Import { spec, instances, report } = import(SYSTEM).unwrap();
    assert_eq!(instances, ["d0", "d1", "d2"]);
    assert_eq!(spec.name, "SMALL");
    // The slowest of disk (0.1), controller (0.21) and bus (0.2 or 0.25).
    assert_eq!(spec.link.read_sector_time, Some(Span(210_000)));
    assert_eq!(spec.link.write_sector_time, Some(Span(250_000)));
    // Overheads are scaled by 2, the pause is not.
    assert_eq!(spec.overhead.read_hit.after_read, Span(500_000));
    assert_eq!(spec.overhead.read_hit.after_write, Span(500_000));
    assert_eq!(spec.overhead.per_request, Span(1_000_000));
    let extra = spec.overhead.extra_write_disconnect.unwrap();
    assert_eq!((extra.pause, extra.seek_delay), (Span(400_000), Span(600_000)));
    assert_eq!((extra.long_request_sectors, extra.buffered_sectors_long), (45, 15));
    assert_eq!(spec.positioning.write_settle, Span(-250_000));
    assert_eq!(spec.queue.scheduler, "aged-sptf");
    assert_eq!(spec.queue.scheduler_parameters["weight"], 0.006);
    assert!(spec.cache.discard_requested);
    assert_eq!(spec.seek["model"], "three-point");
    assert_eq!(spec.seek["average"], "3.5 ms");
    // Units differ by zone, so sectors are truncated to integers and converted to turns.
    assert_eq!(spec.geometry.skew_unit, SkewUnit::Turns);
    assert_eq!(spec.geometry.zones[0].track_skew, 0.125);
    assert_eq!(spec.geometry.zones[0].cylinder_skew, 0.25);
    assert_eq!(spec.geometry.zones[1].offset, 0.25);
    assert_eq!(spec.geometry.sparing, Sparing::Range);
    assert_eq!(spec.geometry.sparing_range_cylinders, 5);
    assert_eq!(spec.geometry.zones[0].slips, [17, 3]);
    assert_eq!(spec.geometry.zones[0].remaps, [[5, 399]]);
    assert!(spec.sources["cache"].contains("DiskSim parameter file main"));
    let of = |name: &str| report.iter().find(|n| n.parameter == name).map(|n| n.treatment);
    assert_eq!(of("Colour of the lid"), Some(Treatment::Unknown));
    assert_eq!(of("Preseeking level"), Some(Treatment::NotModelled));
    assert_eq!(of("Block count"), Some(Treatment::NoTimingEffect));
    assert_eq!(of("Segment size (in blks)"), Some(Treatment::Honoured));
    assert_eq!(of("disksim_global Global"), Some(Treatment::NotOfTheDrive));
}

#[test]
fn every_parameter_of_the_disk_is_reported() {
    let loader = loader(SYSTEM);
    let document = parse(Path::new("main"), &loader).unwrap();
    let import = document.disks(&loader).unwrap().remove(0);
    for param in &document.block("SMALL").unwrap().params {
        for name in &param.names {
            // Blocks are reported by their parameters.
            let told = import.report.iter().any(|n| n.parameter == *name);
            assert!(told, "{name}");
        }
    }
}

#[test]
fn extents_and_seek_tables_come_from_their_files() {
    let spec = import(G2).unwrap().spec;
    assert_eq!(spec.geometry.layout, "extents");
    // `seqcnt` is one less than the number of sectors.
    assert_eq!(
        serde_json::Value::Object(spec.geometry.layout_parameters.clone()),
        serde_json::json!({
            "extents": [[0, 10, 0, 0, 0], [10, 9, 1, 0, 1]],
            "extent_defects": [[1, 0, 0]],
        })
    );
    assert_eq!(spec.geometry.zones[0].offset, 0.5);
    let points = serde_json::json!([[1, "1.5 ms"], [8, "4.25 ms"]]);
    assert_eq!(spec.seek["points"], points);
    assert!(!spec.cache.enabled);
    // In turns: the zone's skew, the cylinder skew, and one sector in ten.
    let layout = layout::build(&spec.geometry, &layout::PLUGINS).unwrap();
    assert_eq!(layout.capacity(), 19);
    let tenths = |a: u64| (layout.locate(a).unwrap().angle.as_turns() * 10.0).round();
    assert_eq!([tenths(0), tenths(4), tenths(9)], [5.0, 9.0, 4.0]);
    assert_eq!([tenths(10), tenths(18)], [8.0, 6.0]);
    let place = layout.locate(10).unwrap();
    assert_eq!((place.cylinder, place.sector, place.run), (1, 1, 9));
    // The defective place has no address.
    assert_eq!(layout.address_at(1, 0, 0), None);
}

#[test]
fn other_layouts_are_refused_by_name() {
    let text = error(&G2.replace("dm_layout_g2 ", "dm_layout_g4 "));
    assert!(text.contains("got a block dm_layout_g4, need a block dm_layout_g1 or dm_layout_g2"), "{text}");
}

#[test]
fn every_seek_type_names_its_model() {
    let hpl = "HPL seek equation values = [ 300, 3.81, 0.33, 7.75, 0.0059, 2.5 ]";
    let ten = "First ten seek times = [ 1, 2.0, 3, 4, 5, 6, 7, 8, 9, 10 ]";
    for (text, model, key, value) in [
        ("constant, Constant seek time = 2.5".into(), "constant", "time", "2.5 ms"),
        ("linear, Single cylinder seek time = 1, Full strobe seek time = 9".into(), "linear", "full", "9 ms"),
        (format!("hpl, {hpl}"), "hpl", "single", "2.5 ms"),
        (format!("hplplus10, {hpl}, {ten}"), "hpl", "long_slope", "0.0059 ms"),
    ] {
        let file = G2.replace("extracted, Full seek curve = a.seek", &text);
        let spec = import(&file).unwrap().spec;
        assert_eq!(spec.seek["model"], model, "{text}");
        assert_eq!(spec.seek[key], value, "{text}");
        assert_eq!(spec.seek.contains_key("first"), text.starts_with("hplplus10"));
    }
}

#[test]
fn every_sparing_scheme_is_known() {
    let mut seen = Vec::new();
    for scheme in 0..=10 {
        let file = SYSTEM.replace("scheme used = 8", &format!("scheme used = {scheme}"));
        seen.push(import(&file).unwrap().spec.geometry.sparing);
    }
    assert_eq!(seen[0], Sparing::None);
    assert_eq!(seen[3], Sparing::TrackEnd);
    assert_eq!(seen[10], Sparing::ZoneEndSlipToDiskEnd);
    assert!(error(&SYSTEM.replace("scheme used = 8", "scheme used = 11")).contains("got 11"));
}

#[test]
fn files_may_be_sourced_between_any_two_tokens() {
    let document = parse(Path::new("main"), &loader("a b { source name.inc = 1, c = d e { } }"));
    let document = document.unwrap();
    assert_eq!(document.block("b").unwrap().get("Print stats").unwrap().integer(), Ok(1));
    assert_eq!(document.block("b").unwrap().get("c").unwrap().block().unwrap().kind, "d");
}

#[test]
fn errors_say_where_what_and_what_is_needed() {
    for (text, message) in [
        ("a b {\n x = 1,\n x = 2 }", "main:3:2: got \"x\" a second time, need each parameter once"),
        ("a b { x = [ 1, 2 }", "main:1:18: got '}'"),
        ("a b { x y }", "main:1:11: got '}', need '=' after the name"),
        ("a b { x = 1", "got the end of the file, need ',' or '}'"),
        ("source main", "main:1:8: got main sourcing itself, need files without a cycle"),
        ("source gone", "main:1:8: got \"gone\": no such file"),
        ("a ; b", "main:1:3: got ';'"),
        ("instantiate [ d9 .. d1 ] as x", "need equal prefixes and rising numbers"),
        ("instantiate [ d1 .. d99999999999 ] as x", "at most 100000 names"),
        ("disksim_disk d { }", "main:1:1: got disksim_disk without \"Model\""),
    ] {
        let got = error(text);
        assert!(got.contains(message), "{text}: {got}");
    }
    let deep = format!("a b {{ c = {}", "[".repeat(100_000));
    assert!(error(&deep).contains("at most 64 levels"));
    let wrong = SYSTEM.replace("Blocks per track = 20", "Blocks per track = 0");
    assert!(error(&wrong).contains("got 0, need an integer between 1 and"));
}

/// This includes parameters without an effect on response times.
#[test]
fn numbers_that_are_none_are_errors_that_name_their_parameter() {
    for (from, to, message) in [
        ("Block count = 1", "Block count = abc", "main:8:74: Block count: got abc, need a number"),
        ("Percent error in rpms = 0", "Percent error in rpms = none", "Percent error in rpms: got none, need a number"),
        ("Print stats = 0", "Print stats = [ 0 ]", "main:4:83: Print stats: got a list of 1, need a number"),
        ("slips = [ 17, 3 ]", "slips = [ 17, x ]", "main:16:25: slips: got x, need an integer"),
        (
            "after write ] = 0.25",
            "after write ] = fast",
            "Read hit over. after read, Read hit over. after write: got fast, need a number",
        ),
        (
            "Average seek time = 3.5",
            "Average seek time = -1",
            "Average seek time: got -1, need milliseconds between 0 and",
        ),
    ] {
        assert!(SYSTEM.contains(from), "{from}");
        let got = error(&SYSTEM.replace(from, to));
        assert!(got.starts_with("main:") && got.contains(message), "{got}");
    }
    // Parameters of other seek types may be words, lists or numbers.
    assert!(import(&SYSTEM.replace("curve,", "curve, Full seek curve = a.seek,")).is_ok());
}

#[test]
fn files_sourced_too_often_are_an_error() {
    // Each file sources the next one twice: 2^20 files without a limit.
    let mut loader = MemoryLoader::default();
    for i in 0..20 {
        let text = format!("source f{} source f{}", i + 1, i + 1);
        loader.files.insert(format!("f{i}"), text);
    }
    loader.files.insert("f20".into(), "a b {}".into());
    let message = parse(Path::new("f0"), &loader).unwrap_err().to_string();
    assert!(message.contains("at most 1024 sourced files"), "{message}");
}

/// Values that DiskSim accepts are used as far as possible, with a warning that names the place.
#[test]
fn what_disksim_tolerates_loads_with_a_warning() {
    // Removes the remap, whose target these slips fill.
    const NO_DEFECTS: (&str, &str) = ("defects = [ 5, 399 ]", "defects = []");
    for (changes, warning, capacity) in [
        // A zone that ends one cylinder beyond the last: DiskSim counts its blocks. Each cylinder of the second
        // zone has 2 x 20.
        (
            &[("Last cylinder number = 19", "Last cylinder number = 20")][..],
            "Layout Model: Zones: Last cylinder number: got 20: the last of 20 cylinders \
             is 19: the disk gets 1 more, as DiskSim counts their blocks",
            1225,
        ),
        (
            &[("First cylinder number = 10", "First cylinder number = 12")],
            "Layout Model: Zones: got a list of 2: cylinders 10 to 11 belong to no zone and hold no block",
            // Two cylinders of 40 fewer, and one range of five with its 2 spares.
            1185 - 80 + 2,
        ),
        (
            &[("slips = [ 17, 3 ]", "slips = [ 17, 3, 800 ]")],
            "Layout Model: Zones: slips: got a list of 3: 1 outside the \
             zone's 800 places left out",
            1185,
        ),
        (
            &[("slips = [ 17, 3 ]", "slips = [ 1, 2, 9, 10, 11, 400 ]"), NO_DEFECTS],
            "slips: got a list of 6: 1 more than the spares can take in left out",
            1185,
        ),
        (
            &[("slips = [ 17, 3 ]", "slips = [ 1, 2 ]"), ("scheme used = 8", "scheme used = 3")],
            "",
            // Four spares on each of 20 tracks of 40, two on each of 20 tracks of 20, 3 empty.
            20 * 36 + 20 * 18 - 3,
        ),
        (
            &[("slips = [ 17, 3 ]", "slips = [ 5 ]"), ("Number of spares = 4", "Number of spares = 0"), NO_DEFECTS],
            "slips: got a list of 1: 1 more than the spares can take in left out",
            1185 + 8,
        ),
        (
            &[("defects = [ 5, 399 ]", "defects = [ 5, 399, 6, 4000 ]")],
            "defects: got a list of 4: 1 outside the zone's 800 places left out",
            1185,
        ),
        (
            &[("Max queue length = 8", "Max queue length = 2000000000")],
            "Max queue length: got 2000000000: taken as 1048576, which is as good",
            1185,
        ),
        (&[("Block count = 1", "Block count = 99999")], "", 1185),
        (&[(", Block count = 1", "")], "", 1185),
    ] {
        let mut text = SYSTEM.to_string();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        let import = import(&text).unwrap_or_else(|e| panic!("{changes:?}: {e}"));
        let said: Vec<String> = import.warnings().into_iter().map(|w| w.text).collect();
        let said = said.join("\n");
        assert!(said.contains(warning), "{changes:?}: {said}");
        let expected = usize::from(!warning.is_empty());
        assert_eq!(import.warnings().len(), expected, "{changes:?}: {said}");
        let drive = Drive::builtin(&import.spec, &DriveOptions::default());
        let drive = drive.unwrap_or_else(|e| panic!("{changes:?}: {e}"));
        assert_eq!(drive.design.capacity_blocks(), capacity, "{changes:?}");
    }
    // The slips in the unchanged file are out of order, which has no effect.
    let plain = import(SYSTEM).unwrap();
    assert_eq!(plain.spec.geometry.zones[0].slips, [17, 3]);
    assert_eq!(plain.warnings(), []);
}

/// Definitions that would put two blocks in one place are refused at their place.
#[test]
fn zones_that_overlap_are_refused() {
    let text = error(&SYSTEM.replace("First cylinder number = 10", "First cylinder number = 9"));
    assert!(
        text.contains("got a zone of cylinders 9 to 19, need none of zone 0's 0 to 9: two blocks would share a place"),
        "{text}"
    );
    assert!(text.starts_with("main:17:9: Zones: "), "{text}");
}

#[test]
fn overheads_of_minutes_are_refused_where_they_stand() {
    let text = error(&SYSTEM.replace("after write ] = 0.25", "after write ] = 6000"));
    assert!(text.contains("got 6000, need at most 5000 ms"), "{text}");
}

/// Any number of gaps between zones gives one warning.
#[test]
fn gaps_between_zones_are_one_warning() {
    let third = "dm_layout_g1_zone { First cylinder number = 17, Last cylinder number = 19,
          Blocks per track = 20, Offset of first block = 0.25, Skew units = revolutions,
          Empty space at zone front = 0, Skew for track switch = 0.125,
          Skew for cylinder switch = 0.5, Number of spares = 2, slips = [], defects = [] },";
    let second = "dm_layout_g1_zone { First cylinder number = 10, Last cylinder number = 19";
    assert_eq!(SYSTEM.matches(second).count(), 1);
    let shorter = second.replace("= 10", "= 12").replace("= 19", "= 15");
    let text = SYSTEM.replace(second, &format!("{third} {shorter}"));
    let warnings = import(&text).unwrap().warnings();
    let gaps = warnings.iter().map(|w| &w.text);
    let gaps: Vec<&String> = gaps.filter(|w| w.contains("no zone")).collect();
    assert_eq!(gaps.len(), 1, "{warnings:?}");
    let want = "cylinders 10 to 11 belong to no zone and hold no block; 2 such gaps in all, 3 cylinders";
    assert!(gaps[0].ends_with(want), "{}", gaps[0]);
}
