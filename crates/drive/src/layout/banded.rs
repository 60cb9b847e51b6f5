//! Banded: a band of cylinders on one surface, then the same band on the next surface.
//!
//! # Model
//! Address order: the sectors of a track; the tracks of a band on one surface (inward on even heads, outward
//! on odd ones, so that a head switch needs no long seek); the heads; the bands inward. Neighbouring tracks
//! of a surface are offset by the cylinder skew, successive surfaces by the track skew.
//! # Source
//! Krevat, Tucek and Ganger, "Disks are like snowflakes", CMU-PDL-11-102, section 4: a head switch about
//! every 120 MB.
//! # Validity
//! Drives since about 2005, whose heads have different densities. The direction on odd heads differs between
//! makers.

use super::zoned::{BandOrder, ZonedLayout};
use headstack_schema::Table;

#[derive(Table)]
#[table(
    model = "a band of cylinders on one surface, then on the next surface",
    example = "band_cylinders = 4",
    build = |own, spec| {
        // A band wider than the disk is limited to its width; this also keeps products within 64 bits.
        let width = own.band_cylinders.min(spec.cylinders.max(1));
        Ok(Box::new(ZonedLayout::build(spec, BandOrder { width })?))
    }
)]
pub(super) struct Banded {
    /// Cylinders per band; the last band of a zone may be narrower.
    #[param(range = 1..=u32::MAX)]
    band_cylinders: u32,
}
