//! PCAP/S on sixteen table drives behind one meter: Figure 10 of the paper.

use crate::common::build;
use crate::common::plant::{mean, Kind, Run, Second};
use headstack_control::policy::{Policy, PLUGINS};
use headstack_control::{Command, Device, Input, Rest, Sample};
use headstack_units::{Span, Time, Watts};

const TIERS: [usize; 3] = [5, 5, 6];
const STRICT: &str = "tiers = [5, 5, 6]";

/// Minutes 5 to 55.
const FIGURE_10: [(u32, Option<f64>); 10] = [
    (300, None),
    (300, Some(200.0)),
    (300, Some(190.0)),
    (300, Some(185.0)),
    (300, Some(170.0)),
    (300, Some(195.0)),
    (300, Some(150.0)),
    (300, Some(150.0)),
    (300, Some(180.0)),
    (300, Some(205.0)),
];

/// The last two minutes of phase `i`.
fn settled(seconds: &[Second], i: usize) -> &[Second] {
    &seconds[i * 300 + 180..(i + 1) * 300]
}

/// Mean power of one drive of tier `tier`, counted from 0.
fn tier_w(seconds: &[Second], tier: usize) -> f64 {
    let first: usize = TIERS[..tier].iter().sum();
    let drives = first..first + TIERS[tier];
    mean(seconds, |s| s.drive_watts[drives.clone()].iter().sum::<f64>()) / TIERS[tier] as f64
}

fn total_w(seconds: &[Second]) -> f64 {
    mean(seconds, |s| s.watts)
}

#[test]
fn tiers_are_cut_from_the_last_and_released_from_the_first() {
    for seed in 0..10 {
        let run = Run::shelf(seed, &FIGURE_10).with(build("pcap-s", STRICT, 16));
        let free = total_w(settled(&run, 0));
        assert!((free - 204.0).abs() <= 4.0, "seed {seed}: {free}");
        let at_190 = settled(&run, 2);
        for tier in [0, 1] {
            let cut = free * 0.83 / 16.0 - tier_w(at_190, tier);
            assert!(cut.abs() <= 0.3, "seed {seed}: tier {tier} loses {cut} W at 190 W");
        }
        assert!(tier_w(at_190, 2) < 9.2, "seed {seed}");
        let at_170 = settled(&run, 4);
        let first = tier_w(at_170, 0);
        assert!(first > 9.0 && first < 10.3, "seed {seed}: {first} W at 170 W");
        let at_195 = settled(&run, 5);
        assert!(tier_w(at_195, 0) > tier_w(at_195, 2) + 1.0, "seed {seed}");
        // 150 W is out of reach: 16 drives at (32, 1), 8.30 W each, behind the power supply.
        let floor = total_w(settled(&run, 7));
        assert!((floor - 160.0).abs() <= 2.0, "seed {seed}: {floor}");
        let reduced = 1.0 - floor / free;
        assert!((reduced - 0.215).abs() <= 0.015, "seed {seed}: {reduced}");
    }
}

#[test]
fn caps_in_reach_are_kept() {
    for seed in 0..10 {
        let run = Run::shelf(seed, &FIGURE_10).with(build("pcap-s", STRICT, 16));
        // The error that is less than a step of each drive remains: 1.8 W for six drives whose queues are not
        // yet at 1.
        for i in [1, 2, 3, 4, 5, 8] {
            let seconds = settled(&run, i);
            let cap = seconds[0].cap.expect("a cap");
            assert!(total_w(seconds) <= cap + 2.0, "seed {seed}: {} W", total_w(seconds));
        }
    }
}

/// Ablations: with one tier, and with equal weights, the first tier is reduced as much as the last.
#[test]
fn without_priorities_the_first_tier_is_cut_like_the_last() {
    for toml in ["", "tiers = [5, 5, 6]\nshare = \"weight\"\nweights = [1.0, 1.0, 1.0]"] {
        let run = Run::shelf(1, &FIGURE_10).with(build("pcap-s", toml, 16));
        let at_190 = settled(&run, 2);
        let (first, last) = (tier_w(at_190, 0), tier_w(at_190, 2));
        assert!((first - last).abs() < 1e-9, "{toml}: {first} W, {last} W");
        assert!(first < 10.2, "{toml}: {first} W");
    }
}

/// Weights that differ extremely act as strict priorities; less unequal ones lie between.
#[test]
fn weights_lie_between_equal_and_strict() {
    let with = |toml: &str| Run::shelf(2, &FIGURE_10).with(build("pcap-s", toml, 16));
    let strict = with(STRICT);
    let weights = |w: &str| format!("tiers = [5, 5, 6]\nshare = \"weight\"\nweights = [{w}]");
    let extreme = with(&weights("1e9, 1.0, 1e-9"));
    for (i, (a, b)) in strict.iter().zip(&extreme).enumerate() {
        assert_eq!(a.commands, b.commands, "second {i}");
    }
    let between = with(&weights("4.0, 2.0, 1.0"));
    let seconds = settled(&between, 3);
    let (first, second, last) = (tier_w(seconds, 0), tier_w(seconds, 1), tier_w(seconds, 2));
    assert!(first > second && second > last, "{first} W, {second} W, {last} W");
    assert!(first < tier_w(settled(&strict, 3), 0));
}

/// The feed-forward policy reduces tiers in the same order, and keeps the caps more closely.
#[test]
fn feed_forward_over_tiers() {
    for seed in 0..10 {
        let run = Run::shelf(seed, &FIGURE_10).with(build("feed-forward", STRICT, 16));
        for i in 1..10 {
            let seconds = settled(&run, i);
            let cap = seconds[0].cap.expect("a cap");
            // The lowest setting of its map: 16 drives at 7.94 W, 153.1 W.
            let reach = cap.max(153.1);
            assert!(total_w(seconds) <= reach + 1.0, "seed {seed}: {} W", total_w(seconds));
            // The first change of each phase already keeps the cap, for all tiers together.
            let from = i * 300 + 12;
            let most = run[from..from + 8].iter().map(|s| s.watts).fold(0.0, f64::max);
            assert!(most <= reach + 2.0, "seed {seed}, phase {i}: {most} W for {cap} W");
            let iops = |tier: usize| {
                let first: usize = TIERS[..tier].iter().sum();
                let command = seconds[60].commands[first];
                Kind::default().iops(&command)
            };
            assert!(iops(0) >= iops(1) && iops(1) >= iops(2), "seed {seed}, phase {i}");
        }
    }
}

/// With `rest`, the tiers that lose power rest without work: not without a cap, not while a tier may draw all it can,
/// and in the safe setting.
#[test]
fn capped_tiers_rest() {
    let mut policy = build("pcap-s", "tiers = [1, 1]\nrest = \"standby\"\nefficiency = 1", 2);
    let mut commands = [Command::default(); 2];
    let standby = Rest::Standby { after: Span(60_000_000_000) };
    let mut second = 0;
    // Steps of ten seconds, one reading each.
    let mut after = |policy: &mut dyn Policy, periods: u32, cap: Option<f64>, watts: Option<f64>| {
        for _ in 0..periods {
            second += 10;
            let now = Time(second * 1_000_000_000);
            let sample = match watts {
                Some(watts) => Sample::new(now, Watts(watts)),
                None => Sample::missing(now),
            };
            let cap = cap.map(Watts);
            policy.step(&Input { now, cap, sample }, &mut commands);
        }
        [commands[0].rest, commands[1].rest]
    };
    assert_eq!(after(&mut *policy, 3, None, Some(18.0)), [Rest::Own; 2]);
    // 8 W below the cap: both tiers get all they can use.
    assert_eq!(after(&mut *policy, 30, Some(26.0), Some(18.0)), [Rest::Own; 2]);
    // 1.5 W above it: the last tier is cut.
    assert_eq!(after(&mut *policy, 1, Some(16.5), Some(18.0)), [Rest::Own, standby]);
    assert_eq!(after(&mut *policy, 60, Some(16.5), Some(18.0)), [standby; 2]);
    assert_eq!(after(&mut *policy, 1, None, Some(18.0)), [Rest::Own; 2]);
    assert_eq!(after(&mut *policy, 9, Some(16.5), None), [standby; 2]);
    let drive = Device { can_stop: false, ..Device::default() };
    let table = toml::from_str("rest = \"standby\"").expect("TOML");
    let built = PLUGINS.find("policy", "pcap-s").expect("it").build(&table, &[Device::default(), drive]);
    let error = built.err().expect("an error");
    assert_eq!((error.key.as_str(), error.got.as_str()), ("rest", "a rest that drive 1 does not have"));
}
