//! Layers between an arrival and the drives. A layer accepts requests and returns completions.
//!
//! # Contract
//! - A layer offers *units*, each a space of 512-byte blocks from 0. A request that is empty (except a flush)
//!   or reaches past the end of its unit completes at once with [`ErrorKind::OutOfRange`]; layers do not see it.
//! - A request that arrives at some time is submitted before the layer starts work at that time.
//! - A layer announces completions ([`Flow::end`]) as soon as their time is known, which may be before that time. An
//!   announced completion is never revoked.
//! - [`Layer::next_event`] is the time at which [`Layer::happen`] is called; if it has passed, that is at once.
//! - Each request completes exactly once, not before it was submitted. Its shares add up to its response
//!   time.
//! - Random numbers come from a seed.
//!
//! Layers stand on the layers below them, so that a system is a tree: a volume over `n` members, a host queue
//! over one layer, a link over several. [`Tree`] goes through the events of all of them in one order (`flow.rs`).
//!
//! To add one: write `crates/block/src/layer/NAME.rs` with a function `plugin`, add `NAME` to the list. A program adds
//! its own in the inputs of a run.

pub mod drive;
pub mod elevator;
pub mod flow;
pub mod statistics;
pub mod tree;
pub mod volume;

use elevator::Elevator;
use headstack_drive::power::conditions::Condition;
use headstack_drive::zoned::{Sense, ZoneRules};
use headstack_drive::{join, Command, Components, Failure, Heeded, Hint, LimitEnd};
use headstack_schema::{plugins, Choice, OneOf, Plugins, SpecError, Table};
use headstack_units::{Span, Time};
use std::ops::Range;

pub(crate) use drive::change_drive;
pub use drive::DriveLayer;
pub use fault::{Bad, Busy, Fails, Fault, FaultSetting, FaultSigns, FaultState, Slow, Stuck, Weak};
pub use flow::Flow;
pub use host_queue::{HostQueue, HostQueueSetting};
pub use link::LinkSetting;
pub use statistics::{LayerResult, Statistics};
pub use throttle::ThrottleSetting;
pub use tree::{check, compose, Branch, LayerSpec, Tree};
pub use volume::VolumeSetting;

/// The submitter of a request that belongs to no process: it blocks no other request.
pub const ANYONE: u32 = u32::MAX;

/// One request to a layer. Blocks are 512 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Request {
    /// Identifies the request; [`LayerCompletion::id`] is the same. Requests outstanding at one time have different
    /// numbers.
    pub id: u64,
    /// The command.
    pub command: Command,
    /// The unit of the layer.
    pub unit: u32,
    /// First block of the unit; ignored by [`Command::Flush`].
    pub lba: u64,
    /// Number of blocks; ignored by [`Command::Flush`].
    pub blocks: u32,
    /// The process that submits it, or [`ANYONE`]. While one of its requests waits for admission to a host
    /// queue, a process submits no others.
    pub submitter: u32,
    /// What the host asks for its turn at a drive.
    pub hint: Hint,
}

impl Request {
    /// Whether the request is not empty and lies inside a unit of `unit_blocks` blocks; a flush always does.
    pub fn is_inside(&self, unit_blocks: u64) -> bool {
        let blocks = u64::from(self.blocks);
        self.command == Command::Flush || (blocks > 0 && blocks <= unit_blocks && self.lba <= unit_blocks - blocks)
    }
}

/// Why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The request is empty, or reaches outside its unit.
    OutOfRange,
    /// No head reaches the place on the medium.
    Unreachable,
    /// The data were on a member that is gone, and no other member can supply them.
    MemberLost,
    /// The request was aborted while it waited.
    Aborted,
    /// The request breaks a rule of the zones of a host-managed drive.
    Zone(Sense),
    /// A block cannot be read or written.
    Medium {
        /// The first one, in the unit of the layer with the fault.
        lba: u64,
    },
    /// The device is gone.
    Gone,
    /// A time of the duration limit has passed; Linux reports it as `ETIME`.
    Limit(LimitEnd),
}

impl ErrorKind {
    /// The sense data with which a SCSI drive reports it: key, additional code, qualifier (SPC-6, annex F). `None` where a
    /// volume fails, which is no drive.
    pub fn sense(self) -> Option<(u8, u8, u8)> {
        match self {
            ErrorKind::OutOfRange => Some((0x5, 0x21, 0x00)),
            ErrorKind::Unreachable => Some((0x4, 0x44, 0x00)),
            ErrorKind::MemberLost => None,
            ErrorKind::Aborted => Some((0xb, 0x00, 0x00)),
            ErrorKind::Zone(sense) => Some(sense.code()),
            ErrorKind::Medium { .. } => Some((0x3, 0x11, 0x00)),
            ErrorKind::Gone => Some((0x2, 0x04, 0x00)),
            ErrorKind::Limit(end) => end.code(),
        }
    }
}

/// Time that a request waited above the drives, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Waits {
    /// For a place in a host queue, or for a throttle.
    pub place: Span,
    /// In an elevator.
    pub elevator: Span,
    /// In a volume: for a range, for others in its rows, for a rebuild, for a member that left, and in the
    /// queues of the reads before its write.
    pub array: Span,
}

impl Waits {
    /// Place, elevator, array, and the rest of `queue`: the drive.
    pub fn parts(&self, queue: Span) -> [Span; 4] {
        let Waits { place, elevator, array } = *self;
        [place, elevator, array, queue - place - elevator - array]
    }

    /// Adds `more`, share by share.
    pub fn add(&mut self, more: &Waits) {
        self.place += more.place;
        self.elevator += more.elevator;
        self.array += more.array;
    }
}

/// A completed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LayerCompletion {
    /// The request's [`Request::id`]; written when the host is told.
    pub id: u64,
    /// Time at which it reached the layer.
    pub arrival: Time,
    /// Time of its admission to a host queue; the arrival time where places are not counted.
    pub admitted: Time,
    /// Time at which it ended.
    pub completion: Time,
    /// Time at which the end became known; [`Flow::end`] writes it.
    pub announced: Time,
    /// Shares of the time from arrival to completion.
    pub components: Components,
    /// Where it waited above the drives: parts of [`Components::queue`], of which the rest was spent in the drive.
    pub waits: Waits,
    /// Whether buffers alone served it.
    pub cache_hit: bool,
    /// Whether an arm moved to serve it.
    pub moved: bool,
    /// Seek distance of its last part, in cylinders.
    pub seek_distance: u32,
    /// Arm assembly that served the last part.
    pub arm: u8,
    /// Drive that served the last part, numbered over the whole system; [`ANYONE`] if no drive did.
    pub drive: u32,
    /// Why it failed; `None` if it did not.
    pub error: Option<ErrorKind>,
    /// Whether it missed a duration limit of a drive.
    pub missed: bool,
}

impl LayerCompletion {
    /// A request that completes at the moment of its arrival.
    pub fn at_once(now: Time, error: Option<ErrorKind>) -> LayerCompletion {
        LayerCompletion {
            arrival: now,
            admitted: now,
            completion: now,
            announced: now,
            cache_hit: error.is_none(),
            drive: ANYONE,
            error,
            ..LayerCompletion::default()
        }
    }
}

impl join::Part for LayerCompletion {
    type Error = ErrorKind;
    fn ends(&self) -> Time {
        self.completion
    }
    fn own(&self) -> join::All<ErrorKind> {
        join::All { hit: self.cache_hit, moved: self.moved, missed: self.missed, failure: self.error }
    }
    fn whole(self, all: &join::All<ErrorKind>) -> LayerCompletion {
        LayerCompletion { cache_hit: all.hit, moved: all.moved, error: all.failure, missed: all.missed, ..self }
    }
}

/// Adds `more` to `sum`, share by share.
pub(crate) fn add_components(sum: &mut Components, more: &Components) {
    sum.queue += more.queue;
    sum.overhead += more.overhead;
    sum.seek += more.seek;
    sum.rotation += more.rotation;
    sum.transfer += more.transfer;
    sum.bus += more.bus;
}

/// A setting that can be changed while a system runs: a key of `[[system.change]]`.
#[derive(Debug, Clone, PartialEq, OneOf)]
#[one_of("nothing that changes")]
#[allow(missing_docs)]
pub enum Setting {
    #[param(flatten)]
    Drive(headstack_drive::Setting),
    #[param(flatten)]
    Failure(FailureSetting),
    #[param(flatten)]
    HostQueue(HostQueueSetting),
    #[param(flatten)]
    Volume(VolumeSetting),
    #[param(flatten)]
    Link(LinkSetting),
    #[param(flatten)]
    Throttle(ThrottleSetting),
    #[param(flatten)]
    Fault(FaultSetting),
}

/// What fails of a drive.
#[derive(Debug, Clone, PartialEq, OneOf)]
pub enum FailureSetting {
    /// A head that fails, or without `surface` the whole assembly; all keys may be left out.
    #[param(key = "fail")]
    Part(Failure),
    /// A zone of a host-managed drive that fails. `{ block = 524288, becomes = "read-only" }`: the one that begins
    /// there; also `"offline"`.
    #[param(key = "fail_zone")]
    Zone(FailedZone),
}

/// A zone of a host-managed drive that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Table)]
pub struct FailedZone {
    /// Its first 512-byte block.
    pub block: u64,
    /// What it is from then on.
    pub becomes: Becomes,
}

/// How a zone is that has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Choice)]
pub enum Becomes {
    /// It can be read, but not written.
    ReadOnly,
    /// It can be neither read nor written.
    Offline,
}

/// A layer; the contract is in this module's description.
pub trait Layer: Send {
    /// The layer's name in experiments.
    fn name(&self) -> &str;
    /// Size of each unit in 512-byte blocks.
    fn units(&self) -> Vec<u64>;
    /// A request for one of its units arrives.
    fn submit(&mut self, request: u32, flow: &mut Flow);
    /// A request that this layer gave to a lower one ends now, as [`flow::Entry::done`] says, or the time has come until
    /// which it [keeps](Flow::keep) one.
    fn ended(&mut self, request: u32, flow: &mut Flow);
    /// Whether it is told of the end of a request as soon as that is announced, and not when its time comes.
    fn passes_on(&self) -> bool {
        false
    }
    /// When [`Layer::happen`] is to be called; [`Time::NEVER`] if not.
    fn next_event(&self) -> Time {
        Time::NEVER
    }
    /// Carries out what the layer does now by itself.
    fn happen(&mut self, _flow: &mut Flow) {}
    /// Aborts a request that waits, if it can.
    fn abort(&mut self, _request: u32, _flow: &mut Flow) {}
    /// Changes a setting.
    ///
    /// # Errors
    /// The layer refuses the setting and remains unchanged.
    fn set(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError>;
    /// Restarts the layer's own counts at `now`.
    fn reset_statistics(&mut self, _now: Time) {}
    /// Adds the layer's own counts since the last reset.
    fn add_counts(&self, _all: &mut Statistics) {}
    /// The drive, if the layer is one.
    fn drive(&self) -> Option<&DriveLayer> {
        None
    }
    /// The same, to change it.
    fn drive_mut(&mut self) -> Option<&mut DriveLayer> {
        None
    }
    /// The fault layer, if it is one.
    fn fault(&self) -> Option<&Fault> {
        None
    }
    /// The host queue, if it is one.
    fn host_queue(&self) -> Option<&HostQueue> {
        None
    }
    /// Whether a volume's member was taken out of it, so that nothing of it draws power. One that failed does.
    fn is_removed(&self, _member: u32) -> bool {
        false
    }
}

/// What a host sees of a drive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DriveFacts {
    /// Its number in the system.
    pub number: u32,
    /// The name of its model.
    pub model: String,
    /// Bytes of a physical sector.
    pub sector_bytes: u64,
    /// Revolutions per minute, rounded.
    pub rpm: u32,
    /// Whether writes may end in its buffer.
    pub write_cache: bool,
    /// The rules of its zones, if its host manages them.
    pub zones: Option<ZoneRules>,
    /// Its low-power conditions, each with the timer of its file.
    pub conditions: Vec<(Condition, Option<Span>)>,
    /// Commands that it holds at once; 0 for all.
    pub queue_depth: u32,
    /// The parts of its 512-byte blocks that different actuators serve; one if one serves all.
    pub access_ranges: Vec<Range<u64>>,
    /// Whether it has duration limits.
    pub has_limits: bool,
    /// Which hints of commands it heeds.
    pub heeded: Heeded,
}

/// The error for a setting that `layer` does not have; `known` are those that it has.
pub(crate) fn not_supported(layer: &str, setting: &Setting, known: &[&str]) -> SpecError {
    let need = match known {
        [] => format!("a setting of another layer: {layer} has none"),
        known => format!("one that {layer} supports: {}", known.join(", ")),
    };
    SpecError::new("setting", setting.name(), need)
}

/// What a layer is built from.
pub struct Context<'a> {
    /// Sizes of the units of the layers below, at least one, in 512-byte blocks.
    pub members: Vec<u64>,
    /// The elevators that a host queue can name.
    pub elevators: &'a Elevators,
}

/// The elevators that a host queue can name.
pub type Elevators = Plugins<dyn Elevator>;

/// How many lower layers a layer takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LowerCount {
    /// One. If there are several lower layers, each gets its own layer of this kind.
    One,
    /// All of them, or as many as the experiment says (`of`).
    Many,
}

plugins! {
    dyn Layer = "layer", for<'a> Context<'a>, facts LowerCount;
    independent: Parameters, concatenate: Parameters, raid0: Parameters, raid1: Parameters, raid10: Parameters,
    raid5: Parameters, host_queue: Parameters, link: Parameters, throttle: Parameters, fault: Parameters
}
