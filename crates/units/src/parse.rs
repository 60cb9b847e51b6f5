//! Numbers with units, as used in TOML files and on the command line.

use thiserror::Error;

/// Text that is not a number with one of the known units, or is too large a number.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("got {got:?}, need {need}")]
pub struct UnitError {
    /// The text as it was given.
    pub got: String,
    /// What is needed, for the message.
    pub need: String,
}

/// What is needed in place of a number that is not finite.
pub(crate) const TOO_LARGE: &str = "a smaller number";

/// Reads `"<number> <unit>"` and returns the number times the unit's factor.
///
/// `units` lists each accepted spelling with its factor; errors show `listed` of them: "one of ms, s".
/// White space between number and unit is optional; underscores in the number are ignored.
///
/// # Errors
/// [`UnitError`] when there is no number, no unit, an unknown unit, or a value that is not finite.
pub fn parse_with_units(text: &str, units: &[(&str, f64)], listed: &str) -> Result<f64, UnitError> {
    let fail = || UnitError { got: text.to_string(), need: format!("a number and a unit: {listed}") };
    let (value, unit) = number_and_unit(text).ok_or_else(fail)?;
    let factor = units.iter().find(|u| u.0 == unit).map(|u| u.1).ok_or_else(fail)?;
    let scaled = value * factor;
    if scaled.is_finite() {
        Ok(scaled)
    } else {
        Err(UnitError { need: TOO_LARGE.into(), ..fail() })
    }
}

/// A number and what follows it, which may be nothing; none if the text does not begin with a number.
pub fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let trimmed = text.trim();
    // The unit begins at the first character that cannot belong to a number. An `e` belongs to a number only
    // if a digit or a sign follows.
    let bytes = trimmed.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let number = match bytes[end] {
            b'0'..=b'9' | b'.' | b'_' | b'+' | b'-' => true,
            b'e' | b'E' => {
                end > 0
                    && bytes[end - 1].is_ascii_digit()
                    && matches!(bytes.get(end + 1), Some(b'0'..=b'9' | b'+' | b'-'))
            }
            _ => false,
        };
        if !number {
            break;
        }
        end += 1;
    }
    let (number, unit) = trimmed.split_at(end);
    Some((number.replace('_', "").parse().ok()?, unit.trim()))
}

/// A quantity that descriptions write as text with a unit.
pub trait Quantity: std::str::FromStr<Err = UnitError> + std::fmt::Display {
    /// What it is, with its article: "a length of time".
    const WHAT: &'static str;
    /// The units that it may have, as messages list them: "one of s, ms".
    const UNITS: &'static str;
}

/// Serialises through text, with `Display` and `FromStr`, so that a bare number is refused with the list of
/// units.
macro_rules! serde_as_text {
    ($type:ty, $what:literal) => {
        impl $crate::Quantity for $type {
            const WHAT: &'static str = $what;
            const UNITS: &'static str = <$type>::UNITS_HELP;
        }
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct V;
                impl serde::de::Visitor<'_> for V {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                        write!(f, "{} as text with its unit: {}", $what, <$type>::UNITS_HELP)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                d.deserialize_any(V)
            }
        }
    };
}
pub(crate) use serde_as_text;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: &[(&str, f64)] = &[("ms", 1e6), ("s", 1e9)];

    #[test]
    fn reads_numbers_with_units() {
        let read = |text| parse_with_units(text, MS, "one of ms, s");
        assert_eq!(read("8.5 ms"), Ok(8.5e6));
        assert_eq!(read("1e3ms"), Ok(1e9));
        assert_eq!(read(" -2 s "), Ok(-2e9));
        assert_eq!(read("1_000 s"), Ok(1e12));
    }

    #[test]
    fn refuses_bare_numbers_and_unknown_units() {
        for text in ["8", "8 parsec", "", "ms", "--3 s"] {
            let error = parse_with_units(text, MS, "one of ms, s").unwrap_err();
            assert!(error.to_string().contains("one of ms, s"), "{error}");
        }
    }
}
