//! The mapping of addresses to places: where on the medium the sectors of a host address lie.
//!
//! # Model
//! A drive's buffer, its queue and its host count sectors by address. The mechanics know places. In
//! between stands the mapping of the unit. With `identity` an address lies where the layout puts it, for
//! ever. A mapping is asked when a service begins, so that a write may choose its place then.
//!
//! A unit has one mapping for all its assemblies. Each question is one branch on the kind of mapping,
//! which a processor predicts; no virtual call is added.

use crate::layout::Place;
use crate::mechanics::Mechanics;

/// The mapping of a unit.
#[derive(Debug, Default)]
pub(crate) enum Mapping {
    /// Every address has a fixed place: that of the layout.
    #[default]
    Identity,
}

impl Mapping {
    /// Number of physical sectors that have an address.
    #[inline]
    pub fn capacity(&self, m: &Mechanics) -> u64 {
        match self {
            Mapping::Identity => m.layout.capacity(),
        }
    }

    /// Writes the present place of the address `sector` into `place`. False, and nothing written, past the
    /// end. [`Place::run`] and [`Place::before`] count sectors with consecutive addresses.
    #[inline(always)]
    pub fn locate_into(&self, m: &Mechanics, sector: u64, place: &mut Place) -> bool {
        match self {
            Mapping::Identity => m.layout.locate_into(sector, place),
        }
    }

    /// The present place of the address `sector`; `None` past the end.
    #[inline(always)]
    pub fn locate(&self, m: &Mechanics, sector: u64) -> Option<Place> {
        let mut place = Place::default();
        self.locate_into(m, sector, &mut place).then_some(place)
    }

    /// First and last of the addresses that follow each other on the track of the address `sector` and
    /// include it. It must be below the capacity.
    #[inline]
    pub fn track_bounds(&self, m: &Mechanics, sector: u64) -> (u64, u64) {
        match self {
            Mapping::Identity => m.layout.track_bounds(sector),
        }
    }
}
