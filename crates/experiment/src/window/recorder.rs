//! Records what a drive does in a window.

use super::record::{ArmRecord, CommandRecord, DriveRecord, PhaseRecord, RotationRecord, SampleRecord, UnitRecord};
use super::{Records, Window, MOST_SAMPLES};
use headstack_drive::drive::Watch;
use headstack_drive::{Completion, Drive, DriveRequest};
use headstack_units::Time;
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// Shortest time between samples, in nanoseconds.
const LEAST_STEP_NS: u64 = 10_000;

/// Time between two looks at the drive before the window, in nanoseconds: what it tells is dropped then.
const EARLY_STEP_NS: u64 = 100_000_000;

/// The recorder of a drive. Times are in nanoseconds.
pub(super) struct Recorder {
    /// The number of the drive, by which the record is left in `records`.
    index: u32,
    records: Records,
    from: u64,
    until: u64,
    step: u64,
    record: DriveRecord,
    /// Commands in the drive, by the host's number.
    open: BTreeMap<u64, CommandRecord>,
    /// Energy at the last sample since the last reset, and before that reset since the last sample.
    joules: f64,
    carried: f64,
}

impl Recorder {
    /// Of drive number `index` of a system, whose record is in `records` at the end of the window.
    pub fn new(drive: &Drive, index: u32, window: &Window, records: Records) -> Recorder {
        let (from, until) = (window.from.0, window.until.0);
        // The last sample is at the end of the window.
        let step = ((until - from).div_ceil(MOST_SAMPLES)).max(LEAST_STEP_NS);
        let arms: Vec<ArmRecord> = drive.arms_shown().into_iter().map(ArmRecord::from).collect();
        let units = drive.units_shown();
        Recorder {
            index,
            records,
            from,
            until,
            step,
            open: BTreeMap::new(),
            joules: 0.0,
            carried: 0.0,
            record: DriveRecord {
                name: String::new(),
                capacity_blocks: drive.design.capacity_blocks(),
                moves_writes: drive.moves_writes(),
                phases: arms.iter().map(|_| Vec::new()).collect(),
                arms,
                rotations: (0..).zip(&units).map(|(number, unit)| RotationRecord::of(number, unit, 0)).collect(),
                units: units.iter().map(|u| UnitRecord { stack: u.stack, positions: u.positions }).collect(),
                commands: Vec::new(),
                samples: SampleRecord { from_ns: from, step_ns: step, ..SampleRecord::default() },
                last_completion_ns: 0,
            },
        }
    }

    /// Adds a phase if it is in the window. One without work that goes on is one phase.
    fn phase(&mut self, arm: usize, phase: PhaseRecord) {
        if phase.to_ns <= self.from {
            if let Some(track) = phase.track {
                self.record.arms[arm].track = track;
            }
            return;
        }
        if phase.from_ns > self.until {
            return;
        }
        let phases = &mut self.record.phases[arm];
        if let Some(last) = phases.last_mut().filter(|_| phase.work.is_none()) {
            let goes_on = PhaseRecord { from_ns: last.from_ns, ..phase };
            if last.to_ns == phase.from_ns && *last == (PhaseRecord { to_ns: last.to_ns, ..goes_on }) {
                *last = goes_on;
                return;
            }
        }
        phases.push(phase);
    }

    /// Notices a change of spindle speed.
    fn turns(&mut self, drive: &Drive, at: u64) {
        for (number, unit) in (0..).zip(drive.units_shown()) {
            let rotations = &mut self.record.rotations;
            let last = rotations.iter().rev().find(|r| r.unit == number);
            let period = unit.rotation.period_ns;
            if last.is_none_or(|r| r.period_ns != period) {
                rotations.push(RotationRecord::of(number, &unit, at));
            }
        }
        if at == self.from {
            // Angles are counted from the begin of the window.
            let units = drive.units_shown();
            let now = (0..).zip(&units);
            self.record.rotations = now.map(|(n, u)| RotationRecord::of(n, u, at)).collect();
        }
    }

    /// Leaves the record where it is looked for.
    fn leave(&mut self) {
        let (open, until) = (std::mem::take(&mut self.open), self.until);
        let mut record = std::mem::take(&mut self.record);
        record.commands.extend(open.into_values().filter(|c| c.arrival_ns <= until));
        record.commands.sort_by_key(|c| (c.arrival_ns, c.block));
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.insert(self.index, record);
    }
}

impl Watch for Recorder {
    fn look(&mut self, at: Time, drive: &mut Drive) -> Option<Time> {
        let joules = drive.joules(at).total();
        let drawn = joules - self.joules + self.carried;
        (self.joules, self.carried) = (joules, 0.0);
        let mut told = Vec::new();
        drive.tell_phases(at, &mut |p| told.push(*p));
        for phase in &told {
            self.phase(phase.assembly as usize, PhaseRecord::from(phase));
        }
        self.turns(drive, at.0);
        if at.0 < self.from {
            return Some(Time((at.0 + EARLY_STEP_NS).min(self.from)));
        }
        if at.0 > self.from {
            let seconds = self.step as f64 * 1e-9;
            self.record.samples.power_w.push(drawn / seconds);
        }
        self.record.samples.add(drive.buffered());
        if at.0 < self.until {
            return Some(Time(at.0 + self.step));
        }
        self.leave();
        None
    }

    fn submitted(&mut self, now: Time, request: &DriveRequest, drive: &Drive) {
        self.open.insert(request.id, CommandRecord::new(drive, now, request));
    }

    fn completed(&mut self, c: &Completion) {
        if let Some(command) = self.open.remove(&c.id) {
            let last = &mut self.record.last_completion_ns;
            *last = (*last).max(c.completion.0);
            if c.completion.0 > self.from && command.arrival_ns <= self.until {
                self.record.commands.push(command.completed(c));
            }
        }
    }

    fn restarted(&mut self, now: Time, drive: &mut Drive) {
        self.carried += drive.joules(now).total() - self.joules;
        self.joules = 0.0;
    }
}
