//! GET PHYSICAL ELEMENT STATUS and REMOVE ELEMENT AND MODIFY ZONES: the heads of a drive.
//!
//! # Source
//! SBC-4 (physical elements), ZBC-2 (removal with zones that keep their addresses).
//!
//! # Validity
//! REMOVE ELEMENT AND TRUNCATE and RESTORE ELEMENTS AND REBUILD, after which a drive has other addresses, are not supported.

use super::{cut, Call, Class, Entry, Reply};
use crate::cdb::{view, ElementIn16};
use crate::disk::Disk;
use crate::sense::Sense;
use crate::unit::Unit;
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{Immutable, IntoBytes, Unaligned};

const X: u8 = 0xff;
const HAS: fn(&Disk) -> bool = |disk| disk.elements > 0;
const HAS_AND_ZONES: fn(&Disk) -> bool = |disk| disk.elements > 1 && disk.zones.is_some();

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new(
        "GET PHYSICAL ELEMENT STATUS",
        &[0x9e, 0x1f, 0, 0, 0, 0, X, X, X, X, X, X, X, X, 0xcf, 0],
        Class::Reads,
        status,
    )
    .action(0x17)
    .only(HAS),
    Entry::new(
        "REMOVE ELEMENT AND MODIFY ZONES",
        &[0x9e, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, X, X, X, X, 0, 0],
        Class::Writes,
        remove,
    )
    .action(0x1a)
    .only(HAS_AND_ZONES)
    .seconds(60),
];

/// What the elements of a drive are asked for. Elements are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementCall {
    /// A list of elements.
    Report {
        /// The first one.
        from: u32,
        /// Only those out of their limits, or removed.
        only_bad: bool,
        /// Bytes that the initiator has room for.
        length: u32,
    },
    /// An element is no longer used; zones that have blocks on it go offline.
    Remove(u32),
}

fn status(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    unit.check_ready()?;
    let cdb: &ElementIn16 = view(call.cdb);
    // Filters: all, or those that are bad. Kinds: all elements, or storage elements, of which there are no others.
    let only_bad = match cdb.options >> 6 {
        0 => false,
        1 => true,
        _ => return Err(Sense::in_cdb(14, 7)),
    };
    if cdb.options & 0x0f > 1 {
        return Err(Sense::in_cdb(14, 3));
    }
    Ok(Reply::Elements(ElementCall::Report {
        from: cdb.from.get(),
        only_bad,
        length: cdb.length.get(),
    }))
}

fn remove(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    unit.check_ready()?;
    unit.may_write()?;
    let element = view::<ElementIn16>(call.cdb).length.get();
    match (1..=unit.disk().elements).contains(&element) {
        true => Ok(Reply::Elements(ElementCall::Remove(element))),
        false => Err(no_such_element()),
    }
}

/// The sense data of a removal that names no element that can be removed.
pub fn no_such_element() -> Sense {
    Sense::in_cdb(10, 7)
}

/// How an element is: the field PHYSICAL ELEMENT HEALTH.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Health {
    /// Within its limits.
    Good = 0x01,
    /// Out of its limits: the head has failed.
    Failed = 0xcf,
    /// It was removed without an error.
    Removed = 0xff,
}

/// An element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Element {
    /// Its number, from 1.
    pub number: u32,
    /// How it is.
    pub health: Health,
    /// Logical blocks on it.
    pub blocks: u64,
}

#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct Head {
    matching: U32,
    returned: U32,
    /// The element that is being removed: none, as that takes no time.
    under_way: U32,
    reserved: [u8; 20],
}

#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct Descriptor {
    reserved: [u8; 4],
    number: U32,
    more: [u8; 5],
    /// RALWD: whether it can be restored.
    restorable: u8,
    /// 1: a storage element.
    kind: u8,
    health: u8,
    blocks: U64,
    rest: [u8; 8],
}

/// The answer to GET PHYSICAL ELEMENT STATUS, of all elements in order.
pub fn listed(all: &[Element], from: u32, only_bad: bool, length: u32) -> Vec<u8> {
    let bytes = size_of::<Descriptor>();
    let room = (length as usize).saturating_sub(size_of::<Head>()) / bytes;
    let matches = |e: &&Element| e.number >= from && !(only_bad && e.health == Health::Good);
    let matching = all.iter().filter(matches).count();
    let head = Head {
        matching: (matching as u32).into(),
        returned: (matching.min(room) as u32).into(),
        under_way: 0.into(),
        reserved: [0; 20],
    };
    let mut data = head.as_bytes().to_vec();
    for element in all.iter().filter(matches).take(room) {
        let descriptor = Descriptor {
            reserved: [0; 4],
            number: element.number.into(),
            more: [0; 5],
            restorable: 0,
            kind: 1,
            health: element.health as u8,
            blocks: element.blocks.into(),
            rest: [0; 8],
        };
        data.extend_from_slice(descriptor.as_bytes());
    }
    match cut(data, length as usize) {
        Reply::Data(data) => data,
        _ => Vec::new(),
    }
}
