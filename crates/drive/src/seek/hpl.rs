//! Seek time in two pieces: square root for short seeks, line for long ones.
//!
//! # Model
//! `t(0) = 0`; `t(d) = first[d - 1]` for the distances that `first` lists; otherwise `t(1) = single` if
//! given; otherwise `t(d) = short_base + short_sqrt sqrt(d)` for `d < short_limit` and `t(d) = long_base +
//! long_slope d` from `short_limit` on.
//! # Source
//! C. Ruemmler and J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994;
//! with `first` DiskSim's `hplplus10`, whose HP C2247A file has 300, 3.81, 0.33, 7.75, 0.0059.
//! # Validity
//! A fit to read seeks of one drive. Implementations differ in whether `short_limit` itself is a short seek;
//! here it is a long one, as in DiskSim 4.0. The two formulas may give different times there.

use super::{coefficient, milliseconds, seek_time, SeekModel};
use crate::bounds::{bounded, MOST_CYLINDERS};
use crate::plugin::{params_beside, taken, Plugin};
use headstack_engine::SpecError;
use headstack_units::Span;
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn SeekModel> = Plugin {
    name: "hpl",
    summary: "square root for short seeks, line for long ones (Ruemmler & Wilkes 1994)",
    example: "short_limit = 300\nshort_base = \"3.81 ms\"\nshort_sqrt = \"0.33 ms\"\n\
              long_base = \"7.75 ms\"\nlong_slope = \"0.0059 ms\"",
    parameters: &|table| taken::<Hpl>(&["model"], table),
    build: &|table| {
        let model: Hpl = params_beside(&["model"], table)?;
        bounded("short_limit", model.short_limit, 0..=MOST_CYLINDERS)?;
        for (i, time) in model.first.iter().enumerate() {
            seek_time(format!("first[{i}]"), *time)?;
        }
        if let Some(single) = model.single {
            seek_time("single", single)?;
        }
        for (key, value) in [
            ("short_base", model.short_base),
            ("short_sqrt", model.short_sqrt),
            ("long_base", model.long_base),
            ("long_slope", model.long_slope),
        ] {
            coefficient(key, value)?;
        }
        for (key, d) in [("short_base", 1), ("long_base", model.short_limit.max(1))] {
            if model.seek(d).0 <= 0 {
                return Err(SpecError::new(
                    key,
                    "a seek that takes no time",
                    "a positive time",
                ));
            }
        }
        Ok(Box::new(model))
    },
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Hpl {
    /// First distance of the long piece, in cylinders.
    short_limit: u32,
    /// Constant of the short piece.
    #[serde(deserialize_with = "milliseconds")]
    short_base: f64,
    /// Time per square root of a cylinder.
    #[serde(deserialize_with = "milliseconds")]
    short_sqrt: f64,
    /// Constant of the long piece.
    #[serde(deserialize_with = "milliseconds")]
    long_base: f64,
    /// Time per cylinder.
    #[serde(deserialize_with = "milliseconds")]
    long_slope: f64,
    /// Time over one cylinder, if the short formula does not hold for it.
    single: Option<Span>,
    /// Times over 1, 2, ... cylinders; they replace all other values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    first: Vec<Span>,
}

impl SeekModel for Hpl {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        if let Some(t) = self.first.get(distance as usize - 1) {
            return *t;
        }
        if let (1, Some(t)) = (distance, self.single) {
            return t;
        }
        let d = f64::from(distance);
        Span::from_ms(if distance < self.short_limit {
            self.short_base + self.short_sqrt * d.sqrt()
        } else {
            self.long_base + self.long_slope * d
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::seek::tests::model;
    use headstack_units::Span;

    /// By hand from the HP C2247A's values: 3.81 + 0.33 * 10; 7.75 + 0.0059 * 300 and * 2050.
    #[test]
    fn hp_c2247a() {
        let m = model("hpl", super::PLUGIN.example).unwrap();
        assert_eq!(m.seek(100), Span::from_ms(7.11));
        assert_eq!(m.seek(300), Span::from_ms(9.52));
        assert_eq!(m.seek(2_050), Span::from_ms(19.845));
    }

    #[test]
    fn listed_distances_come_first() {
        let listed = format!("{}\nsingle = \"1 ms\"\n", super::PLUGIN.example);
        assert_eq!(model("hpl", &listed).unwrap().seek(1), Span::from_ms(1.0));
        let listed = format!("{listed}first = [\"2 ms\", \"2.5 ms\"]");
        let m = model("hpl", &listed).unwrap();
        assert_eq!(m.seek(1), Span::from_ms(2.0));
        assert_eq!(m.seek(2), Span::from_ms(2.5));
        assert_eq!(m.seek(4), Span::from_ms(3.81 + 0.66));
    }

    #[test]
    fn refuses_times_that_are_not_positive() {
        let bad = format!("{}\nfirst = [\"2 ms\", \"0 ms\"]", super::PLUGIN.example);
        assert_eq!(model("hpl", &bad).err().expect("refused").key, "first[1]");
        let bad = super::PLUGIN.example.replace("0.33 ms", "-0.33 ms");
        assert_eq!(model("hpl", &bad).err().expect("refused").key, "short_sqrt");
    }
}
