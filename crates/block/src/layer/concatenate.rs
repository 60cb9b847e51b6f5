//! One space over the members, laid end to end.
//!
//! # Model
//! Member 0 is filled first: block `b` of member `m` is block `sum(sizes of the members before m) + b` of the space.
//! # Source
//! Linux md, `linear`.
//! # Validity
//! No redundancy: an error of a member is an error of the request.

use super::volume::copies::{single, Joined};
use super::LowerCount;
use headstack_schema::Table;

const NAME: &str = "concatenate";

#[derive(Table)]
#[table(
    model = "one space over all members, end to end",
    facts = LowerCount::Many,
    build = |Parameters, context| Ok(single(NAME, end_to_end(&context.members), context.members))
)]
pub(super) struct Parameters;

/// Members end to end.
pub(crate) struct Concatenate {
    // First block of each member, and the end of the last one.
    starts: Vec<u64>,
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
