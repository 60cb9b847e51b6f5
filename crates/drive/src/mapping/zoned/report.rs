//! REPORT ZONES: what a host learns of the zones.

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
pub struct ZoneDescriptor {
    /// The type.
    pub zone_type: ZoneType,
    /// The condition.
    pub condition: ZoneCondition,
    /// Its first block.
    pub start: Lba,
    /// Number of its blocks.
    pub blocks: u64,
    /// Where the next write has to begin; `None` in conditions in which the standard calls it invalid.
    pub write_pointer: Option<Lba>,
}

impl Zones {
    /// The zones from the one that holds `from` on, in order of address; with `condition`, those that have it.
    pub fn report(
        &self,
        from: Lba,
        condition: Option<ZoneCondition>,
    ) -> impl Iterator<Item = ZoneDescriptor> + '_ {
        let first = self.index(from.0).min(self.zones.len());
        let all = (first..self.zones.len()).map(|index| self.describe(index));
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
