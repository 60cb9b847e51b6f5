//! The drives of a system: shipped ones and made-up ones, with settings of all tables of a drive file.

use super::{edits, example, inside, Draw};
use crate::random::case::Scope;
use headstack_array::organisation;
use headstack_drive::mapping::MODELS;
use headstack_drive::power::conditions::Condition;
use headstack_drive::spec::ZoneSpec;
use headstack_drive::{DriveSpec, Models};
use headstack_testkit::shipped;
use serde_json::{json, Value};
use std::sync::OnceLock;

/// What the other parts of an experiment must know of a system's drives.
#[derive(Debug, Clone)]
pub struct System {
    pub count: u32,
    /// 512-byte blocks of the smallest drive, before its design changes.
    pub blocks: u64,
    /// The same of the largest.
    largest: u64,
    /// Physical sector in bytes.
    pub sector: u64,
    pub surfaces: u32,
    pub rpm: f64,
    pub stacks: u32,
    pub arms: u32,
    /// Names of low-power conditions.
    pub conditions: Vec<&'static str>,
    /// Names of the layers, from the host down, each with the number of layers below it.
    pub layers: Vec<(String, u32)>,
}

/// A shipped drive.
struct Shipped {
    name: String,
    spec: DriveSpec,
    blocks: u64,
}

fn shipped_drives() -> &'static [Shipped] {
    static DRIVES: OnceLock<Vec<Shipped>> = OnceLock::new();
    DRIVES.get_or_init(|| {
        let with_size = |spec: DriveSpec| Shipped { name: spec.name.clone(), blocks: blocks(&spec), spec };
        shipped::drives().into_iter().map(with_size).collect()
    })
}

/// About the 512-byte blocks of a drive: those that it states, or that its zones hold.
fn blocks(spec: &DriveSpec) -> u64 {
    let g = &spec.geometry;
    let of_zone = |z: &ZoneSpec| {
        let surfaces = (0..g.surfaces).map(|s| u64::from(z.sectors_per_track.of(s)));
        u64::from(z.last_cylinder - z.first_cylinder) * surfaces.sum::<u64>()
    };
    let held = g.zones.iter().map(of_zone).sum::<u64>() * g.sector_size.0 / 512;
    g.capacity_blocks.unwrap_or(held)
}

/// The low-power conditions of a drive file.
fn conditions(power: &serde_json::Map<String, Value>) -> Vec<&'static str> {
    let table = power.get("conditions").and_then(Value::as_object);
    let has = |name: &&str| power.contains_key(*name) && table.is_some_and(|t| t.contains_key(*name));
    let low = Condition::LOW.map(Condition::name);
    low.into_iter().filter(has).collect()
}

/// Draws the drives of system `s` and their settings.
pub fn draw(draw: &mut Draw, s: usize) -> System {
    let scope = Scope::System(s);
    let mut system = match draw.chance(0.7) {
        true => shipped_drive(draw, scope),
        false => made_up(draw, scope),
    };
    let name = edits([("name", json!(format!("s{s}")))]);
    draw.need(scope, "name", name);
    queue(draw, scope);
    cache(draw, scope, &system);
    times(draw, scope);
    mapping(draw, scope, &system);
    if draw.chance(0.1) {
        scan(draw, scope, &mut system);
    } else {
        dash(draw, scope, &mut system);
    }
    power(draw, scope, &system);
    organisation(draw, scope);
    if draw.chance(0.1) {
        let spindles = edits([("spindles", json!("synchronized"))]);
        draw.add(scope, "spindles", spindles);
    }
    if draw.chance(0.1) {
        let seed = draw.between(0, 1000);
        draw.add(scope, "seed", edits([("seed", json!(seed))]));
    }
    system
}

fn drive_count(draw: &mut Draw) -> u32 {
    [1, 1, 1, 2, 2, 3, 4, 4, 5, 6][draw.index(10)]
}

fn shipped_drive(draw: &mut Draw, scope: Scope) -> System {
    let list = shipped_drives();
    let (first, second) = (&list[draw.index(list.len())], &list[draw.index(list.len())]);
    let count = drive_count(draw);
    let mut system = System {
        count,
        blocks: first.blocks,
        largest: first.blocks,
        sector: first.spec.geometry.sector_size.0,
        surfaces: first.spec.geometry.surfaces,
        rpm: first.spec.geometry.rotation_speed.0,
        stacks: first.spec.dash.stacks,
        arms: first.spec.dash.arms,
        conditions: conditions(&first.spec.power),
        layers: Vec::new(),
    };
    if count == 1 || draw.chance(0.85) {
        let drive = [("drive", json!(first.name)), ("count", json!(count))];
        draw.need(scope, "drive", edits(drive));
        return system;
    }
    let drives = json!([
        { "drive": first.name, "count": count - 1 },
        { "drive": second.name, "queue_depth": draw.between(0, 8) },
    ]);
    draw.need(scope, "drives", edits([("drives", drives)]));
    system.blocks = system.blocks.min(second.blocks);
    system.largest = system.largest.max(second.blocks);
    system.sector = system.sector.max(second.spec.geometry.sector_size.0);
    let both = conditions(&second.spec.power);
    system.conditions.retain(|c| both.contains(c));
    system
}

/// A small drive with a layout, a seek model and a power model of the registries.
fn made_up(draw: &mut Draw, scope: Scope) -> System {
    let models = Models::builtin();
    let layout = &models.layouts[draw.index(models.layouts.len())];
    let surfaces = if layout.example().is_empty() { draw.between(1, 6) } else { 2 };
    let (cylinders, sectors) = (draw.between(20, 800), draw.between(11, 300));
    let sector = [512, 512, 4096][draw.index(3)];
    let rpm = [3600.0, 5400.0, 7200.0, 15000.0][draw.index(4)];
    let split = draw.between(1, cylinders - 1);
    let inner = sectors.div_ceil(2);
    let zone = |from: u32, to: u32, sectors: u32| {
        json!({ "first_cylinder": from, "last_cylinder": to, "sectors_per_track": sectors,
                "track_skew": 3, "cylinder_skew": 5 })
    };
    let zones = json!([zone(0, split - 1, sectors), zone(split, cylinders - 1, inner)]);
    let geometry = json!({
        "rotation_speed": format!("{rpm} rpm"), "surfaces": surfaces, "cylinders": cylinders,
        "sector_size": format!("{sector} B"), "zones": zones,
    });
    let seek = json!({ "model": "linear", "single": "1 ms", "full": "9 ms", "cylinders": cylinders });
    let basic = edits([("drive/name", json!("made-up")), ("drive/geometry", geometry), ("drive/seek", seek)]);
    draw.need(scope, "drive", basic);
    let count = drive_count(draw);
    draw.need(scope, "count", edits([("count", json!(count))]));
    if layout.name() != "cylinder-major" {
        let mut keys = inside("drive/geometry", &example(layout.example()));
        keys.push(("drive/geometry/layout".into(), json!(layout.name())));
        draw.add(scope, format!("layout {}", layout.name()), keys);
    }
    if draw.chance(0.5) {
        let model = &models.seek[draw.index(models.seek.len())];
        let mut table = example(model.example());
        table["model"] = json!(model.name());
        if !table["cylinders"].is_null() {
            table["cylinders"] = json!(cylinders);
        }
        draw.add(scope, format!("seek {}", model.name()), edits([("drive/seek", table)]));
    }
    if draw.chance(0.2) {
        let head_switch = draw.time(1e-5, 2e-3);
        draw.add(scope, "switch", edits([("drive/positioning/head_switch", head_switch)]));
    }
    power_of_made_up(draw, scope);
    let per_cylinder = u64::from(surfaces) * u64::from(inner);
    let blocks = u64::from(cylinders) * per_cylinder * sector / 512;
    System {
        count,
        blocks,
        largest: blocks,
        sector,
        surfaces,
        rpm,
        stacks: 1,
        arms: 1,
        conditions: Condition::LOW.map(Condition::name).to_vec(),
        layers: Vec::new(),
    }
}

/// Power with all conditions, which are entered and left within milliseconds to seconds.
fn power_of_made_up(draw: &mut Draw, scope: Scope) {
    let mut power = json!({
        "model": "modes", "spindle": "4 W", "electronics": "2 W", "voice_coil": "3 W", "access": "1.5 W",
        "idle_a": "2.4 W", "idle_b": "2 W", "idle_c": "1.5 W", "standby": "0.8 W",
        "spin_up": "100 W", "spin_up_time": "2 s",
    });
    let mut table = json!({});
    for condition in Condition::LOW {
        let (enter, recovery) = (draw.time(1e-4, 3.0), draw.time(1e-4, 5.0));
        table[condition.name()] = json!({ "enter_time": enter, "recovery_time": recovery });
    }
    power["conditions"] = table;
    draw.add(scope, "power", edits([("drive/power", power)]));
    let models = Models::builtin().power;
    let model = &models[draw.index(models.len())];
    if draw.chance(0.15) {
        let mut table = example(model.example());
        table["model"] = json!(model.name());
        let name = format!("power {}", model.name());
        draw.add(scope, name, edits([("drive/power", table)]));
    }
}

fn queue(draw: &mut Draw, scope: Scope) {
    let schedulers = Models::builtin().schedulers;
    if draw.chance(0.6) {
        let scheduler = &schedulers[draw.index(schedulers.len())];
        let mut keys = edits([("scheduler", json!(scheduler.name()))]);
        if draw.chance(0.5) {
            keys.push(("scheduler_parameters".into(), example(scheduler.example())));
        }
        draw.add(scope, format!("scheduler {}", scheduler.name()), keys);
    }
    if draw.chance(0.4) {
        let depth = [0, 1, 2, 3, 8, 32, 64][draw.index(7)];
        draw.add(scope, "depth", edits([("queue_depth", json!(depth))]));
    }
    if draw.chance(0.15) {
        let counts = draw.of(&["tags", "waiting"]);
        draw.add(scope, "counts", edits([("set/queue.counts", json!(counts))]));
    }
    if draw.chance(0.2) {
        let limit = draw.time(1e-3, 2.0);
        draw.add(scope, "age limit", edits([("set/queue.age_limit", limit)]));
    }
}

fn cache(draw: &mut Draw, scope: Scope, system: &System) {
    if draw.chance(0.5) {
        let segments = draw.between(1, 32);
        let keys = edits([
            ("cache/enabled", json!(draw.chance(0.9))),
            ("cache/segments", json!(segments)),
            ("cache/segment_sectors", json!(draw.between(1, 1024))),
            ("cache/write_segments", json!(draw.between(1, segments))),
            ("cache/write_back", json!(draw.chance(0.7))),
        ]);
        draw.add(scope, "cache", keys);
    }
    if draw.chance(0.4) {
        let mut keys = edits([
            ("cache/destage", json!("idle")),
            ("cache/destage_after", draw.time(1e-5, 2.0)),
            ("cache/destage_window", json!(draw.between(1, 40))),
            ("cache/partial_wait", draw.time(1e-5, 3.0)),
        ]);
        if draw.chance(0.5) {
            let limit = draw.bytes(4096.0, 4e6, system.sector);
            keys.push(("cache/dirty_limit".into(), json!(format!("{limit} B"))));
        }
        if draw.chance(0.5) {
            keys.push(("cache/destage_age".into(), draw.time(1e-4, 10.0)));
        }
        draw.add(scope, "destage idle", keys);
    } else if draw.chance(0.2) {
        let keys = edits([("cache/destage", json!("immediate"))]);
        draw.add(scope, "destage immediate", keys);
    }
    if draw.chance(0.3) {
        let extents = ["none", "track-end", "cylinder-end", "limit", "next-track"];
        let keys = edits([
            ("cache/read_ahead", json!(draw.of(&extents))),
            ("cache/read_ahead_trigger", json!(draw.of(&["always", "sequential"]))),
            ("cache/read_ahead_sectors", json!(draw.between(0, 600))),
            ("cache/read_ahead_minimum", json!(draw.between(0, 60))),
        ]);
        draw.add(scope, "read-ahead", keys);
    }
    for flag in [
        "separate_write_segment",
        "read_ahead_on_idle_hit",
        "discard_requested",
        "keep_passing_sectors",
        "keep_whole_track",
        "read_on_arrival",
        "write_on_arrival",
        "stop_read_ahead_in_sector",
        "almost_hits",
        "read_hits_on_written",
        "append_writes",
        "watermark_of_request",
    ] {
        if draw.chance(0.06) {
            let value = json!(draw.chance(0.7));
            draw.add(scope, flag, vec![(format!("cache/{flag}"), value)]);
        }
    }
    if draw.chance(0.1) {
        let check = draw.of(&["service", "arrival"]);
        draw.add(scope, "hit check", edits([("cache/hit_check", json!(check))]));
    }
    if draw.chance(0.1) {
        let mark = json!([0.0, 0.5, 1.0][draw.index(3)]);
        draw.add(scope, "watermark", edits([("cache/read_watermark", mark)]));
    }
}

fn times(draw: &mut Draw, scope: Scope) {
    let settle = json!(format!("{:.4} ms", draw.scale(0.01, 3.0)));
    for (name, key, value) in [
        ("settle", "set/positioning.write_settle", settle),
        ("settle always", "set/positioning.settle_before_every_write", json!(true)),
        ("seek scale", "set/positioning.seek_scale", json!([0.0, 0.5, 2.0][draw.index(3)])),
        ("rotation scale", "set/positioning.rotation_scale", json!([0.0, 0.5][draw.index(2)])),
        ("minimum write", "set/positioning.minimum_write", draw.time(1e-4, 1e-2)),
        ("minimum read", "set/positioning.minimum_read_after_write", draw.time(1e-4, 1e-2)),
        ("per request", "set/overhead.per_request", draw.time(1e-6, 1e-2)),
        ("write hit", "set/overhead.write_hit.after_read", draw.time(1e-6, 1e-2)),
        ("read hit", "set/overhead.read_hit.after_write", draw.time(1e-6, 1e-2)),
        ("completion", "set/overhead.write_completion", draw.time(1e-6, 1e-2)),
        ("connected", "set/link.never_disconnect", json!(true)),
    ] {
        if draw.chance(0.05) {
            draw.add(scope, name, vec![(key.to_string(), value)]);
        }
    }
}

/// The largest drive with a log, in bytes.
const MOST_OF_LOG: f64 = 160e9;
/// The largest drive whose medium is scanned, in bytes.
const MOST_OF_SCAN: f64 = 1e12;

/// Where written blocks go.
fn mapping(draw: &mut Draw, scope: Scope, system: &System) {
    if !draw.chance(0.35) {
        return;
    }
    let (name, _) = MODELS[draw.index(MODELS.len())];
    let mut keys = vec![("set/mapping/model".to_string(), json!(name))];
    let bytes = system.blocks as f64 * 512.0;
    // The tables of a log on a large drive take too long for a test.
    if name == "log" && system.largest as f64 * 512.0 > MOST_OF_LOG {
        return;
    }
    match name {
        "log" => log(draw, &mut keys, system),
        "media-cache" => {
            let band = draw.bytes(65536.0, 1e7, system.sector);
            let cache = draw.bytes((1 << 20) as f64, bytes.min(1e12) / 2.5, system.sector);
            keys.extend(edits([
                ("set/mapping/cache_size", json!(format!("{} B", cache.max(1 << 20)))),
                ("set/mapping/band_size", json!(format!("{} B", band.max(65536)))),
                ("set/mapping/cache_extents", json!([0, 8, 100][draw.index(3)])),
                ("set/mapping/cleaning", json!(draw.of(&["aggressive", "lazy"]))),
                ("set/mapping/clean_after", draw.time(1e-4, 3.0)),
                ("set/mapping/initial", json!(draw.of(&["empty", "full"]))),
            ]));
        }
        "zoned" => {
            // At most some ten thousand zones.
            let least = (system.largest / 100).next_power_of_two().ilog2();
            let zone = 1u64 << draw.between(least.clamp(16, 38), 38);
            keys.extend(edits([
                ("set/mapping/zone_size", json!(format!("{zone} B"))),
                ("set/mapping/max_open_zones", json!([0, 1, 128][draw.index(3)])),
                ("set/mapping/unrestricted_reads", json!(draw.chance(0.5))),
                ("set/mapping/initial", json!(draw.of(&["empty", "full"]))),
            ]));
            if draw.chance(0.6) {
                let share = [0.0, 0.3, 0.9][draw.index(3)];
                let zones = (bytes / zone as f64 * share) as u64;
                keys.push(("set/mapping/conventional_zones".into(), json!(zones)));
            }
        }
        _ => {}
    }
    draw.add(scope, format!("mapping {name}"), keys);
}

/// The map of a log has at most about a million blocks.
fn log(draw: &mut Draw, keys: &mut Vec<(String, Value)>, system: &System) {
    let models = Models::builtin();
    let least = (system.blocks * 512).div_ceil(1 << 20).max(system.sector);
    let block = least.next_power_of_two() << draw.between(0, 3);
    let block = block.clamp(system.sector, 16 << 20);
    let policy = &models.policies[draw.index(models.policies.len())];
    let capacity = system.blocks * 512 / block.max(1);
    keys.extend(edits([
        ("set/mapping/block", json!(format!("{block} B"))),
        ("set/mapping/policy", json!(policy.name())),
        ("set/mapping/reserve", json!([0.0, 0.05, 0.3, 0.6][draw.index(4)])),
    ]));
    if draw.chance(0.5) {
        keys.push(("set/mapping/policy_parameters".into(), example(policy.example())));
    }
    if draw.chance(0.5) {
        let most = (capacity as f64 * 0.9).clamp(2.0, 50_000.0);
        let blocks = draw.scale(1.0, most) as u64;
        keys.extend(edits([
            ("set/mapping/initial_blocks", json!(blocks)),
            ("set/mapping/initial", json!(draw.of(&["in-order", "spread", "written"]))),
        ]));
    }
    if draw.chance(0.5) {
        let cleaner = &models.cleaning[draw.index(models.cleaning.len())];
        let low = [0.1, 0.5, 0.9][draw.index(3)];
        let cleaning = json!({
            "policy": cleaner.name(), "policy_parameters": example(cleaner.example()),
            "low": low, "high": low + 0.05, "pressed": low * [0.0, 0.5, 1.0][draw.index(3)],
            "moves": draw.between(1, 20), "idle_after": draw.time(1e-5, 0.5),
        });
        keys.push(("set/mapping/cleaning".into(), cleaning));
    }
    if draw.chance(0.4) {
        let model = draw.of(&["headers", "checkpoint"]);
        let recovery = json!({ "model": model, "every": draw.between(1, 200) });
        keys.push(("set/mapping/recovery".into(), recovery));
    }
}

/// The degrees of parallelism, what belongs to them, and a scan of the medium.
fn dash(draw: &mut Draw, scope: Scope, system: &mut System) {
    let add = |draw: &mut Draw, key: &str, value: Value| {
        let path = format!("set/parallelism.{key}");
        draw.add(scope, key.replace('_', " "), vec![(path, value)]);
    };
    if draw.chance(0.35) {
        let [stacks, arms, surfaces, heads] =
            [[1, 1, 1, 2], [1, 2, 2, 4], [1, 1, 1, 2], [1, 1, 1, 2]].map(|of| of[draw.index(4)]);
        (system.stacks, system.arms) = (stacks, arms);
        let dash = format!("D{stacks}A{arms}S{surfaces}H{heads}");
        draw.add(scope, dash.clone(), edits([("dash", json!(dash))]));
    }
    let arms = system.arms;
    if arms > 1 {
        for (key, value) in [
            ("arms_in_motion", json!(draw.between(0, arms))),
            ("channels", json!(draw.between(0, arms))),
            ("arm_choice", json!(draw.of(&["positioning", "rotation", "seek"]))),
            ("parking", json!("follow")),
            ("arm_share", json!("own-share")),
            ("logical_units", json!(true)),
        ] {
            let shares = matches!(key, "arm_share" | "logical_units");
            if draw.chance(0.35) && (!shares || system.surfaces % arms == 0) {
                add(draw, key, value);
            }
        }
        if draw.chance(0.4) {
            let roles = roles(draw, arms);
            add(draw, "roles", roles);
        }
    }
    if draw.chance(0.1) {
        add(draw, "heads", json!("radial"));
    }
    if system.stacks > 1 && draw.chance(0.5) {
        let unit = draw.bytes(512.0, 1e6, 512);
        add(draw, "stack_unit", json!(format!("{unit} B")));
    }
    if draw.chance(0.12) {
        let mut faults = Vec::new();
        for _ in 0..draw.between(1, 3) {
            let mut fault = part(draw, system);
            let (key, time) = match draw.chance(0.7) {
                true => ("at", draw.time(1e-3, 20.0)),
                false => ("mean_time_to_failure", draw.time(0.1, 100.0)),
            };
            fault[key] = time;
            faults.push(fault);
        }
        add(draw, "faults", json!(faults));
        let recovery = draw.time(1e-3, 2.0);
        add(draw, "fault_recovery", recovery);
    }
}

/// A scan of the medium, on a drive that can have one.
fn scan(draw: &mut Draw, scope: Scope, system: &mut System) {
    // A scan has a table of its blocks.
    if system.largest as f64 * 512.0 > MOST_OF_SCAN {
        return;
    }
    let mut keys = match draw.chance(0.5) {
        true => edits([("set/media_scan.mode", json!("freeblock"))]),
        false => {
            system.arms = 2;
            edits([("set/media_scan.mode", json!("own-arm")), ("dash", json!("D1A2S1H1"))])
        }
    };
    let sectors = u64::from(draw.between(1, 20));
    let block = format!("{} B", sectors * system.sector);
    keys.push(("set/media_scan.block".into(), json!(block)));
    draw.add(scope, "media scan", keys);
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

/// What the arms serve: a table, or a policy of the registry.
fn roles(draw: &mut Draw, arms: u32) -> Value {
    if draw.chance(0.5) {
        let mut table = vec![json!(["read"]); arms as usize];
        table[0] = json!(["write"]);
        if draw.chance(0.5) {
            table[1] = json!(["read", "write"]);
        }
        return json!(table);
    }
    let policies = Models::builtin().roles;
    let policy = &policies[draw.index(policies.len())];
    let mut table = example(policy.example());
    table["policy"] = json!(policy.name());
    if !table["dwell"].is_null() {
        table["dwell"] = json!(draw.between(0, 30));
        table["window"] = json!(draw.between(1, 20));
    }
    table
}

fn power(draw: &mut Draw, scope: Scope, system: &System) {
    for condition in &system.conditions {
        if draw.chance(0.25) {
            let key = format!("set/power.conditions.{condition}.timer");
            let timer = draw.time(1e-4, 30.0);
            draw.add(scope, format!("timer of {condition}"), vec![(key, timer)]);
        }
    }
}

fn organisation(draw: &mut Draw, scope: Scope) {
    if !draw.chance(0.6) {
        return;
    }
    let entries = organisation::entries();
    let names: Vec<&str> = entries.names().collect();
    let name = names[draw.index(names.len())];
    let mut keys = edits([("organisation/name", json!(name))]);
    if name == "raid0" && draw.chance(0.7) {
        let unit = draw.bytes(4096.0, 1e6, 4096);
        keys.push(("organisation/stripe_unit".into(), json!(format!("{unit} B"))));
    }
    draw.add(scope, format!("organisation {name}"), keys);
}
