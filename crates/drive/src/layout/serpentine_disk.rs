//! serpentine-disk: as serpentine, with cylinders counted from the start of the disk.
//!
//! # Model
//! As serpentine, but odd cylinders of the whole disk are reversed. This is DiskSim's mapping scheme 2.
//! # Source
//! DiskSim 4.0, "LBN-to-PBN mapping scheme" of its layout g1.
//! # Validity
//! No drive is known to use it; DiskSim offers it.

use super::zoned::{HeadOrder, StackOrder, ZonedLayout};
use headstack_schema::Table;

#[derive(Table)]
#[table(
    model = "as serpentine, counting cylinders from the disk's start",
    build = |SerpentineDisk, spec| Ok(Box::new(ZonedLayout::build(spec, StackOrder(HeadOrder::SerpentineDisk))?))
)]
pub(super) struct SerpentineDisk;
