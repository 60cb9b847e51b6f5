//! `learning` against the best fixed setting in hindsight, with right and wrong maps, without an elevator, with poor meters,
//! and where no setting keeps the cap.

use crate::common::plant::{map_text, mean, over_cap_j, Kind, Noise, Run, Second};
use crate::common::{build, build_for, expiries_s, with_expiry};
use headstack_control::{Command, Device, Input, RateLimit, Sample, Status, Work};
use headstack_testkit::SplitMix;
use headstack_units::{Frequency, Span, Time, Watts};

const TOLERANCE_W: f64 = 0.2;

/// Ten minutes without a cap, then twenty under one.
fn run(kind: Kind, cap: f64, seed: u64, device: Device, toml: &str) -> Vec<Second> {
    let phases = [(120, None), (1200, Some(cap))];
    let mut run = Run::one(kind, seed, &phases);
    run.device = device;
    run.tells_response_times = true;
    run.with(build_for("learning", toml, &[device]))
}

/// The throughput of the fastest fixed setting whose true power keeps the cap, by trying all of them.
fn best_fixed(kind: &Kind, cap: f64, device: &Device) -> Option<f64> {
    let mut best = None;
    for nr_requests in 4..=128 {
        for queue_depth in 1..=32 {
            for expire in expiries_s(device) {
                let command =
                    Command { nr_requests, queue_depth, read_expire: expire.map(Span::from_secs_f64), ..device.open };
                let iops = kind.iops(&command);
                if kind.watts(&command) <= cap && best.is_none_or(|b| iops > b) {
                    best = Some(iops);
                }
            }
        }
    }
    best
}

/// Seconds above the cap and its tolerance.
fn over_s(seconds: &[Second]) -> usize {
    let over = |s: &&Second| s.cap.is_some_and(|cap| s.watts > cap + TOLERANCE_W);
    seconds.iter().filter(over).count()
}

/// The lost part of the best throughput in the last ten minutes.
fn regret(seconds: &[Second], best: f64) -> f64 {
    1.0 - mean(&seconds[720..], |s| s.iops) / best
}

/// With the right map: within 5 % of the best in hindsight, and at most 10 s above each cap.
#[test]
fn it_comes_near_the_best_fixed_setting() {
    for device in [Device::default(), with_expiry()] {
        for cap in [9.5, 9.0, 8.5, 8.0] {
            let best = best_fixed(&Kind::default(), cap, &device).expect("a setting keeps it");
            for seed in 0..5 {
                let seconds = run(Kind::default(), cap, seed, device, "");
                let (lost, over) = (regret(&seconds, best), over_s(&seconds));
                println!("cap {cap} W, seed {seed}: {:.1} % lost, {over} s over", 100.0 * lost);
                assert!(lost < 0.05, "cap {cap} W, seed {seed}: {lost}");
                assert!(over <= 10, "cap {cap} W, seed {seed}: {over} s over");
            }
        }
    }
}

/// One point says 7.5 W where 10.7 W are drawn. It is tried once, and never again.
#[test]
fn one_wrong_point_of_the_map_costs_one_try() {
    let wrong = |n, d, w| if (n, d) == (4, 1) { 7.5 } else { w };
    let seconds = run(Kind::default(), 7.9, 1, Device::default(), &map_text(wrong));
    assert!(over_s(&seconds[180..]) <= 15, "{} s over", over_s(&seconds));
    let at_wrong = |s: &&Second| (s.commands[0].nr_requests, s.commands[0].queue_depth) == (4, 1);
    assert!(seconds[300..].iter().filter(at_wrong).count() == 0);
}

/// Random errors of 20 % of the powers, twelve maps: the cap is held after a few tries.
#[test]
fn random_errors_of_the_map_are_measured_away() {
    let (cap, kind) = (8.6, Kind::default());
    let settings = [4, 8, 16, 32, 64, 128].map(|n| [1, 2, 4, 8, 16, 32].map(|d| (n, d)));
    let of = |(nr_requests, queue_depth)| Command { nr_requests, queue_depth, ..Command::default() };
    let keeps = settings.iter().flatten().map(|s| of(*s)).filter(|c| kind.watts(c) <= cap);
    let best = keeps.map(|c| kind.iops(&c)).fold(0.0, f64::max);
    let mut all = Vec::new();
    for seed in 0..12 {
        let mut draw = SplitMix(seed);
        let errors: Vec<f64> = (0..36).map(|_| 0.8 + 0.4 * draw.unit()).collect();
        let index = |n: u32, d: u32| (n.ilog2() as usize - 2) * 6 + d.ilog2() as usize;
        let toml = map_text(|n, d, w| w * errors[index(n, d)]);
        let seconds = run(kind, cap, seed, Device::default(), &toml);
        let (lost, over) = (regret(&seconds, best), over_s(&seconds));
        println!("map {seed}: {:.1} % lost, {over} s over", 100.0 * lost);
        assert!(over <= 60, "map {seed}: {over} s over");
        assert!(over_s(&seconds[720..]) <= 10, "map {seed}: over at the end");
        all.push(lost);
    }
    // Within the tolerance of the cap nothing changes, so a faster setting that the map calls hungry is not found.
    let mean_lost = all.iter().sum::<f64>() / all.len() as f64;
    let most_lost = all.iter().copied().fold(0.0, f64::max);
    println!("{:.1} % lost on average, {:.1} % at most", 100.0 * mean_lost, 100.0 * most_lost);
    assert!(mean_lost < 0.1 && most_lost < 0.3, "{all:?}");
}

/// Without an elevator the map's order is the wrong one: power rises as the depth shrinks. The lowest power, 9.5 W, is that
/// of the drives' own setting. Other policies end at 10.6 W and half of the throughput.
#[test]
fn without_an_elevator_it_returns_to_the_best_it_has_seen() {
    let kind = Kind { has_elevator: false, ..Kind::default() };
    let open = Command::default();
    let (open_w, open_iops) = (kind.watts(&open), kind.iops(&open));
    for seed in 0..5 {
        let seconds = run(kind, open_w - 0.5, seed, Device::default(), "");
        let end = &seconds[300..];
        let (watts, iops) = (mean(end, |s| s.watts), mean(end, |s| s.iops));
        println!("seed {seed}: {watts:.2} W of {open_w:.2}, {iops:.0}/s of {open_iops:.0}");
        assert!(watts < open_w + 0.1, "seed {seed}: {watts} W");
        assert!(iops > 0.95 * open_iops, "seed {seed}: {iops}/s");
        let last = seconds.last().expect("seconds").status;
        assert!(matches!(last, Status::Unreachable { .. }), "{last:?}");
    }
    let seconds = Run::one(kind, 1, &[(120, None), (600, Some(9.0))]).with(build("feed-forward", "", 1));
    assert!(mean(&seconds[300..], |s| s.watts) > open_w + 0.5, "need another policy to end above");
}

/// Absurd readings: one in five of 0.1 W, one a minute of 99 W, readings of 6 s ago, a reading each 20 s.
#[test]
fn poor_meters_cost_little() {
    let device = Device::default();
    let kind = Kind::default();
    let cap = 8.5;
    let best = best_fixed(&kind, cap, &device).expect("a setting keeps it");
    let damaged = |damage: &dyn Fn(usize, Sample) -> Sample| {
        let mut run = Run::one(kind, 3, &[(120, None), (1200, Some(cap))]);
        run.tells_response_times = true;
        run.damaged(build("learning", "", 1), damage)
    };
    let watts = |sample: Sample, w: f64| Sample { power: Some(Watts(w)), ..sample };
    let low = damaged(&|i, s| if i % 5 == 0 { watts(s, 0.1) } else { s });
    let high = damaged(&|i, s| if i % 60 == 0 { watts(s, 99.0) } else { s });
    let late = {
        let kept = std::cell::RefCell::new(Vec::new());
        damaged(&|i, s| {
            let mut kept = kept.borrow_mut();
            kept.push(s);
            kept[i.saturating_sub(6)]
        })
    };
    let rare = damaged(&|i, s| {
        let at = i / 20 * 20;
        match i == at {
            true => s,
            false => Sample { time: Time(1_000_000_000 * (at as u64 + 1)), ..s },
        }
    });
    for (name, seconds, most_over) in
        [("0.1 W", low, 10), ("99 W", high, 10), ("6 s late", late, 30), ("each 20 s", rare, 60)]
    {
        let (lost, over) = (regret(&seconds, best), over_s(&seconds));
        println!("{name}: {:.1} % lost, {over} s over", 100.0 * lost);
        assert!(over <= most_over, "{name}: {over} s over");
        assert!(lost < 0.06, "{name}: {lost}");
    }
}

/// Two threads: no setting saves power, so the rate is limited after a while, if it can be. The energy above the cap is
/// bounded as the model says.
#[test]
fn what_no_setting_keeps_is_limited_or_said() {
    let kind = Kind { threads: 2, ..Kind::default() };
    let cap = 8.9;
    let seconds = run(kind, cap, 1, Device::default(), "");
    let last = seconds.last().expect("seconds").status;
    let Status::Unreachable { excess } = last else {
        panic!("got {last:?}, need unreachable");
    };
    assert!((excess.0 - (10.7 - cap)).abs() < 0.15, "{excess}");

    let device = Device { can_limit: true, ..Device::default() };
    let seconds = run(kind, cap, 1, device, "");
    let over = over_s(&seconds);
    assert!(over_s(&seconds[400..]) == 0, "over at the end");
    // Tries of at most six settings, 30 s until the limit, and log(90) / log(1 / 0.6) = 9 periods.
    assert!(over <= 7 * 7 + 30 + 9 * 6, "{over} s over");
    // The model's bound: the excess, at most that of the throttle's peak, for as long.
    let (bound_j, is_j) = ((10.7 - cap - TOLERANCE_W) * (49.0 + 30.0 + 54.0), over_cap_j(&seconds, TOLERANCE_W));
    println!("{is_j:.0} J over, at most {bound_j:.0} J");
    assert!(is_j <= bound_j, "{is_j} J");
    let limited = |s: &Second| s.commands[0].rate_limit != RateLimit::Unlimited;
    assert!(limited(seconds.last().expect("seconds")));
    assert_eq!(seconds.last().expect("seconds").status, Status::Limiting);
    // By the plant's table 8.9 W are 40 requests per second, and 0.2 W more 44.
    let served = mean(&seconds[720..], |s| s.iops);
    assert!((25.0..=46.0).contains(&served), "{served}/s");
}

/// Six of a hundred requests per second wait: no depth but 1 saves power, and readings scatter by more than the map's slope. The
/// lowest of the map is tried all the same before the cap is given up, so depth 1 is found with each seed.
#[test]
fn the_lowest_of_the_map_is_tried_where_readings_scatter() {
    for seed in 0..20 {
        let mut noise = Noise(seed);
        let mut policy = build_for("learning", "", &[Device::default()]);
        let mut commands = [Command::default()];
        for second in 1..=400 {
            let true_w = match commands[0].queue_depth {
                1 => 9.6,
                _ => 10.2,
            };
            let now = Time(1_000_000_000 * second);
            let work = Work { response_time: Span::from_ms(60.0), rate: Some(Frequency(100.0)) };
            let input = Input {
                now,
                cap: Some(Watts(9.9)).filter(|_| second > 60),
                sample: Sample { work: Some(work), ..Sample::new(now, Watts(true_w + 0.25 * noise.normal())) },
            };
            policy.step(&input, &mut commands);
        }
        assert_eq!(commands[0].queue_depth, 1, "seed {seed}");
    }
}

/// With the shortest queue at the drive the longest expiry of the other settings, 2 s, still expires: only with 3 s the table drive
/// draws less than 7.6 W.
#[test]
fn the_lowest_power_needs_the_longest_expiry() {
    let device = with_expiry();
    let two = |nr_requests| Command {
        nr_requests,
        queue_depth: 1,
        read_expire: Some(Span::from_secs_f64(2.0)),
        ..device.open
    };
    let kind = Kind::default();
    let least_w = (4..=128).map(|n| kind.watts(&two(n))).fold(99.0, f64::min);
    let cap = 7.37;
    assert!(least_w > cap + TOLERANCE_W, "{least_w}");
    for seed in 0..3 {
        let seconds = run(kind, cap, seed, device, "");
        assert_eq!(over_s(&seconds[400..]), 0, "seed {seed}");
    }
}

/// Without a cap a drive has its own setting, and a queue that is not full is not opened.
#[test]
fn without_a_cap_drives_are_as_they_were() {
    let mut run = Run::one(Kind::default(), 1, &[(60, None), (200, Some(8.5)), (60, None)]);
    run.tells_response_times = true;
    let seconds = run.with(build("learning", "", 1));
    for s in seconds[..60].iter().chain(&seconds[265..]) {
        assert_eq!(s.commands[0], Command::default());
    }
    assert!(seconds[200].commands[0] != Command::default());
}

/// A policy that limits the rate is interrupted: the one that goes on limits it from its first step, one that begins anew has to find
/// out again. A state of other tiers is refused, and so is another document.
#[test]
fn a_policy_goes_on_where_it_was() {
    let device = Device { can_limit: true, ..Device::default() };
    let make = || build_for("learning", "", &[device]);
    let input = |s: u64, watts: f64| {
        let now = Time(s * 1_000_000_000);
        let mut sample = headstack_control::Sample::new(now, Watts(watts));
        sample.work = Some(headstack_control::Work {
            response_time: Span::from_secs_f64(1.0),
            rate: Some(headstack_units::Frequency(128.0)),
        });
        headstack_control::Input { now, cap: Some(Watts(7.0)), sample }
    };
    let mut first = make();
    let mut commands = [Command::default()];
    for s in 0..200 {
        first.step(&input(s, 9.0), &mut commands);
    }
    assert_ne!(commands[0].rate_limit, RateLimit::Unlimited, "it limits");
    let state = first.state().expect("a state");
    let minute = Span(60_000_000_000);
    let mut second = make();
    second.resume(&state, minute).expect("its own state");
    let mut again = [Command::default()];
    second.step(&input(260, 9.0), &mut again);
    assert_eq!(again, commands);
    let mut anew = make();
    anew.step(&input(260, 9.0), &mut again);
    assert_eq!(again[0].rate_limit, RateLimit::Unlimited);

    let mut shelf = build_for("learning", "", &[device; 2]);
    let error = shelf.resume(&state, minute).unwrap_err().to_string();
    assert!(error.contains("tiers: got [1] drives, need [2] drives"), "{error}");
    let mut wrong = state.clone();
    wrong["over"] = "-3 s".into();
    let error = make().resume(&wrong, minute).unwrap_err().to_string();
    assert!(error.contains("over: got"), "{error}");
    assert!(make().resume(&serde_json::Value::Null, minute).is_err());
}
