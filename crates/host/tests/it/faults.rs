//! Random faults of drives, meters, the disk, the clock and the daemon itself: at the end every drive has its settings of before.

use crate::group::bench;
use crate::kernel::Answer;
use headstack_host::knobs::{Knob, Knobs};
use headstack_testkit::{cases, first_seed, SplitMix};
use headstack_units::Span;
use rustix::io::Errno;
use serde_json::json;
use std::time::Duration;

/// Each case draws a number of drives, and what happens in each of 40 seconds. Then all faults end.
#[test]
fn settings_are_restored_after_any_faults() {
    let first = first_seed(0);
    for seed in first..first + cases(25) {
        println!("seed {seed}");
        let mut rng = SplitMix(seed);
        let n = 1 + rng.below(4) as usize;
        let policy = ["pcap-s", "feed-forward", "learning"][rng.below(3) as usize];
        let mut bench = bench(n, policy, true, json!({}));
        for _ in 0..40 {
            let i = rng.below(n as u64) as usize;
            let answer = match rng.below(8) {
                0 => Answer::Fail(Errno::BUSY),
                1 => Answer::Fail(Errno::INVAL),
                2 => Answer::Fail(Errno::NODEV),
                3 => Answer::Late(Duration::from_millis(rng.below(4))),
                4 => Answer::Ignore,
                _ => Answer::Take,
            };
            bench.kernels[i].set(|s| s.answer = answer);
            match rng.below(16) {
                0 => bench.kernels[i].unplug_or_return(),
                // Before the daemon has saved the drive's settings, these would be its settings of before.
                1 if bench.has(i) && bench.originals.of(&format!("drive-{i}")).is_some() => {
                    bench.kernels[i].set(|s| s.values.insert(Knob::NrRequests, "96".into()));
                }
                2 => bench.kernels[i].set(|s| s.held = Some("md0 is at work: check".into())),
                3 => bench.kernels[i].set(|s| s.held = None),
                4 => bench.fill_disk(true),
                5 => bench.fill_disk(false),
                // The machine was suspended for up to some hours.
                6 => bench.now += Span(rng.below(20_000) as i64 * 1_000_000_000),
                7 => bench.kill(),
                _ => {}
            }
            let watts = 6.0 * n as f64 + rng.below(8) as f64;
            bench.second((rng.below(6) > 0).then_some(watts));
        }
        for kernel in &bench.kernels {
            if !kernel.is_present() {
                kernel.unplug_or_return();
            }
            kernel.set(|s| {
                s.held = None;
                s.answer = Answer::Take;
            });
        }
        bench.fill_disk(false);
        bench.seconds(40, 9.0 * n as f64);
        for kernel in &bench.kernels {
            // An end that does not wait for its writes is seen.
            kernel.set(|s| s.answer = Answer::Late(Duration::from_millis(5)));
        }
        assert!(bench.release(), "seed {seed}: need all drives restored");
        assert!(bench.originals.drives().is_empty(), "seed {seed}");
        for i in 0..n {
            assert_eq!(bench.sizes(i), (64, 32), "seed {seed}: drive {i}");
        }
    }
}
