//! Workloads: open, closed, jobs, and traces with flushes and forced unit access.

use super::{edits, Draw};
use crate::random::case::{Scope, TRACE};
use serde_json::{json, Map, Value};
use std::fmt::Write;

/// Draws workload `w` for drives of `blocks` 512-byte blocks.
pub fn draw(draw: &mut Draw, w: usize, blocks: u64, trace: &mut Option<String>) {
    let scope = Scope::Workload(w);
    let name = edits([("name", json!(format!("w{w}")))]);
    draw.need(scope, "name", name);
    let footprint = footprint(draw, blocks);
    match draw.index(10) {
        0..=3 => open(draw, scope, footprint),
        4..=5 => closed(draw, scope, footprint),
        6..=7 => jobs(draw, scope, footprint),
        _ if trace.is_none() => {
            *trace = Some(text(draw, footprint / 512));
            draw.need(scope, "trace", edits([("trace", json!(TRACE))]));
            arrivals(draw, scope);
        }
        _ => open(draw, scope, footprint),
    }
    if draw.chance(0.15) {
        let warm_up = match draw.chance(0.5) {
            true => json!(draw.between(1, 50)),
            false => draw.time(1e-3, 10.0),
        };
        draw.add(scope, "warm-up", edits([("warm_up", warm_up)]));
    }
    if draw.chance(0.25) {
        let past_end = draw.of(&["error", "wrap", "drop-counted"]);
        draw.add(scope, "past_end", edits([("past_end", json!(past_end))]));
    }
    if draw.chance(0.1) {
        let factor = draw.scale(0.1, 10.0);
        draw.add(scope, "time_scale", edits([("time_scale", json!(factor))]));
    }
    if draw.chance(0.05) {
        let skip = draw.between(1, 40);
        draw.add(scope, "skip", edits([("skip", json!(skip))]));
    }
}

/// The part of the space that is used, in bytes: nearly always less than one drive.
fn footprint(draw: &mut Draw, blocks: u64) -> u64 {
    let whole = blocks as f64 * 512.0;
    let most = whole * if draw.chance(0.06) { 1.3 } else { 0.95 };
    draw.bytes(1e6_f64.min(most), most, 4096).max(65536)
}

/// The keys that synthetic workloads and jobs have in common.
fn requests(draw: &mut Draw, footprint: u64) -> Map<String, Value> {
    let mut table = Map::new();
    let mut set = |key: &str, value: Value| {
        table.insert(key.into(), value);
    };
    set("footprint", json!(format!("{footprint} B")));
    set("reads", json!([0.0, 0.3, 0.66, 1.0][draw.index(4)]));
    if draw.chance(0.3) {
        set("write_through", json!([0.1, 1.0][draw.index(2)]));
    }
    if draw.chance(0.4) {
        set("sequential", json!([0.1, 0.5, 0.9, 1.0][draw.index(4)]));
    } else if draw.chance(0.2) {
        set("local", json!(0.7));
    }
    let block = 512u64 << draw.between(0, 5);
    set("block", json!(format!("{block} B")));
    let most = (footprint / 4).clamp(block, 1 << 20);
    let size = draw.bytes(block as f64, most as f64, block);
    let spread = json!({ "distribution": "uniform", "min": format!("{block} B"), "max": format!("{size} B") });
    set(
        "size",
        match draw.chance(0.3) {
            true => spread,
            false => json!(format!("{size} B")),
        },
    );
    if draw.chance(0.15) {
        set("zipf", json!(0.9));
    }
    table
}

fn count(draw: &mut Draw) -> u32 {
    draw.scale(10.0, 400.0) as u32
}

fn rate(draw: &mut Draw) -> Value {
    json!(format!("{:.6}/s", draw.scale(0.2, 3000.0)))
}

fn open(draw: &mut Draw, scope: Scope, footprint: u64) {
    let mut table = requests(draw, footprint);
    table.insert("n_requests".into(), json!(count(draw)));
    table.insert("rate".into(), rate(draw));
    if draw.chance(0.3) {
        let arrivals = draw.of(&["constant", "uniform"]);
        table.insert("arrivals".into(), json!(arrivals));
    }
    draw.need(scope, "open", edits([("synthetic", table.into())]));
    if draw.chance(0.2) {
        let duration = draw.time(0.01, 2.0);
        let phase = json!({ "duration": duration, "reads": 0.0, "rate": rate(draw) });
        let calm = json!({ "duration": "0.5 s", "rate": "0.1/s" });
        let phases = json!([phase, calm]);
        draw.add(scope, "phases", edits([("synthetic/phases", phases)]));
    }
    if draw.chance(0.2) {
        let devices = draw.between(2, 3);
        let devices = edits([("synthetic/devices", json!(devices))]);
        draw.add(scope, "devices", devices);
    }
    arrivals(draw, scope);
}

/// A closed loop around requests that have times of their own.
fn arrivals(draw: &mut Draw, scope: Scope) {
    if draw.chance(0.2) {
        let mut closed = json!({ "outstanding": draw.between(1, 40) });
        if draw.chance(0.6) {
            closed["think_time"] = draw.time(1e-4, 5.0);
        }
        let closed = json!({ "closed": closed });
        draw.add(scope, "closed loop", edits([("arrivals", closed)]));
    }
}

fn closed(draw: &mut Draw, scope: Scope, footprint: u64) {
    let mut table = requests(draw, footprint);
    table.insert("n_requests".into(), json!(count(draw)));
    table.insert("arrivals".into(), json!("closed"));
    table.insert("outstanding".into(), json!(draw.between(1, 64)));
    draw.need(scope, "closed", edits([("synthetic", table.into())]));
    if draw.chance(0.6) {
        let think = draw.time(1e-5, 5.0);
        draw.add(scope, "think", edits([("synthetic/think", think)]));
    }
}

fn jobs(draw: &mut Draw, scope: Scope, footprint: u64) {
    for _ in 0..draw.between(1, 3) {
        let mut job = json!({ "requests": requests(draw, footprint) });
        let threads = draw.between(1, 16);
        job["threads"] = json!(threads);
        let duration = draw.scale(0.01, 10.0);
        job["duration"] = json!(format!("{duration:.6} s"));
        // About 300 requests at most.
        let pause = duration * f64::from(threads) / 300.0;
        job["think_time"] = json!(format!("{pause:.9} s"));
        if draw.chance(0.3) {
            job["rate"] = json!(format!("{:.6}/s", 1.0 / pause.max(1e-6)));
            job["together"] = json!(draw.chance(0.5));
        }
        if draw.chance(0.3) {
            job["start"] = draw.time(1e-3, 20.0);
        }
        if draw.chance(0.3) {
            job["bursts"] = json!(draw.between(2, 3));
            job["every"] = draw.time(duration, 10.0 * duration);
        }
        if draw.chance(0.2) {
            let volume = draw.bytes(1e5, 1e7, 512);
            job["volume"] = json!(format!("{volume} B"));
        }
        draw.need(scope, "job", edits([("jobs/+", job)]));
    }
}

/// A trace in our own format.
fn text(draw: &mut Draw, blocks: u64) -> String {
    let mut text = "time_ns,device,op,lba,blocks\n".to_string();
    let (mut time, mut next) = (0, 0);
    let gap = draw.scale(1e-4, 3.0);
    for _ in 0..count(draw) {
        time += (draw.scale(gap / 30.0, gap * 3.0) * 1e9) as u64;
        let (op, size) = match draw.index(20) {
            0..=7 => ("R", draw.between(1, 512)),
            8..=15 => ("W", draw.between(1, 512)),
            16..=17 => ("write-through", draw.between(1, 64)),
            _ => ("F", 0),
        };
        let lba = match draw.chance(0.3) {
            true => next,
            false => draw.random.below(blocks.max(1)),
        };
        next = lba + u64::from(size);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{time},0,{op},{lba},{size}");
    }
    text
}
