//! Draws random experiments. What has a registry (layers, elevators, organisations, schedulers, layouts, seek and power
//! models, policies of logs, cleaning, roles and power capping) is drawn from it, so that a new entry is drawn unasked.

mod changes;
mod drives;
mod layers;
mod workloads;

use crate::random::case::{Case, Feature, Scope};
use headstack_testkit::SplitMix;
use serde_json::{json, Value};

/// A source of random values.
pub struct Draw {
    random: SplitMix,
    /// Features drawn so far.
    pub features: Vec<Feature>,
}

impl Draw {
    fn new(seed: u64) -> Draw {
        Draw {
            // The streams of neighbouring seeds must not be the same stream from another place on.
            random: SplitMix(SplitMix(seed).draw()),
            features: Vec::new(),
        }
    }

    /// True with this probability.
    pub fn chance(&mut self, share: f64) -> bool {
        self.random.unit() < share
    }

    /// A number from `least` to `most`.
    pub fn between(&mut self, least: u32, most: u32) -> u32 {
        self.random.between(least, most)
    }

    /// One of a list.
    pub fn of<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.random.below(list.len() as u64) as usize]
    }

    /// An index below `len`.
    pub fn index(&mut self, len: usize) -> usize {
        self.random.below(len as u64) as usize
    }

    /// A number between `least` and `most`, whose logarithm is evenly distributed.
    pub fn scale(&mut self, least: f64, most: f64) -> f64 {
        least * (most / least).powf(self.random.unit())
    }

    /// A length of time of that distribution, in seconds.
    pub fn time(&mut self, least: f64, most: f64) -> Value {
        let ns = (self.scale(least, most) * 1e9).round();
        json!(format!("{ns} ns"))
    }

    /// A size in bytes of that distribution, a multiple of `unit`.
    pub fn bytes(&mut self, least: f64, most: f64, unit: u64) -> u64 {
        let bytes = self.scale(least, most) as u64;
        (bytes / unit).max(1) * unit
    }

    /// Adds a feature that may be left out.
    pub fn add(&mut self, scope: Scope, name: impl Into<String>, edits: Vec<(String, Value)>) {
        self.features.push(Feature { scope, name: name.into(), needed: false, edits });
    }

    /// Adds a feature without which there is no experiment.
    pub fn need(&mut self, scope: Scope, name: impl Into<String>, edits: Vec<(String, Value)>) {
        self.add(scope, name, edits);
        if let Some(last) = self.features.last_mut() {
            last.needed = true;
        }
    }
}

/// Edits from pairs of path and value.
pub fn edits<const N: usize>(list: [(&str, Value); N]) -> Vec<(String, Value)> {
    list.map(|(path, value)| (path.to_string(), value)).into()
}

/// The table of a registry's example.
pub fn example(text: &str) -> Value {
    toml::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The edits that set the entries of a table below `path`.
pub fn inside(path: &str, table: &Value) -> Vec<(String, Value)> {
    let entries = table.as_object().into_iter().flatten();
    entries.map(|(key, value)| (format!("{path}/{key}"), value.clone())).collect()
}

/// The random experiment of a seed.
pub fn case(seed: u64) -> Case {
    let mut draw = Draw::new(seed);
    let mut trace = None;
    let systems = 1 + u32::from(draw.chance(0.25));
    let workloads = 1 + u32::from(draw.chance(0.25));
    let mut smallest = u64::MAX;
    for s in 0..systems as usize {
        let mut system = drives::draw(&mut draw, s);
        smallest = smallest.min(system.blocks);
        layers::draw(&mut draw, s, &mut system);
        changes::draw(&mut draw, s, &system);
    }
    for w in 0..workloads as usize {
        workloads::draw(&mut draw, w, smallest, &mut trace);
    }
    run(&mut draw);
    Case { seed, features: draw.features, trace }
}

/// The table `[run]`.
fn run(draw: &mut Draw) {
    let seed = draw.between(0, 1 << 30);
    let basic = edits([("run/seed", json!(seed)), ("run/allowed_errors", json!(1.0))]);
    draw.need(Scope::Experiment, "run", basic);
    if draw.chance(0.3) {
        let duration = draw.time(1e-3, 100.0);
        draw.add(Scope::Experiment, "duration", edits([("run/duration", duration)]));
    }
    if draw.chance(0.15) {
        let most = draw.between(1, 300);
        draw.add(Scope::Experiment, "max_requests", edits([("run/max_requests", json!(most))]));
    }
    if draw.chance(0.1) {
        let limit = draw.between(0, 100);
        draw.add(Scope::Experiment, "exact_limit", edits([("run/exact_limit", json!(limit))]));
    }
}
