//! Events of a run at fixed times: samples of energy, changes, steps of the power capping controller, the end of the
//! warm-up. Drives are advanced to these times and not beyond.

use super::{everyone, Run, SimulateError};
use crate::change::{Planned, Schedule};
use headstack_block::member::Member;
use headstack_engine::ByMode;
use headstack_units::Time;

/// Times at which something other than an arrival or an event of a drive happens, and how far a run has come.
#[derive(Default)]
pub(super) struct Marks<'a> {
    pub schedule: Schedule<'a>,
    /// Next time at which energy is sampled; NEVER before the warm-up's end.
    pub next_sample: Time,
    /// In a part that is simulated by itself: the time of its latest event.
    pub now: Time,
    /// The time that the run has reached: that of the latest mark or sample, and after the last arrival that of the
    /// latest event.
    pub passed: Time,
    /// Earliest time at which something other than an arrival may be due.
    pub next_check: Time,
    /// When the first request arrived; none before it.
    pub first: Option<Time>,
    /// No request arrives later than this; NEVER before the first one, and without a duration.
    pub over: Time,
    /// End of a warm-up that lasts a time; NEVER before the first arrival, and once it is over.
    pub warm: Time,
    /// Whether the warm-up is over.
    pub measuring: bool,
}

impl<'a> Marks<'a> {
    pub fn new(changes: &'a [Planned]) -> Marks<'a> {
        Marks {
            schedule: Schedule::new(changes),
            next_sample: Time::NEVER,
            over: Time::NEVER,
            warm: Time::NEVER,
            ..Marks::default()
        }
    }
}

impl<M: Member> Run<'_, '_, M> {
    /// Samples energy at each boundary of the series up to `now`, and carries out what is due until then, in order of
    /// time.
    #[inline]
    pub(super) fn pass_until(&mut self, now: Time) {
        if self.marks.next_sample.min(self.next_mark()) <= now {
            self.pass_marks(now);
        }
    }

    #[cold]
    pub(super) fn pass_marks(&mut self, now: Time) {
        self.play();
        while self.failure.is_none() {
            let at = self.marks.next_sample.min(self.next_mark());
            if at > now || at == Time::NEVER {
                return;
            }
            self.marks.passed = at;
            if self.marks.schedule.due == at {
                let happened = self.marks.schedule.happen(self.members, &mut self.tracker);
                self.failure = happened.err().map(SimulateError::Change);
                self.renew();
                continue;
            }
            self.advance_all(at);
            if self.capping_due() == at {
                self.step_capping();
                continue;
            }
            if self.marks.warm == at {
                self.begin(at);
                continue;
            }
            self.sample(at);
            self.renew();
            self.marks.next_sample = self.tracker.observers.outcome.series.next_boundary(at);
        }
    }

    /// One step of the power capping controller.
    pub(super) fn step_capping(&mut self) {
        let in_flight = self.tracker.in_flight;
        let observers = &mut self.tracker.observers;
        if let Some(capper) = &mut observers.capper {
            let parts = self.parts.iter_mut().map(|p| &mut p.tracker.observers.observed);
            let observed = std::iter::once(&mut observers.observed).chain(parts);
            observed.flatten().for_each(|own| capper.read(own));
            let mut members: Vec<&mut M> = everyone(self.members, &mut self.parts).collect();
            let stepped = capper.step(&mut members, in_flight);
            self.failure = stepped.err().map(SimulateError::Change);
        }
        self.renew();
    }

    pub(super) fn sample(&mut self, at: Time) {
        let mut sum = ByMode::default();
        for member in everyone(self.members, &mut self.parts) {
            sum.add(&member.joules(at));
        }
        self.tracker.observers.sample(at, sum);
    }

    /// The time of the next step of the power capping controller.
    fn capping_due(&self) -> Time {
        let capper = self.tracker.observers.capper.as_ref();
        capper.map_or(Time::NEVER, |c| c.due)
    }

    /// The time of the next change or step of the power capping controller, or of the end of the warm-up.
    pub(super) fn next_mark(&self) -> Time {
        self.marks.schedule.due.min(self.capping_due()).min(self.marks.warm)
    }
}
