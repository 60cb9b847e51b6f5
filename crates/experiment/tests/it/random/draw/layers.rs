//! Layers over the drives of a system, and power capping, which needs some of them.

use super::drives::System;
use super::{edits, example, inside, Draw};
use crate::random::case::Scope;
use headstack_block::layer::{elevator, Layer, LowerCount, PLUGINS};
use headstack_control::policy::{self, Policy};
use headstack_control::policy::{Drives, Need};
use headstack_schema::{Plugin, Plugins};
use serde_json::{json, Value};

/// Draws the layers of system `s`; notes them in `system`.
pub fn draw(draw: &mut Draw, s: usize, system: &mut System) {
    let scope = Scope::System(s);
    if draw.chance(0.25) {
        return capped(draw, scope, system);
    }
    let mut below = system.count;
    // From the drives up.
    let (all, mut layers) = (&*PLUGINS, Vec::new());
    while draw.chance(0.65) && layers.len() < 4 {
        let (entry, width) = any(draw, all, below);
        layers.push((entry.name().to_string(), width, table(draw, entry, width)));
        below /= match entry.facts {
            LowerCount::One => 1,
            LowerCount::Many => width,
        };
    }
    layers.reverse();
    system.layers = layers.iter().map(|(n, w, _)| (n.clone(), *w)).collect();
    let mut keys = Vec::new();
    for (_, width, mut table) in layers {
        if width > 1 && width < system.count {
            table["of"] = json!(width);
        }
        keys.push(("layers/+".to_string(), table));
    }
    add(draw, scope, system, keys);
}

/// All layers are one feature, because changes name them by number.
fn add(draw: &mut Draw, scope: Scope, system: &System, keys: Vec<(String, Value)>) {
    let names: Vec<&str> = system.layers.iter().map(|(name, _)| &**name).collect();
    if !names.is_empty() {
        draw.add(scope, format!("layers {}", names.join(" ")), keys);
    }
}

/// Any layer, and how many of `below` it takes.
fn any<'a>(draw: &mut Draw, all: &'a Plugins<dyn Layer>, below: u32) -> (&'a Plugin<dyn Layer>, u32) {
    let list: Vec<&Plugin<dyn Layer>> = all.iter().collect();
    let entry = list[draw.index(list.len())];
    let width = match entry.facts {
        LowerCount::One => 1,
        LowerCount::Many => {
            let divisors: Vec<u32> = (1..=below).filter(|n| below % n == 0).collect();
            // Usually as many as there are.
            match draw.chance(0.7) {
                true => below,
                false => divisors[draw.index(divisors.len())],
            }
        }
    };
    let least = match entry.name() {
        "raid5" => 3,
        "raid1" | "raid10" => 2,
        _ => 1,
    };
    match width < least {
        true => any(draw, all, below),
        false => (entry, width),
    }
}

/// The table of a layer: the registry's example, or values of this layer.
fn table(draw: &mut Draw, entry: &Plugin<dyn Layer>, width: u32) -> Value {
    let mut table = match draw.chance(0.3) {
        true => example(entry.example()),
        false => json!({}),
    };
    table["name"] = json!(entry.name());
    match entry.name() {
        "host-queue" => host_queue(draw, &mut table),
        "link" => {
            table["bandwidth"] = json!(format!("{:.3} MB/s", draw.scale(1.0, 1000.0)));
            table["duplex"] = json!(draw.of(&["full", "half"]));
        }
        "throttle" => {
            let rate = match draw.chance(0.5) {
                true => ("iops", format!("{:.3}/s", draw.scale(1.0, 3000.0))),
                false => ("bandwidth", format!("{:.3} kB/s", draw.scale(100.0, 1e5))),
            };
            table = json!({ "name": entry.name(), rate.0: rate.1 });
        }
        "raid1" | "raid5" | "raid10" => volume(draw, entry.name(), &mut table, width),
        _ => {}
    }
    table
}

fn host_queue(draw: &mut Draw, table: &mut Value) {
    let elevators = &*elevator::PLUGINS;
    let list: Vec<&Plugin<dyn elevator::Elevator>> = elevators.iter().collect();
    let entry = list[draw.index(list.len())];
    table["elevator"] = json!(entry.name());
    if draw.chance(0.5) {
        table["elevator_parameters"] = example(entry.example());
    }
    for (key, value) in [
        ("nr_requests", json!(draw.between(4, 64))),
        ("depth", json!(draw.between(1, 40))),
        ("wake_time", draw.time(1e-6, 1e-3)),
        ("retake", json!(draw.scale(0.01, 1.0))),
        ("completion_time", draw.time(1e-6, 1e-3)),
        ("sync_writes", json!(true)),
        ("merge", json!(false)),
        ("front_merges", json!(false)),
        ("places", json!(draw.of(&["legacy", "blk-mq"]))),
        ("max_segments", json!(draw.between(1, 128))),
    ] {
        if draw.chance(0.3) {
            table[key] = value;
        }
    }
}

fn volume(draw: &mut Draw, name: &str, table: &mut Value, width: u32) {
    if name != "raid1" {
        let chunk = draw.bytes(4096.0, 1e6, 4096);
        table["chunk"] = json!(format!("{chunk} B"));
    }
    if draw.chance(0.25) {
        table["gone"] = json!([draw.between(0, width - 1)]);
    }
    if draw.chance(0.4) {
        let rate = draw.scale(0.1, 200.0);
        table["rebuild_rate"] = json!(format!("{rate:.3} MB/s"));
        if draw.chance(0.5) {
            table["rebuild_rate_min"] = json!(format!("{:.3} kB/s", rate * draw.scale(1.0, 900.0)));
        }
    }
    for key in ["rebuild_at_once", "rebuild_request"] {
        if draw.chance(0.3) {
            table[key] = json!(format!("{} B", draw.bytes(65536.0, 4e6, 512)));
        }
    }
    if draw.chance(0.3) {
        table["rebuild_host_time"] = json!(format!("{:.3} us", draw.scale(0.1, 900.0)));
    }
    match name {
        "raid5" => {
            if draw.chance(0.3) {
                let most = draw.bytes(65536.0, 4e6, 512);
                table["rebuild_grows_to"] = json!(format!("{most} B"));
            }
            let layouts = ["left-symmetric", "left-asymmetric", "right-symmetric", "right-asymmetric"];
            table["layout"] = json!(draw.of(&layouts));
            if draw.chance(0.3) {
                table["rmw_level"] = json!(draw.between(0, 2));
            }
        }
        _ => {
            let policies = ["first", "round-robin", "nearest", "fewest-pending", "md-raid1"];
            if draw.chance(0.5) {
                table["read_policy"] = json!(draw.of(&policies));
            }
            if name == "raid10" {
                table["near"] = json!(draw.between(1, width.min(3)));
                table["far"] = json!(draw.between(1, 2));
                table["offset"] = json!(draw.chance(0.3));
            }
        }
    }
}

/// A system under a power cap, with the layers that its policy sets.
fn capped(draw: &mut Draw, scope: Scope, system: &mut System) {
    let list: Vec<&Plugin<dyn Policy>> = policy::PLUGINS.iter().collect();
    let policy = list[draw.index(list.len())];
    if policy.facts.drives == Drives::One {
        system.count = 1;
        let drives: Vec<usize> = (0..draw.features.len()).filter(|i| draw.features[*i].scope == scope).collect();
        for i in drives {
            let edits = &mut draw.features[i].edits;
            for (path, value) in edits {
                match path.as_str() {
                    "count" => *value = json!(1),
                    "drives" => *value = json!([value[0].clone()]),
                    _ => {}
                }
                if path == "drives" {
                    value[0]["count"] = json!(1);
                }
            }
        }
    }
    let mut layers = Vec::new();
    if policy.facts.needs.contains(&Need::RateLimit) || draw.chance(0.3) {
        layers.push(json!({ "name": "throttle" }));
    }
    let mut queue = json!({ "name": "host-queue" });
    host_queue(draw, &mut queue);
    layers.push(queue);
    let named = |layer: &Value| layer["name"].as_str().unwrap_or_default().to_string();
    system.layers = layers.iter().map(|layer| (named(layer), 1)).collect();
    let each = layers.into_iter().map(|layer| ("layers/+".to_string(), layer));
    add(draw, scope, system, each.collect());
    let watts = f64::from(system.count) * 12.0;
    let mut keys = edits([("capping/policy", json!(policy.name()))]);
    if draw.chance(0.6) {
        keys.extend(inside("capping/parameters", &example(policy.example())));
    }
    let cap = |draw: &mut Draw| json!(format!("{:.3} W", watts * draw.scale(0.1, 1.2)));
    let source = match draw.index(3) {
        0 => {
            let signal = json!({
                "mean": cap(draw), "deviation": "2 W", "correlation_time": "10 s", "every": "1 s",
                "least": "1 W", "most": format!("{watts} W"),
            });
            ("capping/signal", signal)
        }
        _ => {
            let list = json!([
                { "at": "0 s", "cap": cap(draw) },
                { "at": draw.time(0.01, 10.0), "cap": cap(draw) },
                { "at": "1000 s" },
            ]);
            ("capping/caps", list)
        }
    };
    keys.extend(edits([source]));
    draw.add(scope, format!("capping {}", policy.name()), keys);
    for (key, value) in [
        ("interval", draw.time(0.01, 3.0)),
        ("noise", json!("0.5 W")),
        ("resolution", json!("0.1 W")),
        ("delay", draw.time(1e-3, 5.0)),
        ("efficiency", json!(0.83)),
        ("tolerance", json!("0.2 W")),
        ("response_time", json!(draw.of(&["p50", "p90", "p99", "max"]))),
    ] {
        if draw.chance(0.3) {
            let path = format!("capping/{key}");
            draw.add(scope, format!("capping {key}"), vec![(path, value)]);
        }
    }
}
