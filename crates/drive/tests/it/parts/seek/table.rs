use crate::parts::seek::model;
use headstack_drive::seek::{SeekTable, PLUGINS};
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
    let table = toml::from_str("model = \"table\"\npoints = [[1, \"3 ms\"], [10, \"2 ms\"], [11, \"1 ms\"]]").unwrap();
    assert!(SeekTable::build(&table, 12, Span::ZERO, &PLUGINS).is_ok());
    let error = SeekTable::build(&table, 13, Span::ZERO, &PLUGINS).unwrap_err();
    assert!(error.to_string().contains("for 12 cylinders"), "{error}");
}
