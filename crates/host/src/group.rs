//! Drives that share meters and a cap: one policy, its controller, and what an operator is told.

use crate::burst::Windows;
use crate::config;
use crate::drive::Drive;
pub use crate::group_state::State;
use crate::knobs::Knobs;
use crate::learned::Learned;
use crate::meter::Sum;
use crate::originals::Originals;
use headstack_control::{
    Actuator, Command, Controller, Device, Held, Progress, RateLimit, Sample, Sensor, Status, Work,
};
use headstack_schema::SpecError;
use headstack_units::{Span, Time, Watts};
use serde_json::Value;
use std::sync::Arc;
use tracing::{error, info, warn};

/// Finds the settings of a drive; `None` if it is not there.
pub type Opener = Box<dyn Fn(&config::Drive) -> Option<Arc<dyn Knobs>> + Send>;

/// A group at work.
pub struct Group {
    /// Its configuration.
    pub config: config::Group,
    open: Opener,
    apply: bool,
    /// By place in the configuration, sorted by tier.
    slots: Vec<Slot>,
    pub(crate) controller: Option<Controller>,
    /// The drives of the controller, in its order: places in `slots`.
    active: Vec<usize>,
    /// The cap at the meter that it was given.
    pub cap: Option<Watts>,
    windows: Option<Windows>,
    /// Its share of the cap of a rack, at the meter.
    pub share: Option<Watts>,
    /// What drives behind the meter draw that are measured and never changed.
    pub watched: Watts,
    /// What it tells.
    pub state: State,
    /// The last power of the drives, and when it was read.
    pub power: Option<Sum>,
    learned: Option<Learned>,
    /// The models of its drives, in the order of their maps.
    models: Vec<String>,
    over_since: Option<Time>,
    /// When a command was given to a drive that was another one than before.
    changed: Option<Time>,
    /// Why meters show nothing.
    pub silence: Vec<String>,
    last: Option<Time>,
    /// Time above the cap, in seconds.
    pub over_s: f64,
    next_look: Time,
    /// Whether drives are being given their settings of before.
    is_released: bool,
}

struct Slot {
    config: config::Drive,
    drive: Option<Drive>,
    /// Why it is not there, said once.
    why: Option<String>,
}

/// A group is `unreachable` after so many times `unreachable_after`, whatever its policy still tries.
const MOST_TRIES: i64 = 5;

/// Time between two looks for drives that were not there.
const LOOK_EVERY: Span = Span(5_000_000_000);

impl Group {
    /// A group; its drives are looked for at the first step.
    pub fn new(config: &config::Group, apply: bool, open: Opener) -> Group {
        let mut configs: Vec<config::Drive> = config.controlled().cloned().collect();
        configs.sort_by_key(|d| d.tier);
        let slot = |config| Slot { config, drive: None, why: None };
        Group {
            config: config.clone(),
            open,
            apply,
            slots: configs.into_iter().map(slot).collect(),
            controller: None,
            active: Vec::new(),
            cap: config.cap,
            windows: config.burst.map(|b| Windows::new(b, config.tolerance)),
            share: None,
            watched: Watts(0.0),
            state: State::NoDrives,
            power: None,
            learned: config.learned.as_ref().map(|f| Learned::new(f.as_ref())),
            models: Vec::new(),
            over_since: None,
            changed: None,
            silence: Vec::new(),
            last: None,
            over_s: 0.0,
            next_look: Time::ZERO,
            is_released: false,
        }
    }

    /// The drives, in the order of their tiers; `None` for one that is not there.
    pub fn drives(&self) -> impl Iterator<Item = (&config::Drive, Option<&Drive>)> {
        self.slots.iter().map(|s| (&s.config, s.drive.as_ref()))
    }

    /// The cap that holds at the meter: its own, or its share of a rack's where that is lower; or what its windows make of it now.
    pub fn limit(&self) -> Option<Watts> {
        let cap = match (self.cap, self.share) {
            (Some(cap), Some(share)) => Some(Watts(cap.0.min(share.0))),
            (cap, share) => cap.or(share),
        };
        let windows = self.windows.as_ref();
        cap.map(|cap| windows.map_or(cap, |w| w.limit(cap)))
    }

    /// The last command of each drive that is there, and whether it is in force on a device that works.
    pub fn commands(&self) -> Vec<(usize, Option<Command>, bool)> {
        let Some(controller) = &self.controller else { return Vec::new() };
        let both = controller.given().zip(controller.in_force());
        let places = self.active.iter().zip(both);
        let works = |i: usize| self.slots[i].drive.as_ref().is_some_and(|d| d.trouble().is_none());
        places.map(|(i, (given, is))| (*i, given, is.is_some() && works(*i))).collect()
    }

    /// The access to the files of each drive that is there.
    pub fn knobs(&self) -> Vec<Arc<dyn Knobs>> {
        let drives = self.active.iter().filter_map(|i| self.slots[*i].drive.as_ref());
        drives.map(Drive::knobs).collect()
    }

    /// The drives that are controlled, in the order of the policy.
    pub fn names(&self) -> Vec<&str> {
        self.active.iter().map(|i| self.slots[*i].config.name()).collect()
    }

    /// How long the power has been above the cap.
    pub fn over_for(&self, now: Time) -> Span {
        self.over_since.map_or(Span::ZERO, |since| now.since(since))
    }

    /// Goes on from where its policy stood `age` ago, when the power had been above the cap for `over_for`.
    ///
    /// # Errors
    /// No state of this policy for these drives.
    pub fn resume(&mut self, state: &Value, over_for: Span, now: Time, age: Span) -> Result<(), SpecError> {
        if let Some(controller) = self.controller.as_mut().filter(|_| !state.is_null()) {
            controller.resume(state, age)?;
        }
        if over_for > Span::ZERO {
            self.over_since = Some(Time(now.0.saturating_sub(over_for.non_negative())));
        }
        Ok(())
    }

    /// Looks which drives are there. Returns whether they are others than before.
    ///
    /// # Errors
    /// The policy cannot be built for the drives that are there.
    pub fn look(&mut self, now: Time, originals: &mut Originals) -> Result<bool, SpecError> {
        for slot in &mut self.slots {
            let Some(drive) = &mut slot.drive else { continue };
            drive.look();
            if drive.knobs.is_present() {
                continue;
            }
            // What it had is kept: a link that flaps gives it back with other settings.
            warn!(drive = drive.name, "it is gone");
            slot.drive = None;
            self.next_look = now;
        }
        if now >= self.next_look {
            self.next_look = now + LOOK_EVERY;
            for slot in self.slots.iter_mut().filter(|s| s.drive.is_none()) {
                slot.find(&self.open, self.config.on_conflict, originals, self.apply);
            }
        }
        let there: Vec<usize> = (0..self.slots.len()).filter(|i| self.slots[*i].drive.is_some()).collect();
        let is_active = |i: &usize| self.active.contains(i);
        if there.len() == self.active.len() && there.iter().all(is_active) {
            return Ok(false);
        }
        self.rebuild(there)?;
        Ok(true)
    }

    /// A policy for the drives that are there. It begins anew.
    fn rebuild(&mut self, there: Vec<usize>) -> Result<(), SpecError> {
        // Where drives come and go the policy begins anew with what it knows.
        self.keep_learned();
        self.active = there;
        let rests = match self.controller.take() {
            Some(controller) => controller.is_resting(),
            None => !self.asks_for_start(),
        };
        self.models.clear();
        if self.active.is_empty() {
            return Ok(());
        }
        let of = |i: &usize| {
            let drive = self.slots[*i].drive.as_ref();
            drive.map(|d| (d.tier, d.knobs().model(), d.device))
        };
        let mut drives: Vec<(usize, (u32, String, Device))> =
            self.active.iter().filter_map(|i| Some((*i, of(i)?))).collect();
        if self.config.has_maps()? {
            // Drives of a tier with one setting are of one model.
            drives.sort_by(|(_, a), (_, b)| (a.0, &a.1).cmp(&(b.0, &b.1)));
        }
        self.active = drives.iter().map(|(i, _)| *i).collect();
        let devices: Vec<Device> = drives.iter().map(|(_, d)| d.2).collect();
        let tiers: Vec<(u32, &str)> = drives.iter().map(|(_, d)| (d.0, d.1.as_str())).collect();
        let (parameters, models) = self.config.parameters_for(&tiers)?;
        let policy = self.config.plugin()?.build(&parameters, &devices);
        let policy = policy.map_err(|e| e.within("parameters"))?;
        let mut controller = Controller::new(policy, &devices);
        controller.rest(rests);
        for (place, model) in models.iter().enumerate() {
            if let Some(learned) = &mut self.learned {
                learned.give(place, model, &mut controller);
            }
        }
        self.models = models;
        info!(group = self.config.name, drives = devices.len(), "control begins");
        self.controller = Some(controller);
        Ok(())
    }

    /// Keeps what the policy has learned, if there is a file for it. A dry run has changed nothing, so it has learned
    /// nothing.
    pub fn keep_learned(&mut self) {
        if let (Some(learned), Some(controller), true) = (&mut self.learned, &self.controller, self.apply) {
            for (place, model) in self.models.iter().enumerate() {
                learned.keep(place, model, controller);
            }
        }
    }

    /// What the meters count besides the drives that are controlled.
    pub fn others(&self) -> Watts {
        Watts(self.config.base.0 + self.watched.0)
    }

    /// The last power at its meters.
    pub fn at_meters(&self) -> Option<Watts> {
        let power = self.power.as_ref()?;
        Some(Watts(power.watts.0 + self.others().0))
    }

    /// One step: readings to the policy, its commands to the drives. `sum` is what the meters show without `base`, `work` what
    /// the drives did since the last step.
    pub fn step(&mut self, now: Time, sum: Option<Sum>, work: Option<Work>, originals: &mut Originals) {
        self.collect();
        if let (Some(windows), Some(sum)) = (&mut self.windows, &sum) {
            let passed = self.last.map_or(Span::ZERO, |last| now.since(last));
            windows.see(Watts(sum.watts.0 + self.config.base.0), passed);
        }
        let cap = self.limit();
        let cap = cap.map(|cap| Watts(cap.0 - self.others().0));
        let sum = sum.map(|sum| Sum { watts: Watts(sum.watts.0 - self.watched.0), ..sum });
        self.rest(cap, sum.as_ref());
        let mut reading = Readings { sum: sum.clone(), work };
        let mut hands =
            Hands { slots: &mut self.slots, active: &self.active, originals, apply: self.apply, is_last: false };
        let controller = self.controller.as_mut();
        let status = controller.map(|c| {
            let before: Vec<Option<Command>> = c.given().collect();
            let status = c.step(now, cap, &mut reading, &mut hands);
            (status, !c.given().eq(before))
        });
        self.power = sum.or(self.power.take());
        if let Some((status, true)) = status {
            self.changed = Some(now);
            self.tell_decision(status, cap);
        }
        self.tell(now, status.map(|s| s.0), cap);
        self.last = Some(now);
    }

    /// Whether the configuration asks for a setting without a cap.
    fn asks_for_start(&self) -> bool {
        let mut keys = self.config.parameters.keys();
        keys.any(|key| key.starts_with("start_"))
    }

    /// Drives stay as they were found until there is something to do: a power above the cap, or a meter that is lost.
    fn rest(&mut self, cap: Option<Watts>, sum: Option<&Sum>) {
        let is_over = |cap: Watts| sum.is_some_and(|sum| sum.watts.0 > cap.0);
        let rests = match cap {
            None => !self.asks_for_start(),
            Some(cap) if is_over(cap) || self.state == State::MeterLost => false,
            Some(_) => return,
        };
        if let Some(controller) = &mut self.controller {
            controller.rest(rests);
        }
    }

    /// One line for all commands of a step: where the power is, what is set, and why.
    fn tell_decision(&self, status: Status, cap: Option<Watts>) {
        let power = self.at_meters().map(|w| w.0);
        let above = self.power.as_ref().zip(cap).map(|(p, cap)| p.watts.0 - cap.0);
        let found = |i: usize| self.slots[i].drive.as_ref().map(|d| d.device.open);
        let is_open = self.commands().iter().all(|(i, c, _)| *c == found(*i));
        let (direction, why) = match (status, above) {
            (Status::Uncapped, _) => ("open", "there is no cap".to_string()),
            (Status::Lost, _) => ("safe", format!("no reading: {}", self.silence.join("; "))),
            _ if is_open => ("open", "the settings of before do".into()),
            (_, None) => ("begin", "there is no reading yet".into()),
            (_, Some(watts)) if watts > 0.0 => ("lower", format!("{watts:.2} W above the cap")),
            (_, Some(watts)) => ("raise", format!("{:.2} W below the cap", -watts)),
        };
        let mut settings: Vec<(Command, usize)> = Vec::new();
        for (_, command, _) in self.commands() {
            match (command, settings.last_mut()) {
                (Some(command), Some((last, n))) if *last == command => *n += 1,
                (Some(command), _) => settings.push((command, 1)),
                (None, _) => {}
            }
        }
        let shown = |(c, n): &(Command, usize)| {
            let expire = c.read_expire.map_or(String::new(), |e| format!(", {} ms", e.as_ms()));
            let limit = match c.rate_limit {
                RateLimit::Unlimited => String::new(),
                RateLimit::Requests(rate) => format!(", {rate}"),
                RateLimit::Bytes(rate) => format!(", {rate}"),
            };
            format!("{n} x ({}, {}{expire}{limit})", c.nr_requests, c.queue_depth)
        };
        let settings = settings.iter().map(shown).collect::<Vec<_>>().join(" ");
        let (group, cap) = (&self.config.name, self.limit().map(|c| c.0));
        let said = if self.apply { "set" } else { "would set" };
        info!(group, power, cap, direction, settings, why, "{said}");
    }

    /// Looks what became of commands.
    pub fn collect(&mut self) {
        for drive in self.slots.iter_mut().filter_map(|s| s.drive.as_mut()) {
            drive.collect();
        }
    }

    fn tell(&mut self, now: Time, status: Option<Status>, cap: Option<Watts>) {
        let passed_s = self.last.map_or(0.0, |last| now.since(last).as_secs_f64());
        let excess = match (cap, &self.power) {
            (Some(cap), Some(power)) => power.watts.0 - cap.0,
            _ => 0.0,
        };
        let is_over = excess > self.config.tolerance.0;
        let has_power = self.power.is_some();
        let is_read = !matches!(status, Some(Status::Lost | Status::Holding) | None);
        if is_over && is_read && cap.is_some() {
            self.over_s += passed_s;
            self.over_since.get_or_insert(now);
        } else if is_read {
            self.over_since = None;
        }
        // While the policy still tries settings it may find one, but not for ever.
        let for_long = |since: Time| {
            let after = self.config.unreachable_after;
            let tried = since.max(self.changed.unwrap_or(since));
            now.since(tried) >= after || now.since(since).0 >= after.0.saturating_mul(MOST_TRIES)
        };
        let refuses = self.slots.iter().filter_map(|s| s.drive.as_ref());
        let refuses = refuses.into_iter().any(|d| d.failure.is_some());
        let state = match status {
            None => State::NoDrives,
            Some(Status::Uncapped) => State::Uncapped,
            Some(Status::Lost) => State::MeterLost,
            Some(Status::Holding) => State::MeterSilent,
            Some(_) if !has_power => State::MeterSilent,
            Some(Status::Limiting) if !is_over => State::Limiting,
            Some(_) if !is_over => State::Holding,
            Some(_) if refuses => State::DriveRefuses,
            Some(Status::WrongSign) => State::WrongSign,
            Some(Status::Unreachable { .. }) => State::Unreachable { excess: Watts(excess) },
            Some(_) if self.over_since.is_some_and(for_long) => State::Unreachable { excess: Watts(excess) },
            Some(_) => State::Settling,
        };
        if state.name() != self.state.name() {
            let (group, power) = (&self.config.name, self.power.as_ref().map(|p| p.watts.0));
            info!(
                group,
                state = state.name(),
                power,
                cap = self.limit().map(|c| c.0),
                cause = matches!(state, State::MeterSilent | State::MeterLost).then(|| self.silence.join("; "))
            );
        }
        self.state = state;
    }

    /// Gives every drive its settings of before. Call it until it returns true. What is restored is forgotten. A drive to
    /// which nothing was written is left alone, as one that is gone or that somebody else has.
    pub fn release(&mut self, now: Time, originals: &mut Originals) -> bool {
        if !self.apply {
            return true;
        }
        for slot in &mut self.slots {
            slot.collect_last(originals);
        }
        let Some(controller) = &mut self.controller else { return true };
        if !std::mem::replace(&mut self.is_released, true) {
            // What is in force by the last look may have been changed since.
            (0..self.active.len()).for_each(|place| controller.forget(place));
        }
        let mut hands = Hands { slots: &mut self.slots, active: &self.active, originals, apply: true, is_last: true };
        controller.release(now, &mut hands);
        let mut is_done = true;
        for (place, is) in self.active.iter().zip(controller.in_force()) {
            let drive = self.slots[*place].drive.as_ref();
            let Some(drive) = drive.filter(|d| originals.of(&d.name).is_some()) else { continue };
            if is != Some(drive.device.open) {
                is_done = false;
            } else if let Err(e) = originals.forget(&drive.name) {
                error!("originals: {e}");
            }
        }
        is_done
    }
}

impl Slot {
    /// Looks what became of commands, and forgets a drive that is gone or that somebody else has.
    fn collect_last(&mut self, originals: &mut Originals) {
        let Some(drive) = &mut self.drive else { return };
        drive.collect();
        let is_gone = !drive.knobs.is_present();
        if drive.is_yielded {
            if let Err(e) = originals.forget(&drive.name) {
                error!("originals: {e}");
            }
        }
        if is_gone {
            warn!(drive = drive.name, "it is gone");
            self.drive = None;
        }
    }

    fn find(&mut self, open: &Opener, on_conflict: config::OnConflict, originals: &Originals, apply: bool) {
        let name = self.config.name();
        let why = match open(&self.config) {
            None => "it is not there".to_string(),
            Some(knobs) => match Drive::open(&self.config, on_conflict, knobs, originals, apply) {
                Ok(drive) => {
                    info!(drive = name, tier = drive.tier, "found");
                    self.drive = Some(drive);
                    self.why = None;
                    return;
                }
                Err(why) => why,
            },
        };
        if self.why.as_ref() != Some(&why) {
            warn!(drive = name, "not controlled: {why}");
        }
        self.why = Some(why);
    }
}

/// The readings of one step.
struct Readings {
    sum: Option<Sum>,
    work: Option<Work>,
}

impl Sensor for Readings {
    fn read(&mut self, now: Time) -> Sample {
        match &self.sum {
            None => Sample::missing(now),
            Some(sum) => Sample { time: sum.time, power: Some(sum.watts), work: self.work },
        }
    }
}

/// Carries out commands.
struct Hands<'a> {
    slots: &'a mut [Slot],
    active: &'a [usize],
    originals: &'a mut Originals,
    apply: bool,
    /// Whether drives are given their settings of before.
    is_last: bool,
}

impl Hands<'_> {
    fn drive(&mut self, place: usize) -> Option<&mut Drive> {
        self.slots[self.active[place]].drive.as_mut()
    }
}

impl Actuator for Hands<'_> {
    fn apply(&mut self, drive: usize, command: &Command) -> Progress {
        let slot = &mut self.slots[self.active[drive]];
        match &mut slot.drive {
            // Nothing was written to it, or all is restored.
            Some(drive) if self.is_last && self.originals.of(&drive.name).is_none() => Progress::Done,
            Some(drive) => drive.command(command, self.originals, self.apply),
            None => Progress::REFUSED,
        }
    }

    fn poll(&mut self, drive: usize) -> Progress {
        self.drive(drive).map_or(Progress::REFUSED, |d| d.progress)
    }

    fn read(&mut self, drive: usize, _: &Command) -> Held {
        let apply = self.apply;
        match self.drive(drive) {
            Some(drive) if apply => drive.read(),
            // A dry run has written nothing that could be changed; a drive that is gone is noticed elsewhere.
            _ => Held::Same,
        }
    }
}
