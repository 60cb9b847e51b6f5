//! RAID-10: requests and the windows of a rebuild take turns, with times worked out by hand.

use super::mock::{constants, finish, request, tree, Log};
use headstack_block::layer::{Setting, Tree, VolumeSetting, PLUGINS};
use headstack_block::Clock;
use headstack_drive::Command::{self, Flush, Read, Write};
use headstack_units::{Bandwidth, Time};

/// Every request to a member takes 1 us.
const SERVICE: u64 = 1000;
const CHUNK: u64 = 128;

/// Four members, of which member 1 is new: its first chunk is a copy of member 0's, the next chunk is on 2 and 3.
fn rebuilding(name: &str) -> (Tree, Log) {
    let (below, log) = constants(4, 100 * CHUNK, SERVICE);
    let all = &*PLUGINS;
    let entry = all.get(name).expect("a layer");
    let mut params = serde_json::json!({ "gone": [1] });
    if name == "raid10" {
        params["chunk"] = "64 KiB".into();
    }
    let params = serde_json::from_value(params).expect("parameters");
    let mut volume = tree(entry, below, params).expect("a volume");
    volume.set(Time::ZERO, &[0], &Setting::Volume(VolumeSetting::MemberReplaced(1))).expect("a member");
    (volume, log)
}

struct Run {
    volume: Tree,
    ends: Vec<(u64, u64)>,
}

impl Run {
    fn until(&mut self, at: u64) {
        let ends = &mut self.ends;
        self.volume.advance(Time(at), &mut |done| {
            ends.push((done.id, done.completion.0));
        });
    }
    fn ask(&mut self, at: u64, id: u64, command: Command, chunk: u64) {
        self.until(at);
        let blocks = if command == Flush { 0 } else { 8 };
        let asked = request(id, command, chunk * CHUNK, blocks);
        self.volume.submit_to(Time(at), asked);
    }
    fn rate(&mut self, at: u64, rate: Bandwidth) {
        self.until(at);
        self.volume.set(Time(at), &[0], &Setting::Volume(VolumeSetting::RebuildRate(rate))).expect("a rate");
    }
}

/// The rebuild is to be as fast as it can.
const FAST: Bandwidth = Bandwidth(1e15);

/// Two reads of member 0 are under way when the rebuild is asked for: the first window begins when they are done, at
/// 2 us, and takes 2 us. A read at 0.5 us waits for it, though its members are idle. The second window waits for that
/// read, at 5 us; a read at 4.5 us waits behind the window. At 7.1 us the rebuild is stopped while its third window waits:
/// what waits behind it begins when the read under way is done, without the window.
#[test]
fn requests_and_windows_of_raid10_take_turns() {
    let (volume, log) = rebuilding("raid10");
    let ends = Vec::new();
    let mut run = Run { volume, ends };
    run.ask(0, 1, Read, 0);
    run.ask(0, 2, Read, 0);
    run.rate(1, FAST);
    run.ask(500, 3, Read, 1);
    run.ask(4500, 4, Read, 1);
    run.rate(7100, Bandwidth(0.0));
    run.ask(7200, 5, Read, 1);
    run.ends.extend(finish(&mut run.volume).iter().map(|d| (d.id, d.completion.0)));
    let want = [(1, 1000), (2, 2000), (3, 5000), (4, 8000), (5, 9000)];
    assert_eq!(run.ends, want);
    let log = log.lock().expect("the log");
    let windows = log.iter().filter(|r| u64::from(r.2.blocks) == CHUNK);
    let windows = windows.map(|r| (r.0 .0, r.1, r.2.command, r.2.lba));
    let want = [(2000, 0, Read, 0), (3000, 1, Write, 0), (5000, 0, Read, CHUNK), (6000, 1, Write, CHUNK)];
    assert_eq!(windows.collect::<Vec<_>>(), want);
}

/// Requests that waited for a window do not reach a drive at once: each has a process of its own, which goes on after the
/// one before. So an idle drive begins the first, and does not choose among all.
#[test]
fn requests_that_waited_go_on_one_after_another() {
    let (volume, log) = rebuilding("raid10");
    let ends = Vec::new();
    let mut run = Run { volume, ends };
    run.rate(0, FAST);
    for id in 1..=3 {
        run.ask(500, id, Read, 40 + 2 * id);
    }
    run.until(4500);
    let log = log.lock().expect("the log");
    let own = log.iter().filter(|r| u64::from(r.2.blocks) < CHUNK);
    let arrived: Vec<_> = own.map(|r| r.0 .0).collect();
    assert_eq!(arrived, [4000, 4001, 4002]);
}

/// A flush does not wait for the windows under way; in RAID-1 a read elsewhere does not either. While nobody waits, RAID-10
/// begins with 15, 15 and 1 windows: they are read by 1, 2 and 3 us, and the last is written by 4 us. Nothing follows them,
/// because the read waits.
#[test]
fn flushes_pass_the_barrier_and_raid1_has_none_for_the_array() {
    for (name, command, want) in
        [("raid10", Flush, 500), ("raid10", Read, 4000), ("raid1", Flush, 500), ("raid1", Read, 500)]
    {
        let (volume, log) = rebuilding(name);
        let ends = Vec::new();
        let mut run = Run { volume, ends };
        run.rate(0, FAST);
        run.ask(500, 1, command, 41);
        run.until(4500);
        let log = log.lock().expect("the log");
        let own = log.iter().find(|r| u64::from(r.2.blocks) < CHUNK);
        let arrived = own.expect("a request").0 .0;
        assert_eq!(arrived, want, "{name} {command:?}");
    }
}
