//! Helpers that the tests of this crate share.
#![allow(dead_code)]

pub mod expiry;
pub mod plant;

use headstack_control::policy::{Drives, PLUGINS};
use headstack_control::{Command, Device, Params, Policy, MOST_READ_EXPIRE};
use headstack_schema::Plugin;
use headstack_units::{Span, Time, Watts};
use proptest::test_runner::{Config, RngSeed};
use std::hash::{BuildHasher, RandomState};

/// The longest control period of an example, in seconds; and the number of periods within which every policy
/// but `pcap-base` must reach its final setting under a constant error.
pub const PERIOD_S: usize = 10;
pub const PERIODS: usize = 36;

/// Configures `cases` random cases. A failing test prints its seed; `PROPTEST_RNG_SEED=SEED` repeats it.
pub fn random(cases: u32) -> Config {
    let given = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0u8));
    println!("PROPTEST_RNG_SEED={seed}");
    Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..Config::default() }
}

/// The example parameters of a policy.
pub fn example(plugin: &Plugin<dyn Policy>) -> Params {
    toml::from_str(plugin.example()).unwrap_or_else(|e| panic!("example of {}: {e}", plugin.name()))
}

/// One drive, or six for policies of several drives.
pub fn drives_of(plugin: &Plugin<dyn Policy>) -> usize {
    match plugin.facts.drives {
        Drives::One => 1,
        Drives::Several => 6,
    }
}

/// A policy from its name and parameters in TOML.
pub fn build(name: &str, toml: &str, drives: usize) -> Box<dyn Policy> {
    build_for(name, toml, &vec![Device::default(); drives])
}

/// A policy for these drives.
pub fn build_for(name: &str, toml: &str, devices: &[Device]) -> Box<dyn Policy> {
    let table = toml::from_str(toml).expect("TOML");
    let plugin = PLUGINS.find("policy", name).expect("a policy");
    plugin.build(&table, devices).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// A drive whose elevator has an expiry of reads, at first that of Linux.
pub fn with_expiry() -> Device {
    Device {
        open: Command { read_expire: Some(Span::from_ms(500.0)), ..Command::default() },
        most_read_expire: Some(MOST_READ_EXPIRE),
        ..Device::default()
    }
}

/// The expiries of reads that fixed settings have in a search for the best one, in seconds.
pub fn expiries_s(device: &Device) -> &'static [Option<f64>] {
    match device.most_read_expire {
        None => &[None],
        Some(_) => &[Some(0.5), Some(0.7), Some(1.0), Some(2.0), Some(3.0)],
    }
}

/// Steps of one second through phases of `(seconds, cap in watts)`.
pub struct Steps {
    phases: Vec<(f64, Option<f64>)>,
    second: u64,
}

impl Steps {
    pub fn of(phases: &[(f64, Option<f64>)]) -> Steps {
        Steps { phases: phases.to_vec(), second: 0 }
    }
}

impl Iterator for Steps {
    type Item = (Time, Option<Watts>);
    fn next(&mut self) -> Option<Self::Item> {
        self.second += 1;
        let mut end = 0.0;
        for (length, cap) in &self.phases {
            end += length;
            if self.second as f64 <= end {
                return Some((Time(self.second * 1_000_000_000), cap.map(Watts)));
            }
        }
        None
    }
}
