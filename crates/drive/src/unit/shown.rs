//! What a unit shows of its state, for pictures.

use super::ServiceUnit;
use crate::drive::{ArmShown, Buffered, HeadSetShown};
use crate::layout::Place;

impl ServiceUnit {
    /// The assemblies of this unit, which is number `unit` of its drive.
    pub fn arms_shown(&self, unit: u32) -> Vec<ArmShown> {
        let mut head_sets = self.server.arms.head_sets.iter();
        let arms = self.server.arms.assemblies.iter().map(|a| {
            let sets = a.mechanism.arms.iter().zip(head_sets.by_ref());
            ArmShown {
                unit,
                track: a.mechanism.track(),
                head_sets: sets
                    .map(|(arm, set)| HeadSetShown { angle: arm.angle, offset: set.offset, surfaces: set.surfaces })
                    .collect(),
            }
        });
        arms.collect()
    }

    /// The present place of a 512-byte block of the unit, and the number of blocks of a sector.
    pub fn locate(&self, block: u64) -> Option<(Place, u32)> {
        let blocks = self.size.blocks();
        let place = self.server.mapping.locate(&self.server.mechanics, block / blocks)?;
        Some((place, blocks as u32))
    }

    /// Adds what the buffer holds.
    pub fn add_buffered(&self, sum: &mut Buffered) {
        let buffer = &self.server.buffer;
        let (unwritten, limit) = buffer.unwritten.held();
        sum.unwritten += unwritten;
        sum.limit += limit;
        let segments = buffer.segments.list.iter();
        let sectors: u64 = segments.map(|s| s.end.saturating_sub(s.start)).sum();
        sum.for_reads += sectors * self.size.blocks();
    }
}
