//! Seek time grows linearly with distance.
//!
//! # Model
//! `t(0) = 0`; `t(d) = single + (d - 1) (full - single) / (cylinders - 2)`, so that the longest
//! distance of a drive, `cylinders - 1`, takes `full`.
//! # Source
//! J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 3: "a seek model that is
//! linear with a startup latency"; Tables 1 and 2 give the three values.
//! # Validity
//! The paper quotes a mean deviation of about 9 % from real drives. Short seeks are too fast, because the
//! square root due to acceleration is missing.

use super::{seek_time, SeekModel};
use crate::bounds::{bounded, MOST_CYLINDERS};
use crate::plugin::{params_beside, taken, Plugin};
use headstack_engine::SpecError;
use headstack_units::Span;
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn SeekModel> = Plugin {
    name: "linear",
    summary: "linear in distance with a start-up time",
    example: "single = \"1.086 ms\"\nfull = \"12.742 ms\"\ncylinders = 11474",
    parameters: &|table| taken::<Linear>(&["model"], table),
    build: &|table| {
        let model: Linear = params_beside(&["model"], table)?;
        seek_time("single", model.single)?;
        seek_time("full", model.full)?;
        if model.full < model.single {
            return Err(SpecError::new(
                "full",
                model.full,
                format!("at least the single-cylinder time {}", model.single),
            ));
        }
        bounded("cylinders", model.cylinders, 3..=MOST_CYLINDERS)?;
        Ok(Box::new(model))
    },
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Linear {
    /// Time over one cylinder.
    single: Span,
    /// Time over `cylinders - 1` cylinders.
    full: Span,
    /// Cylinders of the drive.
    cylinders: u32,
}

impl SeekModel for Linear {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        let rise = (self.full - self.single).as_ms() / f64::from(self.cylinders - 2);
        Span::from_ms(self.single.as_ms() + f64::from(distance - 1) * rise)
    }
}

#[cfg(test)]
mod tests {
    use crate::seek::tests::model;
    use headstack_units::Span;

    /// The ends are those of Table 1 of the paper; the middle is halfway between them.
    #[test]
    fn ibm_18es() {
        let m = model("linear", super::PLUGIN.example).unwrap();
        assert_eq!(m.seek(1), Span::from_ms(1.086));
        assert_eq!(m.seek(11_473), Span::from_ms(12.742));
        assert_eq!(m.seek(5_737), Span::from_ms((1.086 + 12.742) / 2.0));
    }

    #[test]
    fn refuses_values_without_a_line() {
        for (toml, key) in [
            ("single=\"0 ms\"\nfull=\"9 ms\"\ncylinders=9", "single"),
            ("single=\"9 ms\"\nfull=\"1 ms\"\ncylinders=9", "full"),
            ("single=\"1 ms\"\nfull=\"9 ms\"\ncylinders=2", "cylinders"),
            ("single=1\nfull=\"9 ms\"\ncylinders=9", "single"),
        ] {
            assert_eq!(model("linear", toml).err().expect(toml).key, key);
        }
    }
}
