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

use super::{Milliseconds, SeekModel, LEAST_SEEK, MOST_COEFFICIENT, MOST_SEEK};
use crate::bounds::MOST_CYLINDERS;
use headstack_schema::{SpecError, Table};
use headstack_units::Span;

#[derive(Table)]
#[table(
    model = "square root for short seeks, line for long ones (Ruemmler & Wilkes 1994)",
    example = "short_limit = 300\nshort_base = \"3.81 ms\"\nshort_sqrt = \"0.33 ms\"\n\
              long_base = \"7.75 ms\"\nlong_slope = \"0.0059 ms\""
)]
#[table(check = Hpl::check_ends)]
pub(super) struct Hpl {
    /// First distance of the long piece, in cylinders.
    #[param(range = 0..=MOST_CYLINDERS)]
    short_limit: u32,
    /// Constant of the short piece.
    #[param(range = Milliseconds(0.0)..=MOST_COEFFICIENT)]
    short_base: Milliseconds,
    /// Time per square root of a cylinder.
    #[param(range = Milliseconds(0.0)..=MOST_COEFFICIENT)]
    short_sqrt: Milliseconds,
    /// Constant of the long piece.
    #[param(range = Milliseconds(0.0)..=MOST_COEFFICIENT)]
    long_base: Milliseconds,
    /// Time per cylinder.
    #[param(range = Milliseconds(0.0)..=MOST_COEFFICIENT)]
    long_slope: Milliseconds,
    /// Time over one cylinder, if the short formula does not hold for it.
    #[param(range = LEAST_SEEK..=MOST_SEEK)]
    single: Option<Span>,
    /// Times over 1, 2, ... cylinders; they replace all other values.
    #[param(default, omit = Vec::is_empty, range = LEAST_SEEK..=MOST_SEEK)]
    first: Vec<Span>,
}

impl Hpl {
    fn check_ends(&self) -> Result<(), SpecError> {
        for (key, d) in [("short_base", 1), ("long_base", self.short_limit.max(1))] {
            if self.seek(d).0 <= 0 {
                let got = "a seek that takes no time";
                return Err(SpecError::new(key, got, "a positive time"));
            }
        }
        Ok(())
    }
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
            self.short_base.0 + self.short_sqrt.0 * d.sqrt()
        } else {
            self.long_base.0 + self.long_slope.0 * d
        })
    }
}
