//! Whole experiments on the drives that come with the project.

#![allow(clippy::result_large_err)]

use headstack_block::organisation::{concatenate, DeviceSizes, Organisation, PLUGINS};
use headstack_experiment::{
    open_workload, run, Experiment, Inputs, OpenWorkload, Opened, RunError, RunOptions, RunResult,
};
use headstack_schema::{NoParameters, Params, Plugin, Plugins};
use headstack_testkit::{shipped, XorShift};
use headstack_trace::{Command, Each, Request};
use headstack_units::{Lba, Time};
use parquet::file::reader::SerializedFileReader;
use parquet::record::Field;
use std::path::Path;

/// Requests from a small table of the workload (`n`, `gap_us`, `devices`) or from a generator.
fn open(w: &OpenWorkload) -> Result<Opened, RunError> {
    let table = w.workload.synthetic.clone().unwrap_or_default();
    let has_jobs = !w.workload.jobs.is_empty();
    if w.workload.trace.is_some() || has_jobs || table.contains_key("n_requests") {
        return open_workload(w);
    }
    let get = |key: &str| table.get(key).and_then(|v| v.as_u64()).unwrap_or(1);
    let (n, gap, devices, seed) = (get("n"), get("gap_us") * 1000, get("devices"), w.seed);
    let mut noise = XorShift(seed.wrapping_mul(2) + 12345);
    let requests = (0..n).map(move |i| {
        let x = noise.draw();
        Ok(Request {
            time: Time(i * gap + x % gap),
            device: (x >> 40) as u32 % devices as u32,
            lba: Lba((x >> 8) % 10_000_000),
            blocks: 8,
            op: if x % 3 == 0 { Command::Write } else { Command::Read },
            ..Request::default()
        })
    });
    Ok(Opened::new(Box::new(Each(requests))))
}

const EXPERIMENT: &str = r#"
[[workload]]
name = "a"
synthetic = { n = 8000, gap_us = 4000, devices = 3 }
warm_up = 500
[[workload]]
name = "b"
synthetic = { n = 3000, gap_us = 9000, devices = 3 }
arrivals = { closed = { outstanding = 4, think_time = "1 ms" } }
[[system]]
name = "three"
drive = "cheetah-9lp"
count = 3
[[system]]
name = "striped"
drive = "barracuda-es-750"
count = 2
organisation = { name = "raid0", stripe_unit = "2 KiB" }
queue_depth = 32
[[system]]
name = "one"
drive = "barracuda-es-750"
organisation = "concatenate"
[run]
seed = 7
"#;

fn go(text: &str, options: &RunOptions) -> Result<RunResult, RunError> {
    let experiment = Experiment::from_toml(text, Path::new("e.toml"))?;
    let inputs = Inputs { open: &open, ..Inputs::new(vec![shipped::folder()]) };
    run(&experiment, &inputs, options)
}

#[test]
fn one_and_two_threads_give_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let dirs = ["1", "2"].map(|n| root.path().join(n));
    let texts: Vec<String> = [1, 2]
        .iter()
        .zip(&dirs)
        .map(|(threads, dir)| {
            let options = RunOptions {
                threads: Some(*threads),
                out_dir: Some(dir.clone()),
                log_requests: true,
                ..RunOptions::default()
            };
            go(EXPERIMENT, &options).unwrap().to_json().unwrap()
        })
        .collect();
    assert!(texts[0] == texts[1]);
    let mut files = 0;
    for entry in std::fs::read_dir(&dirs[0]).unwrap() {
        let name = entry.unwrap().file_name();
        let [a, b] = [&dirs[0], &dirs[1]].map(|d| std::fs::read(d.join(&name)).unwrap());
        assert!(a == b, "{name:?}");
        files += 1;
    }
    assert_eq!(files, 13);
    // The log holds every request after the warm-up, and its times give the mean in the summary.
    let json: serde_json::Value = serde_json::from_str(&texts[0]).unwrap();
    let system = &json["systems"][0];
    let file = std::fs::File::open(dirs[0].join(system["requests_file"].as_str().unwrap())).unwrap();
    let (mut rows, mut sum) = (0, 0.0);
    for row in SerializedFileReader::new(file).unwrap() {
        let row = row.unwrap();
        let (_, field) = row.get_column_iter().find(|(name, _)| *name == "response_time_s").unwrap();
        let Field::Double(seconds) = field else { panic!("{field}") };
        sum += seconds;
        rows += 1;
    }
    assert_eq!(rows, 7500);
    let mean = system["response_time_s"]["mean"].as_f64().unwrap();
    assert!((sum / 7500.0 - mean).abs() < 1e-9);
    std::fs::remove_dir_all(&root).unwrap();
}

#[test]
fn the_document_has_every_key_and_its_sums_agree() {
    let result = go(EXPERIMENT, &RunOptions::default()).unwrap();
    let names: Vec<_> = result.systems.iter().map(|s| format!("{}/{}", s.name, s.workload)).collect();
    assert_eq!(names, ["three/a", "three/b", "striped/a", "striped/b", "one/a", "one/b"]);
    let json: serde_json::Value = serde_json::from_str(&result.to_json().unwrap()).unwrap();
    assert_eq!(json["seed"], 7);
    assert!(json["version"].is_string());
    for system in json["systems"].as_array().unwrap() {
        for key in [
            "name",
            "workload",
            "n_requests",
            "n_errors",
            "duration_s",
            "throughput_iops",
            "throughput_bytes_per_s",
            "response_time_s",
            "service_time_s",
            "components_s",
            "nonzero_seek_ratio",
            "cache_hit_ratio",
            "queue_depth_mean",
            "energy_j",
            "power_w",
            "drives",
            "cost_usd",
            "energy_cost_usd",
            "quantile_method",
            "response_time_cdf",
            "series",
            "partial",
        ] {
            assert!(!system[key].is_null(), "{key}");
        }
        assert_eq!(system["n_errors"], 0);
        let number = |v: &serde_json::Value| v.as_f64().unwrap();
        let sum = |v: &serde_json::Value, keys: &[&str]| -> f64 { keys.iter().map(|k| number(&v[*k])).sum() };
        for key in ["mean", "p50", "p90", "p95", "p99", "p999", "max"] {
            assert!(number(&system["service_time_s"][key]) <= number(&system["response_time_s"][key]));
        }
        let parts = ["queue", "overhead", "seek", "rotation", "transfer", "bus"];
        let components = sum(&system["components_s"], &parts);
        assert!((components - number(&system["response_time_s"]["mean"])).abs() < 1e-12);
        let modes = ["idle", "seek", "rotation", "transfer", "standby"];
        let power = sum(&system["power_w"], &modes);
        let mean = number(&system["power_w"]["mean"]);
        assert!((power - mean).abs() < 1e-9 * mean.max(1.0));
        let energy = number(&system["energy_j"]);
        assert!((mean * number(&system["duration_s"]) - energy).abs() <= 1e-9 * energy);
        let drives = system["drives"].as_array().unwrap();
        let total: f64 = drives.iter().map(|d| number(&d["energy_j"])).sum();
        assert!((total - energy).abs() <= 1e-9 * energy.max(1.0));
        for d in drives {
            let time = sum(&d["time_s"], &modes);
            assert!((time - number(&system["duration_s"])).abs() < 1e-6, "{time}");
            // Little's law: requests at the drive are their rate times their mean response time.
            let rate = number(&d["n_requests"]) / number(&system["duration_s"]);
            let want = rate * number(&d["response_time_mean_s"]);
            let depth = number(&d["queue_depth_mean"]);
            assert!((depth - want).abs() <= 1e-6 * want, "{depth} {want}");
        }
        // Each drive's services take no longer than the run. The distribution has a thousand even steps, and
        // the tail.
        assert!(system["response_time_cdf"].as_array().unwrap().len() <= 1100);
    }
}

/// Table 9(a) of the ISCA 2008 paper for conventional drives of four platters. 10 W for a year of 8766 hours at
/// 20 cents and a PUE of 1.25 cost 21.915 dollars.
#[test]
fn costs_of_drives_and_energy() {
    let text = EXPERIMENT.replacen("[run]", "[cost]\nenergy_usd_per_kwh = 0.2\nyears = 1\npue = 1.25\n[run]", 1);
    let result = go(&text, &RunOptions::default()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&result.to_json().unwrap()).unwrap();
    assert_eq!(json["cost"]["pue"], 1.25);
    for (i, count) in [(2, 2.0), (4, 1.0)] {
        let cost = &json["systems"][i]["cost_usd"];
        for (end, each) in [("low", 67.7), ("high", 80.8)] {
            assert!((cost[end].as_f64().unwrap() - count * each).abs() < 1e-9, "{cost}");
        }
    }
    for system in json["systems"].as_array().unwrap() {
        let watts = system["power_w"]["mean"].as_f64().unwrap();
        let usd = system["energy_cost_usd"].as_f64().unwrap();
        assert!((usd - 2.1915 * watts).abs() < 1e-9 * usd);
    }
    // The same for its four actuators.
    let four = text.replacen("name = \"one\"", "name = \"one\"\ndash = \"D1A4S1H1\"", 1);
    let cost = go(&four, &RunOptions::default()).unwrap().systems[4].cost_usd.clone();
    let near = |got: Option<f64>, need: f64| (got.unwrap() - need).abs() < 1e-9;
    assert!(near(cost.low, 165.8) && near(cost.high, 188.2), "{cost:?}");
    // The description of the logging paper's drive has no cost.
    assert!(json["systems"][0]["cost_usd"]["low"].is_null());
    let priced =
        EXPERIMENT.replacen("count = 3", "count = 3\nset = { cost = { model = \"price\", usd = [100, 120] } }", 1);
    let result = go(&priced, &RunOptions::default()).unwrap();
    let cost = result.systems[0].cost_usd.clone();
    assert_eq!((cost.low, cost.high), (Some(300.0), Some(360.0)));
}

#[test]
fn wrong_input_is_named() {
    for (from, to, wants) in [
        ("cheetah-9lp", "cheetah-9pl", &["system[0].drive: got \"cheetah-9pl\"", "did you mean \"cheetah-9lp\"?"][..]),
        ("count = 3", "count = 2", &["three on a: workload: request", "got device 2", "2 drives"]),
        ("2 KiB", "2 kB", &["system[1].organisation.stripe_unit", "multiple of 512 B"]),
        ("queue_depth = 32", "scheduler = \"stpf\"", &["stpf"]),
        ("n = 8000", "n = 0", &["workload[0].synthetic.n_requests: got no request in \"a\""]),
        (
            "queue_depth = 32",
            "set = { cost = { model = \"price\", usd = [2, 1] } }",
            &["system[1].drive.cost.usd", "low end first"],
        ),
        ("[run]", "[cost]\npue = 0.9\n[run]", &["cost.pue: got 0.9, need"]),
        ("[run]", "[cost]\nyear = 3\n[run]", &["year", "years"]),
        ("queue_depth = 32", "set = { geometry = { surfaces = 0 } }", &["system[1].drive."]),
    ] {
        let error = go(&EXPERIMENT.replacen(from, to, 1), &RunOptions::default()).unwrap_err();
        assert!(error.is_input(), "{error}");
        for want in wants {
            assert!(error.to_string().contains(want), "{to}: {error}");
        }
    }
}

/// The progress counts all requests, and its total is right from the start.
#[test]
fn progress_ends_at_its_total() {
    for (limit, total) in [("", 20_000), ("[run]\nmax_requests = 1500", 1500)] {
        let options = RunOptions::default();
        let text = LOOP.replacen("ARRIVALS", "rate = \"50/s\"", 1) + limit;
        go(&text, &options).unwrap();
        assert_eq!(options.progress.done(), total);
        assert_eq!(options.progress.total(), Some(total));
    }
    // With a duration, the number of requests is not known.
    let options = RunOptions::default();
    let text = LOOP.replacen("ARRIVALS", "rate = \"50/s\"", 1) + "[run]\nduration = \"2 s\"";
    go(&text, &options).unwrap();
    assert_eq!(options.progress.total(), None);
    assert!((50..150).contains(&options.progress.done()));
}

const LOOP: &str = r#"
[workload]
synthetic = { n_requests = 20_000, ARRIVALS, footprint = "50 GB" }
[system]
drive = "barracuda-es-750"
"#;

/// The requests and the loop are the same, whichever table defines the loop.
#[test]
fn closed_synthetic_workloads_run_closed() {
    let result = |from: &str, to: &str| {
        let text = LOOP.replacen("ARRIVALS", "arrivals = \"closed\", KEYS", 1);
        go(&text.replacen(from, to, 1), &RunOptions::default()).unwrap()
    };
    let own = result("KEYS", "outstanding = 3, think = \"2 ms\"");
    let table = LOOP.replacen("ARRIVALS", "rate = \"1/s\"", 1).replacen(
        "[system]",
        "arrivals = { closed = { outstanding = 3, think_time = \"2 ms\" } }\n[system]",
        1,
    );
    let table = go(&table, &RunOptions::default()).unwrap();
    assert_eq!(own.systems, table.systems);
    // One request is served and waits in turn: the mean cycle is the sum of the mean service and think times.
    let drawn = result("KEYS", "think = { distribution = \"exponential\", mean = \"20 ms\" }");
    let json: serde_json::Value = serde_json::from_str(&drawn.to_json().unwrap()).unwrap();
    let system = &json["systems"][0];
    let number = |v: &serde_json::Value| v.as_f64().unwrap();
    let cycle = number(&system["duration_s"]) / number(&system["n_requests"]);
    let think = cycle - number(&system["response_time_s"]["mean"]);
    // The mean of 20,000 draws has a standard deviation of 0.02 / sqrt(20000); the bound is four of those.
    assert!((think - 0.02).abs() < 6e-4, "{think}");
}

/// `max_requests` is exact for every kind of arrival and each of several workloads, on both sides of the batches of 256 in
/// which requests are taken, with and without a warm-up.
#[test]
fn the_most_requests_are_exact_for_every_kind_of_arrival() {
    let text = |n: u64, warm_up: u64| {
        let arrivals = [
            ("open", "synthetic = { n_requests = 2000, rate = \"500/s\" }"),
            ("closed", "synthetic = { n_requests = 2000, arrivals = \"closed\", outstanding = 7 }"),
            (
                "loop",
                "synthetic = { n = 2000, gap_us = 1000, devices = 1 }\narrivals = { closed = { outstanding = 300 } }",
            ),
            ("jobs", "jobs = [{ threads = 16 }, { threads = 3, think_time = \"3 ms\" }]"),
            ("processors", "processors = 2\njobs = [{ threads = 16, think_time = \"3 ms\" }]"),
            ("open jobs", "jobs = [{ threads = 2, think_time = \"5 ms\", blocking = 0 }]"),
        ];
        let workload =
            |(name, keys): &(&str, &str)| format!("[[workload]]\nname = \"{name}\"\nwarm_up = {warm_up}\n{keys}\n");
        let workloads: String = arrivals.iter().map(workload).collect();
        format!("{workloads}[system]\ndrive = \"barracuda-es-750\"\n[run]\nmax_requests = {n}\n")
    };
    for n in [1, 100, 255, 256, 257, 600] {
        for warm_up in [0, n / 2] {
            let result = go(&text(n, warm_up), &RunOptions::default()).unwrap();
            assert_eq!(result.systems.len(), 6);
            for s in &result.systems {
                assert_eq!(s.n_requests, n - warm_up, "{}, {n}, {warm_up}", s.workload);
            }
        }
    }
}

#[test]
fn two_kinds_of_arrivals_contradict_each_other() {
    for arrivals in ["\"open\"", "{ closed = { outstanding = 1 } }"] {
        let text = LOOP.replacen("ARRIVALS", "arrivals = \"closed\"", 1).replacen(
            "[system]",
            &format!("arrivals = {arrivals}\n[system]"),
            1,
        );
        let error = go(&text, &RunOptions::default()).unwrap_err();
        assert!(error.is_input());
        assert_eq!(
            error.to_string(),
            "workload[0].arrivals: got a synthetic workload with closed arrivals of its own, need one of the two"
        );
    }
}

#[test]
fn cancelled_runs_say_that_they_are_partial() {
    let options = RunOptions::default();
    options.progress.cancel();
    let result = go(EXPERIMENT, &options).unwrap();
    assert!(result.partial && result.systems.iter().all(|s| s.partial));
    assert_eq!(result.systems.len(), 6);
    // Values that were not measured are null.
    assert!(result.to_json().unwrap().contains("\"p99\":null"));
}

/// Sixty requests, about one each half minute: with a standby timer of ten seconds the drive is in standby most
/// of the time, and requests wait for it. Without timers the result has no power conditions.
#[test]
fn a_drive_that_goes_to_sleep() {
    let text = r#"
[workload]
synthetic = { n = 60, gap_us = 30000000, devices = 1 }
[[system]]
name = "awake"
drive = "exos-x18"
[[system]]
name = "sleeps"
drive = "exos-x18"
set = { "power.conditions.standby.timer" = "10 s" }
[[system]]
name = "as the maker advises"
drive = "exos-x18"
set = { "power.conditions.timers" = "nominal" }
"#;
    let result = go(text, &RunOptions::default()).unwrap();
    let json = result.to_json().unwrap();
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let [awake, sleeps, nominal] = [0, 1, 2].map(|i| &document["systems"][i]);
    let number = |v: &serde_json::Value| v.as_f64().unwrap();
    assert_eq!(number(&awake["power_w"]["standby"]), 0.0);
    assert!(awake["drives"][0].get("power_conditions").is_none());
    for system in [awake, sleeps, nominal] {
        let watts = &system["power_w"];
        let modes = ["idle", "seek", "rotation", "transfer", "standby"];
        let sum: f64 = modes.iter().map(|m| number(&watts[m])).sum();
        assert!((sum - number(&watts["mean"])).abs() < 1e-9, "{watts}");
        let times = &system["drives"][0]["time_s"];
        let sum: f64 = modes.iter().map(|m| number(&times[m])).sum();
        assert!((sum - number(&system["duration_s"])).abs() < 1e-6, "{times}");
    }
    // Spinning up takes 11 s, and up to 23 s more if the drive has just begun to stop.
    assert!(number(&awake["response_time_s"]["max"]) < 1.0);
    let longest = number(&sleeps["response_time_s"]["max"]);
    assert!((11.0..34.1).contains(&longest), "{longest} s");
    let conditions = &sleeps["drives"][0]["power_conditions"];
    let [down, up, stand] = ["spin_down", "spin_up", "standby"].map(|c| number(&conditions[c]["time_s"]));
    // 29 W during spin-up, 1 W in standby.
    assert!((number(&conditions["spin_up"]["energy_j"]) - 29.0 * up).abs() < 1e-6);
    assert!((number(&conditions["standby"]["energy_j"]) - stand).abs() < 1e-6);
    let standby = number(&sleeps["drives"][0]["time_s"]["standby"]);
    assert!((down + up + stand - standby).abs() < 1e-6 && stand > 0.0);
    // The shipped timers of idle_a and idle_b: no more than 10 ms later, and less power.
    assert!(number(&nominal["response_time_s"]["max"]) < 1.02);
    assert!(number(&nominal["power_w"]["mean"]) < number(&awake["power_w"]["mean"]));
    assert!(number(&nominal["drives"][0]["power_conditions"]["idle_a"]["time_s"]) > 0.0);
    let wrong = text.replace("\"10 s\"", "\"-10 s\"");
    let error = go(&wrong, &RunOptions::default()).unwrap_err().to_string();
    assert!(error.contains("power.conditions.standby.timer"), "{error}");
}

/// An experiment whose systems change: the same bytes on one thread and on two, in open and closed loops. Only
/// systems with changes report them.
#[test]
fn changing_systems_repeat_exactly() {
    let text = r#"
[[workload]]
name = "open"
synthetic = { n_requests = 4000, reads = 0.7, write_through = 0.2, rate = "50/s", footprint = "100 GB" }
[[workload]]
name = "closed"
synthetic = { n_requests = 20_000, arrivals = "closed", outstanding = 3, footprint = "100 GB" }
warm_up = "5 s"
[[system]]
drive = "constellation-es3-4tb"
count = 2
organisation = "raid0"
[[system.change]]
at = "10 s"
scheduler = "fcfs"
[[system.change]]
at = "20 s"
drives = [1]
power_condition = "standby"
[[system.change]]
at = "22 s"
spindle_speed = { speed = "5400 rpm", takes = "2 s" }
[[system.change]]
at = "20 min"
queue_depth = 1
[[system]]
drive = "constellation-es3-4tb"
"#;
    let experiment = Experiment::from_toml(text, Path::new("e.toml")).expect("an experiment");
    let bytes = |threads| {
        let options = RunOptions { threads: Some(threads), ..RunOptions::default() };
        let inputs = Inputs { open: &open, ..Inputs::new(vec![shipped::folder()]) };
        run(&experiment, &inputs, &options).expect("a result")
    };
    let one = bytes(1);
    assert_eq!(one.to_json().expect("JSON"), bytes(2).to_json().expect("JSON"));
    let counts: Vec<_> = one.systems.iter().map(|s| s.changes.map(|c| (c.n_done, c.n_after_end))).collect();
    assert_eq!(counts, [Some((3, 1)), Some((3, 1)), None, None]);
    // Only the drive set to standby was in standby.
    let standby = |s: usize, d: usize| one.systems[s].drives[d].time_s.standby;
    assert!(standby(0, 0) == 0.0 && standby(0, 1) > 1.0);
    // The times of each drive's states add up to the run.
    for s in &one.systems {
        for d in &s.drives {
            let t = &d.time_s;
            let all = t.idle + t.seek + t.rotation + t.transfer + t.standby;
            assert!((all - s.duration_s).abs() < 1e-6 * all, "{}", d.name);
        }
    }
}

/// Simulated time has an end; every way to exceed it is an error that names the time and the event.
#[test]
fn times_past_the_end_of_simulated_time_are_refused() {
    let error = |workload: &str, system: &str| {
        let text = format!("[workload]\n{workload}\n[system]\ndrive = \"barracuda-es-750\"\n{system}");
        let error = go(&text, &RunOptions::default()).unwrap_err();
        assert!(error.is_input(), "{error}");
        error.to_string()
    };
    let bound = "need at most 2^62 ns (146 years)";
    // A request every 31.7 years, evenly: the fifth comes after 158 years.
    let slow = "synthetic = { n_requests = 1000, arrivals = \"constant\", rate = \"1e-9/s\" }";
    assert_eq!(
        error(slow, ""),
        format!("workload[0].synthetic: got request 5 with time 5000000000000000000 ns, {bound}; hint: a higher rate")
    );
    // The same in phases, one request at a time.
    let phases = "synthetic = { n_requests = 1000, arrivals = \"constant\", local = 0.5, rate = \"1e-9/s\" }";
    let e = error(phases, "");
    assert!(e.starts_with("workload[0].synthetic: got request 5 with time 5000000000000000000 ns"), "{e}");
    // The sixth request, at 5 s, becomes 5e18 ns.
    let scaled = "synthetic = { n_requests = 1000, arrivals = \"constant\", rate = \"1/s\" }\ntime_scale = 1e9";
    assert_eq!(
        error(scaled, ""),
        format!("workload[0].time_scale: got request 5 with time 5000000000 ns times 1000000000, {bound}")
    );
    // Also if the workload is read in a first pass.
    let system = "organisation = \"concatenate\"";
    assert!(error(scaled, system).starts_with("workload[0].time_scale: got request 5 with"));
    // Requests 63 years apart in a loop of one: the third is issued after 126 years, the fourth would exceed
    // the end.
    let pauses = "synthetic = { n_requests = 1000, rate = \"1/s\" }
        arrivals = { closed = { outstanding = 1, think_time = \"2e9 s\" } }";
    let e = error(pauses, "");
    assert!(e.starts_with("barracuda-es-750: workload: got the end of a pause at 60000000"), "{e}");
    assert!(e.ends_with(bound), "{e}");
    let e = error("synthetic = { rate = \"1/s\" }", "set = { \"link.rate\" = \"1e-9 MB/s\" }");
    assert!(e.starts_with("system[0].drive.link.rate: got "), "{e}");
}

/// An overload whose requests arrive in time and would end long after the end of simulated time. A request takes 2e12 / 512
/// times 100 ms on the link, 12.4 years, and a few turns: the first completion past 2^62 ns is told.
#[test]
fn a_run_stops_at_the_first_completion_past_the_end_of_simulated_time() {
    let text = r#"
        [workload]
        WARM_UP
        synthetic = { n_requests = 40, reads = 1.0, size = "2 TB", rate = "1/s", footprint = "4 TB" }
        [system]
        name = "slow"
        [system.drive]
        name = "slow"
        link = { read_sector_time = "100 ms" }
        seek = { model = "linear", single = "1 ms", full = "8 ms", cylinders = 1000 }
        [system.drive.geometry]
        rotation_speed = "7200 rpm"
        surfaces = 1
        cylinders = 1000
        zones = [{ first_cylinder = 0, last_cylinder = 999, sectors_per_track = 10_000_000 }]
    "#;
    for warm_up in ["", "warm_up = 30"] {
        let error = go(&text.replace("WARM_UP", warm_up), &RunOptions::default()).unwrap_err();
        assert!(error.is_input(), "{error}");
        let error = error.to_string();
        let at = error.strip_prefix("slow: workload: got a completion at ");
        let at = at.and_then(|e| e.strip_suffix(" ns, need at most 2^62 ns (146 years)"));
        let at: u64 = at.and_then(|at| at.parse().ok()).expect(&error);
        let one = 2_000_000_000_000 / 512 * 100_000_000;
        assert!((1 << 62..(1 << 62) + one + one / 1000).contains(&at), "{error}");
    }
}

/// Requests at the very end of simulated time are simulated correctly.
#[test]
fn a_request_at_the_end_of_simulated_time() {
    let text = "[workload]\nsynthetic = { n_requests = 4, arrivals = \"constant\", rate = \"1e-9/s\" }
        [system]\ndrive = \"barracuda-es-750\"";
    let result = go(text, &RunOptions::default()).unwrap();
    let system = &result.systems[0];
    assert_eq!((system.n_requests, system.n_errors), (4, 0));
    // The first request is at 1e18 ns, the last at 4e18 ns.
    assert!((system.duration_s - 3e9).abs() < 1.0, "{}", system.duration_s);
    assert!(system.response_time_s.max < 1.0);
    let last = system.series.t_s.last().copied().unwrap_or_default();
    assert!((1e9..4.1e9).contains(&last), "{last}");
}

/// An experiment can use only the plug-ins that it is given; no global list is read.
#[test]
fn registries_are_those_that_are_passed() {
    let text = "[workload]\nsynthetic = { n_requests = 100, rate = \"50/s\", footprint = \"1 GB\" }
        [system]\ndrive = \"barracuda-es-750\"\ncount = 2\norganisation = \"NAME\"";
    let run_with = |name: &str, organisations: &Plugins<dyn Organisation>| {
        let experiment = Experiment::from_toml(&text.replace("NAME", name), Path::new("e.toml"))?;
        let inputs = Inputs { organisations: organisations.clone(), ..Inputs::new(vec![shipped::folder()]) };
        run(&experiment, &inputs, &RunOptions::default())
    };
    // One more entry, under another name.
    let facts = DeviceSizes::Needed;
    let own = Plugin::with_facts(format!("mi{}", "ne"), "", "", facts, |NoParameters {}, context| {
        concatenate().build(&Params::new(), context)
    });
    let (more, usual) = (Plugins::new([own]), PLUGINS.clone());
    let mine = run_with("mine", &more).unwrap();
    let theirs = run_with("concatenate", &usual).unwrap();
    let json = |r: &headstack_experiment::RunResult| serde_json::to_string(&r.systems).unwrap();
    assert_eq!(json(&mine), json(&theirs));
    for (name, entries, want) in [
        ("concatenate", &more, "got \"concatenate\", need one of mine"),
        (
            "independant",
            &usual,
            "got \"independant\", need one of independent, concatenate, raid0, raid1, raid10, raid5; did you mean \"independent\"?",
        ),
    ] {
        let error = run_with(name, entries).unwrap_err().to_string();
        assert_eq!(error, format!("system[0].organisation: {want}"));
    }
    // A trace in a format that is not among those given.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    std::fs::write(&path, "time_ns,lba,blocks,op\n0,0,8,read\n").unwrap();
    let text = format!("[workload]\ntrace = {path:?}\nformat = \"csv\"\n[system]\ndrive = \"barracuda-es-750\"");
    let experiment = Experiment::from_toml(&text, Path::new("e.toml")).unwrap();
    let mut inputs = Inputs::new(vec![shipped::folder()]);
    assert!(run(&experiment, &inputs, &RunOptions::default()).is_ok());
    inputs.formats = Plugins::new([]);
    let error = run(&experiment, &inputs, &RunOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("workload[0].format: got \"csv\", need one of"), "{error}");
}

/// All background work counts as such: also a log's checkpoints.
#[test]
fn checkpoints_are_background_work() {
    let text = r#"
        [[system]]
        drive = "cheetah-9lp"
        [system.set.mapping]
        model = "log"
        recovery = { model = "checkpoint", every = 4 }
        [[workload]]
        synthetic = { n_requests = 500, reads = 0.0, rate = "50/s", size = "8 KiB", footprint = "1 GiB" }
    "#;
    let result = crate::records::ran_on(text, 1).expect("a run");
    let drive = &result.systems[0].drives[0];
    let (b, t) = (&drive.background, &drive.time_s);
    assert!(b.checkpoint.time_s > 0.0);
    let works = [b.read_ahead, b.destage, b.media_scan, b.follow, b.cleaning, b.checkpoint];
    let share = works.iter().map(|w| w.time_s).sum::<f64>() / (t.idle + t.seek + t.rotation + t.transfer + t.standby);
    assert!((drive.utilisation_background - share).abs() < 1e-12, "{} {share}", drive.utilisation_background);
}
