//! The host queue: order, merging, places, and a closed network of submitters.

use super::mock::{constants, finish, request, tree, Behaviour, Log, Mock};
use headstack_block::layer::{Branch, ErrorKind, HostQueueSetting, LayerCompletion, Request, Setting, Tree, PLUGINS};
use headstack_block::Clock;
use headstack_drive::Command::{self, Flush, Read, Write, WriteThrough};
use headstack_testkit::commands::sum;
use headstack_testkit::SplitMix;
use headstack_units::Time;
use std::collections::{BTreeMap, BinaryHeap};

fn build(below: Vec<Branch>, toml: &str) -> Tree {
    let params = toml::from_str(toml).expect("a table");
    let all = &*PLUGINS;
    let entry = all.get("host-queue").expect("the layer");
    tree(entry, below, params).unwrap_or_else(|e| panic!("{toml}: {e}"))
}

fn queue(toml: &str) -> (Tree, Log) {
    let (below, log) = constants(1, 100_000, 1000);
    (build(below, toml), log)
}

/// Requests that reached the layer below: command, first block, blocks.
fn got(log: &Log) -> Vec<(Command, u64, u32)> {
    let log = log.lock().expect("the log");
    log.iter().map(|(_, _, r)| (r.command, r.lba, r.blocks)).collect()
}

/// Submits these at once behind one request that keeps the device busy; returns what was dispatched after that
/// one.
fn behind_one(toml: &str, requests: &[(Command, u64, u32)]) -> (Vec<(Command, u64, u32)>, Vec<LayerCompletion>) {
    let (mut q, log) = queue(toml);
    q.submit_to(Time::ZERO, request(1000, Read, 99_000, 1));
    for (id, (command, lba, blocks)) in requests.iter().enumerate() {
        q.submit_to(Time::ZERO, request(id as u64, *command, *lba, *blocks));
    }
    let done = finish(&mut q);
    assert_eq!(done.len(), requests.len() + 1, "{toml}");
    for d in &done {
        let c = d.components;
        assert_eq!(c.queue + c.transfer, d.completion.span_from(d.arrival), "{d:?}");
        assert!(d.arrival <= d.admitted && d.admitted <= d.completion);
    }
    (got(&log)[1..].to_vec(), done)
}

#[test]
fn requests_go_down_in_the_elevators_order() {
    let arrivals = [(Read, 50, 1), (Read, 10, 1), (Write, 20, 1), (Read, 30, 1), (Read, 70, 1), (Write, 60, 1)];
    // A read of block 99,000 is in service. By hand: no request has a higher address, so both elevators begin
    // new batches: reads from the oldest, 50, and on to 70; reads from the oldest, 10, and on to 30; then the
    // writes, from the oldest on.
    for (elevator, want) in [
        ("none", vec![50, 10, 20, 30, 70, 60]),
        ("deadline", vec![50, 70, 10, 30, 20, 60]),
        ("mq-deadline", vec![50, 70, 10, 30, 20, 60]),
    ] {
        let text = format!("elevator = \"{elevator}\"\ndepth = 1\nnr_requests = 64\nmerge = false");
        let (down, _) = behind_one(&text, &arrivals);
        let lbas: Vec<u64> = down.iter().map(|d| d.1).collect();
        assert_eq!(lbas, want, "{elevator}");
    }
}

#[test]
fn touching_requests_become_one() {
    let base = "depth = 1\nnr_requests = 64\n";
    let elevator = |name: &str, more: &str| format!("elevator = \"{name}\"\n{base}{more}");
    for name in ["deadline", "mq-deadline", "ranges", "none"] {
        // A back merge, a front merge, and one that closes a gap. `none` does not merge two waiting requests.
        let three = [(Read, 100, 8), (Read, 108, 8), (Read, 92, 8)];
        let (down, done) = behind_one(&elevator(name, ""), &three);
        assert_eq!(down, [(Read, 92, 24)], "{name}");
        let ends: Vec<u64> = done[1..].iter().map(|d| d.completion.0).collect();
        assert_eq!(ends, [2000; 3], "all end with the one that they became");
        let gap = [(Read, 100, 8), (Read, 116, 8), (Read, 108, 8)];
        let (down, _) = behind_one(&elevator(name, ""), &gap);
        match name {
            "none" => assert_eq!(down, [(Read, 100, 16), (Read, 116, 8)]),
            _ => assert_eq!(down, [(Read, 100, 24)], "{name}"),
        }
        // No merge with another operation, with write-through, where it is disabled, or where it is too long.
        let mixed = [(Read, 100, 8), (Write, 108, 8), (WriteThrough, 116, 8), (WriteThrough, 124, 8)];
        assert_eq!(behind_one(&elevator(name, ""), &mixed).0.len(), 4, "{name}");
        let (down, _) = behind_one(&elevator(name, "front_merges = false"), &three);
        assert_eq!(down.len(), 2, "{name}");
        assert_eq!(behind_one(&elevator(name, "merge = false"), &three).0.len(), 3, "{name}");
        let (down, _) = behind_one(&elevator(name, "max_request = \"8 KiB\""), &three);
        let mut sizes: Vec<u32> = down.iter().map(|d| d.2).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [8, 16], "{name}");
        let (down, _) = behind_one(&elevator(name, "max_segments = 2"), &three);
        assert_eq!(down.len(), 2, "{name}");
    }
    // Two ranges of 50,000 blocks are never merged.
    let across = [(Read, 49_992, 8), (Read, 50_000, 8)];
    assert_eq!(behind_one(&elevator("ranges", ""), &across).0.len(), 2);
    assert_eq!(behind_one(&elevator("deadline", ""), &across).0.len(), 1);
    // `none` compares with the newest eight only.
    let mut many: Vec<_> = (0..9).map(|i| (Read, 1000 * i, 8)).collect();
    many.push((Read, 8, 8));
    assert_eq!(behind_one(&elevator("none", ""), &many).0.len(), 10);
    many.remove(5);
    assert_eq!(behind_one(&elevator("none", ""), &many).0.len(), 8);
}

/// Flushes and write-through requests are dispatched before those in the elevator.
#[test]
fn flushes_do_not_wait_for_the_elevator() {
    let requests = [(Read, 10, 1), (Write, 20, 1), (Flush, 0, 0), (WriteThrough, 30, 1)];
    let (down, _) = behind_one("depth = 1\nnr_requests = 64", &requests);
    let commands: Vec<Command> = down.iter().map(|d| d.0).collect();
    assert_eq!(commands, [Flush, WriteThrough, Read, Write]);
}

/// By hand: a flush takes 1,000 ns. One goes down alone; those that come while it is there share the next one, and those
/// that come while that is there the one after. Each of them holds a place until its end.
#[test]
fn flushes_that_come_meanwhile_share_the_next_one() {
    for text in [
        "nr_requests = 6\ndepth = 4\nwake_time = \"0 s\"",
        "elevator = \"none\"\nnr_requests = 6\ndepth = 4\nwake_time = \"0 s\"",
        "elevator = \"deadline\"\nnr_requests = 6\ndepth = 4\nwake_time = \"0 s\"",
    ] {
        let (mut q, log) = queue(text);
        let flush = |id| request(id, Flush, 0, 0);
        for (id, at) in [(0, 0), (1, 0), (2, 400), (3, 900)] {
            q.advance(Time(at), &mut |_| {});
            q.submit_to(Time(at), flush(id));
        }
        q.advance(Time(1500), &mut |_| {});
        q.submit_to(Time(1500), flush(4));
        // Four of them hold places, and these take the rest; both go down beside the flush.
        for id in 5..8 {
            q.submit_to(Time(1500), request(id, Read, 500 * id, 8));
        }
        let mut done = finish(&mut q);
        done.sort_by_key(|d| d.id);
        let ends: Vec<(u64, u64)> = done.iter().map(|d| (d.id, d.completion.0)).collect();
        // One server, first come first served: flush, reads, flush, and the read that waited for a place.
        let want = [(1, 2000), (2, 2000), (3, 2000), (4, 5000), (5, 3000), (6, 4000), (7, 6000)];
        assert_eq!(ends, want, "{text}");
        assert_eq!(done[6].admitted, Time(2000), "{text}");
        let flushes = log.lock().unwrap().iter().filter(|l| l.2.command == Flush).count();
        assert_eq!(flushes, 3, "{text}");
        assert_eq!(q.results().remove(0).counts["merged_flushes"], 2);
    }
}

/// By hand: what was admitted goes down in the order of the old elevator. Nothing else is admitted until that has ended;
/// then the order is that of the new one, and there are as many places as it usually has.
#[test]
fn another_elevator_takes_over_when_the_queue_is_empty() {
    let (mut q, log) = queue("elevator = \"none\"\nnr_requests = 4\ndepth = 1\nwake_time = \"0 s\"");
    let submit = |q: &mut Tree, at: u64, lbas: &[u64]| {
        for lba in lbas {
            q.submit_to(Time(at), request(*lba, Read, *lba, 1));
        }
    };
    let change = |name: &str| {
        Setting::HostQueue(HostQueueSetting::Elevator { name: name.into(), parameters: Default::default() })
    };
    submit(&mut q, 0, &[3000, 1000, 2000, 500]);
    q.set(Time(1), &[0], &change("mq-deadline")).unwrap();
    submit(&mut q, 2, &[9000, 7000, 8000, 6000, 5000]);
    let done = finish(&mut q);
    let order: Vec<u64> = got(&log).iter().map(|r| r.1).collect();
    // Four places at a depth of one: the fifth is admitted when the first of them ends.
    assert_eq!(order, [3000, 1000, 2000, 500, 6000, 7000, 8000, 9000, 5000]);
    let admitted = |id| done.iter().find(|d| d.id == id).unwrap().admitted.0;
    assert_eq!([9000, 7000, 8000, 6000].map(admitted), [4000; 4]);
    assert_eq!(admitted(5000), 5000);
    // The other way round, on an empty queue: at once.
    q.set(Time(20_000), &[0], &change("none")).unwrap();
    submit(&mut q, 20_000, &[9100, 7100, 8100]);
    finish(&mut q);
    let order: Vec<u64> = got(&log)[9..].iter().map(|r| r.1).collect();
    assert_eq!(order, [9100, 7100, 8100]);
    // The same elevator: the number of places stays.
    q.set(Time(40_000), &[0], &Setting::HostQueue(HostQueueSetting::Requests(8))).unwrap();
    q.set(Time(40_000), &[0], &change("none")).unwrap();
    submit(&mut q, 40_000, &[10, 20, 30, 40, 50, 60, 70, 80, 90]);
    let done = finish(&mut q);
    let at_once = done.iter().filter(|d| d.admitted == Time(40_000)).count();
    assert_eq!(at_once, 8);
    let refused = |q: &mut Tree, name| q.set(Time(60_000), &[0], &change(name)).unwrap_err().to_string();
    let error = refused(&mut q, "cfq");
    assert!(error.starts_with("setting.elevator: got \"cfq\", need one of none"), "{error}");
    let error = refused(&mut queue("elevator = \"deadline\"").0, "none");
    assert!(error.contains("not supported with legacy"), "{error}");
}

/// Requests in flight hold their places; waiting ones are admitted in order when one ends.
#[test]
fn places_are_held_until_the_end() {
    let (mut q, _) = queue("elevator = \"deadline\"\nnr_requests = 4\ndepth = 2\nmerge = false\nwake_time = \"0 s\"");
    for id in 0..8 {
        q.submit_to(Time(10), request(id, Read, 1000 * id, 8));
    }
    let done = finish(&mut q);
    // One server, 1,000 ns each: from the fifth on, each request is admitted when one ends.
    let admitted: Vec<u64> = done.iter().map(|d| d.admitted.0).collect();
    assert_eq!(admitted, [10, 10, 10, 10, 1010, 2010, 3010, 4010]);
    let statistics = q.results().remove(0);
    assert_eq!(statistics.counts["blocked"], 4);
    assert_eq!(statistics.most["most_admitted"], 4);
    assert_eq!(statistics.sums_s["blocked"], 10_000e-9);
    // Mean of 1,000 to 8,000 ns; from admission, four of 1,000 to 4,000 ns and four of 4,000 ns.
    assert!((statistics.from_submission_mean_s - 4500e-9).abs() < 1e-15);
    let want = (1000 + 2000 + 3000 + 4000 + 4 * 4000) as f64 / 8.0 * 1e-9;
    assert!((statistics.from_admission_mean_s - want).abs() < 1e-15);
}

/// Async writes have their own pool in the legacy queue, and share the one pool of blk-mq.
#[test]
fn pools_of_reads_and_writes() {
    for (elevator, sync_writes, want) in [("deadline", false, 8), ("deadline", true, 4), ("mq-deadline", false, 4)] {
        let text = format!(
            "elevator = \"{elevator}\"\nnr_requests = 4\ndepth = 1\nmerge = false\nsync_writes = {sync_writes}"
        );
        let (mut q, _) = queue(&text);
        for id in 0..6 {
            q.submit_to(Time::ZERO, request(id, Read, 1000 * id, 8));
            q.submit_to(Time::ZERO, request(100 + id, Write, 1000 * id + 500, 8));
        }
        let done = finish(&mut q);
        let at_once = done.iter().filter(|d| d.admitted == Time::ZERO).count();
        assert_eq!(at_once, want, "{text}");
    }
}

/// While a process waits for a place, none of its other requests is admitted.
#[test]
fn a_process_waits_as_a_whole() {
    let (mut q, _) = queue("elevator = \"deadline\"\nnr_requests = 4\ndepth = 1\nmerge = false\nwake_time = \"0 s\"");
    let by = |submitter, id, command| Request { submitter, ..request(id, command, 1000 * id, 8) };
    for id in 0..4 {
        q.submit_to(Time::ZERO, by(id as u32, id, Write));
    }
    // The async pool is full: process 7 waits with its write, and its read waits behind it.
    q.submit_to(Time::ZERO, by(7, 10, Write));
    q.submit_to(Time::ZERO, by(7, 11, Read));
    q.submit_to(Time::ZERO, by(8, 12, Read));
    let done = finish(&mut q);
    let admitted = |id| done.iter().find(|d| d.id == id).expect("done").admitted;
    assert_eq!(admitted(12), Time::ZERO);
    assert_eq!((admitted(10), admitted(11)), (Time(1000), Time(1000)));
}

#[test]
fn the_queue_is_resized_while_it_runs() {
    let (mut q, _) = queue("elevator = \"deadline\"\nnr_requests = 8\ndepth = 1\nmerge = false\nwake_time = \"0 s\"");
    for id in 0..12 {
        q.submit_to(Time::ZERO, request(id, Read, 1000 * id, 8));
    }
    // Fewer than four count as four; admitted requests stay.
    q.set(Time(1), &[0], &Setting::HostQueue(HostQueueSetting::Requests(2))).expect("a size");
    let done = finish(&mut q);
    let mut admitted: Vec<u64> = done.iter().map(|d| d.admitted.0).collect();
    admitted.sort_unstable();
    // Five completions reduce eight to three: then the ninth is admitted, and the others at each further
    // completion.
    assert_eq!(admitted, [0, 0, 0, 0, 0, 0, 0, 0, 5000, 6000, 7000, 8000]);
    // blk-mq waits until all requests have completed.
    let (mut q, _) = queue("nr_requests = 4\ndepth = 1\nmerge = false\nwake_time = \"0 s\"");
    for id in 0..6 {
        q.submit_to(Time::ZERO, request(id, Read, 1000 * id, 8));
    }
    q.set(Time(1), &[0], &Setting::HostQueue(HostQueueSetting::Requests(16))).expect("a size");
    let done = finish(&mut q);
    let mut admitted: Vec<u64> = done.iter().map(|d| d.admitted.0).collect();
    admitted.sort_unstable();
    assert_eq!(admitted, [0, 0, 0, 0, 4000, 4000]);
    let error =
        q.set(Time(9000), &[0], &Setting::HostQueue(HostQueueSetting::Requests(70_000))).unwrap_err().to_string();
    assert!(error.contains("got 70000, need at most 65536"), "{error}");
}

#[test]
fn parameters_that_do_not_fit_are_refused() {
    for (text, want) in [
        ("elevator = \"cfq\"", "elevator: got \"cfq\", need one of none"),
        ("nr_requests = 3", "nr_requests: got 3, need 4 to 65536"),
        ("depth = 0", "depth: got 0, need 1 to 65536"),
        ("max_request = \"1 KiB\"", "max_request: got 1024 B, need 4096 B to 1073741824 B"),
        ("elevator_parameters = { x = 1 }", "elevator_parameters: got key \"x\""),
        ("nr_request = 8", "did you mean \"nr_requests\"?"),
    ] {
        let (below, _) = constants(1, 1000, 1);
        let params = toml::from_str(text).expect("a table");
        let built = tree(PLUGINS.get("host-queue").expect("it"), below, params);
        let error = built.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(want), "{text}: {error:?}");
    }
}

/// Threads that read one block after another, each for as long as it is asked to: the times at which each was served.
fn closed(q: &mut Tree, threads: u32, until: u64) -> Vec<Vec<u64>> {
    let ask = |q: &mut Tree, at: Time, submitter: u32| {
        let lba = 1000 * u64::from(submitter);
        let request = Request { submitter, ..request(u64::from(submitter), Read, lba, 8) };
        q.submit_to(at, request);
    };
    (0..threads).for_each(|t| ask(q, Time::ZERO, t));
    let mut served = vec![Vec::new(); threads as usize];
    while q.next_event() != Time::NEVER {
        let next = q.next_event();
        let mut ended = Vec::new();
        q.advance(Time(next.0 + 1), &mut |d| ended.push((d.id as u32, d.completion)));
        for (thread, at) in ended {
            served[thread as usize].push(at.0);
            if at.0 < until {
                ask(q, at, thread);
            }
        }
    }
    served
}

/// Six threads on four places, a server of 1,000 ns; a woken thread submits 10 ns after it was woken, a thread whose
/// request has completed at once. By hand: where places are kept the threads are served in turn. Where they are not, the
/// thread that has just completed takes the place again and the other two are woken in vain until the end. Both read
/// one after the other then.
#[test]
fn a_place_is_kept_for_the_woken_or_taken_by_who_comes_first() {
    let text = |retake: &str| format!("nr_requests = 4\ndepth = 4\nmerge = false\nwake_time = \"10 ns\"\n{retake}");
    let (mut q, _) = queue(&text("retake = 0"));
    let kept = closed(&mut q, 6, 60_000);
    let counts: Vec<usize> = kept.iter().map(Vec::len).collect();
    assert!(counts.iter().all(|n| (10..=11).contains(n)), "{counts:?}");
    let (mut q, _) = queue(&text("retake = 1"));
    let taken = closed(&mut q, 6, 60_000);
    for thread in &taken[..4] {
        assert!((15..=16).contains(&thread.len()), "{taken:?}");
    }
    for thread in &taken[4..] {
        assert!(thread.len() == 1 && thread[0] > 60_000, "{taken:?}");
    }
    // The legacy queue keeps places, whatever `retake` says.
    let legacy = format!("places = \"legacy\"\n{}", text("retake = 1"));
    let (mut q, _) = queue(&legacy);
    let counts: Vec<usize> = closed(&mut q, 6, 60_000).iter().map(Vec::len).collect();
    assert!(counts.iter().all(|n| (9..=12).contains(n)), "{counts:?}");
}

/// 64 threads on 4 places. Each completion wakes one of the 60 that wait, in turn, so a thread that waits is woken once
/// in 60 services, and with `retake` p it goes on waiting with probability p. So the share of requests that wait at
/// least k rounds is (1 - p) p^(k-1), and that of those that do not wait is p.
#[test]
fn waits_are_geometric_in_rounds() {
    for p in [0.2, 0.4, 0.7] {
        let text = format!("nr_requests = 4\nmerge = false\nwake_time = \"10 ns\"\nretake = {p}");
        let (mut q, _) = queue(&text);
        let served = closed(&mut q, 64, 40_000_000);
        let waits = served.iter().flat_map(|times| {
            let steps = times.windows(2).map(|w| (w[1] - w[0]) as f64);
            // A service takes 1,000 ns and begins behind three others.
            steps.map(|gap| (gap / 1000.0 - 4.0) / 60.0)
        });
        let waits: Vec<f64> = waits.collect();
        let share = |from: f64| waits.iter().filter(|w| **w > from).count() as f64 / waits.len() as f64;
        for k in 0..4 {
            let want = (1.0 - p) * f64::powi(p, k);
            let got = share(f64::from(k) + 0.5);
            // 40,000 requests: four standard deviations of a share of one half are 0.01.
            assert!((got - want).abs() < 0.015, "{p}: {got}, not {want}, wait {k} rounds");
        }
    }
}

/// A completion that is noticed 300 ns late: the next request reaches the device, and a place is free, when it is.
#[test]
fn a_completion_is_noticed_late() {
    let text = "elevator = \"none\"\nnr_requests = 4\ndepth = 1\nmerge = false\nwake_time = \"0 s\"\n\
                completion_time = \"300 ns\"";
    let (mut q, log) = queue(text);
    for id in 0..5 {
        q.submit_to(Time::ZERO, request(id, Read, 1000 * id, 8));
    }
    let done = finish(&mut q);
    let at: Vec<u64> = log.lock().expect("the log").iter().map(|r| r.0 .0).collect();
    assert_eq!(at, [0, 1300, 2600, 3900, 5200]);
    let ends: Vec<u64> = done.iter().map(|d| d.completion.0).collect();
    assert_eq!(ends, [1300, 2600, 3900, 5200, 6500]);
    assert_eq!(done[4].admitted, Time(1300));
    for d in &done {
        assert_eq!(d.components.overhead.non_negative(), 300);
        assert_eq!(sum(&d.components), d.completion.0 - d.arrival.0);
    }
}

/// One exponential server.
struct Exponential {
    noise: SplitMix,
    mean_ns: f64,
}

impl Behaviour for Exponential {
    fn serve(&mut self, start: Time, _: &Request) -> (Time, Option<ErrorKind>) {
        (Time(start.0 + self.noise.exponential(self.mean_ns) as u64), None)
    }
}

/// Exact mean-value analysis of `n` customers with a think time and one exponential server: throughput and
/// response time (Reiser & Lavenberg 1980).
fn mva(n: u32, think: f64, service: f64) -> (f64, f64) {
    let (mut queue, mut result) = (0.0, (0.0, 0.0));
    for k in 1..=n {
        let response = service * (1.0 + queue);
        let throughput = f64::from(k) / (think + response);
        queue = throughput * response;
        result = (throughput, response);
    }
    result
}

/// Mean number of admitted customers, at most `places`, of the same network, from its state probabilities: with
/// `j` at the server, p(j) is proportional to n!/(n-j)! (service/think)^j.
fn mean_admitted(n: u32, places: u32, think: f64, service: f64) -> f64 {
    let (mut weight, mut sum, mut admitted) = (1.0, 1.0, 0.0);
    for j in 1..=n {
        weight *= f64::from(n - j + 1) * service / think;
        sum += weight;
        admitted += weight * f64::from(j.min(places));
    }
    admitted / sum
}

/// Submitters with one request each and exponential think times; the queue has fewer places than submitters.
/// The times are long compared with the 20 ms for which a woken process may exceed the limit.
#[test]
fn submitters_that_wait_are_a_closed_network() {
    let (service, think) = (1e8, 8e8);
    for (seed, elevator, submitters, places) in [
        (1, "none", 12, 4),
        (2, "deadline", 12, 4),
        (3, "mq-deadline", 12, 4),
        (4, "deadline", 6, 16),
        (5, "mq-deadline", 30, 8),
        (6, "none", 30, 32),
    ] {
        println!("seed {seed}");
        let server = Exponential { noise: SplitMix(seed), mean_ns: service };
        let below = Mock::new(1 << 40, 1, 0, server);
        let text = format!("elevator = \"{elevator}\"\nnr_requests = {places}\ndepth = 2");
        let mut q = build(vec![below.branch()], &text);
        let mut noise = SplitMix(seed + 100);
        let mut issues = BinaryHeap::new();
        for submitter in 0..submitters {
            issues.push(std::cmp::Reverse((noise.exponential(think) as u64, submitter)));
        }
        let (mut n, mut response, mut admitted) = (0u64, 0.0, 0.0);
        let mut now = 0;
        while n < 200_000 {
            let issue = issues.peek().map_or(u64::MAX, |i| i.0 .0);
            let next = q.next_event().0;
            if issue <= next {
                let submitter = issues.pop().expect("an issue").0 .1;
                let lba = noise.below(1 << 40);
                let request = Request { submitter, ..request(u64::from(submitter), Read, lba & !7, 8) };
                q.submit_to(Time(issue), request);
                now = issue;
                continue;
            }
            now = next;
            q.advance(Time(next + 1), &mut |done| {
                n += 1;
                response += (done.completion.0 - done.arrival.0) as f64;
                admitted += (done.completion.0 - done.admitted.0) as f64;
                let think = noise.exponential(think) as u64;
                issues.push(std::cmp::Reverse((done.completion.0 + think, done.id as u32)));
            });
        }
        let (throughput, want) = mva(submitters, think, service);
        let got = response / n as f64;
        let what = format!("{elevator}, {submitters} submitters, {places} places");
        assert!((got / want - 1.0).abs() < 0.03, "{what}: response {got} {want}");
        let rate = n as f64 / now as f64;
        assert!((rate / throughput - 1.0).abs() < 0.03, "{what}: {rate} {throughput}");
        let want = mean_admitted(submitters, places, think, service) / throughput;
        let got = admitted / n as f64;
        assert!((got / want - 1.0).abs() < 0.03, "{what}: from admission {got} {want}");
    }
}

/// Random requests through every elevator and both kinds of places: each completes once, the dispatched blocks
/// are exactly those requested, and no limit is exceeded. One flush is below at a time, and each submitted one ends with one
/// that went down after it came.
#[test]
fn nothing_is_lost_and_no_limit_is_passed() {
    let mut shared = 0;
    for seed in 0..60u64 {
        println!("seed {seed}");
        let mut noise = SplitMix(seed);
        let elevator = ["none", "deadline", "mq-deadline", "ranges"][noise.below(4) as usize];
        let places = ["legacy", "blk-mq"][noise.below(2) as usize];
        let n = 4 + noise.below(12);
        let depth = 1 + noise.below(4);
        let (below, log) = constants(1, 4000, 1000);
        let text = format!(
            "elevator = \"{elevator}\"\nplaces = \"{places}\"\nnr_requests = {n}\ndepth = {depth}\nmax_request = \"16 KiB\""
        );
        println!("{text}");
        let mut q = build(below, &text);
        let mut asked: BTreeMap<u64, Request> = BTreeMap::new();
        let mut under_way: BTreeMap<u64, Request> = BTreeMap::new();
        let mut flushes = Vec::new();
        let mut now = Time::ZERO;
        for id in 0..400u64 {
            let command = [Read, Read, Write, Write, WriteThrough, Flush][noise.below(6) as usize];
            let blocks = 1 + noise.below(8);
            // Small addresses, so that many requests are adjacent.
            let lba = noise.below(4000 - blocks) % 64 * 8 % (4000 - blocks);
            let submitter = [noise.below(5) as u32, u32::MAX][noise.below(2) as usize];
            let request = Request { submitter, ..request(id, command, lba, blocks as u32) };
            now = Time(now.0 + noise.below(1500));
            let mut collect = |done: &LayerCompletion| {
                let r = under_way.remove(&done.id).expect("ends once");
                assert!(done.error.is_none() && done.completion.0 >= done.arrival.0, "{r:?}");
                let c = done.components;
                assert_eq!(c.queue + c.transfer, done.completion.span_from(done.arrival));
                if r.command == Flush {
                    flushes.push((done.arrival, done.completion));
                }
            };
            q.advance(now, &mut collect);
            if noise.below(40) == 0 {
                q.set(now, &[0], &Setting::HostQueue(HostQueueSetting::Requests(4 + noise.below(12) as u32)))
                    .expect("a size");
            }
            if places == "blk-mq" && noise.below(60) == 0 {
                let name = ["none", "deadline", "mq-deadline", "ranges"][noise.below(4) as usize];
                let parameters = Default::default();
                let name = name.into();
                q.set(now, &[0], &Setting::HostQueue(HostQueueSetting::Elevator { name, parameters }))
                    .expect("an elevator");
            }
            q.submit_to(now, request);
            under_way.insert(id, request);
            asked.insert(id, request);
        }
        for done in finish(&mut q) {
            let request = under_way.remove(&done.id).expect("ends once");
            if request.command == Flush {
                flushes.push((done.arrival, done.completion));
            }
        }
        assert!(under_way.is_empty(), "seed {seed}: {under_way:?}");
        // Each block is dispatched as often as it was requested.
        let mut balance: BTreeMap<(bool, u64), i64> = BTreeMap::new();
        let mut add = |r: &Request, n: i64| {
            if r.command == Flush {
                return;
            }
            for block in r.lba..r.lba + u64::from(r.blocks) {
                *balance.entry((r.command.writes(), block)).or_default() += n;
            }
        };
        let log = log.lock().expect("the log");
        log.iter().for_each(|(_, _, r)| add(r, 1));
        asked.values().for_each(|r| add(r, -1));
        assert!(balance.values().all(|n| *n == 0), "seed {seed}");
        let longest = log.iter().map(|(_, _, r)| r.blocks).max();
        assert!(longest <= Some(32), "seed {seed}: {longest:?}");
        let down: Vec<Time> = log.iter().filter(|l| l.2.command == Flush).map(|l| l.0).collect();
        shared += flushes.len() - down.len();
        for (arrival, completion) in &flushes {
            // It takes 1,000 ns.
            let fits = |at: &Time| at >= arrival && at.0 + 1000 <= completion.0;
            assert!(down.iter().any(fits), "seed {seed}: {arrival:?}");
        }
        assert!(down.windows(2).all(|w| w[1].0 - w[0].0 >= 1000), "seed {seed}");
        // There is one server, so a dispatched request waits 1,000 ns for each request before it.
        let times: Vec<u64> = log.iter().map(|(at, _, _)| at.0).collect();
        let mut free = 0;
        let mut ends = Vec::new();
        for at in times {
            let below = ends.iter().filter(|end| **end > at).count() as u64;
            assert!(below < depth, "seed {seed}: {below} below at {at}");
            free = at.max(free) + 1000;
            ends.push(free);
        }
    }
    assert!(shared > 100, "{shared}");
}
