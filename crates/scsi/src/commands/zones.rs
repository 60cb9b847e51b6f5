//! REPORT ZONES, CLOSE ZONE, FINISH ZONE, OPEN ZONE, RESET WRITE POINTER: the zones of a host-managed drive.
//!
//! The zones are a state machine of the modelled drive. Whoever carries out [`ZoneCall`]s asks it.

use super::{Call, Class, Entry, Reply};
use crate::cdb::{view, ServiceIn16};
use crate::disk::Disk;
use crate::sense::{Code, Sense};
use crate::unit::Unit;
use headstack_drive::zoned::{ReportingOptions, ZoneAction, ZoneDescriptor, ZoneId};
use headstack_units::Lba;
use std::ops::Range;
use zerocopy::byteorder::big_endian::{U32, U64};
use zerocopy::{transmute, FromZeros};

const ZONED: fn(&Disk) -> bool = |disk| disk.zones.is_some();
const X: u8 = 0xff;

const fn action(name: &'static str) -> Entry {
    let usage = &[0x94, 0x1f, X, X, X, X, X, X, X, X, 0, 0, 0, 0, 0x01, 0];
    Entry::new(name, usage, Class::Writes, manage)
}

/// The family.
pub const ENTRIES: &[Entry] = &[
    action("CLOSE ZONE").action(1).only(ZONED),
    action("FINISH ZONE").action(2).only(ZONED),
    action("OPEN ZONE").action(3).only(ZONED),
    action("RESET WRITE POINTER").action(4).only(ZONED),
    Entry::new("REPORT ZONES", &[0x95, 0x1f, X, X, X, X, X, X, X, X, X, X, X, X, 0xbf, 0], Class::Reads, report)
        .action(0)
        .only(ZONED),
];

/// What the zones of the drive are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneCall {
    /// A list of zones.
    Report {
        /// A block of the first zone.
        from: Lba,
        /// Which zones; `None`: a kind that the drive never has.
        options: Option<ReportingOptions>,
        /// The length of the answer counts the zones in it, and not all that match.
        partial: bool,
        /// Bytes that the initiator has room for.
        length: u32,
    },
    /// A change of one zone or of all.
    Manage(ZoneAction, ZoneId),
}

/// Options of REPORT ZONES for zones that should be reset, or were written out of order: there are none.
const NEVER: [u8; 2] = [0x10, 0x11];

fn report(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    unit.check_ready()?;
    let cdb: &ServiceIn16 = view(call.cdb);
    if cdb.lba.get() >= unit.disk.blocks {
        return Err(Sense::illegal(Code::LBA_OUT_OF_RANGE));
    }
    use ReportingOptions::*;
    let known = [All, Empty, ImplicitlyOpened, ExplicitlyOpened, Closed, Full, ReadOnly, Offline, NotWritePointer];
    let number = cdb.options & 0x3f;
    let options = known.into_iter().find(|known| *known as u8 == number);
    if options.is_none() && !NEVER.contains(&number) {
        return Err(Sense::in_cdb(14, 5));
    }
    Ok(Reply::Zones(ZoneCall::Report {
        from: Lba(cdb.lba.get()),
        options,
        partial: cdb.options & 0x80 != 0,
        length: cdb.length.get(),
    }))
}

fn manage(unit: &mut Unit, call: &Call) -> Result<Reply, Sense> {
    unit.check_ready()?;
    unit.may_write()?;
    let cdb: &ServiceIn16 = view(call.cdb);
    let action = match cdb.action & 0x1f {
        1 => ZoneAction::Close,
        2 => ZoneAction::Finish,
        3 => ZoneAction::Open,
        _ => ZoneAction::Reset,
    };
    if cdb.options & 1 != 0 {
        return Ok(Reply::Zones(ZoneCall::Manage(action, ZoneId::All)));
    }
    if cdb.lba.get() >= unit.disk.blocks {
        return Err(Sense::illegal(Code::LBA_OUT_OF_RANGE));
    }
    let zone = ZoneId::At(Lba(cdb.lba.get()));
    Ok(Reply::Zones(ZoneCall::Manage(action, zone)))
}

crate::structures! {
    /// `same`: 0: the zones differ.
    Head { length: U32, same: u8, reserved: [u8; 3], last: U64, rest: [u8; 48] }
    Zone { kind: u8, condition: u8, reserved: [u8; 6], blocks: U64, start: U64, write_pointer: U64, rest: [u8; 32] }
}

/// A write pointer that says nothing.
const NO_POINTER: u64 = u64::MAX;

/// Bytes of the head of a list, and of the description of a zone.
const ENTRY: usize = size_of::<Head>();
const _: () = assert!(size_of::<Zone>() == ENTRY);

/// The answer to REPORT ZONES: which zones are in it. A long one has megabytes, so zones are described as they are sent, and those
/// of a list of all are not looked at before.
#[derive(Debug)]
pub struct ZoneList {
    head: [u8; ENTRY],
    /// Bytes of the answer.
    pub bytes: usize,
    /// First block of the first zone.
    first: u64,
    /// Blocks of a zone; only the last one of a drive may be shorter.
    blocks: u64,
    /// A bit for each zone of the drive from the first one on: whether it is in the list. `None`: all are.
    is_in: Option<Vec<u64>>,
}

impl ZoneList {
    /// These zones of a drive, in order of address, and perhaps all from the first one on; `length` bytes are asked for.
    pub fn new(
        disk: &Disk,
        zones: impl Iterator<Item = ZoneDescriptor>,
        is_all: bool,
        partial: bool,
        length: u32,
    ) -> ZoneList {
        let room = (length as usize).saturating_sub(ENTRY) / ENTRY;
        let most = if partial { room } else { usize::MAX };
        let mut zones = zones.peekable();
        let first = zones.peek().map(|zone| (zone.start.0, zone.blocks));
        let (first, blocks) = first.unwrap_or((disk.blocks, 1));
        let (mut is_in, mut n) = (None, 0);
        if is_all {
            n = most.min((disk.blocks - first).div_ceil(blocks) as usize);
        } else {
            let bits = is_in.insert(Vec::new());
            for zone in zones.take(most) {
                let i = ((zone.start.0 - first) / blocks) as usize;
                bits.resize(i / 64 + 1, 0);
                bits[i / 64] |= 1u64 << (i % 64);
                n += 1;
            }
        }
        let head =
            Head { length: ((n * ENTRY) as u32).into(), last: (disk.blocks - 1).into(), ..FromZeros::new_zeroed() };
        ZoneList {
            head: transmute!(head),
            bytes: ((1 + n.min(room)) * ENTRY).min(length as usize),
            first,
            blocks,
            is_in,
        }
    }

    /// Bytes of memory that it takes itself.
    pub fn held(&self) -> usize {
        size_of::<ZoneList>() + self.is_in.as_ref().map_or(0, Vec::len) * size_of::<u64>()
    }

    /// Whether the zones of the drive had to be looked at.
    pub fn was_searched(&self) -> bool {
        self.is_in.is_some()
    }

    /// Numbers of the zones that are listed, counted from the first one, from the one at `place` in the list on.
    fn from(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        let words = self.is_in.as_deref();
        let (mut range, mut skipped) = (place..usize::MAX, 0);
        if let Some(words) = words {
            (range, skipped) = (0..64 * words.len(), place);
            // Words of zones before it are counted, and not looked at.
            for n in words.iter().map(|word| word.count_ones() as usize) {
                let Some(rest) = skipped.checked_sub(n) else { break };
                (range.start, skipped) = (range.start + 64, rest);
            }
        }
        range.filter(move |i| words.is_none_or(|w| w[i / 64] >> (i % 64) & 1 == 1)).skip(skipped)
    }

    /// Part of the answer; `zone` describes the zone that begins at a block.
    pub fn part(&self, bytes: Range<usize>, zone: impl Fn(Lba) -> Option<ZoneDescriptor>) -> Vec<u8> {
        // The head is the first entry.
        let entries = bytes.start / ENTRY..bytes.end.div_ceil(ENTRY);
        let head = (entries.start == 0).then_some(self.head);
        let zones = self.from(entries.start.saturating_sub(1)).map(|i| {
            let start = Lba(self.first + i as u64 * self.blocks);
            zone(start).map_or([0; ENTRY], described_as)
        });
        let mut part = Vec::with_capacity(entries.len() * ENTRY);
        head.into_iter().chain(zones).take(entries.len()).for_each(|entry| part.extend_from_slice(&entry));
        part.drain(..bytes.start % ENTRY);
        part.truncate(bytes.len());
        part
    }
}

fn described_as(zone: ZoneDescriptor) -> [u8; ENTRY] {
    transmute!(Zone {
        kind: zone.zone_type as u8,
        condition: (zone.condition as u8) << 4,
        blocks: zone.blocks.into(),
        start: zone.start.0.into(),
        write_pointer: zone.write_pointer.map_or(NO_POINTER, |p| p.0).into(),
        ..Zone::new_zeroed()
    })
}
