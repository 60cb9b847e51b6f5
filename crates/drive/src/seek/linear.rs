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

use super::{SeekModel, LEAST_SEEK, MOST_SEEK};
use crate::bounds::MOST_CYLINDERS;
use headstack_schema::{SpecError, Table};
use headstack_units::Span;

#[derive(Table)]
#[table(
    model = "linear in distance with a start-up time",
    example = "single = \"1.086 ms\"\nfull = \"12.742 ms\"\ncylinders = 11474"
)]
#[table(check = Linear::check_order)]
pub(super) struct Linear {
    /// Time over one cylinder.
    #[param(range = LEAST_SEEK..=MOST_SEEK)]
    single: Span,
    /// Time over `cylinders - 1` cylinders.
    #[param(range = LEAST_SEEK..=MOST_SEEK)]
    full: Span,
    /// Cylinders of the drive.
    #[param(range = 3..=MOST_CYLINDERS)]
    cylinders: u32,
}

impl Linear {
    fn check_order(&self) -> Result<(), SpecError> {
        if self.full < self.single {
            let need = format!("at least the single-cylinder time {}", self.single);
            return Err(SpecError::new("full", self.full, need));
        }
        Ok(())
    }
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
