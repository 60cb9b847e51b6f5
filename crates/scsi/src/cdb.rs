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

/// READ(6), WRITE(6).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Transfer6 {
    /// 08h, 0Ah.
    pub opcode: u8,
    /// The lower 5 bits are the highest of the address.
    pub lba_high: u8,
    /// The rest of the address.
    pub lba: U16,
    /// Blocks; 0 is 256.
    pub blocks: u8,
    pub control: u8,
}

/// READ(10), WRITE(10), VERIFY(10), WRITE SAME(10) and others of this form.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Transfer10 {
    pub opcode: u8,
    pub flags: u8,
    /// First block.
    pub lba: U32,
    pub group: u8,
    /// Number of blocks.
    pub blocks: U16,
    pub control: u8,
}

/// READ(12), WRITE(12), VERIFY(12).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Transfer12 {
    pub opcode: u8,
    pub flags: u8,
    /// First block.
    pub lba: U32,
    /// Number of blocks.
    pub blocks: U32,
    pub group: u8,
    pub control: u8,
}

/// READ(16), WRITE(16), VERIFY(16), WRITE SAME(16).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Transfer16 {
    pub opcode: u8,
    pub flags: u8,
    /// First block.
    pub lba: U64,
    /// Number of blocks.
    pub blocks: U32,
    /// Group number and two bits of the duration limit.
    pub group: u8,
    pub control: u8,
}

/// READ(32), WRITE(32), VERIFY(32), WRITE SAME(32).
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Transfer32 {
    /// 7Fh.
    pub opcode: u8,
    pub control: u8,
    pub reserved: [u8; 4],
    pub group: u8,
    /// 18h: the bytes that follow.
    pub additional_length: u8,
    /// Which command.
    pub action: U16,
    /// Flags, as byte 1 of the shorter forms.
    pub flags: u8,
    /// Duration limit.
    pub limit: u8,
    /// First block.
    pub lba: U64,
    /// Of protection information.
    pub reference_tag: U32,
    /// Of protection information.
    pub application_tag: U16,
    /// Of protection information.
    pub application_tag_mask: U16,
    /// Number of blocks.
    pub blocks: U32,
}

/// INQUIRY, MODE SENSE(6), REQUEST SENSE and others with one byte for a page and a short length.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Page6 {
    pub opcode: u8,
    pub flags: u8,
    /// The page.
    pub page: u8,
    /// Its first byte is a subpage in MODE SENSE.
    pub length: U16,
    pub control: u8,
}

/// MODE SENSE(10), MODE SELECT(10), LOG SENSE, RESERVE(10), PERSISTENT RESERVE IN.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Page10 {
    pub opcode: u8,
    /// Flags, or a service action.
    pub flags: u8,
    /// The page, or scope and type of a reservation.
    pub page: u8,
    /// The subpage.
    pub subpage: u8,
    pub reserved: u8,
    /// A parameter pointer, or the high half of a length.
    pub pointer: U16,
    pub length: U16,
    pub control: u8,
}

/// PERSISTENT RESERVE OUT.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ReserveOut {
    /// 5Fh.
    pub opcode: u8,
    pub action: u8,
    /// Scope in the upper 4 bits, type in the lower ones.
    pub scope_and_type: u8,
    pub reserved: [u8; 2],
    pub length: U32,
    pub control: u8,
}

/// READ CAPACITY(16) and REPORT ZONES.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ServiceIn16 {
    /// 9Eh, 95h.
    pub opcode: u8,
    pub action: u8,
    /// A block.
    pub lba: U64,
    pub length: U32,
    /// Options.
    pub options: u8,
    pub control: u8,
}

/// REMOVE ELEMENT AND TRUNCATE.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Removal16 {
    /// 9Eh.
    pub opcode: u8,
    pub action: u8,
    /// Blocks that the unit has afterwards; 0: all that are left.
    pub capacity: U64,
    /// The element that is removed.
    pub element: U32,
    pub reserved: u8,
    pub control: u8,
}

/// GET PHYSICAL ELEMENT STATUS and REMOVE ELEMENT AND MODIFY ZONES.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ElementIn16 {
    /// 9Eh.
    pub opcode: u8,
    pub action: u8,
    pub reserved: [u8; 4],
    /// The first element.
    pub from: U32,
    /// Length of the data, or the element that is removed.
    pub length: U32,
    /// What is reported.
    pub options: u8,
    pub control: u8,
}

/// REPORT LUNS, REPORT SUPPORTED OPERATION CODES and REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Report12 {
    /// A0h, A3h.
    pub opcode: u8,
    pub action: u8,
    /// What is reported.
    pub options: u8,
    /// The operation code that is asked about.
    pub wanted_opcode: u8,
    /// Its service action.
    pub wanted_action: U16,
    pub length: U32,
    pub reserved: u8,
    pub control: u8,
}

/// START STOP UNIT.
#[derive(FromBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct StartStop {
    /// 1Bh.
    pub opcode: u8,
    /// Bit 0: IMMED.
    pub flags: u8,
    pub reserved: u8,
    /// Power condition modifier.
    pub modifier: u8,
    /// Power condition in the upper 4 bits; NO FLUSH, LOEJ, START.
    pub condition: u8,
    pub control: u8,
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
