//! Programs that run when a group has been in a state for some time: alarms, and what is done in an emergency.

use crate::config::Hook;
use crate::group::Group;
use crate::meter::command::output;
use headstack_units::Time;
use std::time::Duration;
use tracing::{error, info};

/// The longest time that a program may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A hook at work.
pub struct Hooked {
    config: Hook,
    /// Since when the group has been in one of the states.
    since: Option<Time>,
    has_run: bool,
}

impl Hooked {
    /// As configured.
    pub fn new(config: &Hook) -> Hooked {
        Hooked { config: config.clone(), since: None, has_run: false }
    }

    /// Starts the program if it is time. It is not waited for; in a dry run it is only said.
    pub fn step(&mut self, now: Time, group: &Group, apply: bool) {
        let state = group.state.name();
        if !self.config.states.iter().any(|s| s == state) {
            (self.since, self.has_run) = (None, false);
            return;
        }
        let since = *self.since.get_or_insert(now);
        if self.has_run || now.since(since) < self.config.after {
            return;
        }
        self.has_run = true;
        let command = self.config.command.clone();
        let said = if apply { "run" } else { "would run" };
        info!(group = group.config.name, state, command = command.join(" "), "{said}");
        let told = told(group);
        let run = move || {
            if let Err(why) = output(&command, TIMEOUT, &told) {
                error!("hook: {why}");
            }
        };
        if apply {
            let thread = std::thread::Builder::new().name("hook".into());
            if let Err(e) = thread.spawn(run) {
                error!("hook: {e}");
            }
        }
    }
}

/// What the program finds in its environment. Drives of the last tier, which are slowed first, come first.
fn told(group: &Group) -> [(&'static str, String); 5] {
    let shown = |watts: Option<f64>| watts.map_or(String::new(), |w| w.to_string());
    let mut drives: Vec<String> = group.drives().filter_map(|(drive, _)| drive.device()).collect();
    drives.reverse();
    [
        ("HEADSTACK_GROUP", group.config.name.clone()),
        ("HEADSTACK_STATE", group.state.name().into()),
        ("HEADSTACK_POWER_W", shown(group.at_meters().map(|w| w.0))),
        ("HEADSTACK_CAP_W", shown(group.limit().map(|c| c.0))),
        ("HEADSTACK_DRIVES", drives.join(" ")),
    ]
}
