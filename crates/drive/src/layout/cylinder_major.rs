//! cylinder-major: all heads of a cylinder, then the next cylinder.
//!
//! # Model
//! Address order: the sectors of a track, the heads of a cylinder, the cylinders inward. This is DiskSim's
//! mapping scheme 0.
//! # Source
//! DiskSim 4.0, "LBN-to-PBN mapping scheme" of its layout g1.
//! # Validity
//! Drives up to about 2000; later ones are serpentine or banded.

use super::zoned::{HeadOrder, StackOrder, ZonedLayout};
use super::Layout;
use headstack_schema::{NoParameters, Plugin};

/// The registry entry.
pub fn plugin() -> Plugin<dyn Layout> {
    Plugin::<dyn Layout>::new(
        "cylinder-major",
        "all heads of a cylinder, then the next cylinder",
        "",
        |NoParameters {}, spec| {
            let order = StackOrder(HeadOrder::CylinderMajor);
            Ok(Box::new(ZonedLayout::build(spec, order)?))
        },
    )
}
