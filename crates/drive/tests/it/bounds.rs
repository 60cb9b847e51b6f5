//! Absurd numbers in every field of a description: each is refused by its key, or the drive serves.
//!
//! Every number and every quantity of these examples is replaced by each absurd value in turn. Built
//! with `--profile checked`, sums that leave their type stop the test; in any build completions that
//! lie before their arrivals, or shares that do not add up, do.

use headstack_drive::cost::{self, Parts};
use headstack_drive::{layout, power, seek, Command, Drive, DriveOptions, DriveRequest, DriveSpec, Models};
use headstack_engine::SpecError;
use headstack_testkit::{commands, XorShift};
use headstack_units::{Lba, Time};
use serde_json::{json, Map, Value};
use std::collections::BTreeSet;

/// Everything that one drive can have at once.
const FULL: &str = r#"
name = "full"
title = "All fields"
description = "For this test"
year = 2006
dash = "D1A2S1H2"

[parallelism]
arms = [{ angle = "0 turn", start_cylinder = 3 }, { angle = "180 deg", start_cylinder = 0 }]
arm_share = "all"
logical_units = false
heads = "angular"
head_spacing = "0.25 turn"
arms_in_motion = 1
channels = 1
arm_choice = "positioning"
parking = "hold"
roles = [["read", "write"], ["read", "write"]]
stack_unit = "64 KiB"
fault_recovery = "1 s"
faults = [{ at = "50 ms", stack = 0, arm = 1, surface = 1, warning = false }]

[geometry]
rotation_speed = "7200 rpm"
surfaces = 2
cylinders = 40
sector_size = "512 B"
layout = "cylinder-major"
skew_unit = "sectors"
sparing = "range"
sparing_range_cylinders = 4
capacity_blocks = 1200
zones = [{ first_cylinder = 0, last_cylinder = 39, sectors_per_track = 20, track_skew = 2.0, cylinder_skew = 3.0, offset = 1.0, empty_sectors = 2, spares = 3, slips = [17], remaps = [[5, 158]] }]

[mapping]
model = "identity"

[seek]
model = "constant"
time = "2 ms"

[positioning]
head_switch = "0.7 ms"
write_settle = "0.3 ms"
settle_after_head_switch = true
settle_before_every_write = false
minimum_write = "0.1 ms"
minimum_read_after_read = "0.1 ms"
minimum_read_after_write = "0.1 ms"
seek_constant = "0.1 ms"
seek_scale = 1.0
rotation_scale = 1.0

[media_scan]
mode = "none"
block = "1 KiB"

[cache]
enabled = true
segments = 4
segment_sectors = 64
write_segments = 2
separate_write_segment = false
hit_check = "service"
read_ahead = "limit"
read_ahead_trigger = "always"
read_ahead_sectors = 16
read_ahead_minimum = 4
read_ahead_on_idle_hit = true
discard_requested = false
keep_passing_sectors = false
keep_whole_track = false
read_on_arrival = false
write_on_arrival = false
stop_read_ahead_in_sector = false
almost_hits = false
write_back = true
read_hits_on_written = true
append_writes = true
destage = "immediate"
destage_after = "10 ms"
destage_age = "20 s"
dirty_limit = "16 KiB"
destage_window = 8
partial_wait = "2 s"
read_watermark = 0.5
watermark_of_request = true

[overhead]
per_request = "0.1 ms"
read_hit = { after_read = "0.1 ms", after_write = "0.1 ms" }
read_miss = { after_read = "0.1 ms", after_write = "0.1 ms" }
write_hit = { after_read = "0.1 ms", after_write = "0.1 ms" }
write_miss = { after_read = "0.1 ms", after_write = "0.1 ms" }
read_completion = "0.1 ms"
write_completion = "0.1 ms"
data_preparation = "0.1 ms"
first_reselect = "0.1 ms"
other_reselect = "0.1 ms"
read_disconnect = { after_read = "0.1 ms", after_write = "0.1 ms" }
write_disconnect = "0.1 ms"
extra_write_disconnect = { command = "0.1 ms", disconnect = "0.1 ms", pause = "0.1 ms", second_disconnect = "0.1 ms", seek_delay = "0.1 ms", buffered_sectors = 4, long_request_sectors = 45, buffered_sectors_long = 8 }

[link]
rate = "100 MB/s"
read_sector_time = "0.1 ms"
write_sector_time = "0.1 ms"
never_disconnect = false

[queue]
depth = 8
counts = "tags"
scheduler = "vscan"
scheduler_parameters = { r = 0.2 }
age_limit = "1 s"

[duration_limits]
enabled = "limits"
reads = [{ inactive = "20 ms", inactive_policy = "abort", active = "100 ms", active_policy = "abort", guideline = "50 ms", guideline_policy = "complete-earliest" }]
writes = [{ inactive = "20 ms", inactive_policy = "complete-earliest", active = "100 ms", active_policy = "complete-earliest", guideline = "50 ms", guideline_policy = "continue-no-limit" }]
performance = 0.1
priority_target = "1 ms"
transport = "sata"
log_read = "1 ms"

[power]
model = "modes"

[cost]
model = "price"
usd = [1.0, 2.0]

[sources]
geometry = "chosen: small"
"#;

fn full() -> Value {
    let table: toml::Table = FULL.parse().expect("TOML");
    serde_json::to_value(table).expect("JSON")
}

/// Tables of `changes` are merged into those of `base`; other values replace.
fn merge(base: &mut Value, changes: Value) {
    match (base, changes) {
        (Value::Object(base), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, value) => *base = value,
    }
}

/// The full example, what it cannot have beside the rest, and each plug-in's own example.
fn examples() -> Vec<(String, Value)> {
    let mut all = vec![("full".to_string(), full())];
    let mut add = |name: String, replace: &[&str], changes: Value| {
        let mut value = full();
        for key in replace {
            value[*key] = json!({});
        }
        merge(&mut value, changes);
        all.push((name, value));
    };
    let plain = json!({"dash": "D1A1S1H1"});
    let unspared = json!({"sparing": "none", "capacity_blocks": 10,
        "zones": [{"first_cylinder": 0, "last_cylinder": 39, "sectors_per_track": [20, 21]}]});
    add(
        "a mean time to failure".into(),
        &["parallelism"],
        json!({"parallelism": {"arms_in_motion": 2, "parking": "follow", "faults":
            [{"mean_time_to_failure": "1 h", "stack": 0, "arm": 0, "warning": true}]}}),
    );
    add(
        "a link with a rate alone".into(),
        &["link"],
        json!({"link": {"rate": "100 MB/s"}, "cache": {"enabled": false, "write_back": false}}),
    );
    add(
        "destaging when idle".into(),
        &["parallelism"],
        json!({"cache": {"destage": "idle"}, "geometry": {"skew_unit": "turns"}}),
    );
    let scan = json!({"media_scan": {"mode": "freeblock"}});
    add("a scan".into(), &["parallelism"], plain.clone());
    add(
        "a log".into(),
        &["parallelism", "mapping"],
        json!({"dash": "D1A1S1H1", "mapping": {"model": "log", "block": "1 KiB", "policy": "eager",
            "policy_parameters": {"ties": "any"}, "reserve": 0.1, "initial_blocks": 20,
            "initial": "written", "initial_interval": "1 ms",
            "cleaning": {"policy": "greedy", "policy_parameters": {}, "low": 0.1, "high": 0.2,
                "pressed": 0.0, "moves": 2, "idle_after": "1 ms", "arm": 0},
            "recovery": {"model": "checkpoint", "every": 10}}}),
    );
    add(
        "zones".into(),
        &["parallelism", "mapping"],
        json!({"dash": "D1A1S1H1", "mapping": {"model": "zoned", "zone_size": "64 KiB",
            "conventional_zones": 1, "max_open_zones": 2, "unrestricted_reads": true,
            "initial": "full"}}),
    );
    merge(&mut all[4].1, scan);
    for plugin in seek::PLUGINS.iter() {
        let mut table: Map<String, Value> = toml::from_str(plugin.example()).expect("an example");
        table.insert("model".into(), plugin.name().into());
        let mut value = full();
        value["seek"] = table.into();
        all.push((format!("seek {}", plugin.name()), value));
    }
    for (name, more) in
        [("hpl", json!({"first": ["1 ms", "2 ms"], "single": "1 ms"})), ("bang-bang", json!({"track_pitch": "0.2 um"}))]
    {
        let plugin = seek::PLUGINS.iter().find(|p| p.name() == name).expect(name);
        let mut table: Map<String, Value> = toml::from_str(plugin.example()).expect("an example");
        table.insert("model".into(), name.into());
        if name == "bang-bang" {
            table.remove("tracks_per_inch");
        }
        let mut value = full();
        value["seek"] = table.into();
        merge(&mut value["seek"], more);
        all.push((format!("seek {name}, all keys"), value));
    }
    for (model, more) in [
        (
            "modes",
            json!({"profile": "main", "rotation_speed": "7200 rpm", "platter_diameter": "3.7 in", "reference_diameter": "3.7 in", "platters": 1, "spindle": "6 W", "electronics": "3 W",
            "voice_coil": "6 W", "access": "3 W", "per_extra_arm": "0.1 W", "standby": "0.5 W",
            "idle_a": "6 W", "idle_b": "5 W", "idle_c": "4 W", "sleep": "0.4 W", "spin_up": "29 W",
            "spin_up_time": "20 s"}),
        ),
        (
            "rails",
            json!({"idle": [0.6, 0.5], "random_read": [0.7, 0.8], "sequential_read": [0.9, 0.55],
            "random_write": [0.7, 0.8], "sequential_write": [0.9, 0.55], "standby": [0.1, 0.0],
            "sleep": [0.1, 0.0], "spin_up": [1.0, 2.0], "spin_up_time": "20 s", "read_ratio": 0.5,
            "idle_a": [0.5, 0.3], "idle_b": [0.4, 0.2], "idle_c": [0.3, 0.2],
            "seek_share": 0.6, "transfer_share": 0.01, "rotation_speed": "7200 rpm",
            "platter_diameter": "3 in", "reference_diameter": "3 in", "platters": 1,
            "per_extra_arm": "0.1 W", "measured_arms": 1, "points": [
                {"current": [0.8, 0.7], "seek": 0.3, "rotation": 0.3, "transfer": 0.1},
                {"current": [0.8, 0.7], "iops": 50, "seek_time": "5 ms", "rotation_time": "4 ms",
                 "transfer_time": "1 ms"}]}),
        ),
    ] {
        let mut value = full();
        let condition = json!({"timer": "10 s", "nominal_timer": "20 s", "enter_time": "0.1 s",
            "enter_power": "20 W", "recovery_time": "1 s", "recovery_power": "30 W"});
        value["power"] = json!({"model": model, "conditions": {"timers": "given",
            "idle_a": condition, "idle_b": condition, "idle_c": condition, "standby": condition},
            "seek_energy": {"acceleration_power": "2 W", "speed_energy": "30 mJ", "coast_power": "7 W",
            "acceleration_time": "7 ms", "coast_from": 0.3}});
        merge(&mut value["power"], more);
        all.push((format!("power {model}"), value));
    }
    for (name, table) in [
        ("usd_per_mb", json!({"model": "price", "usd_per_mb": [0.1, 0.2]})),
        ("components", json!({"model": "components", "usd": {"head": [2.0, 3.0]}})),
    ] {
        let mut value = full();
        value["cost"] = table;
        all.push((format!("cost {name}"), value));
    }
    for (name, parameters) in [
        ("aged-sptf", json!({"weight": 0.05, "estimate_deviation": "1 ms"})),
        ("satf", json!({"cache_aware": true})),
        (
            "depth-aged-sptf",
            json!({"ageing": 0.5, "cache_aware": true, "ageing_beside_limits": 1.3, "falls_with_depth": 0.4,
                "slack_ageing": 0.25, "urgent_after": 0.3, "urgent_before": "35 ms", "detour_late": "5 ms"}),
        ),
    ] {
        let mut value = full();
        value["queue"]["scheduler"] = name.into();
        value["queue"]["scheduler_parameters"] = parameters;
        all.push((format!("scheduler {name}"), value));
    }
    for plugin in layout::PLUGINS.iter().filter(|p| !p.example().is_empty()) {
        let table: Map<String, Value> = toml::from_str(plugin.example()).expect("an example");
        let mut value = full();
        value["parallelism"] = json!({});
        value["dash"] = "D1A1S1H1".into();
        merge(&mut value["geometry"], unspared.clone());
        merge(&mut value["geometry"], Value::Object(table));
        value["geometry"]["layout"] = plugin.name().into();
        if plugin.name() == "extents" {
            value["geometry"]["zones"][0]["sectors_per_track"] = json!(20);
        }
        if plugin.name() == "adaptive" {
            let mut tables = value.clone();
            let format = |n: u32, s: u32| json!([{"tracks_per_band": n, "sectors_per_track": s}]);
            if let Some(geometry) = tables["geometry"].as_object_mut() {
                geometry.remove("density");
            }
            merge(&mut tables["geometry"], json!({"surface_zones": [format(3, 25), format(5, 17)]}));
            all.push(("layout adaptive with tables".into(), tables));
        }
        all.push((format!("layout {}", plugin.name()), value));
    }
    all
}

/// Refused by its key, or built and 200 random requests served.
fn outcome(value: &Value) -> Result<(), SpecError> {
    let spec = DriveSpec::from_value(value.clone(), &Models::builtin())?;
    let mut drive = Drive::builtin(&spec, &DriveOptions::default())?;
    cost::build(&spec.cost, &Parts::of(&spec)?, &cost::PLUGINS)?;
    power::build(&spec.power, &power::Shape::of(&spec), &power::PLUGINS)?;
    let blocks = drive.design.capacity_blocks();
    let mut noise = XorShift::default();
    let mut draw = |limit: u64| noise.below(limit);
    let (mut now, mut done) = (0, 0);
    let mut check = |c: &headstack_drive::Completion| {
        assert!(c.completion >= c.arrival, "{c:?}");
        assert_eq!(commands::shares(c), commands::response(c), "{c:?}");
        done += 1;
    };
    for id in 0..200 {
        now += draw(5_000_000);
        let size = 1 + draw(30.min(blocks)) as u32;
        let command = match draw(8) {
            0 => Command::Flush,
            1..4 => Command::Write,
            _ => Command::Read,
        };
        let lba = Lba(draw(blocks - u64::from(size) + 1));
        let request = DriveRequest { id, command, lba, blocks: size, ..DriveRequest::default() };
        drive.advance(Time(now), &mut check);
        drive.submit(Time(now), request);
    }
    drive.advance(Time::NEVER, &mut check);
    assert_eq!(done, 200);
    Ok(())
}

/// A step into a value.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

fn dotted(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text += key,
            Step::Key(key) => text += &format!(".{key}"),
            Step::Index(i) => text += &format!("[{i}]"),
        }
    }
    text
}

fn at<'a>(value: &'a mut Value, path: &[Step]) -> &'a mut Value {
    path.iter().fold(value, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Index(i) => &mut value[*i],
    })
}

/// The unit of a quantity, if this is one.
fn unit(text: &str) -> Option<&str> {
    let (number, unit) = text.split_once(' ')?;
    number.parse::<f64>().ok().map(|_| unit)
}

/// The paths of all numbers and quantities, and those of all tables.
fn walk(value: &Value, path: &mut Vec<Step>, leaves: &mut Vec<Vec<Step>>, tables: &mut Vec<Vec<Step>>) {
    match value {
        Value::Object(table) => {
            tables.push(path.clone());
            for (key, value) in table {
                path.push(Step::Key(key.clone()));
                walk(value, path, leaves, tables);
                path.pop();
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                path.push(Step::Index(i));
                walk(value, path, leaves, tables);
                path.pop();
            }
        }
        Value::Number(_) => leaves.push(path.clone()),
        Value::String(text) if unit(text).is_some() => leaves.push(path.clone()),
        _ => {}
    }
}

/// Whether an error's key is that of the field, of an element of it, or of a table that it is in.
fn names(key: &str, field: &str) -> bool {
    let inside = |outer: &str, inner: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    !key.is_empty() && (inside(key, field) || inside(field, key))
}

/// Errors about what no longer fits together, at another field than the one that was changed.
const ELSEWHERE: &[(&str, &str)] = &[
    ("geometry.cylinders", "geometry.zones[0].first_cylinder"),
    ("geometry.zones[0].first_cylinder", "geometry.zones[0]"),
    ("geometry.zones[0].last_cylinder", "geometry.zones[0]"),
    ("geometry.zones[0].spares", "geometry.zones[0].slips"),
    ("geometry.extents", "geometry.extents"),
    ("geometry.extents", "geometry.extent_defects"),
    ("seek.points", "seek.points"),
    ("power.random_write", "power.random_read"),
    ("power.sequential_write", "power.sequential_read"),
    ("geometry.cylinders", "geometry.zones[0].last_cylinder"),
    ("geometry.cylinders", "parallelism.arms[0].start_cylinder"),
    ("geometry.cylinders", "seek"),
    ("geometry.surfaces", "parallelism.faults[0].surface"),
    ("geometry.surfaces", "geometry.zones[0].sectors_per_track"),
    ("geometry.surfaces", "geometry.density"),
    ("geometry.surfaces", "geometry.surface_zones"),
    ("geometry.band_cylinders", "geometry.surface_zones"),
    ("geometry.outer_radius", "geometry.inner_radius"),
    ("geometry.sparing_range_cylinders", "geometry.capacity_blocks"),
    ("positioning.seek_constant", "seek"),
    ("seek.single", "seek.average"),
    ("seek.single", "seek.full"),
    ("seek.full", "seek.average"),
    ("seek.average", "seek.full"),
];

fn absurd(value: &Value) -> Vec<Value> {
    let numbers = [
        "0",
        "-1",
        "-1e15",
        "1e15",
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775808",
        "18446744073709551615",
        "1e300",
        "1e-300",
        "NaN",
        "inf",
        "1e999",
    ];
    match value.as_str().and_then(unit) {
        Some(unit) => numbers.iter().map(|n| format!("{n} {unit}").into()).collect(),
        // JSON has no other numbers; words stand for them.
        None => numbers.iter().map(|n| serde_json::from_str(n).unwrap_or_else(|_| (*n).into())).collect(),
    }
}

#[test]
fn absurd_values_are_refused_by_key_or_served() {
    let (mut refused, mut served) = (0, 0);
    let mut wrong = Vec::new();
    for (name, example) in examples() {
        outcome(&example).unwrap_or_else(|e| panic!("{name}: {e}"));
        let (mut leaves, mut tables) = (Vec::new(), Vec::new());
        walk(&example, &mut Vec::new(), &mut leaves, &mut tables);
        // What the full example has is changed there.
        if let Some((table, _)) = name.split_once(' ') {
            let of = match table {
                "layout" => "geometry",
                "scheduler" => "queue",
                "a" | "destaging" => "",
                table => table,
            };
            leaves.retain(|path| of.is_empty() || dotted(path).starts_with(of));
        }
        for path in &leaves {
            let field = dotted(path);
            for value in absurd(at(&mut example.clone(), path)) {
                let mut changed = example.clone();
                *at(&mut changed, path) = value.clone();
                let what = format!("{name}: {field} = {value}");
                let result = std::panic::catch_unwind(|| outcome(&changed));
                match result {
                    Err(_) => wrong.push(format!("{what}: the drive panicked")),
                    Ok(Ok(())) => served += 1,
                    Ok(Err(e)) => {
                        let related = ELSEWHERE.iter().any(|(f, k)| field.starts_with(f) && names(&e.key, k));
                        if !names(&e.key, &field) && !related {
                            wrong.push(format!("{what}: {e}"));
                        }
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    // Most absurd values are refused; zeros and tiny numbers of many fields are not absurd.
    assert!(refused > 3 * served && served > 100, "{refused} {served}");
}

/// No field escapes the test above: the names that an unknown key is answered with are all in some
/// example.
#[test]
fn the_examples_have_every_field() {
    let (mut present, mut known) = (BTreeSet::new(), BTreeSet::new());
    // Without indices; keys of a plug-in with its name.
    let plain = |path: &[Step], model: &str, key: &str| {
        let keys = path.iter().filter(|s| matches!(s, Step::Key(_)));
        let inside: Vec<Step> = keys.cloned().collect();
        format!("{}({model}).{key}", dotted(&inside))
    };
    for (name, example) in examples() {
        let (mut leaves, mut tables) = (Vec::new(), Vec::new());
        walk(&example, &mut Vec::new(), &mut leaves, &mut tables);
        for path in &tables {
            let table = at(&mut example.clone(), path).clone();
            let model = table["model"].as_str().unwrap_or("");
            for key in at(&mut example.clone(), path).as_object().expect("a table").keys() {
                present.insert(plain(path, model, key));
            }
            if ["sources", "cost.usd"].contains(&dotted(path).as_str()) {
                continue;
            }
            let mut changed = example.clone();
            at(&mut changed, path)["no_such_key"] = 1.into();
            let error = outcome(&changed).expect_err("an unknown key");
            assert_eq!(error.got, "key \"no_such_key\"", "{name}: {error}");
            if let Some(keys) = error.need.strip_prefix("one of ") {
                let keys = keys.split(';').next().unwrap_or("").split(", ");
                known.extend(keys.map(|key| plain(path, model, key)));
            }
        }
    }
    let missing: Vec<_> = known.difference(&present).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(known.len() > 120, "{}", known.len());
}

/// The examples of the report: a product and a sum that used to wrap.
#[test]
fn what_used_to_wrap_is_an_error() {
    for (path, value, key) in [
        ("/geometry/surfaces", json!(1u64 << 31), "geometry.surfaces"),
        ("/overhead/read_miss/after_read", json!("1e15 ms"), "overhead.read_miss.after_read"),
        ("/link/rate", json!("0 MB/s"), "link.rate"),
        ("/overhead/per_request", json!("-1 ms"), "overhead.per_request"),
    ] {
        let mut value_of = full();
        *value_of.pointer_mut(path).expect(path) = value;
        let error = outcome(&value_of).expect_err(path);
        assert_eq!(error.key, key, "{error}");
    }
}
