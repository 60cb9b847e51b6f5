//! The end of a run: what is in flight completes, and everything is measured up to the same time.

use super::{everyone, Outcome, Run, SimulateError};
use headstack_block::member::Member;
use headstack_trace::Arrivals;
use headstack_units::Time;

impl<M: Member> Run<'_, '_, M> {
    /// After the last arrival: completes everything in flight, unless the run was cancelled.
    pub(super) fn drain(&mut self, now: Time) -> Result<(), SimulateError> {
        self.play();
        self.deal = None;
        self.take_failure()?;
        if self.marks.measuring {
            self.tracker.observers.reach(self.last_arrival);
        }
        self.marks.passed = self.marks.passed.max(now);
        self.take_in_order();
        if self.tracker.observers.outcome.partial {
            // What completed until the interrupt counts, so that parts of systems can be compared.
            self.advance_all(self.last_arrival);
        }
        let mut steps = 0u64;
        while self.tracker.in_flight > 0 && !self.tracker.observers.outcome.partial {
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
                return Err(SimulateError::Lost { drive: member, waiting });
            }
            self.pass_until(time.max(now));
            let time = time.max(now);
            self.marks.passed = time;
            self.step::<false>(member, time, Time(time.0 + 1))?;
            steps += 1;
            if steps % 1024 == 0 && self.options.progress.is_cancelled() {
                self.tracker.observers.outcome.partial = true;
            }
        }
        self.report();
        Ok(())
    }

    /// The measurements of the run, up to its end.
    pub(super) fn finish(mut self) -> Result<Outcome, SimulateError> {
        self.tracker.observers.settle();
        self.take_failure()?;
        if !self.marks.measuring {
            // The warm-up has left no request, so there is no time to be measured.
            self.begin(self.marks.passed.max(self.tracker.observers.unmeasured_end));
        }
        // Requests of the warm-up may end last. A run that was stopped has passed the last completion that is known.
        let observers = &mut self.tracker.observers;
        observers.reach(observers.unmeasured_end.max(self.marks.passed));
        let end = observers.outcome.end;
        self.pass_until(end);
        self.take_failure()?;
        self.sample(end);
        let parts = self.parts.iter_mut().map(|p| &mut p.tracker.observers);
        let all = std::iter::once(&mut self.tracker.observers).chain(parts);
        let observed = all.filter_map(|o| o.observed.take()).map(|o| *o).collect();
        self.absorb_parts();
        let members = everyone(self.members, &mut self.parts);
        let mut outcome = self.tracker.observers.outcome;
        for (member, o) in members.zip(&mut outcome.members) {
            o.energy = member.energy(end);
            member.observe(end, o);
        }
        outcome.changes = self.marks.schedule.counts();
        let (first, last) = (self.marks.first, self.last_arrival);
        outcome.seen.cover(self.taken, first, last);
        outcome.capping = self.tracker.observers.capper.map(|c| c.into_outcome(observed));
        let open = matches!(self.options.arrivals, Arrivals::Open);
        outcome.last_arrival = open.then_some(last);
        Ok(outcome)
    }
}
