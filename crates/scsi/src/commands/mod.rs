//! The commands of a disk, one family in each file.
//!
//! # Contract
//! [`TABLE`] has one entry for each command. `usage` has the bits of the descriptor block that the command knows; its
//! first byte is the operation code and its length that of the block. A block with another bit set is refused before
//! the family sees it. REPORT SUPPORTED OPERATION CODES lists the entries. To add a command, write its function in
//! the file of its family and its entry in that file's `ENTRIES`.

pub mod cache;
pub mod capacity;
pub mod elements;
pub mod inquiry;
pub mod log;
pub mod mode;
pub mod power;
pub mod report;
pub mod reserve;
pub mod transfer;
pub mod verify;
pub mod zones;

use crate::attention::Nexus;
use crate::cdb::Cdb;
use crate::disk::Disk;
use crate::sense::{Code, Sense};
use crate::status::{Class, Status};
use crate::unit::Unit;
use crate::work::Work;

/// A command with all of its data.
pub struct Call<'a> {
    /// Who sent it.
    pub nexus: Nexus,
    /// The name of the initiator port.
    pub port: &'a str,
    /// Descriptor block.
    pub cdb: &'a Cdb,
    /// Data that came with it.
    pub data: &'a [u8],
}

/// What a command leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// It was carried out.
    Good,
    /// It was carried out, and these are its data.
    Data(Vec<u8>),
    /// It has ended with another status.
    Status(Status),
    /// The drive has to do something.
    Work(Work),
    /// The zones of the drive are asked for something.
    Zones(zones::ZoneCall),
    /// The heads of the drive are asked for something.
    Elements(elements::ElementCall),
}

/// A command.
pub struct Entry {
    /// Its name in the standard.
    pub name: &'static str,
    /// Its service action, if its operation code has several.
    pub action: Option<u16>,
    /// The bits of its descriptor block that mean something.
    pub usage: &'static [u8],
    /// Seconds that an initiator should wait for it.
    pub timeout_s: u32,
    /// What reservations do to it.
    pub class: Class,
    /// Which mode page has the duration limits that it can name: 1 for T2A, 2 for T2B, 0 for none (CDLP).
    pub limit_page: u8,
    /// Whether a disk has it.
    pub has: fn(&Disk) -> bool,
    /// Bytes of data that it takes.
    ///
    /// # Errors
    /// Why it is refused before it gets any data.
    pub data_out: fn(&Unit, &Cdb) -> Result<u32, Sense>,
    /// Carries it out.
    ///
    /// # Errors
    /// Why it is refused.
    pub run: fn(&mut Unit, &Call) -> Result<Reply, Sense>,
}

impl Entry {
    /// A command that takes no data.
    const fn new(
        name: &'static str,
        usage: &'static [u8],
        class: Class,
        run: fn(&mut Unit, &Call) -> Result<Reply, Sense>,
    ) -> Entry {
        Entry {
            name,
            action: None,
            usage,
            timeout_s: 10,
            class,
            limit_page: 0,
            has: |_| true,
            data_out: |_, _| Ok(0),
            run,
        }
    }

    const fn action(mut self, action: u16) -> Entry {
        self.action = Some(action);
        self
    }

    const fn takes(mut self, data_out: fn(&Unit, &Cdb) -> Result<u32, Sense>) -> Entry {
        self.data_out = data_out;
        self
    }

    const fn limited(mut self, page: u8) -> Entry {
        self.limit_page = page;
        self
    }

    const fn seconds(mut self, seconds: u32) -> Entry {
        self.timeout_s = seconds;
        self
    }

    const fn only(mut self, has: fn(&Disk) -> bool) -> Entry {
        self.has = has;
        self
    }

    /// Operation code.
    pub fn opcode(&self) -> u8 {
        self.usage[0]
    }

    /// Refuses a bit that the command does not know.
    fn check(&self, cdb: &Cdb) -> Result<(), Sense> {
        for (i, known) in self.usage.iter().enumerate().skip(1) {
            let unknown = cdb[i] & !known;
            if unknown != 0 {
                return Err(Sense::in_cdb(i as u16, 7 - unknown.leading_zeros() as u8));
            }
        }
        Ok(())
    }
}

/// All commands, in lists of one family each.
pub const TABLE: [&[Entry]; 12] = [
    inquiry::ENTRIES,
    capacity::ENTRIES,
    transfer::ENTRIES,
    verify::ENTRIES,
    cache::ENTRIES,
    mode::ENTRIES,
    log::ENTRIES,
    power::ENTRIES,
    report::ENTRIES,
    reserve::ENTRIES,
    zones::ENTRIES,
    elements::ENTRIES,
];

/// Commands of a disk, in order of the table.
pub fn of(disk: &Disk) -> impl Iterator<Item = &'static Entry> + '_ {
    let all = TABLE.iter().flat_map(|family| family.iter());
    all.filter(|entry| (entry.has)(disk))
}

/// Service action of a descriptor block.
fn action_of(cdb: &Cdb) -> u16 {
    match cdb[0] {
        0x7f => u16::from_be_bytes([cdb[8], cdb[9]]),
        _ => u16::from(cdb[1] & 0x1f),
    }
}

/// The entry of a command.
///
/// # Errors
/// The disk has no such command, or a bit is set that it does not know.
pub fn find(disk: &Disk, cdb: &Cdb) -> Result<&'static Entry, Sense> {
    let mut known = false;
    for entry in of(disk).filter(|e| e.opcode() == cdb[0]) {
        known = true;
        if entry.action.is_none_or(|action| action == action_of(cdb)) {
            entry.check(cdb)?;
            return Ok(entry);
        }
    }
    Err(match (known, cdb[0]) {
        (false, _) => Sense::illegal(Code::INVALID_OPERATION_CODE),
        (true, 0x7f) => Sense::in_cdb(8, 7),
        (true, _) => Sense::in_cdb(1, 4),
    })
}

/// Cuts data to the length that the initiator has room for.
fn cut(mut data: Vec<u8>, length: usize) -> Reply {
    data.truncate(length);
    Reply::Data(data)
}
