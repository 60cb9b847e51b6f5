//! Layers between an arrival and the drives: whatever takes requests and gives completions.
//!
//! # Contract
//! - A layer offers *units*, each a space of 512-byte blocks from 0. A request that is empty (save a flush)
//!   or reaches past the end of its unit ends at once as [`ErrorKind::OutOfRange`].
//! - [`Layer::submit`] at `now` asks that the layer was advanced to `now` (and at most one nanosecond
//!   further): what arrives at a time is submitted before what the layer starts at that time.
//! - [`Layer::advance`] does everything that happens before `until` and tells the completions that it
//!   decides. A completion may be told before its time has come. A completion that was told is never revoked.
//! - In how many steps a layer is advanced changes nothing.
//! - [`Layer::next_event`] is the earliest time at which [`Layer::advance`] would do something, never
//!   earlier than the last time that the layer was given.
//! - Each request ends exactly once, not before it was submitted; its shares add up to its response time.
//! - Of things that happen at one time in several lower layers the one with the lower index is first.
//! - Nothing is drawn at random but from a seed.
//!
//! Layers own the layers below them, so that a system is a tree: a volume over `n` members, a host queue
//! over one layer, a link over several.
//!
//! To add one: write `crates/array/src/layer/NAME.rs` with an `ENTRY`, add `NAME` to the list.

mod below;
mod course;
pub mod drive;
pub mod elevator;
pub(crate) mod join;
pub mod statistics;
pub mod tree;
pub mod volume;

use headstack_drive::spec::Params;
use headstack_drive::{Command, Components, DriveEnergy, Part};
use headstack_engine::{did_you_mean, SpecError};
use headstack_units::{Bandwidth, Time};

pub use drive::DriveLayer;
pub use statistics::{LayerResult, Statistics};
pub use tree::{check, compose, LayerSpec, Tree};

/// The submitter of a request that nobody else's requests wait for.
pub const ANYONE: u32 = u32::MAX;

/// One request to a layer. Blocks are 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Its name; comes back in [`Done`]. No two that are under way have the same.
    pub id: u64,
    /// What to do.
    pub command: Command,
    /// Which unit of the layer.
    pub unit: u32,
    /// First block of the unit; ignored by [`Command::Flush`].
    pub lba: u64,
    /// Number of blocks; ignored by [`Command::Flush`].
    pub blocks: u32,
    /// Which process submits it, or [`ANYONE`]: a process waits while one of its requests has not been
    /// admitted.
    pub submitter: u32,
}

impl Request {
    /// Whether it fits into a unit of this size.
    pub fn is_inside(&self, unit_blocks: u64) -> bool {
        let blocks = u64::from(self.blocks);
        self.command == Command::Flush
            || (blocks > 0 && blocks <= unit_blocks && self.lba <= unit_blocks - blocks)
    }
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// It is empty, or reaches outside its unit.
    OutOfRange,
    /// Nothing reaches the place on the medium.
    Unreachable,
    /// Its data were on a member that is gone, and nothing else holds them.
    MemberLost,
    /// It was called off while it waited.
    Aborted,
}

/// One request done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// The request's name.
    pub id: u64,
    /// When it reached the layer.
    pub arrival: Time,
    /// When a place was found for it: the arrival, where places are not counted.
    pub admitted: Time,
    /// When it ended.
    pub completion: Time,
    /// Where the time from arrival to completion went.
    pub components: Components,
    /// Served wholly by buffers.
    pub cache_hit: bool,
    /// Whether an arm moved for it.
    pub moved: bool,
    /// Cylinders moved for the last part.
    pub seek_distance: u32,
    /// Arm assembly that served the last part.
    pub arm: u8,
    /// The drive of the last part, counted over the whole system; [`ANYONE`] if no drive got it.
    pub drive: u32,
    /// Why it failed, if it did.
    pub error: Option<ErrorKind>,
}

impl Done {
    /// A request that ends where it arrives.
    pub(crate) fn at_once(id: u64, now: Time, error: Option<ErrorKind>) -> Done {
        Done {
            id,
            arrival: now,
            admitted: now,
            completion: now,
            cache_hit: error.is_none(),
            drive: ANYONE,
            error,
            ..Done::default()
        }
    }
}

/// Adds the shares of one time to those of another.
pub(crate) fn add_components(sum: &mut Components, more: &Components) {
    sum.queue += more.queue;
    sum.overhead += more.overhead;
    sum.seek += more.seek;
    sum.rotation += more.rotation;
    sum.transfer += more.transfer;
    sum.bus += more.bus;
}

/// Something that may be changed while a system runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// Of a drive.
    Drive(headstack_drive::Setting),
    /// A part of a drive fails.
    FailPart(Part),
    /// A drive is to call off a request that waits.
    Abort {
        /// The request's name.
        id: u64,
    },
    /// Of a host queue: how many requests it holds (`nr_requests`). At least 4, as in Linux.
    Requests(u32),
    /// Of a host queue: requests that are with the lower layer at once.
    Depth(u32),
    /// A member of a volume is gone.
    MemberGone(u32),
    /// A member that was gone is back with the data that it had: what was written meanwhile is stale.
    MemberBack(u32),
    /// A member that was gone is replaced by an empty one.
    MemberReplaced(u32),
    /// Of a volume: how fast stale data are rebuilt; `None`: not at all.
    RebuildRate(Option<Bandwidth>),
}

/// What takes requests and gives completions; the contract is the folder's.
pub trait Layer: Send {
    /// The layer's name in experiments.
    fn name(&self) -> &'static str;
    /// Size of each unit in 512-byte blocks.
    fn units(&self) -> Vec<u64>;
    /// A request reaches the layer at `now`.
    fn submit(&mut self, now: Time, request: Request);
    /// When [`Layer::advance`] would do something next; [`Time::NEVER`] if nothing is under way.
    fn next_event(&self) -> Time;
    /// Does what happens before `until`.
    fn advance(&mut self, until: Time, sink: &mut dyn FnMut(&Done));
    /// Changes something at `now`, to which the layer was advanced: of the layer that `path` leads to, by
    /// the index of the lower layer at each height.
    ///
    /// # Errors
    /// A path that leads nowhere, or what the layer cannot be set to; it then goes on as before.
    fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError>;
    /// Energy of all drives from the last reset to `until`.
    fn meter(&mut self, until: Time) -> DriveEnergy;
    /// Everything counts anew from `now`.
    fn reset_statistics(&mut self, now: Time);
    /// What the layer has counted.
    fn statistics(&self) -> Statistics;
    /// The layers that it stands on.
    fn below(&self) -> &[Box<dyn Layer>] {
        &[]
    }
    /// The same, to be changed.
    fn below_mut(&mut self) -> &mut [Box<dyn Layer>] {
        &mut []
    }
    /// What the drive did, if the layer is one.
    fn drive_outcome(&mut self, _until: Time) -> Option<crate::simulate::MemberOutcome> {
        None
    }
}

/// The error of a setting that a layer does not know.
pub(crate) fn not_supported(layer: &str, setting: &Setting) -> SpecError {
    let got = format!("{setting:?}");
    SpecError::new("setting", got, format!("one that {layer} supports"))
}

/// What a layer is built from.
pub struct Context {
    /// What it stands on, at least one layer.
    pub below: Vec<Box<dyn Layer>>,
    /// Parameters, as the layer's file documents.
    pub params: Params,
}

/// How many layers a layer stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// On one; where there are more, each gets a layer of its own.
    OnOne,
    /// On as many as there are, or as many as the experiment says.
    OnMany,
}

/// One entry of the registry.
pub struct Entry {
    /// The name in experiments.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// A parameter table that works on four lower layers, as TOML, for documentation and contract tests.
    pub example: &'static str,
    /// How many layers it stands on.
    pub stands: Stands,
    /// Makes it; unknown parameters are errors.
    pub build: fn(Context) -> Result<Box<dyn Layer>, SpecError>,
}

macro_rules! layers {
    ($($file:ident),+ $(,)?) => {
        $(pub mod $file;)+
        /// Every layer that comes with this crate.
        pub const ENTRIES: &[Entry] = &[$($file::ENTRY),+];
    };
}
layers! { independent, concatenate, raid0, raid1, raid10, raid5, host_queue, link }

/// Finds one of `entries` by name.
///
/// # Errors
/// Lists the names and the nearest one.
pub fn find<'a>(name: &str, entries: &'a [Entry]) -> Result<&'a Entry, SpecError> {
    entries.iter().find(|e| e.name == name).ok_or_else(|| {
        let names: Vec<&str> = entries.iter().map(|e| e.name).collect();
        let hint = did_you_mean(name, names.iter().copied());
        SpecError::new(
            "name",
            format!("{name:?}"),
            format!("one of {}{hint}", names.join(", ")),
        )
    })
}
