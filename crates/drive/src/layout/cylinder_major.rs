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
use headstack_schema::Table;

#[derive(Table)]
#[table(
    model = "all heads of a cylinder, then the next cylinder",
    build = |CylinderMajor, spec| Ok(Box::new(ZonedLayout::build(spec, StackOrder(HeadOrder::CylinderMajor))?))
)]
pub(super) struct CylinderMajor;
