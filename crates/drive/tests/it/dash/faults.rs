//! Heads and assemblies that fail.

use super::*;
use headstack_testkit::commands;

pub fn fault(ms: f64, arm: u32, surface: Option<u32>, warning: bool) -> FaultSpec {
    FaultSpec { at: Some(Span::from_ms(ms)), arm, surface, warning, ..Default::default() }
}

#[test]
fn an_assembly_that_fails_leaves_the_rest_at_work() {
    for warning in [true, false] {
        let mut spec = at("D1A2S1H1");
        spec.parallelism.faults = vec![fault(2_000.0, 1, None, warning)];
        spec.parallelism.fault_recovery = Span::from_ms(700.0);
        let capacity = new(&spec).design.capacity_blocks();
        let reads = single_reads(1_000, 8_000_000, capacity);
        let mut drive = new(&spec);
        let done = run(&mut drive, &reads);
        assert!(done.iter().all(|c| !c.error));
        let faults = drive.faults();
        assert_eq!(faults.len(), 1);
        assert_eq!((faults[0].arm, faults[0].surface), (1, None));
        assert_eq!(faults[0].failed, Time(2_000_000_000));
        let out = faults[0].deconfigured.0;
        if warning {
            assert_eq!(out, 2_000_000_000);
        } else {
            // The command that met it lost the recovery time.
            assert!(out >= 2_700_000_000);
            let hit = done.iter().map(|c| c.components.queue.non_negative()).max().unwrap();
            assert!(hit >= 700_000_000);
        }
        for c in &done {
            let start = c.arrival.0 + c.components.queue.non_negative();
            assert!(c.arm == 0 || start < 2_000_000_000, "arm 1 works at {start}");
        }
        assert!(done.iter().any(|c| c.arm == 1));
    }
}

#[test]
fn a_surface_that_nothing_reaches_gives_errors_and_others_go_on() {
    let mut spec = at("D1A2S1H1");
    spec.parallelism.faults = vec![fault(0.0, 0, Some(3), true), fault(4_000.0, 1, Some(3), true)];
    let capacity = new(&spec).design.capacity_blocks();
    let reads = single_reads(1_500, 8_000_000, capacity);
    let mut drive = new(&spec);
    let done = run(&mut drive, &reads);
    assert_eq!(drive.faults().len(), 2);
    let mut errors = 0;
    for c in &done {
        let head = reads[c.id as usize].1.lba.0 / 100 % 8;
        let start = c.arrival.0 + c.components.queue.non_negative();
        let dead = head == 3 && start >= 4_000_000_000;
        assert_eq!(c.error, dead, "{c:?}");
        errors += dead as u32;
        assert!(head != 3 || c.error || c.arm == 1);
    }
    assert!(errors > 20);
}

/// A scheduler that prefers others must not keep what can never be served.
#[test]
fn commands_out_of_reach_fail_at_once_under_load() {
    let mut spec = at("D1A2S1H1");
    spec.parallelism.faults = vec![fault(0.0, 0, Some(5), true), fault(0.0, 1, Some(5), true)];
    let capacity = new(&spec).design.capacity_blocks();
    let reads = single_reads(600, 0, capacity);
    let done = run(&mut new(&spec), &reads);
    let (failed, served): (Vec<&Completion>, Vec<&Completion>) = done.iter().partition(|c| c.error);
    assert!(failed.len() > 30 && served.len() > 400);
    let first = served.iter().map(|c| c.completion).min().unwrap();
    assert!(failed.iter().all(|c| c.completion <= first));
}

/// A long read crosses a surface that one arm has lost: the other serves all of it.
#[test]
fn requests_over_several_surfaces_need_an_arm_that_reaches_them_all() {
    let mut spec = at("D1A2S1H1");
    spec.parallelism.faults = vec![fault(0.0, 0, Some(2), true)];
    let long = |id, lba| commands::command(id, Command::Read, lba, 350);
    let done = run(&mut new(&spec), &[(0, long(0, 10)), (0, long(1, 8_000)), (0, long(2, 400))]);
    for c in &done {
        assert!(!c.error);
        assert!(c.id == 2 || c.arm == 1, "{c:?}");
    }
}

#[test]
fn times_of_failure_come_from_the_seed() {
    let mut spec = at("D1A4S1H1");
    spec.parallelism.faults = (0..3)
        .map(|arm| FaultSpec {
            mean_time_to_failure: Some(Span::from_ms(3_000.0)),
            arm,
            warning: true,
            ..Default::default()
        })
        .collect();
    let capacity = new(&spec).design.capacity_blocks();
    let reads = single_reads(3_000, 8_000_000, capacity);
    let times = |seed| {
        let options = DriveOptions { seed, ..DriveOptions::default() };
        let mut drive = Drive::builtin(&spec, &options).unwrap();
        run(&mut drive, &reads);
        drive.faults().iter().map(|f| f.failed).collect::<Vec<_>>()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
    // Their mean over seeds is the mean asked for (standard error 1 / sqrt(900)).
    let (mut sum, mut n) = (0.0, 0);
    for seed in 0..300 {
        let options = DriveOptions { seed, ..DriveOptions::default() };
        let mut drive = Drive::builtin(&spec, &options).unwrap();
        drive.submit(Time(u64::MAX / 4), reads[0].1);
        drive.advance(Time::NEVER, &mut |_| {});
        for f in drive.faults() {
            sum += f.failed.0 as f64 * 1e-6;
            n += 1;
        }
    }
    assert_eq!(n, 900);
    assert!((sum / 900.0 / 3_000.0 - 1.0).abs() < 0.1, "{}", sum / 900.0);
}
