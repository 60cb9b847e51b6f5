//! Whole drives against closed forms: queueing, rotation, seek, sustained rate, energy.

use headstack_drive::spec::DriveSpec;
use headstack_drive::{Command, Completion, Drive, DriveOptions, DriveRequest};
use headstack_testkit::commands::{self, read, response};
use headstack_testkit::disk::Disk;
use headstack_testkit::SplitMix;
use headstack_units::{Span, Time};

const CYLINDERS: u64 = 1000;
const HEADS: u64 = 4;
const SECTORS: u64 = 200;
const REV_NS: f64 = 10e6;
const CAPACITY: u64 = CYLINDERS * HEADS * SECTORS;

/// Of one zone.
const DISK: Disk = Disk {
    rpm: 6000,
    surfaces: HEADS as u32,
    cylinders: CYLINDERS as u32,
    sectors: SECTORS as u32,
    skew: Some(("turns", 0.2, 0.4)),
};

const REST: &str = r#"
    [seek]
    model = "linear"
    single = "4 ms"
    full = "14 ms"
    cylinders = 1000
    [power]
    model = "modes"
    rotation_speed = "6000 rpm"
    spindle = "8 W"
    electronics = "3 W"
    voice_coil = "6 W"
    access = "2 W"
"#;

fn drive() -> DriveSpec {
    DISK.drive(REST)
}

fn constant_seek() -> DriveSpec {
    let mut spec = drive();
    spec.seek = toml::from_str("model = \"constant\"\ntime = \"5 ms\"").expect("a seek model");
    spec
}

/// Single-block random reads with exponential gaps.
fn open(spec: &DriveSpec, n: u64, gap_ns: f64, mut each: impl FnMut(&Completion)) {
    let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
    let (mut d, mut now) = (SplitMix(1), 0.0);
    for id in 0..n {
        now += d.exponential(gap_ns);
        drive.advance(Time(now as u64), &mut each);
        drive.submit(Time(now as u64), read(id, d.below(CAPACITY), 1));
    }
    drive.advance(Time::NEVER, &mut each);
}

/// With a constant seek the services of random requests are independent: an M/G/1 queue.
#[test]
fn fcfs_waits_as_pollaczek_and_khinchine_say() {
    // 5 ms of seek, half a turn, one sector.
    let mean = 5e6 + REV_NS / 2.0 + REV_NS / SECTORS as f64;
    for rho in [0.5, 0.65] {
        let n = 1_500_000;
        let (mut first, mut second, mut waits, mut last) = (0.0, 0.0, 0.0, 0u64);
        open(&constant_seek(), n, mean / rho, |c| {
            let service = (response(c) - c.components.queue.non_negative()) as f64;
            first += service / n as f64;
            second += service * service / n as f64;
            waits += c.components.queue.0 as f64 / n as f64;
            last = c.arrival.0;
        });
        let rate = n as f64 / last as f64;
        let want = rate * second / (2.0 * (1.0 - rate * first));
        assert!((first / mean - 1.0).abs() < 0.005, "service {first} for {mean}");
        assert!((waits / want - 1.0).abs() < 0.02, "rho {rho}: wait {waits} for {want} ns");
    }
}

/// Arms of equal seek at angles k/n of a turn wait rev/(2n): half the arc to the next of them.
#[test]
fn rotation_is_half_the_arc_between_arms() {
    for n in 1..=4u64 {
        let mut spec = constant_seek();
        spec.dash.arms = n as u32;
        let (mut sum, mut most, mut served) = (0.0, 0, vec![0u64; n as usize]);
        let count = 200_000;
        open(&spec, count, 20e6, |c| {
            sum += c.components.rotation.0 as f64;
            most = most.max(c.components.rotation.non_negative());
            served[c.arm as usize] += 1;
        });
        let (mean, want) = (sum / count as f64, REV_NS / (2 * n) as f64);
        assert!((mean / want - 1.0).abs() < 0.02, "{n} arms: {mean} for {want} ns");
        assert!(most as f64 <= REV_NS, "{n} arms: a wait of {most} ns");
        // By symmetry every arm serves its share.
        for s in served {
            let share = s as f64 * n as f64 / count as f64;
            assert!((share - 1.0).abs() < 0.05, "{n} arms: {share}");
        }
    }
}

/// Two random cylinders lie d apart with probability 2 (C - d) / C^2.
#[test]
fn mean_seek_is_that_of_random_pairs() {
    let c = CYLINDERS as f64;
    let want: f64 = (1..CYLINDERS)
        .map(|d| {
            let d = d as f64;
            2.0 * (c - d) / (c * c) * (4e6 + (d - 1.0) * 10e6 / (c - 2.0))
        })
        .sum();
    let count = 200_000;
    let mut total = 0.0;
    open(&drive(), count, 30e6, |r| total += r.components.seek.0 as f64);
    let mean = total / count as f64;
    assert!((mean / want - 1.0).abs() < 0.01, "{mean} for {want} ns");
}

/// S. W. Ng, "Advances in disk technology: performance issues": sustained rate = media rate times
/// heads x turn over (heads x turn + (heads - 1) track switches + cylinder switch); his figure 5
/// has turns of 10 ms and switches of 2 and 4 ms, as here.
#[test]
fn sequential_reads_reach_ngs_sustained_rate() {
    for heads in [1, 2, 4, 8] {
        let mut spec = drive();
        spec.geometry.surfaces = heads;
        spec.positioning.head_switch = Span::from_ms(2.0);
        let blocks = 100 * heads as u64 * SECTORS;
        let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
        let step = 160;
        for i in 0..blocks / step {
            drive.submit(Time::ZERO, read(i, i * step, step as u32));
        }
        let mut end = 0;
        drive.advance(Time::NEVER, &mut |c| end = c.completion.0);
        let got = blocks as f64 * 512.0 / (end as f64 * 1e-9);
        let media = SECTORS as f64 * 512.0 / 0.010;
        let turns = heads as f64 * 0.010;
        let want = media * turns / (turns + (heads as f64 - 1.0) * 0.002 + 0.004);
        assert!((got / want - 1.0).abs() < 0.01, "{heads} heads: {got} for {want} B/s");
    }
}

/// Reads, writes and flushes of many kinds: near each other, far apart, long and short.
fn mixed(seed: u64, n: u64, capacity: u64) -> Vec<(u64, DriveRequest)> {
    let mut d = SplitMix(seed);
    let (mut now, mut at) = (0, 0);
    (0..n)
        .map(|id| {
            now += [0, 200_000, 3_000_000, 40_000_000][d.below(4) as usize];
            at = match d.below(3) {
                0 => d.below(capacity),
                1 => at,
                _ => d.below(2000),
            };
            let most = [8, 64, 700][d.below(3) as usize];
            let blocks = 1 + d.below(most) as u32;
            let lba = at.min(capacity - blocks as u64);
            let command = match d.below(20) {
                0 => Command::Flush,
                1..=8 => Command::Write,
                _ => Command::Read,
            };
            at = lba + blocks as u64;
            (now, commands::command(id, command, lba, blocks))
        })
        .collect()
}

fn run(spec: &DriveSpec, requests: &[(u64, DriveRequest)]) -> (Vec<Completion>, Drive) {
    let mut drive = Drive::builtin(spec, &DriveOptions::default()).expect("a drive");
    let done = commands::run(&mut drive, requests);
    (done, drive)
}

/// Without a buffer the mechanism is busy exactly while it serves; states draw 11, 17 and 13 W.
#[test]
fn energy_is_watts_times_time_in_state() {
    let requests: Vec<_> = mixed(4, 2000, CAPACITY);
    let (done, mut drive) = run(&drive(), &requests);
    let total = |f: fn(&Completion) -> Span| done.iter().map(f).sum::<Span>().as_secs_f64();
    let seek = total(|c| c.components.seek);
    let rotation = total(|c| c.components.rotation);
    let transfer = total(|c| c.components.transfer);
    let end = Time(done.iter().map(|c| c.completion.0).max().unwrap_or(0) + 5_000_000_000);
    let e = drive.energy(end);
    let idle = end.as_secs_f64() - seek - rotation - transfer;
    for (got, want) in [
        (e.seek_s, seek),
        (e.rotation_s, rotation),
        (e.transfer_s, transfer),
        (e.idle_s, idle),
        (e.seek_j, 17.0 * seek),
        (e.rotation_j, 13.0 * rotation),
        (e.transfer_j, 13.0 * transfer),
        (e.idle_j, 11.0 * idle),
    ] {
        assert!((got - want).abs() < 1e-6 * (1.0 + want), "{got} for {want}: {e:?}");
    }
}
