//! Angles as integer fractions of a turn, and a spindle whose phase never drifts.

use crate::parse::{parse_with_units, serde_as_text, UnitError};
use crate::round::nearest;
use crate::{Rpm, Span, Time};
use std::fmt;
use std::str::FromStr;

/// An angle: the fraction `self.0 / 2^64` of a turn. Wrapping arithmetic is arithmetic modulo one turn, so no
/// reduction is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Turn(pub u64);

impl Turn {
    const UNITS: &'static [(&'static str, f64)] = &[("turn", 1.0), ("deg", 1.0 / 360.0), ("turns", 1.0)];
    const UNITS_HELP: &'static str = "one of turn, deg";

    /// From a number of turns; whole turns are dropped.
    pub fn from_turns(turns: f64) -> Turn {
        let fraction = turns - turns.floor();
        // 2^64 as f64. `as` saturates; a fraction that was rounded up to one turn becomes zero.
        let scaled = fraction * 18_446_744_073_709_551_616.0;
        if scaled >= 18_446_744_073_709_551_616.0 {
            Turn(0)
        } else {
            Turn(scaled as u64)
        }
    }
    /// The exact ratio `numerator / denominator` of a turn, modulo one turn.
    pub fn from_ratio(numerator: u64, denominator: u64) -> Turn {
        Turn((((numerator % denominator) as u128) << 64).wrapping_div(denominator as u128) as u64)
    }
    /// The number of turns, in `[0, 1)`.
    pub fn as_turns(self) -> f64 {
        // 53 bits, rounded down, so that the result is less than one turn.
        (self.0 >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
    /// The angle from `earlier` forward to this one.
    #[inline]
    pub fn since(self, earlier: Turn) -> Turn {
        Turn(self.0.wrapping_sub(earlier.0))
    }
    /// The sum, modulo one turn.
    #[inline]
    pub fn plus(self, other: Turn) -> Turn {
        Turn(self.0.wrapping_add(other.0))
    }
}

impl FromStr for Turn {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Turn, UnitError> {
        parse_with_units(text, Turn::UNITS, Turn::UNITS_HELP).map(Turn::from_turns)
    }
}
impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} turn", self.as_turns())
    }
}
serde_as_text!(Turn, "an angle");

/// A spindle at constant speed: the angle of its platters as a function of absolute time.
///
/// The number of turns per nanosecond is stored as a multiple of 2^-96. Over the 2^64 ns that time can count,
/// the error of the phase is less than 2^-33 turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rotation {
    step: u128,
    /// The time of one turn in nanoseconds; in general not a whole number.
    pub period_ns: f64,
    // Nanoseconds per 2^-63 turn.
    ns_per_step: f64,
    phase: Turn,
}

impl Rotation {
    /// A spindle at this speed, with angle zero under the head at time zero.
    pub fn new(speed: Rpm) -> Rotation {
        // In micro-turns per minute the speed is an integer, so the ratio is exact.
        let micro = (speed.0 * 1e6).round() as u128;
        // turns/ns = micro / (1e6 · 60e9). It is scaled by 2^96 in two steps, to stay within u128.
        let denominator: u128 = 60_000_000_000_000_000;
        let high = (micro << 64) / denominator;
        let rest = (micro << 64) % denominator;
        Rotation {
            step: (high << 32) + (rest << 32) / denominator,
            period_ns: 60e9 / speed.0,
            ns_per_step: 60e9 / speed.0 / 9_223_372_036_854_775_808.0,
            phase: Turn(0),
        }
    }
    /// The same spindle, with this angle under the head at time zero.
    pub fn with_phase(mut self, phase: Turn) -> Rotation {
        self.phase = phase;
        self
    }
    /// The spindle from `at` on, if its speed changes then. Both have the same angle at `at`, and the new one
    /// is as exact as any other. It is not valid for earlier times.
    pub fn changed_to(&self, speed: Rpm, at: Time) -> Rotation {
        let next = Rotation::new(speed);
        let phase = self.angle_at(at).since(next.angle_at(at));
        next.with_phase(phase)
    }
    /// The angle under the head at `time`.
    #[inline]
    pub fn angle_at(&self, time: Time) -> Turn {
        // Only bits 32 to 95 of the product matter; the bits above are whole turns.
        let product = (time.0 as u128).wrapping_mul(self.step);
        Turn((product >> 32) as u64).plus(self.phase)
    }
    /// The angle per nanosecond, rounded down to a multiple of 2^-64 turn. Over 8 s the error is less than
    /// 2^-31 turn.
    #[inline]
    pub fn per_ns(&self) -> Turn {
        Turn((self.step >> 32) as u64)
    }
    /// The time of `turns` units of 2^-64 turn, rounded to the nearest nanosecond. It is the inverse of
    /// [`Rotation::angle_at`], for any number of turns up to 2^56.
    pub fn time_of(&self, turns: u128) -> Span {
        // The unit of `step` is 2^-96 turn. In two steps, so that nothing exceeds 128 bits.
        let (whole, rest) = (turns / self.step, turns % self.step);
        let nearest = ((rest << 32) + self.step / 2) / self.step;
        Span(((whole << 32) + nearest) as i64)
    }
    /// The time of a turn by `angle`, rounded to the nearest nanosecond.
    #[inline]
    pub fn time_for(&self, angle: Turn) -> Span {
        // Half of the angle fits a signed integer, which converts to a float in one instruction.
        Span(nearest((angle.0 >> 1) as i64 as f64 * self.ns_per_step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phase_is_exact_after_a_century() {
        // A drive at 10 045 rpm makes exactly 10 045 turns per minute.
        let r = Rotation::new(Rpm(10_045.0));
        let century = 100 * 365 * 24 * 60 * 60_000_000_000u64;
        let angle = r.angle_at(Time(century)).as_turns();
        assert!(!(1e-6..=1.0 - 1e-6).contains(&angle), "{angle}");
        let quarter = Time(century + (r.period_ns / 4.0).round() as u64);
        assert!((r.angle_at(quarter).as_turns() - 0.25).abs() < 1e-6);
    }

    /// 7200 to 5400 rpm after 1 s and a quarter turn: at 5400 rpm, 100 ms are 9 turns. Then a hundred changes
    /// back and forth, each after a whole number of turns: the angle stays exact.
    #[test]
    fn a_change_of_speed_keeps_the_angle() {
        let quarter = Turn::from_turns(0.25);
        let fast = Rotation::new(Rpm(7200.0)).with_phase(quarter);
        let at = Time(1_000_000_000);
        let slow = fast.changed_to(Rpm(5400.0), at);
        assert_eq!(slow.angle_at(at), fast.angle_at(at));
        let near = |r: &Rotation, t: u64, turns: f64| {
            let off = r.angle_at(Time(t)).since(Turn::from_turns(turns)).0 as i64;
            assert!(off.abs() < 1 << 31, "{off} of 2^64 at {t}");
        };
        near(&slow, 1_000_000_000, 0.25);
        near(&slow, 1_700_000_000, 0.25);
        near(&slow, 1_002_777_778, 0.5 + 0.000_000_02);
        let (mut r, mut t) = (slow, 1_700_000_000);
        for i in 0..100 {
            let speed = if i % 2 == 0 { 7200.0 } else { 5400.0 };
            r = r.changed_to(Rpm(speed), Time(t));
            t += 1_000_000_000;
            near(&r, t, 0.25);
        }
    }

    /// At 6000 rpm a turn is 10 ms; a century of turns is still exact to the nanosecond.
    #[test]
    fn turns_become_times() {
        let r = Rotation::new(Rpm(6000.0));
        for (turns, ns) in [(0, 0), (1, 10_000_000), (315_360_000_000, 3_153_600_000_000_000_000)] {
            assert_eq!(r.time_of(turns << 64), Span(ns));
            assert_eq!(r.time_of((turns << 64) + (1 << 62)), Span(ns + 2_500_000));
            let tenth = (1u128 << 64) / 100_000_000;
            assert_eq!(r.time_of((turns << 64) + 4 * tenth), Span(ns));
            assert_eq!(r.time_of((turns << 64) + 6 * tenth), Span(ns + 1));
        }
    }

    #[test]
    fn ratios_and_turns_agree() {
        for (n, d) in [(0, 5), (1, 3), (311, 312), (7, 7), (1000, 312)] {
            let exact = (n % d) as f64 / d as f64;
            assert!((Turn::from_ratio(n, d).as_turns() - exact).abs() < 1e-12);
            assert!((Turn::from_turns(n as f64 / d as f64).as_turns() - exact).abs() < 1e-12);
        }
        assert_eq!(Turn::from_turns(-0.25), Turn::from_ratio(3, 4));
    }
}
