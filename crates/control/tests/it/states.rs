//! The queue controller as a state machine: every reachable state with every input on a grid.

use crate::common::{build_for, with_expiry};
use headstack_control::Device;
use headstack_control::{Command, Gains, Input, Mode, Pcap, Queues, Rounding, Sample, SnapBack};
use headstack_units::{Time, Watts};
use std::collections::BTreeSet;

fn queues(host: u32, drive: u32) -> Queues {
    Queues { host, drive }
}

/// The controller with the settings of Table 1.
fn table_1(mode: Mode, rounding: Rounding) -> Pcap {
    let most = match mode {
        Mode::TailLatency => queues(32, 8),
        Mode::Throughput => queues(128, 32),
    };
    Pcap {
        queues: queues(4, 1),
        start: queues(4, 1),
        least: queues(4, 1),
        agile: queues(32, 8),
        most,
        mode,
        snap_back: SnapBack::Drive,
        gains: Gains {
            raise_factor: 2.0,
            lower_factor: 8.0,
            host_queue_power: Watts(2.0),
            drive_queue_power: Watts(2.0),
            rounding,
        },
    }
}

const MODES: [Mode; 2] = [Mode::TailLatency, Mode::Throughput];
const ROUNDINGS: [Rounding; 3] = [Rounding::Down, Rounding::Nearest, Rounding::Up];

/// Errors from -5 W to 5 W in steps of 1/32 W without zero, and absurd ones.
fn errors() -> impl Iterator<Item = f64> {
    let grid = (-160..=160).filter(|n| *n != 0).map(|n| f64::from(n) / 32.0);
    grid.chain([f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY, f64::NAN])
}

/// All states that sequences of errors lead to.
fn reachable(pcap: &Pcap) -> BTreeSet<Queues> {
    let mut seen = BTreeSet::from([pcap.start]);
    let mut new = vec![pcap.start];
    while let Some(queues) = new.pop() {
        for error_w in errors() {
            let next = Pcap { queues, ..*pcap }.after(error_w);
            if seen.insert(next) {
                new.push(next);
            }
        }
    }
    seen
}

fn each(mut check: impl FnMut(&Pcap)) {
    for mode in MODES {
        for rounding in ROUNDINGS {
            let pcap = table_1(mode, rounding);
            for queues in reachable(&pcap) {
                check(&Pcap { queues, ..pcap });
            }
        }
    }
}

#[test]
fn reachable_states_are_inside_the_bounds_of_table_1() {
    for rounding in ROUNDINGS {
        let tail = reachable(&table_1(Mode::TailLatency, rounding));
        for q in &tail {
            assert!((4..=32).contains(&q.host) && (1..=8).contains(&q.drive), "{q:?}");
        }
        let throughput = reachable(&table_1(Mode::Throughput, rounding));
        for q in &throughput {
            // Beyond the agile bounds there is only the setting with the highest throughput.
            assert!((4..32).contains(&q.host) || q.host == 128, "{q:?}");
            assert!((1..=8).contains(&q.drive) || q.drive == 32, "{q:?}");
        }
        // Both ends are reached.
        assert!(tail.contains(&queues(32, 1)) && tail.contains(&queues(4, 8)));
        assert!(throughput.contains(&queues(128, 32)) && throughput.contains(&queues(128, 1)));
    }
}

#[test]
fn a_step_goes_in_the_direction_of_less_or_more_power() {
    each(|pcap| {
        for error_w in errors().filter(|e| !e.is_nan()) {
            let (was, is) = (pcap.queues, pcap.after(error_w));
            let (longer, shorter) = (is.host >= was.host, is.drive <= was.drive);
            match (pcap.mode, error_w > 0.0) {
                (_, true) => assert!(longer && shorter, "{pcap:?} {error_w}"),
                (Mode::TailLatency, false) => {
                    assert!(is.host <= was.host && is.drive >= was.drive, "{pcap:?} {error_w}");
                }
                (Mode::Throughput, false) => {
                    assert!(longer && is.drive >= was.drive, "{pcap:?} {error_w}");
                }
            }
        }
    });
}

#[test]
fn one_queue_changes_at_a_time_in_tail_latency_mode() {
    let pcap = table_1(Mode::TailLatency, Rounding::Down);
    for queues in reachable(&pcap) {
        for error_w in errors() {
            let is = Pcap { queues, ..pcap }.after(error_w);
            assert!(is.host == queues.host || is.drive == queues.drive, "{queues:?} {error_w}");
        }
    }
}

/// Equations 1 and 2 by hand, with Table 1: up to 16 |e| / 2 places and 8 |e| / 2 commands to lower power, 4 |e| / 2
/// and 2 |e| / 2 to raise it.
#[test]
fn steps_are_those_of_equations_1_and_2() {
    let at = |host, drive| Pcap { queues: queues(host, drive), ..table_1(Mode::TailLatency, Rounding::Down) };
    for (pcap, error_w, wanted) in [
        (at(4, 1), 1.0, queues(12, 1)),
        (at(4, 1), 1.6, queues(16, 1)),
        (at(4, 8), 1.0, queues(4, 4)),
        (at(4, 8), 0.5, queues(4, 6)),
        (at(30, 1), 1.0, queues(32, 1)),
        (at(32, 1), -1.0, queues(30, 1)),
        (at(32, 1), -0.49, queues(32, 1)),
        (at(32, 1), -0.5, queues(31, 1)),
        (at(4, 1), -0.99, queues(4, 1)),
        (at(4, 1), -1.0, queues(4, 2)),
        (at(4, 7), -3.0, queues(4, 8)),
    ] {
        assert_eq!(pcap.after(error_w), wanted, "{:?} {error_w}", pcap.queues);
    }
    let up = Pcap { gains: Gains { rounding: Rounding::Up, ..at(32, 1).gains }, ..at(32, 1) };
    assert_eq!(up.after(-0.01), queues(31, 1));
}

/// Section 6.3 in its three readings, with Table 1: 2 W too much are steps of 16 places and 8 commands.
#[test]
fn queues_snap_back_from_the_highest_throughput_as_it_is_read() {
    let path = |snap_back, from: Queues| {
        let mut pcap = Pcap { queues: from, snap_back, ..table_1(Mode::Throughput, Rounding::Down) };
        let mut next = || {
            pcap.queues = pcap.after(2.0);
            pcap.queues
        };
        [next(), next(), next()]
    };
    let long = queues(128, 32);
    let drive = [queues(128, 8), queues(128, 1), queues(128, 1)];
    let both = [queues(32, 8), queues(32, 1), queues(32, 1)];
    let never = [queues(128, 24), queues(128, 16), queues(128, 8)];
    assert_eq!(path(SnapBack::Drive, long), drive);
    assert_eq!(path(SnapBack::Both, long), both);
    assert_eq!(path(SnapBack::Never, long), never);
    // From short queues up to the bound, where the literal reading stays.
    let bound = [queues(20, 1), queues(32, 1), queues(32, 1)];
    assert_eq!(path(SnapBack::Both, queues(4, 1)), bound);
    assert_eq!(path(SnapBack::Drive, queues(4, 1))[1], queues(128, 1));
}

/// From every state a constant error of at least 1 W leads to the limit of its direction, within as many steps
/// as the two ranges divided by the two step sizes, and the state stays there.
#[test]
fn constant_errors_end_after_a_bounded_number_of_steps() {
    each(|pcap| {
        for error_w in errors().filter(|e| e.abs() >= 1.0 && e.is_finite()) {
            let (factor, size) = (if error_w > 0.0 { 8.0 } else { 2.0 }, error_w.abs().min(1e3));
            let host_steps = (28.0 / (size * factor).floor()).ceil();
            let drive_steps = (7.0 / (size / 2.0 * factor).floor()).ceil();
            // One more for the jump back from (128, 32).
            let bound = host_steps + drive_steps + 1.0;
            let mut now = *pcap;
            let mut n = 0.0;
            while now.after(error_w) != now.queues {
                now.queues = now.after(error_w);
                n += 1.0;
                assert!(n <= bound, "{:?} {error_w}: more than {bound} steps", pcap.queues);
            }
            let end = match (pcap.mode, error_w > 0.0) {
                (Mode::TailLatency, true) => queues(32, 1),
                (Mode::TailLatency, false) => queues(4, 8),
                (Mode::Throughput, true) => queues(128, 1),
                (Mode::Throughput, false) => queues(128, 32),
            };
            assert_eq!(now.queues, end, "from {:?} with {error_w} W", pcap.queues);
        }
    });
}

/// One period of a policy's input.
#[derive(Clone, Copy, Debug)]
enum Period {
    TooHigh,
    InBand,
    TooLow,
    Missing,
    NotANumber,
    Absurd,
    NoCap,
    BadCap,
}

const PERIODS: [Period; 8] = [
    Period::TooHigh,
    Period::InBand,
    Period::TooLow,
    Period::Missing,
    Period::NotANumber,
    Period::Absurd,
    Period::NoCap,
    Period::BadCap,
];

fn input(now: Time, period: Period) -> Input {
    let watts = match period {
        Period::TooHigh => Some(10.5),
        Period::TooLow => Some(7.5),
        Period::Missing => None,
        Period::NotANumber => Some(f64::NAN),
        Period::Absurd => Some(5000.0),
        Period::InBand | Period::NoCap | Period::BadCap => Some(9.1),
    };
    let cap = match period {
        Period::NoCap => None,
        Period::BadCap => Some(Watts(f64::NAN)),
        _ => Some(Watts(9.0)),
    };
    let sample = match watts {
        Some(w) => Sample::new(now, Watts(w)),
        None => Sample::missing(now),
    };
    Input { now, cap, sample }
}

/// Every sequence of four periods, then correct readings: the final state is always the same.
#[test]
fn every_sequence_of_four_periods_is_recovered_from() {
    let (plain, expiring) = (Device::default(), with_expiry());
    for (name, toml, device, end) in [
        ("pcap-agile", "", plain, (32, 1)),
        ("pcap-agile", "mode = \"throughput\"", plain, (128, 1)),
        ("pcap-s", "period = \"5 s\"", plain, (32, 1)),
        ("feed-forward", "", plain, (128, 1)),
        // The lowest power of the tables: 7.63 W with 96 places and 2 s.
        ("feed-forward", "", expiring, (96, 1)),
    ] {
        for number in 0..PERIODS.len().pow(4) {
            let mut policy = build_for(name, toml, &[device]);
            let mut commands = [Command::default()];
            let mut now = Time::ZERO;
            let digits = (0..4).map(|i| PERIODS[number / PERIODS.len().pow(i) % PERIODS.len()]);
            let recovery = std::iter::repeat_n(Period::TooHigh, 12);
            for period in digits.chain(recovery) {
                now = Time(now.0 + 5_000_000_000);
                policy.step(&input(now, period), &mut commands);
            }
            let reached = (commands[0].nr_requests, commands[0].queue_depth);
            assert_eq!(reached, end, "{name} {toml}, sequence number {number} in base 8");
        }
    }
}
