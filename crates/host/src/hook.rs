//! Programs that run when a group has been in a state for some time: alarms, and what is done in an emergency.

use crate::config::{Drive, Hook};
use crate::group::Group;
use crate::meter::command::output;
use headstack_units::{Span, Time};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, info};

/// The longest time that a program may take, and the time between two drives.
const TIMEOUT: Duration = Duration::from_secs(60);
const NEXT_DRIVE: Span = Span(10_000_000_000);

/// A hook at work.
pub struct Hooked {
    config: Hook,
    /// Since when the group has been in one of the states.
    since: Option<Time>,
    /// Runs since then, and when the next is due.
    runs: usize,
    next: Time,
    is_running: Arc<AtomicBool>,
}

impl Hooked {
    /// As configured.
    pub fn new(config: &Hook) -> Hooked {
        Hooked {
            config: config.clone(),
            since: None,
            runs: 0,
            next: Time::ZERO,
            is_running: Arc::default(),
        }
    }

    /// Starts the program if it is time: once, or for one drive after another, the last tier first, while the state lasts. It is
    /// not waited for; in a dry run it is only said.
    pub fn step(&mut self, now: Time, group: &Group, apply: bool) {
        let state = group.state.name();
        if !self.config.states.iter().any(|s| s == state) {
            (self.since, self.runs, self.next) = (None, 0, Time::ZERO);
            return;
        }
        let since = *self.since.get_or_insert(now);
        let is_due = now.since(since) >= self.config.after && now >= self.next;
        if !is_due || self.is_running.load(Ordering::Relaxed) {
            return;
        }
        let mut command = self.config.command.clone();
        let drives: Vec<&Drive> = group.drives().map(|(config, _)| config).collect();
        let last = match self.config.each_drive {
            false => (self.runs == 0).then_some(None),
            true => drives.iter().rev().nth(self.runs).map(|d| Some(*d)),
        };
        let Some(drive) = last else {
            return;
        };
        self.runs += 1;
        self.next = now + NEXT_DRIVE;
        if let Some(drive) = drive {
            let folder = drive.folder().and_then(|f| f.canonicalize().ok());
            let Some(name) = folder.as_ref().and_then(|f| f.file_name()) else {
                return;
            };
            command.push(format!("/dev/{}", name.to_string_lossy()));
        }
        let said = if apply { "run" } else { "would run" };
        info!(
            group = group.config.name,
            state,
            command = command.join(" "),
            "{said}"
        );
        if apply {
            self.start(command, group);
        }
    }

    fn start(&mut self, command: Vec<String>, group: &Group) {
        let shown = |watts: Option<f64>| watts.map_or(String::new(), |w| w.to_string());
        let told = [
            ("HEADSTACK_GROUP", group.config.name.clone()),
            ("HEADSTACK_STATE", group.state.name().into()),
            ("HEADSTACK_POWER_W", shown(group.at_meters().map(|w| w.0))),
            ("HEADSTACK_CAP_W", shown(group.limit().map(|c| c.0))),
        ];
        let is_running = self.is_running.clone();
        is_running.store(true, Ordering::Relaxed);
        let run = move || {
            if let Err(why) = output(&command, TIMEOUT, &told) {
                error!("hook: {why}");
            }
            is_running.store(false, Ordering::Relaxed);
        };
        if let Err(e) = std::thread::Builder::new().name("hook".into()).spawn(run) {
            self.is_running.store(false, Ordering::Relaxed);
            error!("hook: {e}");
        }
    }
}
