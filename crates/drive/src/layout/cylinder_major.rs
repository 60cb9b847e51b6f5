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
use super::{no_parameters, taken, Layout, NoParameters};
use crate::plugin::Plugin;
use crate::spec::GeometrySpec;

/// The registry entry.
pub const PLUGIN: Plugin<dyn Layout, GeometrySpec> = Plugin {
    name: "cylinder-major",
    summary: "all heads of a cylinder, then the next cylinder",
    example: "",
    parameters: &taken::<NoParameters>,
    build: &|spec| {
        no_parameters(spec)?;
        Ok(Box::new(ZonedLayout::build(
            spec,
            StackOrder(HeadOrder::CylinderMajor),
        )?))
    },
};
