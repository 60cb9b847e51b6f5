//! Points in time and lengths of time, in integer nanoseconds.

use crate::parse::{parse_with_units, serde_as_text, UnitError, TOO_LARGE};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::str::FromStr;

/// A point in simulated time: nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

/// A length of time in nanoseconds. Some are negative, for example write settling in some drive files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(pub i64);

impl Time {
    /// The beginning of a run.
    pub const ZERO: Time = Time(0);
    /// Later than every event.
    pub const NEVER: Time = Time(u64::MAX);
    /// The latest time that a run may reach: 2^62 ns, 146 years. Code that creates a time checks it against
    /// this bound. Sums with such times then stay far below 2^63.
    pub const LATEST: Time = Time(1 << 62);
    /// [`Time::LATEST`] as it appears in errors.
    pub const LATEST_SHOWN: &'static str = "at most 2^62 ns (146 years)";

    /// Seconds since the run began.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// The time `s` seconds after the beginning, rounded to the nearest nanosecond.
    pub fn from_secs_f64(s: f64) -> Time {
        Time((s * 1e9).round().max(0.0) as u64)
    }
    /// The length of time from `earlier` to this time; zero if `earlier` is later.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0).min(i64::MAX as u64) as i64)
    }
    /// The length of time from `start` to this time, where `start` is not later.
    #[inline]
    pub fn span_from(self, start: Time) -> Span {
        Span((self.0 - start.0) as i64)
    }
    /// The time later by `span`, which is not negative. This is one addition; `+` takes every length and every time.
    #[inline]
    pub fn after(self, span: Span) -> Time {
        debug_assert!(span.0 >= 0, "{span:?}");
        Time(self.0 + span.0 as u64)
    }
    /// The time earlier by `span`, which is not negative, but not before the beginning.
    #[inline]
    pub fn before(self, span: Span) -> Time {
        debug_assert!(span.0 >= 0, "{span:?}");
        Time(self.0.saturating_sub(span.0 as u64))
    }
}

impl Span {
    /// Zero length.
    pub const ZERO: Span = Span(0);
    /// Longer than every length of time.
    pub const FOREVER: Span = Span(i64::MAX);
    const UNITS: &'static [(&'static str, f64)] =
        &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0), ("min", 60e9), ("h", 3600e9), ("µs", 1e3)];
    const UNITS_HELP: &'static str = "one of s, ms, us, ns, min, h";

    /// From milliseconds, rounded to the nearest nanosecond.
    pub fn from_ms(ms: f64) -> Span {
        Span((ms * 1e6).round() as i64)
    }
    /// In milliseconds.
    pub fn as_ms(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// From seconds, rounded to the nearest nanosecond.
    pub fn from_secs_f64(s: f64) -> Span {
        Span((s * 1e9).round() as i64)
    }
    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }
    /// In nanoseconds, with negative lengths cut to zero.
    #[inline]
    pub fn non_negative(self) -> u64 {
        self.0.max(0) as u64
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add_signed(span.0))
    }
}
impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}
impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}
impl AddAssign for Span {
    #[inline]
    fn add_assign(&mut self, other: Span) {
        self.0 += other.0;
    }
}
impl SubAssign for Span {
    #[inline]
    fn sub_assign(&mut self, other: Span) {
        self.0 -= other.0;
    }
}
impl Sum for Span {
    fn sum<I: Iterator<Item = Span>>(all: I) -> Span {
        all.fold(Span::ZERO, Span::add)
    }
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Span, UnitError> {
        let too_long =
            || UnitError { got: text.to_string(), need: "a length of time below 2^63 ns (292 years)".into() };
        match parse_with_units(text, Span::UNITS, Span::UNITS_HELP) {
            // 2^63 as f64 is exact.
            Ok(ns) if ns.abs() < 9_223_372_036_854_775_808.0 => Ok(Span(ns.round() as i64)),
            Err(e) if e.need != TOO_LARGE => Err(e),
            _ => Err(too_long()),
        }
    }
}

impl fmt::Display for Span {
    /// Uses the largest unit in which the number is exact.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ns = self.0;
        if ns != 0 && ns % 1_000_000_000 == 0 {
            write!(f, "{} s", ns / 1_000_000_000)
        } else if ns.unsigned_abs() >= 1_000_000 || ns == 0 {
            // An f64 is printed with the shortest text that reads back as the same number.
            write!(f, "{} ms", ns as f64 / 1e6)
        } else {
            write!(f, "{} us", ns as f64 / 1e3)
        }
    }
}
serde_as_text!(Span, "a length of time");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_to_the_nanosecond() {
        for ns in [0, 1, 999, 1_000, 8_500_000, 123_456_789, -642_000, 5_000_000_000] {
            let text = Span(ns).to_string();
            assert_eq!(text.parse::<Span>(), Ok(Span(ns)), "{text}");
        }
    }

    #[test]
    fn the_longest_times_can_be_shown() {
        for ns in [i64::MIN, i64::MAX] {
            assert!(Span(ns).to_string().contains("9223372036854.775"), "{ns}");
        }
        for text in ["-1e15 s", "1e300 us", "1e300 s"] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            let need = "need a length of time below 2^63 ns (292 years)";
            assert_eq!(error, format!("got {text:?}, {need}"));
        }
    }
}
