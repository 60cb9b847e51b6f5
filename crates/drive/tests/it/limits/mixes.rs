//! Checks 1 to 14 of the tools for real drives (cdl-tools), and what holds under any mix of limits. Check 12, that a run ends in
//! time, is part of each load ([`closed`]).

use super::measured::{closed, Load};
use super::*;
use headstack_testkit::{cases, shipped, SplitMix};
use std::collections::BTreeMap;

/// The load of the tools: random commands of 1280 KiB at depth 32, some with limit 1; 60 s or so of them.
fn load(command: Command, share: &[f64], depth: usize) -> Load<'_> {
    Load { command, blocks: 2560, depth, shares: share, count: 3000, plain_writes: 0.0 }
}

fn hc570(list: Vec<DurationLimit>, transport: Transport) -> Drive {
    let mut spec = shipped::drive("ultrastar-hc570");
    spec.duration_limits = LimitsSpec { transport, writes: list.clone(), ..limits(list) };
    new(&spec)
}

/// Checks 1 and 2: what is set is read back, and enabling or disabling twice changes nothing.
#[test]
fn settings_come_back() {
    let list = vec![guideline(50, Policy::ContinueNoLimit), active(20, Policy::AbortRecovery)];
    let mut drive = hc570(Vec::new(), Transport::Sas);
    let set = limits(list);
    for _ in 0..2 {
        drive.set(Time(0), Setting::DurationLimits(Box::new(set.clone()))).expect("limits");
        assert_eq!(drive.duration_limits(), &set);
    }
    for enabled in [Heeded::None, Heeded::None, Heeded::Limits, Heeded::Limits] {
        drive.set(Time(0), Setting::HeededHints(enabled)).expect("limits");
        let want = LimitsSpec { enabled, ..set.clone() };
        assert_eq!(drive.duration_limits(), &want);
    }
}

/// Check 3: guidelines that end no command. The class with a limit has at most half the mean of the other.
#[test]
fn guidelines_without_errors() {
    for list in [
        vec![guideline(50, Policy::CompleteEarliest)],
        vec![guideline(20, Policy::ContinueNextLimit), guideline(50, Policy::CompleteEarliest)],
    ] {
        let mut drive = hc570(list, Transport::Sata);
        let seen = closed(&mut drive, &load(Command::Read, &[0.1], 32));
        let [none, limited] = [0, 1].map(|i| seen.classes[i].mean());
        println!("mean {limited} and {none} s");
        assert_eq!(seen.failed, [0; 8]);
        assert!(limited <= none / 2.0, "{limited} {none}");
    }
    let mut drive = hc570(vec![guideline(20, Policy::ContinueNoLimit)], Transport::Sata);
    let seen = closed(&mut drive, &load(Command::Read, &[0.1], 32));
    assert_eq!(seen.failed, [0; 8]);
    assert!(seen.classes[1].mean() < seen.classes[0].mean());
}

/// Checks 4 to 7 and 13: times that end commands. Those of the class with the limit fail, none of the others does; no policy 0
/// ends one. Both times in one limit, and each on both transports.
#[test]
fn times_that_end_commands() {
    use Policy::{Abort, CompleteEarliest, CompleteUnavailable};
    for transport in [Transport::Sata, Transport::Sas] {
        for policy in [CompleteEarliest, CompleteUnavailable, Abort] {
            for limit in [guideline(20, policy), active(20, policy), inactive(20, policy)] {
                let mut drive = hc570(vec![limit], transport);
                let seen = closed(&mut drive, &load(Command::Read, &[0.9], 32));
                let ends = policy != CompleteEarliest;
                assert_eq!(seen.failed[1] > 0, ends, "{limit:?} {transport:?}");
                assert_eq!(seen.failed[0], 0);
            }
        }
        for (first, second) in
            [(CompleteUnavailable, Abort), (Abort, CompleteEarliest), (CompleteEarliest, CompleteEarliest)]
        {
            let both = DurationLimit { inactive: ms(20), inactive_policy: first, ..active(20, second) };
            let mut drive = hc570(vec![both, guideline(30, Abort)], transport);
            let seen = closed(&mut drive, &load(Command::Read, &[0.5, 0.2], 32));
            assert_eq!(seen.failed[0], 0);
            assert!(seen.failed[2] > 0);
            assert_eq!(seen.failed[1] > 0, first != CompleteEarliest || second != CompleteEarliest);
        }
    }
}

/// Check 8: reads with limits beside plain writes, 70 to 30. Guidelines that end nothing order the reads, other times end reads with
/// the limit, and no plain write fails or has a limit, which `closed` asserts.
#[test]
fn plain_writes_beside_limited_reads() {
    use Policy::{Abort, CompleteEarliest, CompleteUnavailable, ContinueNoLimit};
    let mixed = |shares| Load { plain_writes: 0.3, ..load(Command::Read, shares, 32) };
    let writes = |seen: &super::measured::Seen| seen.writes.0.len() as f64;
    for transport in [Transport::Sata, Transport::Sas] {
        let mut drive = hc570(vec![guideline(50, CompleteEarliest)], transport);
        let seen = closed(&mut drive, &mixed(&[0.1]));
        let [none, limited] = [0, 1].map(|i| seen.classes[i].mean());
        println!("{transport:?}: mean {limited} and {none} s, writes {} s", seen.writes.mean());
        assert_eq!(seen.failed, [0; 8]);
        assert!(limited <= none / 2.0, "{limited} {none}");
        // 30 % of 3,000, within five standard deviations.
        assert!((writes(&seen) - 900.0).abs() < 125.0, "{}", writes(&seen));
        for policy in [CompleteUnavailable, Abort] {
            for limit in [guideline(20, policy), active(20, policy), inactive(20, policy)] {
                let mut drive = hc570(vec![limit], transport);
                let seen = closed(&mut drive, &mixed(&[0.9]));
                assert!(seen.failed[1] > 0, "{limit:?} {transport:?}");
                assert_eq!(seen.failed[0], 0);
                assert!(writes(&seen) > 0.0);
            }
        }
        let mut drive = hc570(vec![guideline(20, ContinueNoLimit)], transport);
        assert_eq!(closed(&mut drive, &mixed(&[0.9])).failed, [0; 8]);
    }
}

/// Check 14: a command that ends without data says so, at the time of its limit and not later: the sense of SPC-6, key Fh, 55h/0Ah.
#[test]
fn unavailable_data_are_no_data() {
    let mut drive = hc570(vec![active(5, Policy::CompleteUnavailable)], Transport::Sas);
    let (mut ended, mut unavailable) = (0, 0);
    let mut noise = SplitMix(14);
    for id in 0..40 {
        let now = id * 1_000_000_000;
        let request = DriveRequest {
            id,
            command: Command::Read,
            lba: Lba(noise.below(drive.capacity_blocks() - 2560)),
            blocks: 2560,
            hint: Hint::new(1, false).expect("a limit"),
        };
        drive.submit(Time(now), request);
        drive.advance(Time(now + 999_999_999), &mut |c| {
            ended += 1;
            if c.limit == LimitEnd::Unavailable {
                unavailable += 1;
                assert!(c.error && c.limit.fails());
                assert_eq!(c.limit.code(), Some((0xf, 0x55, 0x0a)));
                // The active time is over then; the channel has not brought all of the data, which takes over 4 ms.
                let shares = &c.components;
                assert_eq!(c.completion.0 - c.arrival.0 - shares.queue, 5_000_000);
                assert!(shares.transfer < 4_000_000, "{shares:?}");
            } else {
                assert_eq!(c.limit, LimitEnd::Met);
                assert!(c.completion.0 - c.arrival.0 <= 5_000_000 + c.components.queue);
            }
        });
    }
    assert_eq!(ended, 40);
    assert!(unavailable > 20, "{unavailable}");
}

/// Check 9: the write cache hides limits of writes. Writes past the cache have them.
#[test]
fn limits_of_writes() {
    for (command, fails) in [(Command::Write, false), (Command::WriteThrough, true)] {
        let mut drive = hc570(vec![inactive(20, Policy::Abort)], Transport::Sas);
        let seen = closed(&mut drive, &load(command, &[0.5], 32));
        assert_eq!(seen.failed[1] > 0, fails, "{command:?}");
        assert_eq!(seen.failed[0], 0);
    }
}

/// Check 10: without a queue, only active times end commands.
#[test]
fn no_queue_no_wait() {
    for policy in [Policy::CompleteUnavailable, Policy::Abort] {
        for (limit, fails) in
            [(guideline(20, policy), false), (inactive(20, policy), false), (active(20, policy), true)]
        {
            let mut drive = hc570(vec![limit], Transport::Sata);
            let seen = closed(&mut drive, &load(Command::Read, &[0.9], 1));
            assert_eq!(seen.failed[1] > 0, fails, "{limit:?}");
        }
    }
}

/// Check 11: only the counter of the time that was exceeded moves, and none for policy 0; as often as commands ended, or more.
#[test]
fn counters_count_what_was_exceeded() {
    for policy in [Policy::CompleteEarliest, Policy::CompleteUnavailable, Policy::Abort] {
        for (kind, limit) in [inactive(20, policy), active(20, policy), guideline(20, policy)].into_iter().enumerate() {
            let mut drive = hc570(vec![DurationLimit::default(), limit], Transport::Sas);
            let seen = closed(&mut drive, &load(Command::Read, &[0.1, 0.5], 32));
            let counts = drive.limit_counts().expect("counts");
            let c = counts[0][1];
            let moved = [c.n_inactive, c.n_active, c.n_guideline];
            for (i, n) in moved.into_iter().enumerate() {
                let ends = i == kind && policy != Policy::CompleteEarliest;
                assert_eq!(n > 0, ends, "{policy:?} {moved:?}");
            }
            assert!(moved[kind] >= seen.failed[2]);
            assert!(c.n_commands > 0 && c.n_met < c.n_commands);
            // Commands of a limit without times meet it.
            assert_eq!(counts[0][0].n_met, counts[0][0].n_commands);
            assert_eq!(counts[1], <[_; 7]>::default());
        }
    }
}

fn draw_limits(draw: &mut SplitMix) -> Vec<DurationLimit> {
    use Policy::{Abort, CompleteEarliest, CompleteUnavailable, ContinueNextLimit, ContinueNoLimit};
    let time = |draw: &mut SplitMix| (draw.below(3) > 0).then(|| Span(1_000_000 + draw.below(60_000_000) as i64));
    let ends = [CompleteEarliest, CompleteUnavailable, Abort];
    let all = [CompleteEarliest, CompleteUnavailable, Abort, ContinueNextLimit, ContinueNoLimit];
    let one = |i: u64, draw: &mut SplitMix| DurationLimit {
        inactive: time(draw),
        inactive_policy: ends[draw.below(3) as usize],
        active: time(draw),
        active_policy: ends[draw.below(3) as usize],
        guideline: time(draw),
        guideline_policy: all[draw.below(if i == 6 { 3 } else { 5 }) as usize],
    };
    (0..7).map(|i| one(i, draw)).collect()
}

/// Whatever is drawn: each command ends once, not before its arrival; shares add up; commands without a limit never end by one;
/// the steps in which the drive is advanced have no effect.
#[test]
fn every_command_ends_once() {
    let names = ["ultrastar-hc570", "exos-2x18-sas", "exos-x18", "cheetah-10k-19g"];
    for seed in 0..24 * cases(1) as u64 {
        println!("seed {seed}");
        let mut draw = SplitMix(seed);
        let mut spec = shipped::drive(names[draw.below(names.len() as u64) as usize]);
        spec.duration_limits = LimitsSpec {
            enabled: [Heeded::Limits, Heeded::Limits, Heeded::Priority][draw.below(3) as usize],
            reads: draw_limits(&mut draw),
            writes: draw_limits(&mut draw),
            transport: [Transport::Sata, Transport::Sas][draw.below(2) as usize],
            performance: [0.0, 0.05, 0.2][draw.below(3) as usize],
            ..LimitsSpec::default()
        };
        spec.queue.depth = [0, 4, 32][draw.below(3) as usize];
        let scheduler = ["fcfs", "sptf", "depth-aged-sptf", "deadline-sptf"][draw.below(4) as usize];
        spec.queue.scheduler = scheduler.into();
        spec.queue.scheduler_parameters = Default::default();
        let capacity = new(&spec).capacity_blocks();
        let (mut at, mut trace) = (0, Vec::new());
        for id in 0..300 {
            at += draw.below(16_000_000);
            let command = [Command::Read, Command::Read, Command::Write, Command::WriteThrough, Command::Flush];
            let command = command[(draw.below(21) / 5) as usize];
            let hint = match draw.below(3) {
                0 => Hint::None,
                1 => Hint::HighPriority,
                _ => Hint::new(1 + draw.below(7) as u8, false).expect("a limit"),
            };
            let request = DriveRequest {
                id,
                command,
                lba: Lba(draw.below(capacity - 4096)),
                blocks: 1 + draw.below(2048) as u32,
                hint,
            };
            trace.push((at, request));
        }
        let whole = mixed(&spec, &trace, u64::MAX);
        assert_eq!(whole.len(), trace.len());
        for (arrival, request) in &trace {
            let c = &whole[&request.id];
            let s = &c.components;
            assert_eq!(c.arrival, Time(*arrival));
            let sum = s.queue + s.overhead + s.seek + s.rotation + s.transfer + s.bus;
            assert_eq!(sum, c.completion.0 - c.arrival.0, "{c:?}");
            let limited = matches!(request.hint, Hint::Limit(_))
                && spec.duration_limits.enabled == Heeded::Limits
                && request.command != Command::Flush;
            assert_eq!(c.limit == LimitEnd::Unlimited, !limited, "{request:?} {c:?}");
            assert_eq!(c.error, c.limit.fails());
        }
        assert_eq!(mixed(&spec, &trace, 3_000_000), whole);
    }
}

/// The completions by id; besides the arrivals, the drive is advanced in steps of `step` nanoseconds.
fn mixed(spec: &DriveSpec, trace: &[(u64, DriveRequest)], step: u64) -> BTreeMap<u64, Completion> {
    let mut drive = new(spec);
    let mut done = BTreeMap::new();
    let mut add = |c: &Completion| assert!(done.insert(c.id, *c).is_none(), "twice: {c:?}");
    let mut now: u64 = 0;
    for (at, request) in trace {
        while now.saturating_add(step) < *at {
            now += step;
            drive.advance(Time(now), &mut add);
        }
        now = *at;
        drive.advance(Time(*at), &mut add);
        drive.submit(Time(*at), *request);
    }
    drive.advance(Time(100_000_000_000), &mut add);
    assert_eq!(drive.queue_len(), 0);
    done
}
