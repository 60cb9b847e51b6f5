//! What the daemon knows, as a table for people and as metrics for Prometheus.

use crate::group::State;
use headstack_metrics::{label, Text};
use serde_json::Value;
use std::fmt::Write;

/// Metrics of a status document.
pub fn metrics(status: &Value) -> String {
    let mut page = Text::default();
    let groups = list(&status["groups"]);
    page.begin(
        "headstack_capd_applies",
        "gauge",
        "1 if settings are written, 0 in a dry run.",
    );
    page.value("", "", f64::from(u8::from(status["applies"] == true)));
    for (name, kind, help, key) in [
        (
            "headstack_capd_power_watts",
            "gauge",
            "Power at the meters.",
            "power_w",
        ),
        (
            "headstack_capd_cap_watts",
            "gauge",
            "Cap at the meters.",
            "cap_w",
        ),
        (
            "headstack_capd_share_watts",
            "gauge",
            "Share of the cap of a rack.",
            "share_w",
        ),
        (
            "headstack_capd_watched_watts",
            "gauge",
            "Power of drives that are measured and never changed.",
            "watched_w",
        ),
        (
            "headstack_capd_over_seconds_total",
            "counter",
            "Time above the cap.",
            "over_s",
        ),
        (
            "headstack_capd_reading_age_seconds",
            "gauge",
            "Age of the oldest last reading.",
            "reading_age_s",
        ),
    ] {
        page.begin(name, kind, help);
        for group in groups {
            if let Some(value) = group[key].as_f64() {
                page.value("", &group_label(group), value);
            }
        }
    }
    for (name, help, key) in [
        (
            "headstack_capd_rack_power_watts",
            "Power of a rack.",
            "power_w",
        ),
        ("headstack_capd_rack_cap_watts", "Cap of a rack.", "cap_w"),
    ] {
        page.begin(name, "gauge", help);
        for rack in list(&status["racks"]) {
            if let Some(value) = rack[key].as_f64() {
                let rack = label("rack", rack["name"].as_str().unwrap_or_default());
                page.value("", &rack, value);
            }
        }
    }
    page.begin(
        "headstack_capd_state",
        "gauge",
        "1 for the state of a group, 0 for the others.",
    );
    for group in groups {
        for state in State::NAMES {
            let labels = format!("{},{}", group_label(group), label("state", state));
            page.value("", &labels, f64::from(u8::from(group["state"] == state)));
        }
    }
    for (name, kind, help, key) in [
        (
            "headstack_capd_nr_requests",
            "gauge",
            "Places of the host's queue, as last set.",
            "nr_requests",
        ),
        (
            "headstack_capd_queue_depth",
            "gauge",
            "Commands that the drive may hold, as last set.",
            "queue_depth",
        ),
        (
            "headstack_capd_read_expire_milliseconds",
            "gauge",
            "Time to a read's deadline, as last set.",
            "read_expire_ms",
        ),
        (
            "headstack_capd_writes_total",
            "counter",
            "Files of settings written.",
            "writes",
        ),
        (
            "headstack_capd_failures_total",
            "counter",
            "Settings that a drive did not take.",
            "failures",
        ),
        (
            "headstack_capd_conflicts_total",
            "counter",
            "Settings that somebody else had changed.",
            "conflicts",
        ),
    ] {
        page.begin(name, kind, help);
        for group in groups {
            for drive in list(&group["drives"]) {
                if let Some(value) = drive[key].as_f64() {
                    page.value("", &drive_label(group, drive), value);
                }
            }
        }
    }
    page.begin(
        "headstack_capd_in_force",
        "gauge",
        "1 if a drive has its last setting.",
    );
    for group in groups {
        for drive in list(&group["drives"]) {
            let is = drive["in_force"] == true;
            page.value("", &drive_label(group, drive), f64::from(u8::from(is)));
        }
    }
    page.into_string()
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
            "{}: {}{}, power {}, cap {}, over it for {:.0} s",
            name.as_str().unwrap_or_default(),
            state.as_str().unwrap_or_default(),
            match group["excess_w"].as_f64() {
                Some(excess) => format!(" by {excess:.2} W"),
                None => String::new(),
            },
            watts(&group["power_w"]),
            watts(&group["cap_w"]),
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
