//! The buffer compared with a plain list, and the rules of deferred writes as a host sees them.

use headstack_drive::command::{Command, Completion, DriveRequest};
use headstack_drive::drive::Drive;
use headstack_drive::spec::{Destage, DriveSpec};
use headstack_drive::DriveOptions;
use headstack_testkit::disk::Disk;
use headstack_testkit::Lcg;
use headstack_units::{Bandwidth, Bytes, Lba, Span, Time};
use Command::{Flush, Read, Write};

mod channels;
mod pass;

const REV: u64 = 10_000_000;
const SECTOR: u64 = REV / 100;

pub(crate) fn spec() -> DriveSpec {
    let disk = Disk { rpm: 6000, surfaces: 2, cylinders: 300, sectors: 100, skew: Some(("sectors", 10.0, 20.0)) };
    disk.drive(
        "[seek]\nmodel = \"constant\"\ntime = \"2 ms\"\n[positioning]\nhead_switch = \"1 ms\"\n\
         [cache]\nenabled = true\nsegments = 4\nsegment_sectors = 64",
    )
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
        Host(Drive::builtin(spec, &DriveOptions::default()).expect("a drive"), 0)
    }
    /// Submits one command at `at` and waits for its completion.
    fn ask(&mut self, at: u64, command: Command, lba: u64, blocks: u32) -> Completion {
        self.1 += 1;
        let request = DriveRequest { id: self.1, command, lba: Lba(lba), blocks, ..DriveRequest::default() };
        self.0.submit(Time(at), request);
        let mut done = None;
        self.0.advance(Time::NEVER, &mut |c| done = Some(*c));
        done.expect("a completion")
    }
}

#[test]
fn deferred_writes_complete_in_the_buffer_and_a_flush_waits_for_the_medium() {
    let mut host = Host::new(&deferred());
    let w = host.ask(0, Write, 20_000, 8);
    assert!(w.cache_hit && !w.mechanical);
    // Eight sectors of 10 us on the link, nothing else.
    assert_eq!((w.completion.0, w.components.bus.non_negative()), (80_000, 80_000));
    assert!(host.0.destage_pending());
    assert_eq!(host.0.energy(Time(1_000_000)).transfer_s, 0.0);
    // Waiting data are read from the buffer.
    let r = host.ask(1_000_000, Read, 20_002, 4);
    assert!(r.cache_hit && !r.mechanical);
    assert_eq!(r.completion.0 - r.arrival.0, 40_000);
    let f = host.ask(2_000_000, Flush, 0, 0);
    let took = f.completion.0 - f.arrival.0;
    // A seek, at most a turn, and eight sectors.
    let least = 2_000_000 + 8 * SECTOR;
    assert!(took >= least && took <= least + REV, "{took}");
    assert!(!host.0.destage_pending());
    let e = host.0.energy(Time(1_000_000_000));
    assert!((e.transfer_s - 8.0 * SECTOR as f64 * 1e-9).abs() < 1e-12, "{e:?}");
    assert!((e.seek_s - 0.002).abs() < 1e-12, "{e:?}");
    // No data are left, so the next flush takes no time.
    let f = host.ask(1_000_000_000, Flush, 0, 0);
    assert_eq!(f.completion, f.arrival);
}

#[test]
fn idle_time_empties_the_buffer_without_a_flush() {
    let mut host = Host::new(&deferred());
    host.ask(0, Write, 20_000, 8);
    // Not within the `destage_after` of 50 ms, but after it and a seek and two turns.
    host.0.energy(Time(49_000_000));
    assert!(host.0.destage_pending());
    host.0.energy(Time(50_100_000 + 2_000_000 + 2 * REV));
    assert!(!host.0.destage_pending());
}

/// If the write buffer holds only a part of the data, all are read from the medium, in the same time as
/// without it. Newer data in the buffer replace what was read, and stay there.
#[test]
fn reads_mix_buffer_and_medium() {
    for (writes, sector, count) in [
        (&[20_000][..], 20_004, 8),
        (&[20_000], 19_996, 8),
        (&[20_000], 19_990, 40),
        // Two extents, and the gap between them.
        (&[20_000, 20_020], 20_006, 16),
    ] {
        let spec = deferred();
        let (mut clean, mut dirty) = (Host::new(&spec), Host::new(&spec));
        for (i, lba) in writes.iter().enumerate() {
            dirty.ask(i as u64 * 200_000, Write, *lba, 8);
        }
        let at = 5_000_000;
        let want = clean.ask(at, Read, sector, count);
        let got = dirty.ask(at, Read, sector, count);
        assert_eq!(got.completion, want.completion, "{writes:?} {sector}");
        assert!(got.mechanical && !got.cache_hit);
        assert!(dirty.0.destage_pending());
        // Now the buffer holds all of it.
        assert!(dirty.ask(at + 30_000_000, Read, sector, count).cache_hit);
    }
}

/// Written data are read from the buffer while they wait, while they are being written, and later if the
/// drive keeps them.
#[test]
fn written_data_are_hits_all_the_time() {
    for kept in [true, false] {
        let mut spec = deferred();
        spec.cache.read_hits_on_written = kept;
        let mut host = Host::new(&spec);
        host.ask(0, Write, 20_000, 60);
        // The pass begins at 50.6 ms and takes 8 ms at least.
        for at in [2_000_000, 49_000_000, 53_000_000] {
            let r = host.ask(at, Read, 20_010, 30);
            assert!(r.cache_hit, "{at}");
            assert_eq!(r.completion.0 - r.arrival.0, 300_000);
        }
        let r = host.ask(100_000_000, Read, 20_010, 30);
        assert_eq!(r.cache_hit, kept);
    }
}

#[test]
fn settling_after_a_head_switch_is_the_drives_choice() {
    for (after_switch, switch) in [(true, 1_500_000), (false, 1_000_000)] {
        let mut spec = spec();
        spec.positioning.write_settle = Span::from_ms(0.5);
        spec.positioning.settle_after_head_switch = after_switch;
        let mut host = Host::new(&spec);
        let mut seek = |at: u64, command, lba| host.ask(at, command, lba, 1).components.seek.non_negative();
        // Surface 1 of cylinder 0, then cylinder 100, its surface 1, and back for a read.
        assert_eq!(seek(0, Write, 100), switch);
        assert_eq!(seek(100_000_000, Write, 20_000), 2_500_000);
        assert_eq!(seek(200_000_000, Write, 20_150), switch);
        assert_eq!(seek(300_000_000, Read, 20_050), 1_000_000);
    }
}

/// The limit of the buffer is in bytes, not in writes. A write that finds no room waits for a pass.
#[test]
fn a_full_buffer_makes_writes_wait() {
    let mut spec = deferred();
    spec.cache.dirty_limit = Some(Bytes(16 * 512));
    let mut host = Host::new(&spec);
    for (i, lba) in [10_000, 30_000, 31_000, 32_000].into_iter().enumerate() {
        let w = host.ask(i as u64 * 200_000, Write, lba, 4);
        assert_eq!(w.components.queue.non_negative(), 0);
    }
    // A write to data that are waiting needs no further room.
    let w = host.ask(900_000, Write, 30_001, 2);
    assert_eq!(w.components.queue.non_negative(), 0);
    let w = host.ask(1_000_000, Write, 50_000, 4);
    // One of the four extents must be written first: a seek and at least four sectors.
    let least = 2_000_000 + 4 * SECTOR;
    assert!(w.components.queue.non_negative() >= least && w.components.queue.non_negative() <= least + REV, "{w:?}");
    assert!(w.cache_hit && !w.mechanical);
    // No more is written than needed: three extents and the new one wait.
    host.0.energy(Time(40_000_000));
    assert!(host.ask(45_000_000, Read, 50_000, 4).cache_hit);
    assert!(host.0.destage_pending());
}

/// A write longer than the buffer takes as long as the medium takes. A large buffer saves no more than the
/// part that stays in it.
#[test]
fn a_write_longer_than_the_buffer_goes_at_the_rate_of_the_medium() {
    let mut spec = deferred();
    spec.geometry.zones[0].track_skew = 11.0;
    spec.link.rate = Some(Bandwidth(512e6));
    for limit in [8u64, 64, 256] {
        spec.cache.dirty_limit = Some(Bytes(limit * 512));
        let mut host = Host::new(&spec);
        let w = host.ask(0, Write, 0, 5000);
        // 50 tracks; a skew of 11 after each, of 20 after each second one.
        let medium = (50 * 100 + 25 * 11 + 25 * 20) * SECTOR;
        let took = w.completion.0 - w.arrival.0;
        let (least, most) = (medium - (limit + 20) * SECTOR, medium + 2 * REV);
        assert!((least..=most).contains(&took), "{limit}: {took}, {least} {most}");
        let c = &w.components;
        assert_eq!((c.queue + c.overhead + c.bus).non_negative(), took);
    }
}

/// Writes enter the buffer one after another while the mechanism serves a read.
#[test]
fn writes_do_not_wait_for_the_mechanism() {
    let mut spec = deferred();
    spec.cache.dirty_limit = Some(Bytes(64 * 512));
    let mut host = Host::new(&spec);
    let request =
        |id, command, lba, blocks| DriveRequest { id, command, lba: Lba(lba), blocks, ..DriveRequest::default() };
    host.0.submit(Time(0), request(0, Read, 40_000, 8));
    for i in 1..4 {
        host.0.submit(Time(0), request(i, Write, 1000 * i, 8));
    }
    let mut done = Vec::new();
    host.0.advance(Time::NEVER, &mut |c| done.push((c.id, c.completion.0)));
    done.sort_unstable();
    // Eight sectors of 10 us for each write; the read takes much longer.
    let written: Vec<u64> = done[1..].iter().map(|d| d.1).collect();
    assert_eq!(written, [80_000, 160_000, 240_000]);
    assert!(done[0].1 > 2_000_000, "{done:?}");
}

/// A write-through is on the medium when it completes, whatever else waits. A flush includes everything that
/// came before it.
#[test]
fn written_through_is_on_the_medium() {
    let mut host = Host::new(&deferred());
    host.ask(0, Write, 20_000, 8);
    let w = host.ask(1_000_000, Command::WriteThrough, 20_000, 8);
    assert!(w.mechanical && !w.cache_hit);
    assert!(w.completion.0 - w.arrival.0 >= 2_000_000 + 8 * SECTOR);
    // It replaced the older data, so nothing remains to be written.
    assert!(!host.0.destage_pending());
    let f = host.ask(w.completion.0 + 1, Flush, 0, 0);
    assert_eq!(f.completion, f.arrival);
}

/// Writes that together fill their sectors cost no extra turn. An edge that stays open costs one turn after
/// it has waited, and is counted.
#[test]
fn open_edges_are_read_first_and_counted() {
    let mut spec = deferred();
    spec.geometry.sector_size = Bytes(4096);
    spec.cache.destage_after = Span::ZERO;
    let mut host = Host::new(&spec);
    // Blocks 8003 to 8195 in eight pieces that begin and end inside sectors.
    for i in 0..8u64 {
        host.ask(i * 1000, Write, 8003 + i * 24, 24);
    }
    host.0.energy(Time(900_000_000));
    assert_eq!(host.0.counters().n_read_modify_writes, 0);
    assert!(host.0.destage_pending(), "two edges wait");
    host.0.energy(Time(1_100_000_000));
    assert!(!host.0.destage_pending());
    assert_eq!(host.0.counters().n_read_modify_writes, 2);
    // Written in part and then filled: nothing has to be read.
    host.ask(2_000_000_000, Write, 16_004, 4);
    host.ask(2_100_000_000, Write, 16_000, 4);
    host.0.energy(Time(5_000_000_000));
    assert!(!host.0.destage_pending());
    assert_eq!(host.0.counters().n_read_modify_writes, 2);
    // Written through: both edges at once, on one track.
    let at = 6_000_000_000;
    let w = host.ask(at, Command::WriteThrough, 8004, 8);
    assert_eq!(host.0.counters().n_read_modify_writes, 4);
    let mut aligned = Host::new(&spec);
    let a = aligned.ask(at, Command::WriteThrough, 8000, 16);
    let (w, a) = (w.completion.0 - at, a.completion.0 - at);
    assert_eq!(w, a + REV);
}

/// Extents of 16 sectors far apart, one per segment. The hits are those of a list of the four extents used
/// last, whether read or written.
#[test]
fn hits_are_those_of_a_list_in_order_of_use() {
    for written_too in [true, false] {
        let mut spec = spec();
        spec.cache.read_hits_on_written = written_too;
        let mut host = Host::new(&spec);
        let mut list: Vec<(u64, bool)> = Vec::new();
        let (mut noise, mut now, mut hits) = (Lcg(9), 0, 0);
        for i in 0..3000 {
            let state = noise.state();
            let lba = (state >> 40) % 7 * 1000;
            // If written data may not be read, a write empties its segment. So there are writes only at the
            // end.
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
            // Overwritten data are never served from older read data.
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

/// Two segments hold the data. Read-ahead continues in the one that was used last.
#[test]
fn of_two_segments_the_one_used_last_serves() {
    let mut spec = spec();
    spec.cache.read_ahead = headstack_drive::spec::ReadAhead::Limit;
    let mut host = Host::new(&spec);
    // Reads ahead to 1112; 64 sectors of that stay.
    host.ask(0, Read, 1040, 8);
    let c = host.ask(100_000_000, Read, 1000, 8).completion.0;
    // By now its own read-ahead, with its limit at 1072, has passed 1064.
    assert!(host.ask(c + 57 * SECTOR, Read, 1060, 4).cache_hit);
    // Two turns later it has continued to 64 sectors after that.
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
    let capacity = host.0.design.capacity_blocks();
    assert_eq!(capacity, 60_000);
    for (lba, blocks) in [(0, 0), (capacity, 1), (capacity - 1, 2), (u64::MAX, 1), (u64::MAX, u32::MAX)] {
        for command in [Read, Write] {
            let c = host.ask(5, command, lba, blocks);
            assert!(c.error && c.completion == c.arrival, "{lba} {blocks}: {c:?}");
        }
    }
    assert!(!host.ask(6, Read, capacity - 1, 1).error);
}

/// Read on arrival: a whole track takes a seek and a turn, wherever the head arrives.
#[test]
fn read_on_arrival_takes_a_track_in_one_turn() {
    let mut spec = spec();
    let mut longer = 0;
    for i in 0..50 {
        let lba = 1000 + 200 * i;
        spec.cache.read_on_arrival = true;
        let c = Host::new(&spec).ask(i * 777_777, Read, lba, 100);
        let took = c.completion.0 - c.arrival.0 - c.components.seek.non_negative();
        assert!((REV..=REV + SECTOR).contains(&took), "{i}: {c:?}");
        spec.cache.read_on_arrival = false;
        let c = Host::new(&spec).ask(i * 777_777, Read, lba, 100);
        longer += (c.completion.0 - c.arrival.0 - c.components.seek.non_negative() > REV + SECTOR) as u32;
    }
    assert!(longer > 40, "{longer}");
}
