//! Settings that change while a drive runs.

use super::{awake, buffered, near, new, request, run, MS, S};
use headstack_drive::power::conditions::Condition;
use headstack_drive::spec::{DriveSpec, QueueCounts};
use headstack_drive::{Command, Completion, Drive, Failure, Setting};
use headstack_units::{Rpm, Span, Time};

/// One sector of the first surface, somewhere on its track.
fn read(id: u64, cylinder: u64) -> headstack_drive::DriveRequest {
    request(id, Command::Read, cylinder * 400 + cylinder * 37 % 100, 1)
}

/// The names of completions in order of time.
fn order(done: &[Completion]) -> Vec<u64> {
    let mut done: Vec<_> = done.iter().collect();
    done.sort_by_key(|c| c.completion);
    done.iter().map(|c| c.id).collect()
}

fn with_queue(scheduler: &str, depth: u32) -> DriveSpec {
    let mut spec = awake();
    spec.queue.scheduler = scheduler.into();
    spec.queue.depth = depth;
    spec
}

/// Ten reads far away, near, far away, ...; the arm starts at cylinder 0.
fn far_and_near() -> Vec<(u64, headstack_drive::DriveRequest)> {
    let mut trace: Vec<_> = (0..10).map(|i| (i, read(i, if i % 2 == 0 { 110 } else { i }))).collect();
    trace.insert(0, (0, read(10, 0)));
    trace
}

/// Set before anything runs, a setting gives what a drive built so gives; set later, what has begun goes on
/// as before.
#[test]
fn a_scheduler_set_at_once_is_the_drives_own() {
    let other = Setting::Scheduler { name: "sptf".into(), parameters: Default::default() };
    let mut set = new(&with_queue("fcfs", 0));
    set.set(Time(0), other.clone()).unwrap();
    let wanted = run(&mut new(&with_queue("sptf", 0)), &far_and_near());
    assert_eq!(run(&mut set, &far_and_near()), wanted);
    // While the first command is served the others wait: the next choice is the new scheduler's.
    let mut later = new(&with_queue("fcfs", 0));
    let mut done = Vec::new();
    for (at, r) in far_and_near() {
        later.advance(Time(at), &mut |c| done.push(*c));
        later.submit(Time(at), r);
    }
    later.advance(Time(20), &mut |c| done.push(*c));
    later.set(Time(20), other).unwrap();
    later.advance(Time::NEVER, &mut |c| done.push(*c));
    done.sort_by_key(|c| c.id);
    assert_eq!(done, wanted);
    let unknown = Setting::Scheduler { name: "sptff".into(), parameters: Default::default() };
    assert!(later.set(Time(S), unknown).unwrap_err().to_string().contains("sptf"));
}

#[test]
fn a_depth_of_one_takes_commands_in_order() {
    let all = far_and_near();
    let sptf = run(&mut new(&with_queue("sptf", 0)), &all);
    let in_order = run(&mut new(&with_queue("sptf", 1)), &all);
    assert_ne!(order(&sptf), order(&in_order));
    for (built, set) in [(0, 1), (1, 0), (1, 4), (4, 1), (32, 4)] {
        let wanted = run(&mut new(&with_queue("sptf", set)), &all);
        let mut drive = new(&with_queue("sptf", built));
        drive.set(Time(0), Setting::QueueDepth(set)).unwrap();
        assert_eq!(run(&mut drive, &all), wanted, "{built} to {set}");
    }
}

/// All commands wait behind one place; then there are four, and the nearest of four are taken. Later one
/// again: those that have a place keep it.
#[test]
fn a_depth_that_changes_among_commands() {
    for counts in [QueueCounts::Tags, QueueCounts::Waiting] {
        let mut spec = with_queue("sstf", 1);
        spec.queue.counts = counts;
        let mut drive = new(&spec);
        let mut done = Vec::new();
        // The arm is on its way to cylinder 50; 60 to 100 and 51 wait, in this order.
        for (i, cylinder) in [50, 60, 70, 80, 90, 51].into_iter().enumerate() {
            drive.advance(Time(i as u64), &mut |c| done.push(*c));
            drive.submit(Time(i as u64), read(i as u64, cylinder));
        }
        drive.advance(Time(10), &mut |c| done.push(*c));
        drive.set(Time(10), Setting::QueueDepth(8)).unwrap();
        assert_eq!(drive.queue_len(), 5);
        drive.advance(Time::NEVER, &mut |c| done.push(*c));
        assert_eq!(order(&done), [0, 5, 1, 2, 3, 4], "{counts:?}");
        drive.set(Time(S), Setting::QueueDepth(1)).unwrap();
        let late = run(&mut drive, &[(S, read(10, 10)), (S, read(11, 110)), (S, read(12, 11))]);
        assert_eq!(order(&late), [10, 11, 12], "{counts:?}");
    }
}

/// A waiting command ends at once, one in service does not, and a place comes free.
#[test]
fn aborted_commands() {
    for (depth, dash) in [(0, "D1A1S1H1"), (1, "D1A1S1H1"), (2, "D1A1S1H1"), (0, "D2A1S1H1"), (1, "D2A1S1H1")] {
        let mut spec = with_queue("sstf", depth);
        spec.dash = dash.parse().expect("a point");
        let mut drive = new(&spec);
        let mut done = Vec::new();
        for i in 0..5 {
            drive.advance(Time(i), &mut |c| done.push(*c));
            drive.submit(Time(i), read(i, 20 * i));
        }
        drive.advance(Time(10), &mut |c| done.push(*c));
        let served: Vec<u64> = done.iter().map(|c| c.id).collect();
        assert!(served.contains(&0));
        assert!(!drive.abort(Time(10), 0), "in service");
        assert!(!drive.abort(Time(10), 77), "never came");
        assert!(drive.abort(Time(10), 4));
        assert!(!drive.abort(Time(10), 4), "once");
        assert_eq!(drive.next_event(), Time::ZERO);
        drive.advance(Time(11), &mut |c| done.push(*c));
        let ended = done.iter().find(|c| c.id == 4).expect("completed");
        assert!(ended.error && ended.completion == Time(10) && ended.arrival == Time(4));
        assert_eq!(ended.components.queue.non_negative(), 6);
        drive.advance(Time::NEVER, &mut |c| done.push(*c));
        assert_eq!(done.len(), 5, "{dash}, depth {depth}");
        assert_eq!(done.iter().filter(|c| c.error).count(), 1);
    }
}

/// With a limit of one arm in motion the commands in service end, then they are served one at a time; with
/// four again, up to four at a time.
#[test]
fn arms_in_motion() {
    let mut spec = with_queue("sptf", 0);
    spec.dash = "D1A4S1H1".parse().expect("a point");
    spec.parallelism.arms_in_motion = 0;
    let at_once = |done: &[Completion], at: u64| {
        let begun = |c: &&Completion| c.arrival.0 + c.components.queue.non_negative() <= at;
        done.iter().filter(begun).filter(|c| c.completion.0 > at).count()
    };
    let trace: Vec<_> = (0..80).map(|i| (i, read(i, i * 37 % 120))).collect();
    let mut drive = new(&spec);
    let mut done = Vec::new();
    for (at, r) in &trace {
        drive.advance(Time(*at), &mut |c| done.push(*c));
        drive.submit(Time(*at), *r);
    }
    let change = 20 * MS;
    drive.advance(Time(change), &mut |c| done.push(*c));
    drive.set(Time(change), Setting::ArmsInMotion(1)).unwrap();
    drive.advance(Time(60 * MS), &mut |c| done.push(*c));
    drive.set(Time(60 * MS), Setting::ArmsInMotion(4)).unwrap();
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    assert_eq!(done.len(), 80);
    let most = |from: u64, to: u64| (from..to).step_by(50_000).map(|t| at_once(&done, t)).max();
    assert_eq!(most(5 * MS, change), Some(4));
    let over = done.iter().filter(|c| c.arrival.0 + c.components.queue.non_negative() < change);
    let over = over.map(|c| c.completion.0).max().expect("some");
    assert_eq!(most(over, 59 * MS), Some(1));
    assert!(most(62 * MS, 100 * MS) > Some(1));
    let e = drive.set(Time(S), Setting::ArmsInMotion(5)).unwrap_err();
    assert_eq!(e.to_string(), "setting.arms_in_motion: got 5, need 1 to 4, which the drive was built for");
    assert!(drive.set(Time(S), Setting::ArmsInMotion(0)).is_err());
}

/// A head fails without warning: the next command on its surface loses the time of recovery. A warned one
/// costs nothing. What nothing reaches is an error.
#[test]
fn parts_fail_now() {
    let mut spec = with_queue("fcfs", 0);
    spec.dash = "D1A2S1H1".parse().expect("a point");
    spec.parallelism.fault_recovery = "100 ms".parse().expect("time");
    let part = |arm, warning| Failure { stack: 0, arm, surface: Some(0), warning };
    let one = |drive: &mut Drive, at: u64| run(drive, &[(at, read(at, 30))])[0];
    let mut drive = new(&spec);
    assert!(!one(&mut drive, S).error);
    drive.fail(Time(2 * S), part(0, true)).unwrap();
    drive.fail(Time(2 * S), part(1, false)).unwrap();
    assert_eq!(drive.faults().len(), 1);
    // The other assembly meets its own failure, and then nothing is left.
    let last = one(&mut drive, 3 * S);
    assert!(last.error && last.completion.0 >= 3 * S + 100 * MS);
    assert_eq!(drive.faults().len(), 2);
    assert_eq!(drive.faults()[1].failed, Time(2 * S));
    // Other surfaces are still there.
    assert!(!run(&mut drive, &[(4 * S, request(9, Command::Read, 30 * 400 + 100, 1))])[0].error);
    let e = drive.fail(Time(5 * S), Failure { stack: 0, arm: 2, surface: None, warning: false });
    assert!(e.is_err());
    // The same from a description.
    let mut planned = spec.clone();
    planned.parallelism.faults = vec![headstack_drive::spec::FaultSpec {
        at: Some(Span::from_ms(2000.0)),
        mean_time_to_failure: None,
        stack: 0,
        arm: 0,
        surface: Some(0),
        warning: false,
    }];
    let trace: Vec<_> = (0..6).map(|i| (i * S, read(i, 20 * i))).collect();
    let wanted = run(&mut new(&planned), &trace);
    let mut drive = new(&spec);
    let mut done = run(&mut drive, &trace[..2]);
    drive.fail(Time(2 * S), part(0, false)).unwrap();
    done.extend(run(&mut drive, &trace[2..]));
    assert_eq!(done, wanted);
}

/// 6000 to 3000 rpm in 100 ms, asked for at 1 s: the platter turns 100 times a second, then at 75 turns a
/// second in the mean, 7.5 turns, then 50 times a second. Sector 0 passed at 1 s; at 1.1 s sector 50 is
/// under the head. The whole track, then, from the middle on: half a turn of 20 ms, and a turn.
#[test]
fn a_change_of_speed_by_hand() {
    let slower = Setting::SpindleSpeed { speed: Rpm(3000.0), takes: Span::from_ms(100.0) };
    let mut drive = new(&awake());
    let track = |id| request(id, Command::Read, 0, 100);
    assert_eq!(run(&mut drive, &[(0, track(0))])[0].completion, Time(10 * MS));
    drive.set(Time(S), slower.clone()).unwrap();
    let done = run(&mut drive, &[(1050 * MS, track(1)), (1101 * MS, track(2))]);
    let c = done[0].components;
    assert_eq!([c.queue, c.rotation, c.transfer].map(Span::non_negative), [50 * MS, 10 * MS, 20 * MS]);
    assert_eq!(done[0].completion, Time(1130 * MS));
    assert_eq!(done[1].completion, Time(1150 * MS));
    // Idle: 10 W until 1.1 s without 10 ms of transfer at 13 W; then 3 W + 7 W x 0.5^2.8, and 3 W more.
    let idle = 3.0 + 7.0 * 0.5f64.powf(2.8);
    let e = drive.energy(Time(2 * S));
    near(e.idle_j, 1.09 * 10.0 + 0.85 * idle, "idle");
    near(e.rotation_j, 0.01 * (idle + 3.0), "rotation");
    near(e.transfer_j, 0.01 * 13.0 + 0.04 * (idle + 3.0), "transfer");
    near(e.total_s(), 2.0, "in all");
    let back = Setting::SpindleSpeed { speed: Rpm(6000.0), takes: Span::from_ms(100.0) };
    drive.set(Time(2 * S), back).unwrap();
    // Half a turn at 1.1 s, 45 turns until 2 s, then 7.5: a whole number.
    let back = run(&mut drive, &[(2100 * MS, track(3))]);
    assert_eq!(back[0].completion, Time(2110 * MS));
    drive.reset_statistics(Time(3 * S));
    let e = drive.energy(Time(4 * S));
    near(e.total_j(), 10.0, "a second of idling at the old speed");
    for (speed, takes) in [(0.0, 1.0), (-5.0, 1.0), (f64::NAN, 1.0), (5400.0, -1.0)] {
        let bad = Setting::SpindleSpeed { speed: Rpm(speed), takes: Span::from_ms(takes) };
        assert!(drive.set(Time(4 * S), bad).is_err(), "{speed} rpm in {takes} ms");
    }
}

/// At work the change waits: what came before is served at the old speed, what comes after at the new.
#[test]
fn a_change_of_speed_waits_for_commands() {
    let mut drive = new(&buffered(awake()));
    let mut done = Vec::new();
    for i in 0..6 {
        let command = if i % 2 == 0 { Command::Write } else { Command::Read };
        drive.advance(Time(i), &mut |c| done.push(*c));
        drive.submit(Time(i), request(i, command, 1000 * i + 40, 10));
    }
    let change = Setting::SpindleSpeed { speed: Rpm(3000.0), takes: Span::from_ms(50.0) };
    drive.advance(Time(10), &mut |c| done.push(*c));
    drive.set(Time(10), change).unwrap();
    drive.submit(Time(11), request(6, Command::Read, 30_000, 10));
    assert!(!drive.abort(Time(11), 7));
    drive.submit(Time(11), request(7, Command::Read, 31_000, 10));
    assert!(drive.abort(Time(12), 7), "one that waits for the change can be aborted");
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    done.sort_by_key(|c| c.id);
    assert_eq!(done.len(), 8);
    assert!(!drive.destage_pending());
    let before = done[..6].iter().map(|c| c.completion.0).max().expect("six");
    assert!(done[6].completion.0 > before + 50 * MS);
    // Ten sectors take a tenth of a turn: 1 ms, then 2 ms.
    assert_eq!(done[1].components.transfer.non_negative(), MS);
    assert_eq!(done[6].components.transfer.non_negative(), 2 * MS);
    assert!(done[7].error);
}

/// The whole track 0 is read until 10 ms. A change that is asked for at 1 ms waits for that, and commands of 2 ms wait for
/// the change, also those that need no mechanism: one past the end, and a hit in the buffer.
#[test]
fn what_needs_no_mechanism_also_waits_for_a_change() {
    let mut drive = new(&buffered(awake()));
    let mut done = Vec::new();
    drive.submit(Time(0), request(0, Command::Read, 0, 100));
    drive.advance(Time(MS), &mut |c| done.push(*c));
    let active = Setting::PowerCondition(Condition::Active);
    drive.set(Time(MS), active).expect("a condition");
    let capacity = drive.design.capacity_blocks();
    let trace = [(2 * MS, request(1, Command::Read, capacity, 1)), (2 * MS, request(2, Command::Read, 0, 10))];
    done.extend(run(&mut drive, &trace));
    assert_eq!(done[0].completion, Time(10 * MS));
    for c in &done[1..] {
        assert_eq!((c.arrival, c.completion), (Time(2 * MS), Time(10 * MS)), "{c:?}");
        assert_eq!(c.components.queue.non_negative(), 8 * MS, "{c:?}");
    }
    assert!(done[1].error && done[2].cache_hit, "{done:?}");
}
