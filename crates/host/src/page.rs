//! What the daemon knows, as a table for people and as metrics for Prometheus.

use crate::group_state::State;
use headstack_metrics::{label, Text};
use serde_json::Value;
use std::fmt::Write;

/// A metric that a part of the status document has as a number.
struct Metric {
    /// What a value of the document is multiplied with: metrics are in SI units.
    unit: f64,
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    key: &'static str,
}

const fn gauge(name: &'static str, key: &'static str, help: &'static str) -> Metric {
    Metric { unit: 1.0, name, kind: "gauge", help, key }
}

const fn counter(name: &'static str, key: &'static str, help: &'static str) -> Metric {
    Metric { kind: "counter", ..gauge(name, key, help) }
}

#[rustfmt::skip]
const OF_GROUPS: [Metric; 6] = [
    gauge("headstack_capd_power_watts", "power_w", "Power at the meters."),
    gauge("headstack_capd_cap_watts", "cap_w", "Cap at the meters."),
    gauge("headstack_capd_share_watts", "share_w", "Share of the cap of a rack."),
    gauge("headstack_capd_watched_watts", "watched_w", "Power of drives that are measured and never changed."),
    counter("headstack_capd_over_seconds_total", "over_s", "Time above the cap."),
    gauge("headstack_capd_reading_age_seconds", "reading_age_s", "Age of the oldest last reading."),
];

#[rustfmt::skip]
const OF_RACKS: [Metric; 2] = [
    gauge("headstack_capd_rack_power_watts", "power_w", "Power of a rack."),
    gauge("headstack_capd_rack_cap_watts", "cap_w", "Cap of a rack."),
];

#[rustfmt::skip]
const OF_DRIVES: [Metric; 6] = [
    gauge("headstack_capd_nr_requests", "nr_requests", "Places of the host's queue, as last set."),
    gauge("headstack_capd_queue_depth", "queue_depth", "Commands that the drive may hold, as last set."),
    Metric {
        unit: 1e-3,
        ..gauge("headstack_capd_read_expire_seconds", "read_expire_ms", "Time to a read's deadline, as last set.")
    },
    counter("headstack_capd_writes_total", "writes", "Files of settings written."),
    counter("headstack_capd_failures_total", "failures", "Settings that a drive did not take."),
    counter("headstack_capd_conflicts_total", "conflicts", "Settings that somebody else had changed."),
];

/// Metrics of a status document.
pub fn metrics(status: &Value) -> String {
    let mut page = Text::default();
    let groups = list(&status["groups"]);
    let flag = |is: bool| f64::from(u8::from(is));
    let help = "1 if settings are written, 0 in a dry run.";
    page.begin("headstack_capd_applies", "gauge", help);
    page.value("", "", flag(status["applies"] == true));
    for metric in &OF_GROUPS {
        let of = |group| (group_label(group), group);
        add(&mut page, metric, groups.iter().map(of));
    }
    for metric in &OF_RACKS {
        let name = |rack: &Value| label("rack", rack["name"].as_str().unwrap_or_default());
        let racks = list(&status["racks"]).iter();
        add(&mut page, metric, racks.map(|rack| (name(rack), rack)));
    }
    let help = "1 for the state of a group, 0 for the others.";
    page.begin("headstack_capd_state", "gauge", help);
    for group in groups {
        for state in State::NAMES {
            let labels = format!("{},{}", group_label(group), label("state", state));
            page.value("", &labels, flag(group["state"] == state));
        }
    }
    for metric in &OF_DRIVES {
        let of = |(group, drive)| (drive_label(group, drive), drive);
        add(&mut page, metric, drives(groups).map(of));
    }
    let help = "1 if a drive has its last setting.";
    page.begin("headstack_capd_in_force", "gauge", help);
    for (group, drive) in drives(groups) {
        page.value("", &drive_label(group, drive), flag(drive["in_force"] == true));
    }
    page.into_string()
}

/// Adds a metric of all parts that have it; each part comes with its labels.
fn add<'a>(page: &mut Text, metric: &Metric, parts: impl Iterator<Item = (String, &'a Value)>) {
    page.begin(metric.name, metric.kind, metric.help);
    for (labels, part) in parts {
        if let Some(value) = part[metric.key].as_f64() {
            page.value("", &labels, value * metric.unit);
        }
    }
}

/// The drives of all groups, each with its group.
fn drives(groups: &[Value]) -> impl Iterator<Item = (&Value, &Value)> {
    groups.iter().flat_map(|group| {
        let drives = list(&group["drives"]).iter();
        drives.map(move |drive| (group, drive))
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], |list| &list[..])
}

fn group_label(group: &Value) -> String {
    label("group", group["name"].as_str().unwrap_or_default())
}

fn drive_label(group: &Value, drive: &Value) -> String {
    let drive = label("drive", drive["name"].as_str().unwrap_or_default());
    format!("{},{drive}", group_label(group))
}

/// The status as a table for people.
pub fn table(status: &Value) -> String {
    let mut text = String::new();
    let watts = |value: &Value| match value.as_f64() {
        Some(watts) => format!("{watts:.2} W"),
        None => "-".into(),
    };
    // Writing to a string does not fail.
    if status["applies"] == false {
        let _ = writeln!(text, "dry run: settings are computed, not written");
    }
    for rack in list(&status["racks"]) {
        let groups = list(&rack["groups"]).iter().filter_map(Value::as_str);
        let _ = writeln!(
            text,
            "{}: a rack of {}, power {}, cap {}",
            rack["name"].as_str().unwrap_or_default(),
            groups.collect::<Vec<_>>().join(", "),
            watts(&rack["power_w"]),
            watts(&rack["cap_w"]),
        );
    }
    for group in list(&status["groups"]) {
        let (name, state) = (&group["name"], &group["state"]);
        let _ = writeln!(
            text,
            "{}: {}{}, power {}, cap {}, {}over it for {:.0} s in all",
            name.as_str().unwrap_or_default(),
            state.as_str().unwrap_or_default(),
            match group["excess_w"].as_f64() {
                Some(excess) => format!(" by {excess:.2} W"),
                None => String::new(),
            },
            watts(&group["power_w"]),
            watts(&group["cap_w"]),
            match group["over_for_s"].as_f64().unwrap_or_default() {
                0.0 => String::new(),
                seconds => format!("over it now for {seconds:.0} s, "),
            },
            group["over_s"].as_f64().unwrap_or_default(),
        );
        for failure in list(&group["meter_failures"]) {
            let _ = writeln!(text, "  {}", failure.as_str().unwrap_or_default());
        }
        let _ = writeln!(
            text,
            "  {:32} {:>4} {:>11} {:>11} {:>11}  state",
            "drive", "tier", "nr_requests", "queue_depth", "read_expire"
        );
        for drive in list(&group["drives"]) {
            let _ = writeln!(text, "{}", row(drive));
        }
    }
    text
}

fn row(drive: &Value) -> String {
    let number = |key: &str| drive[key].as_f64().map_or("-".into(), |n| n.to_string());
    let state = match (&drive["failure"], drive["present"] == true) {
        (_, false) => "absent".to_string(),
        (Value::String(why), _) => why.clone(),
        _ if drive["pending"] == true => "pending".into(),
        _ if drive["in_force"] == true => "in force".into(),
        _ => "not set yet".into(),
    };
    let name = drive["name"].as_str().unwrap_or_default();
    format!(
        "  {name:32} {:>4} {:>11} {:>11} {:>11}  {state}",
        number("tier"),
        number("nr_requests"),
        number("queue_depth"),
        number("read_expire_ms"),
    )
}
