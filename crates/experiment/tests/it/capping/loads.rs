//! Power, throughput and response time under constant loads.

use super::{inside, near, of, Bench, Rig};
use headstack_experiment::RunResult;

const PLACES: [u32; 6] = [4, 8, 16, 32, 64, 128];
const DEPTHS: [u32; 6] = [1, 2, 4, 8, 16, 32];
const RATES: [u32; 12] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 150, 200];

fn throttled(more: &str) -> Vec<(u32, f64)> {
    let mut bench = Bench::steady(300.0);
    for rate in RATES {
        let throttle = format!("iops = \"{rate}/s\"");
        bench.add(&Rig { name: &rate.to_string(), throttle: &throttle, more, ..Rig::default() });
    }
    bench.add(&Rig { name: "free", more, ..Rig::default() });
    let result = bench.run();
    let power = |name: &str| of(&result, name).power_w.mean;
    let mut all: Vec<(u32, f64)> = RATES.iter().map(|r| (*r, power(&r.to_string()))).collect();
    all.push((u32::MAX, power("free")));
    all
}

fn at(powers: &[(u32, f64)], rate: u32) -> f64 {
    powers.iter().find(|p| p.0 == rate).expect("a rate").1
}

/// Figure 2b: power has a peak near 90 requests per second and falls towards the highest throughput.
#[test]
fn power_over_a_throttled_rate_has_a_peak() {
    let powers = throttled("");
    inside(at(&powers, 10), 7.35, 7.75, "10 /s");
    let peak = powers.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("rates");
    inside(f64::from(peak.0), 80.0, 100.0, "rate of the peak");
    inside(peak.1, 10.3, 10.9, "peak");
    inside(at(&powers, 150), 9.5, 10.1, "150 /s");
    near(at(&powers, u32::MAX), 9.15, 0.2, "free");
    assert!(peak.1 - at(&powers, u32::MAX) >= 1.0);
}

/// Without the dependence on distance there is no peak: a constant energy per seek lets power rise with the rate, and
/// the coil's losses alone are highest far above 90 requests per second.
#[test]
fn the_peak_is_made_by_the_energy_over_distance() {
    // Every seek is "at full speed": 30 mJ for all distances beyond a thousandth of the stroke.
    let set = "set = { power.seek_energy.acceleration_power = \"0 W\", power.seek_energy.speed_energy = \"30 mJ\", \
               power.seek_energy.coast_power = \"0 W\", power.seek_energy.coast_from = 0.001 }";
    let powers = throttled(set);
    for pair in powers.windows(2) {
        // 200 /s is above the highest throughput, so that the last two are the same.
        assert!(pair[1].1 >= pair[0].1 - 0.03, "{powers:?}");
    }
    let copper = "set = { power.seek_energy.acceleration_power = \"6.64 W\", \
                  power.seek_energy.speed_energy = \"0 J\", power.seek_energy.coast_power = \"0 W\" }";
    let powers = throttled(copper);
    assert!(at(&powers, 150) > at(&powers, 90), "{powers:?}");
}

fn grid(elevator: &str, depths: &[u32], places: &[u32]) -> RunResult {
    let mut bench = Bench::steady(300.0);
    for i in places {
        for n in depths {
            let name = format!("({n},{i})");
            bench.add(&Rig { name: &name, queues: (*n, *i), elevator, ..Rig::default() });
        }
    }
    bench.run()
}

/// Figure 3: throughput, power and response time over both queues.
#[test]
fn both_queues_as_in_figure_3() {
    let result = grid("deadline", &DEPTHS, &PLACES);
    let system = |n: u32, i: u32| of(&result, &format!("({n},{i})"));
    let power = |n, i| system(n, i).power_w.mean;
    let iops = |n, i| system(n, i).throughput_iops;
    // From admission: what iostat calls await.
    let wait_ms = |n, i| {
        let layers = &system(n, i).layers;
        let queue = layers.iter().find(|l| l.layer == "host-queue").expect("a queue");
        queue.from_admission_mean_s * 1e3
    };
    for (n, i, wanted, tolerance) in
        [(1, 4, 83.0, 3.0), (32, 4, 105.0, 4.0), (8, 32, 154.0, 6.0), (1, 128, 147.0, 5.0), (32, 128, 198.0, 5.0)]
    {
        near(iops(n, i), wanted, tolerance, &format!("throughput at ({n},{i})"));
    }
    // A drive's queue longer than the host's is of no use.
    near(iops(16, 8) / iops(32, 8), 1.0, 0.02, "(16,8) over (32,8)");
    near(iops(4, 4) / iops(32, 4), 1.0, 0.02, "(4,4) over (32,4)");
    for pair in PLACES.windows(2) {
        assert!(power(1, pair[1]) < power(1, pair[0]), "places {pair:?}");
    }
    assert!(power(1, 4) - power(1, 8) > power(1, 64) - power(1, 128));
    inside(power(1, 4) - power(1, 128), 2.4, 2.9, "range of the host's queue");
    // Observation 3: opposing trends over the drive's queue.
    inside(power(1, 4) - power(32, 4), 0.05, 0.4, "fall at 4 places");
    assert!(power(8, 32) - power(1, 32) > 0.9);
    inside(power(32, 128) - power(1, 128), 0.9, 1.5, "rise at 128 places");
    assert!(power(8, 32) > power(32, 128));
    // Observation 4.
    for i in PLACES {
        for pair in DEPTHS.windows(2) {
            let (before, after) = (wait_ms(pair[0], i), wait_ms(pair[1], i));
            assert!(after <= before * 1.02, "{i} places, depths {pair:?}: {before} then {after} ms");
        }
        for n in DEPTHS {
            let places = wait_ms(n, i) * 1e-3 * iops(n, i);
            // A thread whose request ends within 20 ms of its being woken is still a batcher, and may exceed the number of
            // places; so short a response is usual with few places only.
            near(places / f64::from(i), 1.0, if i <= 8 { 0.05 } else { 0.01 }, &format!("Little's law at ({n},{i})"));
        }
    }
    let drops: Vec<f64> = PLACES.iter().map(|i| wait_ms(1, *i) - wait_ms(32, *i)).collect();
    assert!(drops[5] >= 150.0 && drops[..5].iter().all(|d| *d < drops[5]), "{drops:?}");
}

/// The elevator makes the fall of power with the host's queue: first come first served has none.
#[test]
fn without_an_elevator_places_do_not_matter() {
    let result = grid("none", &[1], &[4, 128]);
    let power = |i: u32| of(&result, &format!("(1,{i})")).power_w.mean;
    assert!((power(4) - power(128)).abs() < 0.2, "{} and {}", power(4), power(128));
}

/// The order of the drive makes the effects of its queue: first come first served has none of them.
#[test]
fn without_an_order_of_the_drive_its_queue_does_not_matter() {
    let mut bench = Bench::steady(200.0);
    for n in [1, 32] {
        let name = n.to_string();
        bench.add(&Rig { name: &name, queues: (n, 128), more: "scheduler = \"fcfs\"", ..Rig::default() });
    }
    let result = bench.run();
    let [one, many] = ["1", "32"].map(|n| of(&result, n));
    near(many.throughput_iops / one.throughput_iops, 1.0, 0.03, "throughput");
    near(many.power_w.mean, one.power_w.mean, 0.1, "power");
}

/// A buffer of 16 MiB that completes writes.
const WRITE_CACHE: &str = "cache = { enabled = true, segments = 512, segment_sectors = 128, write_segments = 256, \
                           write_back = true, destage = \"idle\", read_ahead = \"none\" }";

/// Power and throughput of a share of reads: open, at the lowest setting of both queues, and throttled to a cap of
/// 9 W; without a write cache and with it.
fn mixed(reads: f64) -> [[(f64, f64); 3]; 2] {
    let jobs = super::job(128, "duration = \"230 s\"").replace("reads = 1.0", &format!("reads = {reads:?}"));
    let mut bench = Bench::of(jobs, 30.0);
    let throttle = "policy = \"throttle\"\ncaps = [{ at = \"0 s\", cap = \"9 W\" }]";
    let kinds = [("open", (32, 128), ""), ("lowest", (1, 128), ""), ("throttle", (32, 128), throttle)];
    for (cache, more) in [("off", ""), ("on", WRITE_CACHE)] {
        for (name, queues, capping) in kinds {
            let name = format!("{name}, cache {cache}");
            bench.add(&Rig { name: &name, queues, more, capping, ..Rig::default() });
        }
    }
    let result = bench.run();
    ["off", "on"].map(|cache| {
        kinds.map(|(name, ..)| {
            let system = of(&result, &format!("{name}, cache {cache}"));
            (system.power_w.mean, system.throughput_iops)
        })
    })
}

/// Queues cap power by the order of requests. Writes that the drive's buffer has completed are written in an order of
/// its own, so both queues have no effect on them.
#[test]
fn queues_cap_reads_and_writes_but_not_what_the_write_cache_writes() {
    let [off, on] = mixed(1.0);
    for (off, on) in off.iter().zip(on) {
        near(on.0, off.0, 0.05, "reads: power with a write cache");
        near(on.1 / off.1, 1.0, 0.01, "reads: throughput with a write cache");
    }
    let [off, on] = mixed(0.0);
    let [open, lowest, _] = off;
    assert!(open.0 - lowest.0 > 1.0, "writes without a cache: {off:?}");
    let [open, lowest, _] = on;
    near(lowest.0, open.0, 0.05, "writes into a cache: power");
    near(lowest.1 / open.1, 1.0, 0.01, "writes into a cache: throughput");
    // The mechanism goes to and fro between reads and the sweep of the cache: no size of the queues brings the power
    // below 9 W, a throttle does.
    let [off, on] = mixed(0.5);
    assert!(off[1].0 < 9.2, "half of them writes: {off:?}");
    assert!(on[1].0 > 10.0 && on[1].0 > off[1].0 + 1.0, "{on:?}");
    assert!(on[2].0 < 9.2, "{on:?}");
}
