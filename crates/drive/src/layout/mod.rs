//! Layouts: the mapping of addresses to places on the platters.
//!
//! # Contract
//! - `locate` is a bijection between addresses below `capacity` and usable sectors; `address_at` is its
//!   inverse.
//! - Within a run, addresses are contiguous under the head: sector `i` of the run begins `i` sector angles
//!   after the first.
//! - The track bounds of an address contain it.
//! - Tracks of a surface differ in their radial position ([`Place::cylinder`]). All positions are below the
//!   cylinders of the geometry times `steps_per_cylinder`.
//!
//! A layout's own parameters are keys of `[geometry]`. The layout's file reads them into a type and refuses
//! unknown keys.
//!
//! To add one: write `crates/drive/src/layout/NAME.rs` with a `PLUGIN`, add `NAME` to the list. A program adds its own
//! in [`Models`](crate::Models).

use crate::plugin::{self, fill, find, plugins, Plugin};
use crate::spec::{GeometrySpec, Params};
use headstack_engine::describe::{from_rest, from_value, misspelt};
use headstack_engine::SpecError;
use headstack_units::Turn;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod shape;
#[cfg(test)]
mod tests;
mod zoned;

/// The place of a sector, and how many sectors follow it on the same track without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Place {
    /// Radial position of the track, 0 outermost: its cylinder. Layouts whose surfaces differ in the number of
    /// tracks count finer steps ([`Layout::steps_per_cylinder`]). Two tracks of a surface never have the same.
    pub cylinder: u32,
    /// Head (surface).
    pub head: u16,
    /// Index of the zone, in order of address.
    pub zone: u16,
    /// Physical sector on its track.
    pub sector: u32,
    /// Physical sectors on its track.
    pub sectors_per_track: u32,
    /// Number of sectors from this one on, itself included, that have consecutive addresses and no gap on
    /// this track.
    pub run: u32,
    /// A lower bound of the number of such sectors before this one.
    pub before: u32,
    /// Angle of its leading edge.
    pub angle: Turn,
    /// Time of one sector of this track under the head, in nanoseconds.
    pub sector_ns: f64,
}

/// Where sectors begin on a disk without zones, skews and defects: the first address of each track at the
/// angle `offset`, and the next ones without a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// Angle of the first sector.
    pub offset: Turn,
    /// Sectors of every track.
    pub sectors_per_track: u32,
}

/// The order of addresses on a drive. Addresses count physical sectors.
pub trait Layout: Send + Sync {
    /// Number of addressable physical sectors.
    fn capacity(&self) -> u64;
    /// Writes the place of `sector` into `place`. False, and nothing written, past the end.
    fn locate_into(&self, sector: u64, place: &mut Place) -> bool;
    /// The place of `sector`; `None` past the end.
    fn locate(&self, sector: u64) -> Option<Place> {
        let mut place = Place::default();
        self.locate_into(sector, &mut place).then_some(place)
    }
    /// The address of a physical sector; `None` if it has none (spare, slipped or outside).
    fn address_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64>;
    /// Physical sectors of the track of `head` at a radial position, with those that have no address; 0 if no
    /// track lies there.
    fn track_sectors(&self, cylinder: u32, head: u32) -> u32;
    /// First and last address on the track that holds `sector`, which must be below `capacity`.
    fn track_bounds(&self, sector: u64) -> (u64, u64);
    /// Address of the first sector of the track of `head` at or near a radial position; `None` if there is
    /// none.
    fn track_near(&self, cylinder: u32, head: u32) -> Option<u64> {
        self.address_at(cylinder, head, 0)
    }
    /// Number of radial positions per cylinder of the geometry. It does not depend on the density of
    /// surfaces, so that drives that differ only in it share their seek times.
    fn steps_per_cylinder(&self) -> u32 {
        1
    }
    /// Number of successive tracks in which each of `surfaces` heads has its turn.
    fn tracks_per_round(&self, surfaces: u32) -> u32 {
        surfaces
    }
    /// The grid on which the sectors of all tracks lie, if they all lie on the same one. `None` is always
    /// allowed; searches take longer then.
    fn grid(&self) -> Option<Grid> {
        None
    }
    /// This layout, if it is the one whose surfaces have formats of their own.
    fn adaptive(&self) -> Option<&adaptive::Adaptive> {
        None
    }
}

/// Reads the layout's own keys of `[geometry]`.
fn parameters<P: DeserializeOwned>(spec: &GeometrySpec) -> Result<P, SpecError> {
    let own = spec.layout_parameters.clone();
    // If `layout` was misspelt, the keys of the intended layout would all be unknown to this one.
    let read = match misspelt(&own, "layout", &[]) {
        Some(error) => Err(error),
        None => from_rest(Value::Object(own), GeometrySpec::KEYS),
    };
    read.map_err(|e| e.within("geometry"))
}

/// The parameters of layouts that have none.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

/// Refuses all keys of `[geometry]` that not every layout has.
fn no_parameters(spec: &GeometrySpec) -> Result<(), SpecError> {
    parameters(spec).map(|NoParameters {}| ())
}

/// All parameters that a layout takes from a geometry.
fn taken<P: DeserializeOwned + Serialize>(spec: &GeometrySpec) -> Params {
    plugin::taken::<P>(&[], &spec.layout_parameters)
}

/// The layout's own keys of `[geometry]` with all that they leave out.
pub(crate) fn filled(spec: &GeometrySpec, layouts: &[Plugin<dyn Layout, GeometrySpec>]) -> Params {
    let mut filled = spec.layout_parameters.clone();
    if let Some(layout) = layouts.iter().find(|p| p.name == spec.layout) {
        fill(&mut filled, &(layout.parameters)(spec));
    }
    filled
}

plugins! { dyn Layout from GeometrySpec: cylinder_major, serpentine, serpentine_disk, banded, adaptive, extents }

/// Of a geometry that could not be read: the error of its layout for a key that the layout does not know,
/// because that may be a misspelling of a key that is missing. `None` if something else is wrong.
///
/// Stand-ins take the place of missing keys. Layouts read their own keys first, so the geometry may be
/// inconsistent.
pub(crate) fn unknown_key(
    mut table: Params,
    layouts: &[Plugin<dyn Layout, GeometrySpec>],
) -> Option<SpecError> {
    for (key, stand_in) in [
        ("rotation_speed", "7200 rpm".into()),
        ("surfaces", 1.into()),
        ("cylinders", 1.into()),
        ("zones", Value::Array(Vec::new())),
    ] {
        table.entry(key).or_insert(stand_in);
    }
    let spec: GeometrySpec = from_value(Value::Object(table)).ok()?;
    let plugin = layouts.iter().find(|p| p.name == spec.layout)?;
    let error = (plugin.build)(&spec).err()?;
    (error.key == "geometry" && error.got.starts_with("key ")).then_some(error)
}

/// Builds the layout, one of `layouts`, of a geometry.
///
/// # Errors
/// Unknown layout names and geometries that do not fit together, by dotted key.
pub fn build(
    spec: &GeometrySpec,
    layouts: &[Plugin<dyn Layout, GeometrySpec>],
) -> Result<Box<dyn Layout>, SpecError> {
    (find(layouts, "geometry.layout", &spec.layout)?.build)(spec)
}
