//! One drive for each device: device `i` of the workload is drive `i`.
//!
//! # Model
//! Addresses are passed on unchanged.
//! # Source
//! The arrays on which the field's traces were recorded ("MD" in Sankar, Gurumurthi & Stan, "Intra-disk
//! parallelism", ISCA 2008, section 7).
//! # Validity
//! Every device of the workload needs a drive of its own.

use super::{Context, Entry, Organisation, Plan};
use headstack_drive::plugin::{params, taken};
use headstack_engine::SpecError;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "independent",
    summary: "device i of the workload is drive i",
    needs_device_blocks: false,
    parameters: &|table| taken::<NoParameters>(&[], table),
    build: &build,
};

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

struct Independent {
    member_blocks: Vec<u64>,
}

fn build(context: &Context) -> Result<Box<dyn Organisation>, SpecError> {
    params::<NoParameters>(&context.params)?;
    Ok(Box::new(Independent {
        member_blocks: context.member_blocks.clone(),
    }))
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
