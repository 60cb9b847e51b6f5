//! Experiments as users write them, and what is said of wrong ones.

use headstack_experiment::drive_file::load_drive;
use headstack_experiment::experiment::*;
use headstack_experiment::inputs::Inputs;
use headstack_schema::Parameter;
use headstack_sim::simulate::warm_up::WarmUp;
use headstack_trace::Order;
use headstack_units::Span;
use std::path::Path;

fn error(text: &str) -> String {
    Experiment::from_toml(text, Path::new("x/e.toml")).unwrap_err().to_string()
}

const DESIGN: &str = r#"
[workload]
trace = "websearch.trace"
format = "mqsim"
time_scale = 1.39
warm_up = "10 s"
[[system]]
name = "MD"
drive = "cheetah-10k-19g"
count = 6
organisation = "independent"
scheduler = "c-look"
[[system]]
drive = "barracuda-es-750"
organisation = { name = "raid0", stripe_unit = "64 KiB" }
queue_depth = 32
"#;

#[test]
fn reads_toml_and_json_alike() {
    let e = Experiment::from_toml(DESIGN, Path::new("x/e.toml")).unwrap();
    assert_eq!(e.workload[0].name, "websearch");
    assert_eq!(e.workload[0].order, Order::Format);
    assert_eq!(e.workload[0].transform.time_scale, Some(1.39));
    assert_eq!(e.workload[0].warm_up, Some(WarmUp::Time(Span(10_000_000_000))));
    assert_eq!(e.system[1].name, "barracuda-es-750");
    assert_eq!(e.path("t.trace"), Path::new("x/t.trace"));
    let table: toml::Table = DESIGN.parse().unwrap();
    let json = serde_json::to_value(&table).unwrap();
    assert_eq!(Experiment::from_value(json, Path::new("x")).unwrap(), e);
}

#[test]
fn errors_name_key_got_and_need() {
    for (from, to, wants) in [
        (
            "scheduler =",
            "schedular =",
            &["x/e.toml:12:1: system[0]: got key \"schedular\"", "did you mean \"scheduler\"?"][..],
        ),
        ("count = 6", "count = -6", &["system[0].count", "-6"]),
        ("count = 6", "count = 0", &["system[0].count: got 0, need 1 to"]),
        ("\"10 s\"", "10.5", &["workload.warm_up", "a length of time"]),
        ("\"independent\"", "{ stripe_unit = 3 }", &["system[0].organisation.name: got nothing, need a name"]),
        (
            "organisation = \"independent\"",
            "organisation = { nmae = \"independent\" }",
            &["system[0].organisation: got key \"nmae\"", "did you mean \"name\"?"],
        ),
        ("count = 6", "dash = \"D1A2S1\"", &["system[0].dash: got \"D1A2S1\"", "e.g. \"D1A2S1H1\""]),
        ("trace =", "trase =", &["workload: got key \"trase\"", "did you mean \"trace\"?"]),
        ("time_scale = 1.39", "arrivals = \"close\"", &["workload.arrivals", "got \"close\"", "closed"]),
        (
            "time_scale = 1.39",
            "arrivals = \"closed\"",
            &["workload.arrivals: got \"closed\" alone, need { closed = { outstanding = N } }"],
        ),
        (
            "time_scale = 1.39",
            "arrivals = { closed = 8 }",
            &["workload.arrivals.closed: got integer 8, need { outstanding = N }"],
        ),
        ("time_scale = 1.39", "arrivals = { open = {} }", &["got a table, need \"open\" alone"]),
        (
            "time_scale = 1.39",
            "arrivals = { closed = { outstandng = 8 } }",
            &["workload.arrivals.closed: got key \"outstandng\"", "did you mean \"outstanding\"?"],
        ),
        ("warm_up = \"10 s\"", "warm_up = []", &["workload.warm_up: got [], need a number of requests"]),
        (
            "time_scale = 1.39",
            "order = \"sorted\"",
            &["workload.order: got \"sorted\", need format, strict, sort or sort:N"],
        ),
        ("\"10 s\"", "\"-10 s\"", &["workload[0].warm_up: got -10 s, need a length of time from 0"]),
        ("\"10 s\"", "\"5e9 s\"", &["workload[0].warm_up: got 5000000000 s, need a length of time from 0, at most"]),
        (
            "time_scale = 1.39",
            "arrivals = { closed = { outstanding = 8, think_time = \"-1 ms\" } }",
            &["workload[0].arrivals.closed.think_time: got -1 ms, need a length of time from 0"],
        ),
        (
            "[[system]]",
            "[run]\nduration = \"-1 s\"\n[[system]]",
            &["x/e.toml:8:12: run.duration: got -1 s, need a length of time from 0"],
        ),
        (
            "time_scale = 1.39",
            "device_blocks = []",
            &["workload[0].device_blocks: got no sizes, need one for each device, or one number"],
        ),
        ("time_scale = 1.39", "device_blocks = [8, 0]", &["workload[0].device_blocks: got 0, need 1 or more"]),
        (
            "count = 6",
            "count = 6\ncount = 7",
            &["e.toml:11:1: got count = 7, need TOML: KEY = VALUE or", "duplicate key"],
        ),
        ("count = 6", "count = ", &["e.toml:"]),
    ] {
        let text = error(&DESIGN.replacen(from, to, 1));
        for want in wants {
            assert!(text.contains(want), "{to}: {text}");
        }
    }
    assert!(error("").contains("workload: got nothing"), "{}", error(""));
}

#[test]
fn packed_traces_are_named_without_either_extension() {
    for (path, name) in [
        ("examples/traces/pgbench.csv.zst", "pgbench"),
        ("web.1.spc.gz", "web.1"),
        ("day.csv", "day"),
        ("bare", "bare"),
        ("bare.xz", "bare"),
    ] {
        assert_eq!(trace_name(path), name);
    }
}

#[test]
fn errors_of_a_drive_file_name_it_and_the_line() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let path = dir.join("x.toml");
    let shown = path.display();
    let system: System = System::read(&serde_json::json!({ "drive": "x.toml" })).unwrap();
    for (text, want) in [
        ("name = \"x\"\n[seek]\nmodel = = 3\n", format!("drive: {shown}:3:9: got ")),
        ("name = \"x\"\nname = \"y\"\n", format!("drive: {shown}:2:1: got name = \"y\", need TOML: KEY = VALUE or")),
        ("name = 3\n", format!("drive: {shown}:1:8: name: got integer 3, need text in quotes")),
    ] {
        std::fs::write(&path, text).unwrap();
        let e = system.groups()[0].drive_spec(dir, &Inputs::new(Vec::new()));
        let e = e.unwrap_err().to_string();
        assert!(e.starts_with(&want), "{e}");
    }
}

#[test]
fn drives_are_changed_by_dotted_keys_and_tables() {
    let drive = r#"{"name":"d","geometry":{"rotation_speed":"7200 rpm","surfaces":1,"cylinders":10,
            "zones":[{"first_cylinder":0,"last_cylinder":9,"sectors_per_track":100}]},
            "seek":{"model":"constant","time":"5 ms"}}"#;
    let system = |extra: &str| -> System {
        System::read(&serde_json::from_str(&format!("{{\"drive\":{drive}{extra}}}")).unwrap()).unwrap()
    };
    let inputs = Inputs::new(Vec::new());
    let get = |extra: &str| system(extra).groups()[0].drive_spec(Path::new(""), &inputs);
    let s = get(
        r#","set":{"geometry.zones[0].track_skew":3,"queue":{"depth":4}},"scheduler":"look","cache":{"enabled":true}"#,
    )
    .unwrap();
    assert_eq!(s.geometry.zones[0].track_skew, 3.0);
    assert_eq!((s.queue.depth, s.queue.scheduler.as_str()), (4, "look"));
    assert!(s.cache.enabled && s.cache.segments == 1);
    // The keys of a geometry depend on its layout, so they are checked when the drive is built.
    let misspelt = get(r#","set":{"geometry.rotation_sped":"1 rpm"}"#).unwrap();
    let built = headstack_drive::DriveDesign::new(&misspelt, &inputs.models).map(|_| ());
    let e = built.unwrap_err().within("drive").to_string();
    assert!(e.contains("drive.geometry") && e.contains("rotation_speed"), "{e}");
    let e = get(r#","set":{"geometry.zones[7].offset":1}"#).unwrap_err().to_string();
    assert!(e.contains("index 7") && e.contains("below 1"), "{e}");
    let e = load_drive("nope", Path::new(""), &inputs).unwrap_err();
    assert!(e.to_string().starts_with("drive: got \"nope\""), "{e}");
}

#[test]
fn a_number_of_drives_is_their_count() {
    let table = serde_json::json!({ "drive": "x.toml", "drives": 64 });
    let error = System::read(&table).unwrap_err().to_string();
    let need = "need a list of drives that differ; hint: count = 64";
    assert_eq!(error, format!("drives: got 64, {need}"));
}
