//! Drives of two models behind one meter, each with a map of its own.

use crate::common::build_for;
use crate::common::plant::{map_of, Kind, Run, Second};
use headstack_control::policy::PLUGINS;
use headstack_control::{Command, Device, Params};
use headstack_testkit::{cases, first_seed};

/// Drives of each model.
const N: usize = 4;

const TOLERANCE_W: f64 = 0.2 * 2.0 * N as f64;

/// Seconds and caps of each drive, on average.
const PHASES: [(u32, f64); 4] = [(200, 9.3), (200, 8.8), (200, 8.3), (200, 9.0)];

/// One draws less and its queues matter less; the other one's matter more.
fn kinds() -> [Kind; 2] {
    let kind = Kind::default();
    [Kind { scale: 0.5, offset_w: -0.6, ..kind }, Kind { scale: 1.5, offset_w: 0.4, ..kind }]
}

fn settings() -> impl Iterator<Item = Command> {
    let sizes = [4, 8, 16, 32, 64, 128];
    let depths = [1, 2, 4, 8, 16, 32];
    sizes.into_iter().flat_map(move |nr_requests| {
        depths.map(|queue_depth| Command { nr_requests, queue_depth, ..Command::default() })
    })
}

/// The most requests per second of all drives under a cap, by trying all pairs of settings of the maps.
fn best(cap_w: f64) -> f64 {
    let [a, b] = kinds();
    let mut best = 0.0_f64;
    for first in settings() {
        for second in settings() {
            let watts = N as f64 * (a.watts(&first) + b.watts(&second));
            if watts <= cap_w {
                best = best.max(N as f64 * (a.iops(&first) + b.iops(&second)));
            }
        }
    }
    best
}

fn run(policy: &str, maps: &str, seed: u64) -> Vec<Second> {
    let phases: Vec<(u32, Option<f64>)> =
        std::iter::once((60, None)).chain(PHASES.map(|(s, cap)| (s, Some(cap * 2.0 * N as f64)))).collect();
    let mut run = Run::one(Kind::default(), seed, &phases);
    run.kinds = kinds().iter().flat_map(|k| [*k; N]).collect();
    run.tells_response_times = true;
    let toml = format!("efficiency = 1.0\ntolerance = \"{TOLERANCE_W} W\"\n{maps}");
    run.with(build_for(policy, &toml, &[Device::default(); 2 * N]))
}

fn with_maps(share: &str) -> String {
    let maps = kinds().map(|kind| map_of(&kind, |_, _, watts| watts));
    format!("{share}tiers = [{N}, {N}]\nmodels = [0, 1]\nmaps = [{}, {}]", maps[0], maps[1])
}

/// With a map for each model the caps are kept, over them for at most 10 s for each of three falls, and at most 5 % of the requests of
/// the best pair of settings are lost. Each model keeps its own memory, with powers as they are.
#[test]
fn each_model_has_its_map() {
    for seed in first_seed(0)..first_seed(0) + cases(2) {
        let seconds = run("learning", &with_maps("share = \"marginal\"\n"), seed);
        let mut begin = 60;
        let (mut served, mut most, mut over_s) = (0.0, 0.0, 0);
        for (s, cap) in PHASES {
            let cap_w = cap * 2.0 * N as f64;
            let part = &seconds[begin..begin + s as usize];
            served += part.iter().map(|s| s.iops).sum::<f64>();
            most += f64::from(s) * best(cap_w);
            over_s += part.iter().filter(|s| s.watts > cap_w + TOLERANCE_W).count();
            begin += s as usize;
        }
        println!("seed {seed}: {:.1} % lost, {over_s} s over", 100.0 * (1.0 - served / most));
        assert!(served >= 0.95 * most, "seed {seed}: {served} of {most}");
        assert!(over_s <= 30, "seed {seed}: {over_s} s over");
    }
}

/// The same with feed-forward, which keeps the caps with the right maps.
#[test]
fn feed_forward_has_a_map_for_each_model_too() {
    let seconds = run("feed-forward", &with_maps(""), first_seed(0));
    let mut begin = 60;
    for (s, cap) in PHASES {
        let cap_w = cap * 2.0 * N as f64;
        let part = &seconds[begin..begin + s as usize];
        let over_s = part.iter().filter(|s| s.watts > cap_w + TOLERANCE_W).count();
        assert!(over_s <= 10, "{over_s} s over {cap_w} W");
        begin += s as usize;
    }
    // The settings of both models differ: each is chosen from a map of its own.
    assert!(seconds.iter().any(|s| s.commands[0] != s.commands[N]));
}

/// What a model has learned is given to another run in which it has another place.
#[test]
fn memories_are_those_of_models() {
    let plugin = PLUGINS.find("policy", "learning").expect("it is there");
    let table: Params = toml::from_str(&with_maps("")).expect("TOML");
    let policy = plugin.build(&table, &[Device::default(); 2 * N]).expect("it builds");
    assert!(policy.memory(0).is_some() && policy.memory(1).is_some());
    assert_eq!(policy.memory(2), None);
}

#[test]
fn wrong_maps_are_named() {
    let plugin = PLUGINS.find("policy", "learning").expect("it is there");
    let point = "{ nr_requests = 4, queue_depth = 1, power = \"8 W\", iops = 100 }";
    for (toml, want) in [
        ("models = [0]".to_string(), "models: got it without maps, need maps too, one for each model"),
        (format!("map = [{point}]\nmodels = [0]\nmaps = [[{point}]]"), "map: got it with maps, need one of them"),
        (format!("maps = [[{point}]]"), "models: got [], need for each of 1 tiers a number below 1"),
        (format!("models = [1]\nmaps = [[{point}]]"), "models: got [1], need for each of 1 tiers a number below 1"),
        (format!("models = [0]\nmaps = [[{point}], []]"), "maps[1]: got a map that no tier has, need maps in use"),
        (format!("models = [0]\nmaps = [[{point}, {point}]]"), "maps[0][1]: got"),
        ("models = [0]\nmaps = []".to_string(), "maps: got [], need a list of 1 to 32 maps"),
    ] {
        let table: Params = toml::from_str(&toml).expect("TOML");
        let error = plugin.build(&table, &[Device::default()]).err().expect(&toml).to_string();
        assert!(error.contains(want), "{toml}: {error}");
    }
    // An empty one is the built-in map.
    let table: Params = toml::from_str("models = [0]\nmaps = [[]]").expect("TOML");
    plugin.build(&table, &[Device::default()]).expect("the built-in map");
}

/// Both policies, with maps that have no setting in common: drives of a model get settings of its map only.
#[test]
fn settings_are_those_of_the_map() {
    let map = |sizes: [u32; 2]| {
        let point = |(n, watts): (u32, f64)| {
            format!("{{ nr_requests = {n}, queue_depth = 4, power = \"{watts} W\", iops = 150 }}")
        };
        let points: Vec<String> = sizes.into_iter().zip([9.0, 8.0]).map(point).collect();
        format!("[{}]", points.join(", "))
    };
    let maps = format!("tiers = [{N}, {N}]\nmodels = [1, 0]\nmaps = [{}, {}]", map([99, 77]), map([128, 64]));
    for policy in ["learning", "feed-forward"] {
        let seconds = run(policy, &maps, first_seed(0));
        for second in &seconds[70..] {
            let places = |i: usize| second.commands[i].nr_requests;
            assert!([128, 64].contains(&places(0)), "{policy}: {}", places(0));
            assert!([99, 77].contains(&places(N)), "{policy}: {}", places(N));
        }
    }
}
