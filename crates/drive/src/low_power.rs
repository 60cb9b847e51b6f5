//! The power condition of a running drive.
//!
//! # Model
//! A drive either works or rests. At rest it goes through its power conditions as
//! [`power::conditions`](crate::power::conditions) describes. Conditions apply to the whole drive: it rests
//! when no unit has a command or background work. What happens at rest is a function of time alone. It is
//! computed when it is needed: by a command that arrives, the meter, or a setting.

use crate::power::conditions::{Condition, ConditionPhase, ConditionTime, Conditions, Rest};
use headstack_units::{Span, Time};

/// The power conditions of one drive over time.
#[derive(Debug)]
pub(crate) struct LowPower {
    design: Conditions,
    pub rest: Rest,
    /// Time of the phases that ended before the clock.
    settled: ConditionTime,
    /// Phases that may end after the clock.
    pending: Vec<ConditionPhase>,
    /// Phases that were not reported yet; `None` without a listener.
    untold: Option<Vec<ConditionPhase>>,
}

impl LowPower {
    /// A drive that has been ready for commands since time zero.
    pub fn new(design: Conditions) -> LowPower {
        let rest = Rest::new(Time::ZERO);
        LowPower { design, rest, settled: ConditionTime::default(), pending: Vec::new(), untold: None }
    }

    /// Whether the drive was active when it was last looked at, and nothing is decided beyond `now`.
    #[inline]
    pub fn is_active_at(&self, now: Time) -> bool {
        self.rest.condition() == Condition::Active && self.rest.reported_until <= now
    }

    /// Records that the drive has been idle since `idle_since`.
    pub fn rests_since(&mut self, idle_since: Time) {
        if idle_since > self.rest.reported_until {
            self.rest = Rest::new(idle_since);
        }
    }

    /// Advances through the conditions of a resting drive up to `until`.
    pub fn go_on(&mut self, until: Time) {
        let mut phases = Vec::new();
        self.rest.advance(&self.design, until, &mut |p| phases.push(p));
        self.record(phases, until);
    }

    /// A command arrives at `now` while the drive rests. Returns when its service can begin.
    pub fn wake(&mut self, now: Time) -> Time {
        let mut phases = Vec::new();
        let ready = self.rest.wake(&self.design, now, &mut |p| phases.push(p));
        self.record(phases, now);
        ready
    }

    /// The host asks a resting drive for a condition.
    pub fn ask(&mut self, now: Time, wanted: Condition) {
        let mut phases = Vec::new();
        self.rest.ask(&self.design, now, wanted, &mut |p| phases.push(p));
        self.record(phases, now);
    }

    fn record(&mut self, phases: Vec<ConditionPhase>, clock: Time) {
        if phases.is_empty() && self.pending.is_empty() {
            return;
        }
        let settled = &mut self.settled;
        self.pending.retain(|p| {
            if p.to <= clock {
                settled.add(p, p.to);
            }
            p.to > clock
        });
        let low = phases.into_iter().filter(|p| p.condition != Condition::Active);
        for phase in low {
            self.pending.push(phase);
            if let Some(untold) = &mut self.untold {
                untold.push(phase);
            }
        }
    }

    /// Time in low-power conditions up to `until`, to which it must have been advanced.
    pub fn time_until(&self, until: Time) -> ConditionTime {
        let mut time = self.settled;
        self.pending.iter().for_each(|p| time.add(p, until));
        time
    }

    /// The condition at `now`, to which it must have been advanced.
    pub fn condition_at(&self, now: Time) -> Condition {
        let here = self.pending.iter().rev().find(|p| p.from <= now && now < p.to);
        match here {
            Some(phase) => phase.condition,
            None if now >= self.rest.reported_until => self.rest.condition(),
            None => Condition::Active,
        }
    }

    /// Replaces the conditions by those of the drive at another speed. Timers stay as they are.
    pub fn set_design(&mut self, design: Conditions) {
        self.design = Condition::LOW.into_iter().fold(design, |all, c| all.with_timer(c, self.design.timer(c)));
    }

    /// Sets the timer of a condition. The conditions must have been advanced to the present time.
    pub fn set_timer(&mut self, condition: Condition, timer: Option<Span>) {
        self.design = self.design.with_timer(condition, timer);
    }

    /// From now on, phases are kept for [`LowPower::tell`].
    pub fn listen(&mut self) {
        self.untold.get_or_insert_with(Vec::new);
    }

    /// Gives all phases that were not reported yet to `sink`.
    pub fn tell(&mut self, sink: &mut dyn FnMut(&ConditionPhase)) {
        if let Some(untold) = &mut self.untold {
            untold.drain(..).for_each(|p| sink(&p));
        }
    }
}
