//! What a daemon goes on from after a restart: caps that it was given, and where its policies stand.
//!
//! ```json
//! { "format": "headstack-capd-state", "boot": "...", "since_boot_s": 81234.5, "date": 1790000000,
//!   "caps": { "shelf": { "configured_w": 150.0, "cap_w": 140.0 } },
//!   "groups": { "shelf": { "policy": "learning", "drives": ["..."], "over_for_s": 0.0, "state": { } } } }
//! ```
//!
//! `cap_w` is the cap in force; null means none. It holds after a restart if the configuration still has the cap of then. `state` is
//! that of the policy ([`Policy::state`](headstack_control::Policy::state)). In one boot its age is measured by the time since
//! boot; after another boot, by the date. A file that cannot be used is left as it is.

use crate::group::Group;
use crate::originals::{replace_file, this_boot};
use headstack_units::{Span, Time, Watts};
use serde_json::{json, Map, Value};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use tracing::{error, info};

const FORMAT: &str = "headstack-capd-state";

/// Where a policy stood longer ago says nothing; caps hold for any time.
const MOST_AGE: Span = Span(600_000_000_000);

/// Time between two times at which the file is written, where nothing asks for it.
const KEEP_EVERY: Span = Span(10_000_000_000);

/// A cap of the configuration, and the one in force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cap {
    /// As configured.
    pub configured: Option<Watts>,
    /// In force.
    pub cap: Option<Watts>,
}

/// The file.
#[derive(Debug)]
pub struct StateFile {
    file: PathBuf,
    /// Whether its content was understood, or there is none.
    is_usable: bool,
    content: Value,
    age: Span,
    /// What was written last, without its time.
    written: Value,
    next: Time,
}

fn date() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |s| s.as_secs())
}

/// Why a document is not one of these; else its age at `now`.
fn age(document: &Value, now: Time) -> Result<Span, String> {
    let format = &document["format"];
    if format != FORMAT {
        return Err(format!("format: got {format}, need {FORMAT:?}"));
    }
    let needed = |key: &str, is: bool| match is {
        true => Ok(()),
        false => Err(format!("{key}: got {}, need what headstack-capd writes", document[key])),
    };
    needed("boot", document["boot"].is_string())?;
    needed("date", document["date"].is_u64())?;
    let then_s = document["since_boot_s"].as_f64().filter(|s| *s >= 0.0);
    needed("since_boot_s", then_s.is_some())?;
    for key in ["caps", "groups"] {
        let tables = document[key].as_object();
        needed(key, tables.is_some_and(|t| t.values().all(Value::is_object)))?;
    }
    for (name, cap) in document["caps"].as_object().into_iter().flatten() {
        for key in ["configured_w", "cap_w"] {
            let is_power = cap[key].is_null() || cap[key].as_f64().is_some_and(|w| w > 0.0);
            if !is_power {
                return Err(format!("caps.{name}.{key}: got {}, need watts or null", cap[key]));
            }
        }
    }
    let seconds = match document["boot"].as_str() == Some(this_boot().as_str()) {
        true => now.since(Time::ZERO).as_secs_f64() - then_s.unwrap_or(0.0),
        // A clock that was set back makes nothing younger than it was.
        false => date().saturating_sub(document["date"].as_u64().unwrap_or(0)) as f64,
    };
    Ok(Span::from_secs_f64(seconds.clamp(0.0, 1e9)))
}

impl StateFile {
    /// Reads it. What cannot be used is said.
    pub fn open(file: &Path, now: Time) -> StateFile {
        let mut state = StateFile {
            file: file.into(),
            is_usable: true,
            content: Value::Null,
            age: Span::ZERO,
            written: Value::Null,
            next: now,
        };
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return state,
            Err(e) => {
                state.refuse(&e.to_string());
                return state;
            }
        };
        let document = serde_json::from_str(&text).map_err(|e| e.to_string());
        match document.and_then(|document| Ok((age(&document, now)?, document))) {
            Ok((age, document)) => (state.age, state.content) = (age, document),
            Err(why) => state.refuse(&why),
        }
        state
    }

    fn refuse(&mut self, why: &str) {
        let file = self.file.display();
        error!(%file, "state: {why}; the file is left as it is, remove it to begin anew");
        self.is_usable = false;
        self.content = Value::Null;
    }

    /// The cap that was in force, if the configuration has the same cap as then.
    pub fn cap(&self, name: &str, configured: Option<Watts>) -> Option<Option<Watts>> {
        let kept = self.content["caps"].get(name)?;
        let same = kept["configured_w"].as_f64() == configured.map(|c| c.0);
        same.then(|| kept["cap_w"].as_f64().map(Watts))
    }

    /// A group goes on from where it was.
    pub fn resume(&mut self, group: &mut Group, now: Time) {
        let name = group.config.name.clone();
        let Some(kept) = self.content["groups"].get(&name) else { return };
        let is_same = kept["policy"] == group.config.policy.as_str()
            && kept["drives"] == json!(group.names())
            && self.age <= MOST_AGE;
        if !is_same {
            return;
        }
        let over_for_s = kept["over_for_s"].as_f64().unwrap_or(0.0);
        match group.resume(&kept["state"], Span::from_secs_f64(over_for_s.clamp(0.0, 1e6)), now, self.age) {
            Ok(()) => info!(group = name, age_s = self.age.as_secs_f64(), "it goes on from its state of before"),
            Err(e) => self.refuse(&format!("groups.{name}.state: {e}")),
        }
    }

    /// Writes it: at most each ten seconds, unless the caps have changed or the daemon ends.
    pub fn keep(&mut self, now: Time, caps: &[(&str, Cap)], groups: &[&Group], is_last: bool) {
        let watts = |cap: Option<Watts>| cap.map(|c| c.0);
        let cap = |(name, cap): &(&str, Cap)| {
            let entry = json!({ "configured_w": watts(cap.configured), "cap_w": watts(cap.cap) });
            (name.to_string(), entry)
        };
        let caps = Value::Object(caps.iter().map(cap).collect::<Map<String, Value>>());
        let is_due = is_last || now >= self.next || self.written["caps"] != caps;
        if !(is_due && self.is_usable) {
            return;
        }
        self.next = now + KEEP_EVERY;
        let group = |group: &&Group| {
            let entry = json!({
                "policy": group.config.policy,
                "drives": group.names(),
                "over_for_s": group.over_for(now).as_secs_f64(),
                "state": group.controller.as_ref().and_then(|c| c.state()),
            });
            (group.config.name.clone(), entry)
        };
        let groups: Map<String, Value> = groups.iter().map(group).collect();
        let mut document = json!({ "format": FORMAT, "caps": caps, "groups": groups });
        if document == self.written {
            return;
        }
        self.written = document.clone();
        document["boot"] = this_boot().into();
        document["since_boot_s"] = now.since(Time::ZERO).as_secs_f64().into();
        document["date"] = date().into();
        if let Err(e) = replace_file(&self.file, &document.to_string()) {
            let file = self.file.display();
            error!(%file, "state: not kept: {e}");
        }
    }
}
