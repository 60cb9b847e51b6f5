//! The parts between policies and simulated drives.

use super::{go, job, mean, near, of, schedule, Bench, Rig};
use headstack_experiment::Experiment;
use std::path::Path;

const AGILE: &str = "policy = \"pcap-agile\"\n";

fn bench(seconds: u32) -> Bench {
    Bench::of(job(128, &format!("duration = \"{seconds} s\"")), 0.0)
}

/// The same bytes on one thread and on two, and from the experiment that the result holds.
#[test]
fn the_same_result_on_any_number_of_threads_and_again() {
    let mut bench = bench(120);
    for (name, keys) in [
        ("pcap", schedule(&[(20.0, 9.0)])),
        ("signal", "signal = { mean = \"9 W\", deviation = \"0.7 W\", least = \"8 W\", most = \"11 W\" }".into()),
    ] {
        let capping = format!("{AGILE}{keys}");
        bench.add(&Rig { name, capping: &capping, ..Rig::default() });
    }
    let experiment = bench.experiment();
    let one = go(&experiment, Some(1)).expect("it runs");
    let two = go(&experiment, Some(2)).expect("it runs");
    assert_eq!(one.to_json().expect("JSON"), two.to_json().expect("JSON"));
    let again = Experiment::from_value(one.experiment.clone(), Path::new("")).expect("the resolved experiment");
    let again = go(&again, None).expect("it runs again");
    let watts = |r: &headstack_experiment::RunResult| {
        let of = |s: &headstack_experiment::SystemResult| s.capping.as_ref().expect("capping").series.power_w.clone();
        r.systems.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(watts(&one), watts(&again));
}

/// `none` only watches: the requests are those of a system without capping, and the power is the drives' own.
#[test]
fn watching_changes_nothing() {
    let mut bench = bench(60);
    bench.add(&Rig { name: "without", ..Rig::default() });
    bench.add(&Rig { name: "watched", capping: "policy = \"none\"", ..Rig::default() });
    let result = bench.run();
    let (without, watched) = (of(&result, "without"), of(&result, "watched"));
    assert_eq!(without.n_requests, watched.n_requests);
    assert_eq!(without.response_time_s, watched.response_time_s);
    assert_eq!(without.energy_j, watched.energy_j);
    let capping = watched.capping.as_ref().expect("capping");
    let joules: f64 = capping.series.power_w.iter().sum();
    // Intervals of one second; the run ends inside the last one.
    near(joules / watched.energy_j, 1.0, 0.02, "energy");
    // All admitted times are shorter by the wait for a place.
    assert!(capping.admitted_response_time_s.mean <= capping.response_time_s.mean);
}

/// The drive draws more than 1 W and less than 1000 W all the time: it is always over the one cap, by its mean
/// power less the cap, and never over the other, nor by more than a tolerance of 1000 W.
#[test]
fn time_and_energy_over_the_cap() {
    let mut bench = bench(20);
    for (name, cap, tolerance) in [("low", 1.0, "0 W"), ("high", 1000.0, "0 W"), ("tolerant", 1.0, "1000 W")] {
        let capping = format!("policy = \"none\"\ntolerance = \"{tolerance}\"\n{}", schedule(&[(0.0, cap)]));
        bench.add(&Rig { name, capping: &capping, ..Rig::default() });
    }
    let result = bench.run();
    for (name, always, over) in [("low", 1.0, 1.0), ("high", 0.0, 0.0), ("tolerant", 0.0, 1.0)] {
        let capping = of(&result, name).capping.as_ref().expect("capping");
        assert!(capping.capped_s > 15.0, "{name}: {} s", capping.capped_s);
        let violation_s = always * capping.capped_s;
        near(capping.violation_s, violation_s, 1e-9, "time over the cap");
        let joules = over * (capping.power_mean_w - 1.0) * capping.observed_s;
        // All of what is observed counts under the cap.
        near(capping.capped_s, capping.observed_s, 1e-9, "time capped");
        near(capping.over_cap_j, joules, 1e-6, "energy over the cap");
    }
}

/// With 128 threads and 4 places, a request waits for a place most of its time.
#[test]
fn both_latencies_side_by_side() {
    let mut bench = bench(120);
    bench.add(&Rig { queues: (1, 4), capping: "policy = \"none\"", ..Rig::default() });
    let result = bench.run();
    let capping = of(&result, "system").capping.clone().expect("capping");
    let (all, own) = (capping.response_time_s.mean, capping.admitted_response_time_s.mean);
    // Little's law with 128 and with 4 requests.
    near(all / own, 32.0, 1.5, "ratio");
    near(own, 0.048, 0.003, "from admission");
}

/// The meter shows what the drives draw over the efficiency of the supply, some time later.
#[test]
fn a_meter_with_a_delay_and_a_supply() {
    let capping = "policy = \"none\"\nefficiency = 0.5\ndelay = \"7 s\"\nresolution = \"0.5 W\"";
    let mut bench = bench(60);
    bench.add(&Rig { capping: &capping.replace("resolution = \"0.5 W\"", ""), ..Rig::default() });
    let result = bench.run();
    let system = of(&result, "system");
    let series = &system.capping.as_ref().expect("capping").series;
    near(mean(system, "power", 10.0, 60.0), 2.0 * system.power_w.mean, 0.5, "before the supply");
    assert!(series.measured_w[..7].iter().all(Option::is_none), "{:?}", series.measured_w);
    for (i, shown) in series.measured_w.iter().enumerate().skip(7) {
        let shown = shown.expect("a reading");
        // A tenth of a watt of resolution, and four standard deviations of noise.
        near(shown, series.power_w[i - 7], 0.05 + 0.2, "the reading of 7 s before");
    }
}

/// A delay beyond what counts as fresh is a lost meter: the policy takes the lowest setting.
#[test]
fn a_meter_that_is_too_late_is_lost() {
    let mut bench = bench(120);
    let capping = format!("{AGILE}delay = \"30 s\"\n{}", schedule(&[(0.0, 10.0)]));
    bench.add(&Rig { capping: &capping, ..Rig::default() });
    let result = bench.run();
    let system = of(&result, "system");
    let series = &system.capping.as_ref().expect("capping").series;
    assert_eq!(series.status.last(), Some(&"lost"));
    assert_eq!((mean(system, "places", 60.0, 120.0), mean(system, "depth", 60.0, 120.0)), (32.0, 1.0));
}

/// Drives of a shelf that are not alike: each keeps its own queues, and the meter shows their sum.
#[test]
fn a_shelf_of_unlike_drives() {
    let drives = "drives = [{ drive = \"ultrastar-7k4000-pcap\", count = 2 }, \
                  { drive = \"constellation-es3-4tb\", count = 2 }]";
    let mut bench = Bench::of(job(64, "devices = 4\nduration = \"200 s\""), 0.0);
    let capping = format!(
        "policy = \"pcap-s\"\nparameters = {{ tiers = [2, 2], efficiency = 1 }}\n{}",
        schedule(&[(50.0, 30.0)])
    );
    bench.add(&Rig { name: "mixed", more: drives, capping: &capping, ..Rig::default() });
    let result = bench.run();
    let series = &of(&result, "mixed").capping.as_ref().expect("capping").series;
    assert_eq!(series.drive_power_w.len(), 4);
    for (i, watts) in series.power_w.iter().enumerate() {
        let sum: f64 = series.drive_power_w.iter().map(|d| d[i]).sum();
        near(*watts, sum, 1e-9, "the sum");
    }
    // The second tier is cut first.
    let first = series.drive_power_w.iter().map(|d| d[45]).collect::<Vec<_>>();
    let later = series.drive_power_w.iter().map(|d| d[190]).collect::<Vec<_>>();
    assert!(later[2] < first[2] && later[3] < first[3], "{first:?} then {later:?}");
}

/// A policy that moves arms moves them: the map says that one arm draws less.
#[test]
fn arms_are_set() {
    let point = |arms: u32, watts: f64, iops: f64| {
        format!("{{ nr_requests = 128, queue_depth = 32, arms = {arms}, power = \"{watts} W\", iops = {iops} }}")
    };
    let map = format!("[{}, {}]", point(1, 9.0, 200.0), point(2, 12.0, 350.0));
    let capping = format!("policy = \"feed-forward\"\nparameters = {{ map = {map} }}\n{}", schedule(&[(30.0, 10.0)]));
    let mut bench = bench(90);
    let more = "dash = \"D1A2S1H1\"\nparallelism = { arms_in_motion = 2 }";
    bench.add(&Rig { more, capping: &capping, ..Rig::default() });
    let result = bench.run();
    let system = of(&result, "system");
    let arms = &system.capping.as_ref().expect("capping").series.arms;
    assert_eq!((arms[10], arms[80]), (2.0, 1.0));
    assert!(mean(system, "iops", 5.0, 30.0) > 1.3 * mean(system, "iops", 60.0, 90.0));
}

/// `feed-forward` sets the expiry of reads under a cap and restores it without one. An elevator without deadlines has
/// none to set, and PCAP leaves it alone.
#[test]
fn the_expiry_of_reads_is_set() {
    let caps = "caps = [{ at = \"30 s\", cap = \"8 W\" }, { at = \"80 s\" }]";
    let mut bench = bench(100);
    for (name, policy, elevator) in [
        ("ours", "feed-forward", "deadline"),
        ("blk-mq", "feed-forward", "mq-deadline"),
        ("unsorted", "feed-forward", "none"),
        ("theirs", "pcap-agile", "deadline"),
    ] {
        bench.add(&Rig { name, elevator, capping: &format!("policy = \"{policy}\"\n{caps}"), ..Rig::default() });
    }
    let result = bench.run();
    for (name, want) in [
        ("ours", [Some(0.5), Some(2.0), Some(0.5)]),
        ("blk-mq", [Some(0.5), Some(2.0), Some(0.5)]),
        ("unsorted", [None; 3]),
        ("theirs", [Some(0.5); 3]),
    ] {
        let capping = of(&result, name).capping.as_ref().expect("capping");
        let expire = &capping.series.read_expire_s;
        assert_eq!([expire[10], expire[70], expire[95]], want, "{name}");
    }
}

/// At 50 requests per second, released one at a time, gaps are 20 ms; those held count their wait as queueing.
#[test]
fn a_throttle_paces() {
    let mut bench = Bench::of(job(8, "duration = \"20 s\""), 0.0);
    bench.add(&Rig { name: "throttled", throttle: "iops = \"50/s\"", ..Rig::default() });
    bench.add(&Rig { name: "bytes", throttle: "bandwidth = \"204800 B/s\"", ..Rig::default() });
    let result = bench.run();
    for name in ["throttled", "bytes"] {
        let system = of(&result, name);
        near(system.throughput_iops, 50.0, 1.0, name);
        // Little's law: 8 requests, all of them always held or served.
        near(system.response_time_s.mean, 8.0 / 50.0, 0.01, name);
        let parts = &system.components_s;
        let sum = parts.queue + parts.overhead + parts.seek + parts.rotation + parts.transfer + parts.bus;
        near(sum, system.response_time_s.mean, 1e-9, "shares");
    }
}

/// The limit of a throttle changes while requests wait.
#[test]
fn a_throttle_changes() {
    let mut bench = Bench::of(job(8, "duration = \"40 s\""), 0.0);
    let more = "change = [{ at = \"20 s\", layer = \"throttle\", iops_limit = \"10/s\" }]";
    bench.add(&Rig { more, throttle: "iops = \"50/s\"", capping: "policy = \"none\"", ..Rig::default() });
    let result = bench.run();
    let system = of(&result, "system");
    near(mean(system, "iops", 2.0, 20.0), 50.0, 0.5, "before");
    near(mean(system, "iops", 22.0, 40.0), 10.0, 0.5, "after");
}

#[test]
fn refuses_what_cannot_be_capped() {
    let base = |layers: &str, capping: &str| {
        format!(
            "[run]\nduration = \"10 s\"\n[workload]\n{}[[system]]\ndrive = \"ultrastar-7k4000-pcap\"\ncount = 2\n\
             layers = {layers}\n[system.capping]\n{capping}\n",
            job(4, "devices = 2")
        )
    };
    for (layers, capping, need) in [
        ("[]", AGILE, "system[0].capping.policy"),
        ("[\"host-queue\"]", "policy = \"throttle\"", "throttle of its own"),
        ("[\"host-queue\"]", AGILE, "1 for pcap-agile"),
        ("[\"host-queue\", \"raid0\"]", "policy = \"pcap-s\"", "host-queue of its own"),
        ("[\"host-queue\"]", "policy = \"pcap-s\"\nparameters = { tiers = [3] }", "system[0].capping.parameters.tiers"),
        ("[\"host-queue\"]", "policy = \"pcap-z\"", "system[0].capping.policy"),
    ] {
        let text = base(layers, capping);
        let error = match Experiment::from_toml(&text, Path::new("x.toml")) {
            Ok(experiment) => go(&experiment, None).expect_err(need).to_string(),
            Err(e) => e.to_string(),
        };
        assert!(error.contains(need), "{layers} {capping}: {error}");
    }
}

/// A run knows the policies of its inputs, and no others.
#[test]
fn policies_are_those_of_the_inputs() {
    use headstack_control::policy::{built, Drives, Facts, Policy, PolicyParameters, PLUGINS};
    use headstack_experiment::{run, Inputs, RunOptions};
    #[derive(headstack_schema::Table)]
    struct Own {}
    impl PolicyParameters for Own {
        fn build(
            &mut self,
            devices: &[headstack_control::Device],
        ) -> Result<Box<dyn Policy>, headstack_schema::SpecError> {
            PLUGINS.find("policy", "throttle")?.build(&headstack_schema::Params::new(), devices)
        }
    }
    let own = headstack_schema::Plugin::with_facts("own", "", "", Facts::of::<Own>(Drives::One, &[]), built::<Own>);
    let policies = headstack_schema::Plugins::new([own]);
    let text = |policy: &str| {
        format!(
            "[run]\nduration = \"2 s\"\n[workload]\n{}[[system]]\ndrive = \"ultrastar-7k4000-pcap\"\n\
             layers = [\"throttle\", \"host-queue\"]\n[system.capping]\npolicy = \"{policy}\"\n\
             caps = [{{ at = \"0 s\", cap = \"8 W\" }}]\n",
            job(4, "")
        )
    };
    let go = |policy: &str| {
        let experiment = Experiment::from_toml(&text(policy), Path::new("x.toml")).expect("valid");
        let inputs = Inputs { policies: policies.clone(), ..Inputs::new(vec![headstack_testkit::shipped::folder()]) };
        run(&experiment, &inputs, &RunOptions::default()).map_err(|e| e.to_string())
    };
    let result = go("own").expect("a known policy");
    let capping = result.systems[0].capping.as_ref().expect("capped");
    assert_eq!(capping.policy, "own");
    // floor((8 W - 7.1 W) / 0.045 W) requests per second, from the paper's Figure 2b.
    near(result.systems[0].throughput_iops, 20.0, 3.0, "throttled");
    let error = go("throttle").expect_err("an unknown policy");
    assert!(error.contains("system[0].capping.policy"), "{error}");
    assert!(error.contains("need one of own"), "{error}");
}

/// A write finds the places of reads all kept for woken readers, while no write is under way whose end would
/// wake it: it must not wait for one.
#[test]
fn a_write_among_many_readers_ends() {
    for reads in [0.9, 0.99] {
        for seed in 1..=3 {
            let text = format!(
                "[run]\nseed = {seed}\n[workload.synthetic]\nn_requests = 3000\nreads = {reads}\n\
                 arrivals = \"closed\"\noutstanding = 32\nfootprint = \"4 TB\"\n[[system]]\n\
                 drive = \"ultrastar-7k4000-pcap\"\nlayers = [{{ name = \"host-queue\", \
                 elevator = \"deadline\", places = \"legacy\", nr_requests = 4, depth = 1, \
                 merge = false, wake_time = \"50 us\" }}]\n"
            );
            let experiment = Experiment::from_toml(&text, Path::new("x.toml")).expect("valid");
            let result = go(&experiment, None).expect("every request ends");
            assert_eq!(result.systems[0].n_requests, 3000, "seed {seed}, {reads}");
        }
    }
}

/// A result names every parameter of the policies, with the values of the paper's Table 1, and which of them nobody
/// gave. Run again, it names the same.
#[test]
fn a_result_holds_all_parameters_of_its_policies() {
    let system = |name: &str, capping: &str| {
        format!(
            "[[system]]\nname = \"{name}\"\ndrive = \"ultrastar-7k4000-pcap\"\nlayers = [\"host-queue\"]\n{capping}\n"
        )
    };
    let text = format!(
        "[workload]\n{}[capping]\npolicy = \"pcap-agile\"\nparameters = {{ mode = \"throughput\" }}\n\
         tolerance = \"0.2 W\"\n\
         signal = {{ mean = \"9 W\", deviation = \"1 W\", least = \"8 W\", most = \"10 W\" }}\n{}{}",
        job(4, "duration = \"3 s\""),
        system("all", ""),
        system("own", "capping = { policy = \"pcap-base\", parameters = { raise_factor = 3.0 } }"),
    );
    let experiment = Experiment::from_toml(&text, Path::new("x.toml")).expect("valid");
    let result = go(&experiment, None).expect("it runs");
    let table_1 = [
        ("period", serde_json::json!("5 s")),
        ("tolerance", serde_json::json!("0.2 W")),
        ("raise_factor", serde_json::json!(2.0)),
        ("lower_factor", serde_json::json!(8.0)),
        ("host_queue_power", serde_json::json!("2 W")),
        ("drive_queue_power", serde_json::json!("2 W")),
        ("nr_requests", serde_json::json!([4, 32])),
        ("queue_depth", serde_json::json!([1, 8])),
        ("throughput_nr_requests", serde_json::json!(128)),
        ("throughput_queue_depth", serde_json::json!(32)),
    ];
    let common = &result.experiment["capping"]["parameters"];
    let in_force = &of(&result, "all").capping.as_ref().expect("capping").parameters;
    for (key, value) in table_1 {
        assert_eq!(common[key], value, "{key}");
        assert_eq!(in_force[key], value, "{key}");
        let named = format!("capping.parameters.{key}");
        assert!(result.defaults.contains(&named), "{named}");
    }
    assert_eq!(common["mode"], "throughput");
    let signal = &result.experiment["capping"]["signal"];
    assert_eq!((&signal["every"], &signal["mean"]), (&"4 s".into(), &"9 W".into()));
    assert!(result.defaults.iter().any(|k| k == "capping.signal.every"));
    let own = &result.experiment["system"][1]["capping"]["parameters"];
    assert_eq!((&own["raise_factor"], &own["lower_factor"]), (&3.0.into(), &8.0.into()));
    assert!(own.get("nr_requests").is_none(), "{own}");
    for given in ["capping.parameters.mode", "system.1.capping.parameters.raise_factor"] {
        assert!(!result.defaults.iter().any(|k| k == given), "{given}");
    }
    assert!(result.defaults.iter().any(|k| k == "system.1.capping.parameters.lower_factor"));
    let mut document = result.experiment.clone();
    document["defaults"] = result.defaults.clone().into();
    let again = Experiment::from_value(document, Path::new("")).expect("the resolved experiment");
    let again = go(&again, None).expect("it runs again");
    assert_eq!(again.experiment, result.experiment);
    assert_eq!(again.defaults, result.defaults);
    assert_eq!(again.run_id, result.run_id);
}
