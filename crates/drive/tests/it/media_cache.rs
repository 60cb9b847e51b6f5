//! A drive-managed shingled drive: what must hold whatever it is asked, and the behaviour that is published.

use headstack_drive::{Command, Drive, DriveOptions, DriveSpec, Phase, PhaseKind, Work};
use headstack_testkit::commands::command;
use headstack_testkit::disk::Disk;
use headstack_testkit::world::World;
use headstack_testkit::SplitMix;
use headstack_units::Time;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;
const SECTORS: u32 = 128;
const TURN_NS: f64 = 60e9 / 7200.0;

const SMALL: Disk =
    Disk { rpm: 7200, surfaces: 2, cylinders: 400, sectors: SECTORS, skew: Some(("sectors", 12.0, 30.0)) };
const SEEK: &str = "[seek]\nmodel = \"linear\"\nsingle = \"1 ms\"\nfull = \"8 ms\"\ncylinders = 400\n\
                    [positioning]\nhead_switch = \"0.5 ms\"\nwrite_settle = \"0.2 ms\"\n";
/// Bands of 8 tracks, a cache of 1 MiB.
const MAPPING: &str = "[mapping]\nmodel = \"media-cache\"\ncache_size = \"1 MiB\"\nband_size = \"512 KiB\"\n";
const BAND: u64 = 1024;

fn spec(tables: &str) -> DriveSpec {
    SMALL.drive(&format!("{SEEK}{tables}"))
}

fn drive(tables: &str) -> Drive {
    Drive::builtin(&spec(tables), &DriveOptions::default()).expect("a drive")
}

/// Every command completes once and without error, shares add up, and neither results nor energy depend on the
/// steps in which the drive is advanced.
#[test]
fn every_command_completes_once() {
    let cache = "[cache]\nenabled = true\nsegments = 4\nsegment_sectors = 64\nread_ahead = \"limit\"\n\
                 keep_passing_sectors = true\n";
    let idle = "write_back = true\ndestage = \"idle\"\ndirty_limit = \"16 KiB\"\npartial_wait = \"2 ms\"\n";
    let mut seed = 0;
    for cleaning in ["aggressive", "lazy"] {
        for limits in ["", "initial = \"full\"\n", "cache_extents = 20\n"] {
            let mapping = format!("{MAPPING}cleaning = {cleaning:?}\nclean_after = \"50 ms\"\n{limits}");
            for scheduler in ["fcfs", "sptf", "look", "satf"] {
                for buffer in
                    ["".to_string(), cache.into(), format!("{cache}write_back = true\n"), format!("{cache}{idle}")]
                {
                    seed += 1;
                    let text = format!("{mapping}[queue]\nscheduler = {scheduler:?}\n{buffer}");
                    let ran = World::on(seed, &spec(&text)).expect("a drive").calm().again(6).check();
                    assert!(ran.energy.background.cleaning.energy_j > 0.0, "seed {seed}: {text}");
                }
            }
        }
    }
}

/// The phases of cleaning up to `end`.
fn cleaning(drive: &mut Drive, end: u64) -> Vec<Phase> {
    drive.advance(Time(end), &mut |_| {});
    drive.energy(Time(end));
    let mut all = Vec::new();
    drive.tell_phases(Time(end), &mut |p| all.push(*p));
    all.retain(|p| p.work == Some(Work::Cleaning));
    all
}

fn total_ns(phases: &[Phase], kind: PhaseKind) -> f64 {
    let of_kind = phases.iter().filter(|p| p.kind == kind);
    of_kind.map(|p| (p.to.0 - p.from.0) as f64).sum()
}

/// One write of 8 blocks to a full band: cleaning reads them and the band, and writes the band. It begins when the
/// drive has been idle for `clean_after`.
#[test]
fn a_band_is_read_and_written_once() {
    for (initial, transfers) in [
        ("full", 8 + 2 * BAND),
        // Of an empty band only what was written last has to be there: the blocks up to the end of the write.
        ("empty", 8 + 108),
    ] {
        let mut drive = drive(&format!("{MAPPING}initial = {initial:?}\nclean_after = \"300 ms\"\n"));
        drive.listen(Time::ZERO);
        drive.submit(Time::ZERO, command(0, Command::WriteThrough, 5 * BAND + 100, 8));
        let mut end = 0;
        drive.advance(Time::NEVER, &mut |c| end = c.completion.0);
        let phases = cleaning(&mut drive, 10 * S);
        assert_eq!(phases[0].from.0, end + 300 * MS, "{initial}");
        let ns = total_ns(&phases, PhaseKind::Transfer);
        let expected = transfers as f64 * TURN_NS / f64::from(SECTORS);
        assert!((ns - expected).abs() < 40.0, "{initial}: {ns} ns, not {expected} ns");
        // Nothing else is to be cleaned.
        let more = cleaning(&mut drive, 20 * S);
        assert!(more.is_empty(), "{initial}: {more:?}");
    }
}

/// A band of which the cache has everything is not read.
#[test]
fn a_band_that_was_written_anew_is_not_read() {
    let mut drive = drive(&format!("{MAPPING}initial = \"full\"\n"));
    drive.listen(Time::ZERO);
    drive.submit(Time::ZERO, command(0, Command::WriteThrough, 5 * BAND, 1024));
    drive.advance(Time::NEVER, &mut |_| {});
    let phases = cleaning(&mut drive, 10 * S);
    let ns = total_ns(&phases, PhaseKind::Transfer);
    let expected = 2.0 * BAND as f64 * TURN_NS / f64::from(SECTORS);
    assert!((ns - expected).abs() < 40.0, "{ns} ns, not {expected} ns");
}

/// A stream into empty bands goes home, as fast as on a drive without shingles, and leaves nothing to clean.
#[test]
fn a_stream_fills_empty_bands() {
    let end_of = |tables: &str, first: u64| {
        let mut drive = drive(tables);
        drive.listen(Time::ZERO);
        for id in 0..40 {
            let lba = first + id * 512;
            drive.submit(Time::ZERO, command(id, Command::Write, lba, 512));
        }
        let mut end = 0;
        drive.advance(Time::NEVER, &mut |c| end = c.completion.0);
        assert!(cleaning(&mut drive, 60 * S).is_empty());
        end
    };
    // The cache takes the first 2048 sectors.
    let plain = end_of("", 2048);
    assert_eq!(end_of(MAPPING, 0), plain);
}

/// Completions per second of random writes of 4 KiB, one after the other: `n` of them from `now` on.
fn rate(drive: &mut Drive, draw: &mut SplitMix, now: &mut u64, n: u64) -> f64 {
    let from = *now;
    for id in 0..n {
        let lba = draw.below(drive.design.capacity_blocks() / 8) * 8;
        drive.submit(Time(*now), command(id, Command::WriteThrough, lba, 8));
        drive.advance(Time::NEVER, &mut |c| *now = c.completion.0);
    }
    n as f64 / ((*now - from) as f64 * 1e-9)
}

/// What is published of drive-managed drives: random writes are faster than on a conventional drive until the cache
/// is full, and then a fraction. Bands are cleaned one by one, so then each write waits for about one band. An
/// aggressive drive is fast again after a pause, a lazy one is not.
#[test]
fn fast_until_the_cache_is_full_then_a_fraction() {
    // The cache has 256 writes of 4 KiB.
    for (when, again) in [("aggressive", true), ("lazy", false)] {
        let mut shingled = drive(&format!("{MAPPING}initial = \"full\"\ncleaning = {when:?}\n"));
        let mut plain = drive("");
        let mut draw = SplitMix(7);
        let (mut now, mut at) = (0, 0);
        let conventional = rate(&mut plain, &mut draw, &mut at, 240);
        let fast = rate(&mut shingled, &mut draw, &mut now, 240);
        rate(&mut shingled, &mut draw, &mut now, 100);
        let slow = rate(&mut shingled, &mut draw, &mut now, 100);
        assert!(fast > 1.2 * conventional, "{fast}/s, conventional {conventional}/s");
        // A band takes 16 turns at least. Cleaning it frees the oldest extent, and its share of the other ones.
        let extents = 1.0 + 255.0 / (shingled.design.capacity_blocks() / BAND) as f64;
        assert!(slow < conventional / 4.0, "{slow}/s, conventional {conventional}/s");
        assert!(slow < extents / (16.0 * TURN_NS * 1e-9), "{slow}/s");
        now += 300 * S;
        let later = rate(&mut shingled, &mut draw, &mut now, 200);
        match again {
            true => assert!((later / fast - 1.0).abs() < 0.1, "{later}/s, first {fast}/s"),
            false => assert!(later < 2.0 * slow, "{later}/s, before {slow}/s"),
        }
    }
}

/// What cannot be is refused by its key.
#[test]
fn wrong_settings_are_refused_by_key() {
    let spec = |head: &str, tables: &str| -> DriveSpec {
        let text = format!("{head}\n{}", SMALL.text(&format!("{SEEK}{tables}")));
        toml::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
    };
    let table = |more: &str| format!("[mapping]\nmodel = \"media-cache\"\n{more}\n");
    let small = |more: &str| table(&format!("cache_size = \"1 MiB\"\n{more}"));
    for (head, tables, key, need) in [
        ("", table(""), "mapping.cache_size", "half of the medium"),
        ("", table("cache_size = \"1 KiB\""), "mapping.cache_size", "1048576 B"),
        ("", small("band_size = \"65537 B\""), "mapping.band_size", "multiple"),
        ("", small("cache_extents = 3"), "mapping.cache_extents", "8 or more"),
        ("", small("clean_after = \"2 h\""), "mapping.clean_after", "0"),
        ("", small("bands = 2"), "mapping", "bands"),
        ("", small("cleaning = \"never\""), "mapping", "lazy"),
        ("dash = \"D1A2S1H1\"", small(""), "dash", "not supported"),
        ("", small("[media_scan]\nmode = \"freeblock\""), "media_scan.mode", "not supported"),
        ("", small("[cache]\nenabled = true\nwrite_on_arrival = true"), "cache.write_on_arrival", "not supported"),
    ] {
        let error = match Drive::builtin(&spec(head, &tables), &DriveOptions::default()) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{tables} was accepted"),
        };
        assert!(error.contains(key) && error.contains(need), "{tables}: {error}");
    }
}
