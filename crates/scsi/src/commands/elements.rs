//! GET PHYSICAL ELEMENT STATUS, REMOVE ELEMENT AND TRUNCATE, RESTORE ELEMENTS AND REBUILD, REMOVE ELEMENT AND MODIFY ZONES: the
//! heads of a drive.
//!
//! # Source
//! SBC-4 (physical elements), ZBC-2 (removal with zones that keep their addresses).

use super::{cut, Call, Class, Entry, Reply};
use crate::cdb::{view, ElementIn16, Removal16};
use crate::disk::Disk;
use crate::sense::Sense;
use crate::unit::Unit;
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{FromZeros, IntoBytes};

const X: u8 = 0xff;
const HAS: fn(&Disk) -> bool = |disk| disk.elements > 0;
const TRUNCATES: fn(&Disk) -> bool = |disk| disk.truncates;
const HAS_AND_ZONES: fn(&Disk) -> bool = |disk| disk.elements > 1 && disk.zones.is_some();

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new(
        "GET PHYSICAL ELEMENT STATUS",
        &[0x9e, 0x1f, 0, 0, 0, 0, X, X, X, X, X, X, X, X, 0xcf, 0],
        Class::Reads,
        status,
    )
    .action(STATUS)
    .only(HAS),
    Entry::new(
        "REMOVE ELEMENT AND TRUNCATE",
        &[0x9e, 0x1f, X, X, X, X, X, X, X, X, X, X, X, X, 0, 0],
        Class::Writes,
        truncate,
    )
    .action(TRUNCATE)
    .only(TRUNCATES)
    .seconds(60),
    Entry::new(
        "RESTORE ELEMENTS AND REBUILD",
        &[0x9e, 0x1f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        Class::Writes,
        restore,
    )
    .action(RESTORE)
    .only(TRUNCATES)
    .seconds(60),
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

/// Service actions that a drive takes which is away for a removal, or after one that has failed.
pub(crate) const STATUS: u16 = 0x17;
pub(crate) const TRUNCATE: u16 = 0x18;
pub(crate) const RESTORE: u16 = 0x19;

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
    /// An element is no longer used; the drive has new addresses, as many as are asked for, or as many as are left.
    Truncate {
        /// The element.
        element: u32,
        /// Blocks that the drive has afterwards; `None`: all that are left.
        blocks: Option<u64>,
    },
    /// All elements are used again.
    Restore,
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
    Ok(Reply::Elements(ElementCall::Report { from: cdb.from.get(), only_bad, length: cdb.length.get() }))
}

fn truncate(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    unit.check_ready()?;
    unit.may_write()?;
    let cdb: &Removal16 = view(call.cdb);
    let element = cdb.element.get();
    if !(1..=unit.disk.elements).contains(&element) {
        return Err(no_such_element());
    }
    let blocks = Some(cdb.capacity.get()).filter(|blocks| *blocks > 0);
    Ok(Reply::Elements(ElementCall::Truncate { element, blocks }))
}

fn restore(unit: &mut Unit, _: &Call) -> Result<Reply, Sense> {
    unit.check_ready()?;
    unit.may_write()?;
    Ok(Reply::Elements(ElementCall::Restore))
}

fn remove(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    unit.check_ready()?;
    unit.may_write()?;
    let element = view::<ElementIn16>(call.cdb).length.get();
    match (1..=unit.disk.elements).contains(&element) {
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
    /// It could not be taken back.
    NotRestored = 0xfb,
    /// It is being taken back.
    Restoring = 0xfc,
    /// It could not be removed without an error.
    NotRemoved = 0xfd,
    /// It is being removed.
    Removing = 0xfe,
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
    /// Whether RESTORE ELEMENTS AND REBUILD takes it back.
    pub is_restorable: bool,
}

crate::structures! {
    /// `under_way`: the element that is being removed; 0 for none.
    Head { matching: U32, returned: U32, under_way: U32, reserved: [u8; 20] }
    /// `restorable`: RALWD: whether it can be restored; `kind`: 1: a storage element.
    Descriptor {
        reserved: [u8; 4], number: U32, more: [u8; 5], restorable: u8, kind: u8, health: u8, blocks: U64, rest: [u8; 8],
    }
}

/// The answer to GET PHYSICAL ELEMENT STATUS, of all elements in order.
pub fn listed(all: &[Element], from: u32, only_bad: bool, length: u32) -> Vec<u8> {
    let bytes = size_of::<Descriptor>();
    let room = (length as usize).saturating_sub(size_of::<Head>()) / bytes;
    let matches = |e: &&Element| e.number >= from && !(only_bad && e.health == Health::Good);
    let matching = all.iter().filter(matches).count();
    let under_way = all.iter().find(|e| e.health == Health::Removing);
    let head = Head {
        matching: (matching as u32).into(),
        returned: (matching.min(room) as u32).into(),
        under_way: under_way.map_or(0, |e| e.number).into(),
        reserved: [0; 20],
    };
    let mut data = head.as_bytes().to_vec();
    for element in all.iter().filter(matches).take(room) {
        let descriptor = Descriptor {
            number: element.number.into(),
            restorable: element.is_restorable.into(),
            kind: 1,
            health: element.health as u8,
            blocks: element.blocks.into(),
            ..FromZeros::new_zeroed()
        };
        data.extend_from_slice(descriptor.as_bytes());
    }
    match cut(data, length as usize) {
        Reply::Data(data) => data,
        _ => Vec::new(),
    }
}
