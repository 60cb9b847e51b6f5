//! Time and energy in low-power conditions.

use super::{Condition, ConditionPhase, Conditions, Passage};
use headstack_schema::Columns;
use headstack_units::{Span, Time};
use serde::Serialize;

/// Time spent in, entering and leaving each low-power condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConditionTime {
    /// By condition in the order of [`Condition::LOW`], and by [`column()`].
    spans: [[Span; COLUMNS]; Condition::LOW.len()],
}

/// One column for holding, one for leaving, and one for entering from each of five conditions.
const COLUMNS: usize = 7;

/// The column of a passage. Entering may draw the power of the previous condition, so each previous condition
/// has its own column.
fn column(passage: Passage, before: Condition) -> usize {
    match passage {
        Passage::Holding => 0,
        Passage::Leaving => 1,
        Passage::Entering => 2 + before as usize,
    }
}

impl ConditionTime {
    /// Adds the part of a phase before `until`. Time in [`Condition::Active`] is not counted.
    pub fn add(&mut self, phase: &ConditionPhase, until: Time) {
        if let Some(row) = Condition::LOW.iter().position(|c| *c == phase.condition) {
            self.spans[row][column(phase.passage, phase.before)] += phase.to.min(until).since(phase.from);
        }
    }

    /// The difference to an earlier value of the same count.
    pub fn since(&self, earlier: &ConditionTime) -> ConditionTime {
        let mut difference = *self;
        let cells = difference.spans.iter_mut().flatten();
        cells.zip(earlier.spans.iter().flatten()).for_each(|(a, b)| *a -= *b);
        difference
    }

    /// Time that was neither ready nor at work.
    pub fn total(&self) -> Span {
        self.spans.iter().flatten().copied().sum()
    }

    /// The times in seconds, with the energy.
    pub fn energy(&self, design: &Conditions) -> ConditionEnergy {
        if self.total() == Span::ZERO {
            return ConditionEnergy::default();
        }
        let share = |of: Condition, passages: &[Passage]| {
            let mut share = ConditionShare::default();
            for passage in passages {
                for before in [Condition::Active].into_iter().chain(Condition::LOW) {
                    if *passage != Passage::Entering && before != of {
                        continue;
                    }
                    let s = self.spans[of as usize - 1][column(*passage, before)].as_secs_f64();
                    share.time_s += s;
                    share.energy_j += s * design.passage_watts(of, *passage, before);
                }
            }
            share
        };
        let all = [Passage::Holding, Passage::Entering, Passage::Leaving];
        ConditionEnergy {
            idle_a: share(Condition::IdleA, &all),
            idle_b: share(Condition::IdleB, &all),
            idle_c: share(Condition::IdleC, &all),
            standby: share(Condition::Standby, &[Passage::Holding]),
            spin_down: share(Condition::Standby, &[Passage::Entering]),
            spin_up: share(Condition::Standby, &[Passage::Leaving]),
        }
    }
}

/// A length of time and its energy.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
pub struct ConditionShare {
    /// Seconds.
    pub time_s: f64,
    /// Joules.
    pub energy_j: f64,
}

impl ConditionShare {
    fn plus(self, other: ConditionShare) -> ConditionShare {
        ConditionShare { time_s: self.time_s + other.time_s, energy_j: self.energy_j + other.energy_j }
    }
}

/// Time and energy by low-power condition. Entering and leaving are included, except for standby, where they
/// have fields of their own.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Columns)]
#[columns("PowerConditions")]
pub struct ConditionEnergy {
    /// `idle_a`: part of the electronics off.
    pub idle_a: ConditionShare,
    /// `idle_b`: heads unloaded.
    pub idle_b: ConditionShare,
    /// `idle_c`: lower spindle speed.
    pub idle_c: ConditionShare,
    /// Spun down.
    pub standby: ConditionShare,
    /// Spinning down.
    pub spin_down: ConditionShare,
    /// Spinning up.
    pub spin_up: ConditionShare,
}

impl ConditionEnergy {
    /// Sum over the three idle conditions.
    pub fn low_idle(&self) -> ConditionShare {
        self.idle_a.plus(self.idle_b).plus(self.idle_c)
    }

    /// Standby, with spinning down and spinning up.
    pub fn all_standby(&self) -> ConditionShare {
        self.standby.plus(self.spin_down).plus(self.spin_up)
    }

    /// Adds another interval, condition by condition.
    pub fn add(&mut self, other: &ConditionEnergy) {
        let ConditionEnergy { idle_a, idle_b, idle_c, standby, spin_down, spin_up } = self;
        let all = [idle_a, idle_b, idle_c, standby, spin_down, spin_up].into_iter();
        all.zip(other.named()).for_each(|(sum, (_, more))| *sum = sum.plus(more));
    }

    /// Each share with its name in results.
    pub fn named(&self) -> [(&'static str, ConditionShare); 6] {
        [
            ("idle_a", self.idle_a),
            ("idle_b", self.idle_b),
            ("idle_c", self.idle_c),
            ("standby", self.standby),
            ("spin_down", self.spin_down),
            ("spin_up", self.spin_up),
        ]
    }
}
