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
use crate::plugin::Plugin;
use headstack_schema::{SpecError, Table};
use headstack_units::Span;

/// The registry entry.
pub fn plugin() -> Plugin<dyn SeekModel> {
    Plugin::<dyn SeekModel>::new(
        "table",
        "measured times, linear between them",
        "points = [[1, \"1.943 ms\"], [10, \"2.4 ms\"], [2000, \"18 ms\"]]",
        |p: Points, _| Ok(Box::new(p.checked()?)),
    )
}

#[derive(Table)]
struct Points {
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

#[cfg(test)]
mod tests {
    use super::super::{SeekTable, PLUGINS};
    use crate::seek::tests::model;
    use headstack_units::Span;

    #[test]
    fn exact_at_points_linear_between_and_beyond() {
        let m = model("table", "points = [[0, \"0 ms\"], [1, \"1 ms\"], [11, \"3 ms\"], [21, \"2 ms\"]]").unwrap();
        for (d, ms) in [(1, 1.0), (6, 2.0), (11, 3.0), (16, 2.5), (21, 2.0), (31, 1.0)] {
            assert_eq!(m.seek(d), Span::from_ms(ms), "{d}");
        }
    }

    #[test]
    fn one_point_holds_everywhere() {
        let m = model("table", "points = [[5, \"4 ms\"]]").unwrap();
        assert_eq!([1, 5, 900].map(|d| m.seek(d)), [Span::from_ms(4.0); 3]);
    }

    #[test]
    fn refuses_unsorted_repeated_and_impossible_points() {
        for (points, key) in [
            ("[[2, \"1 ms\"], [1, \"2 ms\"]]", "points[1]"),
            ("[[2, \"1 ms\"], [2, \"2 ms\"]]", "points[1]"),
            ("[[0, \"1 ms\"]]", "points[0]"),
            ("[[1, \"1 ms\"], [2, \"-1 ms\"]]", "points[1]"),
            ("[]", "points"),
            ("[[2, \"1 ms\"], [3, \"9 ms\"]]", "points"),
            ("[[1, 2]]", "points[0][1]"),
        ] {
            let error = model("table", &format!("points = {points}")).err().expect(points);
            assert_eq!(error.key, key, "{error}");
        }
    }

    /// A last segment that falls below zero within the drive's cylinders is found when the drive is built.
    #[test]
    fn a_falling_end_is_refused_for_a_drive_it_does_not_reach() {
        let table =
            toml::from_str("model = \"table\"\npoints = [[1, \"3 ms\"], [10, \"2 ms\"], [11, \"1 ms\"]]").unwrap();
        assert!(SeekTable::build(&table, 12, Span::ZERO, &PLUGINS).is_ok());
        let error = SeekTable::build(&table, 13, Span::ZERO, &PLUGINS).unwrap_err();
        assert!(error.to_string().contains("for 12 cylinders"), "{error}");
    }
}
