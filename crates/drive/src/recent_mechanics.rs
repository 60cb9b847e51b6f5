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
use headstack_schema::{ModelKind, Params, Plugins};
use std::sync::{Mutex, PoisonError};

/// How many are kept. Each is a megabyte or less.
pub const KEPT: usize = 8;

/// All that mechanics depend on, but for the phase of the platter.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    pub geometry: GeometrySpec,
    pub seek: Params,
    pub positioning: PositioningSpec,
}

/// What was built last. Those used last are the last.
pub struct Recent(pub Mutex<Vec<(Description, Mechanics)>>);

static RECENT: Recent = Recent(Mutex::new(Vec::new()));

impl Recent {
    /// The mechanics of a description: those that are kept, or else what `build` makes.
    pub fn or<E>(&self, wanted: Description, build: impl FnOnce() -> Result<Mechanics, E>) -> Result<Mechanics, E> {
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
fn is_same<T: ?Sized + ModelKind>(models: &Plugins<T>, own: &Plugins<T>, name: &str) -> bool {
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
