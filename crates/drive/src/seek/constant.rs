//! Every seek takes the same time.
//!
//! # Model
//! `t(0) = 0`; `t(d) = time` for every other distance.
//! # Source
//! The simplest of DiskSim 4.0's seek types (`Seek type = constant`).
//! # Validity
//! For bounds and tests only; no drive behaves like this.

use super::{seek_time, SeekModel};
use crate::plugin::{params_beside, taken, Plugin};
use headstack_units::Span;
use serde::{Deserialize, Serialize};

/// The registry entry.
pub const PLUGIN: Plugin<dyn SeekModel> = Plugin {
    name: "constant",
    summary: "every seek takes the same time",
    example: r#"time = "5 ms""#,
    parameters: &|table| taken::<Constant>(&["model"], table),
    build: &|table| {
        let model: Constant = params_beside(&["model"], table)?;
        seek_time("time", model.time)?;
        Ok(Box::new(model))
    },
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Constant {
    /// Time of every seek.
    time: Span,
}

impl SeekModel for Constant {
    fn seek(&self, distance: u32) -> Span {
        if distance == 0 {
            Span::ZERO
        } else {
            self.time
        }
    }
}
