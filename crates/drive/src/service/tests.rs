//! The buffer against a plain list, and the rules of deferred writes, seen from the host.

use crate::command::{Command, Completion, DriveRequest};
use crate::drive::{Drive, DriveOptions};
use crate::spec::{Destage, DriveSpec};
use headstack_units::{Bandwidth, Bytes, Lba, Span, Time};

const REV: u64 = 10_000_000;
const SECTOR: u64 = REV / 100;

fn spec() -> DriveSpec {
    let text = r#"
        name = "small"
        [geometry]
        rotation_speed = "6000 rpm"
        surfaces = 2
        cylinders = 300
        zones = [{ first_cylinder = 0, last_cylinder = 299, sectors_per_track = 100, track_skew = 10.0, cylinder_skew = 20.0 }]
        [seek]
        model = "constant"
        time = "2 ms"
        [positioning]
        head_switch = "1 ms"
        [cache]
        enabled = true
        segments = 4
        segment_sectors = 64
    "#;
    toml::from_str(text).expect("a drive")
}

fn deferred() -> DriveSpec {
    let mut spec = spec();
    spec.cache.write_back = true;
    spec.cache.destage = Destage::Idle;
    spec.cache.destage_after = Span::from_ms(50.0);
    spec.cache.write_segments = 2;
    // 10 us per sector.
    spec.link.rate = Some(Bandwidth(51.2e6));
    spec
}

struct Host(Drive, u64);

impl Host {
    fn new(spec: &DriveSpec) -> Host {
        Host(
            Drive::new(spec, &DriveOptions::default()).expect("a drive"),
            0,
        )
    }
    /// Issues one command at `at` and waits for it.
    fn ask(&mut self, at: u64, command: Command, lba: u64, blocks: u32) -> Completion {
        self.1 += 1;
        let request = DriveRequest {
            id: self.1,
            command,
            lba: Lba(lba),
            blocks,
        };
        self.0.submit(Time(at), request);
        let mut done = None;
        self.0.advance(Time::NEVER, &mut |c| done = Some(*c));
        done.expect("a completion")
    }
}

use Command::{Flush, Read, Write};

#[test]
fn deferred_writes_complete_in_the_buffer_and_a_flush_waits_for_the_medium() {
    let mut host = Host::new(&deferred());
    let w = host.ask(0, Write, 20_000, 8);
    assert!(w.cache_hit && !w.mechanical);
    // Eight sectors of 10 us on the link, nothing else.
    assert_eq!((w.completion.0, w.components.bus), (80_000, 80_000));
    assert!(host.0.destage_pending());
    assert_eq!(host.0.energy(Time(1_000_000)).transfer_s, 0.0);
    // What waits in the buffer is read from it.
    let r = host.ask(1_000_000, Read, 20_002, 4);
    assert!(r.cache_hit && !r.mechanical);
    assert_eq!(r.completion.0 - r.arrival.0, 40_000);
    let f = host.ask(2_000_000, Flush, 0, 0);
    let took = f.completion.0 - f.arrival.0;
    // One seek, at most a turn, eight sectors.
    let least = 2_000_000 + 8 * SECTOR;
    assert!(took >= least && took <= least + REV, "{took}");
    assert!(!host.0.destage_pending());
    let e = host.0.energy(Time(1_000_000_000));
    assert!(
        (e.transfer_s - 8.0 * SECTOR as f64 * 1e-9).abs() < 1e-12,
        "{e:?}"
    );
    assert!((e.seek_s - 0.002).abs() < 1e-12, "{e:?}");
    // Nothing left: the next flush costs nothing.
    let f = host.ask(1_000_000_000, Flush, 0, 0);
    assert_eq!(f.completion, f.arrival);
}

#[test]
fn idle_time_empties_the_buffer_without_a_flush() {
    let mut host = Host::new(&deferred());
    host.ask(0, Write, 20_000, 8);
    // Not within the idle wait of 50 ms; surely after it and a seek and two turns.
    host.0.energy(Time(49_000_000));
    assert!(host.0.destage_pending());
    host.0.energy(Time(50_100_000 + 2_000_000 + 2 * REV));
    assert!(!host.0.destage_pending());
}

/// What the write buffer holds of a read goes to the medium first: the read ends when it would have
/// ended after a flush, and what it does not need stays in the buffer.
#[test]
fn reads_wait_for_the_unwritten_part_of_their_data() {
    for kept in [true, false] {
        for (writes, sector, count) in [
            (&[20_000][..], 20_004, 8),
            (&[20_000], 19_996, 8),
            (&[20_000], 19_990, 40),
            // Two of them, and the gap between.
            (&[20_000, 20_020], 20_006, 16),
        ] {
            let mut spec = deferred();
            spec.cache.write_segments = 3;
            spec.cache.read_hits_on_written = kept;
            let (mut flushed, mut direct) = (Host::new(&spec), Host::new(&spec));
            for (i, lba) in writes.iter().enumerate() {
                for host in [&mut flushed, &mut direct] {
                    host.ask(i as u64 * 200_000, Write, *lba, 8);
                }
            }
            let at = 5_000_000;
            let ready = flushed.ask(at, Flush, 0, 0).completion.0;
            let want = flushed.ask(ready, Read, sector, count);
            direct.ask(600_000, Write, 50_000, 8);
            let got = direct.ask(at, Read, sector, count);
            assert_eq!(
                got.completion, want.completion,
                "{writes:?} {sector} {kept}"
            );
            assert!(got.mechanical && !got.cache_hit);
            assert_eq!(got.components.queue, ready - at);
            assert!(direct.0.destage_pending(), "the write far away need not go");
        }
    }
}

/// Read-ahead ends where newer data wait: what it finds there would be old.
#[test]
fn read_ahead_stops_before_unwritten_data() {
    let mut spec = deferred();
    spec.cache.read_hits_on_written = false;
    spec.cache.read_ahead = crate::spec::ReadAhead::Limit;
    let mut host = Host::new(&spec);
    host.ask(0, Write, 20_030, 8);
    host.ask(1_000_000, Read, 20_000, 8);
    // A turn is enough to read on to the limit, and less than the idle time.
    assert!(host.ask(25_000_000, Read, 20_008, 22).cache_hit);
    host.ask(30_000_000, Flush, 0, 0);
    assert!(!host.ask(100_000_000, Read, 20_030, 8).cache_hit);
}

#[test]
fn settling_after_a_head_switch_is_the_drives_choice() {
    for (after_switch, switch) in [(true, 1_500_000), (false, 1_000_000)] {
        let mut spec = spec();
        spec.positioning.write_settle = Span::from_ms(0.5);
        spec.positioning.settle_after_head_switch = after_switch;
        let mut host = Host::new(&spec);
        let mut seek = |at: u64, command, lba| host.ask(at, command, lba, 1).components.seek;
        // Surface 1 of cylinder 0, then cylinder 100, its surface 1, and back for a read.
        assert_eq!(seek(0, Write, 100), switch);
        assert_eq!(seek(100_000_000, Write, 20_000), 2_500_000);
        assert_eq!(seek(200_000_000, Write, 20_150), switch);
        assert_eq!(seek(300_000_000, Read, 20_050), 1_000_000);
    }
}

#[test]
fn full_write_segments_make_writes_wait() {
    let mut host = Host::new(&deferred());
    for (i, lba) in [10_000, 30_000].into_iter().enumerate() {
        let w = host.ask(i as u64 * 200_000, Write, lba, 8);
        assert_eq!(w.components.queue, 0);
    }
    let w = host.ask(1_000_000, Write, 50_000, 8);
    // One of the two must reach the medium first: a seek and eight sectors at least.
    let least = 2_000_000 + 8 * SECTOR;
    assert!(
        w.components.queue >= least && w.components.queue <= least + REV,
        "{w:?}"
    );
    // Inside data that wait, no further segment is needed.
    let w = host.ask(40_000_000, Write, 50_002, 2);
    assert_eq!(w.components.queue, 0);
}

/// Extents of 16 sectors far apart, one segment each: hits are those of a list of the four last
/// used, whether read or written.
#[test]
fn hits_are_those_of_a_list_in_order_of_use() {
    for written_too in [true, false] {
        let mut spec = spec();
        spec.cache.read_hits_on_written = written_too;
        let mut host = Host::new(&spec);
        let mut list: Vec<(u64, bool)> = Vec::new();
        let (mut state, mut now, mut hits) = (9u64, 0, 0);
        for i in 0..3000 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let lba = (state >> 40) % 7 * 1000;
            // Written data that may not be read leave an empty segment: writes only at the end.
            let write = written_too && (state >> 35) % 3 == 0;
            now += 100_000_000;
            let held = list.iter().any(|e| e.0 == lba);
            let c = host.ask(now, if write { Write } else { Read }, lba, 16);
            if !write {
                assert_eq!(c.cache_hit, held, "{i}: {lba} with {list:?}");
                hits += held as u32;
            }
            list.retain(|e| e.0 != lba);
            list.push((lba, write));
            if list.len() > 4 {
                list.remove(0);
            }
        }
        assert!(hits > 500);
        if !written_too {
            // What was overwritten is never served from what was read before.
            let lba = list[3].0;
            assert!(host.ask(now + 100_000_000, Read, lba, 16).cache_hit);
            host.ask(now + 200_000_000, Write, lba + 4, 4);
            assert!(!host.ask(now + 300_000_000, Read, lba, 16).cache_hit);
        }
    }
}

#[test]
fn a_segment_keeps_the_newest_sectors_that_fit() {
    let mut host = Host::new(&spec());
    host.ask(0, Read, 1000, 90);
    assert!(host.ask(100_000_000, Read, 1090 - 64, 64).cache_hit);
    assert!(!host.ask(200_000_000, Read, 1090 - 65, 4).cache_hit);
}

/// Two segments hold the data: the one that was used last, and is being read ahead, goes on.
#[test]
fn of_two_segments_the_one_used_last_serves() {
    let mut spec = spec();
    spec.cache.read_ahead = crate::spec::ReadAhead::Limit;
    let mut host = Host::new(&spec);
    // Read on to 1112, of which 64 sectors stay.
    host.ask(0, Read, 1040, 8);
    let c = host.ask(100_000_000, Read, 1000, 8).completion.0;
    // By now its own read-ahead, due to end before 1072, has passed 1064.
    assert!(host.ask(c + 57 * SECTOR, Read, 1060, 4).cache_hit);
    // Two turns later it has gone on to 64 sectors after that.
    assert!(host.ask(c + 3 * REV, Read, 1120, 4).cache_hit);
    assert!(!host.ask(c + 10 * REV, Read, 1010, 4).cache_hit);
}

#[test]
fn writing_part_of_a_4_kib_sector_costs_one_more_turn() {
    let mut spec = spec();
    spec.geometry.sector_size = Bytes(4096);
    let took = |lba, blocks| {
        let c = Host::new(&spec).ask(0, Write, lba, blocks);
        c.completion.0
    };
    let whole = took(8000, 8);
    for (lba, blocks) in [(8000, 1), (8004, 4), (8007, 1)] {
        assert_eq!(took(lba, blocks), whole + REV, "{lba} {blocks}");
    }
    // Two sectors, both in part: still one turn to read them and one to write them.
    assert_eq!(took(8004, 8), took(8000, 16) + REV);
    // Reading part of a sector costs what reading the sector costs.
    let read = |lba, blocks| Host::new(&spec).ask(0, Read, lba, blocks).completion.0;
    assert_eq!(read(8003, 2), read(8000, 8));
}

#[test]
fn empty_and_outside_requests_complete_as_errors() {
    let mut host = Host::new(&spec());
    let capacity = host.0.capacity_blocks();
    assert_eq!(capacity, 60_000);
    for (lba, blocks) in [
        (0, 0),
        (capacity, 1),
        (capacity - 1, 2),
        (u64::MAX, 1),
        (u64::MAX, u32::MAX),
    ] {
        for command in [Read, Write] {
            let c = host.ask(5, command, lba, blocks);
            assert!(
                c.error && c.completion == c.arrival,
                "{lba} {blocks}: {c:?}"
            );
        }
    }
    assert!(!host.ask(6, Read, capacity - 1, 1).error);
}

/// Zero latency: a whole track takes a seek and a turn, wherever the head comes down.
#[test]
fn read_on_arrival_takes_a_track_in_one_turn() {
    let mut spec = spec();
    let mut longer = 0;
    for i in 0..50 {
        let lba = 1000 + 200 * i;
        spec.cache.read_on_arrival = true;
        let c = Host::new(&spec).ask(i * 777_777, Read, lba, 100);
        let took = c.completion.0 - c.arrival.0 - c.components.seek;
        assert!((REV..=REV + SECTOR).contains(&took), "{i}: {c:?}");
        spec.cache.read_on_arrival = false;
        let c = Host::new(&spec).ask(i * 777_777, Read, lba, 100);
        longer += (c.completion.0 - c.arrival.0 - c.components.seek > REV + SECTOR) as u32;
    }
    assert!(longer > 40, "{longer}");
}
