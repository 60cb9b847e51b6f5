//! A drive as a layer: the leaf of every tree.

use super::{not_supported, ErrorKind, Layer, LayerCompletion, Request, Setting, Statistics};
use crate::member::{CompletionReport, Member};
use crate::simulate::MemberOutcome;
use headstack_drive::power::conditions::Condition;
use headstack_drive::{Command, Completion, DriveEnergy, DriveRequest};
use headstack_engine::SpecError;
use headstack_units::{Lba, Time};

/// Settings that a drive accepts.
pub(crate) const SETTINGS: &[&str] = &[
    "queue_depth",
    "scheduler",
    "arms_in_motion",
    "power_condition",
    "idle_timer",
    "spindle_speed",
    "fail",
    "abort",
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
    /// The latest time that the layer was given.
    now: Time,
    /// Completions of requests that were refused before they reached the drive.
    refused: Vec<LayerCompletion>,
    aborted: Vec<u64>,
    outcome: MemberOutcome,
    statistics: Statistics,
    early: Vec<Completion>,
    /// The drive's next event.
    next: Time,
}

impl<M: Member<Report = Completion>> DriveLayer<M> {
    /// Drive number `index` of the system.
    pub fn new(drive: M, index: u32) -> DriveLayer<M> {
        let mut first = 0;
        let mut units = Vec::new();
        for blocks in drive.logical_units() {
            units.push((first, blocks));
            first += blocks;
        }
        DriveLayer {
            next: drive.next_event(),
            drive,
            index,
            units,
            now: Time::ZERO,
            refused: Vec::new(),
            aborted: Vec::new(),
            outcome: MemberOutcome::default(),
            statistics: Statistics::default(),
            early: Vec::new(),
        }
    }

    /// Advances the drive to `until`; its completions wait for [`Layer::advance`].
    fn bring_to(&mut self, until: Time) {
        // Nearly always the drive was advanced so far already.
        if self.next >= until {
            return;
        }
        let early = &mut self.early;
        self.drive.advance(until, &mut |c| early.push(*c));
        self.note();
    }

    /// Reads the drive's next event, after each call that may change it.
    #[inline]
    fn note(&mut self) {
        self.next = self.drive.next_event();
    }
}

/// Counts completions before they go to the layer above.
struct Count<'a> {
    index: u32,
    aborted: &'a mut Vec<u64>,
    outcome: &'a mut MemberOutcome,
    statistics: &'a mut Statistics,
}

impl Count<'_> {
    #[inline]
    fn report(&mut self, c: &Completion, sink: &mut dyn FnMut(&LayerCompletion)) {
        let mut done = c.done(self.index);
        if c.error {
            done.error = Some(self.error_of(c));
        }
        self.statistics.add_done(&done);
        if self.statistics.counts_from(done.arrival) {
            self.outcome.count(c);
        }
        sink(&done);
    }

    #[cold]
    fn error_of(&mut self, c: &Completion) -> ErrorKind {
        if let Some(sense) = c.sense {
            return ErrorKind::Zone(sense);
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

impl<M: Member<Report = Completion> + Send> Layer for DriveLayer<M> {
    fn name(&self) -> &str {
        "drive"
    }

    fn units(&self) -> Vec<u64> {
        self.units.iter().map(|u| u.1).collect()
    }

    fn submit(&mut self, now: Time, request: Request) {
        self.bring_to(now);
        self.now = now;
        let unit = self.units.get(request.unit as usize);
        let Some(&(first, _)) = unit.filter(|u| request.is_inside(u.1)) else {
            let error = Some(ErrorKind::OutOfRange);
            self.refused.push(LayerCompletion {
                drive: self.index,
                ..LayerCompletion::at_once(request.id, now, error)
            });
            return;
        };
        let flush = request.command == Command::Flush;
        self.drive.submit(
            now,
            DriveRequest {
                id: request.id,
                command: request.command,
                lba: Lba(if flush { 0 } else { first + request.lba }),
                blocks: if flush { 0 } else { request.blocks },
            },
        );
        self.note();
    }

    fn next_event(&self) -> Time {
        if self.refused.is_empty() && self.early.is_empty() {
            self.next.max(self.now)
        } else {
            self.now
        }
    }

    fn advance(&mut self, until: Time, sink: &mut dyn FnMut(&LayerCompletion)) {
        if until <= self.now && !(self.refused.is_empty() && self.early.is_empty()) {
            return;
        }
        self.now = self.now.max(Time(until.0.saturating_sub(1)));
        let mut count = Count {
            index: self.index,
            aborted: &mut self.aborted,
            outcome: &mut self.outcome,
            statistics: &mut self.statistics,
        };
        if !self.refused.is_empty() || !self.early.is_empty() {
            for done in self.refused.drain(..) {
                count.statistics.add_done(&done);
                sink(&done);
            }
            self.early.drain(..).for_each(|c| count.report(&c, sink));
        }
        self.drive.advance(until, &mut |c| count.report(c, sink));
        self.note();
    }

    fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        if let Some(step) = path.first() {
            return Err(SpecError::new(
                "setting.path",
                step,
                "no more: this is a drive",
            ));
        }
        self.bring_to(now);
        self.now = self.now.max(now);
        let result = match setting {
            Setting::Drive(setting) => self.drive.set(now, setting.clone()),
            Setting::FailPart(part) => self.drive.fail(now, *part),
            Setting::Abort { id } if self.drive.abort(now, *id) => {
                self.aborted.push(*id);
                Ok(())
            }
            Setting::Abort { id } => {
                let need = "the name of a command that waits";
                Err(SpecError::new("setting.abort", id, need))
            }
            other => Err(not_supported("a drive", other, SETTINGS)),
        };
        self.note();
        result
    }

    fn meter(&mut self, until: Time) -> DriveEnergy {
        self.bring_to(until);
        let energy = self.drive.energy(until);
        self.note();
        energy
    }

    fn reset_statistics(&mut self, now: Time) {
        self.bring_to(now);
        self.drive.reset_statistics(now);
        self.note();
        self.statistics.reset(now);
        self.outcome = MemberOutcome::default();
    }

    fn statistics(&self) -> Statistics {
        self.statistics.clone()
    }

    fn drive_joules(&mut self, until: Time, sums: &mut Vec<f64>) {
        self.bring_to(until);
        self.drive.drive_joules(until, sums);
        self.note();
    }

    fn arms(&self) -> Option<u32> {
        Some(self.drive.arms())
    }

    fn conditions(&self) -> Vec<Condition> {
        self.drive.conditions()
    }

    fn drive_outcome(&mut self, until: Time) -> Option<MemberOutcome> {
        let energy = self.meter(until);
        self.outcome.observe(&self.drive, until);
        Some(MemberOutcome {
            energy,
            ..self.outcome.clone()
        })
    }
}
