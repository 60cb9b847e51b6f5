//! Compares schedulers with oracles that know only the completions of a whole run. The oracles compute
//! positions, angles and seek times independently, in milliseconds and floating point.

use headstack_drive::command::{Command, Completion, DriveRequest};
use headstack_drive::drive::Drive;
use headstack_drive::scheduler::*;
use headstack_drive::spec::DriveSpec;
use headstack_drive::DriveOptions;
use headstack_testkit::{commands, disk::Disk, Lcg};
use headstack_units::{Lba, Span};

mod choices;

const CYLINDERS: u64 = 200;
const HEADS: u64 = 3;
const SECTORS: u64 = 100;
const REV: f64 = 10.0;
const SWITCH: f64 = 0.7;
const SETTLE: f64 = 0.3;

fn spec(scheduler: &str, arms: usize) -> DriveSpec {
    let disk = Disk { rpm: 6000, surfaces: 3, cylinders: 200, sectors: 100, skew: Some(("turns", 0.1, 0.15)) };
    let mut spec = disk.drive(
        "[seek]\nmodel = \"linear\"\nsingle = \"1 ms\"\nfull = \"8 ms\"\ncylinders = 200\n\
         [positioning]\nhead_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"",
    );
    spec.queue.scheduler = scheduler.into();
    spec.dash.arms = arms as u32;
    spec
}

/// Requests with random gaps of `gap_ns` nanoseconds on average.
fn requests(seed: u64, n: u64, gap_ns: u64) -> Vec<(u64, DriveRequest)> {
    let mut noise = Lcg(seed);
    let mut below = |n: u64| noise.below(n);
    let mut now = 0;
    (0..n)
        .map(|id| {
            now += below(2 * gap_ns + 1);
            let blocks = 1 + below(16) as u32;
            let command = if below(3) == 0 { Command::Write } else { Command::Read };
            let lba = Lba(below(CYLINDERS * HEADS * SECTORS - 16));
            (now, DriveRequest { id, command, lba, blocks, ..DriveRequest::default() })
        })
        .collect()
}

fn run(spec: &DriveSpec, requests: &[(u64, DriveRequest)]) -> Vec<Completion> {
    let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
    commands::run(&mut drive, requests)
}

#[derive(Clone, Copy)]
struct At {
    cylinder: u64,
    head: u64,
}

fn place(lba: u64) -> (At, f64) {
    let (track, sector) = (lba / SECTORS, lba % SECTORS);
    let (cylinder, head) = (track / HEADS, track % HEADS);
    let skew = (head + (HEADS - 1) * cylinder) as f64 * 0.1 + cylinder as f64 * 0.15;
    let angle = (skew + sector as f64 / SECTORS as f64).fract();
    (At { cylinder, head }, angle)
}

/// Seek time, and the least and the greatest possible wait. They differ by a turn if the sector is just under
/// the head.
fn cost(arm: At, arm_angle: f64, r: &DriveRequest, t: f64) -> (f64, f64) {
    let (to, angle) = place(r.lba.0);
    let d = arm.cylinder.abs_diff(to.cylinder) as f64;
    let mut s = if d == 0.0 { 0.0 } else { 1.0 + 7.0 * (d - 1.0) / (CYLINDERS as f64 - 2.0) };
    if arm.head != to.head {
        s = s.max(SWITCH);
    }
    if s > 0.0 && r.command == Command::Write {
        s += SETTLE;
    }
    let turn = (angle + arm_angle - (t + s) / REV).rem_euclid(1.0);
    let near = 1e-5;
    let low = if turn > 1.0 - near { 0.0 } else { turn };
    let high = if turn < near { turn + 1.0 } else { turn };
    (s + low * REV, s + high * REV)
}

/// What an oracle sees: candidates in order of arrival, the arms, the time in milliseconds, the block after
/// the last one served.
struct Moment<'a> {
    waiting: &'a [(u64, DriveRequest)],
    arms: &'a [(At, f64)],
    now: f64,
    last_end: Option<u64>,
}

/// Replays a run choice by choice; `accept` judges each.
fn judge(
    spec: &DriveSpec,
    requests: &[(u64, DriveRequest)],
    mut accept: impl FnMut(&Moment, usize, usize) -> Result<(), String>,
) {
    let done = run(spec, requests);
    assert_eq!(done.len(), requests.len());
    let mut waiting: Vec<(u64, DriveRequest)> = requests.to_vec();
    let n = spec.dash.arms as usize;
    let start = At { cylinder: 0, head: 0 };
    let mut arms: Vec<(At, f64)> = (0..n).map(|k| (start, k as f64 / n as f64)).collect();
    let (mut free, mut last_end) = (0u64, None);
    for (i, c) in done.iter().enumerate() {
        let now = free.max(waiting[0].0);
        let here = waiting.iter().take_while(|w| w.0 <= now).count();
        let index = waiting[..here].iter().position(|w| w.1.id == c.id);
        let index = index.unwrap_or_else(|| panic!("dispatch {i}: {} is not waiting", c.id));
        let moment = Moment { waiting: &waiting[..here], arms: &arms, now: now as f64 * 1e-6, last_end };
        if let Err(e) = accept(&moment, index, c.arm as usize) {
            panic!("{} dispatch {i}: {e}", spec.queue.scheduler);
        }
        let (_, r) = waiting.remove(index);
        let end = r.lba.0 + r.blocks as u64;
        arms[c.arm as usize].0 = place(end - 1).0;
        (free, last_end) = (c.completion.0, Some(end));
    }
}

fn must_be(want: usize, got: usize, m: &Moment) -> Result<(), String> {
    let id = |i: usize| m.waiting[i].1;
    (want == got).then_some(()).ok_or(format!("{:?}, need {:?}", id(got), id(want)))
}

/// Index of the smallest key; of equal ones the earliest arrival.
fn least_of(m: &Moment, key: impl Fn(&DriveRequest) -> f64) -> usize {
    let keys: Vec<f64> = m.waiting.iter().map(|w| key(&w.1)).collect();
    let least = keys.iter().copied().fold(f64::INFINITY, f64::min);
    keys.iter().position(|k| *k == least).unwrap_or(0)
}

#[test]
fn unknown_keys_are_refused() {
    let mut spec = spec("sptf", 1);
    spec.queue.scheduler_parameters.insert("wieght".into(), 1.into());
    let error = build(&spec.queue, &PLUGINS).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.contains("queue.scheduler_parameters: got key \"wieght\""), "{error}");
}

#[test]
fn nothing_is_lost_repeated_or_invented_and_runs_repeat() {
    for plugin in PLUGINS.iter() {
        for (arms, depth, gap) in [(1, 0, 0), (1, 4, 0), (3, 0, 0), (2, 3, 3_000_000), (1, 0, 6_000_000)] {
            let mut spec = spec(plugin.name(), arms);
            spec.queue.depth = depth;
            let mut requests = requests(7 + depth as u64, 400, gap);
            for i in (5..400).step_by(40) {
                requests[i].1.command = Command::Flush;
            }
            let done = run(&spec, &requests);
            let mut ids: Vec<u64> = done.iter().map(|c| c.id).collect();
            ids.sort_unstable();
            assert_eq!(ids, (0..400).collect::<Vec<u64>>(), "{}", plugin.name());
            assert_eq!(done, run(&spec, &requests), "{}", plugin.name());
            // A flush completes after all commands that arrived before it.
            for (i, c) in done.iter().enumerate() {
                if requests[c.id as usize].1.command == Command::Flush {
                    assert!(done[i..].iter().all(|d| d.id >= c.id), "{} {}", plugin.name(), c.id);
                }
            }
        }
    }
}

#[test]
fn sptf_takes_the_cheapest_pair_of_command_and_arm() {
    for (arms, gap) in [(1, 0), (1, 4_000_000), (2, 0), (4, 1_500_000)] {
        judge(&spec("sptf", arms), &requests(11, 500, gap), |m, index, arm| {
            let of = |i: usize, a: usize| cost(m.arms[a].0, m.arms[a].1, &m.waiting[i].1, m.now);
            let chosen = of(index, arm).0;
            for i in 0..m.waiting.len() {
                for a in 0..m.arms.len() {
                    let other = of(i, a).1;
                    if chosen > other + 1e-4 {
                        return Err(format!("{chosen} ms, but {i} with arm {a} takes {other} ms"));
                    }
                }
            }
            Ok(())
        });
    }
}

#[test]
fn every_scheduler_takes_the_arm_that_is_there_first() {
    for plugin in PLUGINS.iter() {
        judge(&spec(plugin.name(), 3), &requests(12, 300, 1_000_000), |m, index, arm| {
            let of = |a: usize| cost(m.arms[a].0, m.arms[a].1, &m.waiting[index].1, m.now);
            let best = (0..3).map(|a| of(a).1).fold(f64::INFINITY, f64::min);
            (of(arm).0 <= best + 1e-4).then_some(()).ok_or(format!("arm {arm}: {} for {best}", of(arm).0))
        });
    }
}

#[test]
fn fcfs_sstf_and_vscan_equal_their_definitions() {
    for gap in [0, 4_000_000] {
        let requests = requests(13, 400, gap);
        judge(&spec("fcfs", 1), &requests, |m, index, _| must_be(0, index, m));
        let distance = |m: &Moment, r: &DriveRequest| place(r.lba.0).0.cylinder as f64 - m.arms[0].0.cylinder as f64;
        judge(&spec("sstf", 1), &requests, |m, index, _| must_be(least_of(m, |r| distance(m, r).abs()), index, m));
        for r in [0.0, 0.2, 1.0] {
            let mut spec = spec("vscan", 1);
            spec.queue.scheduler_parameters.insert("r".into(), r.into());
            let mut sign = 1.0;
            judge(&spec, &requests, |m, index, _| {
                let want = least_of(m, |q| {
                    let d = distance(m, q);
                    d.abs() + if d * sign < 0.0 { r * CYLINDERS as f64 } else { 0.0 }
                });
                let d = distance(m, &m.waiting[want].1);
                if d != 0.0 {
                    sign = d.signum();
                }
                must_be(want, index, m)
            });
        }
    }
}

#[test]
fn look_scan_and_c_look_sweep() {
    for gap in [0, 4_000_000] {
        let requests = requests(14, 400, gap);
        judge(&spec("c-look", 1), &requests, |m, index, _| {
            let end = m.last_end.unwrap_or(0);
            let total = (CYLINDERS * HEADS * SECTORS) as f64;
            let want = least_of(m, |r| {
                let lba = r.lba.0 as f64;
                if r.lba.0 >= end {
                    lba
                } else {
                    lba + total
                }
            });
            must_be(want, index, m)
        });
        for name in ["look", "scan"] {
            let mut up = true;
            judge(&spec(name, 1), &requests, |m, index, _| {
                let end = m.last_end.unwrap_or(0);
                let ahead = |up: bool, r: &DriveRequest| (r.lba.0 >= end) == up;
                let mut direction = up;
                if !m.waiting.iter().any(|w| ahead(direction, &w.1)) {
                    direction = !direction;
                }
                // LOOK is not asked about a single command, so its direction stays.
                if m.waiting.len() > 1 || name == "scan" {
                    up = direction;
                }
                let want =
                    least_of(m, |r| if ahead(direction, r) { r.lba.0.abs_diff(end) as f64 } else { f64::INFINITY });
                must_be(want, index, m)
            });
        }
    }
}

/// The queue of the textbook on a disk of 200 cylinders (Silberschatz, Galvin and Gagne, "Operating System
/// Concepts"): from cylinder 53, sweeping down, SCAN moves the head over 236 cylinders.
#[test]
fn scan_moves_the_arm_to_the_edge_before_it_turns() {
    let queue = [98, 183, 37, 122, 14, 124, 65, 67];
    let seek_ms = |d: f64| 1.0 + 7.0 * (d - 1.0) / (CYLINDERS as f64 - 2.0);
    for down in [true, false] {
        let spec = spec("scan", 1);
        // To sweep down from 53 the arm first goes up to 100, to 199, and back.
        let first: &[u64] = if down { &[100, 53] } else { &[53] };
        let read = |(i, c): (usize, &u64)| {
            let request = DriveRequest {
                id: i as u64,
                command: Command::Read,
                lba: Lba(c * HEADS * SECTORS),
                blocks: 1,
                ..DriveRequest::default()
            };
            (if i < first.len() { i as u64 * 500_000_000 } else { 999_000_000 }, request)
        };
        let requests: Vec<_> = first.iter().chain(&queue).enumerate().map(read).collect();
        let done = run(&spec, &requests);
        let at = |c: &Completion| requests[c.id as usize].1.lba.0 / HEADS / SECTORS;
        let (before, after) = done.split_at(first.len());
        if down {
            assert_eq!(before[1].seek_distance, 99 + 146);
        }
        let order: Vec<u64> = after.iter().map(at).collect();
        let (want, moved, turn, legs) = if down {
            ([37, 14, 65, 67, 98, 122, 124, 183], 236, 2, [14.0, 65.0])
        } else {
            ([65, 67, 98, 122, 124, 183, 37, 14], 331, 6, [16.0, 162.0])
        };
        assert_eq!(order, want);
        assert_eq!(after.iter().map(|c| c.seek_distance).sum::<u32>(), moved);
        // Both parts of the turn are seeks.
        let seek = after[turn].components.seek.0 as f64 * 1e-6;
        assert!((seek - seek_ms(legs[0]) - seek_ms(legs[1])).abs() < 1e-5, "{seek}");
    }
}

/// No command that has waited longer than the limit is passed over.
#[test]
fn the_age_limit_bounds_waiting() {
    let requests = requests(15, 500, 3_000_000);
    let limit_ms = 60.0;
    for name in ["sptf", "sstf", "c-look"] {
        let mut with = spec(name, 1);
        with.queue.age_limit = Span::from_ms(limit_ms);
        let mut taken = 0;
        judge(&with, &requests, |m, index, _| {
            let age = m.now - m.waiting[0].0 as f64 * 1e-6;
            if age <= limit_ms {
                return Ok(());
            }
            taken += 1;
            must_be(0, index, m)
        });
        assert!(taken > 0, "{name}: the limit is never reached");
    }
}
