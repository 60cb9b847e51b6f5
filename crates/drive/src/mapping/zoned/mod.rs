//! Host-managed zones: the rules for commands to a drive with shingled tracks.
//!
//! # Model
//! The addresses are divided into zones. The first ones are *conventional*: blocks are written in any order.
//! The others are *sequential write required*: each has a write pointer, and a write begins there. The
//! conditions of a zone, the commands that change them and the errors are those of the standard ([`Sense`]).
//!
//! This is a state machine without mechanics. The drive checks each command with it when the command arrives, as a real
//! drive does. The write pointer advances when a write is accepted, so consecutive writes may wait in the queue
//! together. The firmware's scheduler may then serve them in another order.
//!
//! If a zone must be opened when no more may be open, the zone that was implicitly opened longest ago is closed. The
//! standard leaves this choice to the drive.
//! # Source
//! INCITS 536-2016 (ZBC) and INCITS 537-2016 (ZAC). Where they leave a choice, such as the order of the checks, the
//! model does what Linux's `scsi_debug` and the tests of `libzbc` do.
//! # Validity
//! Addresses have the places of the layout. The guards between zones take no capacity.

mod parameters;
mod report;

pub use crate::drive::ZoneRules;
pub use crate::sense::Sense;
pub(crate) use parameters::read;
pub use parameters::Initial;
#[doc(hidden)]
pub use parameters::Zoned;
pub use report::{ReportingOptions, ZoneDescriptor, ZoneType};

use crate::command::{Command, DriveRequest};
use headstack_engine::SpecError;
use headstack_units::Lba;
use std::collections::VecDeque;
use std::ops::Range;

/// The condition of a zone. The numbers are those of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ZoneCondition {
    /// A conventional zone: it has no write pointer.
    NotWritePointer = 0x0,
    /// Nothing was written since the last reset.
    Empty = 0x1,
    /// A write has opened it.
    ImplicitlyOpened = 0x2,
    /// OPEN ZONE has opened it.
    ExplicitlyOpened = 0x3,
    /// Written in part, and not open.
    Closed = 0x4,
    /// It has failed: it can be read but no longer written.
    ReadOnly = 0xD,
    /// Written to its end, or finished.
    Full = 0xE,
    /// It has failed: it can no longer be read or written.
    Offline = 0xF,
}

/// A command that changes the condition of zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZoneAction {
    /// OPEN ZONE. Of all zones: those that are closed.
    Open,
    /// CLOSE ZONE. Of all zones: those that are open.
    Close,
    /// FINISH ZONE: the write pointer moves to the end. Of all zones: those that are open or closed.
    Finish,
    /// RESET WRITE POINTER: the zone becomes empty. Of all zones: all that have a write pointer.
    Reset,
}

/// The zones to which a command applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZoneId {
    /// The zone that begins with this 512-byte block.
    At(Lba),
    /// All zones (the bit ALL).
    All,
}

/// A zone with a write pointer, or a conventional one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Zone {
    condition: ZoneCondition,
    /// Blocks before the write pointer.
    written: u64,
}

/// The zones of a drive. All addresses and sizes are in 512-byte blocks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct Zones {
    /// Size of a zone; the last one may be smaller.
    zone_blocks: u64,
    capacity: u64,
    /// Blocks of a physical sector.
    sector_blocks: u64,
    /// The largest number of zones that may be open; `usize::MAX`: no limit.
    max_open: usize,
    /// Whether reads may cross zones and pass write pointers (URSWRZ).
    unrestricted_reads: bool,
    zones: Box<[Zone]>,
    /// The implicitly opened zones, in the order in which they were opened.
    implicit: VecDeque<u32>,
    /// Number of explicitly opened zones.
    explicit: usize,
}

impl Zones {
    /// The zones of a drive of `capacity` blocks with physical sectors of `sector_blocks`.
    ///
    /// # Errors
    /// More conventional zones than the drive has.
    pub fn new(p: &Zoned, capacity: u64, sector_blocks: u64) -> Result<Zones, SpecError> {
        let zone_blocks = p.zone_size.0 / 512;
        let count = capacity.div_ceil(zone_blocks);
        let conventional = p.conventional(count)?;
        let initial = match p.initial {
            Initial::Empty => ZoneCondition::Empty,
            Initial::Full => ZoneCondition::Full,
        };
        let zone = |index: u64| {
            let condition = if index < conventional { ZoneCondition::NotWritePointer } else { initial };
            Zone { condition, written: 0 }
        };
        let mut zones = Zones {
            zone_blocks,
            capacity,
            sector_blocks,
            max_open: match p.max_open_zones {
                0 => usize::MAX,
                n => n as usize,
            },
            unrestricted_reads: p.unrestricted_reads,
            zones: (0..count).map(zone).collect(),
            implicit: VecDeque::new(),
            explicit: 0,
        };
        for index in 0..zones.zones.len() {
            if zones.zones[index].condition == ZoneCondition::Full {
                zones.zones[index].written = zones.length(index);
            }
        }
        Ok(zones)
    }

    /// What its host has to know.
    pub fn rules(&self) -> ZoneRules {
        ZoneRules { most_open: u32::try_from(self.max_open).ok(), unrestricted_reads: self.unrestricted_reads }
    }

    /// Checks a command that arrives, and advances the write pointer for a write. The drive itself checks commands that
    /// are empty or reach past the end.
    ///
    /// # Errors
    /// The rule that the command breaks. Nothing has changed then.
    #[inline]
    pub fn admit(&mut self, request: &DriveRequest) -> Result<(), Sense> {
        let (first, blocks) = (request.lba.0, u64::from(request.blocks));
        let past = match first.checked_add(blocks) {
            Some(past) if blocks > 0 && past <= self.capacity => past,
            _ => return Ok(()),
        };
        match request.command {
            Command::Read | Command::ReadThrough => self.read(first, past),
            Command::Write | Command::WriteThrough => self.write(first, past),
            Command::Flush => Ok(()),
        }
    }

    fn index(&self, block: u64) -> usize {
        (block / self.zone_blocks) as usize
    }

    fn start(&self, index: usize) -> u64 {
        index as u64 * self.zone_blocks
    }

    fn length(&self, index: usize) -> u64 {
        self.zone_blocks.min(self.capacity - self.start(index))
    }

    fn is_conventional(&self, index: usize) -> bool {
        self.zones[index].condition == ZoneCondition::NotWritePointer
    }

    /// The zones that these blocks touch: the first and the last one.
    fn touched(&self, first: u64, past: u64) -> (usize, usize) {
        (self.index(first), self.index(past - 1))
    }

    fn any_is(&self, (a, b): (usize, usize), condition: ZoneCondition) -> bool {
        self.zones[a..=b].iter().any(|z| z.condition == condition)
    }

    fn read(&self, first: u64, past: u64) -> Result<(), Sense> {
        let (a, b) = self.touched(first, past);
        if self.any_is((a, b), ZoneCondition::Offline) {
            return Err(Sense::ZoneIsOffline);
        }
        if self.is_conventional(a) != self.is_conventional(b) {
            return Err(Sense::AttemptToReadInvalidData);
        }
        if self.is_conventional(a) || self.unrestricted_reads {
            return Ok(());
        }
        if a != b {
            return Err(Sense::ReadBoundaryViolation);
        }
        let zone = &self.zones[a];
        let all = matches!(zone.condition, ZoneCondition::Full | ZoneCondition::ReadOnly);
        if all || past <= self.start(a) + zone.written {
            return Ok(());
        }
        Err(Sense::AttemptToReadInvalidData)
    }

    fn write(&mut self, first: u64, past: u64) -> Result<(), Sense> {
        let (a, b) = self.touched(first, past);
        if self.any_is((a, b), ZoneCondition::Offline) {
            return Err(Sense::ZoneIsOffline);
        }
        if self.any_is((a, b), ZoneCondition::ReadOnly) {
            return Err(Sense::ZoneIsReadOnly);
        }
        if self.is_conventional(a) {
            return if self.is_conventional(b) { Ok(()) } else { Err(Sense::WriteBoundaryViolation) };
        }
        if a != b {
            return Err(Sense::WriteBoundaryViolation);
        }
        let zone = self.zones[a];
        if zone.condition == ZoneCondition::Full {
            return Err(Sense::InvalidFieldInCdb);
        }
        let whole = past % self.sector_blocks == 0 || past == self.capacity;
        if first != self.start(a) + zone.written || !whole {
            return Err(Sense::UnalignedWriteCommand);
        }
        if let ZoneCondition::Empty | ZoneCondition::Closed = zone.condition {
            self.make_room()?;
            self.zones[a].condition = ZoneCondition::ImplicitlyOpened;
            self.implicit.push_back(a as u32);
        }
        self.zones[a].written += past - first;
        if self.zones[a].written == self.length(a) {
            self.change(a, ZoneCondition::Full);
        }
        Ok(())
    }

    /// Closes an implicitly opened zone if no more zones may be open.
    fn make_room(&mut self) -> Result<(), Sense> {
        if self.implicit.len() + self.explicit < self.max_open {
            return Ok(());
        }
        let oldest = *self.implicit.front().ok_or(Sense::InsufficientZoneResources)?;
        self.change(oldest as usize, ZoneCondition::Closed);
        Ok(())
    }

    /// Gives a zone another condition, and no longer counts it as open in its old one.
    fn change(&mut self, index: usize, to: ZoneCondition) {
        match self.zones[index].condition {
            ZoneCondition::ImplicitlyOpened => self.implicit.retain(|i| *i as usize != index),
            ZoneCondition::ExplicitlyOpened => self.explicit -= 1,
            _ => {}
        }
        self.zones[index].condition = to;
    }

    /// Carries out a command that changes conditions.
    ///
    /// # Errors
    /// The rule that the command breaks. Nothing has changed then.
    pub fn manage(&mut self, action: ZoneAction, id: ZoneId) -> Result<(), Sense> {
        match id {
            ZoneId::At(lba) => {
                let index = self.named(lba)?;
                self.manage_one(action, index)
            }
            ZoneId::All => self.manage_all(action),
        }
    }

    /// The zone with a write pointer that begins at `lba`.
    fn named(&self, lba: Lba) -> Result<usize, Sense> {
        let index = self.index(lba.0);
        if lba.0 >= self.capacity || self.start(index) != lba.0 || self.is_conventional(index) {
            return Err(Sense::InvalidFieldInCdb);
        }
        match self.zones[index].condition {
            ZoneCondition::Offline => Err(Sense::ZoneIsOffline),
            ZoneCondition::ReadOnly => Err(Sense::ZoneIsReadOnly),
            _ => Ok(index),
        }
    }

    fn manage_one(&mut self, action: ZoneAction, index: usize) -> Result<(), Sense> {
        use ZoneCondition::{Closed, Empty, ExplicitlyOpened, Full, ImplicitlyOpened};
        let zone = self.zones[index];
        let is_open = matches!(zone.condition, ImplicitlyOpened | ExplicitlyOpened);
        match action {
            ZoneAction::Open => {
                if let Empty | Closed = zone.condition {
                    self.make_room()?;
                }
                if let Empty | Closed | ImplicitlyOpened = zone.condition {
                    self.change(index, ExplicitlyOpened);
                    self.explicit += 1;
                }
            }
            ZoneAction::Close if is_open => {
                let to = if zone.written == 0 { Empty } else { Closed };
                self.change(index, to);
            }
            ZoneAction::Close => {}
            ZoneAction::Finish => {
                self.change(index, Full);
                self.zones[index].written = self.length(index);
            }
            ZoneAction::Reset => {
                self.change(index, Empty);
                self.zones[index].written = 0;
            }
        }
        Ok(())
    }

    fn manage_all(&mut self, action: ZoneAction) -> Result<(), Sense> {
        use ZoneCondition::{Closed, Empty, ExplicitlyOpened, Full, ImplicitlyOpened};
        let meant = |zone: &Zone| match action {
            ZoneAction::Open => zone.condition == Closed,
            ZoneAction::Close => matches!(zone.condition, ImplicitlyOpened | ExplicitlyOpened),
            ZoneAction::Finish => {
                matches!(zone.condition, ImplicitlyOpened | ExplicitlyOpened | Closed)
            }
            ZoneAction::Reset => matches!(zone.condition, Empty | ImplicitlyOpened | ExplicitlyOpened | Closed | Full),
        };
        let zones = self.zones.iter().enumerate();
        let which: Vec<usize> = zones.filter(|(_, z)| meant(z)).map(|(i, _)| i).collect();
        if action == ZoneAction::Open && which.len() > self.max_open - self.explicit {
            return Err(Sense::InsufficientZoneResources);
        }
        which.into_iter().try_for_each(|i| self.manage_one(action, i))
    }

    /// Takes over the zones of an equal drive as they are after a loss of power: what was open is closed, and a write pointer
    /// stands at the first block that was lost. `lost` names that of a range, if there is one.
    pub fn recover(&mut self, before: &Zones, lost: &mut dyn FnMut(Range<u64>) -> Option<u64>) {
        self.implicit.clear();
        self.explicit = 0;
        for index in 0..self.zones.len().min(before.zones.len()) {
            let (start, mut zone) = (self.start(index), before.zones[index]);
            let has_pointer = !matches!(
                zone.condition,
                ZoneCondition::NotWritePointer | ZoneCondition::ReadOnly | ZoneCondition::Offline
            );
            if has_pointer {
                if let Some(first) = lost(start..start + zone.written) {
                    zone.written = (first - start) / self.sector_blocks * self.sector_blocks;
                }
                zone.condition = match zone.written {
                    0 => ZoneCondition::Empty,
                    n if n == self.length(index) => ZoneCondition::Full,
                    _ => ZoneCondition::Closed,
                };
            }
            self.zones[index] = zone;
        }
    }

    /// A zone fails: `to` is [`ZoneCondition::ReadOnly`] or [`ZoneCondition::Offline`]. There is no way back.
    ///
    /// # Errors
    /// Another condition, no zone with a write pointer that begins there, and one that is offline.
    pub fn fail(&mut self, lba: Lba, to: ZoneCondition) -> Result<(), Sense> {
        let index = match self.named(lba) {
            Err(Sense::ZoneIsReadOnly) => self.index(lba.0),
            other => other?,
        };
        if !matches!(to, ZoneCondition::ReadOnly | ZoneCondition::Offline) {
            return Err(Sense::InvalidFieldInCdb);
        }
        self.change(index, to);
        Ok(())
    }
}
