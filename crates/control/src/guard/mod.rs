//! Filters the readings of a meter: decides which readings are valid, when to act, and when the meter is lost.
//!
//! # Which readings count
//! A reading counts if its power is finite, above zero and at most [`GuardSettings::most_power`], and its time
//! is later than that of the last reading that counted, not in the future, and not longer ago than
//! [`GuardSettings::stale_after`]. All others are ignored in the same way: missing, NaN, negative, absurd, old,
//! repeated and out-of-order readings. A cap that is not finite and positive counts as an unknown cap. No cap
//! at all is different: it is an order not to control.
//!
//! # What happens without readings
//! The last command stays in force. When no reading, or no cap, has counted for more than
//! [`GuardSettings::lost_after`], the meter is *lost*, and the policy commands the safe setting ([`OnLoss`])
//! until a reading and a cap count again. Control then continues from there after one full period.
//!
//! # Limits
//! A meter that repeats one value with new times cannot be distinguished from constant power.
//!
//! # Time
//! Timers add up the time between steps. If the clock is set back, they stop for one step; this has no other effect.

pub mod meter;
pub mod period;

use crate::policy::fill;
use crate::{Input, Status};
use headstack_schema::{read, Choice, SpecError, Table};
use headstack_units::{Span, Time, Watts};
use meter::Meter;
use period::Period;
use serde_json::{json, Value};

/// What a policy does when the meter is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub enum OnLoss {
    /// The setting with the lowest power: the cap is kept in any case, at the cost of speed.
    Lowest,
    /// The setting without power capping: full speed; the cap must be kept by other means.
    Open,
}

/// Times and bounds of a [`Guard`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GuardSettings {
    /// Control period: readings are averaged over it.
    pub period: Span,
    /// Older readings do not count.
    pub stale_after: Span,
    /// The meter is lost when no reading has counted for longer than this.
    pub lost_after: Span,
    /// Larger readings do not count.
    pub most_power: Watts,
    /// The safe setting.
    pub on_loss: OnLoss,
}

/// The longest time that a parameter may be.
const LONGEST: Span = Span(3_600_000_000_000);

/// Times and bounds of a [`Guard`] as parameters; the usual period has so many seconds.
#[derive(Debug, Table)]
pub(crate) struct GuardTable<const SECONDS: i64> {
    /// Time between two decisions.
    #[param(default = Span(SECONDS * 1_000_000_000), range = Span::from_ms(10.0)..=LONGEST)]
    period: Span,
    /// Readings older than this do not count; left out, the period.
    #[param(range = Span::from_ms(10.0)..=LONGEST)]
    stale_after: Option<Span>,
    /// Time without a valid reading after which the meter counts as lost, from the period to an hour; left out, three
    /// periods.
    lost_after: Option<Span>,
    /// Readings above this do not count; left out, 100 W for each drive.
    #[param(range = Watts(0.1)..=Watts(1e6))]
    most_power: Option<Watts>,
    /// The setting while the meter is lost.
    #[param(default = OnLoss::Lowest)]
    on_loss: OnLoss,
}

impl<const SECONDS: i64> GuardTable<SECONDS> {
    /// The settings for so many drives behind the meter.
    ///
    /// # Errors
    /// A `lost_after` shorter than the period.
    pub(crate) fn fill(&mut self, drives: usize) -> Result<GuardSettings, SpecError> {
        let period = self.period;
        let usual = Span(period.0.saturating_mul(3).min(LONGEST.0));
        Ok(GuardSettings {
            period,
            stale_after: *self.stale_after.get_or_insert(period),
            lost_after: fill("lost_after", &mut self.lost_after, usual, period..=LONGEST)?,
            most_power: *self.most_power.get_or_insert(Watts(100.0 * drives as f64)),
            on_loss: self.on_loss,
        })
    }
}

/// The readings of one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// Mean power, in watts.
    pub power_w: f64,
    /// Mean of the response times that came with the readings, in seconds.
    pub response_time_s: Option<f64>,
    /// Mean of the rates that came with the readings, per second.
    pub rate: Option<f64>,
}

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Turn {
    /// There is no cap.
    Uncapped,
    /// No action: the period is not over, or it had no reading.
    Keep,
    /// A period is over.
    Act(Reading),
    /// The meter is lost: command the safe setting.
    Lost,
}

/// Timers in a document.
#[derive(Table)]
pub(crate) struct KeptTimers {
    /// Time without a reading.
    #[param(range = Span(0)..=LONGEST)]
    silent: Span,
    /// Time without a valid cap.
    #[param(range = Span(0)..=LONGEST)]
    blind: Span,
}

/// Times between events, and of the last ones.
#[derive(Debug, Clone, Copy, Default)]
struct Timers {
    /// Time of the last step.
    now: Option<Time>,
    /// Time of the last reading that counted.
    last: Option<Time>,
    /// Times without a reading, without a valid cap, since the last action, and until readings are averaged again.
    silent_ns: u64,
    blind_ns: u64,
    elapsed_ns: u64,
    settling_ns: u64,
}

impl Timers {
    fn pass(&mut self, now: Time) {
        let passed = now.since(self.now.unwrap_or(now)).non_negative();
        self.now = Some(now);
        // The clock was set back: readings are valid again from its time on.
        self.last = self.last.map(|last| last.min(now));
        for timer in [&mut self.silent_ns, &mut self.blind_ns, &mut self.elapsed_ns] {
            *timer = timer.saturating_add(passed);
        }
        self.settling_ns = self.settling_ns.saturating_sub(passed);
    }
}

/// The state of a guard; the rules are in this module's description.
#[derive(Debug, Clone)]
pub struct Guard {
    settings: GuardSettings,
    timers: Timers,
    /// The last cap that counted.
    cap: Option<f64>,
    /// Mean power of the last period without a cap.
    uncapped_w: Option<f64>,
    period: Period,
    meter: Meter,
}

impl Guard {
    /// A guard without any reading.
    pub fn new(settings: GuardSettings) -> Guard {
        Guard {
            settings,
            timers: Timers::default(),
            cap: None,
            uncapped_w: None,
            period: Period::new(false),
            meter: Meter::default(),
        }
    }

    /// A guard that also copes with a poor meter: of a period the median counts, so that fewer than half of its readings
    /// may be absurd; a slow meter is lost only after 2.5 times its own interval; and what settles takes longer by the age
    /// of its readings.
    pub fn robust(settings: GuardSettings) -> Guard {
        Guard { period: Period::new(true), ..Guard::new(settings) }
    }

    /// The settings.
    pub fn settings(&self) -> &GuardSettings {
        &self.settings
    }

    /// The step of the meter in watts: the largest of some of which all readings were multiples. 0 if there is none, or
    /// too few readings. A finer meter that shows the same value for long seems to be coarse, until another value comes.
    pub fn step_w(&self) -> f64 {
        self.meter.step_w()
    }

    /// The times without a reading and without a valid cap, for a run that goes on after an interruption.
    pub fn state(&self) -> Value {
        json!({
            "silent": format!("{} ns", self.timers.silent_ns.min(LONGEST.non_negative())),
            "blind": format!("{} ns", self.timers.blind_ns.min(LONGEST.non_negative())),
        })
    }

    /// Goes on from such times, after an interruption that counts as one without readings.
    ///
    /// # Errors
    /// Another kind of document.
    pub fn resume(&mut self, state: &Value, since: Span) -> Result<(), SpecError> {
        self.go_on(&read(state)?, since);
        Ok(())
    }

    pub(crate) fn go_on(&mut self, kept: &KeptTimers, since: Span) {
        let longer = |kept: Span| match kept.0 {
            0 => 0,
            _ => kept.non_negative().saturating_add(since.non_negative()),
        };
        self.timers.silent_ns = longer(kept.silent);
        self.timers.blind_ns = longer(kept.blind);
    }

    /// How much single readings vary under one setting: their standard deviation in watts, from those of the last periods.
    /// 0 for a guard that is not [`Guard::robust`].
    pub fn scatter_w(&self) -> f64 {
        self.meter.scatter_w()
    }

    /// Whether readings still show the time before a change.
    pub fn is_settling(&self) -> bool {
        self.timers.settling_ns > 0
    }

    /// The last cap that counted, in watts.
    pub fn cap_w(&self) -> Option<f64> {
        self.cap
    }

    /// Processes one step and returns its outcome.
    pub fn turn(&mut self, input: &Input) -> Turn {
        self.timers.pass(input.now);
        self.read(input);
        let capped = self.read_cap(input.cap);
        let period_ends = self.timers.elapsed_ns >= self.settings.period.non_negative();
        if !capped {
            if period_ends {
                let reading = self.end_period();
                self.uncapped_w = reading.map(|reading| reading.power_w);
            }
            return Turn::Uncapped;
        }
        if self.is_lost() {
            self.begin_period();
            return Turn::Lost;
        }
        if !period_ends {
            return Turn::Keep;
        }
        self.end_period().map_or(Turn::Keep, Turn::Act)
    }

    /// A period begins now, after a command. Readings of its first `span` are not averaged, because their power is
    /// still that before the command. They only show that the meter works.
    pub fn settle(&mut self, span: Span) {
        self.begin_period();
        self.meter.changed();
        let delay_ns = if self.period.is_robust { self.meter.delay_ns } else { 0 };
        self.timers.settling_ns = span.non_negative().saturating_add(delay_ns);
    }

    /// What the period has so far, if it has at least `n` readings and each is above this power: for a decision before its
    /// end.
    pub fn all_above(&self, n: u32, least_w: f64) -> Option<Reading> {
        self.period.all_above(n, least_w)
    }

    /// Mean power of the last period without a cap, in watts.
    pub fn uncapped_w(&self) -> Option<f64> {
        self.uncapped_w
    }

    /// The status that corresponds to `turn`.
    pub fn status(&self, turn: &Turn) -> Status {
        match turn {
            Turn::Uncapped => Status::Uncapped,
            Turn::Lost => Status::Lost,
            _ if self.timers.silent_ns.max(self.timers.blind_ns) >= self.settings.period.non_negative() => {
                Status::Holding
            }
            _ => Status::Regulating,
        }
    }

    fn is_lost(&self) -> bool {
        let after = self.settings.lost_after.non_negative();
        let silent_for = match self.period.is_robust {
            false => after,
            true => after.max(self.meter.interval_ns.saturating_mul(5) / 2),
        };
        self.timers.silent_ns > silent_for || self.timers.blind_ns > after
    }

    fn read(&mut self, input: &Input) {
        let sample = &input.sample;
        let Some(Watts(power_w)) = sample.power else { return };
        // False for NaN.
        let plausible = power_w > 0.0 && power_w <= self.settings.most_power.0;
        let in_time = sample.time <= input.now
            && input.now.since(sample.time) <= self.settings.stale_after
            && self.timers.last.is_none_or(|last| sample.time > last);
        if !(plausible && in_time) {
            return;
        }
        let interval = self.timers.last.map(|last| sample.time.since(last));
        let age = input.now.since(sample.time);
        self.meter.see(power_w, age, interval);
        self.timers.last = Some(sample.time);
        self.timers.silent_ns = 0;
        if self.timers.settling_ns == 0 {
            self.period.add(power_w, sample.work);
        }
    }

    /// Whether there is a cap, known or unknown.
    fn read_cap(&mut self, cap: Option<Watts>) -> bool {
        match cap {
            None => self.cap = None,
            Some(Watts(cap_w)) if cap_w.is_finite() && cap_w > 0.0 => self.cap = Some(cap_w),
            // The last cap stays in force, and the timer continues.
            Some(_) => return true,
        }
        self.timers.blind_ns = 0;
        self.cap.is_some()
    }

    /// What the period that ends had.
    fn end_period(&mut self) -> Option<Reading> {
        let reading = self.period.reading();
        if let Some(reading) = reading.filter(|_| self.period.is_robust) {
            self.meter.see_period(reading.power_w, self.period.distance_w());
        }
        self.begin_period();
        reading
    }

    fn begin_period(&mut self) {
        self.timers.elapsed_ns = 0;
        self.period.begin();
    }
}
