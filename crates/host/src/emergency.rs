//! Drives that are sent to a low-power condition where no setting of the queues keeps the cap, if the configuration asks for it.
//!
//! START STOP UNIT by `sg_start` of sg3_utils. A drive leaves such a condition with the next command, and its own timers are off
//! until LU_CONTROL (SBC-3, START STOP UNIT).

use crate::config::{self, Condition};
use crate::group::{Group, State};
use crate::meter::command::output;
use headstack_units::Time;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tracing::{error, info};

/// The program that sends commands.
pub const PROGRAM: &str = "sg_start";

/// The longest time that a command may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

/// LU_CONTROL: drives follow their own timers.
const OWN_TIMERS: [&str; 1] = ["--pc=7"];

/// An emergency of a group.
pub struct Emergency {
    config: config::Emergency,
    program: String,
    /// Since when the group has been `unreachable`, or since drives were sent last.
    since: Option<Time>,
    /// When it was `unreachable` last.
    seen: Time,
    /// How many tiers have been sent, from the last one on.
    tiers: usize,
    running: Vec<JoinHandle<()>>,
}

impl Emergency {
    /// As configured, with this program.
    pub fn new(config: config::Emergency, program: &str) -> Emergency {
        let running = Vec::new();
        Emergency { config, program: program.into(), since: None, seen: Time::ZERO, tiers: 0, running }
    }

    /// The condition, while drives are sent there.
    pub fn condition(&self) -> Option<Condition> {
        (self.tiers > 0).then_some(self.config.condition)
    }

    /// Sends drives if it is time, or ends that. Commands are not waited for; in a dry run they are only said.
    pub fn step(&mut self, now: Time, group: &Group, apply: bool) {
        if !matches!(group.state, State::Unreachable { .. }) {
            self.since = None;
            if self.tiers > 0 && (group.limit().is_none() || now.since(self.seen) >= self.config.lasts) {
                self.release(group, apply);
            }
            return;
        }
        self.seen = now;
        if now.since(*self.since.get_or_insert(now)) < self.config.after {
            return;
        }
        self.since = Some(now);
        let mut tiers: Vec<u32> = group.drives().map(|(drive, _)| drive.tier).collect();
        tiers.dedup();
        self.tiers = tiers.len().min(self.tiers + 1);
        // A command has woken some that were sent before: they are sent again.
        let best = tiers[tiers.len() - self.tiers];
        self.send(words(self.config.condition), group, best, apply);
    }

    /// All drives follow their own timers again, after what they were told last.
    pub fn release(&mut self, group: &Group, apply: bool) {
        self.tiers = 0;
        self.finish();
        self.send(&OWN_TIMERS, group, 0, apply);
    }

    /// Waits for commands, within their time limit. One that hangs in the kernel is not waited for.
    pub fn finish(&mut self) {
        let end = Instant::now() + TIMEOUT;
        while Instant::now() < end && self.running.iter().any(|r| !r.is_finished()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Gives each drive from this tier on a command, the last first.
    fn send(&mut self, words: &[&str], group: &Group, best: u32, apply: bool) {
        let drives = group.drives().filter(|(drive, _)| drive.tier >= best);
        let mut devices: Vec<String> = drives.filter_map(|(drive, _)| drive.device()).collect();
        devices.reverse();
        let said = if apply { "emergency" } else { "emergency, would send" };
        info!(group = group.config.name, command = words.join(" "), drives = devices.join(" "), "{said}");
        self.running.retain(|r| !r.is_finished());
        for device in devices.into_iter().filter(|_| apply) {
            // A device that was open for writing is read by udev at its end, which would wake it.
            let command = [&[self.program.as_str(), "--readonly"], words, &[device.as_str()]].concat();
            let command: Vec<String> = command.into_iter().map(String::from).collect();
            let run = move || {
                if let Err(why) = output(&command, TIMEOUT, &[]) {
                    error!(drive = device, "emergency: {why}");
                }
            };
            match std::thread::Builder::new().name("emergency".into()).spawn(run) {
                Ok(thread) => self.running.push(thread),
                Err(e) => error!("emergency: {e}"),
            }
        }
    }
}

/// POWER CONDITION and its modifier.
fn words(condition: Condition) -> &'static [&'static str] {
    match condition {
        Condition::IdleA => &["--pc=2"],
        Condition::IdleB => &["--pc=2", "--mod=1"],
        Condition::IdleC => &["--pc=2", "--mod=2"],
        Condition::Standby => &["--pc=3"],
    }
}
