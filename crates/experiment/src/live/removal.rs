//! The drive of a device without some of its heads, in place of the drive that is there.
//!
//! # Model
//! The drive that remains is the one of [`depopulation`]; the platter keeps its angle, since that is a function of absolute
//! time. Heads are counted as in the whole drive. A head that has failed and is not removed has failed in the new drive too.

use super::LiveSystem;
use headstack_drive::{depopulation, Drive, DriveDesign, DriveOptions, DriveSpec, Failure};
use headstack_schema::SpecError;
use headstack_units::Time;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a drive was made.
pub(super) type Made = (Arc<DriveDesign>, DriveOptions);

/// The heads of a device's drive, as they are counted in the whole drive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Removed {
    heads: BTreeSet<u32>,
    /// Those that have failed, removed or not.
    failed: BTreeSet<u32>,
}

/// A drive that is ready to take the place of another.
pub struct Exchange {
    drive: Drive,
    heads: BTreeSet<u32>,
    blocks: u64,
}

/// What a host sees of a drive stays: only its size differs.
fn spec_without(design: &DriveDesign, heads: &BTreeSet<u32>) -> Result<DriveSpec, SpecError> {
    let models = design.models();
    let whole =
        serde_json::to_value(design.spec()).map_err(|e| SpecError::new("drive", e.to_string(), "a description"))?;
    let mut spec = whole.clone();
    // Heads after one that is removed have lower numbers.
    for head in heads.iter().rev() {
        spec = depopulation::without_head(&spec, i64::from(*head), models)?;
    }
    for key in ["name", "title", "description"] {
        if let Some(told) = whole.get(key) {
            spec[key] = told.clone();
        } else if let Value::Object(spec) = &mut spec {
            spec.shift_remove(key);
        }
    }
    DriveSpec::from_value(spec, models)
}

impl LiveSystem {
    /// Makes the drive that remains of a device's drive, as it was made first, without these heads. It offers at most `most`
    /// blocks.
    ///
    /// # Errors
    /// The device is not one drive, or no such drive can be.
    pub fn without_heads(
        &self,
        device: usize,
        heads: &BTreeSet<u32>,
        most: Option<u64>,
    ) -> Result<Exchange, SpecError> {
        let numbers = self.tree.drives_of(device);
        let (Some(_), [number]) = (self.tree.drive_of(device), &numbers[..]) else {
            let need = "a device that is one drive";
            return Err(SpecError::new("device", device, need));
        };
        let (design, options) = &self.made[*number as usize];
        let drive = match heads.is_empty() {
            true => design.drive(options)?,
            false => {
                let spec = spec_without(design, heads)?;
                DriveDesign::new(&spec, design.models())?.drive(options)?
            }
        };
        if drive.design.logical_units().len() != 1 {
            let need = "a drive with one unit";
            return Err(SpecError::new("device", device, need));
        }
        let whole = drive.design.capacity_blocks();
        if let Some(most) = most.filter(|most| !(1..=whole).contains(most)) {
            let need = format!("at most {whole} blocks");
            return Err(SpecError::new("capacity", most, need));
        }
        Ok(Exchange { blocks: most.unwrap_or(whole), drive, heads: heads.clone() })
    }

    /// Puts a drive in the place of a device's drive at `now`, to which the system must have been advanced. Nothing of the
    /// device may be outstanding. Its settings stay; its energy counts from now on.
    pub fn exchange(&mut self, now: Time, device: usize, with: Exchange) {
        let Exchange { mut drive, heads, blocks } = with;
        let mut all = self.removed.remove(&device).unwrap_or_default();
        let kept = |removed: &BTreeSet<u32>| {
            let removed = removed.clone();
            (0u32..).filter(move |head| !removed.contains(head))
        };
        for fault in self.tree.drive_of(device).map_or(Vec::new(), Drive::faults) {
            let head = fault.surface.and_then(|s| kept(&all.heads).nth(s as usize));
            all.failed.extend(head);
        }
        drive.advance(now, &mut |_| {});
        drive.reset_statistics(now);
        for (surface, head) in kept(&heads).enumerate().take(drive.design.spec().geometry.surfaces as usize) {
            if all.failed.contains(&head) {
                let part = Failure { stack: 0, arm: 0, surface: Some(surface as u32), warning: true };
                // It may have failed already, as the file says.
                let _ = drive.fail(now, part);
            }
        }
        if self.tree.exchange_drive(now, device, drive) {
            self.devices[device].1 = blocks;
            all.heads = heads;
        }
        self.removed.insert(device, all);
        self.n_by_hand += 1;
    }

    /// The heads that were removed from a device's drive, as they are counted in the whole drive.
    pub fn removed_heads(&self, device: usize) -> BTreeSet<u32> {
        let removed = self.removed.get(&device);
        removed.map_or_else(BTreeSet::new, |r| r.heads.clone())
    }

    /// Something that front ends show has changed.
    pub fn note_change(&mut self) {
        self.n_by_hand += 1;
    }
}
