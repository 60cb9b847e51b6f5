//! The code for usual commands of usual units compared with the code for all: the same completions and energy.

use crate::command::{Command, Completion, DriveRequest};
use crate::drive::Drive;
use crate::meter::DriveEnergy;
use crate::options::DriveOptions;
use crate::service::{BARE, BUFFERED, CACHED};
use crate::spec::{Destage, DriveSpec};
use headstack_testkit::{shipped, XorShift};
use headstack_units::{Lba, Time};

/// Every shipped drive as it is, with writes that go to the medium at once, and without a cache.
fn specs() -> Vec<DriveSpec> {
    let files = std::fs::read_dir(shipped::folder()).expect("the drives");
    let mut paths: Vec<_> = files.map(|f| f.expect("a file").path()).collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).expect("a text");
        for scheduler in ["fcfs", "sptf"] {
            let mut spec: DriveSpec = toml::from_str(&text).expect("a drive");
            spec.queue.scheduler = scheduler.into();
            spec.queue.scheduler_parameters = Default::default();
            let mut bare = spec.clone();
            (bare.cache.enabled, bare.cache.write_back) = (false, false);
            let (mut through, mut immediate) = (spec.clone(), spec.clone());
            through.cache.write_back = false;
            immediate.cache.destage = Destage::Immediate;
            all.extend([spec, through, immediate, bare]);
        }
    }
    all
}

/// Completions of random commands, some of them sequential and long, and the energy at some times.
fn outcome(drive: &mut Drive, seed: u64) -> (Vec<Completion>, Vec<DriveEnergy>) {
    let mut noise = XorShift::seeded(seed);
    let (mut done, mut energy) = (Vec::new(), Vec::new());
    let (mut now, mut lba) = (0, 0);
    for id in 0..400 {
        let longest = 1 << (15 + noise.below(12));
        now += noise.below(longest);
        let blocks = [8, 8, 1 + noise.below(64), 1 + noise.below(2000)][noise.below(4) as usize];
        lba = match noise.below(3) {
            0 => lba + 8,
            _ => noise.below(drive.capacity_blocks() / 8) * 8 + noise.below(40) / 39,
        };
        lba = lba.min(drive.capacity_blocks() - blocks);
        drive.advance(Time(now), &mut |c| done.push(*c));
        let command = match noise.below(20) {
            0..=11 => Command::Read,
            12..=17 => Command::Write,
            18 => Command::WriteThrough,
            _ => Command::Flush,
        };
        drive.submit(
            Time(now),
            DriveRequest {
                id,
                command,
                lba: Lba(lba),
                blocks: blocks as u32,
                ..DriveRequest::default()
            },
        );
        if id % 50 == 0 {
            energy.push(drive.energy(Time(now)));
        }
    }
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    (done, energy)
}

#[test]
fn every_kind_of_unit_gives_what_the_general_code_gives() {
    let mut kinds = [0; 4];
    for (seed, spec) in specs().iter().enumerate() {
        let build = || Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
        let (mut usual, mut general) = (build(), build());
        for unit in &mut general.units {
            kinds[usize::from(unit.serve_generally())] += 1;
        }
        let seed = seed as u64 + 1;
        let (a, b) = (outcome(&mut usual, seed), outcome(&mut general, seed));
        assert_eq!(a.0.len(), 400, "{}", spec.name);
        assert!(a == b, "{}, seed {seed}", spec.name);
    }
    println!("units of each kind: {kinds:?}");
    let usual = [BARE, CACHED, BUFFERED].map(usize::from);
    assert!(usual.iter().all(|kind| kinds[*kind] > 10), "{kinds:?}");
}
