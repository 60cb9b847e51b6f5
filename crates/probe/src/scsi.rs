//! What a SCSI disk says about itself, whatever carries its commands.
//!
//! # Source
//! SPC-6 and SBC-5: INQUIRY with pages 80h, B1h and B9h, READ CAPACITY(16), MODE SENSE(6), READ(16), WRITE(16).

use crate::batch::Status;
use crate::{hashed, lost, no_target, Described, Kind, ProbeError};
use std::ops::Range;

/// Tries of a command while the disk has something to say first (unit attention).
const TRIES: u32 = 16;
const CHECK_CONDITION: u8 = 0x02;
const UNIT_ATTENTION: u8 = 6;
const MEDIUM_ERROR: u8 = 3;
/// FUA in the second byte of a READ(16).
const FUA: u8 = 0x08;
const DISK: &str = "a SCSI disk";

/// What came of a command.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    /// Status; 0 is good.
    pub status: u8,
    /// Sense data, without the length before them.
    pub sense: Vec<u8>,
    /// Data.
    pub data: Vec<u8>,
}

/// Something that takes a command and gives what came of it.
pub(crate) trait Commands {
    /// Carries out a command that sends data or asks for at most so many bytes.
    fn command(&mut self, cdb: [u8; 16], data: &[u8], bytes: u32) -> Result<Reply, ProbeError>;
}

/// The sense key of sense data in either format; 0 if there is none.
pub(crate) fn key_of(sense: &[u8]) -> u8 {
    let at = match sense.first().map_or(0, |b| b & 0x7f) {
        0x70 | 0x71 => 2,
        0x72 | 0x73 => 1,
        _ => return 0,
    };
    sense.get(at).map_or(0, |b| b & 0x0f)
}

/// How a read has ended.
pub(crate) fn ended(status: u8, sense: &[u8]) -> Status {
    match (status, key_of(sense)) {
        (0, _) => Status::Good,
        (CHECK_CONDITION, MEDIUM_ERROR) => Status::Medium,
        _ => Status::Other,
    }
}

/// READ(16), or WRITE(16).
pub(crate) fn access16(writes: bool, lba: u64, blocks: u32, fua: bool) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = if writes { 0x8a } else { 0x88 };
    cdb[1] = if fua { FUA } else { 0 };
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&blocks.to_be_bytes());
    cdb
}

/// The data of a command; `None` if the disk refuses it.
fn ask(disk: &mut dyn Commands, cdb: [u8; 16], bytes: u32) -> Result<Option<Vec<u8>>, ProbeError> {
    for _ in 0..TRIES {
        let reply = disk.command(cdb, &[], bytes)?;
        match reply.status {
            0 => return Ok(Some(reply.data)),
            CHECK_CONDITION if key_of(&reply.sense) == UNIT_ATTENTION => {}
            _ => return Ok(None),
        }
    }
    Err(lost("unit attentions without end", DISK))
}

/// What some blocks contain; `None` if the disk cannot say it.
pub(crate) fn fetch(
    disk: &mut dyn Commands,
    lba: u64,
    blocks: u32,
    block_bytes: u32,
) -> Result<Option<Vec<u8>>, ProbeError> {
    let bytes = blocks * block_bytes;
    let data = ask(disk, access16(false, lba, blocks, true), bytes)?;
    Ok(data.filter(|d| d.len() == bytes as usize))
}

/// Standard data of INQUIRY, or a page of vital product data.
fn inquiry(disk: &mut dyn Commands, page: Option<u8>) -> Result<Option<Vec<u8>>, ProbeError> {
    const BYTES: u16 = 4096;
    let mut cdb = [0; 16];
    cdb[0] = 0x12;
    cdb[1] = u8::from(page.is_some());
    cdb[2] = page.unwrap_or(0);
    cdb[3..5].copy_from_slice(&BYTES.to_be_bytes());
    let data = ask(disk, cdb, BYTES.into())?;
    Ok(data.filter(|d| page.is_none_or(|page| d.len() >= 4 && d[1] == page)))
}

fn text(data: &[u8], range: Range<usize>) -> String {
    let bytes = data.get(range).unwrap_or_default();
    String::from_utf8_lossy(bytes).trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_string()
}

fn number(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().map(|b| u64::from_be_bytes(*b))
}

/// Asks a disk what it is.
///
/// # Errors
/// It is not a disk, or is gone.
pub(crate) fn describe(disk: &mut dyn Commands, kind: Kind) -> Result<Described, ProbeError> {
    let refused = |got: String| no_target(got, DISK);
    let about = inquiry(disk, None)?.filter(|d| d.len() >= 36);
    let about = about.ok_or_else(|| refused("a unit that does not say what it is".into()))?;
    // Direct access, or with zones that the host manages.
    let is_zoned = about[0] == 0x14;
    if about[0] != 0 && !is_zoned {
        return Err(refused(format!("a unit of type {:#04x}", about[0])));
    }
    let mut cdb = [0; 16];
    (cdb[0], cdb[1], cdb[13]) = (0x9e, 0x10, 32);
    let capacity = ask(disk, cdb, 32)?.filter(|d| d.len() >= 14);
    let capacity = capacity.ok_or_else(|| refused("a unit without READ CAPACITY(16)".into()))?;
    let last = number(&capacity, 0).unwrap_or(u64::MAX);
    let block_bytes = u32::from_be_bytes([capacity[8], capacity[9], capacity[10], capacity[11]]);
    let exponent = u32::from(capacity[13] & 0x0f);
    if last == u64::MAX || !(512..=65536).contains(&block_bytes) || !block_bytes.is_power_of_two() || exponent > 7 {
        return Err(refused(format!("{last} as last block, of {block_bytes} bytes")));
    }
    let serial = inquiry(disk, Some(0x80))?.map_or(String::new(), |d| text(&d, 4..d.len()));
    let characteristics = inquiry(disk, Some(0xb1))?.filter(|d| d.len() >= 9);
    let rpm = characteristics.as_ref().map_or(0, |d| u16::from_be_bytes([d[4], d[5]]));
    let zones = characteristics.as_ref().map_or(0, |d| d[8] >> 4 & 3);
    let ranges = inquiry(disk, Some(0xb9))?.map_or(Vec::new(), |d| ranges_of(&d, last + 1));
    // Of the header of MODE SENSE(6): DPO and FUA are known.
    let mut sense = [0; 16];
    (sense[0], sense[2], sense[4]) = (0x1a, 0x3f, 255);
    let mode = ask(disk, sense, 255)?;
    Ok(Described {
        kind,
        blocks: last + 1,
        block_bytes,
        physical_bytes: block_bytes << exponent,
        model: format!("{} {}", text(&about, 8..16), text(&about, 16..32)).trim().into(),
        firmware: text(&about, 32..36),
        serial_sha256: if serial.is_empty() { serial } else { hashed(&serial) },
        rotational: match rpm {
            0 => None,
            1 => Some(false),
            _ => Some(true),
        },
        fua: mode.is_some_and(|d| d.get(2).is_some_and(|b| b & 0x10 != 0)),
        queue_depth: None,
        ranges,
        zoned: match (is_zoned, zones) {
            (true, _) => Some("host-managed".into()),
            (false, 1) => Some("host-aware".into()),
            (false, 2) => Some("drive-managed".into()),
            _ => None,
        },
        mounted: false,
        caveats: Vec::new(),
    })
}

/// The ranges of page B9h; none unless they follow each other from the first block to the last one.
fn ranges_of(page: &[u8], blocks: u64) -> Vec<Range<u64>> {
    let length = usize::from(u16::from_be_bytes([page[2], page[3]])) + 4;
    let descriptors = page.get(64..length.min(page.len())).unwrap_or_default();
    let mut end = 0;
    let mut found = Vec::new();
    for descriptor in descriptors.chunks_exact(32) {
        let (first, of) = (number(descriptor, 8), number(descriptor, 16));
        let past = first.zip(of).and_then(|(first, of)| first.checked_add(of));
        match past {
            Some(past) if first == Some(end) && past > end => found.push(end..past),
            _ => return Vec::new(),
        }
        end = past.unwrap_or(0);
    }
    if end == blocks {
        found
    } else {
        Vec::new()
    }
}
