//! `learning` over tiers behind one meter: shares of the budget, caps of tiers, and what is kept for a later run.

use crate::common::build;
use crate::common::plant::{mean, Kind, Run, Second};
use headstack_control::policy::Policy;
use headstack_control::{Command, Input, Sample, Status, Work};
use headstack_units::{Frequency, Span, Time, Watts};
use serde_json::{json, Value};

const TIERS: [usize; 3] = [5, 5, 6];
/// What all draw without a cap, and under the lowest settings, at the meter: 16 · 9.15 W / 0.83, and by the plant's table.
const CAPS: [(u32, Option<f64>); 7] = [
    (120, None),
    (240, Some(172.0)),
    (240, Some(165.0)),
    (240, Some(158.0)),
    (240, Some(170.0)),
    (240, Some(156.0)),
    (240, None),
];

fn shelf(seed: u64, phases: &[(u32, Option<f64>)]) -> Run {
    Run { tells_response_times: true, ..Run::shelf(seed, phases) }
}

/// The second half of phase `i` of [`CAPS`].
fn settled(seconds: &[Second], i: usize) -> &[Second] {
    let begin: u32 = CAPS[..i].iter().map(|p| p.0).sum();
    let (begin, length) = (begin as usize, CAPS[i].0 as usize);
    &seconds[begin + length / 2..begin + length]
}

/// Mean power and depth of the drives of a tier.
fn tier(seconds: &[Second], tier: usize) -> (f64, f64) {
    let first: usize = TIERS[..tier].iter().sum();
    let drives = first..first + TIERS[tier];
    let n = drives.len() as f64;
    let watts = |s: &Second| s.drive_watts[drives.clone()].iter().sum::<f64>() / n;
    let depth = |s: &Second| f64::from(s.commands[drives.start].queue_depth);
    (mean(seconds, watts), mean(seconds, depth))
}

fn over_s(seconds: &[Second]) -> usize {
    let over = |s: &&Second| s.cap.is_some_and(|cap| s.watts > cap + 1.0);
    seconds.iter().filter(over).count()
}

/// By hand: while the cap is above what the last tier alone can give up, the first keeps its setting of without a cap. All
/// caps are held, at most 10 s after each fall.
#[test]
fn strict_tiers_lose_from_the_last() {
    for seed in 0..5 {
        let run = shelf(seed, &CAPS).with(build("learning", "tiers = [5, 5, 6]", 16));
        let free = tier(settled(&run, 0), 0).0;
        for (i, (_, cap)) in CAPS.iter().enumerate() {
            let part = settled(&run, i);
            let all = [0, 1, 2].map(|t| tier(part, t).0);
            println!("seed {seed}: cap {cap:?}: {:.1} W, tiers {all:.2?}", mean(part, |s| s.watts));
            assert!(all[0] >= all[1] - 0.05 && all[1] >= all[2] - 0.05, "{all:?}");
            if let Some(cap) = cap {
                assert!(mean(part, |s| s.watts) < cap + 1.0, "seed {seed}, cap {cap}");
            }
        }
        // 5 W less of 176 W at the meter are 4 W less of the drives: the last six can give up 1.2 W each and more.
        assert!((tier(settled(&run, 1), 0).0 - free).abs() < 0.1);
        assert!(tier(settled(&run, 1), 2).0 < free - 0.3);
        let falls = 4;
        assert!(over_s(&run) <= 10 * falls, "seed {seed}: {} s over", over_s(&run));
    }
}

/// Equal drives with equal weights lose alike by marginal loss, and more of a tier's watts are kept by its weight.
#[test]
fn shares_by_weight_and_by_marginal_loss() {
    let run = |toml: &str| shelf(1, &CAPS).with(build("learning", toml, 16));
    let strict = run("tiers = [5, 5, 6]");
    let weight = run("tiers = [5, 5, 6]\nshare = \"weight\"\nweights = [4.0, 2.0, 1.0]");
    let marginal = run("tiers = [5, 5, 6]\nshare = \"marginal\"");
    for (name, run) in [("strict", &strict), ("weight", &weight), ("marginal", &marginal)] {
        let part = settled(run, 2);
        let all = [0, 1, 2].map(|t| tier(part, t).0);
        let iops = mean(part, |s| s.iops);
        println!("{name}: {iops:.0}/s, tiers {all:.2?}, {} s over", over_s(run));
        assert!(mean(part, |s| s.watts) < 166.0, "{name}");
        assert!(over_s(run) <= 40, "{name}: {} s over", over_s(run));
    }
    let free = tier(settled(&weight, 0), 0).0;
    let lost = [0, 1, 2].map(|t| free - tier(settled(&weight, 2), t).0);
    assert!(lost[0] < lost[1] && lost[1] < lost[2], "{lost:?}");
    // No sharing of the same watts serves more, as far as the steps of the settings go.
    let iops = |run: &[Second]| mean(settled(run, 2), |s| s.iops);
    assert!(iops(&marginal) >= 0.99 * iops(&strict).max(iops(&weight)));
}

/// A tier's own cap holds while the shelf's would not bind.
#[test]
fn a_tier_has_a_cap_of_its_own() {
    let toml = "tiers = [5, 5, 6]\ntier_caps_w = [1000.0, 1000.0, 60.0]";
    let run = shelf(2, &[(120, None), (400, Some(200.0))]).with(build("learning", toml, 16));
    let end = &run[320..];
    let (first, last) = (tier(end, 0).0, tier(end, 2).0);
    // 60 W at the meter are 49.8 W of six drives, 8.3 W each.
    println!("tiers: {first:.2} W, {last:.2} W");
    assert!(last < 8.3 + 0.15, "{last}");
    assert!(first > 9.0, "{first}");
}

/// A policy that was told what another has learned begins with it: no try is needed under the same cap.
#[test]
fn what_was_learned_is_kept() {
    let cap = Some(9.0);
    let kind = Kind { has_elevator: false, ..Kind::default() };
    let run = |policy: Box<dyn Policy>, seed| {
        let mut run = Run::one(kind, seed, &[(20, None), (300, cap)]);
        run.tells_response_times = true;
        run.with(policy)
    };
    let mut teacher = build("learning", "", 1);
    drive(teacher.as_mut(), kind, 9.0, 600);
    let memory = teacher.memory(0).expect("it has learned");
    let settings = memory["settings"].as_array().expect("settings");
    println!("{} settings", settings.len());
    assert!(settings.len() > 1);
    let of = |value: &Value| -> f64 { value.as_str().expect("text").trim_end_matches(" W").parse().expect("a number") };
    for s in settings {
        let command = Command {
            nr_requests: s["nr_requests"].as_u64().expect("a number") as u32,
            queue_depth: s["queue_depth"].as_u64().expect("a number") as u32,
            ..Command::default()
        };
        assert!((of(&s["power"]) - kind.watts(&command)).abs() < 0.3, "{s}");
        assert!(of(&s["spread"]) < 0.3, "{s}");
    }
    let changes = |run: &[Second]| crate::common::plant::changes(&run[20..]);
    let above = |run: &[Second]| run[20..].iter().filter(|s| s.watts > 9.7).count();
    let taught = |seconds_ago: f64| {
        let mut pupil = build("learning", "", 1);
        let n = pupil.recall(0, &memory, Span::from_secs_f64(seconds_ago));
        assert_eq!(n.expect("a memory"), settings.len());
        pupil
    };
    // Too old to count as measured: still better guesses than another drive's.
    let late = taught(1e6).memory(0).expect("a memory");
    assert_eq!(late["settings"], json!([]));
    let mut sums = [(0, 0); 3];
    for seed in 0..5 {
        let pupils = [taught(60.0), build("learning", "", 1), taught(1e6)];
        for (sum, pupil) in sums.iter_mut().zip(pupils) {
            let run = run(pupil, seed);
            (sum.0, sum.1) = (sum.0 + changes(&run), sum.1 + above(&run));
        }
    }
    println!("changes, and seconds above all that is needed: taught, untaught, too old: {sums:?}");
    let [taught, naive, late] = sums;
    assert!(2 * taught.0 < naive.0 && 2 * taught.1 < naive.1);
    assert!(late.1 <= naive.1);
}

/// Drives a policy alone, without a controller.
fn drive(policy: &mut dyn Policy, kind: Kind, cap: f64, seconds: u64) {
    let mut commands = [Command::default()];
    for s in 1..=seconds {
        let now = Time(s * 1_000_000_000);
        let work = Work {
            response_time: Span::from_secs_f64(kind.response_time_s(&commands[0])),
            rate: Some(Frequency(kind.iops(&commands[0]))),
        };
        let power = Watts(kind.watts(&commands[0]));
        let sample = Sample { work: Some(work), ..Sample::new(now, power) };
        policy.step(&Input { now, cap: Some(Watts(cap)), sample }, &mut commands);
    }
}

#[test]
fn a_damaged_memory_is_refused_in_words() {
    let mut policy = build("learning", "", 1);
    drive(policy.as_mut(), Kind::default(), 8.5, 60);
    let good = policy.memory(0).expect("a memory");
    let damage = |change: &dyn Fn(&mut Value)| {
        let mut bad = good.clone();
        change(&mut bad);
        bad
    };
    let cases: [(Value, &str); 8] = [
        (json!(null), "format: got null, need \"headstack-learned\""),
        (damage(&|d| d["format"] = json!("x")), "format: got \"x\""),
        (damage(&|d| d["version"] = json!(7)), "version: got 7, need 1"),
        (damage(&|d| d["settings"] = json!({})), "settings: got"),
        (damage(&|d| d["settings"][0] = json!(3)), "settings[0]: got integer 3"),
        (damage(&|d| d["settings"][0]["power"] = json!("-3 W")), "settings[0].power: got \"-3 W\""),
        (damage(&|d| d["settings"][0]["iops"] = json!(-1.0)), "settings[0].iops: got -1"),
        (damage(&|d| d["settings"][0]["watts"] = json!(1)), "settings[0]: got key \"watts\""),
    ];
    for (document, want) in cases {
        let before = policy.memory(0);
        let error = policy.recall(0, &document, Span::ZERO).expect_err(want).to_string();
        assert!(error.starts_with(want), "got {error:?}, need {want:?}");
        assert_eq!(policy.memory(0), before);
    }
    let twice = damage(&|d| {
        let first = d["settings"][0].clone();
        d["settings"].as_array_mut().expect("a list").push(first);
    });
    let error = policy.recall(0, &twice, Span::ZERO).expect_err("twice").to_string();
    assert!(error.contains("a setting that no other entry has"), "{error}");
    // Policies that learn nothing have no memory.
    let mut other = build("pcap-agile", "", 1);
    assert_eq!(other.memory(0), None);
    assert!(other.recall(0, &good, Span::ZERO).is_err());
}

/// Above the cap it says whether it is under way, or has found that power rises where the map says that it falls.
#[test]
fn states_above_the_cap_have_names() {
    let kind = Kind { has_elevator: false, ..Kind::default() };
    let mut run = Run::one(kind, 2, &[(60, None), (600, Some(9.0))]);
    run.tells_response_times = true;
    let seconds = run.with(build("learning", "", 1));
    let first = |want: fn(&Status) -> bool| seconds.iter().position(|s| want(&s.status));
    let settling = first(|s| *s == Status::Settling).expect("settling");
    let wrong = first(|s| *s == Status::WrongSign).expect("wrong sign");
    let unreachable = first(|s| matches!(s, Status::Unreachable { .. })).expect("unreachable");
    println!("settling from {settling} s, wrong sign from {wrong} s, unreachable from {unreachable} s");
    assert!((60..80).contains(&settling) && settling < wrong && wrong <= unreachable);
    // With an elevator the order is that of the map.
    let right = Run::one(Kind::default(), 2, &[(60, None), (600, Some(9.0)), (100, Some(8.2))]);
    let right = right.with(build("learning", "", 1));
    assert!(right.iter().all(|s| s.status != Status::WrongSign));
}
