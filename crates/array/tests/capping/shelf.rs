//! PCAP/S over the drives of a shelf.

use super::{inside, job, near, of, schedule, Bench, Rig};
use headstack_array::SystemResult;
use std::ops::Range;

const CAPS: [(f64, f64); 9] = [
    (600.0, 200.0),
    (900.0, 190.0),
    (1200.0, 185.0),
    (1500.0, 170.0),
    (1800.0, 195.0),
    (2100.0, 150.0),
    (2400.0, 150.1),
    (2700.0, 180.0),
    (3000.0, 205.0),
];
const TIERS: [Range<usize>; 3] = [0..5, 5..10, 10..16];

/// Mean power of a drive of each tier, over times above `from` and up to `to`.
fn tiers_w(system: &SystemResult, from: f64, to: f64) -> [f64; 3] {
    let series = &system.capping.as_ref().expect("capping").series;
    let rows: Vec<usize> = (0..series.t_s.len())
        .filter(|i| series.t_s[*i] > from && series.t_s[*i] <= to)
        .collect();
    TIERS.map(|tier| {
        let sum: f64 = tier
            .clone()
            .flat_map(|d| rows.iter().map(move |i| series.drive_power_w[d][*i]))
            .sum();
        sum / (tier.len() * rows.len()) as f64
    })
}

/// Figure 10, and shares by weight as its ablation: then all tiers are cut at once.
#[test]
fn sixteen_drives_in_three_tiers_as_in_figure_10() {
    let mut bench = Bench::of(job(128, "devices = 16\nduration = \"3300 s\""), 0.0);
    let capping = format!(
        "policy = \"pcap-s\"\nparameters = {{ tiers = [5, 5, 6] }}\nefficiency = 0.83\n{}",
        schedule(&CAPS)
    );
    let weighted = capping.replace(
        "tiers = [5, 5, 6]",
        "tiers = [5, 5, 6], share = \"weight\", weights = [4, 2, 1]",
    );
    bench.add(&Rig {
        name: "strict",
        more: "count = 16",
        capping: &capping,
        ..Rig::default()
    });
    bench.add(&Rig {
        name: "weight",
        more: "count = 16",
        capping: &weighted,
        ..Rig::default()
    });
    let result = bench.run();
    let system = of(&result, "strict");
    let all = |from, to| super::mean(system, "power", from, to);
    let free = all(100.0, 600.0);
    near(free, 204.0, 4.0, "without a cap");
    let lowest = all(2250.0, 2700.0);
    near(lowest, 160.0, 2.0, "at 150 W");
    inside(1.0 - lowest / free, 0.20, 0.23, "largest cut");
    let uncapped = tiers_w(system, 100.0, 600.0);
    let at_190 = tiers_w(system, 1000.0, 1200.0);
    for tier in 0..2 {
        near(at_190[tier], uncapped[tier], 0.3, "tiers 1 and 2 at 190 W");
    }
    assert!(at_190[2] < 9.2, "{at_190:?}");
    inside(
        tiers_w(system, 1600.0, 1800.0)[0],
        9.0,
        10.3,
        "tier 1 at 170 W",
    );
    let drives = &system.capping.as_ref().expect("capping").drives;
    let share = TIERS.map(|t| {
        drives[t.clone()]
            .iter()
            .map(|d| d.within_100_ms)
            .sum::<f64>()
            / t.len() as f64
    });
    assert!(share[0] > share[1] && share[1] > share[2], "{share:?}");
    inside(share[0], 0.74, 0.86, "within 100 ms, tier 1");
    inside(share[2], 0.40, 0.56, "within 100 ms, tier 3");
    // By weight all tiers take part at 190 W.
    let weighted = tiers_w(of(&result, "weight"), 1000.0, 1200.0);
    assert!(
        uncapped[0] - weighted[0] > 0.3,
        "{weighted:?} of {uncapped:?}"
    );
}
