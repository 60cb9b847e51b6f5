//! Power conditions: the low-power conditions of an idle drive, and the recovery from them.
//!
//! # Model
//! - Conditions have the names of the T10 and T13 standards, from shallow to deep: `idle_a` (part of the
//!   electronics off), `idle_b` (also heads unloaded), `idle_c` (also lower speed), `standby` (spun down).
//! - Each may have a timer. All timers start together when the drive becomes idle: the last command is
//!   complete and there is no background work. A timer that expires can only lead to a deeper condition. If
//!   several have expired, the deepest condition is entered.
//! - Entering takes `enter_time`, leaving takes `recovery_time`; both draw a constant power.
//! - A command ends the condition and waits until the drive has recovered. If `idle_b` or `standby` is being
//!   entered, that is completed first (the heads reach the ramp, the spindle comes to rest). Entering
//!   `idle_a` or `idle_c` is broken off: the recovery then takes the same share of `recovery_time` as has
//!   passed of `enter_time`, but no less than the recovery from the previous condition.
//! - A host may ask for a condition. This counts as a command: the timers start again when the condition is
//!   reached. To reach a shallower condition the drive recovers first.
//! # Source
//! Timers: the Extended Power Conditions feature as product manuals of drives describe it (for example
//! Western Digital Ultrastar DC HC310, section 9.19.2): timers run concurrently from the completion of a
//! command, expiry only lowers the condition, and the condition with the least power wins. What a command
//! does to a condition that is being entered is our choice.
//! # Validity
//! Mean power of each transition. If the file gives no power, entering draws the power of the previous
//! condition, leaving draws idle power, and spinning up draws `spin_up`, which is the peak and thus an upper
//! bound.

mod rest;
mod time;

pub use rest::{ConditionPhase, Rest};
pub use time::{ConditionEnergy, ConditionShare, ConditionTime};

use super::{StateWatts, PAUSES, POWERS};
use headstack_schema::{read_table, Choice, Parameter, Params, SpecError, Table};
use headstack_units::{Span, Time, Watts};
use serde::Serialize;
use serde_json::Value;
use std::ops::RangeInclusive;

/// A power condition; deeper ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Choice)]
pub enum Condition {
    /// Ready for commands.
    #[default]
    Active,
    /// Part of the electronics is off.
    #[choice("idle_a")]
    IdleA,
    /// Heads unloaded as well.
    #[choice("idle_b")]
    IdleB,
    /// Lower spindle speed as well.
    #[choice("idle_c")]
    IdleC,
    /// Spun down.
    Standby,
}

impl Condition {
    /// Every low-power condition, from shallow to deep.
    pub const LOW: [Condition; 4] = [Condition::IdleA, Condition::IdleB, Condition::IdleC, Condition::Standby];

    /// The name in drive files and results.
    pub fn name(self) -> &'static str {
        self.word()
    }

    /// Whether a command breaks off entering it.
    fn is_broken_off(self) -> bool {
        matches!(self, Condition::IdleA | Condition::IdleC)
    }
}

/// Whether a drive enters, holds or leaves a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Passage {
    /// The drive is in the condition.
    Holding,
    /// The drive is entering it.
    Entering,
    /// The drive is recovering from it.
    Leaving,
}

/// The power conditions of a drive: part of its design.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    #[doc(hidden)]
    pub idle_watts: f64,
    /// In the order of [`Condition::LOW`].
    #[doc(hidden)]
    pub steps: [Option<Step>; 4],
}

/// One condition.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub watts: f64,
    pub timer: Option<Span>,
    pub enter: Span,
    pub enter_watts: Option<f64>,
    pub recovery: Span,
    pub recovery_watts: f64,
}

/// The longest timer that the standards can express: 32 bits of 100 ms.
pub(crate) const LONGEST_TIMER: Span = Span((u32::MAX as i64) * 100_000_000);

/// The bounds of timers.
const TIMERS: RangeInclusive<Span> = Span(1)..=LONGEST_TIMER;

/// The key in a drive's `power` table.
pub(super) const KEY: &str = "conditions";

/// The table `power.conditions` of a drive file.
#[derive(Table)]
#[table(defaults)]
pub(super) struct Tables {
    /// Which timers run.
    timers: Timers,
    /// Part of the electronics is off.
    idle_a: Option<ConditionTable>,
    /// Heads unloaded as well.
    idle_b: Option<ConditionTable>,
    /// Lower spindle speed as well.
    idle_c: Option<ConditionTable>,
    /// Spun down.
    standby: Option<ConditionTable>,
}

/// Which timers run.
#[derive(Default, Clone, Copy, PartialEq, Choice)]
enum Timers {
    /// Only those given as `timer`.
    #[default]
    Given,
    /// Those, and `nominal_timer` for each other condition.
    Nominal,
}

/// One condition's table.
#[derive(Clone, Copy, Table)]
#[table(defaults)]
struct ConditionTable {
    /// Time without work after which the drive enters the condition by itself; never if absent.
    #[param(range = TIMERS)]
    timer: Option<Span>,
    /// The timer as the maker sets it or advises; used with `timers = "nominal"` only.
    #[param(range = TIMERS)]
    nominal_timer: Option<Span>,
    /// Time of entering; absent: zero.
    #[param(range = PAUSES)]
    enter_time: Option<Span>,
    /// Mean power while entering; absent: that of the previous condition.
    #[param(range = POWERS)]
    enter_power: Option<Watts>,
    /// Time from a command to the start of its service. If absent, for standby `spin_up_time`, else an error.
    #[param(range = PAUSES)]
    recovery_time: Option<Span>,
    /// Mean power while leaving; absent: idle power, or `spin_up` for standby.
    #[param(range = POWERS)]
    recovery_power: Option<Watts>,
}

/// The keys of a table `power.conditions`, with those that it leaves out.
pub(super) fn parameters(table: &Params) -> Params {
    let read = read_table::<Tables>(table).map(|all| all.write());
    match read {
        Ok(Value::Object(all)) => all,
        _ => Params::new(),
    }
}

impl Conditions {
    /// The conditions for which a drive's `power` table gives power and recovery. `watts` is the result of
    /// that table's power model.
    ///
    /// # Errors
    /// Values out of bounds, and tables of conditions whose power is unknown, by dotted key.
    pub fn new(power: &Params, watts: &StateWatts) -> Result<Conditions, SpecError> {
        let tables: Tables = match power.get(KEY) {
            None => Tables::default(),
            Some(Value::Object(table)) => read_table(table).map_err(|e| e.within("power.conditions"))?,
            Some(other) => {
                let need = "a table of conditions";
                return Err(SpecError::new("power.conditions", other, need));
            }
        };
        let low = &watts.low_power;
        let given = [
            (tables.idle_a, low.idle_a),
            (tables.idle_b, low.idle_b),
            (tables.idle_c, low.idle_c),
            (tables.standby, Some(watts.standby)),
        ];
        let mut steps = [None; 4];
        for ((step, condition), (table, power)) in steps.iter_mut().zip(Condition::LOW).zip(given) {
            *step = Step::new(condition, table, power, watts, tables.timers)?;
        }
        Ok(Conditions { idle_watts: watts.idle, steps })
    }

    /// Whether the drive has a condition.
    pub fn has(&self, condition: Condition) -> bool {
        condition == Condition::Active || self.step(condition).is_some()
    }

    /// Whether any timer is set.
    pub fn has_timer(&self) -> bool {
        self.steps.iter().flatten().any(|s| s.timer.is_some())
    }

    /// The timer of a condition.
    pub fn timer(&self, condition: Condition) -> Option<Span> {
        self.step(condition).and_then(|s| s.timer)
    }

    /// The same with another timer of one condition, if the drive has that.
    #[must_use]
    pub fn with_timer(mut self, condition: Condition, timer: Option<Span>) -> Conditions {
        let at = Condition::LOW.iter().position(|c| *c == condition);
        if let Some(step) = at.and_then(|at| self.steps[at].as_mut()) {
            step.timer = timer;
        }
        self
    }

    #[doc(hidden)]
    pub fn step(&self, condition: Condition) -> Option<&Step> {
        let at = Condition::LOW.iter().position(|c| *c == condition)?;
        self.steps[at].as_ref()
    }

    /// Power in a condition, in watts.
    pub fn watts(&self, condition: Condition) -> f64 {
        self.step(condition).map_or(self.idle_watts, |s| s.watts)
    }

    /// Power while entering, holding or leaving a condition, in watts; `before` is the condition from which
    /// it is entered.
    pub fn passage_watts(&self, of: Condition, passage: Passage, before: Condition) -> f64 {
        let Some(step) = self.step(of) else { return self.idle_watts };
        match passage {
            Passage::Holding => step.watts,
            Passage::Entering => step.enter_watts.unwrap_or_else(|| self.watts(before)),
            Passage::Leaving => step.recovery_watts,
        }
    }

    /// Time from a command to its service.
    pub fn recovery(&self, condition: Condition) -> Span {
        self.step(condition).map_or(Span::ZERO, |s| s.recovery)
    }

    /// The next deeper condition and the time at which it is entered, for timers that started at `from` and a
    /// drive that can change from `now` on.
    fn next(&self, now_in: Condition, from: Time, now: Time) -> Option<(Time, Condition)> {
        let mut next: Option<(Time, Condition)> = None;
        for condition in Condition::LOW {
            if condition <= now_in {
                continue;
            }
            let Some(timer) = self.step(condition).and_then(|s| s.timer) else { continue };
            // Of several that are due at the same time the deepest counts; it comes last in the list.
            let due = (from + timer).max(now);
            if next.is_none_or(|(at, _)| due <= at) {
                next = Some((due, condition));
            }
        }
        next
    }
}

impl Step {
    fn new(
        condition: Condition,
        table: Option<ConditionTable>,
        power: Option<f64>,
        watts: &StateWatts,
        timers: Timers,
    ) -> Result<Option<Step>, SpecError> {
        let key = |name: &str| format!("power.conditions.{}.{name}", condition.name());
        let Some(power) = power else {
            return match table {
                None => Ok(None),
                Some(_) => Err(SpecError::new(
                    format!("power.{}", condition.name()),
                    "nothing",
                    "the power of a condition that has a table",
                )),
            };
        };
        let t = table.unwrap_or_default();
        let standby = condition == Condition::Standby;
        let low = &watts.low_power;
        let spin_up = |s: f64| Span::from_secs_f64(s);
        let recovery = t.recovery_time.or(low.spin_up_s.filter(|_| standby).map(spin_up));
        let from_spin_up = if standby { low.spin_up } else { Some(watts.idle) };
        let recovery_watts = t.recovery_power.map(|w| w.0).or(from_spin_up);
        let (Some(recovery), Some(recovery_watts)) = (recovery, recovery_watts) else {
            if table.is_none() {
                return Ok(None);
            }
            let (name, need) = match recovery {
                None => ("recovery_time", "how long the way back takes"),
                Some(_) => ("recovery_power", "the power of spinning up, or power.spin_up"),
            };
            return Err(SpecError::new(key(name), "nothing", need));
        };
        if let Some(w) = t.recovery_power.filter(|w| w.0 < power) {
            let need = format!("at least the {power} W of the condition");
            return Err(SpecError::new(key("recovery_power"), w, need));
        }
        Ok(Some(Step {
            watts: power,
            timer: t.timer.or(t.nominal_timer.filter(|_| timers == Timers::Nominal)),
            enter: t.enter_time.unwrap_or_default(),
            enter_watts: t.enter_power.map(|w| w.0),
            recovery: recovery.max(Span::ZERO),
            recovery_watts,
        }))
    }
}
