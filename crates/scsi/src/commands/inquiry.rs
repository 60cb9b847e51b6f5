//! INQUIRY: what the disk is.

use super::{cut, Call, Class, Entry, Reply};
use crate::cdb::{view, Page6};
use crate::disk::Disk;
use crate::sense::Sense;
use crate::unit::Unit;
use crate::{MOST_BLOCKS, MOST_SAME_BLOCKS};
use headstack_drive::power::conditions::Condition;
use zerocopy::byteorder::big_endian::{U16, U32, U64};
use zerocopy::{FromZeros, IntoBytes};

/// The family.
pub const ENTRIES: &[Entry] = &[Entry::new("INQUIRY", &[0x12, 0x01, 0xff, 0xff, 0xff, 0], Class::Free, inquiry)];

/// The maker that INQUIRY names.
pub const VENDOR: &str = "HEADSTCK";
/// Qualifier and type of a unit that is not there.
pub const NO_UNIT: u8 = 0x7f;

crate::structures! {
    /// `queueing`: bit 1: CMDQUE.
    Standard {
        device_type: u8, removable: u8, version: u8, format: u8, additional_length: u8, flags: [u8; 2], queueing: u8,
        vendor: [u8; 8], product: [u8; 16], revision: [u8; 4], obsolete: [u8; 22], descriptors: [U16; 8],
        reserved: [u8; 22],
    }
}

/// In the field VERSION: SPC-4, and SPC-5 of disks with duration limits, of which SPC-4 knows nothing.
pub const SPC4: u8 = 6;
const SPC5: u8 = 7;
/// Version descriptors: SAM-5, SPC-4, SBC-3, iSCSI, each without a version.
const DISK: [u16; 4] = [0x00a0, 0x0460, 0x04c0, 0x0960];
/// The version descriptor of SPC-5, without a version.
const SPC5_NO_VERSION: u16 = 0x05c0;
/// With ZBC.
const ZONED: [u16; 5] = [0x00a0, 0x0460, 0x04c0, 0x0620, 0x0960];

/// Text in a field, filled with spaces.
fn text<const N: usize>(of: &str) -> [u8; N] {
    let mut field = [b' '; N];
    let printable = of.bytes().map(|b| match b {
        0x20..=0x7e => b,
        _ => b'?',
    });
    field.iter_mut().zip(printable).for_each(|(f, b)| *f = b);
    field
}

/// Standard data of a unit, or of a place without one.
pub fn standard(device_type: u8, product: &str, version: u8, standards: &[u16]) -> Vec<u8> {
    let mut descriptors = [U16::new(0); 8];
    for (field, value) in descriptors.iter_mut().zip(standards) {
        *field = (*value).into();
    }
    let data = Standard {
        device_type,
        version,
        // HiSup, and the format of these data.
        format: 0x12,
        additional_length: (size_of::<Standard>() - 5) as u8,
        queueing: 0x02,
        vendor: text(VENDOR),
        product: text(product),
        revision: text(env!("CARGO_PKG_VERSION")),
        descriptors,
        ..FromZeros::new_zeroed()
    };
    data.as_bytes().to_vec()
}

fn inquiry(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    let cdb: &Page6 = view(call.cdb);
    let length = usize::from(cdb.length.get());
    if cdb.flags & 1 == 0 {
        return match cdb.page {
            0 => {
                let disk = &unit.disk;
                let zoned = disk.zones.is_some();
                let descriptors = if zoned { &ZONED[..] } else { &DISK };
                let mut descriptors = descriptors.to_vec();
                let version = match disk.limits {
                    None => SPC4,
                    Some(_) => {
                        descriptors[1] = SPC5_NO_VERSION;
                        SPC5
                    }
                };
                let kind = disk.device_type();
                let data = standard(kind, &disk.product, version, &descriptors);
                Ok(cut(data, length))
            }
            // A page is named, and none is asked for.
            _ => Err(Sense::in_cdb(2, 7)),
        };
    }
    let disk = &unit.disk;
    let (_, make) =
        (PAGES.iter()).find(|(code, page)| *code == cdb.page && page(disk).is_some()).ok_or(Sense::in_cdb(2, 7))?;
    let content = make(disk).unwrap_or_default();
    let head = Head { device_type: disk.device_type(), page: cdb.page, length: (content.len() as u16).into() };
    Ok(cut([head.as_bytes(), &content].concat(), length))
}

crate::structures! {
    Head { device_type: u8, page: u8, length: U16 }
}

type Make = fn(&Disk) -> Option<Vec<u8>>;

/// Pages of vital product data; one that makes nothing is absent.
const PAGES: &[(u8, Make)] = &[
    (0x00, supported_pages),
    (0x80, |disk| Some(disk.serial.bytes().collect())),
    (0x83, |disk| Some(identification(disk))),
    (0x86, |_| Some(extended())),
    (0x8a, power_conditions),
    (0xb0, |_| Some(limits())),
    (0xb1, |disk| Some(characteristics(disk))),
    (0xb2, |_| Some(vec![0; 4])),
    (0xb6, zones),
    (0xb9, ranges),
];

fn supported_pages(disk: &Disk) -> Option<Vec<u8>> {
    let there = |(code, make): &(u8, Make)| {
        let is_there = *code == 0 || make(disk).is_some();
        is_there.then_some(*code)
    };
    Some(PAGES.iter().filter_map(there).collect())
}

/// A designation descriptor of page 83h: code set, association and kind, designator.
fn designator(code_set: u8, kind: u8, of: &[u8]) -> Vec<u8> {
    // The protocol of all of them is iSCSI.
    let mut all = vec![0x50 | code_set, 0x80 | kind, 0, of.len() as u8];
    // Those of the unit itself have no protocol.
    if kind & 0x30 == 0 {
        all[0] = code_set;
        all[1] = kind;
    }
    all.extend_from_slice(of);
    all
}

const BINARY: u8 = 1;
const ASCII: u8 = 2;
const UTF8: u8 = 3;

fn identification(disk: &Disk) -> Vec<u8> {
    // NAA 3: assigned locally.
    let naa = (0x3u64 << 60 | disk.number()).to_be_bytes();
    let vendor = format!("{VENDOR}{}", disk.serial);
    // Names are padded with zeroes to four bytes, with at least one.
    let padded = |name: &str| {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize((bytes.len() / 4 + 1) * 4, 0);
        bytes
    };
    [
        designator(BINARY, 3, &naa),
        designator(ASCII, 1, vendor.as_bytes()),
        // Relative port and name of the target port, name of the target device.
        designator(BINARY, 0x14, &[0, 0, 0, 1]),
        designator(UTF8, 0x18, &padded(&format!("{},t,0x0001", disk.target))),
        designator(UTF8, 0x28, &padded(&disk.target)),
    ]
    .concat()
}

crate::structures! {
    /// `tasks`: SIMPSUP, ORDSUP, HEADSUP; `caches`: bit 0: V_SUP, the write cache is volatile.
    Extended { protection: u8, tasks: u8, caches: u8, rest: [u8; 57] }
}

fn extended() -> Vec<u8> {
    let page = Extended { protection: 0, tasks: 0x07, caches: 0x01, rest: [0; 57] };
    page.as_bytes().to_vec()
}

crate::structures! {
    /// `recovery`: recovery times in milliseconds: stopped, standby_z, standby_y, idle_a, idle_b, idle_c.
    PowerConditions { standby: u8, idle: u8, recovery: [U16; 6] }
}

/// Recovery times are not reported (0): they depend on how far the drive got.
fn power_conditions(disk: &Disk) -> Option<Vec<u8>> {
    let bit = |condition, bit: u8| if disk.has(condition) { bit } else { 0 };
    let page = PowerConditions {
        standby: bit(Condition::Standby, 0x01),
        idle: bit(Condition::IdleA, 0x01) | bit(Condition::IdleB, 0x02) | bit(Condition::IdleC, 0x04),
        recovery: [U16::new(0); 6],
    };
    (!disk.conditions.is_empty()).then(|| page.as_bytes().to_vec())
}

crate::structures! {
    /// `flags`: bit 0: WSNZ, WRITE SAME needs a number of blocks.
    Limits {
        flags: u8, compare_and_write: u8, granularity: U16, most_blocks: U32, optimal_blocks: U32, prefetch_blocks: U32,
        unmap: [U32; 4], most_same_blocks: U64, atomic: [U32; 5],
    }
}

fn limits() -> Vec<u8> {
    let page = Limits {
        flags: 0x01,
        most_blocks: MOST_BLOCKS.into(),
        prefetch_blocks: MOST_BLOCKS.into(),
        most_same_blocks: u64::from(MOST_SAME_BLOCKS).into(),
        ..FromZeros::new_zeroed()
    };
    page.as_bytes().to_vec()
}

crate::structures! {
    /// `flags`: bits 5 and 4: zones; bit 1: FUAB.
    Characteristics { rpm: U16, product_type: u8, form_factor: u8, flags: u8, rest: [u8; 55] }
}

fn characteristics(disk: &Disk) -> Vec<u8> {
    let page = Characteristics {
        rpm: disk.rpm.into(),
        // The form factor is not reported.
        ..FromZeros::new_zeroed()
    };
    page.as_bytes().to_vec()
}

crate::structures! {
    /// `flags`: bit 0: URSWRZ; `preferred`: of zones that prefer writes in order, which the disk has not.
    Zones { flags: u8, reserved: [u8; 3], preferred: [U32; 2], most_open: U32, rest: [u8; 44] }
}

/// Zoned block device characteristics.
fn zones(disk: &Disk) -> Option<Vec<u8>> {
    let rules = disk.zones?;
    let page = Zones {
        flags: u8::from(rules.unrestricted_reads),
        preferred: [U32::MAX_VALUE; 2],
        most_open: rules.most_open.unwrap_or(u32::MAX).into(),
        ..FromZeros::new_zeroed()
    };
    Some(page.as_bytes().to_vec())
}

crate::structures! {
    Range { number: u8, elements: u8, reserved: [u8; 6], first: U64, blocks: U64, rest: [u8; 8] }
}

/// Concurrent positioning ranges: the parts of several actuators. After 64 bytes of head.
fn ranges(disk: &Disk) -> Option<Vec<u8>> {
    if disk.ranges.len() < 2 {
        return None;
    }
    let mut page = vec![0; 60];
    for (number, range) in disk.ranges.iter().enumerate() {
        let descriptor = Range {
            number: number as u8,
            first: range.start.into(),
            blocks: (range.end - range.start).into(),
            ..FromZeros::new_zeroed()
        };
        page.extend_from_slice(descriptor.as_bytes());
    }
    Some(page)
}
