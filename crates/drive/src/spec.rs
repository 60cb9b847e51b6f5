//! The schema of a drive: the content of `drives/*.toml`, and the result of every importer.
//!
//! Quantities are text with a unit; unknown keys are errors. Each parameter is declared once: its field has its
//! type, unit, default and bounds. What several fields must keep to is checked in `checks.rs`.
//! [`DriveSpec::sources`] says for each value where it comes from, or that it was chosen.

use crate::bounds::{
    FIRST_DISK, LATEST_DISK, MOST_BLOCKS, MOST_COMMANDS, MOST_CYLINDERS, MOST_MOVEMENT, MOST_OVERHEAD, MOST_RATE,
    MOST_SECTOR, MOST_SECTORS, MOST_SEGMENTS, MOST_SURFACES, MOST_TRACK, MOST_WAIT, MOST_WINDOW,
};
pub use crate::limits::parameters::{DurationLimit, Heeded, LimitsSpec, Policy, Transport};
pub use crate::parallelism::{
    ArmChoice, ArmShare, ArmSpec, Dash, FaultSpec, HeadOffset, ParallelismSpec, Parking, Role,
};
pub use headstack_schema::Params;
use headstack_schema::{by_kind, Choice, InRange, Kind, Parameter, SpecError, Table};
use headstack_units::{Bandwidth, Bytes, Rpm, Span};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The power model of a table that names none.
pub(crate) const DEFAULT_POWER_MODEL: &str = "modes";
/// The layout of a geometry that names none.
pub(crate) const DEFAULT_LAYOUT: &str = "cylinder-major";
/// The scheduler of a queue that names none.
const DEFAULT_SCHEDULER: &str = "fcfs";

/// A complete drive.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct DriveSpec {
    /// The name that experiments use, equal to the file's stem.
    pub name: String,
    /// Maker, family, model number and capacity, for people.
    #[param(default, omit = String::is_empty)]
    pub title: String,
    /// What the drive is an example of, and for what its file can and cannot be trusted.
    #[param(default, omit = String::is_empty)]
    pub description: String,
    /// When it came on the market.
    #[param(range = FIRST_DISK..=LATEST_DISK)]
    pub year: Option<u32>,
    /// Stacks, arm assemblies, surfaces at once and heads per arm: `D1A2S1H1`.
    #[param(default, omit = is_default)]
    pub dash: Dash,
    /// Settings that `dash` leaves open: angles, limits, faults.
    #[param(default, omit = is_default)]
    pub parallelism: ParallelismSpec,
    /// Platters, tracks, zones and address order of one stack.
    pub geometry: GeometrySpec,
    /// Seek times by distance, `model = "table"` and so on.
    #[param(kind = Kind::Model("seek model"))]
    pub seek: Params,
    /// Head switches and settling.
    #[param(default)]
    pub positioning: PositioningSpec,
    /// Where on the medium written blocks go. Empty: `model = "identity"`.
    #[param(default, kind = Kind::Model("mapping"), omit = Params::is_empty)]
    pub mapping: Params,
    /// A scan of the whole medium during foreground work.
    #[param(default, omit = is_default)]
    pub media_scan: MediaScan,
    /// Buffer segments, read-ahead and write policy.
    #[param(default)]
    pub cache: CacheSpec,
    /// Processing time of commands, besides mechanics and link.
    #[param(default)]
    pub overhead: OverheadSpec,
    /// The link between host and drive.
    #[param(default)]
    pub link: LinkSpec,
    /// Number of commands that the drive holds, and the order in which it serves them.
    #[param(default)]
    pub queue: QueueSpec,
    /// Duration limits and priorities of commands.
    #[param(default, omit = is_default)]
    pub duration_limits: LimitsSpec,
    /// Power by state.
    #[param(default = default_power(), kind = Kind::Model("power model"))]
    pub power: Params,
    /// Cost of the drive in dollars; empty if unknown.
    #[param(default, kind = Kind::Model("cost model"), omit = Params::is_empty)]
    pub cost: Params,
    /// The source of each value, by dotted key or a prefix of it (`"geometry.rotation_speed"`, `"seek"`): a
    /// document, or `chosen: why`.
    #[param(default, omit = BTreeMap::is_empty)]
    pub sources: BTreeMap<String, String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn default_power() -> Params {
    let mut params = Params::new();
    params.insert("model".into(), DEFAULT_POWER_MODEL.into());
    params
}

/// Platters, tracks, zones and the order of addresses.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(check = GeometrySpec::check_fields)]
pub struct GeometrySpec {
    /// Spindle speed.
    #[param(range = Rpm(1.0)..=Rpm(1e6))]
    pub rotation_speed: Rpm,
    /// Recording surfaces (heads).
    #[param(range = 1..=MOST_SURFACES)]
    pub surfaces: u32,
    /// Tracks per surface that the arm can reach, spare areas included; with the layout `adaptive`, tracks of a
    /// surface of nominal density, at most a quarter of the bound.
    #[param(range = 1..=MOST_CYLINDERS)]
    pub cylinders: u32,
    /// Size of a physical sector: 512 B or 4 KiB. Addresses count 512-byte blocks in both cases.
    #[param(default = Bytes(512))]
    pub sector_size: Bytes,
    /// The order of addresses.
    #[param(default = DEFAULT_LAYOUT.into(), kind = Kind::Name("layout"))]
    pub layout: String,
    /// Whether skews and offsets are in sectors or in turns.
    #[param(default)]
    pub skew_unit: SkewUnit,
    /// Where spare sectors lie, and how slipped sectors shift later ones.
    #[param(default)]
    pub sparing: Sparing,
    /// Cylinders per range of `sparing = "range"`.
    #[param(default = 1, range = 0..=MOST_CYLINDERS)]
    pub sparing_range_cylinders: u32,
    /// The zones in order of address. 1 to 65535.
    pub zones: Vec<ZoneSpec>,
    /// Number of 512-byte blocks that the drive offers, if it is less than its zones hold.
    #[param(range = 1..=MOST_BLOCKS)]
    pub capacity_blocks: Option<u64>,
    /// All other keys: parameters of the layout, which its file documents and checks.
    #[param(rest = "parameters of the layout")]
    pub layout_parameters: Params,
    /// How this geometry was derived from a drive's, if it was. Never in a file.
    #[param(skip)]
    pub derived: Option<Derived>,
}

/// How a geometry was derived from a drive's: its surfaces were joined or divided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Derived {
    /// The key by which: `dash` (joined) or `parallelism.arm_share` (divided).
    pub by: &'static str,
    /// The drive's first surface that belongs to it.
    pub first_surface: u32,
    /// Number of surfaces of the drive.
    pub of_surfaces: u32,
}

/// The unit of a zone's skews and offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum SkewUnit {
    /// Sectors of the zone; fractions are dropped.
    #[default]
    Sectors,
    /// Turns.
    Turns,
}

/// Where spare sectors lie, and how far a slipped (skipped) sector shifts later data.
///
/// The number behind each rule is DiskSim's "Sparing scheme used".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Sparing {
    /// No spares, no slips.
    #[default]
    None,
    /// Spare tracks at the end of the zone; whole tracks are slipped. (1)
    Tracks,
    /// Spare sectors at the end of each cylinder; slips shift data inside it. (2)
    CylinderEnd,
    /// Spare sectors at the end of each track; slips shift data inside it. (3)
    TrackEnd,
    /// As `cylinder-end`, but slips shift data up to the end of the zone. (4)
    CylinderEndSlipToZoneEnd,
    /// Spare sectors at the front of each cylinder; slips shift data inside it. (5)
    CylinderFront,
    /// As `cylinder-front`, but slips shift data up to the end of the zone. (6)
    CylinderFrontSlipToZoneEnd,
    /// Spares at the end of the disk. (7)
    DiskEnd,
    /// Spares at the end of each range of cylinders. (8)
    Range,
    /// Spares at the end of the zone. (9)
    ZoneEnd,
    /// As `zone-end`, but slips use spares at the end of the disk. (10)
    ZoneEndSlipToDiskEnd,
}

impl Sparing {
    /// All rules, by DiskSim's number.
    pub const SCHEMES: [Sparing; 11] = [
        Sparing::None,
        Sparing::Tracks,
        Sparing::CylinderEnd,
        Sparing::TrackEnd,
        Sparing::CylinderEndSlipToZoneEnd,
        Sparing::CylinderFront,
        Sparing::CylinderFrontSlipToZoneEnd,
        Sparing::DiskEnd,
        Sparing::Range,
        Sparing::ZoneEnd,
        Sparing::ZoneEndSlipToDiskEnd,
    ];
}

/// Cylinders with the same track format.
#[derive(Debug, Clone, PartialEq, Table)]
pub struct ZoneSpec {
    /// First cylinder. 0 to the disk's last.
    pub first_cylinder: u32,
    /// Last cylinder, inclusive. At most the disk's last.
    pub last_cylinder: u32,
    /// Physical sectors per track: one number for all surfaces, or one for each.
    #[param(range = 1..=MOST_TRACK, of = u32)]
    pub sectors_per_track: PerSurface,
    /// Angle between the first sectors of successive tracks of a cylinder, in `skew_unit`.
    #[param(default, range = -1e9..=1e9)]
    pub track_skew: f64,
    /// Angle between the last track of a cylinder and the first track of the next, in `skew_unit`.
    #[param(default, range = -1e9..=1e9)]
    pub cylinder_skew: f64,
    /// Angle of the zone's first sector, in `skew_unit`.
    #[param(default, range = -1e9..=1e9)]
    pub offset: f64,
    /// Sectors at the front of the zone that have no address. Fewer than the zone has.
    #[param(default)]
    pub empty_sectors: u32,
    /// Spare sectors (tracks, with `sparing = "tracks"`) per zone, cylinder, track or range.
    #[param(default)]
    pub spares: u32,
    /// Slipped sectors: physical indices from the zone's start (tracks, with `sparing = "tracks"`). Within the zone.
    #[param(default, omit = Vec::is_empty)]
    pub slips: Vec<u64>,
    /// Remapped sectors: `[from, to]`, physical indices from the zone's start. Within the zone.
    #[param(default, omit = Vec::is_empty)]
    pub remaps: Vec<[u64; 2]>,
}

/// A count for all surfaces, or one for each.
#[derive(Debug, Clone, PartialEq)]
pub enum PerSurface {
    /// The same on every surface.
    Same(u32),
    /// One for each surface, in head order.
    Each(Vec<u32>),
}

impl Parameter for PerSurface {
    fn kind() -> Kind {
        Kind::OneOf(vec![u32::kind(), <Vec<u32>>::kind()])
    }
    fn read(value: &Value) -> Result<Self, SpecError> {
        let need = "one count for all surfaces, or a list with one for each";
        by_kind(value, need, |value| match value {
            Value::Number(_) => Some(u32::read(value).map(PerSurface::Same)),
            Value::Array(_) => Some(Parameter::read(value).map(PerSurface::Each)),
            _ => None,
        })
    }
    fn write(&self) -> Value {
        match self {
            PerSurface::Same(n) => n.write(),
            PerSurface::Each(list) => list.write(),
        }
    }
}

/// Each of the counts is bounded.
impl InRange<u32> for PerSurface {
    fn outside(&self, range: &RangeInclusive<u32>) -> Option<(String, String)> {
        match self {
            PerSurface::Same(n) => n.outside(range),
            PerSurface::Each(list) => list.outside(range),
        }
    }
}

impl PerSurface {
    /// The count for this surface; if the list is short, its last one.
    pub fn of(&self, surface: u32) -> u32 {
        match self {
            PerSurface::Same(n) => *n,
            PerSurface::Each(list) => list.get(surface as usize).or(list.last()).copied().unwrap_or(0),
        }
    }
}

/// Head switches and settling.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct PositioningSpec {
    /// Time to switch to another head of the same cylinder.
    #[param(range = Span::ZERO..=MOST_MOVEMENT)]
    pub head_switch: Span,
    /// Added to every seek or head switch before a write; may be negative.
    #[param(range = Span(-MOST_MOVEMENT.0)..=MOST_MOVEMENT)]
    pub write_settle: Span,
    /// Whether `write_settle` is also added to head switches within a cylinder, as in DiskSim, or to seeks
    /// only.
    #[param(default = true)]
    pub settle_after_head_switch: bool,
    /// Whether `write_settle` is added before every write, also without a movement.
    pub settle_before_every_write: bool,
    /// Lower bound of the seek time before a write.
    #[param(range = Span::ZERO..=MOST_MOVEMENT)]
    pub minimum_write: Span,
    /// Lower bound of the positioning time of a read miss after a read.
    #[param(range = Span::ZERO..=MOST_MOVEMENT)]
    pub minimum_read_after_read: Span,
    /// Lower bound of the positioning time of a read miss after a write.
    #[param(range = Span::ZERO..=MOST_MOVEMENT)]
    pub minimum_read_after_write: Span,
    /// Added to every seek of one cylinder or more; may be negative.
    #[param(range = Span(-MOST_MOVEMENT.0)..=MOST_MOVEMENT)]
    pub seek_constant: Span,
    /// Factor on every seek and head switch. 1/2, 1/4 and 0 give the limit study of the intra-disk
    /// parallelism paper.
    #[param(default = 1.0, range = 0.0..=4.0)]
    pub seek_scale: f64,
    /// Factor on every rotational latency, both predicted and actual.
    #[param(default = 1.0, range = 0.0..=4.0)]
    pub rotation_scale: f64,
}

/// A scan of the whole medium during foreground work.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct MediaScan {
    /// Whether the medium is scanned, and how.
    pub mode: MediaScanMode,
    /// Size of a block of the scan; at most 2^32 blocks.
    #[param(default = Bytes(16 * 1024), range = Bytes(512)..=Bytes(1 << 30))]
    pub block: Bytes,
}

/// How the medium is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum MediaScanMode {
    /// Not at all.
    #[default]
    None,
    /// In the rotational waits of foreground accesses (freeblock scheduling).
    Freeblock,
    /// With the last arm assembly, which then serves no commands.
    OwnArm,
}

/// How far a drive reads ahead after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum ReadAhead {
    /// Not at all.
    #[default]
    None,
    /// To the end of the track.
    TrackEnd,
    /// To the end of the cylinder.
    CylinderEnd,
    /// Until `read_ahead_sectors` are read or the segment is full.
    Limit,
    /// To the end of the track of the next sector, and one track more if the segment's data begin on an
    /// earlier track.
    NextTrack,
}

/// Which reads start read-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum ReadAheadTrigger {
    /// Every read.
    #[default]
    Always,
    /// Reads that start where the previous request ended, if that was a read; and hits.
    Sequential,
}

/// When the drive checks whether the buffer holds the data of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum HitCheck {
    /// When the scheduler has chosen the request.
    #[default]
    Service,
    /// Also on arrival: a complete hit then never waits for the mechanism.
    Arrival,
}

/// Buffer segments, read-ahead and write policy.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults, check = CacheSpec::check_fields)]
pub struct CacheSpec {
    /// Whether the buffer keeps data for later requests.
    pub enabled: bool,
    /// Number of segments, each a contiguous range of addresses. 1 or more if `enabled`.
    #[param(default = 1, range = 0..=MOST_SEGMENTS)]
    pub segments: u32,
    /// Physical sectors per segment. 1 or more if `enabled`.
    #[param(default = 256, range = 0..=MOST_SECTORS)]
    pub segment_sectors: u32,
    /// How many segments may hold data that are not yet on the medium. 1 or more with `write_back`.
    #[param(default = 1, range = 0..=MOST_SEGMENTS)]
    pub write_segments: u32,
    /// Whether segment 0 is for writes only and never serves reads.
    pub separate_write_segment: bool,
    /// When reads are checked for hits.
    pub hit_check: HitCheck,
    /// How far the drive reads ahead.
    pub read_ahead: ReadAhead,
    /// Which reads start read-ahead.
    pub read_ahead_trigger: ReadAheadTrigger,
    /// Read-ahead ends this many sectors after the request; 0: limited by the segment only.
    #[param(range = 0..=MOST_SECTORS)]
    pub read_ahead_sectors: u32,
    /// Number of sectors before which read-ahead cannot be interrupted.
    #[param(range = 0..=MOST_SECTORS)]
    pub read_ahead_minimum: u32,
    /// Whether a complete hit starts read-ahead, if the segment is not being read ahead.
    pub read_ahead_on_idle_hit: bool,
    /// Whether requested sectors are dropped once sent; sectors read ahead are kept.
    pub discard_requested: bool,
    /// Whether sectors of the target track that pass before the first wanted one are kept.
    pub keep_passing_sectors: bool,
    /// Whether the whole track is kept one turn after a read, within the size of the segment.
    pub keep_whole_track: bool,
    /// Whether reads take each sector of a track at its first pass (zero latency, read on arrival).
    pub read_on_arrival: bool,
    /// The same for writes.
    pub write_on_arrival: bool,
    /// Whether an arriving request stops read-ahead inside a sector, instead of at its end.
    pub stop_read_ahead_in_sector: bool,
    /// Whether a read of the sector that is being read ahead is a partial hit.
    pub almost_hits: bool,
    /// Whether a write completes when its data are in the buffer (write-back) instead of on the medium.
    pub write_back: bool,
    /// Whether written data stay readable in the buffer after they are on the medium.
    #[param(default = true)]
    pub read_hits_on_written: bool,
    /// Whether a write that continues the unwritten data is appended to their segment.
    pub append_writes: bool,
    /// When unwritten data go to the medium.
    pub destage: Destage,
    /// With `destage = "idle"`: how long the drive must be idle first.
    #[param(range = Span::ZERO..=MOST_WAIT)]
    pub destage_after: Span,
    /// With `destage = "idle"`: data older than this are written even if commands wait; 0: never.
    #[param(default = Span(30_000_000_000), range = Span::ZERO..=MOST_WAIT)]
    pub destage_age: Span,
    /// With `destage = "idle"`: most unwritten data in the buffer, from one sector to the whole buffer. If absent,
    /// `write_segments` segments.
    pub dirty_limit: Option<Bytes>,
    /// With `destage = "idle"`: number of extents ahead, of which the one with the shortest positioning time
    /// is written next.
    #[param(default = 16, range = 1..=MOST_WINDOW)]
    pub destage_window: u32,
    /// With `destage = "idle"`: how long a sector of which only a part was written waits for the rest, before
    /// it is read, modified and written.
    #[param(default = Span(1_000_000_000), range = Span::ZERO..=MOST_WAIT)]
    pub partial_wait: Span,
    /// Share of the request (or segment) that must be in the buffer before the link is reselected for a read
    /// miss.
    #[param(range = 0.0..=1.0)]
    pub read_watermark: f64,
    /// Whether watermarks are shares of min(request, segment) instead of the segment.
    #[param(default = true)]
    pub watermark_of_request: bool,
}

/// When unwritten data go to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Destage {
    /// While they arrive: the command completes and its data are written to the medium. The next write waits
    /// for that, unless it continues the first.
    #[default]
    Immediate,
    /// Later: data wait, up to `dirty_limit`. They are written in the order of addresses when no command has
    /// used the mechanism for `destage_after`, or when the limit is reached.
    Idle,
}

impl Destage {
    /// All ways.
    pub const ALL: [Destage; 2] = [Destage::Immediate, Destage::Idle];
}

/// A pair of values for the two directions of the previous request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Table)]
#[table(defaults)]
pub struct AfterPrevious {
    /// After a read.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub after_read: Span,
    /// After a write.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub after_write: Span,
}

/// Processing time of commands, besides mechanics and link.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct OverheadSpec {
    /// Added to the arrival of every request.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub per_request: Span,
    /// Before the first byte of a read hit goes to the link.
    pub read_hit: AfterPrevious,
    /// Before the arm may start to move for a read miss.
    pub read_miss: AfterPrevious,
    /// Before link and arm start for a write that completes in the buffer.
    pub write_hit: AfterPrevious,
    /// Before link and arm start for a write that completes on the medium.
    pub write_miss: AfterPrevious,
    /// After the last data of a read.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub read_completion: Span,
    /// After the last data of a write.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub write_completion: Span,
    /// Before each transfer on the link.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub data_preparation: Span,
    /// Before the first reselection.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub first_reselect: Span,
    /// Before later reselections.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub other_reselect: Span,
    /// How long a read miss disconnects from the link, at least.
    pub read_disconnect: AfterPrevious,
    /// Disconnection after the data of a write have arrived.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub write_disconnect: Span,
    /// A second disconnection of writes that follow a write to another place (HP C2247A).
    pub extra_write_disconnect: Option<ExtraDisconnect>,
}

/// The second disconnection of a write that follows a write to another place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Table)]
#[table(defaults)]
pub struct ExtraDisconnect {
    /// Command overhead instead of the write's own.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub command: Span,
    /// First disconnection.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub disconnect: Span,
    /// Pause until reselection.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub pause: Span,
    /// Second disconnection.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub second_disconnect: Span,
    /// Time from the end of the command overhead to the earliest start of the arm.
    #[param(range = Span::ZERO..=MOST_OVERHEAD)]
    pub seek_delay: Span,
    /// Number of sectors that must have arrived before the medium is written (0: none).
    #[param(range = 0..=MOST_SECTORS)]
    pub buffered_sectors: u32,
    /// Requests of at least this many sectors wait for `buffered_sectors_long` instead.
    #[param(range = 0..=MOST_SECTORS)]
    pub long_request_sectors: u32,
    /// Number of sectors that must have arrived for such long requests.
    #[param(range = 0..=MOST_SECTORS)]
    pub buffered_sectors_long: u32,
}

/// The link between host and drive.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct LinkSpec {
    /// Data rate in both directions; or give the two sector times. A sector takes at most 100 ms.
    #[param(range = Bandwidth(5120.0)..=MOST_RATE)]
    pub rate: Option<Bandwidth>,
    /// Link time of one physical sector towards the host.
    #[param(range = Span::ZERO..=MOST_SECTOR)]
    pub read_sector_time: Option<Span>,
    /// Link time of one physical sector towards the drive.
    #[param(range = Span::ZERO..=MOST_SECTOR)]
    pub write_sector_time: Option<Span>,
    /// Whether the link stays connected for the whole command, without disconnection or reselection.
    pub never_disconnect: bool,
}

/// Number of commands that the drive holds, and the order in which it serves them.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct QueueSpec {
    /// Number of tags; further commands wait in order of arrival. 0: no limit.
    #[param(range = 0..=MOST_COMMANDS)]
    pub depth: u32,
    /// Which commands hold a tag.
    pub counts: QueueCounts,
    /// Name of the scheduler.
    #[param(default = DEFAULT_SCHEDULER.into(), kind = Kind::Name("scheduler"))]
    pub scheduler: String,
    /// Parameters of the scheduler.
    #[param(kind = Kind::Parameters("scheduler"), omit = Params::is_empty)]
    pub scheduler_parameters: Params,
    /// A command older than this is served next, whatever the scheduler prefers; 0: never.
    #[param(range = Span::ZERO..=MOST_WAIT)]
    pub age_limit: Span,
}

/// Which commands count against the depth of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum QueueCounts {
    /// Waiting commands and commands in service, as with native command queueing.
    #[default]
    Tags,
    /// Waiting commands only, as in DiskSim.
    Waiting,
}
