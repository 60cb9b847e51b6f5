//! The power condition of a running drive.
//!
//! # Model
//! A drive is at work, or at rest; at rest it goes through its power conditions as
//! [`power::conditions`](crate::power::conditions) says. Conditions are those of the whole drive: it is
//! at rest when no unit of it has a command or background work. What happens at rest is a function of
//! time alone, so it is found out when somebody asks: a command that arrives, a meter, a setting.

use crate::power::conditions::{Condition, ConditionPhase, ConditionTime, Conditions, Rest};

/// The course of a drive's power condition.
#[derive(Debug)]
pub(crate) struct LowPower {
    design: Conditions,
    rest: Rest,
    /// Time of the phases that are over.
    settled: ConditionTime,
    /// Phases that may reach beyond the clock.
    pending: Vec<ConditionPhase>,
    /// What a listener has not been told yet, where there is one.
    untold: Option<Vec<ConditionPhase>>,
}

impl LowPower {
    /// A drive that has always been ready so far.
    pub fn new(design: Conditions) -> LowPower {
        LowPower {
            design,
            rest: Rest::new(0),
            settled: ConditionTime::default(),
            pending: Vec::new(),
            untold: None,
        }
    }

    /// All before this is decided; where it lies ahead, the drive is on its way to be ready then, or to
    /// begin what its host asked for.
    pub fn decided(&self) -> u64 {
        self.rest.told()
    }

    /// The drive has had nothing to do since `idle_since`.
    pub fn rests_since(&mut self, idle_since: u64) {
        if idle_since > self.rest.told() {
            self.rest = Rest::new(idle_since);
        }
    }

    /// Goes on at rest up to `until`.
    pub fn go_on(&mut self, until: u64) {
        let mut told = Vec::new();
        self.rest
            .advance(&self.design, until, &mut |p| told.push(p));
        self.record(told, until);
    }

    /// A command arrives at `now` at a drive at rest: when its service can begin.
    pub fn wake(&mut self, now: u64) -> u64 {
        let mut told = Vec::new();
        let ready = self.rest.wake(&self.design, now, &mut |p| told.push(p));
        self.record(told, now);
        ready
    }

    /// The host asks a drive at rest for a condition.
    pub fn ask(&mut self, now: u64, wanted: Condition) {
        let mut told = Vec::new();
        self.rest
            .ask(&self.design, now, wanted, &mut |p| told.push(p));
        self.record(told, now);
    }

    fn record(&mut self, told: Vec<ConditionPhase>, clock: u64) {
        let settled = &mut self.settled;
        self.pending.retain(|p| {
            if p.to <= clock {
                settled.add(p, p.to);
            }
            p.to > clock
        });
        let low = told
            .into_iter()
            .filter(|p| p.condition != Condition::Active);
        for phase in low {
            self.pending.push(phase);
            if let Some(untold) = &mut self.untold {
                untold.push(phase);
            }
        }
    }

    /// Time in low-power conditions up to `until`, to which it has gone on.
    pub fn time_until(&self, until: u64) -> ConditionTime {
        let mut time = self.settled;
        self.pending.iter().for_each(|p| time.add(p, until));
        time
    }

    /// The condition at `now`, up to which it has gone on.
    pub fn condition_at(&self, now: u64) -> Condition {
        let here = self
            .pending
            .iter()
            .rev()
            .find(|p| p.from <= now && now < p.to);
        match here {
            Some(phase) => phase.condition,
            None if now >= self.rest.told() => self.rest.condition(),
            None => Condition::Active,
        }
    }

    /// The same conditions of a drive at another speed.
    pub fn set_design(&mut self, design: Conditions) {
        self.design = design;
    }

    /// From now on phases are kept for [`LowPower::tell`].
    pub fn listen(&mut self) {
        self.untold.get_or_insert_with(Vec::new);
    }

    /// Tells every phase that has not been told yet.
    pub fn tell(&mut self, sink: &mut dyn FnMut(&ConditionPhase)) {
        if let Some(untold) = &mut self.untold {
            untold.drain(..).for_each(|p| sink(&p));
        }
    }
}
