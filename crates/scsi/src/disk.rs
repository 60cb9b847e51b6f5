//! What is fixed of a disk: its size, what it is called, what the modelled drive has.

use headstack_drive::power::conditions::Condition;
use headstack_drive::zoned::ZoneRules;
use headstack_drive::LimitsSpec;
use headstack_units::Span;
use std::ops::Range;

/// A disk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Disk {
    /// Number of logical blocks, at least one.
    pub blocks: u64,
    /// Logical blocks of a physical sector, a power of two.
    pub sector_blocks: u64,
    /// Revolutions per minute.
    pub rpm: u16,
    /// The name of the model: 16 characters of INQUIRY.
    pub product: String,
    /// The serial number.
    pub serial: String,
    /// The name of the target in which it is.
    pub target: String,
    /// Number of units of that target.
    pub units: u16,
    /// Commands that it holds at once; 0 for no limit.
    pub queue_depth: u32,
    /// Whether the drive has a write cache.
    pub write_cache: bool,
    /// Number of its physical elements, which are heads; 0 if they are not known.
    pub elements: u32,
    /// Whether it can remove elements and be a smaller drive, and take them back.
    pub truncates: bool,
    /// The rules of its zones, if it is host-managed.
    pub zones: Option<ZoneRules>,
    /// The duration limits that commands can name, if the drive has any.
    pub limits: Option<LimitsSpec>,
    /// The parts of its blocks that different actuators serve.
    pub ranges: Vec<Range<u64>>,
    /// Low-power conditions that the drive has, with the timers of its file.
    pub conditions: Vec<(Condition, Option<Span>)>,
}

impl Disk {
    /// A number of 60 bits that differs from disk to disk: it follows from name and serial number.
    pub fn number(&self) -> u64 {
        // FNV-1a.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in self.target.bytes().chain([0]).chain(self.serial.bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash >> 4
    }

    /// The peripheral device type: a disk, or one with zones that its host manages.
    pub fn device_type(&self) -> u8 {
        match self.zones {
            None => 0x00,
            Some(_) => 0x14,
        }
    }

    /// Whether a power condition is there.
    pub fn has(&self, condition: Condition) -> bool {
        self.conditions.iter().any(|(c, _)| *c == condition)
    }
}
