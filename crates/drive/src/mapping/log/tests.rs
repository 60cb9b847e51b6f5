//! The search against a plain look at all free slots, and the map against its invariants.

use super::write::Writer;
use super::*;
use crate::fixtures::small_drive;
use crate::mapping::parameters::build_policy;
use crate::models::Models;
use crate::service::pass::{Order, Places};
use crate::spec::DriveSpec;
use headstack_testkit::XorShift;
use headstack_units::Turn;
use std::collections::BTreeSet;

/// A drive with zones, skews, spares, slipped and remapped sectors; tracks hold no whole number of blocks.
fn uneven() -> DriveSpec {
    let mut spec = small_drive("head_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"");
    let zones = r#"
        zones = [
            { first_cylinder = 0, last_cylinder = 9, sectors_per_track = 61, track_skew = 5.0, cylinder_skew = 9.0, spares = 3, slips = [17, 300], remaps = [[5, 181]] },
            { first_cylinder = 10, last_cylinder = 29, sectors_per_track = 43, track_skew = 2.0, cylinder_skew = 7.0 },
        ]"#;
    #[derive(serde::Deserialize)]
    struct Zones {
        zones: Vec<crate::spec::ZoneSpec>,
    }
    let zones: Zones = toml::from_str(zones).expect("zones");
    spec.geometry.zones = zones.zones;
    spec.geometry.cylinders = 30;
    spec.geometry.surfaces = 3;
    spec.geometry.sparing = crate::spec::Sparing::TrackEnd;
    spec.geometry.capacity_blocks = None;
    spec
}

fn log(spec: &DriveSpec, policy: &str, initial: u64, together: bool) -> (Log, Mechanics) {
    let m =
        Mechanics::new(spec, &spec.geometry, &Models::builtin(), Turn(1 << 61)).expect("mechanics");
    let p = LogParameters {
        policy: policy.into(),
        initial_blocks: initial,
        ..LogParameters::default()
    };
    let policy = build_policy(&p, crate::mapping::policy::PLUGINS).expect("a policy");
    let log = Log::new(&p, &m, &spec.geometry, policy, 0, together).expect("a log");
    (log, m)
}

/// All slots in which no block lies.
fn free_slots(log: &Log, all: u64) -> BTreeSet<u64> {
    let mut free: BTreeSet<u64> = (0..all).collect();
    for block in 0..log.blocks {
        if let Some(slot) = log.map.get(block) {
            assert!(free.remove(&slot), "slot {slot} holds two blocks");
        }
    }
    free
}

/// Time until a slot is under the head, and whether it lies on its track without a gap.
fn cost(m: &Mechanics, arm: &Arm, slot: u64, start: u64, ready: u64) -> (u64, bool, u32) {
    let place = m.layout.locate(slot << 3).expect("a slot");
    let moved = m.move_ns(arm, place.cylinder, place.head, true);
    let there = (start + moved).max(ready);
    let wait = m.wait_ns(arm, place.angle, there);
    (there + wait - start, place.run >= 8, place.cylinder)
}

/// The eager policy finds the slot that a look at every free slot finds, on a disk that fills up, and takes
/// broken slots only when no whole one is free.
#[test]
fn the_search_finds_the_soonest_slot() {
    let mut noise = XorShift::default();
    let mut even = small_drive("write_settle = \"0.3 ms\"\nhead_switch = \"0.1 ms\"");
    even.geometry.cylinders = 40;
    even.geometry.zones[0].last_cylinder = 39;
    for spec in [uneven(), even] {
        let (mut log, m) = log(&spec, "eager", 20, false);
        let slots = log.slots.len();
        let (mut broken, mut full) = (0, 0);
        let mut taken: Vec<u64> = (0..20).collect();
        for step in 0..4 * slots {
            let arm = Arm {
                cylinder: noise.below(u64::from(spec.geometry.cylinders)) as u32,
                head: noise.below(u64::from(spec.geometry.surfaces)) as u16,
                angle: Turn(noise.below(u64::MAX)),
            };
            let start = noise.below(1 << 40);
            let ready = start + noise.below(2) * noise.below(20_000_000);
            let from = From {
                mechanics: &m,
                arm: &arm,
                start,
                ready,
                minimum: 0,
            };
            let free = free_slots(&log, slots);
            let costs = free.iter().map(|s| cost(&m, &arm, *s, start, ready));
            let want = costs.clone().filter(|c| c.1).map(|c| c.0).min();
            let want = want.or(costs.map(|c| c.0).min());
            let got = log.predict(&from);
            let got_cost = got.map(|f| cost(&m, &arm, f.at.slot, start, ready));
            // Angles are rounded to 2^-40 turn in the search.
            match (got_cost, want) {
                (Some(g), Some(w)) => assert!(g.0.abs_diff(w) <= 2, "step {step}: {g:?}, {w}"),
                (None, None) => full += 1,
                other => panic!("step {step}: {other:?}"),
            }
            if let (Some(g), Some(f)) = (got_cost, got) {
                assert!(g.0.abs_diff(f.cost) <= 2, "step {step}");
                broken += u64::from(!g.1);
            }
            // A new block, an update, or a slot that becomes free.
            let block = match noise.below(3) {
                0 if (taken.len() as u64) < log.blocks => {
                    let next = (0..log.blocks).find(|b| log.map.get(*b).is_none());
                    let next = next.expect("an unwritten block");
                    taken.push(next);
                    next
                }
                _ => taken[noise.below(taken.len() as u64) as usize],
            };
            if let Some(found) = log.predict(&from) {
                log.take(&m, block, &found);
            }
        }
        assert!(
            broken > 0 || spec.geometry.zones.len() == 1,
            "no broken slot was taken"
        );
        assert!(full > 0, "the disk was never full");
    }
}

/// The number of free slots of each cylinder agrees with the map, for every policy, whatever was written;
/// so does the run of each place.
#[test]
fn free_slots_and_map_agree() {
    let mut noise = XorShift::default();
    for plugin in super::super::policy::PLUGINS {
        for together in [false, true] {
            let spec = uneven();
            let (mut log, m) = log(&spec, plugin.name, 30, together);
            let slots = log.slots.len();
            let mut arm = Arm::default();
            let mut now = 0;
            for _ in 0..3 * slots {
                let block = match noise.below(2) {
                    0 => noise.below(log.blocks),
                    _ => noise.below(log.blocks / 4),
                };
                log.settle(&m, now, now + 5_000_000);
                let order = Order::plain(block << 3, 8, now);
                let place = Writer(&mut log).place(&m, &order, 0, &arm, now);
                let place = place.expect("a place");
                (arm.cylinder, arm.head) = (place.cylinder, place.head);
                now += 3_000_000 + noise.below(10_000_000);
                log.pass_ends(now);
                if noise.below(2) == 0 {
                    arm.cylinder = noise.below(30) as u32;
                }
            }
            log.settle(&m, u64::MAX, 0);
            log.settle(&m, u64::MAX, 0);
            let free = free_slots(&log, slots);
            let mut by_cylinder = vec![0; 30];
            for slot in &free {
                let place = m.layout.locate(slot << 3).expect("a slot");
                by_cylinder[place.cylinder as usize] += 1;
            }
            for (c, n) in by_cylinder.iter().enumerate() {
                assert_eq!(log.slots.free_in(&m, c as u32), *n, "{} {c}", plugin.name);
            }
            runs_are_true(&log, &m);
        }
    }
}

/// Runs and bounds of places as sector by sector.
fn runs_are_true(log: &Log, m: &Mechanics) {
    let layout = |a: u64| (log.slot_of(a >> 3) << 3) + (a & 7);
    for a in 0..log.capacity() {
        let place = log.locate(m, a).expect("a place");
        let truth = m.layout.locate(layout(a)).expect("a place");
        assert_eq!(
            (place.cylinder, place.head, place.angle),
            (truth.cylinder, truth.head, truth.angle)
        );
        let follows = (1..truth.run)
            .take_while(|i| {
                let next = a + u64::from(*i);
                next < log.capacity() && layout(next) == layout(a) + u64::from(*i)
            })
            .count();
        assert_eq!(place.run, follows as u32 + 1, "run at {a}");
        let (low, high) = log.track_bounds(m, a);
        let (least, most) = m.layout.track_bounds(layout(a));
        let same = |b: u64| {
            let there = layout(b);
            (least..=most).contains(&there) && there.wrapping_sub(layout(a)) == b.wrapping_sub(a)
        };
        let first = (0..a).rev().take_while(|b| same(*b)).last().unwrap_or(a);
        let last = (a + 1..log.capacity())
            .take_while(|b| same(*b))
            .last()
            .unwrap_or(a);
        assert_eq!((low, high), (first, last), "bounds at {a}");
        assert!(u64::from(place.before) <= a - first);
    }
}
