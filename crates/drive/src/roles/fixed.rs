//! Roles that never change.
//!
//! # Model
//! Assembly `i` serves what entry `i` of `arms` lists. `roles = [["write"], ["read"]]` is short for
//! `roles = { policy = "fixed", arms = [["write"], ["read"]] }`.
//! # Source
//! J. A. Chandy, "A Dual Actuator Logging Disk Architecture", section 2: one arm writes and one reads.
//! # Validity
//! Any number of arms.

use super::{Mode, RolePolicy, RoleTable};
use headstack_schema::Table;
use headstack_units::Time;

/// A table of roles.
#[derive(Debug, Table)]
#[table(model = "the arms keep their roles", example = "arms = [[\"write\"], [\"read\"]]")]
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
        vec![Mode { name: "fixed", roles: self.arms.clone() }]
    }

    fn note(&mut self, _now: Time, _write: bool) {}

    fn wanted(&mut self, _now: Time, current: usize) -> usize {
        current
    }
}
