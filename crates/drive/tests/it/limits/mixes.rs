//! Checks 1 to 14 of the tools for real drives (cdl-tools), and what holds under any mix of limits. Check 12, that a run ends in
//! time, is part of each load ([`closed`]).

use super::measured::{closed, Load};
use super::*;
use headstack_testkit::world::{check_all, vary_limits, World};
use headstack_testkit::{cases, shipped, SplitMix};

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
        drive.set(Time(0), Setting::DurationLimits(set.clone())).expect("limits");
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
            lba: Lba(noise.below(drive.design.capacity_blocks() - 2560)),
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
                assert_eq!(c.completion.span_from(c.arrival) - shares.queue, Span(5_000_000));
                assert!(shares.transfer < Span(4_000_000), "{shares:?}");
            } else {
                assert_eq!(c.limit, LimitEnd::Met);
                assert!(c.completion.0 - c.arrival.0 <= 5_000_000 + c.components.queue.non_negative());
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

/// Whatever is drawn: commands without a limit never end by one, none fails otherwise, and the rest of what always holds.
#[test]
fn every_mix_keeps_what_always_holds() {
    let names = ["ultrastar-hc570", "exos-2x18-sas", "exos-x18", "cheetah-10k-19g"];
    check_all((0..24 * cases(1)).map(|seed| {
        let mut draw = SplitMix(seed);
        let mut spec = shipped::drive(names[draw.below(names.len() as u64) as usize]);
        vary_limits(&mut draw, &mut spec);
        spec.queue.depth = draw.of(&[0, 4, 32]);
        spec.queue.scheduler = draw.of(&["fcfs", "sptf", "depth-aged-sptf", "deadline-sptf"]).into();
        spec.queue.scheduler_parameters = Default::default();
        (seed, World::on(seed, &spec).map(|world| world.calm().paced(80, 0.125)))
    }));
}
