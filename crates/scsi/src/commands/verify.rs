//! VERIFY, WRITE AND VERIFY.

use super::transfer::{blocks_of, long, sixteen, ten, twelve, work, LONG, TIMEOUT};
use super::{Call, Class, Entry, Reply};
use crate::cdb::{Blocks, Cdb};
use crate::sense::{Code, Key, Sense};
use crate::unit::Unit;
use crate::work::{Compare, Task};
use crate::{BLOCK, MOST_BLOCKS};

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new("VERIFY(10)", &ten(0x2f, BITS), Class::Reads, verify).takes(compared).seconds(TIMEOUT),
    Entry::new("VERIFY(12)", &twelve(0xaf, BITS), Class::Reads, verify).takes(compared).seconds(TIMEOUT),
    Entry::new("VERIFY(16)", &sixteen(0x8f, BITS), Class::Reads, verify).takes(compared).seconds(TIMEOUT),
    Entry::new("VERIFY(32)", &long(0x0a, BITS), Class::Reads, verify)
        .action(0x0a)
        .only(LONG)
        .takes(compared)
        .seconds(TIMEOUT),
    Entry::new("WRITE AND VERIFY(10)", &ten(0x2e, BITS), Class::Writes, write).takes(written).seconds(TIMEOUT),
    Entry::new("WRITE AND VERIFY(12)", &twelve(0xae, BITS), Class::Writes, write).takes(written).seconds(TIMEOUT),
    Entry::new("WRITE AND VERIFY(16)", &sixteen(0x8e, BITS), Class::Writes, write).takes(written).seconds(TIMEOUT),
    Entry::new("WRITE AND VERIFY(32)", &long(0x0c, BITS), Class::Writes, write)
        .action(0x0c)
        .only(LONG)
        .takes(written)
        .seconds(TIMEOUT),
];

/// DPO and BYTCHK.
const BITS: u8 = 0x16;

/// With what the blocks are compared.
///
/// # Errors
/// A value of BYTCHK that is reserved.
fn compare(named: &Blocks) -> Result<Compare, Sense> {
    match named.flags >> 1 & 0x3 {
        0 => Ok(Compare::Nothing),
        1 => Ok(Compare::All),
        3 => Ok(Compare::EachWithOne),
        _ => Err(Sense::in_cdb(1, 2)),
    }
}

/// Bytes that VERIFY takes.
fn compared(unit: &Unit, cdb: &Cdb) -> Result<u32, Sense> {
    let named = blocks_of(unit, cdb, MOST_BLOCKS)?;
    Ok(match compare(&named)? {
        Compare::Nothing => 0,
        Compare::All => named.blocks * BLOCK,
        Compare::EachWithOne => named.blocks.min(1) * BLOCK,
    })
}

fn verify(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let named = blocks_of(unit, call.cdb, MOST_BLOCKS)?;
    let wanted = compared(unit, call.cdb)?;
    if call.data.len() < wanted as usize {
        return Err(Sense::new(Key::AbortedCommand, Code::NOT_ENOUGH_UNSOLICITED_DATA));
    }
    Ok(work(named, Task::Verify(compare(&named)?)))
}

/// Bytes that WRITE AND VERIFY takes: those that it writes.
fn written(unit: &Unit, cdb: &Cdb) -> Result<u32, Sense> {
    unit.may_write()?;
    let named = blocks_of(unit, cdb, MOST_BLOCKS)?;
    match compare(&named)? {
        // One block is no data for all of them.
        Compare::EachWithOne => Err(Sense::in_cdb(1, 2)),
        _ => Ok(named.blocks * BLOCK),
    }
}

fn write(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let mut named = blocks_of(unit, call.cdb, MOST_BLOCKS)?;
    named.blocks = named.blocks.min(call.data.len() as u32 / BLOCK);
    Ok(work(named, Task::WriteAndVerify(compare(&named)?)))
}
