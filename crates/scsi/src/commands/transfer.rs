//! READ, WRITE and WRITE SAME, and what all commands that name blocks have in common.

use super::{Call, Class, Entry, Reply};
use crate::cdb::{Blocks, Cdb};
use crate::disk::Disk;
use crate::sense::{Code, Key, Sense};
use crate::unit::Unit;
use crate::work::{Extent, Task, Work};
use crate::{BLOCK, MOST_BLOCKS, MOST_SAME_BLOCKS};

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new("READ(6)", &R6, Class::Reads, read).seconds(TIMEOUT),
    Entry::new("READ(10)", &ten(0x28, DPO_FUA), Class::Reads, read).seconds(TIMEOUT),
    Entry::new("READ(12)", &twelve(0xa8, DPO_FUA), Class::Reads, read).seconds(TIMEOUT),
    Entry::new("READ(16)", &sixteen(0x88, DPO_FUA), Class::Reads, read).only(UNLIMITED).seconds(TIMEOUT),
    Entry::new("READ(16)", &limited16(0x88), Class::Reads, read).only(LONG).limited(READS).seconds(TIMEOUT),
    Entry::new("READ(32)", &limited32(0x09), Class::Reads, read)
        .action(0x09)
        .only(LONG)
        .limited(READS)
        .seconds(TIMEOUT),
    Entry::new("WRITE(6)", &W6, Class::Writes, write).takes(all_blocks).seconds(TIMEOUT),
    Entry::new("WRITE(10)", &ten(0x2a, DPO_FUA), Class::Writes, write).takes(all_blocks).seconds(TIMEOUT),
    Entry::new("WRITE(12)", &twelve(0xaa, DPO_FUA), Class::Writes, write).takes(all_blocks).seconds(TIMEOUT),
    Entry::new("WRITE(16)", &sixteen(0x8a, DPO_FUA), Class::Writes, write)
        .only(UNLIMITED)
        .takes(all_blocks)
        .seconds(TIMEOUT),
    Entry::new("WRITE(16)", &limited16(0x8a), Class::Writes, write)
        .only(LONG)
        .limited(WRITES)
        .takes(all_blocks)
        .seconds(TIMEOUT),
    Entry::new("WRITE(32)", &limited32(0x0b), Class::Writes, write)
        .action(0x0b)
        .only(LONG)
        .limited(WRITES)
        .takes(all_blocks)
        .seconds(TIMEOUT),
    Entry::new("WRITE SAME(10)", &ten(0x41, 0), Class::Writes, same).takes(one_block).seconds(TIMEOUT),
    Entry::new("WRITE SAME(16)", &sixteen(0x93, NDOB), Class::Writes, same).takes(one_block).seconds(TIMEOUT),
    Entry::new("WRITE SAME(32)", &long(0x0d, NDOB), Class::Writes, same)
        .action(0x0d)
        .only(LONG)
        .takes(one_block)
        .seconds(TIMEOUT),
];

/// Seconds for a command that uses the medium: a full queue of long commands, after a spin-up.
pub const TIMEOUT: u32 = 30;
/// Disks that have the commands of 32 bytes: those with duration limits. Otherwise they are for protection information.
pub const LONG: fn(&Disk) -> bool = |disk| disk.limits.is_some();
/// The others.
const UNLIMITED: fn(&Disk) -> bool = |disk| disk.limits.is_none();
/// The field CDLP of commands whose limits are those of page T2A, and of T2B.
const READS: u8 = 1;
const WRITES: u8 = 2;
/// DPO and FUA.
pub const DPO_FUA: u8 = 0x18;
/// There is no block of data: the blocks become zero.
const NDOB: u8 = 0x01;

const R6: [u8; 6] = [0x08, 0x1f, 0xff, 0xff, 0xff, 0];
const W6: [u8; 6] = [0x0a, 0x1f, 0xff, 0xff, 0xff, 0];

/// The bits of commands of 10 bytes that name blocks.
pub const fn ten(opcode: u8, flags: u8) -> [u8; 10] {
    [opcode, flags, 0xff, 0xff, 0xff, 0xff, 0x3f, 0xff, 0xff, 0]
}

/// The same for 12 bytes.
pub const fn twelve(opcode: u8, flags: u8) -> [u8; 12] {
    let x = 0xff;
    [opcode, flags, x, x, x, x, x, x, x, x, 0x3f, 0]
}

/// The same for 16 bytes.
pub const fn sixteen(opcode: u8, flags: u8) -> [u8; 16] {
    let x = 0xff;
    [opcode, flags, x, x, x, x, x, x, x, x, x, x, x, x, 0x3f, 0]
}

/// The same with the bits that name a duration limit.
const fn limited16(opcode: u8) -> [u8; 16] {
    let mut usage = sixteen(opcode, DPO_FUA | 0x01);
    usage[14] |= 0xc0;
    usage
}

/// The bits of commands of 32 bytes that name blocks and a duration limit.
const fn limited32(action: u8) -> [u8; 32] {
    let mut usage = long(action, DPO_FUA);
    usage[11] = 0x07;
    usage
}

/// The same as [`sixteen`] for 32 bytes.
pub const fn long(action: u8, flags: u8) -> [u8; 32] {
    let mut usage = [0; 32];
    usage[0] = 0x7f;
    usage[6] = 0x3f;
    usage[7] = 0x18;
    usage[9] = action;
    usage[10] = flags;
    let mut i = 12;
    while i < 20 {
        usage[i] = 0xff;
        i += 1;
    }
    let mut i = 28;
    while i < 32 {
        usage[i] = 0xff;
        i += 1;
    }
    usage
}

/// The blocks of a command, inside the unit and at most `most`.
///
/// # Errors
/// They reach past the end, or are too many.
pub fn blocks_of(unit: &Unit, cdb: &Cdb, most: u32) -> Result<Blocks, Sense> {
    unit.check_ready()?;
    let named = Blocks::of(cdb);
    let end = named.lba.checked_add(named.blocks.into());
    if end.is_none_or(|end| end > unit.disk.blocks) || named.lba >= unit.disk.blocks {
        return Err(Sense::illegal(Code::LBA_OUT_OF_RANGE).with_information(named.lba));
    }
    match named.blocks > most {
        true => Err(Sense::in_cdb(length_byte(cdb), 7)),
        false => Ok(named),
    }
}

/// The byte at which the number of blocks begins.
fn length_byte(cdb: &Cdb) -> u16 {
    match cdb[0] {
        0x7f => 28,
        0x80..=0x9f => 10,
        0xa0..=0xbf => 6,
        0x00..=0x1f => 4,
        _ => 7,
    }
}

/// Work for the drive, or none if there are no blocks.
pub fn work(named: Blocks, task: Task) -> Reply {
    match named.blocks {
        0 => Reply::Good,
        blocks => Reply::Work(Work {
            task,
            extent: Extent { lba: named.lba, blocks },
            forced: named.is_forced(),
            immediate: false,
            limit: named.limit,
        }),
    }
}

fn all_blocks(unit: &Unit, cdb: &Cdb) -> Result<u32, Sense> {
    unit.may_write()?;
    Ok(blocks_of(unit, cdb, MOST_BLOCKS)?.blocks * BLOCK)
}

fn read(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    Ok(work(blocks_of(unit, call.cdb, MOST_BLOCKS)?, Task::Read))
}

fn write(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let mut named = blocks_of(unit, call.cdb, MOST_BLOCKS)?;
    // Of a transfer that the initiator cut short, whole blocks are written.
    named.blocks = named.blocks.min(call.data.len() as u32 / BLOCK);
    Ok(work(named, Task::Write))
}

fn one_block(unit: &Unit, cdb: &Cdb) -> Result<u32, Sense> {
    unit.may_write()?;
    let named = blocks_of(unit, cdb, MOST_SAME_BLOCKS)?;
    if named.blocks == 0 {
        // WSNZ of VPD page B0h.
        return Err(Sense::in_cdb(length_byte(cdb), 7));
    }
    Ok(if is_without_data(cdb, &named) { 0 } else { BLOCK })
}

fn is_without_data(cdb: &Cdb, named: &Blocks) -> bool {
    cdb[0] != 0x41 && named.flags & NDOB != 0
}

fn same(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let named = blocks_of(unit, call.cdb, MOST_SAME_BLOCKS)?;
    let zeroes = is_without_data(call.cdb, &named);
    match zeroes || call.data.len() == BLOCK as usize {
        true => Ok(work(named, Task::WriteSame { zeroes })),
        // The initiator sent less than a block.
        false => Err(Sense::new(Key::AbortedCommand, Code::NOT_ENOUGH_UNSOLICITED_DATA)),
    }
}
