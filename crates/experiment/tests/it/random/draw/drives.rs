//! The drives of a system: those of the tests' worlds, with an organisation.

use super::{edits, Draw};
use crate::random::case::Scope;
use headstack_block::organisation;
use headstack_drive::power::conditions::Condition;
use headstack_testkit::world::{blocks, draw_drive, Base, Drawn};
use serde_json::{json, Value};

/// What the other parts of an experiment must know of a system's drives.
#[derive(Debug, Clone)]
pub struct System {
    pub count: u32,
    /// 512-byte blocks of the smallest drive, before its design changes.
    pub blocks: u64,
    pub surfaces: u32,
    pub rpm: f64,
    pub stacks: u32,
    pub arms: u32,
    /// Names of low-power conditions.
    pub conditions: Vec<&'static str>,
    /// Names of the layers, from the host down, each with the number of layers below it.
    pub layers: Vec<(String, u32)>,
}

/// Draws the drives of system `s` and their settings.
pub fn draw(draw: &mut Draw, s: usize) -> System {
    let scope = Scope::System(s);
    let count = [1, 1, 1, 2, 2, 3, 4, 4, 5, 6][draw.index(10)];
    let drawn = draw_drive(&mut draw.random);
    let spec = &drawn.spec;
    let conditions = spec.power.get("conditions");
    let has = |name: &&str| conditions.is_some_and(|table| table.get(name).is_some());
    let mut system = System {
        count,
        blocks: blocks(spec),
        surfaces: spec.geometry.surfaces,
        rpm: spec.geometry.rotation_speed.0,
        stacks: spec.dash.stacks,
        arms: spec.dash.arms,
        conditions: Condition::LOW.map(Condition::name).into_iter().filter(has).collect(),
        layers: Vec::new(),
    };
    draw.need(scope, "name", edits([("name", json!(format!("s{s}")))]));
    base(draw, scope, &drawn, &mut system);
    changes(draw, scope, &drawn, &mut system);
    organisation(draw, scope);
    if draw.chance(0.1) {
        draw.add(scope, "spindles", edits([("spindles", json!("synchronized"))]));
    }
    if draw.chance(0.1) {
        let seed = draw.between(0, 1000);
        draw.add(scope, "seed", edits([("seed", json!(seed))]));
    }
    system
}

/// The kinds of drives, without their settings.
fn base(draw: &mut Draw, scope: Scope, drawn: &Drawn, system: &mut System) {
    let count = system.count;
    match &drawn.base {
        Base::MadeUp(table) => {
            for (name, value) in table {
                let keys = vec![(format!("drive/{name}"), json!(value))];
                match matches!(name.as_str(), "name" | "geometry" | "seek") {
                    true => draw.need(scope, name, keys),
                    false => draw.add(scope, name, keys),
                }
            }
            draw.need(scope, "count", edits([("count", json!(count))]));
        }
        Base::Shipped(name) if count > 1 && draw.chance(0.15) => {
            let all = headstack_testkit::shipped::drives();
            let other = &all[draw.index(all.len())];
            let depth = draw.between(0, 8);
            let drives = json!([
                { "drive": name, "count": count - 1 }, { "drive": other.name, "queue_depth": depth },
            ]);
            draw.need(scope, "drives", edits([("drives", drives)]));
            system.blocks = system.blocks.min(blocks(other));
            system.conditions.clear();
        }
        Base::Shipped(name) => {
            draw.need(scope, "drive", edits([("drive", json!(name)), ("count", json!(count))]));
        }
    }
}

/// Some of what is different from the base. Those keys that a system has itself are set there.
fn changes(draw: &mut Draw, scope: Scope, drawn: &Drawn, system: &mut System) {
    let own_keys = draw.chance(0.5);
    let (mut table, mut is_set) = (String::new(), false);
    for (key, value) in &drawn.changes {
        let top = key.split('.').next().unwrap_or_default();
        if table != top {
            (table, is_set) = (top.into(), draw.chance(0.5));
        }
        if !is_set {
            continue;
        }
        let value = json!(value);
        if key == "dash" {
            let dash = value.as_str().and_then(|text| text.parse::<headstack_drive::spec::Dash>().ok());
            (system.stacks, system.arms) = dash.map_or((1, 1), |dash| (dash.stacks, dash.arms));
        }
        let keys = match (own_keys, top) {
            (true, "dash") => vec![(key.clone(), value)],
            (true, "cache") => vec![(key.replace('.', "/"), value)],
            // Such a drive serves a request when it arrives, unless it is logged.
            (_, "queue") if draw.chance(0.4) => edits([("scheduler", json!("fcfs")), ("queue_depth", json!(0))]),
            (true, "queue") => {
                vec![("scheduler".into(), value["scheduler"].clone()), ("queue_depth".into(), value["depth"].clone())]
            }
            _ => vec![(format!("set/{key}"), value)],
        };
        draw.add(scope, key, keys);
    }
}

/// A head or an assembly of a drive.
pub fn part(draw: &mut Draw, system: &System) -> Value {
    let mut part = json!({
        "stack": draw.between(0, system.stacks - 1),
        "arm": draw.between(0, system.arms - 1),
        "warning": draw.chance(0.5),
    });
    if draw.chance(0.6) {
        part["surface"] = json!(draw.between(0, system.surfaces - 1));
    }
    part
}

fn organisation(draw: &mut Draw, scope: Scope) {
    if !draw.chance(0.6) {
        return;
    }
    let entries = &*organisation::PLUGINS;
    let names: Vec<&str> = entries.names().collect();
    let name = names[draw.index(names.len())];
    let mut keys = edits([("organisation/name", json!(name))]);
    if name == "raid0" && draw.chance(0.7) {
        let unit = draw.bytes(4096.0, 1e6, 4096);
        keys.push(("organisation/stripe_unit".into(), json!(format!("{unit} B"))));
    }
    draw.add(scope, format!("organisation {name}"), keys);
}
