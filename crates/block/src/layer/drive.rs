//! A drive as a layer: the leaf of every tree.

use super::{not_supported, Becomes, Branch, DriveFacts, ErrorKind, FailedZone, FailureSetting, Flow, Layer, Setting};
use crate::measured::MemberOutcome;
use crate::member::of_drive;
use headstack_drive::power::conditions::Condition;
use headstack_drive::zoned::ZoneCondition;
use headstack_drive::{Command, Drive, DriveEnergy, DriveRequest, Setting as DriveSetting};
use headstack_engine::{ByMode, SpecError};
use headstack_schema::OneOf;
use headstack_units::{Lba, Time};
use std::ops::Range;

/// Changes a setting of a drive at `now`, to which it was advanced.
///
/// # Errors
/// A setting that the drive refuses.
pub(crate) fn change_drive(drive: &mut Drive, now: Time, setting: &Setting) -> Result<(), SpecError> {
    match setting {
        Setting::Drive(setting) => drive.set(now, setting.clone()),
        Setting::Failure(FailureSetting::Part(part)) => drive.fail(now, *part),
        Setting::Failure(FailureSetting::Zone(FailedZone { block, becomes })) => {
            let to = match becomes {
                Becomes::ReadOnly => ZoneCondition::ReadOnly,
                Becomes::Offline => ZoneCondition::Offline,
            };
            let need = "the first block of a zone with a write pointer that is not offline";
            drive.fail_zone(Lba(*block), to).map_err(|_| SpecError::new("setting.block", block, need))
        }
        other => Err(not_supported("a drive", other, &[DriveSetting::names(), FailureSetting::names()].concat())),
    }
}

/// A drive as a layer. Its logical units are the layer's units.
///
/// The drive announces a completion when the service begins; the layer passes it on at once.
pub struct DriveLayer {
    pub(super) drive: Drive,
    /// The drive's number in the system.
    index: u32,
    /// First block and size of each unit, in 512-byte blocks.
    units: Vec<(u64, u64)>,
    aborted: Vec<u64>,
    outcome: MemberOutcome,
    removal: Removal,
    /// What was changed of the drive while it runs, for one that takes its place.
    settings: Vec<DriveSetting>,
}

impl DriveLayer {
    /// Drive number `index` of the system.
    pub fn branch(drive: Drive, index: u32) -> Branch {
        let units = units_of(drive.design.logical_units());
        let layer = DriveLayer {
            drive,
            index,
            units,
            aborted: Vec::new(),
            outcome: MemberOutcome::default(),
            removal: Removal::default(),
            settings: Vec::new(),
        };
        Branch::new(Box::new(layer), Vec::new())
    }
}

/// Whether the drive is out of the system.
#[derive(Debug, Default)]
struct Removal {
    removed: bool,
    /// It was in the system at some time since the last reset.
    was_there: bool,
    /// What it took from the last reset to its last return or, of a removed one, to its removal.
    before: DriveEnergy,
}

/// Where the units of a drive begin in its blocks, and how large they are.
fn units_of(sizes: Vec<u64>) -> Vec<(u64, u64)> {
    let mut first = 0;
    let place = |blocks: u64| {
        let start = first;
        first += blocks;
        (start, blocks)
    };
    sizes.into_iter().map(place).collect()
}

impl DriveLayer {
    /// A drive that takes the place of this one gets the last setting of each kind, in order. The power condition belongs to
    /// the drive that was there.
    fn remember(&mut self, setting: &DriveSetting) {
        if matches!(setting, DriveSetting::PowerCondition(_)) {
            return;
        }
        let is_same = |old: &DriveSetting| match (old, setting) {
            (DriveSetting::IdleTimer { condition: a, .. }, DriveSetting::IdleTimer { condition: b, .. }) => a == b,
            _ => std::mem::discriminant(old) == std::mem::discriminant(setting),
        };
        self.settings.retain(|old| !is_same(old));
        self.settings.push(setting.clone());
    }
}

impl Layer for DriveLayer {
    fn name(&self) -> &str {
        "drive"
    }

    fn units(&self) -> Vec<u64> {
        self.units.iter().map(|u| u.1).collect()
    }

    fn submit(&mut self, request: u32, flow: &mut Flow) {
        let (asked, id) = (flow[request].request, u64::from(flow[request].tag));
        let (lba, blocks) = match asked.command {
            Command::Flush => (0, 0),
            _ => (self.units[asked.unit as usize].0 + asked.lba, asked.blocks),
        };
        let own = DriveRequest { id, command: asked.command, lba: Lba(lba), blocks, hint: asked.hint };
        self.drive.submit(flow.now, own);
    }

    /// Drives have no layers below.
    fn ended(&mut self, _request: u32, _flow: &mut Flow) {}

    fn next_event(&self) -> Time {
        self.drive.next_event()
    }

    fn happen(&mut self, flow: &mut Flow) {
        let until = Time(flow.now.0 + 1);
        self.drive.advance(until, &mut |c| {
            let request = flow.with_tag(c.id);
            let done = &mut flow[request].done;
            *done = of_drive(c, self.index);
            // Requests outside the drive were refused earlier.
            if done.error == Some(ErrorKind::Unreachable) {
                if let Some(i) = self.aborted.iter().position(|aborted| *aborted == c.id) {
                    self.aborted.swap_remove(i);
                    done.error = Some(ErrorKind::Aborted);
                }
            }
            if flow.counts_from(c.arrival) {
                self.outcome.served.count(c);
            }
            flow.end(request);
        });
    }

    fn abort(&mut self, request: u32, flow: &mut Flow) {
        let id = u64::from(flow[request].tag);
        if self.drive.abort(flow.now, id) {
            self.aborted.push(id);
        }
    }

    fn set(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError> {
        let now = flow.now;
        self.drive.bring_to(now);
        change_drive(&mut self.drive, now, setting)?;
        if let Setting::Drive(setting) = setting {
            self.remember(setting);
        }
        Ok(())
    }

    fn reset_statistics(&mut self, now: Time) {
        self.drive.bring_to(now);
        self.drive.reset_statistics(now);
        self.outcome = MemberOutcome::default();
        self.removal.before = DriveEnergy::default();
        self.removal.was_there = !self.removal.removed;
    }

    fn drive(&self) -> Option<&DriveLayer> {
        Some(self)
    }

    fn drive_mut(&mut self) -> Option<&mut DriveLayer> {
        Some(self)
    }
}

/// What only drives have.
impl DriveLayer {
    /// Energy from the last reset to `until`, without that of the time in which it was removed.
    pub fn energy(&mut self, until: Time) -> DriveEnergy {
        self.drive.bring_to(until);
        let mut sum = self.removal.before;
        if !self.removal.removed {
            sum.add(&self.drive.energy(until));
        }
        sum
    }

    /// The joules of [`DriveLayer::energy`] by state.
    pub fn joules(&mut self, until: Time) -> ByMode {
        self.drive.bring_to(until);
        let mut sum = self.removal.before.joules();
        if !self.removal.removed {
            sum.add(&self.drive.joules(until));
        }
        sum
    }

    /// From `now` on the drive is out of the system, and draws nothing, or is in it.
    pub fn set_removed(&mut self, now: Time, removed: bool) {
        self.removal.was_there |= !removed;
        if removed == self.removal.removed {
            return;
        }
        if removed {
            self.removal.before = self.energy(now);
        } else {
            self.drive.bring_to(now);
            self.drive.reset_statistics(now);
        }
        self.removal.removed = removed;
    }

    /// What a host sees of it.
    pub fn facts(&self) -> DriveFacts {
        let (drive, design) = (&self.drive, &self.drive.design);
        let (spec, conditions) = (design.spec(), design.conditions());
        let limits = drive.duration_limits();
        DriveFacts {
            number: self.index,
            model: spec.name.clone(),
            sector_bytes: spec.geometry.sector_size.0,
            rpm: spec.geometry.rotation_speed.0.round() as u32,
            write_cache: spec.cache.write_back,
            zones: drive.zone_rules(),
            conditions: (Condition::LOW.into_iter())
                .filter(|c| conditions.has(*c))
                .map(|c| (c, conditions.timer(c)))
                .collect(),
            queue_depth: drive.queue_depth(),
            access_ranges: design.access_ranges(),
            has_limits: !limits.reads.is_empty() || !limits.writes.is_empty(),
            heeded: limits.enabled,
        }
    }

    /// Puts another drive in its place, at `now`: it has the settings of this one, and the same numbers of requests. Nothing
    /// may be under way.
    pub fn exchange(&mut self, now: Time, drive: Drive) {
        self.drive = drive;
        self.units = units_of(self.drive.design.logical_units());
        for setting in &self.settings {
            // The drive that was there has taken it.
            let _ = self.drive.set(now, setting.clone());
        }
    }

    /// Gives those of the blocks of a unit to `sink` that a loss of power would lose, though their writes have ended: they
    /// are in its buffer. False if there is no such unit.
    pub fn unwritten(&self, unit: u32, blocks: Range<u64>, sink: &mut dyn FnMut(Range<u64>)) -> bool {
        let Some(&(first, _)) = self.units.get(unit as usize) else { return false };
        let range = first + blocks.start..first + blocks.end;
        self.drive.unwritten(range, &mut |r| sink(r.start - first..r.end - first));
        true
    }

    /// Measurements up to `until`.
    pub fn outcome(&mut self, until: Time) -> MemberOutcome {
        let energy = self.energy(until);
        self.outcome.observe(&self.drive, until);
        MemberOutcome { energy, is_absent: !self.removal.was_there, ..self.outcome.clone() }
    }
}
