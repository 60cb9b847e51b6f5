//! Drives and hosts drawn at random keep what holds for every drive: see `headstack_testkit::checks`.
//! `HEADSTACK_THOROUGH` multiplies the number of cases, `HEADSTACK_SEED` is the first seed.

use headstack_drive::spec::{ArmShare, Destage, DriveSpec, Parking};
use headstack_testkit::world::{check_all, vary, World};
use headstack_testkit::{cases, first_seed, shipped, SplitMix};

/// Seeds that have found a fault: checkpoints in the past, surfaces lost under a log or a media cache, data lost with a
/// head, an arm that scans and writes or stands in for another one, a part in service that is aborted, a flush that
/// overtakes writes which wait for room, a change of speed during a checkpoint.
const FOUND: [u64; 14] = [1610, 3589, 7209, 9183, 11276, 15616, 16740, 24580, 27146, 35614, 43595, 44442, 46155, 60178];

/// The same of varied drives: data lost with a head, after which the drive rests; an arm that fails while the drive rests.
const FOUND_VARIED: [u64; 2] = [121274727, 406963];

/// The same of restless hosts: a scheduler that takes a command before it was set, a head that fails while another one's
/// fault is not known yet, cleaning that is due when the speed of a drive on its way to standby is changed.
const FOUND_RESTLESS: [u64; 3] = [400779, 401853, 404645];

#[test]
fn random_drives_keep_their_promises() {
    let from = first_seed(0);
    check_all((from..from + cases(300)).chain(FOUND).map(|seed| (seed, World::of(seed, ""))));
}

/// With everything that files of real drives set besides, commands alone and with changes all the time.
#[test]
fn varied_drives_keep_their_promises() {
    let from = first_seed(0);
    let calm = (from..from + cases(200)).chain(FOUND_VARIED);
    check_all(calm.map(|seed| (seed, World::varied(seed, "").map(World::calm))));
    let restless = (from..from + cases(100)).chain(FOUND_RESTLESS);
    check_all(restless.map(|seed| (seed, World::varied(seed, "").map(World::restless))));
}

/// Each point with one in so many drives, and each drive at one in so many points: 3 in a thorough run. Odd, so that a
/// drive meets arms, stacks and modes in all combinations.
fn one_in() -> usize {
    if cases(1) > 1 {
        3
    } else {
        17
    }
}

/// A shipped drive at a point of the DASH space.
fn at_point(
    shipped: &DriveSpec,
    point: u32,
    (parking, motion): (Parking, u32),
    draw: &mut SplitMix,
    idle: bool,
) -> DriveSpec {
    let mut spec = shipped.clone();
    // Energy by distance is tested in `seek_energy.rs`, timers of power conditions beside them.
    spec.power.remove("seek_energy");
    spec.power.remove("conditions");
    spec.dash.stacks = 1 + (point & 3);
    spec.dash.arms = 1 + (point >> 2 & 3);
    // Surfaces of the layout `adaptive` have tracks of their own and are not joined.
    let joined = spec.geometry.layout != "adaptive";
    spec.dash.surfaces = 1 + (point >> 4 & 3) * u32::from(joined);
    spec.dash.heads = 1 + (point >> 6);
    spec.parallelism.parking = parking;
    spec.parallelism.arms_in_motion = motion;
    if spec.geometry.surfaces % spec.dash.arms != 0 {
        spec.parallelism.arm_share = ArmShare::All;
    }
    vary(draw, &mut spec, idle);
    spec
}

/// Every point of the space and every drive; parking and motion change from pair to pair, so that each drive meets all four
/// of their combinations. Once with buffers that wait for idle time.
#[test]
fn every_point_and_drive() {
    let seed = 20_080_621;
    println!("seed {seed}");
    let drives = shipped::drives();
    let modes = [(Parking::Hold, 1), (Parking::Follow, 1), (Parking::Hold, 0), (Parking::Follow, 0)];
    for idle in [false, true] {
        let pairs = (0..256u32).flat_map(|point| (0..drives.len()).map(move |i| (point, i)));
        // A head that came to rest inside the only sector of a run.
        let found = |point: u32, i: usize| point == 4 && drives[i].name == "constellation-es3-2tb";
        let chosen = pairs.filter(|(point, i)| (i + *point as usize) % one_in() == 0 || found(*point, *i));
        let worlds = chosen.map(|(point, i)| {
            let seed = seed ^ (u64::from(point) * drives.len() as u64 + i as u64) << 32;
            let mode = modes[(point as usize / 3 + i / 3) % 4];
            let spec = at_point(&drives[i], point, mode, &mut SplitMix(seed), idle);
            let world = World::on(seed, &spec).unwrap_or_else(|e| panic!("{} {}: {e}", spec.name, spec.dash));
            (seed, Ok(world.calm().paced(30, 0.125)))
        });
        let held = check_all(worlds);
        let count = |of: &dyn Fn(&headstack_drive::Completion) -> bool| -> usize {
            held.iter().map(|(_, ran)| ran.done.iter().filter(|c| of(c)).count()).sum()
        };
        let (errors, hits) = (count(&|c| c.error), count(&|c| c.cache_hit));
        let faulty = held.iter().filter(|(world, _)| !world.spec().parallelism.faults.is_empty()).count();
        let waiting = held.iter().filter(|(world, _)| world.spec().cache.destage == Destage::Idle).count();
        println!("{} drives: {hits} hits, {errors} errors, {faulty} with faults, {waiting} wait", held.len());
        assert!(held.len() >= 256 * drives.len() / one_in());
        assert!(2 * hits > held.len() && 25 * errors > held.len() && 8 * faulty > held.len());
        assert_eq!(waiting > 0, idle);
    }
}
