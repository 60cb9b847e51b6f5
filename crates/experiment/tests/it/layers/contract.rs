//! Contract tests of every registered layer and elevator.

use super::mock::{constants, request, tree, Behaviour, Mock};
use headstack_block::layer::{
    elevator, ErrorKind, HostQueueSetting, Layer, LayerCompletion, Request, Setting, Tree, VolumeSetting, PLUGINS,
};
use headstack_block::{Clock, Member};
use headstack_drive::Command::{Flush, Read, Write, WriteThrough};
use headstack_schema::Plugin;
use headstack_testkit::commands::sum;
use headstack_testkit::plugins::folder_matches;
use headstack_testkit::SplitMix;
use headstack_units::Time;
use std::collections::BTreeMap;

/// Random service times, of which some are zero.
struct Random(SplitMix);

impl Behaviour for Random {
    fn serve(&mut self, start: Time, _: &Request) -> (Time, Option<ErrorKind>) {
        (Time(start.0 + self.0.below(9) * self.0.below(300)), None)
    }
}

fn build(entry: &Plugin<dyn Layer>, seed: u64) -> Tree {
    let below = (0..4).map(|i| {
        let behaviour = Random(SplitMix(seed * 100 + u64::from(i)));
        Mock::new(5000, 1 + i as usize % 2, i, behaviour).branch()
    });
    let params = toml::from_str(entry.example()).expect("the example is a table");
    let built = tree(entry, below.collect(), params);
    built.unwrap_or_else(|e| panic!("example of {}: {e}", entry.name()))
}

/// Random requests, submitted at their times. In between, the layer is advanced in steps of this length, or by
/// its own events.
fn drive(entry: &Plugin<dyn Layer>, seed: u64, step: Option<u64>) -> Vec<LayerCompletion> {
    let mut noise = SplitMix(seed);
    let mut layer = build(entry, seed);
    let units = layer.logical_units();
    assert!(!units.is_empty() && units.iter().all(|u| *u > 0), "{}", entry.name());
    let mut all = Vec::new();
    let mut now = Time::ZERO;
    for id in 0..300 {
        let next = Time(now.0 + noise.below(4) * noise.below(400));
        if let Some(step) = step {
            let mut at = now.0;
            while at + step < next.0 {
                at += step;
                layer.advance(Time(at), &mut |done| all.push(*done));
            }
        }
        layer.advance(next, &mut |done| all.push(*done));
        assert!(layer.next_event() >= next, "{}", entry.name());
        now = next;
        let unit = noise.below(units.len() as u64) as u32;
        let most = [8, 300][noise.below(2) as usize];
        let blocks = 1 + noise.below(most);
        let lba = noise.below(units[unit as usize] - blocks);
        let command = [Read, Read, Write, WriteThrough, Flush][noise.below(5) as usize];
        let submitter = [noise.below(4) as u32, u32::MAX][noise.below(2) as usize];
        layer.submit_to(now, Request { unit, submitter, ..request(id, command, lba, blocks as u32) });
        assert!(layer.next_event() >= now, "{}", entry.name());
    }
    loop {
        let next = layer.next_event();
        if next == Time::NEVER {
            break;
        }
        let until = match step {
            Some(step) => next.0 + step,
            None => next.0 + 1,
        };
        layer.advance(Time(until), &mut |done| all.push(*done));
        assert!(layer.next_event() >= Time(next.0), "{}", entry.name());
    }
    all
}

#[test]
fn every_layer_ends_each_request_once_whatever_the_steps() {
    for entry in PLUGINS.iter() {
        for seed in 0..20 {
            println!("{}, seed {seed}", entry.name());
            let all = drive(entry, seed, None);
            let mut seen = BTreeMap::new();
            for done in &all {
                assert!(seen.insert(done.id, *done).is_none(), "{} ended twice", done.id);
                assert!(done.arrival <= done.admitted && done.admitted <= done.completion);
                assert_eq!(sum(&done.components), done.completion.0 - done.arrival.0, "{done:?}");
                assert_eq!(done.error, None);
            }
            assert_eq!(seen.len(), 300);
            for step in [1, 7, 5000] {
                let mut other = drive(entry, seed, Some(step));
                other.sort_by_key(|d| d.id);
                let want: Vec<LayerCompletion> = seen.values().copied().collect();
                assert_eq!(other, want, "{} in steps of {step}", entry.name());
            }
        }
    }
}

#[test]
fn every_layer_refuses_what_is_outside_and_what_it_does_not_know() {
    for entry in PLUGINS.iter() {
        let mut layer = build(entry, 1);
        let units = layer.logical_units();
        let last = units.len() as u32;
        let size = units[0];
        for (unit, lba, blocks) in
            [(0, size, 1), (0, size - 1, 2), (0, 5, 0), (0, u64::MAX, u32::MAX), (last, 0, 1), (u32::MAX, 0, 1)]
        {
            for command in [Read, Write, WriteThrough] {
                let now = Time(7);
                layer.submit_to(now, Request { unit, ..request(1, command, lba, blocks) });
                assert_eq!(layer.next_event(), now, "{}", entry.name());
                let mut told = Vec::new();
                layer.advance(Time(8), &mut |done| told.push(*done));
                assert_eq!(told.len(), 1, "{} {unit} {lba} {blocks}", entry.name());
                let error = Some(ErrorKind::OutOfRange);
                assert_eq!((told[0].id, told[0].error, told[0].completion), (1, error, now), "{}", entry.name());
            }
        }
        assert!(layer.set(Time(9), &[0, 99], &Setting::HostQueue(HostQueueSetting::Requests(8))).is_err());
        assert!(layer.set(Time(9), &[0, 0, 99, 1], &Setting::Volume(VolumeSetting::MemberGone(99))).is_err());
        assert!(layer.set(Time(9), &[0], &Setting::Volume(VolumeSetting::MemberGone(99))).is_err());
        let mut params: headstack_drive::spec::Params = toml::from_str(entry.example()).expect("a table");
        params.insert("no_such_key".into(), 1.into());
        let (below, _) = constants(4, 5000, 1);
        let error = tree(entry, below, params).err().map(|e| e.to_string());
        assert!(error.unwrap_or_default().contains("no_such_key"), "{}", entry.name());
    }
}

/// Each file of the folder is in its list and documents model, source and validity.
#[test]
fn folders_and_lists_name_the_same() {
    let shared = |folder: &str| match folder {
        "layer" => vec!["drive", "flow", "mod", "statistics", "tree"],
        _ => vec!["mod", "sorted", "tests"],
    };
    let (layers, elevators) = (&*PLUGINS, &*elevator::PLUGINS);
    let all: [(&str, Vec<&str>); 2] =
        [("layer", layers.names().collect()), ("layer/elevator", elevators.names().collect())];
    for (folder, names) in all {
        let source = format!("src/{folder}");
        folder_matches(concat!(env!("CARGO_MANIFEST_DIR"), "/../block"), &source, &shared(folder), &names);
    }
}
