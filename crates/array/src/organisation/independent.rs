//! One drive for each device: device `i` of the workload is drive `i`.
//!
//! # Model
//! Addresses are passed on unchanged.
//! # Source
//! The arrays on which the field's traces were recorded ("MD" in Sankar, Gurumurthi & Stan, "Intra-disk
//! parallelism", ISCA 2008, section 7).
//! # Validity
//! Every device of the workload needs a drive of its own.

use super::{Entry, Organisation, Plan};
use crate::entry::NoParameters;
use std::ops::Range;

/// The registry's entry.
pub fn entry() -> Entry {
    let summary = "device i of the workload is drive i";
    Entry {
        needs_device_blocks: false,
        ..Entry::new("independent", summary, |context, _: NoParameters| {
            Ok(Box::new(Independent {
                member_blocks: context.member_blocks.clone(),
            }))
        })
    }
}

struct Independent {
    member_blocks: Vec<u64>,
}

impl Organisation for Independent {
    fn device_blocks(&self, device: u32) -> Result<u64, String> {
        self.member_blocks
            .get(device as usize)
            .copied()
            .ok_or_else(|| {
                let n = self.member_blocks.len();
                format!("got device {device}, need one below the {n} drives; raise count or choose \"concatenate\"")
            })
    }
    fn is_identity(&self) -> bool {
        true
    }
    fn plan(&self, device: u32, lba: u64, blocks: u32, plan: &mut Plan) {
        plan.push(device, lba, blocks);
    }
    fn origin(&self, member: u32, lba: u64) -> Option<(u32, u64)> {
        (lba < *self.member_blocks.get(member as usize)?).then_some((member, lba))
    }
    fn members_of(&self, device: u32) -> Range<u32> {
        device..device + 1
    }
}
