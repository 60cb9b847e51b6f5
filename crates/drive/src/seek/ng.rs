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

use super::{Milliseconds, SeekModel, MOST_COEFFICIENT, TRACKS_PER_INCH};
use headstack_schema::{SpecError, Table};
use headstack_units::Span;

#[derive(Table)]
#[table(
    model = "square root of the way plus settling by log of track density (Ng 1998)",
    example = "a = \"0.5 ms\"\nb = \"14 ms\"\nc = \"0.1 ms\"\ntracks_per_inch = 10000"
)]
#[table(check = Ng::check_least)]
pub(super) struct Ng {
    /// The constant part; it may be negative, because settling is added to it.
    #[param(range = Milliseconds(-MOST_COEFFICIENT.0)..=MOST_COEFFICIENT)]
    a: Milliseconds,
    /// Travel time over one inch.
    #[param(range = Milliseconds(0.0)..=MOST_COEFFICIENT)]
    b: Milliseconds,
    /// Settling time for each factor of e in track density.
    #[param(range = Milliseconds(0.0)..=MOST_COEFFICIENT)]
    c: Milliseconds,
    /// Tracks per inch.
    #[param(range = TRACKS_PER_INCH)]
    tracks_per_inch: f64,
}

impl Ng {
    fn check_least(&self) -> Result<(), SpecError> {
        let least = self.seek(1);
        if least.0 <= 0 {
            let got = format!("{least} for 1 cylinder");
            return Err(SpecError::new("a", got, "a positive time"));
        }
        Ok(())
    }
}

impl SeekModel for Ng {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        let inches = f64::from(distance) / self.tracks_per_inch;
        Span::from_ms(self.a.0 + self.b.0 * inches.sqrt() + self.c.0 * self.tracks_per_inch.ln())
    }
}
