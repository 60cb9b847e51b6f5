//! Systems with layers that change while they run: each kind of change against times and counts worked out by
//! hand.
//!
//! The drive turns 100 times a second and has 100 sectors on each track; the first is under the head at every
//! whole turn. Every seek takes 5 ms. The drive has 20,000 blocks.

use headstack_block::layer::{elevator, ErrorKind, LayerResult, LayerSpec, Tree, PLUGINS};
use headstack_drive::{Drive, DriveOptions, DriveSpec};
use headstack_engine::SpecError;
use headstack_experiment::Experiment;
use headstack_schema::Parameter;
use headstack_sim::change::{dry_run_layers, plan, Change};
use headstack_sim::simulate::{MemberOutcome, Record};
use headstack_sim::Options;
use headstack_testkit::XorShift;
use headstack_trace::{Command, Request};
use headstack_units::{Lba, Time};
use serde_json::Value;
use std::path::Path;

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

const DRIVE: &str = r#"
name = "small"
[geometry]
rotation_speed = "6000 rpm"
surfaces = 2
cylinders = 100
zones = [{ first_cylinder = 0, last_cylinder = 99, sectors_per_track = 100 }]
[seek]
model = "constant"
time = "5 ms"
"#;

/// The lists `layers` and `change` of a system.
struct Lists {
    layers: Vec<LayerSpec>,
    changes: Vec<Change>,
}

fn lists(text: &str) -> Lists {
    let table: toml::Table = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let table = serde_json::to_value(table).expect("JSON");
    let list = |key: &str| table[key].as_array().cloned().unwrap_or_default();
    let layers: Result<Vec<LayerSpec>, SpecError> = list("layers").iter().map(LayerSpec::read).collect();
    let changes: Result<Vec<Change>, SpecError> = list("change").iter().map(Change::read).collect();
    Lists { layers: layers.unwrap_or_else(|e| panic!("{e}")), changes: changes.unwrap_or_else(|e| panic!("{e}")) }
}

fn tree(count: u32, layers: &[LayerSpec]) -> Tree {
    let spec: DriveSpec = toml::from_str(DRIVE).expect("a drive");
    let drives = (0..count).map(|_| Drive::builtin(&spec, &DriveOptions::default()).expect("a drive"));
    Tree::new(drives.collect(), layers, &PLUGINS, &elevator::PLUGINS).unwrap_or_else(|e| panic!("{e}"))
}

/// The error with which changes are refused before a run.
fn refused(count: u32, text: &str) -> String {
    let Lists { layers, changes } = lists(text);
    let planned = plan(&changes, count, &layers, "system[0]");
    let tried = planned.and_then(|p| dry_run_layers(&p, &mut tree(count, &layers)));
    tried.err().map(|e| e.to_string()).unwrap_or_default()
}

struct Ran {
    records: Vec<Record>,
    layers: Vec<LayerResult>,
    drives: Vec<MemberOutcome>,
}

impl Ran {
    /// Completion of each request, in milliseconds.
    fn ends(&self) -> Vec<f64> {
        let ends = self.records.iter().map(|r| r.answer.completion.0);
        ends.map(|ns| ns as f64 * 1e-6).collect()
    }

    /// The drive of each request's last part.
    fn served_by(&self) -> Vec<u32> {
        self.records.iter().map(|r| r.answer.drive).collect()
    }

    fn n_requests(&self) -> Vec<u64> {
        self.drives.iter().map(|d| d.served.n_requests).collect()
    }
}

/// Runs requests on `count` drives under the layers, with the changes.
fn run(count: u32, text: &str, requests: Vec<Request>) -> Ran {
    let Lists { layers, changes } = lists(text);
    let changes = plan(&changes, count, &layers, "system[0]").unwrap_or_else(|e| panic!("{e}"));
    dry_run_layers(&changes, &mut tree(count, &layers)).unwrap_or_else(|e| panic!("{e}"));
    let mut root = [tree(count, &layers)];
    let n_changes = changes.len() as u64;
    let options = Options { changes, ..Options::default() };
    let (records, outcome) = crate::records::records(&mut root, requests, &options);
    let came = outcome.changes.map_or(0, |c| c.n_done);
    assert_eq!(came, n_changes, "all changes come before the end");
    Ran { records, layers: root[0].results(), drives: root[0].drives(outcome.end) }
}

fn read(at: u64, lba: u64, blocks: u32) -> Request {
    Request { time: Time(at), lba: Lba(lba), blocks, ..Request::default() }
}

fn write(at: u64, lba: u64, blocks: u32) -> Request {
    Request { op: Command::Write, ..read(at, lba, blocks) }
}

/// A read of a whole track of surface 0.
fn track(at: u64, cylinder: u64) -> Request {
    read(at, cylinder * 200, 100)
}

/// A track is read from 0 to 10 ms. Then cylinder 90 waits and, behind it, cylinder 10; each takes a seek of 5
/// ms, a rotational wait of 5 ms, and 10 ms of transfer.
fn three() -> Vec<Request> {
    vec![track(0, 0), track(MS, 90), track(2 * MS, 10)]
}

/// With a depth of 1 the drive does not see the waiting requests; otherwise it would take cylinder 10 first.
#[test]
fn the_depth_of_a_host_queue_changes() {
    let text = r#"
        layers = [{ name = "host-queue", elevator = "none", depth = 1 }]
        [[change]]
        at = "0 s"
        scheduler = "sstf"
        [[change]]
        at = "3 ms"
        layer = "host-queue"
        depth = 2
    "#;
    assert_eq!(run(1, text, three()).ends(), [10.0, 50.0, 30.0]);
    // This change comes too late: the service of cylinder 90 began at 10 ms.
    let late = text.replace("3 ms", "15 ms");
    assert_eq!(run(1, &late, three()).ends(), [10.0, 30.0, 50.0]);
    // The other direction: both requests are below when the depth is reduced, and stay there.
    let less = text.replace("depth = 1", "depth = 3").replace("depth = 2", "depth = 1");
    assert_eq!(run(1, &less, three()).ends(), [10.0, 50.0, 30.0]);
}

/// Eight reads of 10 ms each arrive at once. Four get a place; the others wait until the first four end, for 10, 20,
/// 30 and 40 ms. With eight places from 5 ms on, one is admitted at once, and the others when the first three
/// end.
#[test]
fn the_places_of_a_host_queue_change() {
    let text = r#"
        layers = [{ name = "host-queue", elevator = "none", places = "legacy", nr_requests = 4, depth = 1, wake_time = "0 s" }]
        [[change]]
        at = "5 ms"
        layer = 0
        nr_requests = 8
    "#;
    let requests: Vec<Request> = (0..8).map(|_| track(0, 0)).collect();
    let same = text.replace("nr_requests = 8", "nr_requests = 4");
    for (text, want) in [(same.as_str(), 0.010 + 0.020 + 0.030 + 0.040), (text, 0.005 + 0.010 + 0.020 + 0.030)] {
        let ran = run(1, text, requests.clone());
        assert_eq!(ran.ends(), [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]);
        let blocked = ran.layers[0].sums_s["blocked"];
        assert!((blocked - want).abs() < 1e-12, "{blocked} {want}");
    }
}

/// Batches of one: after the first read `mq-deadline` goes on at cylinder 10, unless the read of cylinder 90, which is
/// the oldest, is late. With an expiry of 1 ms from 0.5 ms on it is. A change after its arrival comes too late: it keeps
/// its deadline, and that of cylinder 10 does not matter while it is not the oldest.
#[test]
fn the_expiry_of_reads_in_a_host_queue_changes() {
    let text = r#"
        [[layers]]
        name = "host-queue"
        depth = 1
        elevator_parameters = { read_expire = "1 s", fifo_batch = 1 }
        [[change]]
        at = "0.5 ms"
        layer = "host-queue"
        read_expire = "1 ms"
    "#;
    assert_eq!(run(1, text, three()).ends(), [10.0, 30.0, 50.0]);
    let late = text.replace("0.5 ms", "1.5 ms");
    assert_eq!(run(1, &late, three()).ends(), [10.0, 50.0, 30.0]);
    let same = text.replace("\"1 ms\"", "\"1 s\"");
    assert_eq!(run(1, &same, three()).ends(), [10.0, 50.0, 30.0]);
    let error = refused(1, "layers = [{ name = \"host-queue\", elevator = \"none\" }]\n[[change]]\nat = \"1 s\"\nlayer = 0\nread_expire = \"1 s\"\n");
    assert!(error.starts_with("system[0].change[0].read_expire: got 1 s, need an elevator with deadlines"), "{error}");
    assert!(error.contains("not supported"), "{error}");
}

/// A change to an elevator at the first request is the same as having had it from the beginning, whatever was there
/// before.
#[test]
fn an_elevator_from_the_beginning_is_the_same_as_one_that_was_changed_to() {
    let seed = 5;
    println!("seed {seed}");
    let mut draw = XorShift::seeded(seed);
    let requests: Vec<Request> = (0..300)
        .map(|i| {
            let (at, lba) = (i * 2 * MS, draw.below(19_000));
            match draw.below(3) {
                0 => write(at, lba, 8),
                _ => read(at, lba, 8),
            }
        })
        .collect();
    let names: Vec<String> = elevator::PLUGINS.iter().map(|e| e.name().to_string()).collect();
    let text = |name: &str| {
        format!("layers = [{{ name = \"host-queue\", elevator = \"{name}\", places = \"blk-mq\", depth = 2 }}]\n")
    };
    let mut all = Vec::new();
    for name in &names {
        let want = run(1, &text(name), requests.clone()).ends();
        for before in &names {
            let change = "[[change]]\nat = \"0 s\"\nlayer = \"host-queue\"\n";
            let text = format!("{}{change}elevator = \"{name}\"\n", text(before));
            assert_eq!(run(1, &text, requests.clone()).ends(), want, "{before}, then {name}");
        }
        all.push(want);
    }
    // The load tells elevators apart.
    assert_ne!(all[0], all[2]);
    // With parameters, also the one that is there already.
    let own = "elevator_parameters = { fifo_batch = 1, read_expire = \"1 ms\" }";
    let from_start = text("mq-deadline").replace(" }]", &format!(", {own} }}]"));
    let change =
        format!("{}[[change]]\nat = \"0 s\"\nlayer = 0\nelevator = \"mq-deadline\"\n{own}\n", text("mq-deadline"));
    let want = run(1, &from_start, requests.clone()).ends();
    assert_eq!(run(1, &change, requests).ends(), want);
    let alone = Change::read(&serde_json::json!({ "at": "0 s", "depth": 3, "elevator_parameters": {} }));
    let alone = alone.expect_err("parameters of nothing").to_string();
    assert_eq!(alone, "elevator_parameters: got depth, need elevator beside them");
}

/// Drives under layers behave like bare ones (`tests/it/change.rs`): another order, another speed.
#[test]
fn drives_under_layers_change() {
    let layers = "layers = [\"host-queue\", { name = \"raid1\", read_policy = \"first\" }]\n";
    let text = format!("{layers}[[change]]\nat = \"3 ms\"\ndrives = [0]\nscheduler = \"sstf\"\n");
    assert_eq!(run(2, &text, three()).ends(), [10.0, 50.0, 30.0]);
    // The other drive of the mirror, which serves no requests.
    let other = text.replace("[0]", "[1]");
    assert_eq!(run(2, &other, three()).ends(), [10.0, 30.0, 50.0]);
    let text = format!("{layers}[[change]]\nat = \"1 s\"\ndrives = [0]\nspindle_speed = {{ speed = \"3000 rpm\" }}\n");
    let reads = vec![track(0, 0), track(2 * S, 0)];
    let slow = run(2, &text, reads.clone());
    assert_eq!(slow.ends(), [10.0, 2020.0]);
    assert_eq!(slow.served_by(), [0, 0]);
}

/// The head of surface 1 of one drive fails: its data is read from the other drive. Without another drive the
/// request fails with that kind of error.
#[test]
fn a_head_fails_under_a_mirror_and_under_a_queue() {
    let fails = "[[change]]\nat = \"1 s\"\ndrives = [0]\nfail = { surface = 1, warning = true }\n";
    let text = format!("layers = [{{ name = \"raid1\", read_policy = \"first\" }}]\n{fails}");
    let reads = vec![read(0, 100, 100), read(2 * S, 100, 100), read(3 * S, 0, 100)];
    let ran = run(2, &text, reads.clone());
    assert_eq!(ran.served_by(), [0, 1, 0]);
    assert!(ran.records.iter().all(|r| r.answer.error.is_none()));
    assert_eq!(ran.layers[0].counts["retried"], 1);
    let ran = run(1, &format!("layers = [\"host-queue\"]\n{fails}"), reads);
    let errors: Vec<_> = ran.records.iter().map(|r| r.answer.error).collect();
    assert_eq!(errors, [None, Some(ErrorKind::Unreachable), None]);
}

/// A member leaves and comes back with its data: only blocks written meanwhile are read elsewhere, and after a
/// rebuild none are.
#[test]
fn a_member_of_a_mirror_leaves_and_comes_back() {
    let text = r#"
        layers = ["host-queue", { name = "raid1", read_policy = "first" }]
        [[change]]
        at = "1 s"
        layer = "raid1"
        member_gone = 0
        [[change]]
        at = "3 s"
        layer = "raid1"
        member_back = 0
    "#;
    let requests = vec![
        read(0, 0, 100),
        read(2 * S, 0, 100),
        // Two windows of 64 KiB, written while the first member is gone.
        write(2 * S + 100 * MS, 256, 128),
        write(2 * S + 200 * MS, 512, 128),
        read(4 * S, 0, 100),
        read(5 * S, 256, 128),
        read(9 * S, 512, 128),
    ];
    let ran = run(2, text, requests.clone());
    assert_eq!(ran.served_by(), [0, 1, 1, 1, 0, 1, 1]);
    assert_eq!(ran.n_requests(), [2, 5]);
    let rebuilt = format!("{text}[[change]]\nat = \"6 s\"\nlayer = 1\nrebuild_rate = \"1 MB/s\"\n");
    let ran = run(2, &rebuilt, requests.clone());
    assert_eq!(ran.served_by(), [0, 1, 1, 1, 0, 1, 0]);
    assert_eq!(ran.layers[1].counts["rebuilt_bytes"], 2 * 65536);
    assert_eq!(ran.n_requests(), [2 + 2 + 1, 4 + 2]);
    // With one window at a time the rebuild is stopped after the first, which takes some turns of 10 ms.
    let policy = "read_policy = \"first\"";
    let one = format!("{policy}, rebuild_at_once = \"64 KiB\"");
    let stopped = rebuilt.replace(policy, &one) + "[[change]]\nat = \"6.03 s\"\nlayer = 1\nrebuild_rate = \"0 B/s\"\n";
    let ran = run(2, &stopped, requests);
    assert_eq!(ran.layers[1].counts["rebuilt_bytes"], 65536);
    assert_eq!(ran.served_by(), [0, 1, 1, 1, 0, 1, 1]);
}

/// One of three members of a RAID-5 fails at 1 s and is replaced at 3 s. With chunks of 96 blocks a member's
/// 20,000 blocks give 208 stripes, of which two members are read and one is written. The stripe cache holds 2,048 blocks: a
/// run of 2,032 and one of 16 begin together, and are done when the timer ends after which the next begin. The stripes have
/// nine times that, and 1,536 blocks in one run: 19 runs.
#[test]
fn a_member_of_a_raid5_fails_and_is_rebuilt() {
    let text = r#"
        layers = [{ name = "raid5", chunk = "48 KiB", rebuild_rate = "100 MB/s" }]
        [[change]]
        at = "1 s"
        layer = "raid5"
        member_gone = 1
        [[change]]
        at = "3 s"
        layer = "raid5"
        member_replaced = 1
    "#;
    // Left-symmetric: of the first stripe chunk 0 is on member 0, chunk 1 on member 1, the parity on member 2.
    let requests = vec![read(0, 96, 96), read(2 * S, 96, 96), read(2 * S + 500 * MS, 0, 96), read(60 * S, 96, 96)];
    let ran = run(3, text, requests);
    // The transfer of 96 sectors starts at a whole turn; at 60 s the arm first seeks from the last cylinder and
    // waits for the turn.
    assert_eq!(ran.ends(), [9.6, 2009.6, 2509.6, 60019.6]);
    assert_eq!(ran.served_by(), [1, 0, 0, 1]);
    let counts = &ran.layers[0].counts;
    assert_eq!(counts["members_lost"], 1);
    assert_eq!(counts["degraded_reads"], 1);
    assert_eq!(counts["rebuilt_bytes"], 208 * 96 * 512);
    assert_eq!(ran.n_requests(), [2 + 19, 2 + 19, 1 + 19]);
    assert!(ran.records.iter().all(|r| r.answer.error.is_none()));
}

/// 51,200 bytes take 1 ms at first, hidden behind the 10 ms of the medium, and later 100 ms.
#[test]
fn the_bandwidth_of_a_link_changes() {
    let text = r#"
        layers = [{ name = "link", bandwidth = "51.2 MB/s" }]
        [[change]]
        at = "1 s"
        layer = "link"
        bandwidth = "512 kB/s"
    "#;
    let ran = run(1, text, vec![track(0, 0), track(2 * S, 0)]);
    assert_eq!(ran.ends(), [10.0, 2100.0]);
    let bus: Vec<u64> = ran.records.iter().map(|r| r.answer.components.bus.non_negative()).collect();
    assert_eq!(bus, [0, 90 * MS]);
}

/// The second of two mirrors under a stripe loses a member; the last of three host queues gets fewer places.
#[test]
fn instances_of_a_layer_are_told_apart() {
    let text = r#"
        layers = ["concatenate", { name = "raid1", of = 2, read_policy = "first" }, { name = "host-queue", elevator = "none" }]
        [[change]]
        at = "0 s"
        layer = 1
        instances = [1]
        member_gone = 0
        [[change]]
        at = "0 s"
        layer = "host-queue"
        instances = [0, 0]
        depth = 1
        [[change]]
        at = "0 s"
        scheduler = "sstf"
    "#;
    let second = |r: &Request| Request { lba: Lba(r.lba.0 + 20_000), ..*r };
    let ran = run(4, text, three());
    assert_eq!((ran.ends(), ran.served_by()), (vec![10.0, 30.0, 50.0], vec![0; 3]));
    let ran = run(4, text, three().iter().map(second).collect());
    assert_eq!((ran.ends(), ran.served_by()), (vec![10.0, 50.0, 30.0], vec![3; 3]));
}

/// Errors name the place and the choices.
#[test]
fn what_cannot_be_is_named_with_its_place() {
    let queues = "layers = [\"host-queue\", \"raid5\", { name = \"host-queue\" }]\n";
    for (keys, want) in [
        ("depth = 2", "layer: got nothing, need one of 0 (host-queue), 1 (raid5), 2 (host-queue)"),
        ("layer = 3\ndepth = 2", "layer: got 3, need one of 0 (host-queue), 1 (raid5), 2 (host-queue), by number or name"),
        ("layer = -1\ndepth = 2", "layer: got -1, need one of 0 (host-queue)"),
        ("layer = \"raid6\"\nmember_gone = 0", "layer: got \"raid6\", need one of 0 (host-queue), 1 (raid5), 2 (host-queue), by number or name; did you mean \"raid5\"?"),
        ("layer = \"host-queue\"\ndepth = 2", "layer: got \"host-queue\", which there is 2 times, need a number: one of 0 (host-queue)"),
        ("layer = 0\nqueue_depth = 2", "layer: got a value, need no such key: drives says which drives change their queue_depth"),
        ("instances = [0]\nqueue_depth = 2", "instances: got a value, need no such key"),
        ("drives = [0]\nlayer = 0\ndepth = 2", "drives: got a value, need no such key: layer says which layers change their depth"),
        ("layer = 0\ninstances = []\ndepth = 2", "instances: got none, need at least one layer, or no such key: all"),
        ("layer = 2\ninstances = [0, 3]\ndepth = 2", "instances[1]: got 3, need one of the 3 layers, counted from 0"),
        ("layer = 0\ndepth = 0", "depth: got 0, need 1 to 65536"),
        ("layer = 0\nnr_requests = 70000", "nr_requests: got 70000, need at most 65536"),
        ("layer = 0\nmember_gone = 1", "member_gone: got member_gone, need one that a host queue supports: nr_requests, depth, read_expire"),
        ("layer = 0\nread_expire = \"-1 ms\"", "read_expire: got -1 ms, need a time that is not negative"),
        ("layer = 1\ndepth = 1", "depth: got depth, need one that the volume raid5 supports: member_gone, member_back, "),
        ("layer = 1\nmember_gone = 3", "member_gone: got 3, need one of the 3 members, counted from 0"),
        ("layer = 1\nmember_back = 0", "member_back: got 0, need a member that is gone"),
        ("layer = 1\nrebuild_rate = \"0.5 B/s\"", "rebuild_rate: got 0.5 B/s, need at least 1 B/s"),
        ("drives = [3]\nqueue_depth = 1", "drives[0]: got 3, need a drive below 3"),
        ("queue_depth = 2000000", "queue_depth: got 2000000, need 0 to 1048576"),
        ("fail = { arm = 2 }", "fail.arm: got 2, need less than 1"),
    ] {
        let error = refused(3, &format!("{queues}[[change]]\nat = \"1 s\"\n{keys}\n"));
        let want = format!("system[0].change[0].{want}");
        assert!(error.starts_with(&want), "{keys}: {error}");
    }
    let error = refused(2, "layers = [\"independent\"]\n[[change]]\nat = \"1 s\"\nlayer = 0\ndepth = 1\n");
    assert!(error.contains("depth: got depth, need a setting of another layer: independent has none"), "{error}");
    let error = refused(2, "layers = [{ name = \"link\", bandwidth = \"1 MB/s\" }]\n[[change]]\nat = \"1 s\"\nlayer = 0\nbandwidth = \"1 B/s\"\n");
    assert!(error.contains("change[0].bandwidth: got 1 B/s, need 512 B/s to "), "{error}");
    // The plan has a second failure, which the first one makes impossible.
    let twice =
        "[[change]]\nat = \"1 s\"\nlayer = 1\nmember_gone = 0\n[[change]]\nat = \"2 s\"\nlayer = 1\nmember_gone = 0\n";
    let error = refused(3, &format!("{queues}{twice}"));
    assert_eq!(error, "system[0].change[1].member_gone: got 0, need a member that is there");
}

/// Changes of layers in a system without layers are refused when the file is read.
#[test]
fn layers_of_bare_drives_do_not_change() {
    let text = "[workload]\nsynthetic = { rate = \"1/s\" }\n[[system]]\ndrive = \"small\"\n[[system.change]]\nat = \"1 s\"\nnr_requests = 8\n";
    let error = Experiment::from_toml(text, Path::new("e.toml")).expect_err("no layers");
    let want = "e.toml:7:15: system[0].change[0].nr_requests: got a setting of a layer, need a system with layers, or an organisation with redundancy";
    assert_eq!(error.to_string(), want);
    let value: Value = serde_json::json!({ "at": "1 s", "nr_request": 8 });
    let error = Change::read(&value).expect_err("misspelt").to_string();
    assert!(error.contains("did you mean \"nr_requests\"?"), "{error}");
}
