//! The end of a run: what is in flight completes, and everything is measured up to the same time.

use super::{everyone, Outcome, Run, SimulateError};
use crate::capping::Capper;
use crate::member::Member;
use headstack_trace::Arrivals;
use headstack_units::Time;

impl<M: Member> Run<'_, '_, M> {
    /// After the last arrival: completes everything in flight, unless the run was cancelled.
    pub(super) fn drain(&mut self, now: Time) -> Result<(), SimulateError> {
        self.play();
        self.deal = None;
        self.take_failure()?;
        if self.marks.measuring {
            self.tracker.outcome.end = self.tracker.outcome.end.max(self.last_arrival);
        }
        self.marks.passed = self.marks.passed.max(now);
        self.take_in_order();
        if self.tracker.outcome.partial {
            // What completed until the interrupt counts, so that parts of systems can be compared.
            self.advance_all(self.last_arrival);
        }
        let mut steps = 0u64;
        while self.tracker.in_flight > 0 && !self.tracker.outcome.partial {
            let (time, member) = self.earliest();
            let due = self.next_mark();
            let is_stuck = time == Time::NEVER && self.marks.schedule.due == Time::NEVER;
            if due <= time.max(now) && !is_stuck && due != Time::NEVER {
                self.pass_until(due);
                self.take_failure()?;
                continue;
            }
            if time == Time::NEVER {
                let waiting = self.tracker.in_flight;
                return Err(SimulateError::Lost {
                    drive: member,
                    waiting,
                });
            }
            self.pass_until(time.max(now));
            let time = time.max(now);
            self.marks.passed = time;
            self.step::<false>(member, time, Time(time.0 + 1))?;
            steps += 1;
            if steps % 1024 == 0 && self.options.progress.is_cancelled() {
                self.tracker.outcome.partial = true;
            }
        }
        self.report();
        Ok(())
    }

    /// The measurements of the run, up to its end.
    pub(super) fn finish(mut self) -> Result<Outcome, SimulateError> {
        self.tracker.settle();
        self.take_failure()?;
        if !self.marks.measuring {
            // The warm-up has left no request, so there is no time to be measured.
            self.begin(self.marks.passed.max(self.tracker.unmeasured_end));
        }
        // Requests of the warm-up may end last. A run that was stopped has passed the last completion that is known.
        let end = self.tracker.outcome.end.max(self.tracker.unmeasured_end);
        let end = end.max(self.marks.passed);
        self.tracker.outcome.end = end;
        self.pass_until(end);
        self.take_failure()?;
        self.sample(end);
        self.absorb_parts();
        let members = everyone(self.members, &mut self.parts);
        for (member, o) in members.zip(&mut self.tracker.outcome.members) {
            o.energy = member.energy(end);
            o.observe(member, end);
        }
        self.tracker.outcome.changes = self.marks.schedule.counts();
        let (first, last) = (self.marks.first, self.last_arrival);
        self.tracker.outcome.seen.cover(self.taken, first, last);
        let capping = self.tracker.capper.take().map(Capper::into_outcome);
        self.tracker.outcome.capping = capping;
        let open = matches!(self.options.arrivals, Arrivals::Open);
        self.tracker.outcome.last_arrival = open.then_some(self.last_arrival);
        Ok(self.tracker.outcome)
    }
}
