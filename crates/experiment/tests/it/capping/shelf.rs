//! PCAP/S over the drives of a shelf.

use super::{inside, job, near, of, schedule, Bench, Rig};
use headstack_experiment::SystemResult;
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
    let rows: Vec<usize> = (0..series.t_s.len()).filter(|i| series.t_s[*i] > from && series.t_s[*i] <= to).collect();
    TIERS.map(|tier| {
        let sum: f64 = tier.clone().flat_map(|d| rows.iter().map(move |i| series.drive_power_w[d][*i])).sum();
        sum / (tier.len() * rows.len()) as f64
    })
}

/// Figure 10, and shares by weight as its ablation: then all tiers are cut at once.
#[test]
fn sixteen_drives_in_three_tiers_as_in_figure_10() {
    let mut bench = Bench::of(job(128, "devices = 16\nduration = \"3300 s\""), 0.0);
    let capping =
        format!("policy = \"pcap-s\"\nparameters = {{ tiers = [5, 5, 6] }}\nefficiency = 0.83\n{}", schedule(&CAPS));
    let weighted = capping.replace("tiers = [5, 5, 6]", "tiers = [5, 5, 6], share = \"weight\", weights = [4, 2, 1]");
    bench.add(&Rig { name: "strict", more: "count = 16", capping: &capping, ..Rig::default() });
    bench.add(&Rig { name: "weight", more: "count = 16", capping: &weighted, ..Rig::default() });
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
    inside(tiers_w(system, 1600.0, 1800.0)[0], 9.0, 10.3, "tier 1 at 170 W");
    let drives = &system.capping.as_ref().expect("capping").drives;
    let share = TIERS.map(|t| drives[t.clone()].iter().map(|d| d.within_100_ms).sum::<f64>() / t.len() as f64);
    assert!(share[0] > share[1] && share[1] > share[2], "{share:?}");
    inside(share[0], 0.74, 0.86, "within 100 ms, tier 1");
    inside(share[2], 0.40, 0.56, "within 100 ms, tier 3");
    // By weight all tiers take part at 190 W.
    let weighted = tiers_w(of(&result, "weight"), 1000.0, 1200.0);
    assert!(uncapped[0] - weighted[0] > 0.3, "{weighted:?} of {uncapped:?}");
}

/// Two drives that work and two without work, on which one request each comes at 200 s. With `rest` the idle tier
/// gives its watts first: by the drive file an idle drive draws 7.97 W, with unloaded heads 6.56 W and in standby
/// 1.2 W, and it is ready 15 s after a request. Without it the tier that works gets longer response times.
#[test]
fn an_idle_tier_rests_under_a_cap() {
    let jobs = format!(
        "{}[[workload.jobs]]\nname = \"rare\"\nthreads = 1\nfirst_device = 2\ndevices = 2\nstart = \"200 s\"\n\
         volume = \"4 KiB\"\nrequests = {{ reads = 1.0, size = \"4 KiB\", footprint = \"4 TB\" }}\n",
        job(64, "devices = 2\nduration = \"300 s\"")
    );
    let mut bench = Bench::of(jobs, 0.0);
    for rest in ["own", "unload", "standby"] {
        let after = if rest == "own" { "" } else { ", rest_after = \"5 s\"" };
        let capping = format!(
            "policy = \"pcap-s\"\nparameters = {{ tiers = [2, 2], efficiency = 1.0, rest = \"{rest}\"{after} }}\n{}",
            schedule(&[(50.0, 36.0)])
        );
        bench.add(&Rig {
            name: rest,
            more: "drive = \"constellation-es3-4tb\"\ncount = 4",
            capping: &capping,
            ..Rig::default()
        });
    }
    let result = bench.run();
    let system = |name: &str| of(&result, name);
    let series = |name: &str| &system(name).capping.as_ref().expect("capping").series;
    for (name, watts) in [("own", 7.97), ("unload", 6.56), ("standby", 1.2)] {
        for drive in [2, 3] {
            for second in [110, 190] {
                let drawn = series(name).drive_power_w[drive][second];
                near(drawn, watts, 0.005, &format!("{name}, drive {drive}, {second} s"));
            }
        }
    }
    // With the watts of the idle tier the other one may have short queues, and so short response times.
    assert!(super::mean(system("standby"), "power", 110.0, 200.0) < 36.0);
    let p50_s = |name: &str| {
        let p50 = &series(name).admitted_p50_s[110..190];
        p50.iter().flatten().sum::<f64>() / p50.len() as f64
    };
    assert!(p50_s("own") > 2.0 * p50_s("standby"), "{} and {} s", p50_s("own"), p50_s("standby"));
    let longest = |name: &str| {
        let drives = &system(name).capping.as_ref().expect("capping").drives;
        drives[2].admitted_response_time_s.max
    };
    inside(longest("own"), 0.0, 0.1, "a request on a drive that is ready");
    inside(longest("unload"), 0.4, 0.5, "after loading the heads");
    inside(longest("standby"), 15.0, 15.1, "after spinning up");
    // It rests again afterwards.
    near(series("standby").drive_power_w[2][290], 1.2, 0.005, "at 290 s");
}
