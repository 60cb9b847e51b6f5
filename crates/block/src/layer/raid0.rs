//! One space striped over the members.
//!
//! # Model
//! With `n` members and a stripe unit of `u` blocks, block `b` lies on member `(b / u) mod n` at `(b / u / n)·u
//! + b mod u`.
//! # Source
//! Patterson, Gibson & Katz, "A case for redundant arrays of inexpensive disks (RAID)", SIGMOD 1988.
//! # Validity
//! No redundancy: an error of a member is an error of the request. Each member offers as many whole stripe units as the
//! smallest one. `footprint` limits how much of the space is used, summed over the members.

use super::volume::copies::{single, Joined};
use super::LowerCount;
use headstack_schema::{SpecError, Table};
use headstack_units::Bytes;

/// The layer's name.
pub(crate) const NAME: &str = "raid0";

/// Parameters of `raid0`.
#[derive(Debug, Clone, Table)]
#[table(
    model = "striped over all members, no redundancy",
    example = "stripe_unit = \"64 KiB\"",
    facts = LowerCount::Many,
    build = |own, context| Ok(single(NAME, striped(&context.members, &own)?, context.members))
)]
pub struct Parameters {
    /// Contiguous data per drive; a multiple of 512 B.
    #[param(default = Bytes(64 * 1024))]
    stripe_unit: Bytes,
    /// How many bytes of the array are used, from its start; all if absent.
    footprint: Option<Bytes>,
}

/// A striped space.
pub(crate) struct Raid0 {
    total: u64,
    unit: u64,
    members: u64,
}

/// A striped space over members of these sizes.
pub(crate) fn striped(member_blocks: &[u64], p: &Parameters) -> Result<Raid0, SpecError> {
    let unit = p.stripe_unit.0 / 512;
    if unit == 0 || p.stripe_unit.0 % 512 != 0 || unit > u32::MAX as u64 {
        return Err(SpecError::new("stripe_unit", p.stripe_unit, "a positive multiple of 512 B below 2 TiB"));
    }
    let members = member_blocks.len() as u64;
    let smallest = member_blocks.iter().min().copied().unwrap_or(0);
    let mut total = smallest / unit * unit * members;
    if let Some(footprint) = p.footprint {
        let blocks = footprint.0 / 512;
        if blocks == 0 || blocks > total {
            return Err(SpecError::new(
                "footprint",
                footprint,
                format!("at least 512 B and at most the array's {} B", total * 512),
            ));
        }
        total = blocks;
    }
    Ok(Raid0 { total, unit, members })
}

impl Joined for Raid0 {
    fn blocks(&self) -> u64 {
        self.total
    }
    fn members(&self) -> u32 {
        self.members as u32
    }
    #[inline]
    fn place(&self, at: u64) -> (u32, u64, u64) {
        let (number, inside) = (at / self.unit, at % self.unit);
        let lba = number / self.members * self.unit + inside;
        ((number % self.members) as u32, lba, at - inside + self.unit)
    }
    fn at(&self, member: u32, lba: u64) -> Option<u64> {
        if member as u64 >= self.members {
            return None;
        }
        let number = lba / self.unit * self.members + member as u64;
        let at = number * self.unit + lba % self.unit;
        (at < self.total).then_some(at)
    }
}
