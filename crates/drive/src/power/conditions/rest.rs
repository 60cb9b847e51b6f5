//! The course of a drive through its power conditions while it has no work.

use super::{Condition, Conditions, Passage};

/// A time during which a drive is in, enters or leaves one condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConditionPhase {
    /// The condition; for a way out, the one that is left.
    pub condition: Condition,
    /// In it, into it or out of it.
    pub passage: Passage,
    /// For a way in, the condition that it began in; else the condition itself.
    pub before: Condition,
    /// Beginning, in nanoseconds.
    pub from: u64,
    /// End, in nanoseconds.
    pub to: u64,
    /// Power meanwhile.
    pub watts: f64,
}

impl ConditionPhase {
    /// What was drawn in it.
    pub fn joules(&self) -> f64 {
        (self.to - self.from) as f64 * 1e-9 * self.watts
    }
}

/// Where a drive without work stands: a function of when it became idle and of what was asked of it
/// since. Times never decrease from call to call; what lies before the time of a call is told to
/// its sink, without gap or overlap, and how the time is cut into calls changes nothing else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rest {
    state: State,
    /// All before this has been told.
    told: u64,
    /// The timers run from here.
    idle_from: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Holding(Condition),
    Entering {
        before: Condition,
        to: Condition,
        from: u64,
        until: u64,
        /// A host asked for it.
        asked: bool,
        /// What a command or the host wants next.
        then: Option<Condition>,
    },
    Leaving {
        left: Condition,
        until: u64,
        /// What the host wants next.
        then: Option<Condition>,
    },
}

impl Rest {
    /// A drive that becomes idle at `now`, ready for commands.
    pub fn new(now: u64) -> Rest {
        Rest {
            state: State::Holding(Condition::Active),
            told: now,
            idle_from: now,
        }
    }

    /// The condition it is in, on the way into or out of.
    pub fn condition(&self) -> Condition {
        match self.state {
            State::Holding(condition) => condition,
            State::Entering { to, .. } => to,
            State::Leaving { left, .. } => left,
        }
    }

    /// All before this has been told to sinks.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// When a command could be served that asked for it now: [`Rest::wake`] without doing it.
    pub fn ready(&self, design: &Conditions, now: u64) -> u64 {
        let mut copy = *self;
        copy.wake(design, now, &mut |_| {})
    }

    /// Goes on to `until`; what happens at `until` itself is still to come.
    pub fn advance(
        &mut self,
        design: &Conditions,
        until: u64,
        sink: &mut impl FnMut(ConditionPhase),
    ) {
        while self.told < until {
            let end = self.end(design).unwrap_or(u64::MAX);
            self.tell(design, end.min(until), sink);
            if end >= until {
                return;
            }
            self.change(design, end);
        }
    }

    /// A command arrives at `now`: the drive recovers for it, and `sink` is told of that too.
    /// Returns when its service can begin.
    pub fn wake(
        &mut self,
        design: &Conditions,
        now: u64,
        sink: &mut impl FnMut(ConditionPhase),
    ) -> u64 {
        self.ask(design, now, Condition::Active, sink);
        while self.state != State::Holding(Condition::Active) {
            let end = self.end(design).unwrap_or(self.told);
            self.tell(design, end, sink);
            self.change(design, end);
        }
        self.told
    }

    /// The host asks for a condition that the drive has, at `now`.
    pub fn ask(
        &mut self,
        design: &Conditions,
        now: u64,
        wanted: Condition,
        sink: &mut impl FnMut(ConditionPhase),
    ) {
        self.advance(design, now, sink);
        let now = now.max(self.told);
        match &mut self.state {
            State::Holding(condition) => {
                let condition = *condition;
                self.idle_from = now;
                self.head_for(design, now, condition, wanted);
            }
            State::Entering {
                to,
                before,
                from,
                until,
                ..
            } if wanted < *to && to.is_broken_off() => {
                let covered = (now - *from, *until - *from);
                let back = design.way_back(*before, *to, covered);
                self.state = State::Leaving {
                    left: *to,
                    until: now.saturating_add(back),
                    then: Some(wanted),
                };
            }
            State::Entering { then, .. } | State::Leaving { then, .. } => *then = Some(wanted),
        }
    }

    /// From a condition towards another one.
    fn head_for(&mut self, design: &Conditions, now: u64, at: Condition, wanted: Condition) {
        if wanted > at {
            self.enter(design, now, wanted, true);
        } else if wanted < at {
            self.state = State::Leaving {
                left: at,
                until: now.saturating_add(design.recovery(at)),
                then: Some(wanted),
            };
        }
    }

    fn enter(&mut self, design: &Conditions, now: u64, to: Condition, asked: bool) {
        let takes = design.step(to).map_or(0, |s| s.enter);
        self.state = State::Entering {
            before: self.condition(),
            to,
            from: now,
            until: now.saturating_add(takes),
            asked,
            then: None,
        };
    }

    /// When the present state ends by itself.
    fn end(&self, design: &Conditions) -> Option<u64> {
        match self.state {
            State::Holding(condition) => {
                let next = design.next(condition, self.idle_from, self.told);
                next.map(|(at, _)| at)
            }
            State::Entering { until, .. } | State::Leaving { until, .. } => Some(until),
        }
    }

    /// The present state has ended at `now`.
    fn change(&mut self, design: &Conditions, now: u64) {
        match self.state {
            State::Holding(condition) => {
                if let Some((_, to)) = design.next(condition, self.idle_from, now) {
                    self.enter(design, now, to, false);
                }
            }
            State::Entering {
                to, asked, then, ..
            } => {
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

    /// Tells what the present state is from where the telling stopped to `to`.
    fn tell(&mut self, design: &Conditions, to: u64, sink: &mut impl FnMut(ConditionPhase)) {
        let (condition, passage, before) = match self.state {
            State::Holding(c) => (c, Passage::Holding, c),
            State::Entering { before, to, .. } => (to, Passage::Entering, before),
            State::Leaving { left, .. } => (left, Passage::Leaving, left),
        };
        if to > self.told {
            sink(ConditionPhase {
                condition,
                passage,
                before,
                from: self.told,
                to,
                watts: design.passage_watts(condition, passage, before),
            });
            self.told = to;
        }
    }
}

impl Conditions {
    /// Nanoseconds back from a way into `to` of which `covered` (part, whole) was done.
    fn way_back(&self, before: Condition, to: Condition, covered: (u64, u64)) -> u64 {
        let full = self.recovery(to);
        let part = match covered {
            (_, 0) => full,
            (part, whole) => {
                let scaled = full as u128 * part.min(whole) as u128;
                scaled.div_ceil(whole as u128) as u64
            }
        };
        part.max(self.recovery(before))
    }
}
