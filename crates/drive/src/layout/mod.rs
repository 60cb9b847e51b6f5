//! Layouts: which address lies where on the platters.
//!
//! # Contract
//! - `locate` is a bijection between addresses below `capacity` and usable sectors; `address_at`
//!   is its inverse.
//! - Within a run addresses follow each other under the head: sector `i` of the run starts `i`
//!   sector angles after the first.
//! - The track bounds of an address hold it.
//!
//! A layout's own parameters are keys of `[geometry]`; its file reads them into a type and refuses
//! what it does not know.
//!
//! To add one: write `crates/drive/src/layout/NAME.rs` with a `PLUGIN`, add `NAME` to the list.

use crate::plugin::{find, plugins};
use crate::spec::GeometrySpec;
use headstack_engine::describe::{from_rest, misspelt};
use headstack_engine::SpecError;
use headstack_units::Turn;
use serde::de::DeserializeOwned;
use serde::Deserialize;
use serde_json::Value;

mod shape;
#[cfg(test)]
mod tests;
mod zoned;

/// Where a sector lies, and how many follow it on the same track without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Place {
    /// Cylinder, 0 outermost.
    pub cylinder: u32,
    /// Head (surface).
    pub head: u16,
    /// Zone, in address order.
    pub zone: u16,
    /// Physical sector on its track.
    pub sector: u32,
    /// Physical sectors on its track.
    pub sectors_per_track: u32,
    /// Sectors from this one on, itself included, with consecutive addresses and no gap on this track.
    pub run: u32,
    /// At least so many sectors lie before this one without a gap in the same way; there may be more.
    pub before: u32,
    /// Angle of its leading edge.
    pub angle: Turn,
    /// Time that one sector of this track passes under the head, in nanoseconds.
    pub sector_ns: f64,
}

/// The order of addresses on a drive. Addresses count physical sectors.
pub trait Layout: Send + Sync {
    /// Number of addressable physical sectors.
    fn capacity(&self) -> u64;
    /// Writes where `sector` lies into `place`; false, and nothing written, past the end.
    fn locate_into(&self, sector: u64, place: &mut Place) -> bool;
    /// Where `sector` lies; `None` past the end.
    fn locate(&self, sector: u64) -> Option<Place> {
        let mut place = Place::default();
        self.locate_into(sector, &mut place).then_some(place)
    }
    /// The address of a physical place, `None` where no address lies (spare, slipped, outside).
    fn address_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64>;
    /// First and last address on the track that holds `sector`, which must be below `capacity`.
    fn track_bounds(&self, sector: u64) -> (u64, u64);
}

/// Reads the layout's own keys of `[geometry]`.
fn parameters<P: DeserializeOwned>(spec: &GeometrySpec) -> Result<P, SpecError> {
    let own = spec.layout_parameters.clone();
    // The keys of the layout that was meant would be unknown to this one.
    let read = match misspelt(&own, "layout", &[]) {
        Some(error) => Err(error),
        None => from_rest(Value::Object(own), GeometrySpec::KEYS),
    };
    read.map_err(|e| e.within("geometry"))
}

/// Refuses all keys of `[geometry]` but those that every layout has.
fn no_parameters(spec: &GeometrySpec) -> Result<(), SpecError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct None {}
    parameters(spec).map(|None {}| ())
}

plugins! { dyn Layout from GeometrySpec: cylinder_major, serpentine, serpentine_disk, banded, extents }

/// What a geometry's layout says of a key that it does not know, seen from inside the geometry. Layouts
/// read their keys before anything else, so the rest of the geometry need not fit together.
pub(crate) fn unknown_key(spec: &GeometrySpec) -> Option<SpecError> {
    let plugin = PLUGINS.iter().find(|p| p.name == spec.layout)?;
    let error = (plugin.build)(spec).err()?;
    let unknown = error.key == "geometry" && error.got.starts_with("key ");
    unknown.then(|| SpecError::new("", error.got, error.need))
}

/// Builds the layout that a geometry asks for.
///
/// # Errors
/// Unknown layout names and geometries that do not fit together, by dotted key.
pub fn build(spec: &GeometrySpec) -> Result<Box<dyn Layout>, SpecError> {
    (find(PLUGINS, "geometry.layout", &spec.layout)?.build)(spec)
}
