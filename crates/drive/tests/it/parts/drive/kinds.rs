//! The code for usual commands of usual units, and for commands that are served when they arrive, gives what the code for
//! all gives: each world checks that. Here all shipped drives are units of all kinds.

use headstack_drive::service::{BARE, BUFFERED, CACHED};
use headstack_drive::spec::{Destage, DriveSpec, HitCheck};
use headstack_testkit::shipped;
use headstack_testkit::world::World;

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
            // A buffer that serves commands when they arrive does so out of order.
            through.cache.hit_check = HitCheck::Service;
            immediate.cache.destage = Destage::Immediate;
            all.extend([spec, through, immediate, bare]);
        }
    }
    all
}

#[test]
fn every_kind_of_unit_gives_what_the_general_code_gives() {
    let (mut kinds, mut at_once) = ([0; 4], [0; 4]);
    for (seed, spec) in specs().iter().enumerate() {
        let world = World::on(seed as u64 + 1, spec).expect("a drive").calm().again(5);
        let ran = world.check();
        let kind = usize::from(world.design.drive(&Default::default()).expect("a drive").serve_generally()[0]);
        kinds[kind] += 1;
        at_once[kind] += ran.at_once;
    }
    println!("units of each kind: {kinds:?}, served at once: {at_once:?}");
    assert!([BARE, CACHED, BUFFERED].iter().all(|kind| kinds[usize::from(*kind)] > 10), "{kinds:?}");
    assert!([BARE, CACHED].iter().all(|kind| at_once[usize::from(*kind)] > 500), "{at_once:?}");
}
