//! The search is compared with an examination of all free slots, and the map with its invariants.

use crate::parts::fixtures::small_drive;
use headstack_drive::layout::Place;
use headstack_drive::mapping::log::cylinder::Class;
use headstack_drive::mapping::log::slots::Ties;
use headstack_drive::mapping::log::write::Writer;
use headstack_drive::mapping::log::{From, Log, Moved, SlotUse};
use headstack_drive::mapping::parameters::{build_policy, LogParameters};
use headstack_drive::mechanics::{Arm, Mechanics};
use headstack_drive::models::Models;
use headstack_drive::service::pass::{AccessRequest, Places};
use headstack_drive::spec::DriveSpec;
use headstack_testkit::XorShift;
use headstack_units::{Span, Time, Turn};
use std::collections::BTreeSet;

mod initial;
mod levels;
mod map;
mod power_loss;

/// A drive with zones, skews, spares, slipped and remapped sectors. A track does not hold a whole number of blocks.
fn uneven() -> DriveSpec {
    let mut spec = small_drive("head_switch = \"0.7 ms\"\nwrite_settle = \"0.3 ms\"");
    let zones = r#"
        zones = [
            { first_cylinder = 0, last_cylinder = 9, sectors_per_track = 61, track_skew = 5.0, cylinder_skew = 9.0, spares = 3, slips = [17, 300], remaps = [[5, 181]] },
            { first_cylinder = 10, last_cylinder = 29, sectors_per_track = 43, track_skew = 2.0, cylinder_skew = 7.0 },
        ]"#;
    #[derive(serde::Deserialize)]
    struct Zones {
        zones: Vec<headstack_drive::spec::ZoneSpec>,
    }
    let zones: Zones = toml::from_str(zones).expect("zones");
    spec.geometry.zones = zones.zones;
    spec.geometry.cylinders = 30;
    spec.geometry.surfaces = 3;
    spec.geometry.sparing = headstack_drive::spec::Sparing::TrackEnd;
    spec.geometry.capacity_blocks = None;
    spec
}

/// The same disk with surfaces of other densities, below and above the nominal one, so that it has more radial positions
/// than cylinders, and more or fewer tracks.
fn adaptive(density: [(f64, f64); 3]) -> DriveSpec {
    let mut spec = uneven();
    let g = &mut spec.geometry;
    g.layout = "adaptive".into();
    g.sparing = headstack_drive::spec::Sparing::None;
    let zone = &mut g.zones[0];
    zone.spares = 0;
    zone.slips.clear();
    zone.remaps.clear();
    let density = density.map(|(bpi, tpi)| serde_json::json!({ "bpi": bpi, "tpi": tpi }));
    g.layout_parameters = [
        ("band_cylinders".to_string(), 4.into()),
        ("density".to_string(), density.to_vec().into()),
        ("direction".to_string(), "serpentine".into()),
    ]
    .into_iter()
    .collect();
    spec
}

/// Disks whose tracks do not hold a whole number of blocks.
pub(super) fn uneven_disks() -> [DriveSpec; 3] {
    [uneven(), adaptive([(0.8, 0.7), (1.0, 0.9), (0.9, 0.6)]), adaptive([(1.2, 1.5), (1.1, 2.1), (0.9, 0.7)])]
}

/// A drive whose slots all lie on one grid: no zones, skews or spares, 12 slots on a track.
fn on_grid() -> DriveSpec {
    let mut even = small_drive("write_settle = \"0.3 ms\"\nhead_switch = \"0.1 ms\"");
    even.geometry.cylinders = 40;
    let zone = &mut even.geometry.zones[0];
    zone.last_cylinder = 39;
    zone.sectors_per_track = headstack_drive::spec::PerSurface::Same(96);
    (zone.track_skew, zone.cylinder_skew) = (0.0, 0.0);
    even
}

fn any_arm(spec: &DriveSpec, m: &Mechanics, noise: &mut XorShift) -> Arm {
    Arm {
        cylinder: noise.below(u64::from(m.seek.positions())) as u32,
        head: noise.below(u64::from(spec.geometry.surfaces)) as u16,
        angle: Turn(noise.below(u64::MAX)),
    }
}

fn log(spec: &DriveSpec, policy: &str, initial: u64, together: bool) -> (Log, Mechanics) {
    with_ties(spec, (policy, "nearest"), initial, together)
}

fn with_ties(spec: &DriveSpec, (policy, ties): (&str, &str), initial: u64, together: bool) -> (Log, Mechanics) {
    let m = Models::builtin().mechanics(spec, &spec.geometry, Turn(1 << 61)).expect("mechanics");
    let p = LogParameters {
        policy: policy.into(),
        initial_blocks: initial,
        policy_parameters: match policy {
            "eager" => [("ties".to_string(), ties.into())].into_iter().collect(),
            _ => Default::default(),
        },
        ..LogParameters::default()
    };
    let policy = build_policy(&p, &headstack_drive::mapping::policy::PLUGINS).expect("a policy");
    let log = Log::new(&p, &m, &spec.geometry, policy, Span::ZERO, together).expect("a log");
    (log, m)
}

/// Number of free slots of a cylinder, whole and broken.
fn free_in(log: &mut Log, m: &Mechanics, c: u32) -> u32 {
    let cylinder = log.slots.cylinder(m, c);
    cylinder.free(Class::Whole) + cylinder.free(Class::Broken)
}

/// The present place of an address.
fn locate(log: &Log, m: &Mechanics, sector: u64) -> Option<Place> {
    let mut place = Place::default();
    log.locate_into(m, sector, u32::MAX, &mut place).then_some(place)
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
    let moved = m.move_time(arm, place.cylinder, place.head, true);
    let there = Time(start).after(moved).max(Time(ready));
    let wait = m.wait_time(arm, place.angle, there);
    ((there.span_from(Time(start)) + wait).non_negative(), place.run >= 8, place.cylinder)
}

/// On a disk that fills up, the eager policy finds the same slot as an examination of all free slots. It takes broken
/// slots only when no whole one is free.
#[test]
fn the_search_finds_the_soonest_slot() {
    let mut noise = XorShift::default();
    let mut skewed = on_grid();
    skewed.geometry.zones[0].track_skew = 10.0;
    let uneven = uneven_disks().map(|spec| (spec, "nearest"));
    let even = [(skewed, "any"), (on_grid(), "nearest"), (on_grid(), "any")];
    for (spec, ties) in uneven.into_iter().chain(even) {
        let (mut log, m) = with_ties(&spec, ("eager", ties), 20, false);
        let slots = log.slots.slots;
        let (mut broken, mut full) = (0, 0);
        let mut taken: Vec<u64> = (0..20).collect();
        for step in 0..4 * slots {
            let arm = any_arm(&spec, &m, &mut noise);
            let start = noise.below(1 << 40);
            let ready = start + noise.below(2) * noise.below(20_000_000);
            let from = From { mechanics: &m, arm: &arm, start: Time(start), ready: Time(ready), minimum: Span::ZERO };
            let free = free_slots(&log, slots);
            let costs = free.iter().map(|s| cost(&m, &arm, *s, start, ready));
            let want = costs.clone().filter(|c| c.1).map(|c| c.0).min();
            let want = want.or(costs.map(|c| c.0).min());
            let got = log.predict(&from);
            let got_cost = got.map(|f| cost(&m, &arm, f.at.slot, start, ready));
            // Angles are rounded to 2^-40 turn in the search.
            match (got_cost, want) {
                (Some(g), Some(w)) => assert!(g.0.abs_diff(w) <= 4, "step {step}: {g:?}, {w}"),
                (None, None) => full += 1,
                other => panic!("step {step}: {other:?}"),
            }
            if let (Some(g), Some(f)) = (got_cost, got) {
                assert!(g.0.abs_diff(f.cost.non_negative()) <= 2, "step {step}");
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
                let by = SlotUse { at: Time(start), moved: Moved::No };
                log.take(&m, block, &found, by);
            }
            if step % slots == 0 {
                let all: Vec<_> = (0..m.seek.positions()).flat_map(|c| log.slots.taken_in(&m, c)).collect();
                let held: BTreeSet<u64> = all.iter().map(|s| s.slot).collect();
                let free = free_slots(&log, slots);
                assert_eq!(held, (0..slots).filter(|s| !free.contains(s)).collect(), "step {step}");
            }
        }
        assert!(broken > 0 || spec.geometry.zones.len() == 1, "no broken slot was taken");
        assert!(full > 0, "the disk was never full");
    }
}

/// With `ties = "any"` the slot taken is always one that passes first. Each distance with such a slot is chosen equally
/// often, and of two cylinders the lower one. The oracle is an examination of all free slots. The slots lie on a grid,
/// of which a random part is taken.
#[test]
fn any_of_equal_distances_is_taken() {
    let mut noise = XorShift::default();
    let spec = on_grid();
    let (mut log, m) = with_ties(&spec, ("eager", "any"), 0, false);
    let slots = log.slots.slots;
    // Few slots stay free, so many cylinders have none that passes first.
    for block in 0..slots * 4 / 5 {
        let arm = any_arm(&spec, &m, &mut noise);
        let from = From {
            mechanics: &m,
            arm: &arm,
            start: Time(noise.below(1 << 40)),
            ready: Time::ZERO,
            minimum: Span::ZERO,
        };
        let found = log.slots.soonest(&from, Class::Whole, Ties::Nearest);
        let by = SlotUse { at: Time::ZERO, moved: Moved::No };
        log.take(&m, block, &found.expect("a free slot"), by);
    }
    let free = free_slots(&log, slots);
    for case in 0..20 {
        let arm = any_arm(&spec, &m, &mut noise);
        let here = arm.cylinder;
        let turn = m.rotation.time_for(Turn(u64::MAX)).non_negative();
        let start = turn * 1000 + noise.below(turn);
        let costs: Vec<(u64, u32)> = free.iter().map(|s| cost(&m, &arm, *s, start, 0)).map(|c| (c.0, c.2)).collect();
        let least = costs.iter().map(|c| c.0).min().expect("free slots");
        let soonest = costs.iter().filter(|c| c.0 <= least + 8);
        let tied: BTreeSet<u32> = soonest.map(|c| c.1).collect();
        let distances: BTreeSet<u32> = tied.iter().map(|c| c.abs_diff(here)).collect();
        let draws = 400 * distances.len() as u64;
        let mut counts = std::collections::BTreeMap::new();
        for i in 0..draws {
            let from = From {
                mechanics: &m,
                arm: &arm,
                // A whole number of turns later the same slots pass.
                start: Time(start % turn).after(m.rotation.time_of((1000 + u128::from(i)) << 64)),
                ready: Time::ZERO,
                minimum: Span::ZERO,
            };
            let found = log.slots.soonest(&from, Class::Whole, Ties::Any).expect("a slot");
            assert!(tied.contains(&found.cylinder), "case {case}: {found:?}");
            let distance = found.cylinder.abs_diff(here);
            let lower = here.checked_sub(distance).filter(|c| tied.contains(c));
            assert_eq!(found.cylinder, lower.unwrap_or(here + distance), "case {case}");
            *counts.entry(distance).or_insert(0u64) += 1;
        }
        for d in &distances {
            let n = counts.get(d).copied().unwrap_or(0);
            // Five standard deviations of a binomial number around 400.
            assert!(n.abs_diff(400) <= 100, "case {case}: {n} of {draws} at distance {d}");
        }
    }
}

/// For every policy, after any writes, the numbers of free slots by cylinder and the run of each place agree with the
/// map.
#[test]
fn free_slots_and_map_agree() {
    let mut noise = XorShift::default();
    for plugin in headstack_drive::mapping::policy::PLUGINS.iter() {
        for (i, spec) in uneven_disks().iter().cycle().take(6).enumerate() {
            let together = i >= 3;
            let (mut log, m) = log(spec, plugin.name(), 30, together);
            let slots = log.slots.slots;
            let mut arm = Arm::default();
            let mut now = 0;
            for _ in 0..3 * slots {
                let block = match noise.below(2) {
                    0 => noise.below(log.blocks),
                    _ => noise.below(log.blocks / 4),
                };
                log.settle(&m, Time(now), Time(now + 5_000_000));
                let order = AccessRequest::plain(block << 3, 8, Time(now));
                let place = Writer(&mut log).place(&m, &order, 0, &arm, Time(now));
                let place = place.expect("a place");
                (arm.cylinder, arm.head) = (place.cylinder, place.head);
                now += 3_000_000 + noise.below(10_000_000);
                log.pass_ends(Time(now));
                if noise.below(2) == 0 {
                    arm.cylinder = noise.below(u64::from(m.seek.positions())) as u32;
                }
            }
            log.settle(&m, Time::NEVER, Time::ZERO);
            log.settle(&m, Time::NEVER, Time::ZERO);
            let free = free_slots(&log, slots);
            let mut by_cylinder = vec![0; m.seek.positions() as usize];
            for slot in &free {
                let place = m.layout.locate(slot << 3).expect("a slot");
                by_cylinder[place.cylinder as usize] += 1;
            }
            for (c, n) in by_cylinder.iter().enumerate() {
                assert_eq!(free_in(&mut log, &m, c as u32), *n, "{} {c}", plugin.name());
            }
            runs_are_true(&log, &m);
        }
    }
}

/// Runs and bounds of places are the same as when they are computed sector by sector.
fn runs_are_true(log: &Log, m: &Mechanics) {
    let layout = |a: u64| (log.slot_of(a >> 3) << 3) + (a & 7);
    for a in 0..log.capacity() {
        let place = locate(log, m, a).expect("a place");
        let truth = m.layout.locate(layout(a)).expect("a place");
        assert_eq!((place.cylinder, place.head, place.angle), (truth.cylinder, truth.head, truth.angle));
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
        let last = (a + 1..log.capacity()).take_while(|b| same(*b)).last().unwrap_or(a);
        assert_eq!((low, high), (first, last), "bounds at {a}");
        assert!(u64::from(place.before) <= a - first);
    }
}

/// A service of the test below: a block that is read from, or written to, a slot.
#[derive(Debug, Clone, Copy)]
struct Service {
    block: u64,
    slot: u64,
    begin: u64,
    end: u64,
    /// For writes: the version of the block.
    version: Option<u64>,
}

/// Whether a read found the right data: there was no write into its slot during the read, and the slot held the version
/// of the block whose write had ended last when the read began. `None`: the state before the run.
fn finds_the_last_write(read: &Service, done: &[Service]) -> bool {
    let writes = done.iter().filter(|s| s.version.is_some());
    let into = writes.clone().filter(|w| w.slot == read.slot);
    let disturbed = into.clone().any(|w| w.begin < read.end && read.begin < w.end);
    let last = |of: &mut dyn Iterator<Item = &Service>| {
        let ended = of.filter(|w| w.end <= read.begin);
        ended.max_by_key(|w| w.end).map(|w| (w.block, w.version))
    };
    let there = last(&mut into.clone());
    let wanted = last(&mut writes.filter(|w| w.block == read.block));
    !disturbed && (there == wanted || (wanted.is_none() && there.is_none()))
}

/// The test tracks the contents of the slots. Two arms at the same time, or one arm, write and read until the disk is
/// full, and then continue. Seeds 0 to 5.
#[test]
fn a_read_finds_the_last_write() {
    let mut in_place = 0;
    for (seed, spec) in (0..18u64).zip(uneven_disks().iter().cycle()) {
        // Each disk with seeds 0 to 5.
        let seed = seed / 3;
        let together = seed % 2 == 1;
        let mut noise = XorShift::default();
        for _ in 0..seed {
            noise.below(2);
        }
        let (mut log, m) = log(spec, "eager", 40, together);
        // With two arms the disk is not filled completely, because a full disk reuses slots that may still be read.
        let blocks = if together { log.blocks - 20 } else { log.blocks };
        let mut arms = [Arm::default(), Arm { angle: Turn(1 << 63), ..Arm::default() }];
        // With seed 0 every block is written first, so that no slot is free from then on.
        let fill = if seed == 0 { blocks } else { 0 };
        let (mut free, mut done) = ([0u64; 2], Vec::<Service>::new());
        for step in 0..6000 + fill {
            let a = if together { (free[1] < free[0]) as usize } else { 0 };
            let now = free[a] + noise.below(3) * noise.below(4_000_000);
            let now = done.iter().map(|s: &Service| s.begin).fold(now, u64::max);
            let block = match noise.below(4) {
                _ if step < fill => step,
                0 | 1 => step / 2 % blocks,
                _ => noise.below((blocks / 8 + step / 4).min(blocks)),
            };
            let busy = free.iter().copied().fold(0, u64::max);
            log.settle(&m, Time(now), Time(busy));
            let write = noise.below(2) == 0 || step < fill;
            let end = now + 1_000_000 + noise.below(15_000_000);
            let place = if write {
                let order = AccessRequest::plain(block << 3, 8, Time(now));
                let place = Writer(&mut log).place(&m, &order, 0, &arms[a], Time(now));
                log.pass_ends(Time(end));
                place.expect("a place")
            } else {
                locate(&log, &m, block << 3).expect("a place")
            };
            let address = m.layout.address_at(place.cylinder, u32::from(place.head), place.sector);
            let service = Service {
                block,
                slot: address.expect("an address") >> 3,
                begin: now,
                end,
                version: write.then_some(step),
            };
            // A block that was never written shares the slot of its number with others.
            let mut writes = done.iter().filter(|s| s.version.is_some() && s.end <= now);
            let written = block < 40 || writes.any(|s| s.block == block);
            if !write && written {
                assert!(finds_the_last_write(&service, &done), "seed {seed}, step {step}: {service:?}");
            }
            if write {
                for read in done.iter().filter(|s| s.version.is_none() && s.end > now) {
                    assert_ne!(read.slot, service.slot, "seed {seed}, step {step}: {read:?}");
                }
            }
            if write || written {
                done.push(service);
            }
            done.retain(|s| s.version.is_some() || s.end > now);
            (arms[a].cylinder, arms[a].head) = (place.cylinder, place.head);
            free[a] = end;
        }
        assert!(log.counted.n_in_place_writes == 0 || !together, "seed {seed}: {}", log.counted.n_in_place_writes);
        in_place += log.counted.n_in_place_writes;
    }
    assert!(in_place > 0, "no disk was full");
}
