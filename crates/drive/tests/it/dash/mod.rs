//! The DASH space: invariants on every point of it, limits, faults, and degenerate points against
//! the conventional drive.

mod faults;
mod limit_study;

use faults::fault;
use headstack_drive::spec::{ArmShare, DriveSpec, FaultSpec, HeadOffset, HitCheck, Parking, QueueCounts, ReadAhead};
use headstack_drive::{Command, Completion, Drive, DriveOptions, DriveRequest};
use headstack_testkit::checks;
use headstack_testkit::commands::{self, run};
use headstack_testkit::disk::Disk;
use headstack_testkit::world::{vary, World};
use headstack_testkit::{Lcg, SplitMix};
use headstack_units::{Bytes, Lba, Span, Time};
use proptest::prelude::*;

const REV_NS: f64 = 10e6;
const IDLE_W: f64 = 11.0;
const SEEK_W: f64 = 6.0;
const ACCESS_W: f64 = 2.0;

/// 8 surfaces, 120 cylinders, 100 sectors a track.
fn conventional() -> DriveSpec {
    let disk = Disk { rpm: 6000, surfaces: 8, cylinders: 120, sectors: 100, skew: Some(("turns", 0.1, 0.2)) };
    disk.drive(
        r#"
        [seek]
        model = "linear"
        single = "1 ms"
        full = "8 ms"
        cylinders = 120
        [positioning]
        head_switch = "0.6 ms"
        write_settle = "0.3 ms"
        [queue]
        scheduler = "sptf"
        [power]
        model = "modes"
        rotation_speed = "6000 rpm"
        spindle = "8 W"
        electronics = "3 W"
        voice_coil = "6 W"
        access = "2 W"
    "#,
    )
}

fn at(dash: &str) -> DriveSpec {
    let mut spec = conventional();
    spec.dash = dash.parse().expect("a point of the space");
    spec
}

fn cached(mut spec: DriveSpec) -> DriveSpec {
    spec.cache.enabled = true;
    spec.cache.segments = 4;
    spec.cache.segment_sectors = 64;
    spec.cache.read_ahead = ReadAhead::Limit;
    spec.cache.hit_check = HitCheck::Arrival;
    spec
}

/// A linear congruential generator: arrival in ns, request.
fn requests(seed: u64, n: u64, gap_ns: u64, capacity: u64) -> Vec<(u64, DriveRequest)> {
    let mut noise = Lcg(seed);
    let mut below = |n: u64| noise.below(n);
    let (mut now, mut end) = (0, 0);
    (0..n)
        .map(|id| {
            now += below(2 * gap_ns + 1);
            let blocks = 1 + below(40) as u32;
            // A quarter continues the one before.
            let lba = if below(4) == 0 && end + 40 < capacity { end } else { below(capacity - 40) };
            end = lba + blocks as u64;
            let command = match below(30) {
                0 => Command::Flush,
                1..=9 => Command::Write,
                _ => Command::Read,
            };
            (now, commands::command(id, command, lba, blocks))
        })
        .collect()
}

fn new(spec: &DriveSpec) -> Drive {
    Drive::builtin(spec, &DriveOptions::default()).unwrap_or_else(|e| panic!("{}: {e}", spec.dash))
}

/// Energy is the integral of power, by hand: 11 W idle, 6 W more for seeks and 2 W more for the rest of the work, and a
/// spindle of 8 W for each further stack.
fn check(spec: &DriveSpec, seed: u64) {
    let world = World::on(seed, spec).unwrap_or_else(|e| panic!("{}: {e}", spec.dash)).calm();
    let ran = world.check();
    let e = &ran.energy;
    // As many assemblies at work at once as the mean is taken over.
    let units = checks::at_once(spec);
    let seconds = ran.end as f64 * 1e-9;
    let idle = IDLE_W + 8.0 * f64::from(spec.dash.stacks - 1);
    let want = idle * seconds + units * (SEEK_W * e.seek_s + ACCESS_W * (e.rotation_s + e.transfer_s));
    assert!((e.total_j() - want).abs() < 1e-6 * want, "{}: {e:?}, by hand {want} J", spec.dash);
}

/// Every point with degrees up to 4, bare and with a buffer, one command at a time and as many as there are arms; then
/// random settings at random points.
#[test]
fn every_point_keeps_the_invariants() {
    println!("seed 21");
    for point in 0..256u32 {
        let d = |i: u32| point >> (2 * i) & 3;
        let dash = format!("D{}A{}S{}H{}", d(0) + 1, d(1) + 1, d(2) + 1, d(3) + 1);
        for variant in 0..4 {
            let mut spec = at(&dash);
            if variant & 1 == 1 {
                spec = cached(spec);
            }
            if variant & 2 == 2 {
                spec.parallelism.arms_in_motion = 0;
            }
            assert_eq!(new(&spec).design.capacity_blocks(), 8 * 120 * 100 * u64::from(spec.dash.stacks));
            check(&spec, 21);
        }
        let (seed, mut draw) = (u64::from(point), SplitMix(u64::from(point)));
        let mut spec = at(&dash);
        spec.parallelism.arms_in_motion = draw.between(0, spec.dash.arms);
        spec.parallelism.parking = draw.of(&[Parking::Hold, Parking::Follow]);
        if draw.one_in(2) && 8 % spec.dash.arms == 0 {
            spec.parallelism.arm_share = ArmShare::OwnShare;
        }
        spec.geometry.layout = draw.of(&["cylinder-major", "serpentine"]).into();
        let idle = draw.one_in(2);
        vary(&mut draw, &mut spec, idle);
        check(&spec, seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever numbers a description holds, it is a drive or an error.
    #[test]
    fn odd_descriptions_are_errors_not_panics(
        dash in "D[1-4]A[1-6]S[1-9]H[1-5]",
        (surfaces, cylinders, sectors) in (0..70u32, 0..200u32, 0..300u32),
        (motion, channels, unit) in (0..40u32, 0..40u32, 0..3000u64),
        (arm, surface, spacing) in (0..20u32, 0..80u32, any::<u64>()),
        (mode, block, options) in (0..3usize, 0..40u64, any::<u8>()),
    ) {
        let mut spec = conventional();
        let Ok(dash) = dash.parse() else { return Ok(()) };
        spec.dash = dash;
        spec.geometry.surfaces = surfaces;
        spec.geometry.cylinders = cylinders;
        spec.geometry.zones[0].last_cylinder = cylinders.wrapping_sub(1);
        spec.geometry.zones[0].sectors_per_track = headstack_drive::spec::PerSurface::Same(sectors);
        spec.parallelism.arms_in_motion = motion;
        spec.parallelism.channels = channels;
        spec.parallelism.stack_unit = headstack_units::Bytes(unit * 256);
        spec.parallelism.head_spacing = Some(headstack_units::Turn(spacing));
        let bit = |i: u32| options >> i & 1 == 1;
        if bit(0) { spec.parallelism.faults = vec![fault(1.0, arm, Some(surface), bit(1))]; }
        if bit(2) { spec.parallelism.arm_share = headstack_drive::spec::ArmShare::OwnShare; }
        if bit(3) { spec.parallelism.heads = headstack_drive::spec::HeadOffset::Radial; }
        if bit(4) {
            use headstack_drive::spec::MediaScanMode::{Freeblock, None, OwnArm};
            spec.media_scan.mode = [None, Freeblock, OwnArm][mode];
            spec.media_scan.block = headstack_units::Bytes(block * 512);
        }
        let Ok(mut drive) = Drive::builtin(&spec, &DriveOptions::default()) else { return Ok(()) };
        let capacity = drive.design.capacity_blocks();
        if capacity > 200 {
            let requests = requests(spacing, 20, 1_000_000, capacity);
            prop_assert_eq!(run(&mut drive, &requests).len(), 20);
            drive.energy(Time(1_000_000_000));
        }
    }
}

/// One spelled-out arm, limits that do not bind, and a fault after the end change nothing.
#[test]
fn one_arm_is_the_conventional_drive_request_by_request() {
    let requests = requests(3, 600, 6_000_000, 8 * 120 * 100);
    for base in [conventional(), cached(conventional())] {
        let want = run(&mut new(&base), &requests);
        let mut spelled = base.clone();
        spelled.parallelism.arms = vec![Default::default()];
        spelled.parallelism.arms_in_motion = 0;
        spelled.parallelism.channels = 0;
        assert_eq!(run(&mut new(&spelled), &requests), want);
        let mut later = base.clone();
        later.parallelism.faults = vec![FaultSpec { at: Some(Span::from_ms(1e9)), ..Default::default() }];
        assert_eq!(run(&mut new(&later), &requests), want);
    }
}

fn single_reads(n: u64, gap_ns: u64, capacity: u64) -> Vec<(u64, DriveRequest)> {
    requests(9, n, gap_ns, capacity)
        .into_iter()
        .map(|(at, r)| {
            let r = DriveRequest { command: Command::Read, blocks: 1, ..r };
            (at, r)
        })
        .collect()
}

fn mean(done: &[Completion], of: impl Fn(&Completion) -> Span) -> f64 {
    done.iter().map(|c| of(c).0 as f64).sum::<f64>() / done.len() as f64
}

/// n heads at equal angles on one arm wait rev/(2n) like n assemblies, where seeks are equal.
#[test]
fn heads_at_equal_angles_wait_half_the_arc() {
    for n in 1..=4u32 {
        let mut spec = at(&format!("D1A1S1H{n}"));
        spec.seek = toml::from_str("model = \"constant\"\ntime = \"5 ms\"").expect("a seek model");
        spec.positioning.head_switch = Span::ZERO;
        spec.queue.scheduler = "fcfs".into();
        let capacity = new(&spec).design.capacity_blocks();
        let mut reads = single_reads(60_000, 40_000_000, capacity);
        // Independent places: the generator's sequential quarter is thinned out.
        let mut noise = Lcg(77);
        for (_, r) in &mut reads {
            r.lba = Lba((noise.state() >> 20) % capacity);
        }
        let done = run(&mut new(&spec), &reads);
        let (got, want) = (mean(&done, |c| c.components.rotation), REV_NS / f64::from(2 * n));
        assert!((got / want - 1.0).abs() < 0.02, "H{n}: {got} for {want} ns");
    }
}

/// Radial heads at C/n: random cylinders are reached within strokes of C/n.
#[test]
fn radial_heads_shorten_the_stroke() {
    let mut spec = at("D1A1S1H4");
    spec.parallelism.heads = HeadOffset::Radial;
    spec.queue.scheduler = "fcfs".into();
    let capacity = new(&spec).design.capacity_blocks();
    let done = run(&mut new(&spec), &single_reads(4_000, 40_000_000, capacity));
    let most = done.iter().map(|c| c.seek_distance).max().unwrap();
    assert!(most < 30, "{most} cylinders of travel, need fewer than 120 / 4");
    // Mean distance between uniform places on a stroke of N is (N^2 - 1) / (3 N).
    let random: Vec<f64> = done.iter().map(|c| f64::from(c.seek_distance)).collect();
    let got = random.iter().sum::<f64>() / random.len() as f64;
    assert!(got < (30.0 * 30.0 - 1.0) / 90.0 * 1.05, "{got}");
}

/// m surfaces at once pass m times as many sectors per turn.
#[test]
fn ganged_surfaces_transfer_together() {
    for m in [1u32, 2, 4, 8] {
        let mut spec = at(&format!("D1A1S{m}H1"));
        spec.queue.scheduler = "fcfs".into();
        let request = commands::command(0, Command::Read, 0, 96);
        let done = run(&mut new(&spec), &[(0, request)]);
        let want = REV_NS * 0.96 / f64::from(m);
        let got = done[0].components.transfer.0 as f64;
        assert!((got - want).abs() < 2.0, "S{m}: {got} for {want} ns");
    }
    // Three do not divide eight: the last gang has two.
    assert_eq!(new(&at("D1A1S3H1")).design.capacity_blocks(), 8 * 120 * 100);
}

/// Never more commands in service, or transfers at the same time, than allowed.
#[test]
fn limits_hold_at_every_instant() {
    for (arms, motion, channels) in [(4u32, 1u32, 1u32), (4, 2, 1), (4, 4, 1), (4, 4, 2), (3, 0, 0), (2, 2, 1)] {
        let mut spec = at(&format!("D1A{arms}S1H1"));
        spec.parallelism.arms_in_motion = motion;
        spec.parallelism.channels = channels;
        let capacity = new(&spec).design.capacity_blocks();
        // Reads within a track: transfer is the end of the response.
        let reads: Vec<_> = single_reads(800, 500_000, capacity)
            .into_iter()
            .map(|(at, r)| (at, DriveRequest { blocks: 20, lba: Lba(r.lba.0 / 100 * 100), ..r }))
            .collect();
        let done = run(&mut new(&spec), &reads);
        let motion = if motion == 0 { arms } else { motion } as usize;
        let channels = if channels == 0 { arms } else { channels } as usize;
        let most = |spans: Vec<(u64, u64)>| {
            let at = |t: u64| spans.iter().filter(|s| s.0 <= t && t < s.1).count();
            spans.iter().map(|s| at(s.0)).max().unwrap()
        };
        let service = done.iter().map(|c| (c.arrival.0 + c.components.queue.non_negative(), c.completion.0));
        let transfer = done.iter().map(|c| (c.completion.0 - c.components.transfer.non_negative(), c.completion.0));
        let (in_service, at_once) = (most(service.collect()), most(transfer.collect()));
        assert!(in_service <= motion && at_once <= channels, "{in_service} {at_once}");
        assert_eq!(in_service, motion, "the limit is never reached");
        if channels < motion {
            assert_eq!(at_once, channels, "the limit is never reached");
        }
        // An assembly does one thing at a time.
        for arm in 0..arms as u8 {
            let own = done.iter().filter(|c| c.arm == arm);
            assert!(
                most(own.map(|c| (c.arrival.0 + c.components.queue.non_negative(), c.completion.0)).collect()) <= 1
            );
        }
    }
}

/// More arms in motion never make a saturated drive slower by more than chance.
#[test]
fn arms_that_work_together_raise_throughput() {
    let mut last = 0.0;
    for motion in 1..=4 {
        let mut spec = at("D1A4S1H1");
        spec.parallelism.arms_in_motion = motion;
        spec.parallelism.channels = 0;
        let capacity = new(&spec).design.capacity_blocks();
        let done = run(&mut new(&spec), &single_reads(2_000, 0, capacity));
        let end = done.iter().map(|c| c.completion.0).max().unwrap();
        let rate = 2_000.0 / end as f64;
        assert!(rate > last, "{motion} in motion: {rate} after {last}");
        last = rate;
    }
}

/// Halves with surfaces of their own: the first half of the addresses is the first assembly's.
#[test]
fn own_shares_split_the_addresses() {
    let mut spec = at("D1A2S1H1");
    spec.parallelism.arm_share = ArmShare::OwnShare;
    let mut drive = new(&spec);
    let capacity = drive.design.capacity_blocks();
    assert_eq!(capacity, 8 * 120 * 100);
    let reads = single_reads(500, 4_000_000, capacity);
    for c in run(&mut drive, &reads) {
        let lba = reads[c.id as usize].1.lba.0;
        assert_eq!(c.arm as u64, lba / (capacity / 2));
    }
    // Each half alone behaves as a conventional drive of half the surfaces.
    let mut half = conventional();
    half.geometry.surfaces = 4;
    let low: Vec<_> = single_reads(500, 4_000_000, capacity / 2);
    let want = run(&mut new(&half), &low);
    assert_eq!(run(&mut new(&spec), &low), want);
    // As logical units they show as two; one request across the middle is served by both.
    spec.parallelism.logical_units = true;
    let mut drive = new(&spec);
    assert_eq!(drive.design.logical_units(), [capacity / 2; 2]);
    let across = commands::command(7, Command::Read, capacity / 2 - 5, 10);
    let done = run(&mut drive, &[(0, across)]);
    assert_eq!((done.len(), done[0].id, done[0].error), (1, 7, false));
}

/// A queue shared by two halves takes in as many commands as one drive's.
#[test]
fn a_shared_queue_counts_both_halves() {
    for (own, counts) in [(false, QueueCounts::Tags), (false, QueueCounts::Waiting), (true, QueueCounts::Tags)] {
        let mut spec = at("D1A2S1H1");
        spec.parallelism.arm_share = ArmShare::OwnShare;
        spec.parallelism.logical_units = own;
        spec.queue.depth = 2;
        spec.queue.counts = counts;
        spec.queue.scheduler = "fcfs".into();
        let capacity = new(&spec).design.capacity_blocks();
        // Eight commands for the first half, then one for the second.
        let mut list: Vec<_> = (0..9u64)
            .map(|id| {
                let lba = if id < 8 { id * 1000 } else { capacity / 2 + 10 };
                let r = commands::command(id, Command::Read, lba, 1);
                (0, r)
            })
            .collect();
        list[0].0 = 0;
        let done = run(&mut new(&spec), &list);
        let of = |id: u64| done.iter().find(|c| c.id == id).unwrap();
        let waited = of(8).components.queue.non_negative();
        if own {
            assert_eq!(waited, 0, "its own queue has room at once");
        } else {
            // It enters when only 7 holds a tag besides: as 6 ends or, where commands in service do not
            // count, as 6 starts, which is when 5 ends.
            let before = match counts {
                QueueCounts::Tags => 6,
                QueueCounts::Waiting => 5,
            };
            assert_eq!(waited, of(before).completion.0, "the queue is shared");
        }
    }
}

/// Stacks in turn, piece by piece; a long request keeps all of them busy.
#[test]
fn stacks_share_long_requests() {
    let mut spec = at("D4A1S1H1");
    spec.parallelism.stack_unit = Bytes(20 * 512);
    spec.queue.scheduler = "fcfs".into();
    let read = |id, lba, blocks| commands::command(id, Command::Read, lba, blocks);
    for lba in [0u64, 20, 40, 60, 80, 100] {
        let done = run(&mut new(&spec), &[(0, read(0, lba, 20))]);
        assert_eq!(done[0].arm as u64, lba / 20 % 4);
    }
    let mut drive = new(&spec);
    let capacity = drive.design.capacity_blocks();
    let done = run(&mut drive, &[(0, read(0, 0, 320)), (0, read(1, capacity - 100, 100))]);
    assert_eq!(done.len(), 2);
    // 80 sectors on each stack: less than a turn of transfer for each.
    let long = done.iter().find(|c| c.id == 0).unwrap();
    assert!(long.components.transfer.0 as f64 <= 0.8 * REV_NS + 2.0);
}

#[test]
fn wrong_descriptions_say_what_is_needed() {
    let error = |change: &dyn Fn(&mut DriveSpec)| {
        let mut spec = at("D1A2S1H1");
        change(&mut spec);
        match Drive::builtin(&spec, &DriveOptions::default()) {
            Ok(_) => panic!("it was accepted"),
            Err(e) => e.to_string(),
        }
    };
    let e = error(&|s| s.parallelism.arms = vec![Default::default()]);
    assert!(e.contains("parallelism.arms: got 1 assemblies, need 2"), "{e}");
    let e = error(&|s| s.parallelism.arms_in_motion = 3);
    assert!(e.contains("parallelism.arms_in_motion: got 3"), "{e}");
    let e = error(&|s| s.parallelism.channels = 9);
    assert!(e.contains("parallelism.channels: got 9"), "{e}");
    let e = error(&|s| s.parallelism.faults = vec![fault(1.0, 2, None, false)]);
    assert!(e.contains("parallelism.faults[0].arm: got 2, need less than 2"), "{e}");
    let e = error(&|s| s.parallelism.faults = vec![Default::default()]);
    assert!(e.contains("faults[0].at: got neither"), "{e}");
    let e = error(&|s| s.positioning.seek_scale = -1.0);
    assert!(e.contains("positioning.seek_scale"), "{e}");
    let e = error(&|s| {
        s.dash.arms = 3;
        s.parallelism.arm_share = ArmShare::OwnShare;
    });
    assert!(e.contains("parallelism.arm_share: got 8 surfaces for 3"), "{e}");
    let e = error(&|s| {
        s.dash.arms = 16;
        s.dash.heads = 16;
    });
    assert!(e.contains("dash: got 256 head sets"), "{e}");
}
