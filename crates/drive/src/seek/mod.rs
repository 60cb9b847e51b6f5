//! Seek models: how long an arm takes over a distance in cylinders.
//!
//! # Contract
//! - `seek(0)` is zero; for every other distance the time is finite and positive.
//! - A seek is *not* promised to grow with distance: 9 of 11 measured tables decrease somewhere.
//! - The same distance always takes the same time.
//!
//! Models are evaluated once per distance when a drive is built ([`SeekTable`]); what they cost
//! to evaluate does not matter.
//!
//! To add one: write `crates/drive/src/seek/NAME.rs` with a `PLUGIN`, add `NAME` to the list.

use crate::error::SpecError;
use crate::plugin::{find, plugins};
use crate::spec::Params;
use headstack_units::Span;

/// How long an arm takes over a distance.
pub trait SeekModel: Send + Sync {
    /// Seek time over `distance` cylinders, read settling included, write settling not.
    fn seek(&self, distance: u32) -> Span;
}

plugins! { dyn SeekModel: constant }

/// A seek model evaluated for every distance of a drive: one look-up per candidate.
#[derive(Debug, Clone)]
pub struct SeekTable {
    ns: Box<[u32]>,
}

impl SeekTable {
    /// Evaluates the model that `params` describes for distances below `cylinders`, adding
    /// `constant` to every seek of one cylinder or more.
    ///
    /// # Errors
    /// Parameters that do not fit the model, and times that are not positive or exceed 4 s.
    pub fn build(params: &Params, cylinders: u32, constant: Span) -> Result<SeekTable, SpecError> {
        let name = params
            .get("model")
            .and_then(|m| m.as_str())
            .ok_or_else(|| SpecError::new("seek.model", "nothing", "the name of a seek model"))?;
        let plugin = find(PLUGINS, "seek.model", name)?;
        let model = (plugin.build)(params).map_err(|mut e| {
            e.key = format!("seek.{}", e.key);
            e
        })?;
        let mut ns = Vec::with_capacity(cylinders.max(1) as usize);
        ns.push(0);
        for distance in 1..cylinders.max(1) {
            let span = model.seek(distance) + constant;
            // A constant that was fitted may push the shortest seeks below zero: they take no time.
            let t = if constant.0 < 0 {
                span.0.max(1)
            } else {
                span.0
            };
            if t <= 0 || t > u32::MAX as i64 {
                return Err(SpecError::new(
                    "seek",
                    format!("{span} for {distance} cylinders"),
                    "a positive time of at most 4 s",
                ));
            }
            ns.push(t as u32);
        }
        Ok(SeekTable {
            ns: ns.into_boxed_slice(),
        })
    }

    /// Seek time in nanoseconds; distances beyond the last cylinder take the longest time known.
    #[inline]
    pub fn ns(&self, distance: u32) -> u32 {
        let last = self.ns.len() - 1;
        self.ns[(distance as usize).min(last)]
    }
}
