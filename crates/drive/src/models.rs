//! The models that descriptions of drives can name, passed to whatever reads or builds drives.

use crate::cost::{self, CostModel};
use crate::layout::{self, Layout};
use crate::mapping;
use crate::mapping::cleaning::{self, Cleaner};
use crate::mapping::policy::{self, Policy};
use crate::mechanics::Mechanics;
use crate::power::{self, PowerModel};
use crate::recent_mechanics::recent_or;
use crate::roles::{self, RolePolicy};
use crate::scheduler::{self, Scheduler};
use crate::seek::{self, SeekModel};
use crate::spec::{DriveSpec, GeometrySpec};
use headstack_schema::{json_schema, ModelKind, Plugins, SpecError, Table, TableSchema};
use headstack_units::Turn;
use serde_json::Value;

/// The lists of models. Copies share the models.
#[derive(Clone)]
pub struct Models {
    /// For `geometry.layout`.
    pub layouts: Plugins<dyn Layout>,
    /// For `seek.model`.
    pub seek: Plugins<dyn SeekModel>,
    /// For `queue.scheduler`.
    pub schedulers: Plugins<dyn Scheduler>,
    /// For `mapping.policy`.
    pub policies: Plugins<dyn Policy>,
    /// For `parallelism.roles.policy`.
    pub roles: Plugins<dyn RolePolicy>,
    /// For `mapping.cleaning.policy`.
    pub cleaning: Plugins<dyn Cleaner>,
    /// For `power.model`.
    pub power: Plugins<dyn PowerModel>,
    /// For `cost.model`.
    pub cost: Plugins<dyn CostModel>,
}

impl Models {
    /// The models that come with this crate.
    pub fn builtin() -> Models {
        Models {
            layouts: layout::PLUGINS.clone(),
            seek: seek::PLUGINS.clone(),
            schedulers: scheduler::PLUGINS.clone(),
            policies: policy::PLUGINS.clone(),
            roles: roles::PLUGINS.clone(),
            cleaning: cleaning::PLUGINS.clone(),
            power: power::PLUGINS.clone(),
            cost: cost::PLUGINS.clone(),
        }
    }

    /// The mechanics of a geometry: the drive's own, or a part of it.
    ///
    /// # Errors
    /// Values that do not fit together, by dotted key. All numbers must be within their bounds
    /// ([`DriveSpec::check`]).
    pub fn mechanics(
        &self,
        spec: &DriveSpec,
        geometry: &GeometrySpec,
        start_phase: Turn,
    ) -> Result<Mechanics, SpecError> {
        let build = || Mechanics::new(spec, geometry, (&self.layouts, &self.seek));
        let mechanics = recent_or(spec, geometry, self, build)?;
        Ok(mechanics.with_phase(start_phase))
    }

    /// The models of a kind, as [`Kind`](headstack_schema::Kind) names it: their names and their tables.
    pub fn tables(&self, kind: &str) -> Vec<(String, TableSchema)> {
        match kind {
            <dyn Layout>::NAME => self.layouts.schemas(),
            <dyn SeekModel>::NAME => self.seek.schemas(),
            <dyn Scheduler>::NAME => self.schedulers.schemas(),
            <dyn Policy>::NAME => self.policies.schemas(),
            <dyn RolePolicy>::NAME => self.roles.schemas(),
            <dyn Cleaner>::NAME => cleaning::tables(&self.cleaning),
            <dyn PowerModel>::NAME => power::tables(&self.power),
            <dyn CostModel>::NAME => self.cost.schemas(),
            mapping::KIND => mapping::tables(),
            _ => Vec::new(),
        }
    }

    /// The JSON Schema of drive files that name these models.
    pub fn drive_schema(&self) -> Value {
        json_schema::document(&DriveSpec::schema(), "drive", &|kind| self.tables(kind))
    }
}

impl DriveSpec {
    /// Reads a description. If a key of the geometry is missing, another one may be a misspelling of it: which
    /// keys there are depends on the layout, one of `models`.
    ///
    /// # Errors
    /// The dotted key, what was got, what is needed, and the nearest known name as a hint.
    pub fn from_value(value: Value, models: &Models) -> Result<DriveSpec, SpecError> {
        headstack_schema::read(&value).map_err(|error: SpecError| {
            let inside = error.key.split(['.', '[']).next() == Some("geometry");
            let table = value.get("geometry").filter(|_| inside);
            let table = table.and_then(Value::as_object);
            let unknown = table.and_then(|t| layout::unknown_key(t, &models.layouts));
            unknown.unwrap_or(error)
        })
    }
}
