//! The models that descriptions of drives can name, passed to whatever reads or builds drives.

use crate::cost::{self, CostModel};
use crate::layout::{self, Layout};
use crate::mapping::cleaning::{self, Cleaner};
use crate::mapping::policy::{self, Policy};
use crate::plugin::Plugin;
use crate::power::{self, PowerModel};
use crate::roles::{self, RolePolicy};
use crate::scheduler::{self, Scheduler};
use crate::seek::{self, SeekModel};
use crate::spec::GeometrySpec;

/// The lists of models. A list that is made at run time is leaked once, for the whole process.
#[derive(Clone, Copy)]
pub struct Models {
    /// For `geometry.layout`.
    pub layouts: &'static [Plugin<dyn Layout, GeometrySpec>],
    /// For `seek.model`.
    pub seek: &'static [Plugin<dyn SeekModel>],
    /// For `queue.scheduler`.
    pub schedulers: &'static [Plugin<dyn Scheduler>],
    /// For `mapping.policy`.
    pub policies: &'static [Plugin<dyn Policy>],
    /// For `parallelism.roles.policy`.
    pub roles: &'static [Plugin<dyn RolePolicy>],
    /// For `mapping.cleaning.policy`.
    pub cleaning: &'static [Plugin<dyn Cleaner>],
    /// For `power.model`.
    pub power: &'static [Plugin<dyn PowerModel>],
    /// For `cost.model`.
    pub cost: &'static [Plugin<dyn CostModel>],
}

impl Models {
    /// The models that come with this crate.
    pub const fn builtin() -> Models {
        Models {
            layouts: layout::PLUGINS,
            seek: seek::PLUGINS,
            schedulers: scheduler::PLUGINS,
            policies: policy::PLUGINS,
            roles: roles::PLUGINS,
            cleaning: cleaning::PLUGINS,
            power: power::PLUGINS,
            cost: cost::PLUGINS,
        }
    }
}
