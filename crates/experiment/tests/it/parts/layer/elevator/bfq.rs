//! Turns of processes, worked out by hand from the kernel's rules.

mod habits;
mod injection;
mod order;
mod raising;
mod rate;

use headstack_block::layer::elevator::{Elevator, Queued, PLUGINS};
use headstack_units::Time;

const MS: u64 = 1_000_000;

fn bfq(toml: &str) -> Box<dyn Elevator> {
    let params = toml::from_str(toml).expect("a table");
    PLUGINS.get("bfq").expect("an elevator").build(&params, 1 << 30).expect("parameters that fit")
}

fn read(slot: u32, submitter: u32, lba: u64) -> Queued {
    Queued { slot, write: false, lba, blocks: 8, sync: true, submitter, ..Queued::default() }
}

fn at(ms: u64) -> Time {
    Time(ms * MS)
}

/// Two processes, each with a request: the first is served, and while its request is at the drive and 8 ms after, nobody
/// else. If it asks again in time it goes on, else the second one has its turn.
#[test]
fn the_drive_is_kept_idle_for_the_process_that_has_its_turn() {
    for asks_again in [true, false] {
        let mut e = bfq("low_latency = false");
        e.add(at(0), &read(0, 1, 1000));
        e.add(at(0), &read(1, 2, 900_000));
        assert_eq!(e.take(at(0)), Some(0));
        assert_eq!((e.take(at(0)), e.resumes_at()), (None, Time::NEVER));
        e.ended(at(10), 0);
        assert_eq!((e.take(at(10)), e.resumes_at()), (None, at(18)));
        if asks_again {
            e.add(at(17), &read(0, 1, 1_000_000));
            assert_eq!(e.take(at(17)), Some(0));
        } else {
            assert_eq!(e.take(Time(18 * MS - 1)), None);
            assert_eq!(e.take(at(18)), Some(1));
        }
    }
}

/// Without idle time each process has one request in turn, all of them at the drive.
#[test]
fn without_idle_time_all_are_served() {
    let mut e = bfq("low_latency = false\nslice_idle = \"0 s\"");
    for slot in 0..4 {
        e.add(at(0), &read(slot, slot, 1_000_000 * u64::from(slot)));
    }
    let taken = [0; 4].map(|_| e.take(at(0)));
    assert_eq!(taken, [Some(0), Some(1), Some(2), Some(3)]);
}

/// A process that always asks again 1 ms after its request, of 10 ms: a turn ends with the first request that comes 125 ms
/// after it began, which is the thirteenth and waits for the next turn: 12 x 11 ms = 132.
#[test]
fn a_turn_lasts_125_ms() {
    let mut e = bfq("low_latency = false");
    let mut now = 0;
    let mut turns = Vec::new();
    e.add(at(0), &read(0, 0, 0));
    e.add(at(0), &read(1, 1, 500_000_000));
    let mut last = None;
    for step in 1..=100u64 {
        let slot = e.take(at(now)).expect("one is served");
        if last.replace(slot) != Some(slot) {
            turns.push(now);
        }
        e.ended(at(now + 10), slot);
        now += 11;
        // Near enough: neither is seeky.
        let lba = u64::from(slot) * 500_000_000 + 100 * step;
        e.add(at(now), &read(slot, slot, lba));
    }
    assert_eq!(turns, [0, 132, 264, 396, 528, 660, 792, 924, 1056]);
}

/// A process begins with one seek; with the nineteenth far request it has twenty among 32, and the drive is not kept idle
/// for it any more.
#[test]
fn the_drive_is_not_kept_idle_for_a_seeky_process() {
    let mut e = bfq("low_latency = false\ntimeout_sync = \"60 s\"");
    let mut now = 0;
    for n in 1..=19u64 {
        e.add(at(now), &read(0, 0, n * 1_000_000));
        if n == 1 {
            e.add(at(0), &read(1, 1, 5));
        }
        assert_eq!(e.take(at(now)), Some(0), "request {n}");
        let next = e.take(at(now));
        assert_eq!(next, (n == 19).then_some(1), "request {n}");
        e.ended(at(now + 10), 0);
        now += 11;
    }
}

/// Budgets: 10 sectors of a sequential process, in requests of 8, are one request a turn.
#[test]
fn a_turn_ends_with_its_budget() {
    let mut e = bfq("low_latency = false\nmax_budget = 10\nslice_idle = \"0 s\"");
    for slot in 0..6 {
        let process = slot / 3;
        e.add(at(0), &read(slot, process, u64::from(1000 * process + 8 * slot)));
    }
    let taken = [0; 6].map(|_| e.take(at(0)).expect("one waits"));
    assert_eq!(taken, [0, 3, 1, 4, 2, 5]);
}

/// Asynchronous writes of all processes are one queue, and a sector counts as three. With turns of a request each, two
/// processes that are always busy get three times as much each as the asynchronous queue.
#[test]
fn asynchronous_writes_are_charged_three_times() {
    let mut e = bfq("low_latency = false\nmax_budget = 8\nslice_idle = \"0 s\"");
    let mut got = [0u32; 3];
    let request = |slot: u32| Queued { sync: slot != 2, write: slot == 2, ..read(slot, slot, u64::from(slot) * 1000) };
    (0..3).for_each(|slot| e.add(at(0), &request(slot)));
    let mut waiting: Vec<Queued> = (0..3).map(|s| Queued { slot: s + 3, ..request(s) }).collect();
    waiting.iter().for_each(|w| e.add(at(0), w));
    for n in 0..700u64 {
        let slot = e.take(at(n)).expect("all wait");
        let process = (slot % 3) as usize;
        got[process] += 1;
        e.ended(at(n), slot);
        waiting[process].slot = slot;
        e.add(at(n), &waiting[process]);
    }
    assert!((got[0] as i32 - got[1] as i32).abs() <= 1, "{got:?}");
    assert!((got[0] as i32 - 300).abs() <= 3 && (got[2] as i32 - 100).abs() <= 3, "{got:?}");
}

/// With `strict_guarantees` one request is at the drive at a time, and a process keeps its turn while it thinks.
#[test]
fn strict_guarantees_have_one_request_at_the_drive() {
    let mut e = bfq("strict_guarantees = true");
    e.add(at(0), &read(0, 0, 0));
    e.add(at(0), &read(1, 0, 8));
    assert_eq!((e.take(at(0)), e.take(at(0))), (Some(0), None));
    e.ended(at(5), 0);
    assert_eq!(e.take(at(5)), Some(1));
}

/// A process in service is served in order of address from its last request on; one a little behind costs twice its
/// distance. A request that is late is first.
#[test]
fn requests_of_a_process_are_in_order_of_address() {
    let mut e = bfq("low_latency = false\nfifo_expire_sync = \"50 ms\"");
    for (slot, lba) in [(0, 1000), (1, 1900), (2, 600), (3, 1_000_000)] {
        e.add(at(0), &read(slot, 7, lba));
    }
    // From block 0: 600. From 600: 1000. From 1000 on 1900, then the far one.
    let order = [0; 4].map(|_| e.take(at(0)).expect("one waits"));
    assert_eq!(order, [2, 0, 1, 3]);
    let mut e = bfq("low_latency = false\nfifo_expire_sync = \"50 ms\"");
    e.add(at(0), &read(0, 7, 1_000_000));
    e.add(at(60), &read(1, 7, 8));
    e.add(at(60), &read(2, 7, 20));
    assert_eq!([0; 3].map(|_| e.take(at(60)).expect("one waits")), [1, 0, 2]);
}

/// A process alone with one request at a time: 10 ms of service, then it thinks for 3 ms. Others may be merged only with
/// their own.
#[test]
fn only_requests_of_one_process_are_merged() {
    let e = bfq("");
    let (one, other) = (read(0, 1, 0), read(1, 2, 8));
    assert!(!e.may_join(&one, &other));
    assert!(e.may_join(&one, &Queued { submitter: 1, ..other }));
    let write = |submitter| Queued { write: true, sync: false, ..read(0, submitter, 0) };
    assert!(e.may_join(&write(1), &write(2)) && !e.may_join(&write(1), &one));
}
