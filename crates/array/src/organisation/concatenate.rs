//! The workload's devices one after another, over drives one after another.
//!
//! # Model
//! Block `b` of device `d` is block `sum(size of devices before d) + b` of the drives' joined
//! space; drive 0 is filled first.
//! # Source
//! "HC-SD": the data of an array moved onto one large drive, each device's data contiguous
//! (Sankar, Gurumurthi & Stan, "Intra-disk parallelism", ISCA 2008, section 7.1).
//! # Validity
//! Devices that do not fit on the drives are cut; requests to what was cut are past the end.

use super::{Context, DeviceSpace, Entry, Organisation, Plan};
use headstack_drive::plugin::params;
use headstack_drive::SpecError;
use serde::Deserialize;
use std::ops::Range;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "concatenate",
    summary: "devices one after another over drives one after another",
    needs_device_blocks: true,
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

struct Concatenate {
    space: DeviceSpace,
    // First block of each drive, and the end of the last.
    starts: Vec<u64>,
}

fn build(context: &Context) -> Result<Box<dyn Organisation>, SpecError> {
    params::<NoParameters>(&context.params)?;
    let mut starts = vec![0u64];
    for blocks in &context.member_blocks {
        starts.push(starts[starts.len() - 1] + blocks);
    }
    let total = starts[starts.len() - 1];
    Ok(Box::new(Concatenate {
        space: DeviceSpace::new(&context.device_blocks, total),
        starts,
    }))
}

impl Organisation for Concatenate {
    fn device_blocks(&self, device: u32) -> Result<u64, String> {
        self.space.device_blocks(device)
    }
    #[inline]
    fn plan(&self, device: u32, lba: u64, blocks: u32, plan: &mut Plan) {
        let mut at = self.space.linear(device, lba);
        let end = at + blocks as u64;
        let mut member = self.starts.partition_point(|s| *s <= at) - 1;
        while at < end {
            let stop = end.min(self.starts[member + 1]);
            if stop > at {
                plan.push(member as u32, at - self.starts[member], (stop - at) as u32);
            }
            at = stop;
            member += 1;
        }
    }
    fn origin(&self, member: u32, lba: u64) -> Option<(u32, u64)> {
        let i = member as usize;
        let linear = self.starts.get(i)? + lba;
        if linear >= *self.starts.get(i + 1)? {
            return None;
        }
        self.space.origin(linear)
    }
    fn members_of(&self, _device: u32) -> Range<u32> {
        0..self.starts.len() as u32 - 1
    }
}
