//! serpentine-disk: as serpentine, with cylinders counted from the start of the disk.
//!
//! # Model
//! As serpentine, but odd cylinders of the whole disk are reversed. This is DiskSim's mapping scheme 2.
//! # Source
//! DiskSim 4.0, "LBN-to-PBN mapping scheme" of its layout g1.
//! # Validity
//! No drive is known to use it; DiskSim offers it.

use super::zoned::{HeadOrder, StackOrder, ZonedLayout};
use super::Layout;
use headstack_schema::{NoParameters, Plugin};

/// The registry entry.
pub fn plugin() -> Plugin<dyn Layout> {
    Plugin::<dyn Layout>::new(
        "serpentine-disk",
        "as serpentine, counting cylinders from the disk's start",
        "",
        |NoParameters {}, spec| {
            let order = StackOrder(HeadOrder::SerpentineDisk);
            Ok(Box::new(ZonedLayout::build(spec, order)?))
        },
    )
}
