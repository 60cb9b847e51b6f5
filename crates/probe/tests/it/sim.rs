//! The simulated drive: closed forms of a disk that is simple enough for them.

use crate::{one_by_one, reads};
use headstack_drive::{DriveDesign, Models};
use headstack_probe::sim::{Disturbance, Sim};
use headstack_probe::{batch, open, Batch, Options, Pace, Scratch, Status, Target};
use headstack_testkit::disk::Disk;
use headstack_testkit::noise::SplitMix;

/// A turn of 10 ms with 100 sectors, no skew, seeks of 1 ms plus 0.01 ms a cylinder, 0.3 ms before the arm moves.
const TURN: u64 = 10_000_000;
const SECTORS: u64 = 100;
const SECTOR: u64 = TURN / SECTORS;
const OVERHEAD: u64 = 300_000;
const CYLINDERS: u64 = 500;
const TABLES: &str = "[seek]\nmodel = \"linear\"\nsingle = \"1.01 ms\"\nfull = \"5.99 ms\"\ncylinders = 500\n\
    [overhead]\nread_miss = { after_read = \"0.3 ms\", after_write = \"0.3 ms\" }\n";
const BUFFER: &str = "[cache]\nenabled = true\nsegments = 4\nsegment_sectors = 64\nread_ahead = \"limit\"\n";

fn disk(more: &str, sim: &Disturbance) -> Sim {
    let disk = Disk { rpm: 6000, surfaces: 1, cylinders: CYLINDERS as u32, sectors: SECTORS as u32, skew: None };
    let spec = disk.drive(&format!("{TABLES}{more}"));
    Sim::of(&spec, &DriveDesign::new(&spec, &Models::builtin()).unwrap(), sim).unwrap()
}

fn punctual(seed: u64) -> Disturbance {
    Disturbance { lateness_s: Some(0.0), seed, ..Disturbance::default() }
}

/// Numbers that have nothing to do with those of the drive.
fn numbers(seed: u64, n: usize, below: u64) -> Vec<u64> {
    let mut noise = SplitMix(seed);
    (0..n).map(|_| noise.below(below)).collect()
}

/// Overhead, seek, rotation and transfer of each read, to the nanosecond: the head is where the read before has left it.
#[test]
fn reads_at_rest_take_what_the_closed_form_says() {
    for seed in 1..4 {
        let mut disk = disk("", &punctual(seed));
        let lba = numbers(seed, 300, CYLINDERS * SECTORS);
        let waits = numbers(seed + 100, 300, 3 * TURN);
        let answers = reads(&mut disk, &lba, Pace::Waits(waits.clone()), true);
        assert_eq!(answers.issued_ns[0], waits[0]);
        for i in 1..300 {
            let (before, end) = (lba[i - 1], answers.done_ns[i - 1]);
            let issued = answers.issued_ns[i];
            assert_eq!(issued, end + waits[i]);
            let distance = (lba[i] / SECTORS).abs_diff(before / SECTORS);
            let seek = if distance == 0 { 0 } else { 1_000_000 + 10_000 * distance };
            let there = issued + OVERHEAD + seek;
            // Since the end of the read before, the disk has turned by so much from the end of its sector.
            let under = ((before % SECTORS + 1) * SECTOR + there - end) % TURN;
            let wait = (lba[i] % SECTORS * SECTOR + TURN - under) % TURN;
            let done = there + wait + SECTOR;
            let off = answers.done_ns[i].abs_diff(done);
            // Angles are rounded to 2^-64 turn, times to a nanosecond; a sector that passes now may just be missed.
            assert!(off.min(off.abs_diff(TURN)) <= 2, "seed {seed}, read {i}: {} for {done}", answers.done_ns[i]);
        }
    }
}

#[test]
fn forced_reads_pass_the_buffer_by() {
    let mut disk = disk(BUFFER, &punctual(1));
    let again = one_by_one(&mut disk, &[4000; 6], false);
    let gaps = |done: &[u64]| -> Vec<u64> { done.windows(2).map(|w| w[1] - w[0]).collect() };
    assert!(gaps(&again.done_ns).iter().all(|gap| *gap < TURN / 4), "{again:?}");
    let forced = one_by_one(&mut disk, &[4000; 6], true);
    assert!(gaps(&forced.done_ns).iter().all(|gap| gap.abs_diff(TURN) <= 2), "{forced:?}");
    // What was read by force is kept as well, and read-ahead goes on behind it.
    disk.sleep(TURN, &mut || true).unwrap();
    let after = one_by_one(&mut disk, &[4000, 4001], false);
    assert!(after.done_ns[1] - after.issued_ns[0] < TURN / 4, "{after:?}");
}

/// A re-read of one sector takes a turn, and a disturbed one one or two more.
#[test]
fn the_given_share_is_late_by_turns() {
    let n = 4000;
    let mut disk = disk("", &Disturbance { disturbed: 0.2, ..punctual(3) });
    let done = one_by_one(&mut disk, &vec![777; n + 1], true).done_ns;
    let turns: Vec<u64> = done.windows(2).map(|w| (w[1] - w[0] + 2) / TURN).collect();
    let count = |k: u64| turns.iter().filter(|t| **t == k).count() as f64;
    assert_eq!(count(1) + count(2) + count(3), n as f64);
    for (k, share) in [(1, 0.8), (2, 0.1), (3, 0.1)] {
        let (mean, sd) = (share * n as f64, (share * (1.0 - share) * n as f64).sqrt());
        assert!((count(k) - mean).abs() < 5.0 * sd, "{k} turns: {} of {mean}", count(k));
    }
}

/// The host's lateness: 15 us, an exponential part of 15 us, and 1 ms for 1 % (mean 40 us).
#[test]
fn lateness_has_the_distribution_that_it_is_said_to_have() {
    let n = 20_000;
    let mut disk = disk(BUFFER, &Disturbance { seed: 5, ..Disturbance::default() });
    let lba = numbers(5, n, CYLINDERS * SECTORS);
    let late = one_by_one(&mut disk, &lba, true);
    // The same reads of a host that is never late end where the disk has the same angle.
    let ends = |lba: u64| (lba % SECTORS + 1) * SECTOR % TURN;
    let origin = |done: u64, lba: u64| (done + TURN - ends(lba)) % TURN;
    let first = late.done_ns.iter().zip(&lba).map(|(d, l)| origin(*d, *l)).fold(u64::MAX, u64::min);
    let lateness = late.done_ns.iter().zip(&lba).map(|(d, l)| (origin(*d, *l) + TURN - first) % TURN + 15_000);
    let mut all: Vec<u64> = lateness.collect();
    all.sort_unstable();
    let mean = all.iter().sum::<u64>() as f64 / n as f64;
    assert!((mean - 40_000.0).abs() < 4_000.0, "{mean}");
    let median = all[n / 2] as f64;
    assert!((median - 15_000.0 * (1.0 + 2f64.ln())).abs() < 1_000.0, "{median}");
    assert!(all.iter().filter(|l| **l > 500_000).count().abs_diff(n / 100) < 75);
}

/// A read that comes at any time waits as in the formula of Pollaczek and Khinchine.
#[test]
fn another_client_takes_its_share() {
    let n = 3000;
    let lba = numbers(7, n, CYLINDERS * SECTORS / 8);
    let lba: Vec<u64> = lba.iter().map(|l| l * 8).collect();
    let waits: Vec<u64> = numbers(8, n, 40 * TURN).iter().map(|w| w + 20 * TURN).collect();
    let means = |beside: f64| {
        let mut disk = disk("", &Disturbance { beside, ..punctual(7) });
        let batch = Batch::reads(disk.described(), lba.clone(), vec![8; n], Pace::Waits(waits.clone()), true).unwrap();
        let answers = disk.run(&batch, &mut || true).unwrap();
        let times = answers.done_ns.iter().zip(&answers.issued_ns).map(|(d, i)| (d - i) as f64);
        let (sum, squares) = times.fold((0.0, 0.0), |(s, q), t| (s + t, q + t * t));
        (sum / n as f64, squares / n as f64)
    };
    let (service, square) = means(0.0);
    for share in [0.2, 0.5] {
        let expected = share * square / (2.0 * service * (1.0 - share));
        let waited = means(share).0 - service;
        assert!((waited / expected - 1.0).abs() < 0.2, "{share}: {waited} ns for {expected} ns");
    }
}

#[test]
fn closed_loops_open_arrivals_and_batches_are_issued_in_time() {
    let mut disk = disk("", &Disturbance { seed: 9, ..Disturbance::default() });
    let lba = numbers(9, 200, CYLINDERS * SECTORS);
    let start = disk.now_ns();
    let closed = reads(&mut disk, &lba, Pace::Closed(8), true);
    let mut ends = closed.done_ns.clone();
    ends.sort_unstable();
    assert_eq!(closed.issued_ns[..8], [start; 8]);
    assert_eq!(closed.issued_ns[8..], ends[..192]);
    assert_eq!(disk.now_ns(), ends[199]);
    let start = disk.now_ns();
    assert!(reads(&mut disk, &lba, Pace::Together, true).issued_ns.iter().all(|t| *t == start));
    disk.sleep(5_000, &mut || true).unwrap();
    let start = disk.now_ns();
    let times: Vec<u64> = (0..200).map(|i| i * 3_000_000).collect();
    let arrived = reads(&mut disk, &lba, Pace::At(times.clone()), true);
    assert!(arrived.issued_ns.iter().zip(&times).all(|(i, t)| *i == start + t));
    assert!(arrived.status.iter().all(|s| *s == Status::Good));
}

#[test]
fn the_seed_decides_everything() {
    let run = |seed| {
        let sim = Disturbance { disturbed: 0.1, beside: 0.3, seed, ..Disturbance::default() };
        let mut target = open("sim:wd-re-2tb", &Options { sim, ..Options::default() }).unwrap();
        let blocks = target.described().blocks / 8 - 1;
        let lba: Vec<u64> = numbers(1, 300, blocks).iter().map(|l| l * 8).collect();
        let first = one_by_one(&mut *target, &lba, true);
        (first, reads(&mut *target, &lba, Pace::Closed(16), false))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

/// Of a drive with two actuators, each half is served beside the other.
#[test]
fn ranges_are_declared_and_work_beside_each_other() {
    let mut target = open("sim:exos-2x18-sata", &Options::default()).unwrap();
    let described = target.described().clone();
    let half = described.blocks / 2;
    assert_eq!(described.ranges, [0..half, half..described.blocks]);
    let lba: Vec<u64> = numbers(4, 400, half / 8 - 1).iter().map(|l| l * 8).collect();
    let mut time = |second: u64| {
        let lba: Vec<u64> = lba.iter().enumerate().map(|(i, l)| l + if i % 2 == 1 { second } else { 0 }).collect();
        let start = target.now_ns();
        reads(&mut *target, &lba, Pace::Closed(2), true);
        (target.now_ns() - start) as f64
    };
    let (same, both) = (time(0), time(half));
    assert!(same / both > 1.5, "{same} ns in one half, {both} ns in both");
}

#[test]
fn the_truth_is_a_drive_file() {
    let target = open("sim:ultrastar-hc570", &Options::default()).unwrap();
    let text = target.truth().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("truth.toml");
    std::fs::write(&file, &text).unwrap();
    let again = open(&format!("sim:{}", file.display()), &Options::default()).unwrap();
    assert_eq!(again.truth().unwrap(), text);
    assert_eq!(again.described(), target.described());
}

#[test]
fn wrong_input_is_refused() {
    let refused = |name: &str, sim: Disturbance| {
        let options = Options { sim, ..Options::default() };
        open(name, &options).err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert!(refused("sim:nonesuch", Disturbance::default()).contains("need a path or one of"));
    assert!(refused("nonesuch", Disturbance::default()).contains("need /dev/NAME"));
    let late = Disturbance { lateness_s: Some(f64::NAN), ..Disturbance::default() };
    assert_eq!(refused("sim:ibm-18es", late), "lateness: got NaN, need 0 to 1");
    let beside = Disturbance { beside: 0.95, ..Disturbance::default() };
    assert_eq!(refused("sim:ibm-18es", beside), "beside: got 0.95, need 0 to 0.9");
    let target = open("sim:ibm-18es", &Options::default()).unwrap();
    let d = target.described();
    for (lba, blocks, pace) in [
        (vec![d.blocks], vec![1], Pace::Together),
        (vec![u64::MAX], vec![2], Pace::Together),
        (vec![0], vec![0], Pace::Together),
        (vec![0], vec![1, 1], Pace::Together),
        (vec![0], vec![1], Pace::Closed(0)),
        (vec![0], vec![1], Pace::Waits(vec![])),
        (vec![0], vec![1], Pace::Waits(vec![batch::LONGEST_WAIT_NS + 1])),
        (vec![0, 0], vec![1, 1], Pace::At(vec![1, 0])),
    ] {
        assert!(Batch::reads(d, lba.clone(), blocks, pace.clone(), true).is_err(), "{lba:?} {pace:?}");
    }
    let batch = Batch::reads(d, vec![0], vec![1], Pace::Together, true).unwrap();
    let scratch = Scratch { first: 8, bytes: vec![0; 512], block_bytes: 512 };
    assert!(batch.writing(scratch.into()).is_err());
}

#[test]
fn a_batch_can_be_stopped() {
    let mut disk = disk("", &punctual(1));
    let lba = numbers(1, 20_000, CYLINDERS * SECTORS);
    let batch = Batch::reads(disk.described(), lba.clone(), vec![1; 20_000], Pace::Closed(16), true).unwrap();
    assert!(disk.run(&batch, &mut || false).unwrap_err().to_string().contains("stop"));
    // The drive still serves what it was given before.
    let after = reads(&mut disk, &lba[..100], Pace::Closed(16), true);
    assert!(after.issued_ns.iter().zip(&after.done_ns).all(|(issued, done)| issued < done));
}
