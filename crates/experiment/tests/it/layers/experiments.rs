//! Layers in experiments: compared with the same drives without layers, in trees, on one thread and on two.

use crate::records::{ran, ran_on as go};
use headstack_experiment::{Experiment, RunOptions, RunResult, SystemResult};
use parquet::file::reader::SerializedFileReader;
use parquet::record::Field;
use std::collections::BTreeMap;
use std::path::Path;

const WORKLOADS: &str = r#"
[[workload]]
name = "open"
synthetic = { n_requests = 3000, reads = 0.6, sequential = 0.2, size = { distribution = "uniform", min = "4 KiB", max = "256 KiB" }, arrivals = "poisson", rate = "150/s", footprint = "5 GB" }
warm_up = 300
[[workload]]
name = "closed"
synthetic = { n_requests = 3000, reads = 0.5, size = "8 KiB", arrivals = "closed", outstanding = 12, think = "1 ms", footprint = "5 GB" }
"#;

fn systems(list: &[(&str, &str)]) -> String {
    let mut text = WORKLOADS.to_string();
    for (name, keys) in list {
        text += &format!("[[system]]\nname = \"{name}\"\ndrive = \"cheetah-9lp\"\n{keys}\n");
    }
    text + "[run]\nseed = 5\n"
}

/// Every kind of change that such a drive accepts.
const CHANGES: &str = r#"
[[system.change]]
at = "2 s"
drives = [0, 2]
scheduler = "sptf"
[[system.change]]
at = "3 s"
queue_depth = 3
[[system.change]]
at = "4 s"
drives = [1]
spindle_speed = { speed = "7200 rpm", takes = "1 s" }
[[system.change]]
at = "5 s"
drives = [3]
fail = { surface = 1 }
"#;

/// Layers without effect do not change results: every value of the requests and of each drive equals that of
/// the bare drives, which are simulated by other code.
#[test]
fn layers_that_add_nothing_change_nothing() {
    let text = systems(&[
        ("bare", "count = 4\norganisation = \"concatenate\""),
        ("layered", "count = 4\norganisation = \"concatenate\"\nlayers = [\"independent\"]"),
        ("striped", "count = 4\norganisation = { name = \"raid0\", stripe_unit = \"16 KiB\" }"),
        ("raid0", "count = 4\nlayers = [{ name = \"raid0\", stripe_unit = \"16 KiB\" }]"),
        ("bare, changed", &format!("count = 4\norganisation = \"concatenate\"\n{CHANGES}")),
        ("layered, changed", &format!("count = 4\norganisation = \"concatenate\"\nlayers = [\"independent\"]\n{CHANGES}")),
        ("wide link", "count = 4\norganisation = { name = \"raid0\", stripe_unit = \"16 KiB\" }\nlayers = [\"independent\", { name = \"independent\", of = 2 }]"),
    ]);
    let result = go(&text, 1).expect("a run");
    assert_eq!(result.systems.len(), 14);
    let changed = |i: usize| result.systems[i].changes.expect("changes").n_done;
    assert_eq!((changed(8), changed(9)), (4, 4));
    for (plain, other) in [(0, 2), (1, 3), (4, 6), (5, 7), (8, 10), (9, 11), (4, 12), (5, 13)] {
        let strip = |i: usize| {
            let mut s = result.systems[i].clone();
            s.name.clear();
            s.layers.clear();
            let mut value = serde_json::to_value(&s).expect("JSON");
            // These sums of floating-point numbers are added in another order, so they are compared drive by
            // drive.
            for key in ["energy_j", "energy_cost_usd", "power_w", "drives", "utilisation", "utilisation_background"] {
                value[key] = serde_json::Value::Null;
            }
            // The batches are of requests in the order in which drives report them, which differs here.
            value["confidence_s"] = serde_json::Value::Null;
            for operation in ["read", "write"] {
                value["operations"][operation]["confidence_s"] = serde_json::Value::Null;
            }
            value["series"]["power_w"] = serde_json::Value::Null;
            value
        };
        let (a, b) = (strip(plain), strip(other));
        for key in a.as_object().expect("a table").keys() {
            assert_eq!(a[key], b[key], "{key} of {}", result.systems[other].name);
        }
        for (i, (a, b)) in result.systems[plain].drives.iter().zip(&result.systems[other].drives).enumerate() {
            assert_eq!(a.n_requests, b.n_requests, "drive {i}");
            // Both are NaN without requests.
            let means = (a.response_time_mean_s.to_bits(), b.response_time_mean_s.to_bits());
            assert_eq!(means.0, means.1, "drive {i}");
            assert!((a.energy_j / b.energy_j - 1.0).abs() < 1e-12, "drive {i}: {} {}", a.energy_j, b.energy_j);
        }
    }
}

/// An organisation with redundancy is the layer of the same name, over the layers that the system lists, with the
/// workload's devices end to end in it. Changes find it by its name, and the other layers by the numbers that they have in
/// the list. Members that fail are no fault of the experiment, in `gone` too.
#[test]
fn redundant_organisations_are_layers() {
    let changes = |queue: &str, name: &str| {
        format!(
            "[[system.change]]\nat = \"1 s\"\nlayer = \"{name}\"\nmember_gone = 1\n\
             [[system.change]]\nat = \"2 s\"\nlayer = \"{name}\"\nmember_replaced = 1\n\
             [[system.change]]\nat = \"2 s\"\nlayer = \"{name}\"\nrebuild_rate = \"5 MB/s\"\n\
             [[system.change]]\nat = \"3 s\"\nlayer = {queue}\nnr_requests = 8\n"
        )
    };
    let mut list = Vec::new();
    for (name, keys) in [
        ("raid1", "read_policy = \"nearest\""),
        ("raid10", "near = 2, chunk = \"64 KiB\""),
        ("raid5", "chunk = \"64 KiB\", layout = \"right-symmetric\""),
    ] {
        let volume = format!("{{ name = \"{name}\", {keys} }}");
        let gone = format!("{{ name = \"{name}\", {keys}, gone = [0] }}");
        list.extend([
            format!("count = 4\norganisation = {volume}"),
            format!("count = 4\norganisation = \"concatenate\"\nlayers = [{volume}]"),
            format!("count = 4\norganisation = {volume}\nlayers = [\"host-queue\"]\n{}", changes("0", name)),
            format!(
                "count = 4\norganisation = \"concatenate\"\nlayers = [{volume}, \"host-queue\"]\n{}",
                changes("1", name)
            ),
            format!("count = 4\norganisation = {gone}"),
            format!("count = 4\norganisation = \"concatenate\"\nlayers = [{gone}]"),
        ]);
    }
    let named: Vec<(&str, &str)> = list.iter().map(|keys| ("x", keys.as_str())).collect();
    let result = go(&systems(&named), 1).expect("a run");
    // As text, in which numbers that do not exist are equal.
    let json = |s: &SystemResult| serde_json::to_string(s).expect("JSON");
    let of = |system: usize, workload: usize| &result.systems[2 * system + workload];
    for pair in (0..list.len()).step_by(2) {
        for workload in [0, 1] {
            let (a, b) = (of(pair, workload), of(pair + 1, workload));
            assert!(json(a) == json(b), "{}", list[pair]);
            assert!(a.n_errors == 0 && a.n_requests > 2000);
        }
        if pair % 6 == 2 {
            let rebuilt = of(pair, 0).layers[0].counts["rebuilt_bytes"];
            assert!(rebuilt > 0, "{}", list[pair]);
            assert!(of(pair, 0).changes.is_some_and(|c| c.n_done == 4));
        }
    }
    // A resolved experiment has the parameters of the layer, and gives the same again.
    let resolved = &result.experiment["system"][0]["organisation"];
    assert_eq!(resolved["name"], "raid1");
    assert_eq!(resolved["gone"], serde_json::json!([]));
    let again = Experiment::from_value(result.experiment.clone(), Path::new("")).expect("an experiment");
    let again = ran(&again, &RunOptions::default()).expect("a run");
    // What was a default in the first run is given in the second; that is said of each drive.
    let simulated = |r: RunResult| -> Vec<String> {
        let mut systems = r.systems;
        systems.iter_mut().for_each(|s| s.drive.clear());
        systems.iter().map(json).collect()
    };
    let [again, first] = [again, result].map(simulated);
    assert!(again == first);
}

#[test]
fn errors_in_redundant_organisations_say_where() {
    for (keys, want) in [
        ("organisation = { name = \"raid5\", chnk = 1 }", "system[0].organisation: got key \"chnk\""),
        ("organisation = { name = \"raid5\", chunk = \"6 KiB\" }", "system[0].organisation.chunk: got 6144 B"),
        ("organisation = \"raid-5\"", "system[0].organisation: got \"raid-5\", need one of independent, concatenate, raid0, raid1, raid10, raid5; did you mean \"raid5\"?"),
        ("organisation = \"raid5\"\nlayers = [\"host-queu\"]", "system[0].layers[0].name: got \"host-queu\""),
        (
            "organisation = \"raid5\"\nlayers = [\"host-queue\"]\n[[system.change]]\nat = \"1 s\"\nlayer = 1\nmember_gone = 0",
            "system[0].change[0].layer: got 1, need one of \"raid5\" (the organisation), 0 (host-queue), by number or name",
        ),
        (
            "organisation = \"raid5\"\n[[system.change]]\nat = \"1 s\"\nlayer = \"raid5\"\nmember_gone = 4",
            "system[0].change[0].member_gone: got 4, need one of the 4 members",
        ),
    ] {
        let error = go(&systems(&[("x", &format!("count = 4\n{keys}"))]), 1).unwrap_err();
        assert!(error.to_string().contains(want), "{keys}: {error}");
    }
}

const TREES: &[(&str, &str)] = &[
    (
        "rebuilt",
        "count = 4\nlayers = [\"host-queue\", { name = \"raid5\", chunk = \"64 KiB\" }]\n\
        [[system.change]]\nat = \"1 s\"\nlayer = \"raid5\"\nmember_gone = 2\n\
        [[system.change]]\nat = \"2 s\"\nlayer = \"host-queue\"\nnr_requests = 8\n\
        [[system.change]]\nat = \"4 s\"\nlayer = \"raid5\"\nmember_replaced = 2\n\
        [[system.change]]\nat = \"5 s\"\nlayer = \"raid5\"\nrebuild_rate = \"5 MB/s\"\n",
    ),
    (
        "degraded",
        "count = 5\nlayers = [{ name = \"host-queue\", elevator = \"deadline\" }, { name = \"raid5\", chunk = \"64 KiB\", gone = [3] }, \"host-queue\"]",
    ),
    (
        "mirrors behind links",
        "count = 8\nlayers = [{ name = \"raid0\" }, { name = \"raid1\", of = 1 }, { name = \"host-queue\", nr_requests = 8, depth = 2 }, { name = \"link\", bandwidth = \"100 MB/s\", of = 2 }]",
    ),
    (
        "raid10",
        "count = 6\nlayers = [{ name = \"raid10\", near = 1, far = 2, chunk = \"64 KiB\" }]",
    ),
    (
        "queues alone",
        "count = 2\norganisation = \"concatenate\"\nlayers = [{ name = \"host-queue\", elevator = \"ranges\" }]",
    ),
];

/// The document, the logs of requests and the series of a run, by name.
fn files(text: &str, threads: usize) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().expect("a folder");
    let options = RunOptions {
        threads: Some(threads),
        out_dir: Some(folder.path().into()),
        log_requests: true,
        ..RunOptions::default()
    };
    ran(&Experiment::from_toml(text, "e.toml".as_ref()).expect("an experiment"), &options).expect("a run");
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        files.insert(name.to_string(), std::fs::read(&path).expect("a file"));
    }
    files
}

#[test]
fn trees_give_the_same_bytes_on_one_thread_and_on_two() {
    let text = systems(TREES);
    let [one, two] = [1, 2].map(|threads| files(&text, threads));
    // The document, and a log and a series of each system on each workload.
    assert_eq!(one.len(), 1 + 2 * 2 * TREES.len());
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&two));
    for (name, bytes) in &one {
        assert!(*bytes == two[name], "{name}");
    }
}

/// With a known least think time, a drive is advanced by itself through all events within it. That changes nothing: a
/// normal distribution without deviation has the same think times, but none that is known to be the least.
#[test]
fn known_think_times_change_nothing() {
    let normal = "{ distribution = \"normal\", mean = \"1 ms\", deviation = \"0 ms\" }";
    let more = [
        ("drives", "count = 4\norganisation = \"concatenate\""),
        ("queues", "count = 4\norganisation = \"concatenate\"\nlayers = [{ name = \"throttle\", iops = \"90/s\" }, { name = \"host-queue\", wake_time = \"50 us\" }]"),
    ];
    let text = systems(&[TREES, &more].concat());
    let other = text.replace("think = \"1 ms\"", &format!("think = {normal}"));
    assert_ne!(text, other);
    let [known, unknown] = [text, other].map(|text| go(&text, 1).expect("a run").systems);
    assert_eq!(known.len(), 2 * (TREES.len() + more.len()));
    for (a, b) in known.iter().zip(&unknown) {
        let [a, b] = [a, b].map(|s| serde_json::to_value(s).expect("JSON"));
        assert_eq!(a, b, "{}", a["name"]);
    }
}

/// The log names the error of each failed request, with the same counts as the result.
#[test]
fn the_log_says_why_a_request_failed() {
    let text = format!(
        "{WORKLOADS}past_end = \"error\"\n[[system]]\nname = \"x\"\ndrive = \"cheetah-9lp\"\ncount = 2\n\
        layers = [\"raid1\"]\n\
        [[system.change]]\nat = \"0 s\"\nlayer = 0\nmember_gone = 0\n\
        [[system.change]]\nat = \"15 s\"\nlayer = 0\nmember_gone = 1\n"
    );
    let text = text.replace("5 GB", "10 GB");
    let folder = tempfile::tempdir().expect("a folder");
    let options = RunOptions { out_dir: Some(folder.path().into()), log_requests: true, ..RunOptions::default() };
    let result =
        ran(&Experiment::from_toml(&text, "e.toml".as_ref()).expect("an experiment"), &options).expect("a run");
    for s in &result.systems {
        let path = folder.path().join(s.requests_file.as_ref().expect("a log"));
        let file = std::fs::File::open(path).expect("a log");
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        let (mut in_system_ns, mut failed_ns) = (0, 0);
        for row in SerializedFileReader::new(file).expect("Parquet") {
            let row = row.expect("a row");
            let column = |name| {
                let mut columns = row.get_column_iter();
                columns.find(|(n, _)| *n == name).expect("a column").1
            };
            let time = |name| match column(name) {
                Field::ULong(ns) => *ns,
                other => panic!("{other}"),
            };
            let kind = match column("error_kind") {
                Field::Str(kind) => Some(kind.as_str()),
                other => {
                    assert_eq!(*other, Field::Null);
                    None
                }
            };
            assert_eq!(*column("error"), Field::Bool(kind.is_some()));
            let ns = time("completion_ns") - time("arrival_ns");
            in_system_ns += ns;
            failed_ns += if kind.is_some() { ns } else { 0 };
            *kinds.entry(kind.unwrap_or("none").into()).or_default() += 1;
        }
        // All requests, failed ones too, are in the queue from arrival to completion.
        let depth = in_system_ns as f64 * 1e-9 / s.duration_s;
        assert!((s.queue_depth_mean / depth - 1.0).abs() < 1e-9, "{depth}");
        assert!(failed_ns > 0, "some requests fail after a while");
        assert_eq!(kinds.values().sum::<u64>(), s.n_requests);
        assert_eq!(kinds["none"], s.n_requests - s.n_errors);
        // The host refuses requests beyond the end of the mirror; the mirror reports that its members are gone.
        assert_eq!(kinds["member_lost"], s.layers[0].errors["member_lost"]);
        assert!(kinds["out_of_range"] > 0 && kinds.len() == 3, "{kinds:?}");
    }
}

/// The requests at each level of a tree add up.
#[test]
fn results_say_what_each_height_did() {
    let result = go(&systems(TREES), 2).expect("a run");
    for s in &result.systems {
        assert_eq!(s.n_errors, 0, "{}", s.name);
        let names: Vec<(&str, u64)> = s.layers.iter().map(|l| (l.layer.as_str(), l.instances)).collect();
        let top = &s.layers[0];
        match s.name.as_str() {
            "degraded" => {
                let want = [("host-queue", 1), ("raid5", 1), ("host-queue", 5), ("drive", 5)];
                assert_eq!(names, want);
                let raid5 = &s.layers[1];
                assert!(raid5.counts["degraded_reads"] > 0);
                // The missing member is not there.
                assert_eq!(s.drives.len(), 4);
                assert!(s.drives.iter().all(|d| d.n_requests > 0 && !d.name.ends_with("[3]")));
                let below = raid5.counts["member_reads"] + raid5.counts["member_writes"];
                assert!(below > raid5.n_requests);
            }
            "mirrors behind links" => {
                let want = [("raid0", 1), ("raid1", 4), ("host-queue", 4), ("link", 4), ("drive", 8)];
                assert_eq!(names, want);
                assert!(s.layers[2].from_admission_mean_s <= s.layers[2].from_submission_mean_s);
            }
            "rebuilt" => {
                assert_eq!(names, [("host-queue", 1), ("raid5", 1), ("drive", 4)]);
                let done = s.changes.expect("changes");
                assert_eq!((done.n_done, done.n_after_end), (4, 0));
                assert!(s.layers[1].counts["rebuilt_bytes"] > 0);
            }
            "raid10" => assert_eq!(names, [("raid10", 1), ("drive", 6)]),
            _ => assert_eq!(names, [("independent", 1), ("host-queue", 2), ("drive", 2)]),
        }
        // The root counts the same requests, or a few more that arrived at the end of the warm-up.
        assert_eq!(top.n_requests, s.n_requests, "{}", s.name);
        let mean = s.response_time_s.mean;
        assert!((top.from_submission_mean_s / mean - 1.0).abs() < 1e-9, "{}", s.name);
        let parts: u64 = s.drives.iter().map(|d| d.n_requests).sum();
        assert_eq!(s.layers.last().expect("drives").n_requests, parts, "{}", s.name);
        let shares = &s.components_s;
        let sum = shares.queue + shares.overhead + shares.seek + shares.rotation + shares.transfer + shares.bus;
        assert!((sum / mean - 1.0).abs() < 1e-9, "{}", s.name);
    }
}

#[test]
fn layers_that_do_not_fit_are_named() {
    for (keys, want) in [
        ("layers = [\"raid6\"]", "system[0].layers[0].name: got \"raid6\", need one of independent"),
        ("layers = [\"raid0\", { of = 2 }]", "system[0].layers[1].name: got nothing, need a name"),
        (
            "layers = [{ name = \"host-queue\", of = 2 }]",
            "system[0].layers[0].of: got 2, need 1: a host-queue stands on one layer",
        ),
        ("layers = [{ name = \"raid0\", of = 0 }]", "system[0].layers[0].of: got 0, need a whole number, 1 or more"),
        ("layers = [7]", "system[0].layers[0]: got 7, need a name or a table"),
        (
            "count = 5\nlayers = [{ name = \"raid1\", of = 2 }]",
            "system[0].layers[0].of: got 2, need a divisor of the 5 layers below",
        ),
        ("count = 2\nlayers = [{ name = \"raid5\" }]", "system[0].layers[0].below: got 2, need at least 3 members"),
        (
            "count = 3\nlayers = [\"raid5\", { name = \"link\", bandwith = \"1 MB/s\" }]",
            "system[0].layers[1]: got key \"bandwith\"",
        ),
    ] {
        let error = go(&systems(&[("x", keys)]), 1).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(want), "{keys}: {error:?}");
    }
}

/// Drives of one system may differ: a list of equal ones gives the same as `count`, and each keeps its own
/// keys.
#[test]
fn drives_of_one_system_may_differ() {
    let text = WORKLOADS.to_string()
        + r#"
[[system]]
name = "counted"
drive = "cheetah-9lp"
count = 3
queue_depth = 4
organisation = "concatenate"
[[system]]
name = "listed"
queue_depth = 4
organisation = "concatenate"
drives = [{ drive = "cheetah-9lp", count = 2 }, { drive = "cheetah-9lp" }]
[[system]]
name = "different"
scheduler = "look"
organisation = "concatenate"
drives = [{ drive = "cheetah-9lp" }, { drive = "barracuda-es-750", count = 2, scheduler = "fcfs" }]
layers = [{ name = "raid1" }]
[[system]]
name = "two arms for all"
drive = "cheetah-9lp"
dash = "D1A2S1H1"
[[system]]
name = "two arms for one"
drives = [{ drive = "cheetah-9lp", dash = "D1A2S1H1" }]
[run]
seed = 5
"#;
    let result = go(&text, 1).expect("a run");
    for w in 0..2 {
        let mut listed = result.systems[2 + w].clone();
        listed.name = "counted".into();
        let json = |s| serde_json::to_value(s).expect("JSON");
        assert_eq!(json(&listed), json(&result.systems[w]));
        let different = &result.systems[4 + w];
        let names: Vec<&str> = different.drives.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names.len(), 3);
        assert!(names[0].ends_with("[0]") && names[1].ends_with("[1]") && names[2].ends_with("[2]"));
        assert!(names[0].starts_with("cheetah") && names[2].starts_with("barracuda"));
        assert_eq!(different.n_errors, 0);
        // Keys of an entry are kept.
        let mut one = result.systems[8 + w].clone();
        one.name = "two arms for all".into();
        assert_eq!(json(&one), json(&result.systems[6 + w]));
        assert_ne!(one.response_time_s, result.systems[w].response_time_s);
    }
    for (keys, want) in [
        ("", "system[0].drive: got nothing, need a value"),
        (
            "drive = \"cheetah-9lp\"\ndrives = [{ drive = \"cheetah-9lp\" }]",
            "system[0].drives: got drive as well, need one of the two",
        ),
        ("drives = [{ count = 2 }]", "system[0].drives[0].drive: got nothing"),
        (
            "drives = [{ drive = \"cheetah-9lp\", layers = [] }]",
            "system[0].drives[0]: got key \"layers\", need one of drive, count",
        ),
        ("drives = [{ drive = \"cheetah-9lp\", count = 0 }]", "system[0].drives[0].count: got 0, need 1 to 100000"),
        (
            "count = 2\ndrives = [{ drive = \"cheetah-9lp\" }]",
            "system[0].count: got 2, need the count of each drive in its own table",
        ),
        (
            "drives = [{ drive = \"cheetah-9lp\" }, { drive = \"chetah-9lp\" }]",
            "system[0].drives[1].drive: got \"chetah-9lp\"",
        ),
    ] {
        let text = format!("{WORKLOADS}[[system]]\nname = \"x\"\n{keys}\n");
        let error = go(&text, 1).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains(want), "{keys}: {error:?}");
    }
}

/// The counts of layers are those of what is measured: a warm-up of half the requests leaves half of each. With one
/// request at a time, at most one is in the layers when the measurement begins.
#[test]
fn counts_of_layers_begin_after_the_warm_up() {
    let text = r#"
        [[workload]]
        synthetic = { n_requests = 400, reads = 0, size = "8 KiB", arrivals = "closed", outstanding = 1, footprint = "5 GB" }
        warm_up = 200
        [[system]]
        name = "stack"
        drive = "cheetah-9lp"
        count = 2
        layers = [
            { name = "throttle", iops = "20/s" },
            { name = "link", bandwidth = "1 MB/s" },
            { name = "raid1" },
            "host-queue",
        ]
        [run]
        seed = 5
    "#;
    let system = go(text, 1).expect("a run").systems.remove(0);
    assert_eq!(system.n_requests, 200);
    // A write of the mirror is one of each drive.
    for (layer, count, each) in [(0, "held", 1), (2, "member_writes", 2), (3, "dispatched", 2)] {
        let n = system.layers[layer].counts[count];
        let all = 200 * each;
        assert!((all - each..=all + each).contains(&n), "{count}: {n}");
    }
    // 8 KiB take 8.192 ms to cross.
    let crossing_s = system.layers[1].sums_s["writes_crossing"];
    assert!((199.0..=201.0).contains(&(crossing_s / 8.192e-3)), "{crossing_s} s");
}

/// The second drive of a mirror gets no request: it draws its idle power, 9.3 W by its data sheet, for as long as it is
/// there. One that is taken out for 20 s lacks the energy of these, and one that was never there is in no list.
#[test]
fn a_removed_drive_draws_nothing() {
    let system = |gone: &str, changes: &str| {
        let text = format!(
            r#"
            [workload]
            synthetic = {{ n_requests = 41, reads = 1.0, rate = "1/s", arrivals = "constant", footprint = "5 GB" }}
            [[system]]
            name = "mirror"
            drive = "barracuda-es-750"
            count = 2
            organisation = {{ name = "raid1", read_policy = "first", gone = [{gone}] }}
            {changes}
            "#
        );
        go(&text, 1).expect("a run").systems.remove(0)
    };
    let is_near = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-9, "{got} {want}");
    let whole = system("", "");
    is_near(whole.drives[1].energy_j, 9.3 * whole.duration_s);
    let change = |at, what| format!("[[system.change]]\nat = \"{at} s\"\nlayer = \"raid1\"\n{what} = 1\n");
    let out = change(10, "member_gone") + &change(30, "member_back");
    let away = system("", &out);
    assert_eq!(away.duration_s, whole.duration_s);
    is_near(away.drives[1].energy_j, 9.3 * (whole.duration_s - 20.0));
    is_near(away.drives[0].energy_j, whole.drives[0].energy_j);
    let half = system("1", "");
    assert_eq!(half.drives.len(), 1);
    is_near(half.power_w.mean, whole.drives[0].power_w.mean);
    is_near(system("1", &change(10, "member_back")).drives[1].energy_j, 9.3 * (whole.duration_s - 10.0));
}
