//! The schema of a drive: the content of `drives/*.toml`, and the result of every importer.
//!
//! Quantities are text with a unit; unknown keys are errors. Each number has a bound, which its field states
//! and [`DriveSpec::check`] checks. [`DriveSpec::sources`] says for each value where it comes from, or that
//! it was chosen.

use crate::layout;
use crate::models::Models;
pub use crate::parallelism::{
    ArmChoice, ArmShare, ArmSpec, Dash, FaultSpec, HeadOffset, ParallelismSpec, Parking, Role,
};
use crate::power::DEFAULT_MODEL;
use headstack_engine::describe::{by_kind, from_value};
use headstack_engine::SpecError;
use headstack_units::{Bandwidth, Bytes, Rpm, Span};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Parameters of a plug-in, as its file documents them; `model` names the plug-in.
pub type Params = serde_json::Map<String, Value>;

/// A complete drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveSpec {
    /// The name that experiments use, equal to the file's stem.
    pub name: String,
    /// Maker, family, model number and capacity, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// What the drive is an example of, and for what its file can and cannot be trusted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// When it came on the market. 1956 to 2100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub year: Option<u32>,
    /// Stacks, arm assemblies, surfaces at once and heads per arm: `D1A2S1H1`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dash: Dash,
    /// Settings that `dash` leaves open: angles, limits, faults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub parallelism: ParallelismSpec,
    /// Platters, tracks, zones and address order of one stack.
    pub geometry: GeometrySpec,
    /// Seek model and its parameters: `model = "table"` and so on, see the `seek` folder.
    pub seek: Params,
    /// Head switches and settling.
    #[serde(default)]
    pub positioning: PositioningSpec,
    /// Where on the medium written blocks go: see the `mapping` folder. Empty: `model = "identity"`.
    #[serde(default, skip_serializing_if = "Params::is_empty")]
    pub mapping: Params,
    /// A scan of the whole medium during foreground work.
    #[serde(default, skip_serializing_if = "is_default")]
    pub media_scan: MediaScan,
    /// Buffer segments, read-ahead and write policy.
    #[serde(default)]
    pub cache: CacheSpec,
    /// Processing time of commands, besides mechanics and link.
    #[serde(default)]
    pub overhead: OverheadSpec,
    /// The link between host and drive.
    #[serde(default)]
    pub link: LinkSpec,
    /// Number of commands that the drive holds, and the order in which it serves them.
    #[serde(default)]
    pub queue: QueueSpec,
    /// Power by state, see the `power` folder.
    #[serde(default = "default_power")]
    pub power: Params,
    /// Cost of the drive, see the `cost` folder; empty if unknown.
    #[serde(default, skip_serializing_if = "Params::is_empty")]
    pub cost: Params,
    /// The source of each value, by dotted key or a prefix of it (`"geometry.rotation_speed"`, `"seek"`): a
    /// document, or `chosen: why`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
}

impl DriveSpec {
    /// Reads a description. If a key of the geometry is missing, the layout, one of `models`, is asked whether
    /// it knows all keys that are there, because one of them may be a misspelling of the missing one.
    ///
    /// # Errors
    /// The dotted key, what was got, what is needed, and the nearest known name as a hint.
    pub fn from_value(value: Value, models: &Models) -> Result<DriveSpec, SpecError> {
        let geometry = value.get("geometry").and_then(Value::as_object).cloned();
        from_value(value).map_err(|error: SpecError| {
            let table = geometry.filter(|_| error.key.split('.').next() == Some("geometry"));
            let unknown = table.and_then(|t| layout::unknown_key(t, models.layouts));
            unknown.unwrap_or(error)
        })
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn default_power() -> Params {
    let mut params = Params::new();
    params.insert("model".into(), DEFAULT_MODEL.into());
    params
}

/// Platters, tracks, zones and the order of addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GeometrySpec {
    /// Spindle speed. 1 to 10^6 rpm.
    pub rotation_speed: Rpm,
    /// Recording surfaces (heads). 1 to 1024.
    pub surfaces: u32,
    /// Tracks per surface that the arm can reach, spare areas included; with the layout `adaptive`, tracks of a
    /// surface of nominal density. 1 to 5·10^7 (`adaptive`: a quarter of that).
    pub cylinders: u32,
    /// Size of a physical sector: 512 B or 4 KiB. Addresses count 512-byte blocks in both cases.
    #[serde(default = "default_sector")]
    pub sector_size: Bytes,
    /// The order of addresses, see the `layout` folder: `cylinder-major`, `serpentine` (heads
    /// reversed in odd cylinders of each zone), `serpentine-disk` (in odd cylinders of the disk),
    /// `banded`, `adaptive` (bands; each surface with bits and tracks per inch of its own), `extents`.
    #[serde(default = "default_layout")]
    pub layout: String,
    /// Whether skews and offsets are in sectors or in turns.
    #[serde(default)]
    pub skew_unit: SkewUnit,
    /// Where spare sectors lie, and how slipped sectors shift later ones.
    #[serde(default)]
    pub sparing: Sparing,
    /// Cylinders per range of [`Sparing::Range`]. 0 to 5·10^7.
    #[serde(default = "one")]
    pub sparing_range_cylinders: u32,
    /// The zones in order of address. 1 to 65535.
    pub zones: Vec<ZoneSpec>,
    /// Number of 512-byte blocks that the drive offers, if it is less than its zones hold. 1 to 2^46.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_blocks: Option<u64>,
    /// All other keys: parameters of the layout, which its file documents and checks.
    #[serde(flatten)]
    pub layout_parameters: Params,
    /// How this geometry was derived from a drive's, if it was. Never in a file.
    #[serde(skip)]
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

impl GeometrySpec {
    /// The keys that are not parameters of a layout.
    pub const KEYS: &[&str] = &[
        "rotation_speed",
        "surfaces",
        "cylinders",
        "sector_size",
        "layout",
        "skew_unit",
        "sparing",
        "sparing_range_cylinders",
        "zones",
        "capacity_blocks",
    ];
}

fn default_sector() -> Bytes {
    Bytes(512)
}
fn default_layout() -> String {
    "cylinder-major".into()
}
fn one() -> u32 {
    1
}

/// The unit of a zone's skews and offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// As `CylinderEnd`, but slips shift data up to the end of the zone. (4)
    CylinderEndSlipToZoneEnd,
    /// Spare sectors at the front of each cylinder; slips shift data inside it. (5)
    CylinderFront,
    /// As `CylinderFront`, but slips shift data up to the end of the zone. (6)
    CylinderFrontSlipToZoneEnd,
    /// Spares at the end of the disk. (7)
    DiskEnd,
    /// Spares at the end of each range of cylinders. (8)
    Range,
    /// Spares at the end of the zone. (9)
    ZoneEnd,
    /// As `ZoneEnd`, but slips use spares at the end of the disk. (10)
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneSpec {
    /// First cylinder. 0 to the disk's last.
    pub first_cylinder: u32,
    /// Last cylinder, inclusive. At most the disk's last.
    pub last_cylinder: u32,
    /// Physical sectors per track: one number for all surfaces, or one for each. 1 to 10^7.
    pub sectors_per_track: PerSurface,
    /// Angle between the first sectors of successive tracks of a cylinder, in `skew_unit`. -10^9 to 10^9,
    /// like the next two.
    #[serde(default)]
    pub track_skew: f64,
    /// Angle between the last track of a cylinder and the first track of the next, in `skew_unit`.
    #[serde(default)]
    pub cylinder_skew: f64,
    /// Angle of the zone's first sector, in `skew_unit`.
    #[serde(default)]
    pub offset: f64,
    /// Sectors at the front of the zone that have no address. Fewer than the zone has.
    #[serde(default)]
    pub empty_sectors: u32,
    /// Spare sectors (tracks for [`Sparing::Tracks`]) per zone, cylinder, track or range.
    #[serde(default)]
    pub spares: u32,
    /// Slipped sectors: physical indices from the zone's start (tracks for [`Sparing::Tracks`]). Within the
    /// zone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slips: Vec<u64>,
    /// Remapped sectors: `[from, to]`, physical indices from the zone's start. Within the zone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remaps: Vec<[u64; 2]>,
}

/// A count for all surfaces, or one for each.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PerSurface {
    /// The same on every surface.
    Same(u32),
    /// One for each surface, in head order.
    Each(Vec<u32>),
}

impl<'de> Deserialize<'de> for PerSurface {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let need = "one count for all surfaces, or a list with one for each";
        by_kind(deserializer, need, |value| match value {
            Value::Number(_) => Some(from_value(value).map(PerSurface::Same)),
            Value::Array(_) => Some(from_value(value).map(PerSurface::Each)),
            _ => None,
        })
    }
}

impl PerSurface {
    /// The count for this surface; if the list is short, its last one.
    pub fn of(&self, surface: u32) -> u32 {
        match self {
            PerSurface::Same(n) => *n,
            PerSurface::Each(list) => list
                .get(surface as usize)
                .or(list.last())
                .copied()
                .unwrap_or(0),
        }
    }
}

/// Head switches and settling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PositioningSpec {
    /// Time to switch to another head of the same cylinder. 0 to 1 s.
    pub head_switch: Span,
    /// Added to every seek or head switch before a write; may be negative. -1 to 1 s.
    pub write_settle: Span,
    /// Whether `write_settle` is also added to head switches within a cylinder, as in DiskSim, or to seeks
    /// only.
    pub settle_after_head_switch: bool,
    /// Whether `write_settle` is added before every write, also without a movement.
    pub settle_before_every_write: bool,
    /// Lower bound of the seek time before a write. 0 to 1 s.
    pub minimum_write: Span,
    /// Lower bound of the positioning time of a read miss after a read. 0 to 1 s.
    pub minimum_read_after_read: Span,
    /// Lower bound of the positioning time of a read miss after a write. 0 to 1 s.
    pub minimum_read_after_write: Span,
    /// Added to every seek of one cylinder or more; may be negative. -1 to 1 s.
    pub seek_constant: Span,
    /// Factor on every seek and head switch. 1/2, 1/4 and 0 give the limit study of the intra-disk
    /// parallelism paper. 0 to 4.
    pub seek_scale: f64,
    /// Factor on every rotational latency, both predicted and actual. 0 to 4.
    pub rotation_scale: f64,
}

impl Default for PositioningSpec {
    fn default() -> Self {
        PositioningSpec {
            head_switch: Span::ZERO,
            write_settle: Span::ZERO,
            settle_after_head_switch: true,
            settle_before_every_write: false,
            minimum_write: Span::ZERO,
            minimum_read_after_read: Span::ZERO,
            minimum_read_after_write: Span::ZERO,
            seek_constant: Span::ZERO,
            seek_scale: 1.0,
            rotation_scale: 1.0,
        }
    }
}

/// A scan of the whole medium during foreground work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MediaScan {
    /// Whether the medium is scanned, and how.
    pub mode: MediaScanMode,
    /// Size of a block of the scan. 512 B to 1 GiB; at most 2^32 blocks.
    pub block: Bytes,
}

impl Default for MediaScan {
    fn default() -> Self {
        MediaScan {
            mode: MediaScanMode::None,
            block: Bytes(16 * 1024),
        }
    }
}

/// How the medium is scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAheadTrigger {
    /// Every read.
    #[default]
    Always,
    /// Reads that start where the previous request ended, if that was a read; and hits.
    Sequential,
}

/// When the drive checks whether the buffer holds the data of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HitCheck {
    /// When the scheduler has chosen the request.
    #[default]
    Service,
    /// Also on arrival: a complete hit then never waits for the mechanism.
    Arrival,
}

/// Buffer segments, read-ahead and write policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CacheSpec {
    /// Whether the buffer keeps data for later requests.
    pub enabled: bool,
    /// Number of segments, each a contiguous range of addresses. 1 to 65536 if `enabled`.
    pub segments: u32,
    /// Physical sectors per segment. 1 to 2^24 if `enabled`.
    pub segment_sectors: u32,
    /// How many segments may hold data that are not yet on the medium. 1 to 65536 with `write_back`.
    pub write_segments: u32,
    /// Whether segment 0 is for writes only and never serves reads.
    pub separate_write_segment: bool,
    /// When reads are checked for hits.
    pub hit_check: HitCheck,
    /// How far the drive reads ahead.
    pub read_ahead: ReadAhead,
    /// Which reads start read-ahead.
    pub read_ahead_trigger: ReadAheadTrigger,
    /// Read-ahead ends this many sectors after the request; 0: limited by the segment only. 0 to 2^24.
    pub read_ahead_sectors: u32,
    /// Number of sectors before which read-ahead cannot be interrupted. 0 to 2^24.
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
    pub read_hits_on_written: bool,
    /// Whether a write that continues the unwritten data is appended to their segment.
    pub append_writes: bool,
    /// When unwritten data go to the medium.
    pub destage: Destage,
    /// With `destage = "idle"`: how long the drive must be idle first. 0 to 24 h.
    pub destage_after: Span,
    /// With `destage = "idle"`: data older than this are written even if commands wait; 0: never. 0 to 24 h.
    pub destage_age: Span,
    /// With `destage = "idle"`: most unwritten data in the buffer, from one sector to the whole buffer. If absent,
    /// `write_segments` segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_limit: Option<Bytes>,
    /// With `destage = "idle"`: number of extents ahead, of which the one with the shortest positioning time
    /// is written next. 1 to 1024.
    pub destage_window: u32,
    /// With `destage = "idle"`: how long a sector of which only a part was written waits for the rest, before
    /// it is read, modified and written. 0 to 24 h.
    pub partial_wait: Span,
    /// Share of the request (or segment) that must be in the buffer before the link is reselected for a read
    /// miss. 0 to 1.
    pub read_watermark: f64,
    /// Whether watermarks are shares of min(request, segment) instead of the segment.
    pub watermark_of_request: bool,
}

/// When unwritten data go to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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

impl Default for CacheSpec {
    fn default() -> Self {
        CacheSpec {
            enabled: false,
            segments: 1,
            segment_sectors: 256,
            write_segments: 1,
            separate_write_segment: false,
            hit_check: HitCheck::Service,
            read_ahead: ReadAhead::None,
            read_ahead_trigger: ReadAheadTrigger::Always,
            read_ahead_sectors: 0,
            read_ahead_minimum: 0,
            read_ahead_on_idle_hit: false,
            discard_requested: false,
            keep_passing_sectors: false,
            keep_whole_track: false,
            read_on_arrival: false,
            write_on_arrival: false,
            stop_read_ahead_in_sector: false,
            almost_hits: false,
            write_back: false,
            read_hits_on_written: true,
            append_writes: false,
            destage: Destage::Immediate,
            destage_after: Span::ZERO,
            destage_age: Span(30_000_000_000),
            dirty_limit: None,
            destage_window: 16,
            partial_wait: Span(1_000_000_000),
            read_watermark: 0.0,
            watermark_of_request: true,
        }
    }
}

/// A pair of values for the two directions of the previous request; each 0 to 10 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AfterPrevious {
    /// After a read.
    pub after_read: Span,
    /// After a write.
    pub after_write: Span,
}

/// Processing time of commands, besides mechanics and link; each 0 to 10 s.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadSpec {
    /// Added to the arrival of every request.
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
    pub read_completion: Span,
    /// After the last data of a write.
    pub write_completion: Span,
    /// Before each transfer on the link.
    pub data_preparation: Span,
    /// Before the first reselection.
    pub first_reselect: Span,
    /// Before later reselections.
    pub other_reselect: Span,
    /// How long a read miss disconnects from the link, at least.
    pub read_disconnect: AfterPrevious,
    /// Disconnection after the data of a write have arrived.
    pub write_disconnect: Span,
    /// A second disconnection of writes that follow a write to another place (HP C2247A).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_write_disconnect: Option<ExtraDisconnect>,
}

/// The second disconnection of a write that follows a write to another place. Times are 0 to 10 s, sectors 0
/// to 2^24.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExtraDisconnect {
    /// Command overhead instead of the write's own.
    pub command: Span,
    /// First disconnection.
    pub disconnect: Span,
    /// Pause until reselection.
    pub pause: Span,
    /// Second disconnection.
    pub second_disconnect: Span,
    /// Time from the end of the command overhead to the earliest start of the arm.
    pub seek_delay: Span,
    /// Number of sectors that must have arrived before the medium is written (0: none).
    pub buffered_sectors: u32,
    /// Requests of at least this many sectors wait for `buffered_sectors_long` instead.
    pub long_request_sectors: u32,
    /// Number of sectors that must have arrived for such long requests.
    pub buffered_sectors_long: u32,
}

/// The link between host and drive.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSpec {
    /// Data rate in both directions; or give the two sector times. A sector takes at most 100 ms; up to 1
    /// TB/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Bandwidth>,
    /// Link time of one physical sector towards the host. 0 to 100 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_sector_time: Option<Span>,
    /// Link time of one physical sector towards the drive. 0 to 100 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_sector_time: Option<Span>,
    /// Whether the link stays connected for the whole command, without disconnection or reselection.
    pub never_disconnect: bool,
}

/// Number of commands that the drive holds, and the order in which it serves them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueSpec {
    /// Number of tags; further commands wait in order of arrival. 0: no limit. At most 2^20.
    pub depth: u32,
    /// Which commands hold a tag.
    pub counts: QueueCounts,
    /// Name of a scheduler of the `scheduler` folder.
    pub scheduler: String,
    /// Parameters of the scheduler, as its file documents.
    #[serde(skip_serializing_if = "Params::is_empty")]
    pub scheduler_parameters: Params,
    /// A command older than this is served next, whatever the scheduler prefers; 0: never. 0 to 24 h.
    pub age_limit: Span,
}

/// Which commands count against the depth of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueCounts {
    /// Waiting commands and commands in service, as with native command queueing.
    #[default]
    Tags,
    /// Waiting commands only, as in DiskSim.
    Waiting,
}

impl Default for QueueSpec {
    fn default() -> Self {
        QueueSpec {
            depth: 0,
            counts: QueueCounts::Tags,
            scheduler: "fcfs".into(),
            scheduler_parameters: Params::new(),
            age_limit: Span::ZERO,
        }
    }
}
