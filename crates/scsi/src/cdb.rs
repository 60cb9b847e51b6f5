//! Command descriptor blocks as structures; fields that every block has are named as in SPC-5.

#![allow(missing_docs)]

use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A descriptor block; bytes that the command does not have are zero.
pub type Cdb = [u8; 32];

/// A descriptor block as the structure of its command.
pub fn view<T: FromBytes + KnownLayout + Immutable + Unaligned>(cdb: &Cdb) -> &T {
    const { assert!(size_of::<T>() <= size_of::<Cdb>()) };
    match T::ref_from_prefix(cdb) {
        Ok((view, _)) => view,
        Err(_) => unreachable!("no structure is longer than the block"),
    }
}

crate::structures! {
    /// READ(6), WRITE(6). `opcode`: 08h, 0Ah; `lba_high`: the lower 5 bits are the highest of the address; `lba`: the
    /// rest of the address; `blocks`: 0 is 256.
    pub Transfer6 { opcode: u8, lba_high: u8, lba: U16, blocks: u8, control: u8 }
    /// READ(10), WRITE(10), VERIFY(10), WRITE SAME(10) and others of this form.
    pub Transfer10 { opcode: u8, flags: u8, lba: U32, group: u8, blocks: U16, control: u8 }
    /// READ(12), WRITE(12), VERIFY(12).
    pub Transfer12 { opcode: u8, flags: u8, lba: U32, blocks: U32, group: u8, control: u8 }
    /// READ(16), WRITE(16), VERIFY(16), WRITE SAME(16). `group`: group number and two bits of the duration limit.
    pub Transfer16 { opcode: u8, flags: u8, lba: U64, blocks: U32, group: u8, control: u8 }
    /// READ(32), WRITE(32), VERIFY(32), WRITE SAME(32). `opcode`: 7Fh; `additional_length`: 18h: the bytes that follow;
    /// `action`: which command; `flags`: as byte 1 of the shorter forms; `limit`: duration limit. Tags are of protection
    /// information.
    pub Transfer32 {
        opcode: u8, control: u8, reserved: [u8; 4], group: u8, additional_length: u8, action: U16, flags: u8, limit: u8,
        lba: U64, reference_tag: U32, application_tag: U16, application_tag_mask: U16, blocks: U32,
    }
    /// INQUIRY, MODE SENSE(6), REQUEST SENSE and others with one byte for a page and a short length. `length`: its
    /// first byte is a subpage in MODE SENSE.
    pub Page6 { opcode: u8, flags: u8, page: u8, length: U16, control: u8 }
    /// MODE SENSE(10), MODE SELECT(10), LOG SENSE, RESERVE(10), PERSISTENT RESERVE IN. `flags`: flags or a service
    /// action; `page`: the page, or scope and type of a reservation; `pointer`: a parameter pointer, or the high half
    /// of a length.
    pub Page10 { opcode: u8, flags: u8, page: u8, subpage: u8, reserved: u8, pointer: U16, length: U16, control: u8 }
    /// PERSISTENT RESERVE OUT. `opcode`: 5Fh; `scope_and_type`: scope in the upper 4 bits, type in the lower ones.
    pub ReserveOut { opcode: u8, action: u8, scope_and_type: u8, reserved: [u8; 2], length: U32, control: u8 }
    /// READ CAPACITY(16) and REPORT ZONES. `opcode`: 9Eh, 95h.
    pub ServiceIn16 { opcode: u8, action: u8, lba: U64, length: U32, options: u8, control: u8 }
    /// REMOVE ELEMENT AND TRUNCATE. `opcode`: 9Eh; `capacity`: blocks that the unit has afterwards; 0: all that are
    /// left; `element`: the element that is removed.
    pub Removal16 { opcode: u8, action: u8, capacity: U64, element: U32, reserved: u8, control: u8 }
    /// GET PHYSICAL ELEMENT STATUS and REMOVE ELEMENT AND MODIFY ZONES. `opcode`: 9Eh; `from`: the first element;
    /// `length`: length of the data, or the element that is removed; `options`: what is reported.
    pub ElementIn16 { opcode: u8, action: u8, reserved: [u8; 4], from: U32, length: U32, options: u8, control: u8 }
    /// REPORT LUNS, REPORT SUPPORTED OPERATION CODES and REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS. `opcode`: A0h,
    /// A3h; `options`: what is reported; `wanted_opcode`: the operation code that is asked about; `wanted_action`: its
    /// service action.
    pub Report12 {
        opcode: u8, action: u8, options: u8, wanted_opcode: u8, wanted_action: U16, length: U32, reserved: u8,
        control: u8,
    }
    /// START STOP UNIT. `opcode`: 1Bh; `flags`: bit 0: IMMED; `modifier`: power condition modifier; `condition`: power
    /// condition in the upper 4 bits; NO FLUSH, LOEJ, START.
    pub StartStop { opcode: u8, flags: u8, reserved: u8, modifier: u8, condition: u8, control: u8 }
}

/// What all commands that name blocks have, whatever the length of their descriptor block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    pub lba: u64,
    pub blocks: u32,
    pub flags: u8,
    /// The duration limit's index.
    pub limit: u8,
}

impl Blocks {
    /// Reads a descriptor block by the group of its operation code.
    pub fn of(cdb: &Cdb) -> Blocks {
        match cdb[0] {
            0x7f => {
                let c: &Transfer32 = view(cdb);
                Blocks {
                    lba: c.lba.get(),
                    blocks: c.blocks.get(),
                    flags: c.flags,
                    limit: match c.action.get() {
                        0x09 | 0x0b => c.limit & 0x07,
                        _ => 0,
                    },
                }
            }
            0x00..=0x1f => {
                let c: &Transfer6 = view(cdb);
                Blocks {
                    lba: u64::from(c.lba_high & 0x1f) << 16 | u64::from(c.lba.get()),
                    blocks: match c.blocks {
                        0 => 256,
                        n => n.into(),
                    },
                    flags: 0,
                    limit: 0,
                }
            }
            0x80..=0x9f => {
                let c: &Transfer16 = view(cdb);
                Blocks {
                    lba: c.lba.get(),
                    blocks: c.blocks.get(),
                    flags: c.flags,
                    limit: match c.opcode {
                        // DLD2 is bit 0 of the flags, DLD1 and DLD0 are bits 7 and 6 of the group.
                        0x88 | 0x8a => (c.flags & 0x01) << 2 | c.group >> 6,
                        _ => 0,
                    },
                }
            }
            0xa0..=0xbf => {
                let c: &Transfer12 = view(cdb);
                Blocks { lba: c.lba.get().into(), blocks: c.blocks.get(), flags: c.flags, limit: 0 }
            }
            _ => {
                let c: &Transfer10 = view(cdb);
                Blocks { lba: c.lba.get().into(), blocks: c.blocks.get().into(), flags: c.flags, limit: 0 }
            }
        }
    }

    /// Forced unit access.
    pub fn is_forced(&self) -> bool {
        self.flags & 0x08 != 0
    }
}
