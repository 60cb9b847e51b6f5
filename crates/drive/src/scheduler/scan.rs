//! SCAN: sweeps to the edge of the stroke and back.
//!
//! # Model
//! Commands in address order in the direction of movement; turns only where no command lies ahead, after the arm would have reached the edge. Since an arm moves only for commands, the order is that of LOOK; commands that arrive behind the sweep wait for its return.
//! # Source
//! Denning, AFIPS 1967.
//! # Validity
//! The empty travel to the edge is not charged to anyone: the order alone is modelled.

use super::look::Sweep;
use super::Scheduler;
use crate::plugin::{params, Plugin};

/// The registry entry.
pub const PLUGIN: Plugin<dyn Scheduler> = Plugin {
    name: "scan",
    summary: "SCAN: sweeps to the edge of the stroke and back",
    example: "",
    build: |table| Ok(Box::new(params::<Sweep>(table)?)),
};

// The order of SCAN and LOOK is the same: see `look`.
