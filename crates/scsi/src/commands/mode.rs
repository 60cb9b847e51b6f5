//! MODE SENSE and MODE SELECT.

use super::{cut, Call, Class, Entry, Reply};
use crate::cdb::{view, Page10, Page6};
use crate::pages::{Page, Values};
use crate::sense::{Code, Sense};
use crate::unit::Unit;
use crate::work::Work;
use crate::BLOCK;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// The family.
pub const ENTRIES: &[Entry] = &[
    Entry::new("MODE SENSE(6)", &[0x1a, DBD, 0xff, 0xff, 0xff, 0], Class::Writes, sense6),
    Entry::new("MODE SENSE(10)", &[0x5a, DBD | LLBAA, 0xff, 0xff, 0, 0, 0, 0xff, 0xff, 0], Class::Writes, sense10),
    Entry::new("MODE SELECT(6)", &[0x15, PF | SP, 0, 0, 0xff, 0], Class::Writes, select6)
        .takes(|_, cdb| Ok(cdb[4].into())),
    Entry::new("MODE SELECT(10)", &[0x55, PF | SP, 0, 0, 0, 0, 0, 0xff, 0xff, 0], Class::Writes, select10)
        .takes(|_, cdb| Ok(view::<Page10>(cdb).length.get().into())),
];

/// No block descriptor.
const DBD: u8 = 0x08;
/// The long form of the block descriptor.
const LLBAA: u8 = 0x10;
/// The pages are those of the standard.
const PF: u8 = 0x10;
/// The values are saved.
const SP: u8 = 0x01;
/// Code and subpage that mean all.
const ALL: (u8, u8) = (0x3f, 0xff);

crate::structures! {
    /// `device`: WP and DPOFUA.
    Header6 { length: u8, medium_type: u8, device: u8, descriptor_length: u8 }
    /// `long`: bit 0: LONGLBA.
    Header10 { length: U16, medium_type: u8, device: u8, long: u8, reserved: u8, descriptor_length: U16 }
    /// `block_bytes`: the upper byte is reserved.
    ShortDescriptor { blocks: U32, block_bytes: U32 }
    LongDescriptor { blocks: U64, reserved: U32, block_bytes: U32 }
}

/// WP, and DPOFUA: the bits DPO and FUA are known.
fn device_byte(unit: &Unit) -> u8 {
    0x10 | if unit.pages.is_protected() { 0x80 } else { 0 }
}

/// The pages that are asked for, with the values that are asked for.
///
/// # Errors
/// A page that is not there.
fn pages(unit: &Unit, page: u8, subpage: u8) -> Result<Vec<u8>, Sense> {
    let (code, which) = (page & 0x3f, Values::of(page >> 6));
    let is_all = code == ALL.0;
    let of_code = |p: &&Page| is_all || p.code() == code;
    let mut of_code = unit.pages.pages.iter().filter(of_code).peekable();
    if of_code.peek().is_none() {
        return Err(Sense::in_cdb(2, 5));
    }
    let mut all = Vec::new();
    for page in of_code.filter(|p| subpage == ALL.1 || p.subpage() == subpage) {
        all.extend_from_slice(page.values(which));
    }
    match all.is_empty() {
        true => Err(Sense::in_cdb(3, 7)),
        false => Ok(all),
    }
}

fn short_descriptor(unit: &Unit) -> Vec<u8> {
    let descriptor = ShortDescriptor {
        blocks: u32::try_from(unit.disk.blocks).unwrap_or(u32::MAX).into(),
        block_bytes: BLOCK.into(),
    };
    descriptor.as_bytes().to_vec()
}

fn sense6(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &Page6 = view(call.cdb);
    let [subpage, length] = cdb.length.get().to_be_bytes();
    let pages = pages(unit, cdb.page, subpage)?;
    let descriptor = match cdb.flags & DBD {
        0 => short_descriptor(unit),
        _ => Vec::new(),
    };
    // Pages for which the length of this command has no room are those of MODE SENSE(10).
    let length_of = u8::try_from(3 + descriptor.len() + pages.len());
    let header = Header6 {
        length: length_of.map_err(|_| Sense::in_cdb(2, 5))?,
        medium_type: 0,
        device: device_byte(unit),
        descriptor_length: descriptor.len() as u8,
    };
    let all = [header.as_bytes(), &descriptor, &pages].concat();
    Ok(cut(all, length.into()))
}

fn sense10(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &Page10 = view(call.cdb);
    let pages = pages(unit, cdb.page, cdb.subpage)?;
    let is_long = cdb.flags & (LLBAA | DBD) == LLBAA;
    let descriptor = match (cdb.flags & DBD, is_long) {
        (0, false) => short_descriptor(unit),
        (0, true) => {
            let descriptor =
                LongDescriptor { blocks: unit.disk.blocks.into(), reserved: 0.into(), block_bytes: BLOCK.into() };
            descriptor.as_bytes().to_vec()
        }
        _ => Vec::new(),
    };
    let header = Header10 {
        length: ((6 + descriptor.len() + pages.len()) as u16).into(),
        device: device_byte(unit),
        long: u8::from(is_long),
        descriptor_length: (descriptor.len() as u16).into(),
        ..FromZeros::new_zeroed()
    };
    let all = [header.as_bytes(), &descriptor, &pages].concat();
    Ok(cut(all, cdb.length.get().into()))
}

fn select6(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let Ok((header, rest)) = Header6::ref_from_prefix(call.data) else { return too_short(call) };
    let at = size_of::<Header6>();
    select(unit, call, rest, header.descriptor_length.into(), at, false)
}

fn select10(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let Ok((header, rest)) = Header10::ref_from_prefix(call.data) else { return too_short(call) };
    let (at, is_long) = (size_of::<Header10>(), header.long & 1 != 0);
    let length = header.descriptor_length.get().into();
    select(unit, call, rest, length, at, is_long)
}

/// No data change nothing; less than a header is an error.
fn too_short(call: &Call) -> Result<Reply, Sense> {
    match call.data.is_empty() {
        true => Ok(Reply::Good),
        false => Err(Sense::illegal(Code::PARAMETER_LIST_LENGTH_ERROR)),
    }
}

/// Sets what follows the header of `at` bytes.
fn select(
    unit: &mut Unit,
    call: &Call,
    rest: &[u8],
    descriptor: usize,
    at: usize,
    is_long: bool,
) -> Result<Reply, Sense> {
    if call.cdb[1] & PF == 0 {
        return Err(Sense::in_cdb(1, 4));
    }
    if descriptor > rest.len() {
        return Err(Sense::illegal(Code::PARAMETER_LIST_LENGTH_ERROR));
    }
    let (block, pages) = rest.split_at(descriptor);
    check_descriptor(unit, block, at, is_long)?;
    let (was_cached, before) = (unit.pages.write_cache(), unit.pages.clone());
    let save = call.cdb[1] & SP != 0;
    unit.pages.select(pages, at + descriptor, save)?;
    if unit.pages != before {
        unit.modes_changed(call.nexus, &before);
    }
    // What is in the write cache goes to the medium before it is switched off.
    Ok(if was_cached && !unit.pages.write_cache() { Reply::Work(Work::flush(false)) } else { Reply::Good })
}

/// A block descriptor may only say what is so.
fn check_descriptor(unit: &Unit, block: &[u8], at: usize, is_long: bool) -> Result<(), Sense> {
    let (blocks, bytes, most) = match (block.len(), is_long) {
        (0, _) => return Ok(()),
        (8, false) => match ShortDescriptor::ref_from_bytes(block) {
            Ok(d) => (d.blocks.get().into(), d.block_bytes.get(), u64::from(u32::MAX)),
            Err(_) => return Err(Sense::in_parameters(at as u16)),
        },
        (16, true) => match LongDescriptor::ref_from_bytes(block) {
            Ok(d) => (d.blocks.get(), d.block_bytes.get(), u64::MAX),
            Err(_) => return Err(Sense::in_parameters(at as u16)),
        },
        _ => return Err(Sense::in_parameters(at as u16 - 1)),
    };
    let same = blocks == 0 || blocks == most || blocks == unit.disk.blocks;
    match same && bytes & 0x00ff_ffff == BLOCK {
        true => Ok(()),
        false => Err(Sense::in_parameters(at as u16)),
    }
}
