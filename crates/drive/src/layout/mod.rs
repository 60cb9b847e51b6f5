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
//! To add one: write `crates/drive/src/layout/NAME.rs`, add it to the list as [`plugins!`] says. A program adds its own
//! in [`Models`](crate::Models).

use crate::spec::{GeometrySpec, DEFAULT_LAYOUT};
use headstack_schema::{misspelt, plugins, unknown_keys, Params, Plugins, SpecError, Table};
use headstack_units::Turn;

mod shape;
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

/// The table of a geometry.
const TABLE: &str = "geometry";

/// The key of a layout's name.
const KEY: &str = "layout";

/// Reads the layout's own keys of `[geometry]`.
fn parameters<P: Table>(spec: &GeometrySpec) -> Result<P, SpecError> {
    let read = P::read_beside(GeometrySpec::KEYS, &spec.layout_parameters);
    read.map_err(|e| e.within(TABLE))
}

plugins! {
    dyn Layout = "layout", beside GeometrySpec::KEYS, place TABLE, for<'a> &'a GeometrySpec;
    cylinder_major: CylinderMajor, serpentine: Serpentine, serpentine_disk: SerpentineDisk, banded: Banded,
    adaptive: Parameters, extents: Map
}

/// Of the keys of a geometry, the error for one that its layout does not know, because that may be a misspelling of
/// a key that is missing.
pub(crate) fn unknown_key(geometry: &Params, layouts: &Plugins<dyn Layout>) -> Option<SpecError> {
    let name = match geometry.get(KEY) {
        Some(name) => name.as_str()?,
        None => DEFAULT_LAYOUT,
    };
    let own = layouts.get(name)?.parameters();
    if own.others.is_some() {
        return None;
    }
    let keys: Vec<&str> = (own.fields.iter()).flat_map(|f| [Some(f.key), f.alias]).flatten().collect();
    let misspelt_name = match geometry.contains_key(KEY) {
        true => None,
        // The keys of the intended layout would all be unknown to this one.
        false => misspelt(geometry, KEY, &[GeometrySpec::KEYS, &keys].concat()),
    };
    let unknown = misspelt_name.or_else(|| unknown_keys(geometry, &keys, GeometrySpec::KEYS).err());
    unknown.map(|e| e.within(TABLE))
}

/// Builds the layout, one of `layouts`, of a geometry.
///
/// # Errors
/// Unknown layout names and geometries that do not fit together, by dotted key.
pub fn build(spec: &GeometrySpec, layouts: &Plugins<dyn Layout>) -> Result<Box<dyn Layout>, SpecError> {
    let own = &spec.layout_parameters;
    // If `layout` was misspelt, the keys of the intended layout would all be unknown to this one.
    if let Some(error) = misspelt(own, KEY, &[]) {
        return Err(error.within(TABLE));
    }
    layouts.find("geometry.layout", &spec.layout)?.build(own, spec)
}
