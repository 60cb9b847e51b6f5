//! A curve through the three seek times that data sheets print.
//!
//! # Model
//! With `N` cylinders, `t(0) = 0` and `t(d) = single + A sqrt(d - 1) + B (d - 1)` for `d > 0`, where
//! `A = (-10 single + 15 average - 5 full) / (3 sqrt(N))` and
//! `B = (7 single - 15 average + 8 full) / (3 N)`.
//! # Source
//! E. K. Lee and R. H. Katz, "An Analytic Performance Model of Disk Arrays", SIGMETRICS 1993; the
//! curve of DiskSim's `Seek type = curve`.
//! # Validity
//! `average` is the mean over random pairs of cylinders and `full` the time over `N - 1` cylinders. Both hold
//! up to terms of order `1/sqrt(N)`, so `N` should be a few hundred or more. Three values fix only one
//! compromise between short and long seeks: expect errors of a millisecond on real drives.

use super::{SeekModel, LEAST_SEEK, MOST_SEEK};
use crate::bounds::MOST_CYLINDERS;
use headstack_schema::{SpecError, Table};
use headstack_units::Span;

#[derive(Table)]
#[table(
    model = "square root plus line through single, average and full seek (Lee & Katz 1993)",
    example = "single = \"0.8 ms\"\naverage = \"8.5 ms\"\nfull = \"17 ms\"\ncylinders = 163536"
)]
#[table(check = ThreePoint::check_order)]
pub(super) struct ThreePoint {
    /// Time over one cylinder.
    #[param(range = LEAST_SEEK..=MOST_SEEK)]
    single: Span,
    /// Mean time over random pairs of cylinders.
    #[param(range = LEAST_SEEK..=MOST_SEEK)]
    average: Span,
    /// Time over all cylinders (`cylinders - 1`).
    #[param(range = LEAST_SEEK..=MOST_SEEK)]
    full: Span,
    /// Cylinders of the drive.
    #[param(range = 2..=MOST_CYLINDERS)]
    cylinders: u32,
}

impl ThreePoint {
    fn check_order(&self) -> Result<(), SpecError> {
        let ThreePoint { single, average, full, .. } = self;
        if average < single || average > full {
            let need = format!("a time from single ({single}) to full ({full})");
            return Err(SpecError::new("average", average, need));
        }
        Ok(())
    }
}

impl SeekModel for ThreePoint {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        let (c, a, f) = (self.single.as_ms(), self.average.as_ms(), self.full.as_ms());
        let n = f64::from(self.cylinders);
        let x = f64::from(distance - 1);
        let root = (-10.0 * c + 15.0 * a - 5.0 * f) / (3.0 * n.sqrt());
        let slope = (7.0 * c - 15.0 * a + 8.0 * f) / (3.0 * n);
        Span::from_ms(c + root * x.sqrt() + slope * x)
    }
}
