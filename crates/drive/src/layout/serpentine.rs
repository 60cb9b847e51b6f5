//! serpentine: as cylinder-major, heads reversed in odd cylinders of each zone.
//!
//! # Model
//! As cylinder-major, but in odd cylinders of the zone (counted from its start) the heads are used in reverse
//! order. So the last track of a cylinder and the first track of the next one have the same head. This is
//! DiskSim's mapping scheme 1.
//! # Source
//! DiskSim 4.0, "LBN-to-PBN mapping scheme" of its layout g1.
//! # Validity
//! Quantum Atlas 10K and its contemporaries.

use super::zoned::{HeadOrder, StackOrder, ZonedLayout};
use headstack_schema::Table;

#[derive(Table)]
#[table(
    model = "as cylinder-major, heads reversed in odd cylinders of each zone",
    build = |Serpentine, spec| Ok(Box::new(ZonedLayout::build(spec, StackOrder(HeadOrder::SerpentineZone))?))
)]
pub(super) struct Serpentine;
