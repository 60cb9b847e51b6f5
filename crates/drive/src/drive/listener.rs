//! What a listener hears: phases of the mechanism, rest between them, and power conditions, as one course
//! of each assembly without gap or overlap.

use super::Drive;
use crate::phase::{Phase, PhaseKind};
use crate::power::conditions::{Condition, ConditionPhase, Passage};
use headstack_units::Time;

/// What the listener of a drive has been told.
pub(super) struct Listener {
    /// Until when, of each assembly.
    told: Vec<u64>,
}

/// One telling: what has been decided of the whole drive since the last one, and how far each assembly
/// has come.
struct Telling<'a> {
    conditions: &'a [ConditionPhase],
    told: &'a mut [u64],
    /// The next of the conditions, for each assembly.
    next: Vec<usize>,
    sink: &'a mut dyn FnMut(&Phase),
}

impl Telling<'_> {
    /// An assembly works; before, it was at rest.
    fn works(&mut self, phase: &Phase) {
        self.rests(phase.assembly, phase.from.0);
        self.told[phase.assembly as usize] = phase.to.0;
        (self.sink)(phase);
    }

    /// An assembly is at rest, in whatever condition, until `until`; conditions that are decided may reach
    /// beyond.
    fn rests(&mut self, assembly: u32, until: u64) {
        let a = assembly as usize;
        while let Some(c) = self.conditions.get(self.next[a]) {
            if c.from >= until {
                break;
            }
            self.next[a] += 1;
            self.is_ready(assembly, c.from);
            self.told[a] = c.to;
            (self.sink)(&at_rest(assembly, (c.from, c.to), Some(*c)));
        }
        self.is_ready(assembly, until);
    }

    /// An assembly has nothing to do and is ready for a command until `until`.
    fn is_ready(&mut self, assembly: u32, until: u64) {
        let told = &mut self.told[assembly as usize];
        if *told < until {
            let from = std::mem::replace(told, until);
            (self.sink)(&at_rest(assembly, (from, until), None));
        }
    }
}

/// A phase without work.
fn at_rest(assembly: u32, time: (u64, u64), condition: Option<ConditionPhase>) -> Phase {
    let kind = condition.map_or(PhaseKind::Idle, |c| match (c.condition, c.passage) {
        (Condition::Active | Condition::IdleA, _) => PhaseKind::Idle,
        (Condition::IdleB | Condition::IdleC, _) => PhaseKind::Parked,
        (Condition::Standby, Passage::Leaving) => PhaseKind::SpinUp,
        (Condition::Standby, _) => PhaseKind::Standby,
    });
    Phase {
        kind,
        work: None,
        assembly,
        from: Time(time.0),
        to: Time(time.1),
        distance: 0,
        condition,
    }
}

impl Drive {
    /// From `now` on the drive remembers its phases until [`Drive::tell_phases`] is called. It must have
    /// been advanced to `now`; what was decided before is not told.
    pub fn listen(&mut self, now: Time) {
        if self.listener.is_some() {
            return;
        }
        let active_until = self.units.iter_mut().map(|u| u.listen(now.0));
        let told = active_until.flatten().collect();
        self.rest_at(now.0);
        if let Some(control) = &mut self.control {
            control.low_power.listen();
        }
        self.listener = Some(Listener { told });
    }

    /// Tells the phases since the last call, assembly by assembly in order of time. The phases of an
    /// assembly follow each other without gap or overlap, up to `until` at least, to which the drive must
    /// have been advanced; only read-ahead that is under way is told when it ends. A phase may reach beyond
    /// `until`, because a service is decided when it begins; none is revoked. A time without work may
    /// come in several pieces. Power conditions are those of the whole drive: each assembly is told of
    /// them.
    pub fn tell_phases(&mut self, until: Time, sink: &mut dyn FnMut(&Phase)) {
        let Some(mut listener) = self.listener.take() else {
            return;
        };
        // What the background does, and a drive without work, is found out by asking.
        self.active_until(until.0);
        self.rest_at(until.0);
        let mut conditions = Vec::new();
        if let Some(control) = &mut self.control {
            control.low_power.tell(&mut |c| conditions.push(*c));
        }
        let decided = conditions.last().map_or(0, |c| c.to);
        let mut telling = Telling {
            conditions: &conditions,
            next: vec![0; listener.told.len()],
            told: &mut listener.told,
            sink,
        };
        for unit in &mut self.units {
            unit.tell(&mut |phase| telling.works(phase));
        }
        let begun = self.units.iter().flat_map(|u| u.begun());
        for (assembly, begun) in (0..).zip(begun) {
            telling.rests(assembly, decided.max(until.0).min(begun));
        }
        self.listener = Some(listener);
    }
}
