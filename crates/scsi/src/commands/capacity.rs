//! READ CAPACITY.

use super::{cut, Call, Class, Entry, Reply};
use crate::cdb::{view, ServiceIn16};
use crate::sense::Sense;
use crate::unit::Unit;
use crate::BLOCK;
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromZeros, IntoBytes};

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new("READ CAPACITY(10)", &[0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0], Class::Status, ten),
    Entry::new(
        "READ CAPACITY(16)",
        &[0x9e, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0],
        Class::Status,
        sixteen,
    )
    .action(0x10),
];

crate::structures! {
    Ten { last: U32, block_bytes: U32 }
    /// `protection`: RC BASIS in bits 5 and 4, protection in the others; `exponent`: exponent of the logical blocks in
    /// a physical sector; `alignment`: provisioning, and the lowest aligned block.
    Sixteen { last: U64, block_bytes: U32, protection: u8, exponent: u8, alignment: [u8; 2], reserved: [u8; 16] }
}

fn ten(unit: &mut Unit, _: &Call) -> Result<Reply, Sense> {
    let last = unit.disk.blocks - 1;
    let data = Ten { last: u32::try_from(last).unwrap_or(u32::MAX).into(), block_bytes: BLOCK.into() };
    Ok(Reply::Data(data.as_bytes().to_vec()))
}

fn sixteen(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &ServiceIn16 = view(call.cdb);
    let data = Sixteen {
        last: (unit.disk.blocks - 1).into(),
        block_bytes: BLOCK.into(),
        // RC BASIS 1: the last block of the disk, whatever the kinds of its zones.
        protection: if unit.disk.zones.is_some() { 0x10 } else { 0 },
        exponent: unit.disk.sector_blocks.trailing_zeros() as u8,
        ..FromZeros::new_zeroed()
    };
    Ok(cut(data.as_bytes().to_vec(), cdb.length.get() as usize))
}
