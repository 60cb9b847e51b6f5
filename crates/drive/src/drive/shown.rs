//! What a drive shows of its state, for pictures: its arms, its spindles, its buffer, and places of blocks.

use super::Drive;
use crate::layout::Place;
use crate::phase::Track;
use crate::unit::ServiceUnit;
use headstack_units::{Lba, Rotation, Time, Turn};

/// An arm assembly.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmShown {
    /// Its unit: assemblies of a unit serve the same queue. Each stack has units of its own.
    pub unit: u32,
    /// Its head sets; they move together.
    pub head_sets: Vec<HeadSetShown>,
    /// The track of the head that was used last.
    pub track: Track,
}

/// A head set of an assembly: one head for each surface that it serves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeadSetShown {
    /// Angle around the platter.
    pub angle: Turn,
    /// Distance in radial positions inward from the assembly's first head set.
    pub offset: u32,
    /// Bit `h` is set if it serves surface `h` of its unit.
    pub surfaces: u64,
}

/// A unit: one queue and the assemblies that serve it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitShown {
    /// Its stack of platters; units of a stack turn together.
    pub stack: u32,
    /// Number of radial positions.
    pub positions: u32,
    /// Its spindle.
    pub rotation: Rotation,
}

/// What the buffer of a drive holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Buffered {
    /// 512-byte blocks that have been written by the host and are not on the medium.
    pub unwritten: u64,
    /// Most of them that it holds.
    pub limit: u64,
    /// 512-byte blocks in segments for reads.
    pub for_reads: u64,
}

impl Drive {
    /// All arm assemblies, in the order of their numbers in phases.
    pub fn arms_shown(&self) -> Vec<ArmShown> {
        let of = |(unit, u): (u32, &ServiceUnit)| u.arms_shown(unit);
        (0..).zip(&self.units).flat_map(of).collect()
    }

    /// All units.
    pub fn units_shown(&self) -> Vec<UnitShown> {
        let per_stack = self.design.addresses.shares as usize;
        let of = |(number, unit): (usize, &ServiceUnit)| UnitShown {
            stack: (number / per_stack) as u32,
            positions: unit.server.mechanics.seek.positions(),
            rotation: unit.server.mechanics.rotation,
        };
        self.units.iter().enumerate().map(of).collect()
    }

    /// Unit and present place of a block, with the number of 512-byte blocks of a sector; `None` past the end.
    pub fn locate(&self, block: Lba) -> Option<(u32, Place, u32)> {
        if block.0 >= self.design.capacity_blocks() {
            return None;
        }
        let (unit, at) = match self.units.len() {
            1 => (0, block.0),
            _ => {
                let (unit, at, _) = self.design.addresses.locate(block.0);
                (unit, at)
            }
        };
        let (place, blocks) = self.units[unit].locate(at)?;
        Some((unit as u32, place, blocks))
    }

    /// Whether a write gets its place only when its service begins.
    pub fn moves_writes(&self) -> bool {
        self.units.iter().any(|u| u.server.mapping.moves_writes())
    }

    /// From now on all commands are served by the code for all units. Returns the kind of each unit.
    #[doc(hidden)]
    pub fn serve_generally(&mut self) -> Vec<u8> {
        self.units.iter_mut().map(ServiceUnit::serve_generally).collect()
    }

    /// When choices at `at` expect that the first unit's read-ahead has stopped, and when it has if it is stopped.
    #[doc(hidden)]
    pub fn stops_read_ahead(&mut self, at: Time) -> (Time, Time) {
        self.units[0].stops_read_ahead(at)
    }

    /// What the buffer holds, as of the last [`Drive::energy`] or [`Drive::tell_phases`].
    pub fn buffered(&self) -> Buffered {
        let mut sum = Buffered::default();
        self.units.iter().for_each(|u| u.add_buffered(&mut sum));
        sum
    }
}
