//! A drive without work: how it moves through its power conditions.

use super::{Condition, Conditions, Passage};
use headstack_units::{Span, Time};

/// A period in which a drive enters, holds or leaves one condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConditionPhase {
    /// The condition that is entered, held or left.
    pub condition: Condition,
    /// Whether it is entered, held or left.
    pub passage: Passage,
    /// The previous condition if it is entered; else the condition itself.
    pub before: Condition,
    /// Start.
    pub from: Time,
    /// End.
    pub to: Time,
    /// Power, in watts.
    pub watts: f64,
}

impl ConditionPhase {
    /// Energy, in joules.
    pub fn joules(&self) -> f64 {
        self.to.since(self.from).as_secs_f64() * self.watts
    }
}

/// The power condition of a drive without work, as a function of when it became idle and of what was asked of
/// it since. Times must not decrease from call to call. Each call gives the phases before its time to its
/// sink, without gap or overlap. Results do not depend on how the time is divided into calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rest {
    state: State,
    /// The phases before this time have been told.
    pub reported_until: Time,
    /// When the timers started.
    idle_from: Time,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Holding(Condition),
    Entering {
        before: Condition,
        to: Condition,
        from: Time,
        until: Time,
        /// Whether a host asked for the condition.
        asked: bool,
        /// The condition that a command or the host wants next.
        then: Option<Condition>,
    },
    Leaving {
        left: Condition,
        until: Time,
        /// The condition that the host wants next.
        then: Option<Condition>,
    },
}

impl Rest {
    /// A drive that becomes idle and ready for commands at `now`.
    pub fn new(now: Time) -> Rest {
        Rest { state: State::Holding(Condition::Active), reported_until: now, idle_from: now }
    }

    /// The condition that the drive enters, holds or leaves.
    pub fn condition(&self) -> Condition {
        match self.state {
            State::Holding(condition) => condition,
            State::Entering { to, .. } => to,
            State::Leaving { left, .. } => left,
        }
    }

    /// When a command that arrived now could be served: the result of [`Rest::wake`] without its effect.
    pub fn ready(&self, design: &Conditions, now: Time) -> Time {
        let mut copy = *self;
        copy.wake(design, now, &mut |_| {})
    }

    /// Advances to `until`; events at `until` itself are still to come.
    pub fn advance(&mut self, design: &Conditions, until: Time, sink: &mut impl FnMut(ConditionPhase)) {
        while self.reported_until < until {
            let end = self.end(design).unwrap_or(Time::NEVER);
            self.tell(design, end.min(until), sink);
            if end >= until {
                return;
            }
            self.change(design, end);
        }
    }

    /// A command arrives at `now`, and the drive recovers for it. The phases of the recovery go to `sink` as
    /// well. Returns when the service can begin.
    pub fn wake(&mut self, design: &Conditions, now: Time, sink: &mut impl FnMut(ConditionPhase)) -> Time {
        self.ask(design, now, Condition::Active, sink);
        while self.state != State::Holding(Condition::Active) {
            let end = self.end(design).unwrap_or(self.reported_until);
            self.tell(design, end, sink);
            self.change(design, end);
        }
        self.reported_until
    }

    /// The host asks at `now` for a condition that the drive has.
    pub fn ask(&mut self, design: &Conditions, now: Time, wanted: Condition, sink: &mut impl FnMut(ConditionPhase)) {
        self.advance(design, now, sink);
        let now = now.max(self.reported_until);
        match &mut self.state {
            State::Holding(condition) => {
                let condition = *condition;
                self.idle_from = now;
                self.head_for(design, now, condition, wanted);
            }
            State::Entering { to, before, from, until, .. } if wanted < *to && to.is_broken_off() => {
                let covered = (now.since(*from), until.since(*from));
                let back = design.way_back(*before, *to, covered);
                self.state = State::Leaving { left: *to, until: now + back, then: Some(wanted) };
            }
            State::Entering { then, .. } | State::Leaving { then, .. } => *then = Some(wanted),
        }
    }

    /// Starts to change from condition `at` to `wanted`.
    fn head_for(&mut self, design: &Conditions, now: Time, at: Condition, wanted: Condition) {
        if wanted > at {
            self.enter(design, now, wanted, true);
        } else if wanted < at {
            self.state = State::Leaving { left: at, until: now + design.recovery(at), then: Some(wanted) };
        }
    }

    fn enter(&mut self, design: &Conditions, now: Time, to: Condition, asked: bool) {
        let takes = design.step(to).map_or(Span::ZERO, |s| s.enter);
        self.state = State::Entering { before: self.condition(), to, from: now, until: now + takes, asked, then: None };
    }

    /// When the present state ends, if nothing is asked; `None` if it does not end.
    fn end(&self, design: &Conditions) -> Option<Time> {
        match self.state {
            State::Holding(condition) => {
                let next = design.next(condition, self.idle_from, self.reported_until);
                next.map(|(at, _)| at)
            }
            State::Entering { until, .. } | State::Leaving { until, .. } => Some(until),
        }
    }

    /// Enters the next state, because the present one has ended at `now`.
    fn change(&mut self, design: &Conditions, now: Time) {
        match self.state {
            State::Holding(condition) => {
                if let Some((_, to)) = design.next(condition, self.idle_from, now) {
                    self.enter(design, now, to, false);
                }
            }
            State::Entering { to, asked, then, .. } => {
                self.state = State::Holding(to);
                if asked || then.is_some() {
                    self.idle_from = now;
                }
                if let Some(wanted) = then {
                    self.head_for(design, now, to, wanted);
                }
            }
            State::Leaving { then, .. } => {
                self.state = State::Holding(Condition::Active);
                self.idle_from = now;
                if let Some(wanted) = then {
                    self.head_for(design, now, Condition::Active, wanted);
                }
            }
        }
    }

    /// Gives the present state, from the time told last up to `to`, to the sink.
    fn tell(&mut self, design: &Conditions, to: Time, sink: &mut impl FnMut(ConditionPhase)) {
        let (condition, passage, before) = match self.state {
            State::Holding(c) => (c, Passage::Holding, c),
            State::Entering { before, to, .. } => (to, Passage::Entering, before),
            State::Leaving { left, .. } => (left, Passage::Leaving, left),
        };
        if to > self.reported_until {
            sink(ConditionPhase {
                condition,
                passage,
                before,
                from: self.reported_until,
                to,
                watts: design.passage_watts(condition, passage, before),
            });
            self.reported_until = to;
        }
    }
}

impl Conditions {
    /// Time of the recovery when entering `to` is broken off after `covered` = (elapsed
    /// time, enter time).
    fn way_back(&self, before: Condition, to: Condition, covered: (Span, Span)) -> Span {
        let full = self.recovery(to);
        let part = match covered {
            (_, Span::ZERO) => full,
            (part, whole) => {
                let scaled = full.0 as u128 * part.min(whole).0 as u128;
                Span(scaled.div_ceil(whole.0 as u128) as i64)
            }
        };
        part.max(self.recovery(before))
    }
}
