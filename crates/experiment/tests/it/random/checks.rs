//! What holds for every run.

use crate::random::log::{self, Row};
use crate::random::trial::Finding;
use headstack_experiment::result::{DriveResult, PowerByMode};
use headstack_experiment::{RunResult, SystemResult};
use headstack_units::Frequency;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

type Checked = Result<(), Finding>;

/// Fails with a text if a condition does not hold.
macro_rules! need {
    ($check:expr, $condition:expr, $($text:tt)+) => {
        let holds: bool = $condition;
        if !holds {
            return Err(Finding::new($check, format!($($text)+)));
        }
    };
}

/// Relative difference that sums of rounded numbers may have.
const ROUNDING: f64 = 1e-6;

/// Whether two numbers are equal but for rounding; `scale` is the size of the numbers that were added up.
fn near(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= ROUNDING * scale.abs().max(1e-6)
}

/// All checks of one result and its files in `out`.
pub fn all(result: &RunResult, out: &Path) -> Checked {
    let named = |key: &str, name: &str| {
        let tables = result.experiment[key].as_array().into_iter().flatten();
        tables.into_iter().find(|t| t["name"] == name).cloned().unwrap_or_default()
    };
    for system in &result.systems {
        let place = |e: Finding| Finding { text: format!("{} on {}: {}", system.name, system.workload, e.text), ..e };
        let (described, workload) = (named("system", &system.name), named("workload", &system.workload));
        one(system, &described, workload["warm_up"] != 0, out).map_err(place)?;
    }
    Ok(())
}

fn one(system: &SystemResult, described: &Value, warms_up: bool, out: &Path) -> Checked {
    let file = |name: &Option<String>| out.join(name.as_deref().unwrap_or_default());
    let rows = log::requests(&file(&system.requests_file));
    need!("whole run", !system.partial, "partial");
    each_request(system, &rows)?;
    means(system, &rows)?;
    operations(system, &rows)?;
    littles_law(system, &rows)?;
    throttles(system, described)?;
    if !warms_up {
        layers(system, &rows)?;
    }
    for drive in &system.drives {
        let place = |e: Finding| Finding { text: format!("{}: {}", drive.name, e.text), ..e };
        let mut layers = system.layers.iter();
        let redundant = layers.any(|l| l.counts.contains_key("members_lost"));
        states(drive, system.duration_s, redundant).map_err(place)?;
    }
    energies(system)?;
    series(system, &file(&system.series_file))?;
    capping(system, out)
}

/// Every request ends once, with a kind of error if it failed, not before it came, and its shares add up.
fn each_request(system: &SystemResult, rows: &[Row]) -> Checked {
    need!(
        "every request ends once",
        rows.len() as u64 == system.n_requests,
        "{} rows for {} requests",
        rows.len(),
        system.n_requests
    );
    let ids: BTreeSet<u64> = rows.iter().map(|r| r.id).collect();
    need!("every request ends once", ids.len() == rows.len(), "ids repeat");
    if let (Some(first), Some(last)) = (ids.first(), ids.last()) {
        let missing = last - first + 1 - ids.len() as u64;
        need!(
            "every request ends once",
            missing <= system.n_dropped,
            "{missing} of the ids {first} to {last} are missing, {} dropped",
            system.n_dropped
        );
    }
    for row in rows {
        need!("no completion before its arrival", row.completion_ns >= row.arrival_ns, "{row:?}");
        let response = row.completion_ns - row.arrival_ns;
        need!("shares add up", row.shares_ns.iter().sum::<u64>() == response, "{row:?}: response {response} ns");
        need!("parts of the queue add up", row.queue_ns.iter().sum::<u64>() == row.shares_ns[0], "{row:?}");
        let has_kind = row.error_kind.is_some();
        need!("errors have a kind", row.error == has_kind, "{row:?}");
    }
    let errors = rows.iter().filter(|r| r.error).count() as u64;
    need!("errors are counted", errors == system.n_errors, "{errors} rows for {} errors", system.n_errors);
    Ok(())
}

/// Means and counts are those of the log.
fn means(system: &SystemResult, rows: &[Row]) -> Checked {
    let done: Vec<&Row> = rows.iter().filter(|r| !r.error).collect();
    if done.is_empty() {
        return Ok(());
    }
    let n = done.len() as f64;
    let seconds = |r: &&Row| (r.completion_ns - r.arrival_ns) as f64 * 1e-9;
    let mean = done.iter().map(seconds).sum::<f64>() / n;
    let stated = system.response_time_s.mean;
    need!("mean of the log", near(mean, stated, mean), "{mean} s in the log, {stated} s stated");
    let c = &system.components_s;
    let q = &system.queue_parts_s;
    let stated = [c.queue, c.overhead, c.seek, c.rotation, c.transfer, c.bus];
    let stated = [&stated[..], &[q.place, q.elevator, q.array, q.drive]].concat();
    for (i, stated) in stated.into_iter().enumerate() {
        let of = |r: &Row| *r.shares_ns.iter().chain(&r.queue_ns).nth(i).expect("a share");
        let share = done.iter().map(|r| of(r) as f64 * 1e-9).sum::<f64>() / n;
        need!("mean shares", near(share, stated, mean), "share {i}: {share} s, {stated} s stated");
    }
    let longest = done.iter().map(seconds).fold(0.0, f64::max);
    let stated = system.response_time_s.max;
    // A histogram has three significant figures.
    let close = match system.quantile_method {
        "exact" => near(longest, stated, longest),
        _ => (longest - stated).abs() <= 2e-3 * longest + 1e-9,
    };
    need!("longest of the log", close, "{longest} s in the log, {stated} s stated");
    let hits = done.iter().filter(|r| r.cache_hit).count() as f64 / n;
    let stated = system.shares.cache_hit_ratio;
    need!("hits of the log", near(hits, stated, 1.0), "{hits} in the log, {stated} stated");
    if system.duration_s > 0.0 {
        let bytes = done.iter().map(|r| f64::from(r.blocks) * 512.0).sum::<f64>();
        for (name, counted, stated) in
            [("requests", n, system.throughput_iops), ("bytes", bytes, system.throughput_bytes_per_s)]
        {
            let stated = stated * system.duration_s;
            need!("throughput", near(counted, stated, counted), "{counted} {name}, {stated} stated");
        }
    }
    Ok(())
}

/// The operations add up to the requests, in the numbers of the log.
fn operations(system: &SystemResult, rows: &[Row]) -> Checked {
    let sum: u64 = system.operations.values().map(|o| o.n_requests).sum();
    need!("operations add up", sum == system.n_requests, "{sum} of {}", system.n_requests);
    for (name, operation) in &system.operations {
        let of = |r: &&Row| match r.op.as_str() {
            "write-through" => *name == "write",
            op => op == *name,
        };
        let n = rows.iter().filter(of).count() as u64;
        need!(
            "operations of the log",
            n == operation.n_requests,
            "{name}: {n} in the log, {} stated",
            operation.n_requests
        );
    }
    Ok(())
}

/// The mean number of requests in the system, found by counting them over time, is the stated one. If none failed, it
/// is the rate times the mean response time (Little's law).
fn littles_law(system: &SystemResult, rows: &[Row]) -> Checked {
    if system.duration_s <= 0.0 {
        return Ok(());
    }
    let mut events: Vec<(u64, i64)> = Vec::with_capacity(2 * rows.len());
    for row in rows {
        events.push((row.arrival_ns, 1));
        events.push((row.completion_ns, -1));
    }
    events.sort_unstable();
    let (mut inside, mut before, mut area) = (0i64, 0, 0.0);
    for (time, change) in events {
        area += inside as f64 * (time - before) as f64 * 1e-9;
        (inside, before) = (inside + change, time);
    }
    let counted = area / system.duration_s;
    let stated = system.queue_depth_mean;
    need!("Little's law", near(counted, stated, counted), "{counted} in the system, {stated} stated");
    if system.n_errors > 0 {
        // The rate and the mean response time are those of the others.
        return Ok(());
    }
    let product = system.throughput_iops * system.response_time_s.mean;
    need!("Little's law", near(product, stated, stated), "{product} by the law, {stated} stated");
    Ok(())
}

/// No throttle has passed more requests than the highest of its limits lets pass in that time, but the first one.
fn throttles(system: &SystemResult, described: &Value) -> Checked {
    let named = |t: &&Value| t["name"] == "throttle";
    let tables = described["layers"].as_array().into_iter().flatten().filter(named);
    let changes = || described["change"].as_array().into_iter().flatten();
    let of = |value: &Value| serde_json::from_value::<Frequency>(value.clone()).ok().map(|f| f.0);
    let changed = changes().filter_map(|c| of(&c["iops_limit"])).fold(0.0, f64::max);
    for (table, layer) in tables.zip(system.layers.iter().filter(|l| l.layer == "throttle")) {
        // A controller sets limits of its own; requests of all sizes pass within a bandwidth.
        if let (Some(rate), None) = (of(&table["iops"]), &system.capping) {
            let most = layer.instances as f64 * (rate.max(changed) * system.duration_s * (1.0 + ROUNDING) + 1.0);
            let n = layer.n_requests - layer.n_errors;
            need!("a throttle's limit", n as f64 <= most, "{n} passed, {most} may");
        }
    }
    Ok(())
}

/// Without a warm-up and errors: what a layer has given to the one below is what that has had, but for flushes and rebuilds
/// that go on at the end; and no request waits in drives for longer than the longest request there takes.
fn layers(system: &SystemResult, rows: &[Row]) -> Checked {
    if system.layers.iter().any(|l| l.n_errors > 0) {
        return Ok(());
    }
    let all_ends = system.changes.is_none() && rows.iter().all(|r| r.op != "flush");
    for pair in system.layers.windows(2).filter(|_| all_ends) {
        let count = |name: &str| pair[0].counts.get(name).copied().unwrap_or(0);
        let given = match pair[0].layer.as_str() {
            "raid1" | "raid5" | "raid10" => count("member_reads") + count("member_writes"),
            "host-queue" => count("dispatched"),
            "throttle" | "link" => pair[0].n_requests,
            _ => continue,
        };
        need!("members have what a layer gave", given == pair[1].n_requests, "{given} given: {pair:?}");
    }
    // What is read once more, because a member left, waits in drives twice.
    let retried = system.layers.iter().any(|l| l.counts.get("retried").is_some_and(|n| *n > 0));
    let longest_s = system.layers.last().map_or(f64::INFINITY, |drives| drives.longest_s);
    for row in rows.iter().filter(|_| !retried) {
        let waits_s = row.queue_ns[3] as f64 * 1e-9;
        need!("waits of layers are theirs", waits_s <= longest_s + 1e-9, "{longest_s} s at drives: {row:?}");
    }
    Ok(())
}

/// No state of a drive is negative, and they add up to the run, but for the time in which a member was out of a volume;
/// energies follow.
fn states(drive: &DriveResult, duration_s: f64, redundant: bool) -> Checked {
    let t = &drive.time_s;
    let times = [t.idle, t.seek, t.rotation, t.transfer, t.standby];
    need!("no negative state", times.iter().all(|t| *t >= 0.0), "{times:?} s");
    let sum: f64 = times.iter().sum();
    need!(
        "states add up to the run",
        near(sum, duration_s, duration_s) || redundant && sum < duration_s,
        "{sum} s of {duration_s} s: {times:?}"
    );
    need!("no negative energy", drive.energy_j >= 0.0, "{} J", drive.energy_j);
    powers(&drive.power_w, drive.energy_j, duration_s)?;
    for share in [drive.utilisation, drive.utilisation_background] {
        need!("utilisation is a share", (0.0..=1.0).contains(&share), "{share}");
    }
    let works = drive.background.each();
    let (mut time, mut energy) = (0.0, 0.0);
    for work in works {
        let is_sane = work.time_s >= 0.0 && work.energy_j >= 0.0;
        need!("no negative background work", is_sane, "{works:?}");
        time += work.time_s;
        energy += work.energy_j;
    }
    let active = t.seek + t.rotation + t.transfer;
    need!("background is a part", time <= active * (1.0 + ROUNDING) + 1e-9, "{time} s of {active} s active");
    need!(
        "background is a part",
        energy <= drive.energy_j * (1.0 + ROUNDING) + 1e-9,
        "{energy} J of {} J",
        drive.energy_j
    );
    if let Some(conditions) = &drive.power_conditions {
        for (name, share) in conditions.named() {
            let is_sane = share.time_s >= 0.0 && share.energy_j >= 0.0;
            need!("no negative condition", is_sane, "{name}: {share:?}");
        }
        let (low, standby) = (conditions.low_idle(), conditions.all_standby());
        let is_inside = low.time_s <= t.idle * (1.0 + ROUNDING) + 1e-9;
        need!("conditions are a part of idle", is_inside, "{low:?} in {} s idle", t.idle);
        let is_all = near(standby.time_s, t.standby, duration_s);
        need!("standby has its parts", is_all, "{standby:?}, {} s standby", t.standby);
    }
    Ok(())
}

/// No power is negative; the modes add up to the mean, and this times the duration is the energy.
fn powers(power: &PowerByMode, energy_j: f64, duration_s: f64) -> Checked {
    if duration_s <= 0.0 {
        return Ok(());
    }
    let m = &power.modes;
    let modes = [m.idle, m.seek, m.rotation, m.transfer, m.standby];
    need!("no negative power", modes.iter().all(|w| *w >= 0.0), "{power:?}");
    let sum: f64 = modes.iter().sum();
    need!("modes add up", near(sum, power.mean, power.mean), "{sum} W: {power:?}");
    let product = power.mean * duration_s;
    need!("power times duration", near(product, energy_j, energy_j), "{product} J, {energy_j} J stated");
    Ok(())
}

/// Energies of the drives add up to the system's.
fn energies(system: &SystemResult) -> Checked {
    powers(&system.power_w, system.energy_j, system.duration_s)?;
    let sum: f64 = system.drives.iter().map(|d| d.energy_j).sum();
    need!("drives add up to the system", near(sum, system.energy_j, sum), "{sum} J, {} J stated", system.energy_j);
    Ok(())
}

/// The samples of the series add up to the whole: energy by mode, completions, and requests in the system.
fn series(system: &SystemResult, file: &Path) -> Checked {
    let table = log::numbers(file);
    let column = |name: &str| table[name].clone();
    let widths = column("width_s");
    let integral = |name: &str| -> f64 {
        let values = column(name);
        values.iter().zip(&widths).map(|(v, w)| v * w).sum()
    };
    let p = &system.power_w;
    for (name, mean) in [
        ("power_w", p.mean),
        ("power_idle_w", p.modes.idle),
        ("power_seek_w", p.modes.seek),
        ("power_rotation_w", p.modes.rotation),
        ("power_transfer_w", p.modes.transfer),
        ("power_standby_w", p.modes.standby),
    ] {
        // A mode that ends where a sample does may differ by the rounding of a difference.
        let least = match p.mean.is_finite() {
            true => -ROUNDING * p.mean,
            false => 0.0,
        };
        let lowest = column(name).into_iter().fold(f64::INFINITY, f64::min);
        need!("no negative sample", lowest >= least, "{name}: {lowest} W");
        if system.duration_s > 0.0 {
            let (sum, stated) = (integral(name), mean * system.duration_s);
            need!("samples add up", near(sum, stated, system.energy_j), "{name}: {sum} J, {stated} J stated");
        }
    }
    if system.duration_s > 0.0 {
        let done = (system.n_requests - system.n_errors) as f64;
        let sum = integral("throughput_iops");
        need!("completions of samples", near(sum, done, done), "{sum} of {done}");
        let stated = system.queue_depth_mean * system.duration_s;
        let sum = integral("queue_depth");
        need!("queues of samples", near(sum, stated, stated), "{sum} s, {stated} s stated");
    }
    Ok(())
}

/// The intervals of the meter: no power is negative, and the drives add up to the meter.
fn capping(system: &SystemResult, out: &Path) -> Checked {
    let Some(capping) = &system.capping else {
        return Ok(());
    };
    let file = |name: &Option<String>| out.join(name.as_deref().unwrap_or_default());
    let meter = log::numbers(&file(&capping.series_file));
    let drives = log::numbers(&file(&capping.drives_file));
    let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
    for values in [&meter["power_w"], &drives["power_w"]] {
        let lowest = least(values);
        need!("no negative power under a cap", lowest >= 0.0, "{lowest} W");
    }
    need!("intervals have a length", least(&meter["width_s"]) >= 0.0, "{:?}", meter["width_s"]);
    let n = system.drives.len();
    let behind: Vec<f64> = drives["power_w"].chunks(n).map(|all| all.iter().sum()).collect();
    need!("a row for each drive", behind.len() == meter["power_w"].len(), "{} rows", behind.len());
    let efficiency = behind.iter().zip(&meter["power_w"]).map(|(d, m)| d / m);
    let efficiencies: Vec<f64> = efficiency.filter(|e| e.is_finite()).collect();
    let (low, high) = efficiencies.iter().fold((f64::INFINITY, 0.0), |(low, high), e| (e.min(low), e.max(high)));
    let is_constant = efficiencies.is_empty() || near(low, high, high);
    need!("drives add up to the meter", is_constant, "efficiency from {low} to {high}");
    Ok(())
}

/// A warm-up changes what is counted, not what happens: each request ends as in the run without one, and the meter of a
/// capped system reads the same.
pub fn warmed((warm, out): (&RunResult, &Path), (cold, out_cold): (&RunResult, &Path)) -> Checked {
    for (warm, cold) in warm.systems.iter().zip(&cold.systems) {
        let rows =
            |s: &SystemResult, out: &Path| log::requests(&out.join(s.requests_file.as_deref().unwrap_or_default()));
        let all: BTreeMap<u64, Row> = rows(cold, out_cold).into_iter().map(|row| (row.id, row)).collect();
        for row in rows(warm, out) {
            let same = all.get(&row.id).is_some_and(|other| *other == row);
            need!("a warm-up changes no request", same, "{row:?}, without {:?}", all.get(&row.id));
        }
        let power = |s: &SystemResult, out: &Path| {
            let file = s.capping.as_ref().and_then(|c| c.series_file.as_deref());
            file.map_or_else(Vec::new, |file| log::numbers(&out.join(file))["power_w"].clone())
        };
        for (i, (a, b)) in power(warm, out).into_iter().zip(power(cold, out_cold)).enumerate() {
            need!("a warm-up changes no reading", near(a, b, b), "reading {i}: {a} W, without {b} W");
        }
    }
    Ok(())
}

/// Both runs have the same result, except for the file of the log.
pub fn same(a: &RunResult, b: &RunResult) -> Checked {
    let json = |r: &RunResult| {
        let mut r = r.clone();
        r.systems.iter_mut().for_each(|s| s.requests_file = None);
        r.to_json().expect("a result is JSON")
    };
    let (a, b) = (json(a), json(b));
    if a == b {
        return Ok(());
    }
    let at = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let from = at.saturating_sub(60);
    let part = |t: &str| t.chars().skip(from).take(160).collect::<String>();
    Err(Finding::new("same bytes on two threads and without a log", format!("{} ... and {} ...", part(&a), part(&b))))
}

/// Every other file is the same in both folders.
pub fn same_files(a: &Path, b: &Path) -> Checked {
    for entry in fs::read_dir(b).expect("a folder") {
        let name = entry.expect("an entry").file_name();
        if name == "result.json" {
            continue;
        }
        let read = |folder: &Path| fs::read(folder.join(&name)).ok();
        need!("same files on two threads", read(a) == read(b), "{}", name.to_string_lossy());
    }
    Ok(())
}
