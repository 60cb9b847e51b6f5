//! The requests to members that a request to a volume leads to.

use super::mock::{constants, finish, request, tree, Behaviour, Constant, Log, Mock};
use headstack_block::layer::{
    ErrorKind, HostQueueSetting, LayerCompletion, Request, Setting, Tree, VolumeSetting, PLUGINS,
};
use headstack_block::{Clock, Member};
use headstack_drive::spec::Params;
use headstack_drive::zoned::Sense;
use headstack_drive::Command::{self, Flush, Read, Write};
use headstack_units::Time;
use std::sync::atomic::{AtomicU64, Ordering};

const SERVICE: u64 = 1000;
/// Blocks of a 4 KiB row, and of a chunk of 64 KiB.
const ROW: u64 = 8;
const CHUNK: u64 = 128;

fn params(toml: &str) -> Params {
    toml::from_str(toml).expect("a table")
}

fn volume(name: &str, members: u32, toml: &str) -> (Tree, Log) {
    let (below, log) = constants(members, 100 * CHUNK, SERVICE);
    let params = params(toml);
    let all = &*PLUGINS;
    let entry = all.get(name).expect("a layer");
    (tree(entry, below, params).expect("a volume"), log)
}

/// Requests to the members since the last call: time since the first of them, member, command, first block,
/// blocks.
fn got(log: &Log) -> Vec<(u64, u32, Command, u64, u32)> {
    let mut log = log.lock().expect("the log");
    let start = log.first().map_or(0, |r| r.0 .0);
    let mut all: Vec<_> =
        log.drain(..).map(|(at, member, r)| (at.0 - start, member, r.command, r.lba, r.blocks)).collect();
    all.sort_by_key(|r| (r.0, r.1, r.3));
    all
}

fn one(volume: &mut Tree, command: Command, lba: u64, blocks: u64) -> LayerCompletion {
    assert_eq!(volume.next_event(), Time::NEVER, "nothing is under way");
    // The time of each test's next request is after all earlier ones.
    static CLOCK: AtomicU64 = AtomicU64::new(0);
    let now = Time(CLOCK.fetch_add(1 << 30, Ordering::Relaxed));
    volume.submit_to(now, request(1, command, lba, blocks as u32));
    let done = finish(volume);
    assert_eq!(done.len(), 1);
    done[0]
}

/// A count of the volume.
fn counted(volume: &Tree, name: &str) -> u64 {
    volume.results()[0].counts[name]
}

fn counts(log: &Log) -> (usize, usize) {
    let all = got(log);
    let reads = all.iter().filter(|r| r.2 == Read).count();
    (reads, all.len() - reads)
}

/// One cold write of one row: read-modify-write if it reads less (four requests), a reconstruct-write on 2+1
/// (three) and, for a tie as in md, on 3+1; always or never if so configured.
#[test]
fn small_writes_of_raid5_cost_what_the_cheaper_way_costs() {
    for (members, level, want) in
        [(3, 1, (1, 2)), (4, 1, (2, 2)), (5, 1, (2, 2)), (9, 1, (2, 2)), (9, 0, (7, 2)), (3, 2, (1, 2)), (4, 2, (2, 2))]
    {
        let text = format!("chunk = \"64 KiB\"\nrmw_level = {level}");
        let (mut v, log) = volume("raid5", members, &text);
        one(&mut v, Write, 5 * ROW, ROW);
        assert_eq!(counts(&log), want, "{members} members, rmw_level {level}");
        // In a tie the two ways read different units: the parity, or other data.
        let (mut v, log) = volume("raid5", 4, &text);
        one(&mut v, Write, 0, ROW);
        let readers: Vec<u32> = got(&log).iter().filter(|r| r.2 == Read).map(|r| r.1).collect();
        let want = if level == 2 { vec![0, 3] } else { vec![1, 2] };
        assert_eq!(readers, want, "left-symmetric: data on 0, 1, 2, parity on 3");
    }
}

#[test]
fn raid5_reads_before_it_writes_and_the_times_add_up() {
    let (mut v, log) = volume("raid5", 5, "chunk = \"64 KiB\"");
    let done = one(&mut v, Write, 3 * ROW, ROW);
    let want = [
        (0, 0, Read, 3 * ROW, 8),
        (0, 4, Read, 3 * ROW, 8),
        (SERVICE, 0, Write, 3 * ROW, 8),
        (SERVICE, 4, Write, 3 * ROW, 8),
    ];
    assert_eq!(got(&log), want);
    assert_eq!(done.completion.0 - done.arrival.0, 2 * SERVICE);
    assert_eq!(done.components.transfer.non_negative(), 2 * SERVICE);
}

/// A full stripe needs no reads. A row that is written whole except for one unit is reconstructed. A unit that
/// is written in part is read by both ways.
#[test]
fn raid5_writes_of_many_rows() {
    let text = "chunk = \"64 KiB\"";
    let (mut v, log) = volume("raid5", 5, text);
    one(&mut v, Write, 4 * CHUNK, 4 * CHUNK);
    assert_eq!(counts(&log), (0, 5));
    // Three of four data chunks: the fourth is read.
    one(&mut v, Write, 0, 3 * CHUNK);
    let all = got(&log);
    assert_eq!(all[0], (0, 3, Read, 0, CHUNK as u32));
    assert_eq!(all.len(), 1 + 4);
    // The rows are still known.
    one(&mut v, Write, 4, 2);
    assert_eq!(counts(&log), (0, 2));
    // Half a row of one unit: read-modify-write reads unit and parity, 2; reconstruct-write would read 4.
    one(&mut v, Write, 5 * 4 * CHUNK + 4, 2);
    let all = got(&log);
    let reads: Vec<_> = all.iter().filter(|r| r.2 == Read).map(|r| (r.1, r.3, r.4)).collect();
    assert_eq!(reads, [(0, 5 * CHUNK, 8), (4, 5 * CHUNK, 8)]);
    // In 2+1 both ways read the unit that is written in part: read-modify-write 2, reconstruct-write 2, a tie.
    let (mut v, log) = volume("raid5", 3, text);
    one(&mut v, Write, 4, 2);
    let reads: Vec<_> = got(&log).iter().filter(|r| r.2 == Read).map(|r| r.1).collect();
    assert_eq!(reads, [0, 1]);
}

/// Chunks 0 to 11 on four members: data member and parity member, from md's four layouts.
#[test]
fn raid5_layouts_are_mds() {
    type Rows = [([u32; 3], u32); 4];
    let la: Rows = [([0, 1, 2], 3), ([0, 1, 3], 2), ([0, 2, 3], 1), ([1, 2, 3], 0)];
    let ra: Rows = [([1, 2, 3], 0), ([0, 2, 3], 1), ([0, 1, 3], 2), ([0, 1, 2], 3)];
    let ls: Rows = [([0, 1, 2], 3), ([3, 0, 1], 2), ([2, 3, 0], 1), ([1, 2, 3], 0)];
    let rs: Rows = [([1, 2, 3], 0), ([2, 3, 0], 1), ([3, 0, 1], 2), ([0, 1, 2], 3)];
    for (layout, rows) in
        [("left-asymmetric", la), ("right-asymmetric", ra), ("left-symmetric", ls), ("right-symmetric", rs)]
    {
        let text = format!("chunk = \"64 KiB\"\nlayout = \"{layout}\"\nrmw_level = 2");
        let (mut v, log) = volume("raid5", 4, &text);
        for (stripe, (data, parity)) in rows.iter().enumerate() {
            for (i, member) in data.iter().enumerate() {
                let chunk = (3 * stripe + i) as u64;
                one(&mut v, Read, chunk * CHUNK + 3, 1);
                let want = (0, *member, Read, stripe as u64 * CHUNK + 3, 1);
                assert_eq!(got(&log), [want], "{layout}: chunk {chunk}");
                one(&mut v, Write, chunk * CHUNK, ROW);
                let mut writers: Vec<u32> = got(&log).iter().filter(|r| r.2 == Write).map(|r| r.1).collect();
                writers.retain(|m| m != member);
                assert_eq!(writers, [*parity], "{layout}: chunk {chunk}");
            }
        }
    }
}

/// With a missing member: its data is read from all others, reads of others stay single, and writes read what
/// is needed for the parity.
#[test]
fn degraded_raid5() {
    let (mut v, log) = volume("raid5", 5, "chunk = \"64 KiB\"\ngone = [1]");
    // Left-symmetric: stripe 0 has data on 0, 1, 2, 3 and parity on 4.
    let reads = |v: &mut Tree, lba| {
        one(v, Read, lba, 3);
        got(&log).iter().map(|r| (r.1, r.3, r.4)).collect::<Vec<_>>()
    };
    assert_eq!(reads(&mut v, 2), [(0, 2, 3)]);
    // Whole rows of the others are read: blocks 8 to 16.
    let want = [(0, 8, 8), (2, 8, 8), (3, 8, 8), (4, 8, 8)];
    assert_eq!(reads(&mut v, CHUNK + 9), want);
    let both = |v: &mut Tree, lba, blocks| {
        one(v, Write, lba, blocks);
        let all = got(&log);
        let of = |c| -> Vec<u32> { all.iter().filter(|r| r.2 == c).map(|r| r.1).collect() };
        (of(Read), of(Write))
    };
    // All of these in rows that are not known yet.
    // A whole unit of the missing member: the other data is read, and only the parity is written.
    assert_eq!(both(&mut v, CHUNK, ROW), (vec![0, 2, 3], vec![4]));
    // A part of its unit: all others are read.
    assert_eq!(both(&mut v, CHUNK + 2 * ROW, 3), (vec![0, 2, 3, 4], vec![4]));
    // Another member: only read-modify-write is possible.
    assert_eq!(both(&mut v, 4 * ROW, ROW), (vec![0, 4], vec![0, 4]));
    // Three of four units, without the missing member's: read-modify-write, although it reads more.
    let (reads, writes) = both(&mut v, 22 * CHUNK, 2 * CHUNK);
    assert_eq!((reads, writes), (vec![2, 3, 4], vec![2, 3, 4]));
    // Stripe 3 has its parity on the missing member, its data on 2, 3, 4, 0. As in md, the three other units are read
    // although no parity is written; a unit that is written in part is read too, a row written whole needs no reads.
    let lba = 3 * 4 * CHUNK;
    assert_eq!(both(&mut v, lba, ROW), (vec![0, 3, 4], vec![2]));
    assert_eq!(both(&mut v, lba + 2 * ROW, 3), (vec![0, 2, 3, 4], vec![2]));
    let lba = 8 * 4 * CHUNK;
    assert_eq!(both(&mut v, lba, 4 * CHUNK), (vec![], vec![0, 2, 3, 4]));
    // A known row: the missing unit is computed from what is known of the others.
    assert_eq!(both(&mut v, CHUNK + 2 * ROW, 3), (vec![], vec![4]));
}

/// Single units of a RAID-5 of five without one member. Linux 6.12 needs 2.40 reads and 1.60 writes of members each:
/// with the parity missing (one unit in five) 3 + 1, with the unit itself missing 3 + 1, else 2 + 2.
#[test]
fn degraded_raid5_costs_what_md_measures() {
    let (mut v, log) = volume("raid5", 5, "chunk = \"64 KiB\"\ngone = [2]");
    let (mut reads, mut writes) = (0, 0);
    // Five stripes: each member holds the parity once, and each chunk is written once.
    for chunk in 0..20 {
        // In a row that is not known yet.
        one(&mut v, Write, chunk * CHUNK + chunk % 4 * ROW, ROW);
        let (r, w) = counts(&log);
        (reads, writes) = (reads + r, writes + w);
    }
    assert_eq!((reads, writes), (240 / 5, 160 / 5));
}

/// A read over several chunks of a RAID-5 without member 0: md reads each row of each member once. The second stripe has its
/// parity on member 3 and its first chunk on member 4, so that the lost chunk comes second.
#[test]
fn degraded_reads_over_several_chunks_read_each_row_once() {
    let (mut v, log) = volume("raid5", 5, "chunk = \"64 KiB\"\ngone = [0]");
    let mut reads = |lba, blocks| {
        one(&mut v, Read, lba, blocks);
        let all = got(&log).into_iter();
        all.map(|r| (r.1, r.3, r.4)).collect::<Vec<_>>()
    };
    let rest = [(2, 8, 120), (3, 8, 120), (4, 8, 120)];
    assert_eq!(reads(8, 248), [&[(1, 0, 128)][..], &rest].concat());
    let stripe = 4 * CHUNK;
    assert_eq!(reads(stripe + 100, 156), [1, 2, 3, 4].map(|m| (m, CHUNK, 128)));
    let end = (4, CHUNK + 120, 8);
    let begin = [1, 2, 3, 4].map(|m| (m, CHUNK, 8));
    assert_eq!(reads(stripe + 120, 16), [&begin[..], &[end]].concat());
}

#[test]
fn what_cannot_be_read_any_more_says_so() {
    let (mut v, _) = volume("raid5", 4, "chunk = \"64 KiB\"\ngone = [0]");
    v.set(Time::ZERO, &[0], &Setting::Volume(VolumeSetting::MemberGone(2))).expect("a member");
    assert_eq!(one(&mut v, Read, 0, 1).error, Some(ErrorKind::MemberLost));
    assert_eq!(one(&mut v, Read, CHUNK, 1).error, None, "on member 1");
    assert_eq!(one(&mut v, Write, CHUNK, ROW).error, Some(ErrorKind::MemberLost));
    let (mut v, _) = volume("raid1", 2, "gone = [0]");
    assert_eq!(one(&mut v, Read, 0, 1).error, None);
    v.set(Time::ZERO, &[0], &Setting::Volume(VolumeSetting::MemberGone(1))).expect("a member");
    assert_eq!(one(&mut v, Read, 0, 1).error, Some(ErrorKind::MemberLost));
    assert_eq!(one(&mut v, Write, 0, 1).error, Some(ErrorKind::MemberLost));
    assert_eq!(one(&mut v, Flush, 0, 0).error, Some(ErrorKind::MemberLost));
}

/// 352 writes of 64 KiB in order from 1 GiB on, one after another: reads and writes of each member as Linux 6.12 counts them
/// (docs/models/md.md). What was read or written for the write before is in the stripe cache.
#[test]
fn raid5_writes_in_order_cost_what_md_measures() {
    for (members, kib, md) in [
        (5, 64, "70+139 70+142 71+142 71+142 70+139"),
        (5, 512, "64+136 72+136 72+160 72+136 72+136"),
        (12, 64, "29+51 28+51 29+56 29+62 30+63 30+63 30+63 30+63 30+62 30+62 30+57 29+51"),
        (12, 512, "24+32 32+48 32+120 40+120 32+112 32+96 24+24 24+24 32+32 32+32 32+32 32+32"),
    ] {
        let (below, log) = constants(members, 1 << 24, SERVICE);
        let params = params(&format!("chunk = \"{kib} KiB\""));
        let all = &*PLUGINS;
        let mut v = tree(all.get("raid5").expect("a layer"), below, params).expect("a volume");
        for i in 0..352 {
            one(&mut v, Write, (1 << 21) + i * CHUNK, CHUNK);
        }
        let all = got(&log);
        let of = |m, c| all.iter().filter(|r| r.1 == m && r.2 == c).count();
        let ours = (0..members).map(|m| format!("{}+{}", of(m, Read), of(m, Write)));
        let ours: Vec<String> = ours.collect();
        assert_eq!(ours.join(" "), md, "chunks of {kib} KiB");
    }
}

/// Four writes of 64 KiB that fill a stripe, each submitted before the first reads end (1,000 ns). By md's rules: the first
/// reads its data and the parity; the second its data; for the third and the fourth only the last chunk is missing.
/// Then all five members are written at once. A write that finds a row being written reads meanwhile.
#[test]
fn writes_join_those_that_wait_in_their_rows() {
    let (mut v, log) = volume("raid5", 5, "chunk = \"64 KiB\"");
    for i in 0..4 {
        v.advance(Time(i * 100), &mut |_| {});
        v.submit_to(Time(i * 100), request(i, Write, i * CHUNK, CHUNK as u32));
    }
    let done = finish(&mut v);
    let blocks = CHUNK as u32;
    let reads = [(0, 0), (0, 4), (100, 1), (200, 3)].map(|(at, m)| (at, m, Read, 0, blocks));
    let writes = [0, 1, 2, 3, 4].map(|m| (SERVICE + 200, m, Write, 0, blocks));
    assert_eq!(got(&log), [&reads[..], &writes[..]].concat());
    assert!(done.iter().all(|c| c.completion == Time(2 * SERVICE + 200)));
    // All wait for the last read, of the third (200 to 1,200 ns), and for the writes.
    let waited: Vec<u64> = done.iter().map(|c| c.components.queue.non_negative()).collect();
    assert_eq!(waited, [200, 100, 0, 900]);
    assert!(done.iter().all(|c| c.waits.array == c.components.queue));
}

#[test]
fn requests_outside_a_volume_end_at_once() {
    let (mut v, log) = volume("raid1", 2, "");
    let size = v.logical_units()[0];
    assert_eq!(size, 100 * CHUNK);
    for (lba, blocks) in [(size, 1), (size - 1, 2), (u64::MAX, 1), (0, 0)] {
        for command in [Read, Write] {
            let done = one(&mut v, command, lba, blocks);
            assert_eq!(done.error, Some(ErrorKind::OutOfRange));
        }
    }
    assert!(got(&log).is_empty());
}

/// Mirrors write to all members and read from one, chosen by the policy.
#[test]
fn raid1_reads_by_its_policy() {
    let (mut v, log) = volume("raid1", 3, "read_policy = \"round-robin\"");
    one(&mut v, Write, 7, 5);
    let want = [0, 1, 2].map(|m| (0, m, Write, 7, 5));
    assert_eq!(got(&log), want);
    for member in [0, 1, 2, 0] {
        one(&mut v, Read, 0, 1);
        assert_eq!(got(&log)[0].1, member);
    }
}

/// md: the copy that continues the member's last read; else the first idle one; else the nearest, where the head of a
/// member is behind its last completed request. By hand: at 1,500 ns each member has completed its first read, so the
/// heads are at 1008, 5008 and 9008. Behind the last submitted ones they would be at 5116, 8908 and 108.
#[test]
fn raid1_reads_from_the_head_of_the_last_completed_request() {
    let (mut v, log) = volume("raid1", 3, "");
    let reads = [
        (0, 1000, 0, "idle"),
        (0, 5000, 1, "idle"),
        (0, 9000, 2, "idle"),
        (0, 1008, 0, "continues"),
        (0, 5100, 0, "nothing has ended: all heads at 0"),
        (0, 5108, 0, "continues"),
        (1500, 8900, 1, "idle"),
        (1500, 100, 2, "idle"),
        (1500, 5010, 1, "nearest"),
        (1500, 9100, 2, "nearest"),
        (1500, 1010, 0, "nearest"),
    ];
    for (id, (at, lba, ..)) in (0..).zip(&reads) {
        v.advance(Time(*at), &mut |_| {});
        v.submit_to(Time(*at), request(id, Read, *lba, 8));
    }
    finish(&mut v);
    let log = log.lock().expect("the log");
    for ((at, lba, member, why), got) in reads.iter().zip(log.iter()) {
        assert_eq!((got.0 .0, got.2.lba, got.1), (*at, *lba, *member), "{why}");
    }
}

/// A member leaves while requests are in flight: those not begun are read elsewhere, announced ones end as
/// announced.
#[test]
fn a_member_that_leaves_is_replaced_by_the_others_at_once() {
    let (mut v, log) = volume("raid1", 2, "read_policy = \"first\"");
    for id in 0..3 {
        v.submit_to(Time::ZERO, request(id, Read, id * 8, 8));
    }
    let mut done = Vec::new();
    v.advance(Time(500), &mut |d| done.push(*d));
    assert!(done.is_empty());
    v.set(Time(500), &[0], &Setting::Volume(VolumeSetting::MemberGone(0))).expect("a member");
    done = finish(&mut v);
    let mut ends: Vec<_> = done.iter().map(|d| (d.id, d.completion.0, d.drive)).collect();
    ends.sort();
    assert_eq!(ends, [(0, 1000, 0), (1, 1500, 1), (2, 2500, 1)]);
    for d in &done {
        let c = d.components;
        assert_eq!(c.queue + c.transfer, d.completion.span_from(d.arrival));
    }
    let seconds: Vec<u64> = got(&log).iter().filter(|r| r.1 == 1).map(|r| r.0).collect();
    assert_eq!(seconds, [500, 500]);
    assert_eq!((counted(&v, "members_lost"), counted(&v, "retried")), (1, 2));
}

/// A volume that is advanced to given times, the log of its members, and its completions.
struct Watched {
    volume: Tree,
    log: Log,
    done: Vec<LayerCompletion>,
}

impl Watched {
    fn new(name: &str, members: u32, toml: &str) -> Watched {
        let (volume, log) = volume(name, members, toml);
        let done = Vec::new();
        Watched { volume, log, done }
    }

    fn submit(&mut self, at: u64, id: u64, command: Command, lba: u64, blocks: u32) {
        self.go_to(at);
        self.volume.submit_to(Time(at), request(id, command, lba, blocks));
    }

    fn set(&mut self, at: u64, setting: Setting) -> Result<(), String> {
        self.go_to(at);
        let result = self.volume.set(Time(at), &[0], &setting);
        result.map_err(|e| e.to_string())
    }

    fn go_to(&mut self, at: u64) {
        let done = &mut self.done;
        self.volume.advance(Time(at), &mut |d| done.push(*d));
    }

    /// Members and commands of the requests since the last call.
    fn got(&mut self, until: u64) -> Vec<(u32, Command)> {
        self.go_to(until);
        let mut log = self.log.lock().expect("the log");
        log.drain(..).map(|(_, member, r)| (member, r.command)).collect()
    }
}

/// A member that is to come back while it still has a request stays away until that has ended. Blocks written
/// meanwhile are stale on it.
#[test]
fn a_member_comes_back_when_what_it_had_has_ended() {
    let mut v = Watched::new("raid1", 2, "read_policy = \"first\"");
    // It began at 0 and ends at 1000 in any case.
    v.submit(0, 1, Read, 0, 1);
    assert_eq!(v.got(1), [(0, Read)]);
    assert_eq!(v.set(500, Setting::Volume(VolumeSetting::MemberGone(0))), Ok(()));
    assert_eq!(v.set(600, Setting::Volume(VolumeSetting::MemberBack(0))), Ok(()));
    // It is already waiting to come back.
    for setting in [Setting::Volume(VolumeSetting::MemberBack(0)), Setting::Volume(VolumeSetting::MemberReplaced(0))] {
        let error = v.set(650, setting).unwrap_err();
        assert!(error.contains("need a member that is gone"), "{error}");
    }
    v.submit(700, 2, Read, 0, 1);
    v.submit(800, 3, Write, 64, 8);
    assert_eq!(v.got(900), [(1, Read), (1, Write)]);
    // At 1000 it is present again, without the write.
    v.submit(1001, 4, Read, 0, 1);
    v.submit(1001, 5, Read, 64, 8);
    v.submit(1001, 6, Read, 60, 12);
    // A copy without stale blocks is preferred to one with some.
    assert_eq!(v.got(1002), [(0, Read), (1, Read), (1, Read)]);
    v.submit(9000, 7, Write, 64, 8);
    v.submit(20_000, 8, Read, 64, 8);
    assert_eq!(v.got(20_001), [(0, Write), (1, Write), (0, Read)]);
    v.go_to(30_000);
    let mut ends: Vec<(u64, u64)> = v.done.iter().map(|d| (d.id, d.completion.0)).collect();
    ends.sort_unstable();
    assert_eq!(ends[0], (1, 1000));
    assert_eq!(ends.len(), 8);
    assert!(v.done.iter().all(|d| d.error.is_none()));
}

/// A member that leaves again before it is back stays away. If it was to be a new one, all its blocks are stale
/// when it comes back.
#[test]
fn a_member_turns_back_before_it_is_there() {
    for (replaced, want) in [(false, 0), (true, 1)] {
        let mut v = Watched::new("raid1", 2, "read_policy = \"first\"");
        v.submit(0, 1, Read, 0, 1);
        assert_eq!(v.set(500, Setting::Volume(VolumeSetting::MemberGone(0))), Ok(()));
        let returns = match replaced {
            true => Setting::Volume(VolumeSetting::MemberReplaced(0)),
            false => Setting::Volume(VolumeSetting::MemberBack(0)),
        };
        assert_eq!(v.set(600, returns), Ok(()));
        assert_eq!(v.set(700, Setting::Volume(VolumeSetting::MemberGone(0))), Ok(()));
        v.got(701);
        v.submit(2000, 2, Read, 0, 1);
        assert_eq!(v.got(2001), [(1, Read)], "it stays away");
        assert_eq!(counted(&v.volume, "members_lost"), 1);
        assert_eq!(v.set(4000, Setting::Volume(VolumeSetting::MemberBack(0))), Ok(()));
        v.submit(4000, 3, Read, 0, 1);
        assert_eq!(v.got(4001), [(want, Read)], "replaced: {replaced}");
    }
}

/// Requests that a member has not begun when it leaves are read elsewhere at once. A write that it has not
/// begun is stale on it, also when it comes back before the write would have ended.
#[test]
fn what_waits_at_a_member_that_leaves_is_not_on_it() {
    let mut v = Watched::new("raid1", 2, "read_policy = \"first\"");
    v.submit(0, 1, Read, 0, 1);
    v.submit(1, 2, Write, 64, 8);
    v.submit(2, 3, Read, 8, 1);
    assert_eq!(v.got(10), [(0, Read), (0, Write), (1, Write), (0, Read)]);
    assert_eq!(v.set(100, Setting::Volume(VolumeSetting::MemberGone(0))), Ok(()));
    assert_eq!(v.got(101), [(1, Read)]);
    assert_eq!(v.set(200, Setting::Volume(VolumeSetting::MemberBack(0))), Ok(()));
    v.submit(5000, 4, Read, 8, 1);
    v.submit(5000, 5, Read, 64, 8);
    assert_eq!(v.got(5001), [(0, Read), (1, Read)]);
    v.go_to(20_000);
    let end = |id: u64| v.done.iter().find(|d| d.id == id).map(|d| d.completion.0);
    // The first request is served by its member; the write and the read after it by the other member.
    assert_eq!([end(1), end(2), end(3)], [Some(1000), Some(1001), Some(2001)]);
}

/// A member that serves all but writes, which it refuses as a zoned drive does; it refuses to read the first chunk.
struct Zoned(Constant);

impl Behaviour for Zoned {
    fn arrives(&mut self, now: Time, request: &Request) {
        self.0.arrives(now, request);
    }
    fn serve(&mut self, start: Time, request: &Request) -> (Time, Option<ErrorKind>) {
        let refuses = request.command == Write || request.lba < CHUNK;
        let error = refuses.then_some(ErrorKind::Zone(Sense::UnalignedWriteCommand));
        (self.0.serve(start, request).0, error)
    }
}

fn of_zoned(name: &str, zoned: &[u32], members: u32) -> (Tree, Log) {
    let log = Log::default();
    let below = (0..members).map(|index| {
        let log = log.clone();
        let constant = Constant { index, service: SERVICE, log };
        let blocks = 100 * CHUNK;
        match zoned.contains(&index) {
            true => Mock::new(blocks, 1, index, Zoned(constant)).branch(),
            false => Mock::new(blocks, 1, index, constant).branch(),
        }
    });
    let params = params("rebuild_rate = \"1 GB/s\"");
    let all = &*PLUGINS;
    let entry = all.get(name).expect("a layer");
    let volume = tree(entry, below.collect(), params);
    (volume.expect("a volume"), log)
}

/// A new member that refuses to be written is gone with the first run of its rebuild: nothing is rebuilt. Mirrors begin with
/// three runs, RAID-5 with two; the second is read when the first write ends, and is written or not.
#[test]
fn a_member_that_refuses_its_rebuild_is_gone() {
    for (name, members, reads) in [("raid1", 2, 3), ("raid5", 4, 6), ("raid10", 4, 3)] {
        let (mut v, log) = of_zoned(name, &[1], members);
        for setting in
            [Setting::Volume(VolumeSetting::MemberGone(1)), Setting::Volume(VolumeSetting::MemberReplaced(1))]
        {
            v.set(Time::ZERO, &[0], &setting).expect("a member");
        }
        assert!(finish(&mut v).is_empty());
        let (read, written) = counts(&log);
        assert_eq!(read, reads, "{name}");
        assert!((1..=2).contains(&written), "{name}: {written}");
        assert_eq!(counted(&v, "members_lost"), 2, "{name}");
        assert_eq!(counted(&v, "rebuilt_bytes"), 0, "{name}");
        let stale = counted(&v, "stale_bytes");
        assert_eq!(stale, 100 * CHUNK * 512, "{name}");
        // Only a member that is gone can be replaced.
        v.set(Time(1 << 40), &[0], &Setting::Volume(VolumeSetting::MemberReplaced(1))).expect("a member");
    }
}

/// A source that refuses to be read supplies nothing there: the first chunk stays stale, the rest is rebuilt. The run of 15
/// windows that is refused is asked for again window by window.
#[test]
fn what_a_source_refuses_stays_stale() {
    let (mut v, log) = of_zoned("raid1", &[0], 2);
    for setting in [Setting::Volume(VolumeSetting::MemberGone(1)), Setting::Volume(VolumeSetting::MemberReplaced(1))] {
        v.set(Time::ZERO, &[0], &setting).expect("a member");
    }
    assert!(finish(&mut v).is_empty());
    let first: Vec<u64> = got(&log)
        .iter()
        .filter(|r| r.2 == Read && r.3 < 15 * CHUNK && u64::from(r.4) == CHUNK)
        .map(|r| r.3 / CHUNK)
        .collect();
    assert_eq!(first, (0..15).collect::<Vec<_>>());
    assert_eq!(counted(&v, "rebuilt_bytes"), 99 * CHUNK * 512);
    assert_eq!(counted(&v, "stale_bytes"), 2 * CHUNK * 512, "of both members");
}

/// The source of a rebuild is lost under way: what was rebuilt can be read, the rest of 20 TB is passed over, and the
/// rebuild goes on when the source is back. The mock serves a window in two times a microsecond; RAID-5 rebuilds 16 windows in
/// three ticks of 4 ms.
#[test]
fn a_rebuild_ends_where_its_source_is_lost() {
    let blocks = 20_000_000_000_000 / 512;
    for (name, members, text, sources) in [
        ("raid1", 2, "", &[0][..]),
        ("raid5", 3, "chunk = \"64 KiB\"", &[0]),
        ("raid10", 4, "near = 3\nchunk = \"64 KiB\"", &[0, 2, 3]),
        ("raid10", 4, "near = 2\nchunk = \"64 KiB\"", &[0]),
    ] {
        let (below, log) = constants(members, blocks, SERVICE);
        let params = params(&format!("rebuild_rate = \"10 GB/s\"\n{text}"));
        let all = &*PLUGINS;
        let entry = all.get(name).expect("a layer");
        let mut v = tree(entry, below, params).expect("a volume");
        for setting in
            [Setting::Volume(VolumeSetting::MemberGone(1)), Setting::Volume(VolumeSetting::MemberReplaced(1))]
        {
            v.set(Time::ZERO, &[0], &setting).expect("a member");
        }
        let lost = Time(if name == "raid5" { 100_000_000 } else { 1_000_000 });
        v.advance(lost, &mut |_| {});
        for source in sources {
            v.set(lost, &[0], &Setting::Volume(VolumeSetting::MemberGone(*source))).expect("a member");
        }
        for (i, lba) in [0, blocks / 2].into_iter().cycle().take(100).enumerate() {
            v.submit_to(Time(lost.0 + 1), request(i as u64, Read, lba, 8));
        }
        let done = finish(&mut v);
        assert_eq!(done.len(), 100, "{name}");
        let rebuilt = counted(&v, "rebuilt_bytes");
        assert!(rebuilt > 100 * 65536, "{name} {text}: {rebuilt}");
        if (name, text) != ("raid10", "near = 2\nchunk = \"64 KiB\"") {
            let failed = done.iter().filter(|d| d.error == Some(ErrorKind::MemberLost));
            assert_eq!(failed.count(), 50, "{name}: what was not rebuilt");
        }
        // Nothing more is rebuilt; with the source it goes on at once.
        got(&log);
        v.advance(Time(lost.0 + 1_000_000_000), &mut |_| {});
        assert_eq!(counted(&v, "rebuilt_bytes"), rebuilt);
        let back = Time(lost.0 + 2_000_000_000);
        v.set(back, &[0], &Setting::Volume(VolumeSetting::MemberBack(sources[0]))).expect("a member");
        v.advance(Time(back.0 + lost.0), &mut |_| {});
        let more = counted(&v, "rebuilt_bytes");
        assert!(more > rebuilt + 100 * 65536, "{name} {text}: {more}");
    }
}

/// Two reads of one chunk at once: a far layout takes the lower address for both, although its member is busy;
/// near and offset layouts take the idle member for the second.
#[test]
fn raid10_layouts_choose_their_own_policy_of_reads() {
    for (text, want) in
        [("near = 1\nfar = 2", [0, 0]), ("near = 1\nfar = 2\noffset = true", [0, 1]), ("near = 2", [0, 1])]
    {
        let (mut v, log) = volume("raid10", 2, text);
        for id in 0..2 {
            v.submit_to(Time::ZERO, request(id, Read, 0, ROW as u32));
        }
        finish(&mut v);
        let members: Vec<u32> = got(&log).iter().map(|r| r.1).collect();
        assert_eq!(members, want, "{text}");
    }
}

/// One chunk that is as large as each of three members: one stripe of two data chunks.
#[test]
fn a_chunk_of_raid5_may_fill_a_member() {
    let (v, _) = volume("raid5", 3, &format!("chunk = \"{} B\"", 100 * CHUNK * 512));
    assert_eq!(v.logical_units(), [2 * 100 * CHUNK]);
}

#[test]
fn volumes_refuse_what_does_not_fit() {
    for (name, members, text, want) in [
        ("raid5", 2, "", "below: got 2, need at least 3 members"),
        ("raid1", 1, "", "below: got 1, need at least 2 members"),
        ("raid5", 3, "chunk = \"6 KiB\"", "chunk: got 6144 B, need a positive multiple of 4096 B"),
        ("raid5", 3, "chunk = \"1 GiB\"", "chunk: got 1073741824 B, need at most the smallest"),
        ("raid5", 3, "rmw_level = 3", "rmw_level: got 3, need 0 to 2"),
        ("raid5", 3, "gone = [3]", "gone: got 3, need one of the 3 members"),
        ("raid5", 3, "gone = [1, 1]", "gone: got 1, need a member that is there"),
        ("raid5", 3, "rebuild_rate = \"0 MB/s\"", "rebuild_rate: got"),
        ("raid10", 3, "near = 2\nfar = 2", "near: got 2 near times 2 far copies on 3 members"),
        ("raid10", 4, "near = 1", "near: got 1 near times 1 far copies"),
        ("raid1", 2, "read_policy = \"nearst\"", "did you mean \"nearest\"?"),
        ("raid0", 2, "stripe_unit = \"100 B\"", "stripe_unit: got 100 B"),
        ("raid5", 3, "chnk = 1", "got key \"chnk\""),
    ] {
        let (below, _) = constants(members, 100 * CHUNK, SERVICE);
        let built = tree(PLUGINS.get(name).expect("a layer"), below, params(text));
        let error = built.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(want), "{name} {text}: {error:?}");
    }
    let (mut v, _) = volume("raid0", 2, "");
    let error = v.set(Time::ZERO, &[0], &Setting::Volume(VolumeSetting::MemberGone(0))).unwrap_err().to_string();
    assert!(error.contains("a volume with redundancy"), "{error}");
    let error = v.set(Time::ZERO, &[0, 5], &Setting::Volume(VolumeSetting::MemberGone(0))).unwrap_err().to_string();
    assert!(error.contains("got 5, need one of the 2 layers below"), "{error}");
    let error = v.set(Time::ZERO, &[0], &Setting::HostQueue(HostQueueSetting::Requests(8))).unwrap_err().to_string();
    assert!(error.contains("the volume raid0 supports"), "{error}");
}
