//! REPORT ZONES: what a host can learn about the zones.

use super::{ZoneCondition, Zones};
use headstack_units::Lba;

/// The type of a zone. The numbers are those of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ZoneType {
    /// Blocks are written in any order.
    Conventional = 0x1,
    /// A write begins at the write pointer.
    SequentialWriteRequired = 0x2,
}

/// A zone as REPORT ZONES describes it. Addresses and sizes are in 512-byte blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub struct ZoneDescriptor {
    pub zone_type: ZoneType,
    pub condition: ZoneCondition,
    pub start: Lba,
    pub blocks: u64,
    /// Where the next write has to begin; `None` in conditions in which the standard calls it invalid.
    pub write_pointer: Option<Lba>,
}

/// Which zones REPORT ZONES lists. The numbers are those of the standard's field REPORTING OPTIONS. The options for
/// zones that recommend a reset, or were not written in sequence, are left out: they would list no zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ReportingOptions {
    /// All zones.
    All = 0x00,
    /// Those that are empty.
    Empty = 0x01,
    /// Those that are implicitly opened.
    ImplicitlyOpened = 0x02,
    /// Those that are explicitly opened.
    ExplicitlyOpened = 0x03,
    /// Those that are closed.
    Closed = 0x04,
    /// Those that are full.
    Full = 0x05,
    /// Those that can only be read.
    ReadOnly = 0x06,
    /// Those that are offline.
    Offline = 0x07,
    /// Those without a write pointer: the conventional ones.
    NotWritePointer = 0x3F,
}

impl ReportingOptions {
    /// The condition that these zones have; `None`: any.
    fn condition(self) -> Option<ZoneCondition> {
        Some(match self {
            ReportingOptions::All => return None,
            ReportingOptions::Empty => ZoneCondition::Empty,
            ReportingOptions::ImplicitlyOpened => ZoneCondition::ImplicitlyOpened,
            ReportingOptions::ExplicitlyOpened => ZoneCondition::ExplicitlyOpened,
            ReportingOptions::Closed => ZoneCondition::Closed,
            ReportingOptions::Full => ZoneCondition::Full,
            ReportingOptions::ReadOnly => ZoneCondition::ReadOnly,
            ReportingOptions::Offline => ZoneCondition::Offline,
            ReportingOptions::NotWritePointer => ZoneCondition::NotWritePointer,
        })
    }
}

impl Zones {
    /// The zones that match `options`, in order of address, starting with the zone that holds `from`. Past the end of
    /// the drive there are none.
    pub fn report(&self, from: Lba, options: ReportingOptions) -> impl Iterator<Item = ZoneDescriptor> + '_ {
        let first = self.index(from.0).min(self.zones.len());
        let all = (first..self.zones.len()).map(|index| self.describe(index));
        let condition = options.condition();
        all.filter(move |zone| condition.is_none_or(|c| zone.condition == c))
    }

    fn describe(&self, index: usize) -> ZoneDescriptor {
        let zone = &self.zones[index];
        let start = self.start(index);
        ZoneDescriptor {
            zone_type: match self.is_conventional(index) {
                true => ZoneType::Conventional,
                false => ZoneType::SequentialWriteRequired,
            },
            condition: zone.condition,
            start: Lba(start),
            blocks: self.length(index),
            write_pointer: match zone.condition {
                ZoneCondition::Empty
                | ZoneCondition::ImplicitlyOpened
                | ZoneCondition::ExplicitlyOpened
                | ZoneCondition::Closed => Some(Lba(start + zone.written)),
                _ => None,
            },
        }
    }
}
