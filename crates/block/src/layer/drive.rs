//! A drive as a layer: the leaf of every tree.

use super::{
    fail_zone, not_supported, Branch, DriveFacts, DriveNode, ErrorKind, Flow, Layer, LayerCompletion, Setting,
};
use crate::measured::MemberOutcome;
use crate::member::{of_drive, Member};
use headstack_drive::power::conditions::Condition;
use headstack_drive::{Command, Completion, Drive, DriveEnergy, DriveRequest, Hint, Setting as DriveSetting};
use headstack_engine::{ByMode, SpecError};
use headstack_trace::Ioprio;
use headstack_units::{Lba, Span, Time};
use std::ops::Range;

/// Settings that a drive accepts.
pub(crate) const SETTINGS: &[&str] = &[
    "queue_depth",
    "scheduler",
    "arms_in_motion",
    "duration_limits",
    "heeded_hints",
    "power_condition",
    "idle_timer",
    "spindle_speed",
    "fail",
    "fail_zone",
];

/// A drive as a layer. Its logical units are the layer's units.
///
/// The drive announces a completion when the service begins; the layer passes it on at once.
pub struct DriveLayer<M> {
    drive: M,
    /// The drive's number in the system.
    index: u32,
    /// First block and size of each unit, in 512-byte blocks.
    units: Vec<(u64, u64)>,
    /// The number of the request with a tag.
    requests: Vec<u32>,
    aborted: Vec<u64>,
    outcome: MemberOutcome,
    removal: Removal,
    /// What was changed of the drive while it runs, for one that takes its place.
    settings: Vec<DriveSetting>,
    /// Completions that the drive announced when it was measured.
    early: Vec<Completion>,
}

impl<M: Member<Report = Completion> + 'static> DriveLayer<M> {
    /// Drive number `index` of the system.
    pub fn branch(drive: M, index: u32) -> Branch {
        let units = units_of(drive.logical_units());
        let layer = DriveLayer {
            drive,
            index,
            units,
            requests: Vec::new(),
            aborted: Vec::new(),
            outcome: MemberOutcome::default(),
            removal: Removal::default(),
            settings: Vec::new(),
            early: Vec::new(),
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

impl<M: Member<Report = Completion>> DriveLayer<M> {
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

    /// Advances the drive to `until`; its completions wait for [`Layer::happen`].
    fn bring_to(&mut self, until: Time) {
        // Nearly always the drive was advanced so far already.
        if self.drive.next_event() < until {
            let early = &mut self.early;
            self.drive.advance(until, &mut |c| early.push(*c));
        }
    }
}

/// Counts completions and announces them to the layer above.
struct Count<'a> {
    index: u32,
    requests: &'a [u32],
    aborted: &'a mut Vec<u64>,
    outcome: &'a mut MemberOutcome,
}

impl Count<'_> {
    #[inline(always)]
    fn report(&mut self, c: &Completion, flow: &mut Flow) {
        let request = self.requests[c.id as usize];
        let done = &mut flow[request].done;
        *done = LayerCompletion { id: done.id, ..of_drive(c, self.index) };
        if c.error {
            done.error = Some(self.error_of(c));
        }
        if flow.counts_from(c.arrival) {
            self.outcome.served.count(c);
        }
        flow.end(request);
    }

    #[cold]
    fn error_of(&mut self, c: &Completion) -> ErrorKind {
        if let Some(sense) = c.sense {
            return ErrorKind::Zone(sense);
        }
        if c.limit.fails() {
            return ErrorKind::Limit(c.limit);
        }
        match self.aborted.iter().position(|aborted| *aborted == c.id) {
            Some(i) => {
                self.aborted.swap_remove(i);
                ErrorKind::Aborted
            }
            // Requests outside the drive were refused earlier.
            None => ErrorKind::Unreachable,
        }
    }
}

impl<M: Member<Report = Completion>> Layer for DriveLayer<M> {
    fn name(&self) -> &str {
        "drive"
    }

    fn units(&self) -> Vec<u64> {
        self.units.iter().map(|u| u.1).collect()
    }

    fn submit(&mut self, request: u32, flow: &mut Flow) {
        let (asked, tag) = (flow[request].request, flow[request].tag);
        if tag as usize >= self.requests.len() {
            self.requests.resize(tag as usize + 1, 0);
        }
        self.requests[tag as usize] = request;
        let (lba, blocks) = match asked.command {
            Command::Flush => (0, 0),
            _ => (self.units[asked.unit as usize].0 + asked.lba, asked.blocks),
        };
        let own = DriveRequest { id: u64::from(tag), command: asked.command, lba: Lba(lba), blocks, hint: asked.hint };
        self.drive.submit(flow.now(), own, asked.submitter);
    }

    /// Drives have no layers below.
    fn ended(&mut self, _request: u32, _flow: &mut Flow) {}

    fn next_event(&self) -> Time {
        match self.early.is_empty() {
            true => self.drive.next_event(),
            false => Time::ZERO,
        }
    }

    fn happen(&mut self, flow: &mut Flow) {
        let mut count = Count {
            index: self.index,
            requests: &self.requests,
            aborted: &mut self.aborted,
            outcome: &mut self.outcome,
        };
        self.early.drain(..).for_each(|c| count.report(&c, flow));
        let until = Time(flow.now().0 + 1);
        self.drive.advance(until, &mut |c| count.report(c, flow));
    }

    fn abort(&mut self, request: u32, flow: &mut Flow) {
        let id = u64::from(flow[request].tag);
        if self.drive.abort(flow.now(), id) {
            self.aborted.push(id);
        }
    }

    fn set(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError> {
        let now = flow.now();
        self.bring_to(now);
        match setting {
            Setting::Drive(setting) => {
                self.drive.set(now, setting.clone())?;
                self.remember(setting);
                Ok(())
            }
            Setting::FailPart(part) => self.drive.fail(now, *part),
            Setting::FailZone(failed) => fail_zone(self.drive.drive_mut(), *failed),
            other => Err(not_supported("a drive", other, SETTINGS)),
        }
    }

    fn reset_statistics(&mut self, now: Time) {
        self.bring_to(now);
        self.drive.reset_statistics(now);
        self.outcome = MemberOutcome::default();
        self.removal.before = DriveEnergy::default();
        self.removal.was_there = !self.removal.removed;
    }

    fn drive(&self) -> Option<&dyn DriveNode> {
        Some(self)
    }

    fn drive_mut(&mut self) -> Option<&mut dyn DriveNode> {
        Some(self)
    }
}

impl<M: Member<Report = Completion>> DriveNode for DriveLayer<M> {
    fn energy(&mut self, until: Time) -> DriveEnergy {
        self.bring_to(until);
        let mut sum = self.removal.before;
        if !self.removal.removed {
            sum.add(&self.drive.energy(until));
        }
        sum
    }

    fn joules(&mut self, until: Time) -> ByMode {
        self.bring_to(until);
        let mut sum = self.removal.before.joules();
        if !self.removal.removed {
            sum.add(&self.drive.joules(until));
        }
        sum
    }

    fn add_joules(&mut self, until: Time, sums: &mut Vec<f64>) {
        sums.push(self.joules(until).total());
    }

    fn set_removed(&mut self, now: Time, removed: bool) {
        self.removal.was_there |= !removed;
        if removed == self.removal.removed {
            return;
        }
        if removed {
            self.removal.before = self.energy(now);
        } else {
            self.bring_to(now);
            self.drive.reset_statistics(now);
        }
        self.removal.removed = removed;
    }

    fn arms(&self) -> u32 {
        self.drive.arms()
    }

    fn conditions(&self) -> Vec<Condition> {
        self.drive.conditions()
    }

    fn facts(&self) -> DriveFacts {
        let facts = DriveFacts {
            number: self.index,
            queue_depth: self.drive.queue_depth(),
            access_ranges: self.drive.access_ranges(),
            has_limits: self.drive.has_limits(),
            heeded: self.drive.heeded(),
            ..DriveFacts::default()
        };
        let Some(drive) = self.drive.drive() else {
            return facts;
        };
        let design = drive.design();
        let (spec, conditions) = (design.spec(), design.conditions());
        let timer = |c| conditions.timer(c).map(|ns| Span(ns as i64));
        DriveFacts {
            model: spec.name.clone(),
            sector_bytes: spec.geometry.sector_size.0,
            rpm: spec.geometry.rotation_speed.0.round() as u32,
            write_cache: spec.cache.write_back,
            zones: drive.zone_rules(),
            conditions: (Condition::LOW.into_iter()).filter(|c| conditions.has(*c)).map(|c| (c, timer(c))).collect(),
            ..facts
        }
    }

    fn modelled(&self) -> Option<&Drive> {
        self.drive.drive()
    }

    fn modelled_mut(&mut self) -> Option<&mut Drive> {
        self.drive.drive_mut()
    }

    fn exchange(&mut self, now: Time, drive: Drive) -> bool {
        let Some(own) = self.drive.drive_mut() else {
            return false;
        };
        *own = drive;
        self.units = units_of(own.logical_units());
        for setting in &self.settings {
            // The drive that was there has taken it.
            let _ = self.drive.set(now, setting.clone());
        }
        true
    }

    fn unwritten(&self, unit: u32, blocks: Range<u64>, sink: &mut dyn FnMut(Range<u64>)) -> bool {
        let Some(&(first, _)) = self.units.get(unit as usize) else {
            return false;
        };
        let range = first + blocks.start..first + blocks.end;
        let mut told = |r: Range<u64>| sink(r.start - first..r.end - first);
        self.drive.unwritten(range, &mut told)
    }

    fn hint(&self, priority: Ioprio) -> Hint {
        self.drive.hint(priority)
    }

    fn outcome(&mut self, until: Time) -> MemberOutcome {
        let energy = self.energy(until);
        self.outcome.observe(&self.drive, until);
        MemberOutcome { energy, is_absent: !self.removal.was_there, ..self.outcome.clone() }
    }
}
