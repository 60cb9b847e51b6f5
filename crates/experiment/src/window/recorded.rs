//! A drive that keeps a record of what it does in a window.

use super::record::{ArmRecord, CommandRecord, DriveRecord, PhaseRecord, RotationRecord, SampleRecord, UnitRecord};
use super::{Records, Window, MOST_SAMPLES};
use headstack_block::member::Member;
use headstack_drive::{Completion, Drive, DriveEnergy, DriveRequest, Part, Setting};
use headstack_engine::{ByMode, SpecError};
use headstack_units::Time;
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// Shortest time between samples, in nanoseconds.
const LEAST_STEP_NS: u64 = 10_000;

/// Time between two looks at the drive before the window, in nanoseconds: what it tells is dropped then.
const EARLY_STEP_NS: u64 = 100_000_000;

/// A drive with its record.
pub struct Recorded {
    drive: Drive,
    index: u32,
    /// `None` once the window has passed.
    recorder: Option<Box<Recorder>>,
    records: Records,
    /// Completions that the drive announced while it was sampled.
    early: Vec<Completion>,
}

/// What is recorded. Times are in nanoseconds.
struct Recorder {
    from: u64,
    until: u64,
    step: u64,
    /// When the drive is looked at next.
    next: u64,
    record: DriveRecord,
    /// Commands in the drive, by the host's number.
    open: BTreeMap<u64, CommandRecord>,
    /// Energy at the last sample since the last reset, and before that reset since the last sample.
    joules: f64,
    carried: f64,
}

impl Recorded {
    /// Drive number `index` of a system, which leaves its record in `records` at the end of the window.
    pub fn new(mut drive: Drive, index: u32, window: &Window, records: Records) -> Recorded {
        drive.listen(Time::ZERO);
        let recorder = Recorder::new(&drive, window);
        Recorded { drive, index, recorder: Some(Box::new(recorder)), records, early: Vec::new() }
    }

    /// Looks at the drive at all times before `until` at which that is due.
    fn look(&mut self, until: Time) {
        while let Some(recorder) = self.recorder.as_mut().filter(|r| r.next < until.0) {
            let at = Time(recorder.next);
            if self.drive.next_event() < at {
                let early = &mut self.early;
                self.drive.advance(at, &mut |c| {
                    recorder.completes(c);
                    early.push(*c);
                });
            }
            recorder.sample(&mut self.drive);
            if at.0 >= recorder.until {
                self.leave();
            }
        }
    }

    /// Leaves the record where it is looked for.
    fn leave(&mut self) {
        if let Some(recorder) = self.recorder.take() {
            let record = recorder.end();
            let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            records.insert(self.index, record);
        }
    }
}

impl Drop for Recorded {
    /// A run that ends inside the window leaves the drive to itself for the rest of it.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.look(Time::NEVER);
        }
    }
}

impl Recorder {
    pub fn new(drive: &Drive, window: &Window) -> Recorder {
        let (from, until) = (window.from.0, window.until.0);
        // The last sample is at the end of the window.
        let step = ((until - from).div_ceil(MOST_SAMPLES)).max(LEAST_STEP_NS);
        let arms: Vec<ArmRecord> = drive.arms_shown().into_iter().map(ArmRecord::from).collect();
        let units = drive.units_shown();
        Recorder {
            from,
            until,
            step,
            next: 0,
            open: BTreeMap::new(),
            joules: 0.0,
            carried: 0.0,
            record: DriveRecord {
                name: String::new(),
                capacity_blocks: drive.capacity_blocks(),
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

    /// Looks at the drive, which was advanced to the time at which that is due.
    fn sample(&mut self, drive: &mut Drive) {
        let at = Time(self.next);
        let joules = drive.joules(at).total();
        let drawn = joules - self.joules + self.carried;
        (self.joules, self.carried) = (joules, 0.0);
        let mut told = Vec::new();
        drive.tell_phases(at, &mut |p| told.push(*p));
        for phase in &told {
            self.phase(phase.assembly as usize, PhaseRecord::from(phase));
        }
        self.turns(drive, at.0);
        if at.0 >= self.from {
            if at.0 > self.from {
                let seconds = self.step as f64 * 1e-9;
                self.record.samples.power_w.push(drawn / seconds);
            }
            self.record.samples.add(drive.buffered());
            self.next = at.0 + self.step;
        } else {
            self.next = (at.0 + EARLY_STEP_NS).min(self.from);
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
            let period = unit.rotation.period_ns();
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

    fn completes(&mut self, c: &Completion) {
        if let Some(command) = self.open.remove(&c.id) {
            let last = &mut self.record.last_completion_ns;
            *last = (*last).max(c.completion.0);
            if c.completion.0 > self.from && command.arrival_ns <= self.until {
                self.record.commands.push(command.completed(c));
            }
        }
    }

    /// The record at the end of the window.
    fn end(mut self) -> DriveRecord {
        let open = self.open.into_values();
        let until = self.until;
        let waiting = open.filter(|c| c.arrival_ns <= until);
        self.record.commands.extend(waiting);
        self.record.commands.sort_by_key(|c| (c.arrival_ns, c.block));
        self.record
    }
}

impl Member for Recorded {
    type Report = Completion;
    fn capacity_blocks(&self) -> u64 {
        Member::capacity_blocks(&self.drive)
    }
    fn drive(&self) -> Option<&Drive> {
        Some(&self.drive)
    }
    fn drive_mut(&mut self) -> Option<&mut Drive> {
        Some(&mut self.drive)
    }
    fn submit(&mut self, now: Time, request: DriveRequest, submitter: u32) {
        self.look(now);
        if let Some(recorder) = &mut self.recorder {
            let command = CommandRecord::new(&self.drive, now, &request);
            recorder.open.insert(request.id, command);
        }
        Member::submit(&mut self.drive, now, request, submitter);
    }
    fn next_event(&self) -> Time {
        match self.early.is_empty() {
            true => Member::next_event(&self.drive),
            false => Time::ZERO,
        }
    }
    fn advance(&mut self, until: Time, sink: &mut impl FnMut(&Completion)) {
        self.look(until);
        self.early.drain(..).for_each(|c| sink(&c));
        match &mut self.recorder {
            Some(recorder) => Member::advance(&mut self.drive, until, &mut |c| {
                recorder.completes(c);
                sink(c);
            }),
            None => Member::advance(&mut self.drive, until, sink),
        }
    }
    fn queue_len(&self) -> usize {
        Member::queue_len(&self.drive)
    }
    fn energy(&mut self, until: Time) -> DriveEnergy {
        self.look(until);
        Member::energy(&mut self.drive, until)
    }
    fn joules(&mut self, until: Time) -> ByMode {
        self.look(until);
        Member::joules(&mut self.drive, until)
    }
    fn reset_statistics(&mut self, now: Time) {
        self.look(now);
        if let Some(recorder) = &mut self.recorder {
            recorder.carried += self.drive.joules(now).total() - recorder.joules;
            recorder.joules = 0.0;
        }
        Member::reset_statistics(&mut self.drive, now);
    }
    fn set(&mut self, now: Time, setting: Setting) -> Result<(), SpecError> {
        self.look(now);
        Member::set(&mut self.drive, now, setting)
    }
    fn fail(&mut self, now: Time, part: Part) -> Result<(), SpecError> {
        self.look(now);
        Member::fail(&mut self.drive, now, part)
    }
    fn abort(&mut self, now: Time, id: u64) -> bool {
        self.look(now);
        Member::abort(&mut self.drive, now, id)
    }
}
