//! Travel time at full acceleration, plus settling that grows with track density.
//!
//! # Model
//! `t(0) = 0`; `t(d) = a + b sqrt(x) + c ln(tracks_per_inch)` for `d > 0`, where
//! `x = d / tracks_per_inch` is the distance in inches.
//! # Source
//! S. W. Ng, "Advances in Disk Technology: Performance Issues", IEEE Computer 31(5), 1998:
//! "seek time = A + B x sqrt(seek distance) + C x log(tpi)". The paper gives the logarithm no base
//! (here it is natural; another base only rescales `c`). Its text takes the physical distance, which is
//! shorter on denser tracks.
//! # Validity
//! The paper calls it a first-order model of an arm that accelerates to the halfway point and then brakes.
//! There is no speed limit, so long seeks of large drives are too fast. Use it to compare densities; the
//! paper prints no constants.

use super::{coefficient, milliseconds, positive, SeekModel};
use crate::plugin::{params_beside, taken, Plugin};
use headstack_engine::SpecError;
use headstack_units::Span;
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn SeekModel> = Plugin {
    name: "ng",
    summary: "square root of the way plus settling by log of track density (Ng 1998)",
    example: "a = \"0.5 ms\"\nb = \"14 ms\"\nc = \"0.1 ms\"\ntracks_per_inch = 10000",
    parameters: &|table| taken::<Ng>(&["model"], table),
    build: &|table| {
        let model: Ng = params_beside(&["model"], table)?;
        positive("tracks_per_inch", model.tracks_per_inch, 1e9)?;
        // The constant part may be negative, because settling is added to it.
        coefficient("a", model.a.abs())?;
        for (key, value) in [("b", model.b), ("c", model.c)] {
            coefficient(key, value)?;
        }
        if model.seek(1).0 <= 0 {
            return Err(SpecError::new(
                "a",
                format!("{} for 1 cylinder", model.seek(1)),
                "a positive time",
            ));
        }
        Ok(Box::new(model))
    },
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Ng {
    /// The constant part.
    #[serde(deserialize_with = "milliseconds")]
    a: f64,
    /// Travel time over one inch.
    #[serde(deserialize_with = "milliseconds")]
    b: f64,
    /// Settling time for each factor of e in track density.
    #[serde(deserialize_with = "milliseconds")]
    c: f64,
    /// Tracks per inch.
    tracks_per_inch: f64,
}

impl SeekModel for Ng {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        let inches = f64::from(distance) / self.tracks_per_inch;
        Span::from_ms(self.a + self.b * inches.sqrt() + self.c * self.tracks_per_inch.ln())
    }
}

#[cfg(test)]
mod tests {
    use crate::seek::tests::model;

    fn ms(distance: u32, tpi: f64) -> f64 {
        let toml = format!("a=\"0.5 ms\"\nb=\"14 ms\"\nc=\"0.1 ms\"\ntracks_per_inch={tpi}");
        model("ng", &toml).unwrap().seek(distance).as_ms()
    }

    /// One inch; and the derivative of the time by density, which is zero at `(b sqrt(d) / 2c)^2`.
    #[test]
    fn density_shortens_travel_and_lengthens_settling() {
        assert!((ms(10_000, 1e4) - (0.5 + 14.0 + 0.1 * 1e4f64.ln())).abs() < 1e-6);
        let best = (14.0 * 4f64.sqrt() / (2.0 * 0.1)).powi(2);
        let at_best = ms(4, best);
        assert!(ms(4, best / 2.0) > at_best && ms(4, best * 2.0) > at_best);
    }

    #[test]
    fn refuses_a_density_of_zero() {
        let bad = super::PLUGIN.example.replace("10000", "0");
        assert_eq!(
            model("ng", &bad).err().expect("refused").key,
            "tracks_per_inch"
        );
    }
}
