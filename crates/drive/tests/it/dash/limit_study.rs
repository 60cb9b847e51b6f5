//! Seeks and rotational waits scaled by a factor.

use super::*;
use headstack_testkit::commands;

/// Half the seeks' time, half the waits: the limit study scales what happens, not only what is said.
#[test]
fn limit_study_factors_scale_seeks_and_waits() {
    let base = {
        let mut s = conventional();
        s.queue.scheduler = "fcfs".into();
        s
    };
    let capacity = new(&base).design.capacity_blocks();
    // Far enough apart that none waits: every read meets the same platter at any factor.
    let mut reads = single_reads(3_000, 0, capacity);
    for (i, (at, _)) in (0..).zip(&mut reads) {
        *at = i * 61_234_567;
    }
    let of = |seek: f64, rotation: f64| {
        let mut s = base.clone();
        s.positioning.seek_scale = seek;
        s.positioning.rotation_scale = rotation;
        let done = run(&mut new(&s), &reads);
        let most = done.iter().map(|c| c.components.rotation).max().unwrap();
        (mean(&done, |c| c.components.seek), mean(&done, |c| c.components.rotation), most.0 as f64)
    };
    let (seek, rotation, _) = of(1.0, 1.0);
    for f in [0.5, 0.25] {
        assert!((of(f, 1.0).0 / seek - f).abs() < 1e-3);
        // Scaled waits change the phases of what follows: only the mean is f times as long.
        let (_, r, most) = of(1.0, f);
        assert!((r / rotation - f).abs() < 0.04 * f, "{r} for {f} of {rotation}");
        assert!(most <= f * REV_NS + 1.0);
    }
    assert_eq!(of(0.0, 1.0).0, 0.0);
    assert_eq!(of(1.0, 0.0).1, 0.0);
}

/// A scaled wait ends with the sector under the head: what follows it passes without a wait.
#[test]
fn scaled_waits_keep_sequences_in_phase() {
    for f in [1.0, 0.5, 0.25, 0.0] {
        let mut spec = conventional();
        spec.queue.scheduler = "fcfs".into();
        spec.positioning.rotation_scale = f;
        let read = |id, lba, blocks| commands::command(id, Command::Read, lba, blocks);
        let list: Vec<_> = (0..9).map(|i| (0, read(i, 30 + 5 * i, 5))).collect();
        let done = run(&mut new(&spec), &list);
        for c in &done[1..] {
            assert_eq!(c.components.rotation, Span::ZERO, "{f}: {c:?}");
        }
        // Over a track's end only its skew of a tenth of a turn less the switch is waited for.
        let done = run(&mut new(&spec), &[(0, read(0, 90, 20))]);
        let inner = f * (0.1 * REV_NS - 0.6e6);
        let first = f * 0.9 * REV_NS;
        let got = done[0].components.rotation.0 as f64;
        assert!((got - first - inner).abs() < 5.0, "{f}: {got}");
    }
}
