//! The code for usual commands of usual units compared with the code for all: the same completions and energy.

use headstack_drive::command::{Command, Completion, DriveRequest};
use headstack_drive::drive::Drive;
use headstack_drive::meter::DriveEnergy;
use headstack_drive::service::{BARE, BUFFERED, CACHED};
use headstack_drive::spec::{Destage, DriveSpec, HitCheck};
use headstack_drive::DriveOptions;
use headstack_testkit::{shipped, XorShift};
use headstack_units::{Lba, Time};

/// Every shipped drive as it is, with writes that go to the medium at once, and without a cache.
fn specs() -> Vec<DriveSpec> {
    let mut all = Vec::new();
    for drive in shipped::drives() {
        for scheduler in ["fcfs", "sptf"] {
            let mut spec = drive.clone();
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

/// The energy is asked for after so many commands.
const PERIOD: usize = 50;

/// Random commands and their times, some of them sequential and long. The longest times between them are `2^(14 + spread)`
/// nanoseconds.
fn commands(capacity: u64, seed: u64, spread: u64) -> Vec<(Time, DriveRequest)> {
    let mut noise = XorShift::seeded(seed);
    let (mut now, mut lba) = (0, 0);
    let command = |id| {
        let longest = 1 << (15 + noise.below(spread));
        now += noise.below(longest);
        let blocks = [8, 8, 1 + noise.below(64), 1 + noise.below(2000)][noise.below(4) as usize];
        lba = match noise.below(3) {
            0 => lba + 8,
            _ => noise.below(capacity / 8) * 8 + noise.below(40) / 39,
        };
        lba = lba.min(capacity - blocks);
        let command = match noise.below(20) {
            0..=9 => Command::Read,
            10..=11 => Command::ReadThrough,
            12..=17 => Command::Write,
            18 => Command::WriteThrough,
            _ => Command::Flush,
        };
        let request = DriveRequest { id, command, lba: Lba(lba), blocks: blocks as u32, ..DriveRequest::default() };
        (Time(now), request)
    };
    (0..400).map(command).collect()
}

/// Completions of random commands, and the energy at some times. `at_once` counts the commands that are served when they
/// arrive; without it none are.
fn outcome(
    drive: &mut Drive,
    (seed, spread): (u64, u64),
    mut at_once: Option<&mut u32>,
) -> (Vec<Completion>, Vec<DriveEnergy>) {
    let commands = commands(drive.capacity_blocks(), seed, spread);
    let (mut done, mut energy) = (Vec::new(), Vec::new());
    for (i, &(now, request)) in commands.iter().enumerate() {
        drive.advance(now, &mut |c| done.push(*c));
        let next = commands.get(i.next_multiple_of(PERIOD));
        let before = next.map_or(Time::NEVER, |(time, _)| *time);
        let served = match &at_once {
            Some(_) => drive.serve_at_once(now, &request, before).copied(),
            None => None,
        };
        match served {
            None => drive.submit(now, request),
            Some(_) => at_once.iter_mut().for_each(|n| **n += 1),
        }
        done.extend(served);
        if i % PERIOD == 0 {
            energy.push(drive.energy(now));
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
        for kind in general.serve_generally() {
            kinds[usize::from(kind)] += 1;
        }
        let seed = seed as u64 + 1;
        let (a, b) = (outcome(&mut usual, (seed, 12), None), outcome(&mut general, (seed, 12), None));
        assert_eq!(a.0.len(), 400, "{}", spec.name);
        assert!(a == b, "{}, seed {seed}", spec.name);
    }
    println!("units of each kind: {kinds:?}");
    let usual = [BARE, CACHED, BUFFERED].map(usize::from);
    assert!(usual.iter().all(|kind| kinds[*kind] > 10), "{kinds:?}");
}

/// Whether a command waits for its turn in the queue or is served when it arrives, the same comes out.
#[test]
fn a_command_served_at_once_gives_what_it_gives_in_the_queue() {
    let mut counts = [0; 4];
    for (seed, mut spec) in specs().into_iter().enumerate() {
        // A buffer that serves commands when they arrive does so out of order.
        spec.cache.hit_check = HitCheck::Service;
        let build = || Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
        let (mut queued, mut at_once) = (build(), build());
        let kind = usize::from(build().serve_generally()[0]);
        let (seed, mut n) = (seed as u64 + 1, 0);
        let (a, b) = (outcome(&mut queued, (seed, 14), None), outcome(&mut at_once, (seed, 14), Some(&mut n)));
        assert!(a == b, "{}, seed {seed}", spec.name);
        assert!(n == 0 || at_once.serves_in_sequence(), "{}", spec.name);
        counts[kind] += n;
    }
    println!("served at once, by kind of unit: {counts:?}");
    let served = [BARE, CACHED].map(|kind| counts[usize::from(kind)]);
    assert!(served.iter().all(|n| *n > 500), "{counts:?}");
}
