//! The mechanics that this process built last.
//!
//! The drive of today has half a million cylinders, and evaluating its seek model for each takes longer than many a
//! simulation. The runs of a sweep mostly have the same few drives, so what was built for one is kept for the next.
//! Only models that come with this crate are kept: a program's own may compute something else under the same name.

use crate::layout;
use crate::mechanics::Mechanics;
use crate::models::Models;
use crate::seek;
use crate::spec::{DriveSpec, GeometrySpec, PositioningSpec};
use headstack_schema::{Params, Registered, Registry};
use std::sync::{Mutex, PoisonError};

/// How many are kept. Each is a megabyte or less.
const KEPT: usize = 8;

/// All that mechanics depend on, but for the phase of the platter.
#[derive(Debug, Clone, PartialEq)]
struct Description {
    geometry: GeometrySpec,
    seek: Params,
    positioning: PositioningSpec,
}

/// What was built last. Those used last are the last.
struct Recent(Mutex<Vec<(Description, Mechanics)>>);

static RECENT: Recent = Recent(Mutex::new(Vec::new()));

impl Recent {
    /// The mechanics of a description: those that are kept, or else what `build` makes.
    fn or<E>(&self, wanted: Description, build: impl FnOnce() -> Result<Mechanics, E>) -> Result<Mechanics, E> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = |all: &mut Vec<(Description, Mechanics)>| {
            let at = all.iter().position(|(d, _)| *d == wanted)?;
            let found = all.remove(at);
            let mechanics = found.1.clone();
            all.push(found);
            Some(mechanics)
        };
        if let Some(mechanics) = kept(&mut lock()) {
            return Ok(mechanics);
        }
        // Not under the lock, so that threads build different drives at the same time.
        let mechanics = build()?;
        let mut all = lock();
        if let Some(others) = kept(&mut all) {
            return Ok(others);
        }
        all.push((wanted, mechanics.clone()));
        if all.len() > KEPT {
            all.remove(0);
        }
        Ok(mechanics)
    }
}

/// Whether `name` is the same model in two lists.
fn is_same<E: Registered>(models: &Registry<E>, own: &Registry<E>, name: &str) -> bool {
    match (models.get(name), own.get(name)) {
        (Some(one), Some(other)) => std::ptr::eq(one, other),
        _ => false,
    }
}

/// The mechanics of a geometry for a platter at phase zero: those that `build` makes, or the same from before.
///
/// # Errors
/// Those of `build`.
pub(crate) fn recent_or<E>(
    spec: &DriveSpec,
    geometry: &GeometrySpec,
    models: &Models,
    build: impl FnOnce() -> Result<Mechanics, E>,
) -> Result<Mechanics, E> {
    let seek_model = spec.seek.get(seek::KEY).and_then(|name| name.as_str());
    let is_own = is_same(&models.layouts, &layout::PLUGINS, &geometry.layout)
        && seek_model.is_some_and(|name| is_same(&models.seek, &seek::PLUGINS, name));
    if !is_own {
        return build();
    }
    let wanted =
        Description { geometry: geometry.clone(), seek: spec.seek.clone(), positioning: spec.positioning.clone() };
    RECENT.or(wanted, build)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::small_drive;
    use crate::plugin::Plugin;
    use crate::seek::SeekModel;
    use headstack_schema::{SpecError, Table};
    use headstack_units::{Rpm, Span, Turn};
    use std::sync::Arc;

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
                let models = Models::builtin();
                Mechanics::new(spec, &spec.geometry, (&models.layouts, &models.seek))
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
            assert!((built.rotation.period_ns() - want).abs() < 1e-3);
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
        theirs.seek = Registry::new(
            "seek model",
            [Plugin::<dyn SeekModel>::new("constant", "One second", "", |m: OneSecond, _| Ok(Box::new(m)))],
        );
        for _ in 0..2 {
            let mechanics = ours.mechanics(&spec, &spec.geometry, Turn(0))?;
            assert_eq!(mechanics.seek.ns(3), 3_000_000);
            spec.seek.remove("time");
            let mechanics = theirs.mechanics(&spec, &spec.geometry, Turn(0))?;
            assert_eq!(mechanics.seek.ns(3), 1_000_000_000);
            spec.seek.insert("time".into(), "3 ms".into());
        }
        Ok(())
    }
}
