//! Buffered writes under any mixture of commands, limits, schedulers, arms and faults: what was written reaches the medium, and
//! the rest of what always holds.

use headstack_drive::phase::{Phase, PhaseKind, Work};
use headstack_drive::spec::{Destage, FaultSpec};
use headstack_drive::{Command, DriveSpec};
use headstack_testkit::commands;
use headstack_testkit::world::{Deed, World};
use headstack_testkit::SplitMix;
use headstack_units::Span;
use std::collections::BTreeSet;

const SECTOR_NS: u64 = 100_000;

/// A drive of 600 tracks with a buffer in which writes wait, all else drawn.
fn drive(seed: u64) -> DriveSpec {
    let mut draw = SplitMix(seed);
    let geometry = format!(
        "rotation_speed = \"6000 rpm\"\nsector_size = {:?}\nsurfaces = 2\ncylinders = 300\n\
         zones = [{{ first_cylinder = 0, last_cylinder = 299, sectors_per_track = 100, track_skew = 11.0, cylinder_skew = 21.0 }}]",
        draw.of(&["512 B", "4 KiB"])
    );
    let (dash, motion) = draw.of(&[("D1A1S1H1", 1), ("D1A1S1H1", 0), ("D1A2S1H1", 1), ("D1A2S1H1", 0)]);
    let fixed = format!(
        "dash = {dash:?}\nparallelism = {{ arms_in_motion = {motion} }}\nmapping = {{}}\nmedia_scan = {{}}\n\
         seek = {{ model = \"linear\", single = \"1 ms\", full = \"9 ms\", cylinders = 300 }}\n[geometry]\n{geometry}\n[power]\n"
    );
    // A drawn drive may have no buffer, or a smaller one than its limit.
    let buffered = |w: &World| w.spec().cache.enabled;
    let mut drawn = (0..).filter_map(|more| World::of(seed + (more << 32), &fixed).ok()).filter(buffered);
    let mut spec = drawn.next().expect("one of many").spec().clone();
    spec.cache.write_back = true;
    spec.cache.destage = Destage::Idle;
    spec
}

/// Sectors that destaging wrote.
fn destaged(phases: &[Phase]) -> u64 {
    let wrote = |p: &&Phase| p.work == Some(Work::Destage) && p.kind == PhaseKind::Transfer;
    let ns: u64 = phases.iter().filter(wrote).map(|p| p.to.0 - p.from.0).sum();
    // Rounding of each pass is less than a thousandth of a sector.
    (ns + SECTOR_NS / 2) / SECTOR_NS
}

#[test]
fn what_is_written_reaches_the_medium_once() {
    let (mut drawn, mut long) = (0, 0);
    for seed in 0..400u64 {
        let mut noise = SplitMix(seed);
        let spec = drive(seed);
        let mut world = World::on(seed, &spec).expect("a drive");
        world.deeds.clear();
        let blocks = world.design.capacity_blocks();
        let per_sector = spec.geometry.sector_size.0 / 512;
        let (mut now, mut written) = (0u64, BTreeSet::new());
        let mut sectors: BTreeSet<u64> = BTreeSet::new();
        let mut at = 0u64;
        for id in 0..120 {
            let pause = [1_000, 400_000, 12_000_000][noise.below(3) as usize];
            now += noise.below(3) * noise.below(pause);
            let longest = [9, 40, 700][(noise.below(8) / 3) as usize];
            let length = 1 + noise.below(longest);
            let kind = noise.below(10);
            let request = |command, lba, count: u64| commands::command(id, command, lba, count as u32);
            let next = match kind {
                0 => request(Command::Flush, 0, 0),
                1..=3 => request(Command::Read, noise.below(blocks - length), length),
                4 if at > 100 => request(Command::Read, at.saturating_sub(length), length),
                _ => {
                    // Every block once: behind the last write, or somewhere else.
                    if noise.below(3) == 0 {
                        at = noise.below(blocks - length);
                    }
                    let length = length.min(blocks - at);
                    let range = at..at + length;
                    let command = match kind {
                        9 => Command::WriteThrough,
                        _ => Command::Write,
                    };
                    let fresh = range.clone().all(|b| !written.contains(&b)) && length > 0;
                    if !fresh {
                        at = noise.below(blocks / 2);
                        continue;
                    }
                    written.extend(range.clone());
                    if command == Command::Write {
                        sectors.extend(range.map(|b| b / per_sector));
                    }
                    at += length;
                    request(command, at - length, length)
                }
            };
            world.deeds.push((now, Deed::Submit(next)));
        }
        let ran = world.check();
        let wrote = destaged(&ran.phases);
        let want = sectors.len() as u64;
        let partial = ran.drive.counters().n_read_modify_writes;
        if per_sector == 1 {
            assert_eq!(wrote, want, "seed {seed}");
            assert_eq!(partial, 0);
        } else {
            // A sector is written again only where a part of it went out before the rest.
            assert!(wrote >= want, "seed {seed}: {wrote} of {want}");
            assert!(wrote <= want + partial, "seed {seed}: {wrote} {want} {partial}");
        }
        drawn += want;
        long += u64::from(ran.done.iter().any(|c| c.completion.0 > now && c.id < 120));
    }
    assert!(drawn > 400_000 && long > 100, "{drawn} {long}");
}

/// Heads that fail take unwritten data with them; the rest gets to the medium, and everything ends.
#[test]
fn faults_lose_only_what_nothing_reaches() {
    let mut lost = 0;
    for seed in 1000..1150u64 {
        let mut spec = drive(seed);
        spec.dash.arms = 2;
        spec.parallelism.arms_in_motion = 1;
        let fault = |ms, arm| FaultSpec { at: Some(Span::from_ms(ms)), arm, surface: Some(1), ..FaultSpec::default() };
        spec.parallelism.faults = vec![fault(200.0, 0), fault(400.0, 1)];
        let ran = World::on(seed, &spec).expect("a drive").calm().again(3).check();
        assert!(ran.done.iter().any(|c| c.error), "seed {seed}: nothing met the fault");
        lost += ran.drive.counters().n_lost_writes;
    }
    assert!(lost > 0);
}
