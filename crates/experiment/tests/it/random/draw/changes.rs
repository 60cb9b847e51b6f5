//! Changes while a system runs: settings of drives and of layers, parts that fail, members that leave and come back.

use super::drives::{part, System};
use super::{edits, example, Draw};
use crate::random::case::Scope;
use headstack_block::layer::elevator;
use headstack_drive::Models;
use serde_json::{json, Value};

/// Draws the changes of system `s`.
pub fn draw(draw: &mut Draw, s: usize, system: &System) {
    let scope = Scope::System(s);
    if draw.chance(0.4) {
        for _ in 0..draw.between(1, 4) {
            let mut change = of_drives(draw, system);
            if draw.chance(0.4) {
                change["drives"] = json!([draw.between(0, system.count - 1)]);
            }
            change["at"] = draw.time(1e-3, 30.0);
            let name = format!("change {change}");
            draw.add(scope, name, edits([("change/+", change)]));
        }
    }
    for (number, (name, width)) in system.layers.iter().enumerate() {
        let volume = matches!(name.as_str(), "raid1" | "raid5" | "raid10");
        if !draw.chance(if volume { 0.8 } else { 0.25 }) {
            continue;
        }
        for mut change in of_layer(draw, name, *width) {
            change["layer"] = json!(number);
            let name = format!("change {change}");
            draw.add(scope, name, edits([("change/+", change)]));
        }
    }
}

fn of_drives(draw: &mut Draw, system: &System) -> Value {
    let schedulers = Models::builtin().schedulers;
    match draw.index(7) {
        0 => json!({ "queue_depth": draw.between(0, 16) }),
        1 => {
            let scheduler = &schedulers[draw.index(schedulers.len())];
            json!({ "scheduler": scheduler.name(), "scheduler_parameters": example(scheduler.example()) })
        }
        2 if system.arms > 1 => json!({ "arms_in_motion": draw.between(1, system.arms) }),
        3 => {
            let speed = format!("{} rpm", system.rpm * [0.5, 0.75, 1.0][draw.index(3)]);
            json!({ "spindle_speed": { "speed": speed, "takes": draw.time(1e-3, 5.0) } })
        }
        4 if !system.conditions.is_empty() => {
            let condition = draw.of(&system.conditions);
            json!({ "idle_timer": { "condition": condition, "after": draw.time(1e-4, 10.0) } })
        }
        5 => json!({ "fail": part(draw, system) }),
        _ => {
            let mut names = vec!["active"];
            names.extend(&system.conditions);
            json!({ "power_condition": draw.of(&names) })
        }
    }
}

/// Changes of one layer; of a volume, the fate of a member.
fn of_layer(draw: &mut Draw, name: &str, width: u32) -> Vec<Value> {
    let mut at = draw.scale(1e-3, 10.0);
    let mut next = |draw: &mut Draw| {
        at += draw.scale(1e-3, 10.0);
        json!(format!("{at:.6} s"))
    };
    match name {
        "raid1" | "raid5" | "raid10" => {
            let member = draw.between(0, width - 1);
            let back = draw.of(&["member_back", "member_replaced"]);
            let rate = format!("{:.3} MB/s", draw.scale(0.1, 200.0));
            let mut changes = vec![json!({ "member_gone": member, "at": next(draw) })];
            if draw.chance(0.8) {
                changes.push(json!({ back: member, "at": next(draw) }));
            }
            if draw.chance(0.6) {
                changes.push(json!({ "rebuild_rate": rate, "at": next(draw) }));
            }
            if draw.chance(0.2) {
                let second = draw.between(0, width - 1);
                changes.push(json!({ "member_gone": second, "at": next(draw) }));
            }
            changes
        }
        "host-queue" => vec![match draw.index(4) {
            0 => json!({ "nr_requests": draw.between(4, 64), "at": next(draw) }),
            1 => json!({ "depth": draw.between(1, 32), "at": next(draw) }),
            2 => json!({ "read_expire": draw.time(1e-3, 1.0), "at": next(draw) }),
            _ => {
                let all = &*elevator::PLUGINS;
                let names: Vec<&str> = all.iter().map(|e| e.name()).collect();
                json!({ "elevator": draw.of(&names), "at": next(draw) })
            }
        }],
        "link" => {
            let rate = format!("{:.3} MB/s", draw.scale(1.0, 500.0));
            vec![json!({ "bandwidth": rate, "at": next(draw) })]
        }
        "throttle" => {
            let rate = format!("{:.3}/s", draw.scale(1.0, 1000.0));
            vec![json!({ "iops_limit": rate, "at": next(draw) })]
        }
        _ => Vec::new(),
    }
}
