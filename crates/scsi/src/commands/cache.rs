//! SYNCHRONIZE CACHE and PRE-FETCH.

use super::transfer::{blocks_of, sixteen, ten, TIMEOUT};
use super::{Call, Class, Entry, Reply, Status};
use crate::sense::Sense;
use crate::unit::Unit;
use crate::work::{Extent, Task, Work};
use crate::MOST_BLOCKS;

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new("SYNCHRONIZE CACHE(10)", &ten(0x35, IMMED), Class::Writes, synchronize).seconds(60),
    Entry::new("SYNCHRONIZE CACHE(16)", &sixteen(0x91, IMMED), Class::Writes, synchronize).seconds(60),
    Entry::new("PRE-FETCH(10)", &ten(0x34, IMMED), Class::Reads, prefetch).seconds(TIMEOUT),
    Entry::new("PRE-FETCH(16)", &sixteen(0x90, IMMED), Class::Reads, prefetch).seconds(TIMEOUT),
];

/// The answer does not wait.
const IMMED: u8 = 0x02;

/// The drive writes its whole buffer, whatever blocks are named.
fn synchronize(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let named = blocks_of(unit, call.cdb, u32::MAX)?;
    Ok(Reply::Work(Work::flush(named.flags & IMMED != 0)))
}

/// A number of 0 is all blocks up to the end: more than the buffer holds, so nothing is read.
fn prefetch(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let named = blocks_of(unit, call.cdb, MOST_BLOCKS)?;
    if named.blocks == 0 {
        return Ok(Reply::Status(Status::Good));
    }
    Ok(Reply::Work(Work {
        task: Task::Prefetch,
        extent: Extent { lba: named.lba, blocks: named.blocks },
        forced: false,
        immediate: named.flags & IMMED != 0,
        limit: 0,
    }))
}
