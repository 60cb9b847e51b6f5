//! A logical unit: what a disk remembers between commands.

use crate::attention::{Attentions, Nexus};
use crate::disk::Disk;
use crate::pages::Pages;
use crate::reservation::Reservations;
use crate::sense::{Code, Key, Sense};
use crate::status::Status;
use crate::work::{Effect, Task, Work};
use crate::BLOCK;
use headstack_drive::limits::CountsByLimit;
use headstack_drive::power::conditions::Condition;
use headstack_drive::LimitsSpec;
use std::collections::BTreeMap;

pub mod execution;

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Its status.
    pub status: Status,
    /// Sense data.
    pub sense: Vec<u8>,
    /// Its data; those of a read are in the store.
    pub data: Vec<u8>,
}

impl Ending {
    /// An end without data.
    pub fn of(status: Status) -> Ending {
        Ending { status, sense: Vec::new(), data: Vec::new() }
    }
}

/// How work of the drive has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Outcome {
    Done,
    /// It was done after the drive had tried for some time; this is the first block.
    Recovered(u64),
    /// The blocks differ from the data of the command, first in this byte.
    Differs(u64),
    Failed(Sense),
}

/// What a command of one kind has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Errors {
    /// Bytes that were transferred.
    pub bytes: u64,
    /// Errors that the drive corrected.
    pub corrected: u64,
    /// Errors that it could not correct.
    pub uncorrected: u64,
}

/// What a unit has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Counts {
    pub reads: Errors,
    pub writes: Errors,
    /// Of verification.
    pub verifies: Errors,
    /// Starts of the spindle that a command asked for.
    pub starts: u32,
}

/// Why a unit takes hardly any commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Away {
    /// What initiators are told.
    pub sense: Sense,
    /// It will stay so, until elements are removed or restored again.
    pub has_failed: bool,
}

/// A logical unit.
#[derive(Debug, Default)]
pub struct Unit {
    /// What is fixed of it.
    pub disk: Disk,
    /// The mode pages.
    pub pages: Pages,
    pub(crate) attentions: Attentions,
    /// The name of the initiator port of each nexus.
    ports: BTreeMap<Nexus, String>,
    /// The reservations.
    pub reservations: Reservations,
    /// Who has reserved the unit with RESERVE.
    reserved: Option<Nexus>,
    /// START STOP UNIT has stopped it.
    is_stopped: bool,
    /// Why it takes hardly any commands.
    away: Option<Away>,
    /// The failure that the drive predicts; [`Code::NONE`] for none.
    pub prediction: Code,
    /// Settings of the drive that have changed since this was last taken.
    pub effects: Vec<Effect>,
    /// Ports whose commands were aborted since this was last taken.
    pub aborted: Vec<String>,
    /// What was counted.
    pub counts: Counts,
    /// What the drive has counted of its duration limits, as told last.
    pub limit_counts: CountsByLimit,
}

impl Unit {
    /// A unit that was just switched on.
    pub fn new(disk: Disk) -> Unit {
        Unit { pages: Pages::new(&disk), disk, ..Unit::default() }
    }

    /// An initiator connects. Its first command is told that the unit was switched on.
    pub fn connect(&mut self, nexus: Nexus, port: &str) {
        self.ports.insert(nexus, port.into());
        self.attentions.connect(nexus);
        self.attentions.tell(nexus, Code::POWER_ON_OR_RESET);
    }

    /// An initiator has left: what it reserved with RESERVE is free.
    pub fn disconnect(&mut self, nexus: Nexus) {
        self.ports.remove(&nexus);
        self.attentions.disconnect(nexus);
        self.reserved = self.reserved.filter(|n| *n != nexus);
    }

    /// The end of a change of zones: good, or the rule that it breaks.
    pub fn zoned(&self, done: Result<(), headstack_drive::zoned::Sense>) -> Ending {
        match done {
            Ok(()) => Ending::of(Status::Good),
            Err(rule) => {
                let (key, code, qualifier) = rule.code();
                let key = Key::from_number(key).unwrap_or(Key::IllegalRequest);
                self.check(&Sense::new(key, Code(code, qualifier)))
            }
        }
    }

    /// The end of a command whose work has ended.
    pub fn worked(&mut self, work: &Work, outcome: Outcome) -> Ending {
        let bytes = u64::from(work.extent.blocks) * u64::from(BLOCK);
        let of = match work.task {
            Task::Read | Task::Prefetch => &mut self.counts.reads,
            Task::Verify(_) => &mut self.counts.verifies,
            _ => &mut self.counts.writes,
        };
        match outcome {
            Outcome::Done => {
                of.bytes += bytes;
                Ending::of(match work.task {
                    Task::Prefetch if !work.immediate => Status::ConditionMet,
                    _ => Status::Good,
                })
            }
            Outcome::Recovered(lba) => {
                of.bytes += bytes;
                of.corrected += 1;
                let code = Code::RECOVERED_DATA_WITH_RETRIES;
                let sense = Sense::new(Key::RecoveredError, code).with_information(lba);
                match self.pages.reports_recovered() {
                    true => self.check(&sense),
                    false => Ending::of(match work.task {
                        Task::Prefetch if !work.immediate => Status::ConditionMet,
                        _ => Status::Good,
                    }),
                }
            }
            Outcome::Differs(at) => {
                let sense = Sense::new(Key::Miscompare, Code::MISCOMPARE_DURING_VERIFY);
                self.check(&sense.with_information(at))
            }
            Outcome::Failed(sense) => {
                of.uncorrected += u64::from(sense.key == Key::MediumError);
                let ending = self.check(&sense);
                // A command of which the data are not available has not failed.
                match sense.key {
                    Key::Completed => Ending { status: Status::Good, ..ending },
                    _ => ending,
                }
            }
        }
    }

    /// An end with sense data, in the format that the control page asks for.
    pub fn check(&self, sense: &Sense) -> Ending {
        Ending { status: Status::CheckCondition, sense: sense.bytes(self.pages.descriptor_sense()), data: Vec::new() }
    }

    /// A logical unit reset, or one of the target.
    pub fn reset(&mut self, code: Code) {
        self.attentions.reset(code);
        self.reserved = None;
        let before = self.pages.clone();
        self.pages.restore();
        self.settings_changed(&before);
        self.is_stopped = false;
    }

    /// Power was lost and is back.
    pub fn lose_power(&mut self) {
        self.reset(Code::POWER_ON);
        self.reservations.lose_power();
    }

    /// CLEAR TASK SET of an initiator has ended commands of others.
    pub fn cleared(&mut self, nexus: Nexus) {
        let code = Code::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR;
        self.attentions.tell_others(Some(nexus), code);
    }

    /// MODE SELECT has changed something.
    pub(crate) fn modes_changed(&mut self, by: Nexus, before: &Pages) {
        (self.attentions).tell_others(Some(by), Code::MODE_PARAMETERS_CHANGED);
        self.settings_changed(before);
    }

    /// What of the drive follows from pages that were different before.
    fn settings_changed(&mut self, before: &Pages) {
        let (old, new) = (before.timers(&self.disk), self.pages.timers(&self.disk));
        let changed = new.into_iter().filter(|timer| !old.contains(timer));
        (self.effects).extend(changed.map(|(c, span)| Effect::Timer(c, span)));
        let limits = self.pages.limits();
        if let Some(limits) = limits.filter(|l| before.limits().as_ref() != Some(l)) {
            self.effects.push(Effect::Limits(Box::new(limits)));
        }
    }

    /// The duration limits of the drive, and what it has counted of them, before a command that shows them.
    pub fn follow_limits(&mut self, limits: &LimitsSpec, counts: Option<CountsByLimit>) {
        if self.pages.follow(limits) {
            (self.attentions).tell_others(None, Code::MODE_PARAMETERS_CHANGED);
        }
        self.limit_counts = counts.unwrap_or_default();
    }

    pub(crate) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Tells all connections of a port but one.
    pub(crate) fn tell_port(&mut self, port: &str, code: Code, but: Option<Nexus>) {
        let of_port = self.ports.iter().filter(|(n, p)| *p == port && Some(**n) != but);
        for (nexus, _) in of_port {
            self.attentions.tell(*nexus, code);
        }
    }

    /// The drive removes or restores elements, or could not; `None`: it does not.
    pub fn set_away(&mut self, away: Option<Away>) {
        self.away = away;
    }

    /// The number of blocks has changed. Initiators are told.
    pub fn resize(&mut self, blocks: u64) {
        if std::mem::replace(&mut self.disk.blocks, blocks) != blocks {
            (self.attentions).tell_others(None, Code::CAPACITY_DATA_HAS_CHANGED);
        }
    }

    /// Why the unit is away, for REQUEST SENSE.
    pub(crate) fn away(&self) -> Option<Sense> {
        self.away.map(|away| away.sense)
    }

    /// Whether the unit takes commands that use the medium.
    ///
    /// # Errors
    /// START STOP UNIT has stopped it.
    pub(crate) fn check_ready(&self) -> Result<(), Sense> {
        match self.is_stopped {
            true => Err(Sense::new(Key::NotReady, Code::INITIALIZING_COMMAND_REQUIRED)),
            false => Ok(()),
        }
    }

    /// Whether writes are allowed.
    ///
    /// # Errors
    /// The control page forbids them.
    pub(crate) fn may_write(&self) -> Result<(), Sense> {
        match self.pages.is_protected() {
            true => Err(Sense::new(Key::DataProtect, Code::SOFTWARE_WRITE_PROTECTED)),
            false => Ok(()),
        }
    }

    /// START STOP UNIT starts or stops the spindle.
    pub(crate) fn start(&mut self, starts: bool) {
        self.counts.starts += u32::from(starts && self.is_stopped);
        self.is_stopped = !starts;
        match starts {
            true => self.effect(Effect::Condition(Condition::Active)),
            false if self.disk.has(Condition::Standby) => {
                self.effect(Effect::Condition(Condition::Standby));
            }
            false => {}
        }
    }

    /// RESERVE; false for a conflict. Whoever uses persistent reservations has none of these.
    pub(crate) fn reserve(&mut self, nexus: Nexus) -> bool {
        if !self.reservations.registrations.is_empty() {
            return false;
        }
        self.reserved = Some(nexus);
        true
    }

    /// RELEASE; of a unit that another has reserved nothing happens.
    pub(crate) fn release(&mut self, nexus: Nexus) -> bool {
        if !self.reservations.registrations.is_empty() {
            return false;
        }
        self.reserved = self.reserved.filter(|holder| *holder != nexus);
        true
    }

    /// The drive predicts a failure, or no longer. Initiators that the informational exceptions page wants to be told get a
    /// unit attention.
    pub fn predict(&mut self, code: Code) {
        let is_new = code != self.prediction;
        self.prediction = code;
        if is_new && code != Code::NONE && self.pages.tells_exceptions() {
            self.attentions.tell_others(None, code);
        }
    }
}
