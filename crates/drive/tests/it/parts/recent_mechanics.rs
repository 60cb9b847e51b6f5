use crate::parts::fixtures::small_drive;
use headstack_drive::models::Models;
use headstack_drive::recent_mechanics::*;
use headstack_drive::seek::SeekModel;
use headstack_drive::spec::DriveSpec;
use headstack_schema::{Plugin, Plugins, SpecError, Table};
use headstack_units::{Rpm, Span, Turn};
use std::sync::{Arc, Mutex};

fn description(spec: &DriveSpec) -> Description {
    Description { geometry: spec.geometry.clone(), seek: spec.seek.clone(), positioning: spec.positioning.clone() }
}

/// Built once for one description, and again for every other; errors are not kept, and only so many are.
#[test]
fn what_was_built_last_is_kept() {
    let recent = Recent(Mutex::new(Vec::new()));
    let spec = small_drive("");
    let mut n_built = 0;
    let mut ask = |spec: &DriveSpec| {
        let built = recent.or(description(spec), || {
            n_built += 1;
            Models::builtin().mechanics(spec, &spec.geometry, Turn(0))
        });
        (built.expect("the drive is whole"), n_built)
    };
    let (first, _) = ask(&spec);
    let (again, n) = ask(&spec);
    assert_eq!(n, 1);
    assert!(Arc::ptr_eq(&first.layout, &again.layout));
    for i in 0..KEPT as u32 {
        let mut other = spec.clone();
        other.geometry.rotation_speed = Rpm(5_000.0 + f64::from(i));
        let (built, n) = ask(&other);
        assert_eq!(n, 2 + i);
        let want = 60e9 / (5_000.0 + f64::from(i));
        assert!((built.rotation.period_ns - want).abs() < 1e-3);
    }
    // The first one had to go; the last one is still there.
    let mut last = spec.clone();
    last.geometry.rotation_speed = Rpm(5_000.0 + f64::from(KEPT as u32 - 1));
    assert_eq!(ask(&last).1, 1 + KEPT as u32);
    assert_eq!(ask(&spec).1, 2 + KEPT as u32);
    let mut scaled = spec.clone();
    scaled.positioning.seek_scale = 0.5;
    assert_eq!(ask(&scaled).1, 3 + KEPT as u32);
    scaled.positioning.seek_scale = 0.25;
    let failed = recent.or(description(&scaled), || Err("no"));
    assert_eq!(failed.err(), Some("no"));
}

#[derive(Table)]
struct OneSecond {}

impl SeekModel for OneSecond {
    fn seek(&self, distance: u32) -> Span {
        Span::from_secs_f64(f64::from(distance.min(1)))
    }
}

/// A program's own model of a name that this crate has, too.
#[test]
fn a_programs_own_model_is_not_taken_for_ours() -> Result<(), SpecError> {
    let mut spec = small_drive("");
    spec.seek = toml::from_str("model = \"constant\"\ntime = \"3 ms\"").expect("TOML");
    let ours = Models::builtin();
    let mut theirs = Models::builtin();
    theirs.seek =
        Plugins::new([Plugin::<dyn SeekModel>::new("constant", "One second", "", |m: OneSecond, ()| Ok(Box::new(m)))]);
    for _ in 0..2 {
        let mechanics = ours.mechanics(&spec, &spec.geometry, Turn(0))?;
        assert_eq!(mechanics.seek.time(3), Span(3_000_000));
        spec.seek.remove("time");
        let mechanics = theirs.mechanics(&spec, &spec.geometry, Turn(0))?;
        assert_eq!(mechanics.seek.time(3), Span(1_000_000_000));
        spec.seek.insert("time".into(), "3 ms".into());
    }
    Ok(())
}
