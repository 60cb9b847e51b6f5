//! Measured seek times, linear between the measured distances.
//!
//! # Model
//! `t(0) = 0`. At a listed distance, its time; between two listed distances, the straight line through them;
//! before the first and beyond the last, the nearest line continued. A single point holds for all distances.
//! # Source
//! DiskSim 4.0 (`Seek type = extracted`), whose seek files are such tables.
//! # Validity
//! As good as the measurement, outliers included: tables may decrease and are used as given. Times must be
//! positive over all cylinders of the drive.

use super::{SeekModel, MOST_SEEK};
use headstack_schema::{SpecError, Table};
use headstack_units::Span;

#[derive(Table)]
#[table(
    model = "measured times, linear between them",
    example = "points = [[1, \"1.943 ms\"], [10, \"2.4 ms\"], [2000, \"18 ms\"]]",
    build = |points, _| Ok(Box::new(points.checked()?))
)]
pub(super) struct Points {
    /// Distance in cylinders and time, by increasing distance.
    points: Vec<(u32, Span)>,
}

impl Points {
    /// Without the value that every model has, at distance 0.
    fn checked(self) -> Result<Points, SpecError> {
        let mut points: Vec<(u32, Span)> = Vec::with_capacity(self.points.len());
        for (i, (distance, time)) in self.points.into_iter().enumerate() {
            if distance == 0 && time == Span::ZERO && i == 0 {
                continue;
            }
            let key = || format!("points[{i}]");
            if distance == 0 || time.0 <= 0 || time > MOST_SEEK {
                let got = format!("[{distance}, \"{time}\"]");
                let need = format!("a distance of 1 or more and a time above 0, at most {MOST_SEEK}");
                return Err(SpecError::new(key(), got, need));
            }
            if let Some(&(last, _)) = points.last().filter(|p| p.0 >= distance) {
                let got = format!("distance {distance} after {last}");
                return Err(SpecError::new(key(), got, "distances that increase"));
            }
            points.push((distance, time));
        }
        if points.is_empty() {
            return Err(SpecError::new("points", "none", "at least one point"));
        }
        let model = Points { points };
        let first = model.seek(1);
        if first.0 <= 0 {
            let got = format!("{first} for 1 cylinder");
            let need = "a positive time; list distance 1";
            return Err(SpecError::new("points", got, need));
        }
        Ok(model)
    }
}

impl SeekModel for Points {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            return Span::ZERO;
        }
        let points = &self.points;
        let above = points.partition_point(|p| p.0 < distance);
        if let Some(&(_, t)) = points.get(above).filter(|p| p.0 == distance) {
            return t;
        }
        if points.len() == 1 {
            return points[0].1;
        }
        let above = above.clamp(1, points.len() - 1);
        let ((d0, t0), (d1, t1)) = (points[above - 1], points[above]);
        let share = (f64::from(distance) - f64::from(d0)) / (f64::from(d1) - f64::from(d0));
        Span::from_ms(t0.as_ms() + share * (t1 - t0).as_ms())
    }
}
