//! Roles that never change.
//!
//! # Model
//! Assembly `i` serves what entry `i` of `arms` lists. `roles = [["write"], ["read"]]` is short for
//! `roles = { policy = "fixed", arms = [["write"], ["read"]] }`.
//! # Source
//! J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 2: one arm writes and one reads.
//! # Validity
//! Any number of arms.

use super::{Mode, RolePolicy, RoleTable, KEY};
use crate::plugin::{params_beside, taken, Plugin};
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn RolePolicy> = Plugin {
    name: "fixed",
    summary: "the arms keep their roles",
    example: "arms = [[\"write\"], [\"read\"]]",
    parameters: &|table| taken::<Fixed>(&[KEY], table),
    build: &|table| Ok(Box::new(params_beside::<Fixed>(&[KEY], table)?)),
};

/// A table of roles.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fixed {
    /// What each assembly serves.
    arms: RoleTable,
}

impl Fixed {
    pub fn new(arms: RoleTable) -> Fixed {
        Fixed { arms }
    }
}

impl RolePolicy for Fixed {
    fn modes(&self, _arms: u32) -> Vec<Mode> {
        vec![Mode {
            name: "fixed",
            roles: self.arms.clone(),
        }]
    }

    fn note(&mut self, _now: u64, _write: bool) {}

    fn wanted(&mut self, _now: u64, current: usize) -> usize {
        current
    }
}
