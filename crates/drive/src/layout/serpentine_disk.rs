//! serpentine-disk: as serpentine, with cylinders counted from the start of the disk.
//!
//! # Model
//! As serpentine, but odd cylinders of the whole disk are reversed. This is DiskSim's mapping scheme 2.
//! # Source
//! DiskSim 4.0, "LBN-to-PBN mapping scheme" of its layout g1.
//! # Validity
//! No drive is known to use it; DiskSim offers it.

use super::zoned::{HeadOrder, StackOrder, ZonedLayout};
use super::{no_parameters, taken, Layout, NoParameters};
use crate::plugin::Plugin;
use crate::spec::GeometrySpec;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Layout, GeometrySpec> = Plugin {
    name: "serpentine-disk",
    summary: "as serpentine, counting cylinders from the disk's start",
    example: "",
    parameters: &taken::<NoParameters>,
    build: &|spec| {
        no_parameters(spec)?;
        Ok(Box::new(ZonedLayout::build(
            spec,
            StackOrder(HeadOrder::SerpentineDisk),
        )?))
    },
};
