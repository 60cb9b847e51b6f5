//! Single commands whose every nanosecond can be worked out on paper.
//!
//! The drive turns in 10 ms; a track has 100 sectors of 0.1 ms. Sector s of surface h of cylinder c has
//! address 200c + 100h + s and begins to pass at (30c + 10h + s) 0.1 ms and every 10 ms after that.
//! Every seek takes 2 ms, a head switch 1 ms. The arm starts at cylinder 0.

use headstack_drive::spec::{Destage, DriveSpec, ExtraDisconnect, FaultSpec, ReadAhead};
use headstack_drive::{Command, Completion, Drive, DriveOptions};
use headstack_testkit::commands;
use headstack_testkit::disk::Disk;
use headstack_testkit::shipped;
use headstack_units::{Bandwidth, Span, Time};
use Command::{Read, Write};

fn drive() -> DriveSpec {
    drive_with("")
}

/// The drive with further tables.
fn drive_with(tables: &str) -> DriveSpec {
    let disk = Disk { rpm: 6000, surfaces: 2, cylinders: 300, sectors: 100, skew: Some(("sectors", 10.0, 20.0)) };
    let usual = r#"
        [seek]
        model = "constant"
        time = "2 ms"
        [positioning]
        head_switch = "1 ms"
        [cache]
        enabled = true
        segments = 4
        segment_sectors = 128
    "#;
    disk.drive(&format!("{usual}{tables}"))
}

/// 20,000 is sector 0 of cylinder 100: it begins to pass at 0, 10, 20 ... ms.
const AT: u64 = 20_000;

fn ms(at: f64) -> u64 {
    (at * 1e6).round() as u64
}

struct Host(Drive);

impl Host {
    fn new(spec: &DriveSpec) -> Host {
        Host(Drive::builtin(spec, &DriveOptions::default()).expect("a drive"))
    }
    /// One command at a time in ms, brought to its end.
    fn ask(&mut self, at: f64, command: Command, lba: u64, blocks: u32) -> Completion {
        let request = commands::command(0, command, lba, blocks);
        self.0.advance(Time(ms(at)), &mut |_| {});
        self.0.submit(Time(ms(at)), request);
        let mut done = None;
        self.0.advance(Time::NEVER, &mut |c| done = Some(*c));
        done.expect("a completion")
    }
    fn ends(&mut self, at: f64, command: Command, lba: u64, blocks: u32) -> u64 {
        self.ask(at, command, lba, blocks).completion.0
    }
}

fn reading_ahead(sectors: u32) -> DriveSpec {
    let mut spec = drive();
    spec.cache.read_ahead = ReadAhead::Limit;
    spec.cache.read_ahead_sectors = sectors;
    spec
}

#[test]
fn a_miss_is_a_seek_a_wait_and_its_sectors() {
    let c = Host::new(&drive()).ask(0.0, Read, AT, 8);
    assert_eq!(c.completion.0, ms(10.8));
    let s = c.components;
    assert_eq!([s.seek, s.rotation, s.transfer], [2.0, 8.0, 0.8].map(Span::from_ms));
    assert_eq!([s.queue, s.overhead, s.bus], [Span::ZERO; 3]);
    assert_eq!(c.seek_distance, 100);
}

/// After the read, which ends at 10.8 ms, sectors 8 to 39 follow until 14.0 ms.
#[test]
fn read_ahead_serves_what_has_passed_and_goes_on_for_the_rest() {
    let after = |at: f64, lba: u64, blocks: u32| {
        let mut host = Host::new(&reading_ahead(32));
        assert_eq!(host.ends(0.0, Read, AT, 8), ms(10.8));
        host.ask(at, Read, lba, blocks)
    };
    // At 12.05 ms twelve more sectors have passed; the thirteenth is under the head.
    let c = after(12.05, AT + 8, 12);
    assert!(c.cache_hit && c.completion.0 == ms(12.05), "{c:?}");
    let c = after(12.05, AT + 8, 13);
    assert!(!c.cache_hit && c.completion.0 == ms(12.1), "{c:?}");
    let c = after(12.05, AT + 16, 14);
    assert_eq!(c.completion.0, ms(13.0));
    // At 30 ms all 32 are there, and no more.
    assert!(after(30.0, AT + 8, 32).cache_hit);
    assert!(after(30.0, AT, 40).cache_hit);
    let c = after(30.0, AT + 36, 8);
    // Sectors 40 to 43 pass next at 34.0 ms.
    assert!(!c.cache_hit && c.completion.0 == ms(34.4), "{c:?}");
}

/// Sectors 80 to 87 end at 8.8 ms, the track at 10.0; surface 1 begins at 11.0 ms, after the switch.
#[test]
fn a_read_joined_to_read_ahead_crosses_the_track_with_it() {
    let mut host = Host::new(&reading_ahead(64));
    assert_eq!(host.ends(0.0, Read, AT + 80, 8), ms(8.8));
    assert_eq!(host.ends(9.05, Read, AT + 88, 18), ms(11.6));
    // It reads on behind that: 64 sectors from 106 on have passed at 18.0 ms.
    assert!(host.ask(18.05, Read, AT + 106, 64).cache_hit);
}

/// One sequential read of 4 KiB after the other, each sent when the last one has ended: a drive that lets them join its read-ahead
/// takes its overhead for each, and the read-ahead gets ahead meanwhile, so that nearly all are hits.
#[test]
fn every_sequential_read_pays_its_overhead() {
    for name in ["barracuda-es-750", "exos-x18", "ultrastar-7k4000", "ultrastar-hc570"] {
        let mut host = Host::new(&shipped::drive(name));
        let (mut now, mut hits) = (0, 0);
        for i in 0..2000 {
            let c = host.ask(now as f64 * 1e-6, Read, i * 8, 8);
            let took = c.completion.0 - now;
            assert!(i == 0 || took >= 100_000, "{name}: {c:?}");
            (now, hits) = (c.completion.0, hits + u32::from(c.cache_hit));
        }
        assert!(hits > 1900, "{name}: {hits} hits");
    }
}

/// A command for cylinder 0 while sectors are read ahead, one at each tenth of a millisecond. The sector
/// under the head is finished first, unless the drive stops inside it; the next one counts as soon as the
/// last has passed. Twenty sectors that must be read have passed at 12.8 ms. The arm is there 2 ms later.
#[test]
fn read_ahead_gives_way() {
    for (in_sector, minimum, at, lba, want) in [
        // Free at 11.1 ms, or 11.05.
        (false, 0, 11.05, 31, 13.2),
        (false, 0, 11.05, 30, 23.1),
        (true, 0, 11.05, 31, 13.2),
        (true, 0, 11.05, 30, 23.1),
        // Free at 11.1 ms, or 11.0.
        (false, 0, 11.0, 30, 23.1),
        (true, 0, 11.0, 30, 13.1),
        // Free at 12.9 ms, or 12.8.
        (false, 20, 11.05, 49, 15.0),
        (false, 20, 11.05, 48, 24.9),
        (true, 20, 11.05, 48, 14.9),
        (true, 20, 11.05, 47, 24.8),
    ] {
        let mut spec = reading_ahead(32);
        spec.cache.stop_read_ahead_in_sector = in_sector;
        spec.cache.read_ahead_minimum = minimum;
        let mut host = Host::new(&spec);
        host.ask(0.0, Read, AT, 8);
        let got = host.ends(at, Read, lba, 1);
        assert_eq!(got, ms(want), "{in_sector} {minimum} {at} {lba}");
    }
}

/// Written data end read-ahead into what they overwrite, and leave other read-ahead alone.
#[test]
fn written_data_stop_read_ahead_that_would_overwrite_them() {
    let mut spec = reading_ahead(32);
    spec.cache.write_back = true;
    spec.cache.destage = Destage::Idle;
    spec.cache.destage_after = Span::from_ms(500.0);
    spec.cache.write_segments = 4;
    for (lba, goes_on) in [(AT + 30, false), (AT + 36, false), (AT + 40, true), (AT - 4, true), (50_000, true)] {
        let mut host = Host::new(&spec);
        host.ask(0.0, Read, AT, 8);
        // 0.25 ms after the read: two sectors more are there.
        assert_eq!(host.ends(11.05, Write, lba, 4), ms(11.05));
        let c = host.ask(20.0, Read, AT + 20, 4);
        assert_eq!(c.cache_hit, goes_on, "{lba}");
    }
}

/// The read ends at 5.8 ms; a turn later, at 15.8 ms, the whole track has passed.
#[test]
fn the_whole_track_is_there_after_a_turn() {
    let mut spec = drive();
    spec.cache.keep_whole_track = true;
    for (at, lba, hit) in [
        (15.79, AT + 40, false),
        (15.81, AT + 40, true),
        (15.81, AT, true),
        (15.81, AT - 4, false),
        (15.81, AT + 55, false),
    ] {
        let mut host = Host::new(&spec);
        assert_eq!(host.ends(0.0, Read, AT + 50, 8), ms(5.8));
        let c = host.ask(at, Read, lba, 4);
        assert_eq!(c.cache_hit, hit, "{at} {lba}");
    }
}

/// The head is on the track at 2.0 ms: 30 sectors pass before sector 50; 90 before sector 10, of which ten
/// are on the track before it.
#[test]
fn sectors_that_pass_before_the_first_are_kept() {
    let mut spec = drive();
    spec.cache.keep_passing_sectors = true;
    for (first, lba, hit) in
        [(AT + 50, AT + 20, true), (AT + 50, AT + 19, false), (AT + 10, AT, true), (AT + 10, AT - 1, false)]
    {
        let mut host = Host::new(&spec);
        host.ask(0.0, Read, first, 8);
        let c = host.ask(30.0, Read, lba, 4);
        assert_eq!(c.cache_hit, hit, "{first} {lba}");
    }
}

#[test]
fn what_was_asked_for_is_dropped_where_the_drive_does_so() {
    let mut spec = reading_ahead(32);
    spec.cache.discard_requested = true;
    for (lba, hit) in [(AT, false), (AT + 7, false), (AT + 8, true)] {
        let mut host = Host::new(&spec);
        host.ask(0.0, Read, AT, 8);
        assert_eq!(host.ask(30.0, Read, lba, 4).cache_hit, hit, "{lba}");
    }
}

/// A write whose data come too late for the sector under the head loses a turn: on a link that is faster
/// than the medium its first sector decides, on a slower one the last.
#[test]
fn late_data_cost_a_turn() {
    // Link time of a sector, first sector, end. The arm is there at time 0.
    for (link_ms, lba, want) in [
        // The first sector is there at 0.05 ms.
        (0.05, 0, 10.8),
        (0.05, 1, 0.9),
        // The last one, there at 1.6 ms, begins to pass at 1.5, 1.6 or 1.7 ms.
        (0.2, 8, 11.6),
        (0.2, 9, 1.7),
        (0.2, 10, 1.8),
    ] {
        let mut spec = drive();
        spec.link.write_sector_time = Some(Span::from_ms(link_ms));
        let got = Host::new(&spec).ends(0.0, Write, lba, 8);
        assert_eq!(got, ms(want), "{link_ms} {lba}");
        // A buffer of four sectors: the same where the link is fast enough.
        spec.cache.segment_sectors = 4;
        let got = Host::new(&spec).ends(0.0, Write, lba, 8);
        if link_ms < 0.1 {
            assert_eq!(got, ms(want), "{link_ms} {lba}");
        } else {
            assert!(got >= ms(want), "{link_ms} {lba}");
        }
    }
}

/// A write begins when so many of its sectors have arrived, also one to the cache of a shingled drive, which begins
/// with sector 0. The arm is there; the sector begins to pass 0.2 ms after the command, when four have arrived.
#[test]
fn a_write_waits_for_as_many_sectors_as_the_drive_wants() {
    let shingled = r#"
        [mapping]
        model = "media-cache"
        cache_size = "1 MiB"
        band_size = "512 KiB"
    "#;
    // The address 100 is not where its band is written next, so it goes to the cache.
    for (tables, lba) in [("", 0), (shingled, 100)] {
        for (sectors, want) in [(0, 10.8), (4, 10.8), (5, 20.8)] {
            let mut spec = drive_with(tables);
            spec.link.write_sector_time = Some(Span::from_ms(0.05));
            spec.overhead.extra_write_disconnect =
                Some(ExtraDisconnect { buffered_sectors: sectors, ..ExtraDisconnect::default() });
            let got = Host::new(&spec).ends(9.8, Write, lba, 8);
            assert_eq!(got, ms(want), "{sectors} sectors, address {lba}");
        }
    }
}

/// Half of each wait is left out: 4 ms instead of 8; what follows passes as usual.
#[test]
fn scaled_waits_turn_the_platter_on() {
    let mut spec = drive();
    spec.positioning.rotation_scale = 0.5;
    let mut host = Host::new(&spec);
    let near = |got: u64, want: f64| assert!(got.abs_diff(ms(want)) < 50, "{got}, need {want} ms");
    near(host.ends(0.0, Read, AT, 8), 6.8);
    near(host.ends(6.8, Read, AT + 8, 8), 7.6);
    // Ten sectors on: 1 ms, of which half is left.
    near(host.ends(7.6, Read, AT + 26, 8), 8.9);
    near(host.ends(8.9, Read, AT + 34, 8), 9.7);
}

/// Overheads one by one. The link takes 0.05 ms for a sector, so 0.4 ms for eight.
#[test]
fn overheads_add_up() {
    let mut spec = drive();
    let o = &mut spec.overhead;
    o.read_miss.after_read = Span::from_ms(0.3);
    o.read_hit.after_read = Span::from_ms(0.6);
    o.write_miss.after_read = Span::from_ms(0.3);
    o.read_disconnect.after_read = Span::from_ms(0.5);
    o.write_disconnect = Span::from_ms(0.5);
    o.first_reselect = Span::from_ms(0.2);
    o.data_preparation = Span::from_ms(0.1);
    o.read_completion = Span::from_ms(0.4);
    o.write_completion = Span::from_ms(0.4);
    spec.link.rate = Some(Bandwidth(512.0 / 50e-6));
    // Back on the link when the first sector has passed (10.1) at 10.3; the last one goes out at 10.85.
    let mut host = Host::new(&spec);
    assert_eq!(host.ends(0.0, Read, AT, 8), ms(11.25));
    let c = host.ask(30.0, Read, AT, 8);
    assert_eq!(c.completion.0, ms(30.0 + 0.6 + 0.1 + 0.4 + 0.4));
    assert_eq!((c.components.overhead.non_negative(), c.components.bus.non_negative()), (ms(1.1), ms(0.4)));
    // Back when all, or half of the sectors have passed: 10.8 + 0.2 + 0.1 + 0.4; 10.4 + 0.7.
    for (share, want) in [(1.0, 11.9), (0.5, 11.5)] {
        spec.cache.read_watermark = share;
        assert_eq!(Host::new(&spec).ends(0.0, Read, AT, 8), ms(want), "{share}");
    }
    // The data are in the buffer at 0.8 ms, on the medium at 10.8.
    assert_eq!(Host::new(&spec).ends(0.0, Write, AT, 8), ms(11.4));
    spec.link.never_disconnect = true;
    assert_eq!(Host::new(&spec).ends(0.0, Write, AT, 8), ms(11.2));
    assert_eq!(Host::new(&spec).ends(0.0, Read, AT, 8), ms(11.25));
    // Off the link for 20 ms at least: back at 20.5.
    spec.link.never_disconnect = false;
    spec.cache.read_watermark = 0.0;
    spec.overhead.read_disconnect.after_read = Span::from_ms(20.0);
    assert_eq!(Host::new(&spec).ends(0.0, Read, AT, 8), ms(20.3 + 0.2 + 0.5 + 0.4));
}

/// A write completes when it is in the buffer; the next one elsewhere waits for the medium, one that goes
/// on with it does not.
#[test]
fn written_behind_the_command() {
    let mut spec = drive();
    spec.cache.write_back = true;
    spec.cache.append_writes = true;
    spec.link.write_sector_time = Some(Span::from_ms(0.05));
    for (lba, want) in [(AT + 8, 5.4), (AT + 9, 10.8 + 0.4)] {
        let mut host = Host::new(&spec);
        assert_eq!(host.ends(0.0, Write, AT, 8), ms(0.4));
        assert_eq!(host.ends(5.0, Write, lba, 8), ms(want), "{lba}");
    }
    // On the medium: the seek, the wait and 1.6 ms, one turn after the other sectors.
    let mut host = Host::new(&spec);
    host.ask(0.0, Write, AT, 8);
    host.ask(5.0, Write, AT + 8, 8);
    let f = host.ask(6.0, Command::Flush, 0, 0);
    assert_eq!(f.completion.0, ms(11.6));
}

/// The head of surface 1 of arm 0 is taken out of use at 1 ms: what needs it goes to arm 1, also where the
/// command begins on surface 0.
#[test]
fn commands_go_to_the_arm_that_reaches_all_of_them() {
    let mut spec = drive();
    spec.dash.arms = 2;
    spec.parallelism.faults.push(FaultSpec {
        at: Some(Span::from_ms(1.0)),
        surface: Some(1),
        warning: true,
        ..FaultSpec::default()
    });
    let mut host = Host::new(&spec);
    let mut arms = [0; 2];
    for i in 0..40u32 {
        let at = 2.0 + 50.3 * f64::from(i);
        let c = host.ask(at, Read, AT + 90 + 600 * u64::from(i % 7), 20);
        assert!(!c.error && c.arm == 1, "{c:?}");
        let c = host.ask(at + 25.0, Read, AT + 600 * u64::from(i % 5), 20);
        arms[c.arm as usize] += 1;
    }
    assert!(arms[0] > 5, "{arms:?}");
}

/// At 12.05 ms the head is on sector 20 of the run that is read ahead, and ends there at 12.1 ms. A read of it
/// counts as served only where it may join that; else it is a turn away, and sector 50, at 15.0 ms, is first.
#[test]
fn what_is_under_the_head_is_served_where_a_read_may_join_it() {
    for (almost_hits, want) in [(false, [22.1, 15.1]), (true, [12.1, 15.1])] {
        let mut spec = reading_ahead(32);
        spec.queue.scheduler = "satf".into();
        spec.cache.almost_hits = almost_hits;
        let mut host = Host::new(&spec);
        assert_eq!(host.ends(0.0, Read, AT, 8), ms(10.8));
        let mut ends = [0; 2];
        host.0.advance(Time(ms(12.05)), &mut |_| {});
        for (id, lba) in [AT + 20, AT + 50].into_iter().enumerate() {
            let request = commands::command(id as u64, Read, lba, 1);
            host.0.submit(Time(ms(12.05)), request);
        }
        host.0.advance(Time::NEVER, &mut |c| ends[c.id as usize] = c.completion.0);
        assert_eq!(ends, want.map(ms), "almost hits: {almost_hits}");
    }
}

/// Two surfaces at once: sector s of pair p of cylinder c has address 400c + 200p + s, takes 0.05 ms and
/// begins at 3c + p + 0.05 s ms and every 10 ms after that: skews stay as many sectors of one surface, of
/// which whole ones count, as long as those take.
#[test]
fn skews_in_sectors_are_those_of_one_surface_where_two_are_read_at_once() {
    for (skews, offset, later) in [((10.0, 20.0), 0.0, 0.0), ((10.9, 20.9), 5.9, 0.5)] {
        let mut spec = drive();
        spec.geometry.surfaces = 4;
        spec.dash.surfaces = 2;
        let zone = &mut spec.geometry.zones[0];
        (zone.track_skew, zone.cylinder_skew) = skews;
        zone.offset = offset;
        for (lba, begins) in [(400, 3.0), (1000, 7.0), (1010, 7.5), (3 * 400, 9.0)] {
            let got = Host::new(&spec).ends(0.0, Read, lba, 1);
            assert_eq!(got, ms(begins + later + 0.05), "{lba} {offset}");
        }
    }
}

/// Sectors 10 to 17 of the arm's own track pass from 1.0 to 1.8 ms. A head that comes a hair later, at most
/// 2e-6 turn or 20 ns, still writes them. More than a quarter of that is made up for by the end.
#[test]
fn a_head_that_is_late_by_a_hair_loses_no_turn() {
    for (late_ns, want_ns) in [(3, 1_800_003), (10, 1_800_000), (30, 11_800_000)] {
        let at = 1.0 + f64::from(late_ns) * 1e-6;
        let got = Host::new(&drive()).ends(at, Write, 10, 8);
        assert_eq!(got, want_ns, "{late_ns} ns late");
    }
}

/// Two arms that work together, each half a turn from the other: 8 sectors are due at 50 ms and on the medium at
/// 60.8 ms at the latest, though nobody asks before the flush.
#[test]
fn arms_that_work_together_destage_unasked() {
    let mut spec = drive();
    spec.dash.arms = 2;
    spec.parallelism.arms_in_motion = 0;
    spec.cache.write_back = true;
    spec.cache.destage = Destage::Idle;
    spec.cache.destage_after = Span::from_ms(50.0);
    spec.cache.write_segments = 4;
    for (at, wait) in [(80.0, false), (49.0, true)] {
        let mut host = Host::new(&spec);
        assert_eq!(host.ends(0.0, Write, AT, 8), 0);
        let end = host.ends(at, Command::Flush, 0, 0);
        assert_eq!(end > ms(at), wait, "a flush at {at} ms ends at {end} ns");
    }
}
