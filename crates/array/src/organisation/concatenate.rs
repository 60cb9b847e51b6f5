//! The workload's devices end to end, over drives end to end.
//!
//! # Model
//! Block `b` of device `d` is block `sum(size of devices before d) + b` of the drives' joined
//! space; drive 0 is filled first.
//! # Source
//! "HC-SD": the data of an array moved onto one large drive, each device's data contiguous
//! (Sankar, Gurumurthi & Stan, "Intra-disk parallelism", ISCA 2008, section 7.1).
//! # Validity
//! Devices that do not fit on the drives are truncated; requests to blocks beyond that are errors.

use super::{Context, DeviceSpace, Entry, Joined, Linear, Organisation};
use crate::entry::NoParameters;
use headstack_schema::SpecError;

/// The registry's entry.
pub fn entry() -> Entry {
    let summary = "devices end to end over drives end to end";
    Entry::new("concatenate", summary, |context, _: NoParameters| {
        build(context)
    })
}

/// Drives end to end.
pub(crate) struct Concatenate {
    // First block of each drive, and the end of the last one.
    starts: Vec<u64>,
}

/// Devices end to end over members end to end.
pub(super) fn build(context: &Context) -> Result<Box<dyn Organisation>, SpecError> {
    let drives = end_to_end(&context.member_blocks);
    Ok(Box::new(Linear {
        space: DeviceSpace::new(&context.device_blocks, drives.blocks()),
        drives,
    }))
}

/// Lays members of these sizes end to end.
pub(crate) fn end_to_end(member_blocks: &[u64]) -> Concatenate {
    let mut starts = vec![0u64];
    for blocks in member_blocks {
        starts.push(starts[starts.len() - 1] + blocks);
    }
    Concatenate { starts }
}

impl Joined for Concatenate {
    fn blocks(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }
    fn members(&self) -> u32 {
        self.starts.len() as u32 - 1
    }
    #[inline]
    fn place(&self, at: u64) -> (u32, u64, u64) {
        let member = self.starts.partition_point(|s| *s <= at) - 1;
        let end = self.starts.get(member + 1).copied().unwrap_or(u64::MAX);
        (member as u32, at - self.starts[member], end)
    }
    fn at(&self, member: u32, lba: u64) -> Option<u64> {
        let i = member as usize;
        let at = self.starts.get(i)? + lba;
        (at < *self.starts.get(i + 1)?).then_some(at)
    }
}
