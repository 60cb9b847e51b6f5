//! Exhaustive searches of two small state machines: the guard of readings, and the limited rate of `learning`.

use crate::common::build_for;
use headstack_control::{Command, Device, Guard, GuardSettings, Input, OnLoss, RateLimit, Sample, Status, Turn, Work};
use headstack_units::{Frequency, Span, Time, Watts};

const SECOND: u64 = 1_000_000_000;

const SETTINGS: GuardSettings = GuardSettings {
    period: Span(2 * SECOND as i64),
    stale_after: Span(SECOND as i64),
    lost_after: Span(3 * SECOND as i64),
    most_power: Watts(100.0),
    on_loss: OnLoss::Lowest,
};

/// A reading at `now`: the power, and the age in seconds.
const READINGS: [(Option<f64>, i64); 6] =
    [(Some(8.0), 0), (Some(12.0), 0), (None, 0), (Some(f64::NAN), 0), (Some(9.0), 1), (Some(9.0), -1)];
const CAPS: [Option<f64>; 3] = [Some(9.0), None, Some(f64::NAN)];

fn input(step: usize, reading: usize, cap: usize) -> Input {
    let now = (10 + step as u64) * SECOND;
    let (power, age) = READINGS[reading];
    Input {
        now: Time(now),
        cap: CAPS[cap].map(Watts),
        sample: Sample {
            time: Time(now.saturating_add_signed(-age * SECOND as i64)),
            power: power.map(Watts),
            work: None,
        },
    }
}

/// The rules of the guard's page, computed anew from the whole history, in seconds.
fn by_the_rules(history: &[Input]) -> (&'static str, Option<f64>) {
    let at = |t: Time| t.0 / SECOND;
    let first = at(history[0].now);
    let (mut counted_until, mut heard, mut seen) = (None, first, first);
    let (mut begun, mut readings) = (first, Vec::new());
    let mut outcome = ("", None);
    for input in history {
        let (now, sample) = (at(input.now), at(input.sample.time));
        let power = input.sample.power.map_or(f64::NAN, |w| w.0);
        let is_new = counted_until.is_none_or(|last| sample > last);
        if power > 0.0 && power <= 100.0 && is_new && sample <= now && now - sample <= 1 {
            (counted_until, heard) = (Some(sample), now);
            readings.push(power);
        }
        let is_capped = input.cap.is_some();
        if !input.cap.is_some_and(|cap| cap.0.is_nan()) {
            seen = now;
        }
        let is_over = now - begun >= 2;
        let is_lost = now - heard > 3 || now - seen > 3;
        outcome = match (is_capped, is_lost, is_over, readings.is_empty()) {
            (false, ..) => ("uncapped", None),
            (true, true, ..) => ("lost", None),
            (true, false, true, false) => {
                let mean = readings.iter().sum::<f64>() / readings.len() as f64;
                ("act", Some(mean))
            }
            _ => ("keep", None),
        };
        if is_over || outcome.0 == "lost" {
            begun = now;
            readings.clear();
        }
    }
    outcome
}

/// All 18^4 sequences of readings and caps, after a first step with neither.
#[test]
fn the_guard_does_what_its_rules_say() {
    let (n_readings, n_caps) = (READINGS.len(), CAPS.len());
    let letters = n_readings * n_caps;
    let mut seen = std::collections::BTreeSet::new();
    for mut code in 0..letters.pow(4) {
        let mut history = vec![input(0, 2, 1)];
        for step in 1..5 {
            history.push(input(step, code % n_readings, code / n_readings % n_caps));
            code /= letters;
        }
        let mut guard = Guard::new(SETTINGS);
        let mut robust = Guard::robust(SETTINGS);
        for end in 1..=history.len() {
            let (want, mean) = by_the_rules(&history[..end]);
            let input = &history[end - 1];
            let named = |turn: Turn| match turn {
                Turn::Uncapped => ("uncapped", None),
                Turn::Keep => ("keep", None),
                Turn::Lost => ("lost", None),
                Turn::Act(reading) => ("act", Some(reading.power_w)),
            };
            let turn = named(guard.turn(input));
            assert_eq!(turn, (want, mean), "{:?}", &history[..end]);
            // A period has at most two readings here, whose median is their mean.
            assert_eq!(named(robust.turn(input)), turn, "{:?}", &history[..end]);
            seen.insert(want);
        }
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
}

/// A map of one setting, so that only the rate is left.
const ONE: &str = "map = [{ nr_requests = 128, queue_depth = 32, power = \"9.2 W\", iops = 20.0 }]";

/// What a period shows: watts, and whether the drive serves as much as it may.
const PERIODS: [(f64, bool); 4] = [(9.5, true), (9.1, true), (8.0, true), (8.0, false)];

/// All 4^6 sequences of periods after the rate was limited: it is cut in each period above the cap, never below one per second,
/// grows only far below the cap, stays within the tolerance, ends only where the load does not need it, and the status says which.
#[test]
fn a_limited_rate_follows_each_sequence_of_periods() {
    let device = Device { can_limit: true, ..Device::default() };
    let mut ends = 0;
    for code in 0..4usize.pow(6) {
        let mut policy = build_for("learning", ONE, &[device]);
        let mut commands = [Command::default()];
        let mut now = 0;
        let rate = |command: &Command| match command.rate_limit {
            RateLimit::Requests(Frequency(rate)) => Some(rate),
            _ => None,
        };
        // Some seconds; after 5 the policy has decided.
        let mut period = |seconds: u64, watts: f64, is_held: bool, commands: &mut [Command]| {
            let mut status = Status::Regulating;
            for _ in 0..seconds {
                now += SECOND;
                let allowed = rate(&commands[0]).unwrap_or(20.0);
                let work = Work {
                    response_time: Span::from_secs_f64(128.0 / allowed),
                    rate: Some(Frequency(if is_held { allowed } else { 0.3 * allowed })),
                };
                let sample = Sample { work: Some(work), ..Sample::new(Time(now), Watts(watts)) };
                let cap = Some(Watts(9.0));
                let input = Input { now: Time(now), cap, sample };
                status = policy.step(&input, commands);
            }
            status
        };
        // The first period begins with the first step.
        period(1, 9.5, true, &mut commands);
        let mut n = 0;
        while rate(&commands[0]).is_none() {
            period(5, 9.5, true, &mut commands);
            n += 1;
            assert!(n <= 9, "no limit after {n} periods above the cap");
        }
        // Not before 30 s, which are six periods.
        assert!(n >= 6, "a limit after {n} periods");
        let mut code = code;
        for _ in 0..6 {
            let Some(before) = rate(&commands[0]) else {
                ends += 1;
                break;
            };
            let (watts, is_held) = PERIODS[code % 4];
            code /= 4;
            let status = period(5, watts, is_held, &mut commands);
            let after = rate(&commands[0]);
            match (watts, is_held) {
                (9.5, _) => assert_eq!(after, Some((0.6 * before).max(1.0))),
                (8.0, true) => assert!((after.expect("a limit") - 1.08 * before).abs() < 1e-9),
                (8.0, false) => assert_eq!(after, None),
                _ => assert_eq!(after, Some(before)),
            }
            let least = after.is_some_and(|rate| rate <= 1.0);
            match (after, watts > 9.2) {
                (Some(_), true) if least => {
                    assert!(matches!(status, Status::Unreachable { .. }), "{status:?}");
                }
                (Some(_), _) if !least => assert_eq!(status, Status::Limiting),
                _ => assert_eq!(status, Status::Regulating),
            }
        }
    }
    assert!(ends > 0);
}
