//! The table `[mapping]` of a drive file.

use super::beside::BESIDE;
use super::cleaning::Cleaning;
use super::media_cache::MediaCacheParameters;
use super::policy::Policy;
use super::zoned::Zoned;
use crate::bounds::{bounded, MOST_WAIT};
use crate::parallelism::HeadOffset;
use crate::spec::{ArmShare, DriveSpec, MediaScanMode};
use headstack_schema::{
    name_in, read_beside, unknown_name, Choice, Kind, Params, Plugins, SpecError, Table, TableSchema,
};
use headstack_units::{Bytes, Span};

/// What `mapping.model` names.
pub const KIND: &str = "mapping";

/// The mappings by name, with one line on each.
pub const MODELS: &[(&str, &str)] = &[
    ("identity", "each address has a fixed place, that of the layout"),
    ("log", "a block is written where the heads can be soonest; its old copy becomes free"),
    ("media-cache", "drive-managed shingling: writes go to a cache on the medium, bands are cleaned later"),
    ("zoned", "host-managed zones: each is written from its start on (ZBC, ZAC)"),
];

/// The mappings by name, with their parameters.
pub fn tables() -> Vec<(String, TableSchema)> {
    let table = |(name, _): &(&str, &str)| {
        let table = match *name {
            "log" => LogParameters::schema(),
            "media-cache" => MediaCacheParameters::schema(),
            "zoned" => Zoned::schema(),
            _ => Identity::schema(),
        };
        (name.to_string(), table)
    };
    MODELS.iter().map(table).collect()
}

/// The parameters of `model = "identity"`.
#[derive(Debug, Table)]
struct Identity {}

/// The table `[mapping.recovery]` of a drive file.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct Recovery {
    /// How the map is found after a loss of power.
    pub model: RecoveryModel,
    /// With `checkpoint`: number of slots that are taken between two checkpoints.
    #[param(default = 10_000, range = 1..=1_000_000_000)]
    pub every: u64,
}

/// How the map is found after a loss of power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum RecoveryModel {
    /// The map need not be restored: it is in nonvolatile memory.
    #[default]
    None,
    /// All headers are read.
    Headers,
    /// The map is written from time to time; headers are read only on the tracks written since.
    Checkpoint,
}

/// The parameters of `model = "log"`.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults)]
pub struct LogParameters {
    /// Size of a block: the unit that is mapped. A power of two, at least a physical sector.
    #[param(default = Bytes(4096), range = Bytes(512)..=Bytes(16 << 20))]
    pub block: Bytes,
    /// Which free slot takes a block.
    #[param(default = "eager".into(), kind = Kind::Name("writing policy"))]
    pub policy: String,
    /// Parameters of the policy.
    #[param(kind = Kind::Parameters("writing policy"))]
    pub policy_parameters: Params,
    /// Share of the slots that are not offered as capacity.
    #[param(range = 0.0..=0.9)]
    pub reserve: f64,
    /// Number of blocks, counted from block 0, that were written before the run. At most the capacity.
    pub initial_blocks: u64,
    /// Where these blocks lie.
    pub initial: Initial,
    /// With `initial = "written"`: mean time between two writes, which arrive as a Poisson process.
    #[param(default = Span::from_ms(100.0), range = Span::ZERO..=MOST_WAIT)]
    pub initial_interval: Span,
    /// When and how cylinders are emptied: see `[mapping.cleaning]`.
    pub cleaning: Cleaning,
    /// How the map is restored after a loss of power: see `[mapping.recovery]`.
    pub recovery: Recovery,
}

/// Where the initial blocks lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Initial {
    /// Each in its place of the layout.
    #[default]
    InOrder,
    /// In order of address, with the free slots spread evenly over the disk: the state of a disk that has been
    /// written at random for a long time.
    Spread,
    /// Where the policy writes them, one after the other, starting from the initial positions of the arms.
    Written,
}

impl LogParameters {
    /// The number of blocks that the policy writes before the run, and the mean time between two.
    pub fn written_first(&self) -> Option<(u64, Span)> {
        let written = self.initial == Initial::Written && self.initial_blocks > 0;
        written.then_some((self.initial_blocks, self.initial_interval))
    }
}

/// The parameters of a log; `None` for other mappings. Their parameters are also checked here.
///
/// # Errors
/// Unknown models, keys and names, numbers outside their bounds, and settings of the drive that cannot be combined with
/// a log, by dotted key.
pub fn read(spec: &DriveSpec) -> Result<Option<LogParameters>, SpecError> {
    let table = &spec.mapping;
    if table.is_empty() {
        return Ok(None);
    }
    let within = |e: SpecError| e.within("mapping");
    let name = name_in(table, "model", "mapping model").map_err(within)?;
    match name {
        "identity" => {
            let read = read_beside(BESIDE, table);
            read.map(|Identity {}| None).map_err(within)
        }
        "media-cache" => super::media_cache::read(spec).map(|_| None),
        "zoned" => super::zoned::read(spec).map(|_| None),
        "log" => {
            let parameters = log(table, spec.geometry.sector_size).map_err(within)?;
            check_drive(spec, &parameters)?;
            Ok(Some(parameters))
        }
        "loge" | "mime" => Err(SpecError::new(
            "mapping.model",
            format!("{name:?}"),
            "model = \"log\" with policy = \"eager\" and a reserve, which writes as Loge does; its recovery is not supported",
        )),
        "trail" => Err(SpecError::new(
            "mapping.model",
            "\"trail\"",
            "another model: Trail is a mirror of a disk and a logging disk, as docs/models/shingled.md shows",
        )),
        other => Err(unknown_name("mapping.model", other, &MODELS.iter().map(|m| m.0).collect::<Vec<_>>())),
    }
}

fn log(table: &Params, sector: Bytes) -> Result<LogParameters, SpecError> {
    let p: LogParameters = read_beside(BESIDE, table)?;
    bounded("block", p.block, sector..=Bytes(16 << 20))?;
    if !p.block.0.is_power_of_two() {
        return Err(SpecError::new("block", p.block, "a power of two"));
    }
    Ok(p)
}

/// The policy of these parameters.
///
/// # Errors
/// An unknown name.
pub fn build_policy(p: &LogParameters, policies: &Plugins<dyn Policy>) -> Result<Box<dyn Policy>, SpecError> {
    policies.build_named("mapping.policy", &p.policy, &p.policy_parameters, ())
}

/// Refuses what is not supported together with a log.
fn check_drive(spec: &DriveSpec, p: &LogParameters) -> Result<(), SpecError> {
    let refuse = |key: &str, got: String, need: &str| {
        let need = format!("{need}: this is not supported with mapping.model = \"log\"");
        Err(SpecError::new(key, got, need))
    };
    let parallel = &spec.parallelism;
    if !parallel.faults.is_empty() {
        return refuse("parallelism.faults", format!("{} faults", parallel.faults.len()), "none");
    }
    if spec.dash.heads > 1 && parallel.heads == HeadOffset::Radial {
        return refuse("parallelism.heads", "\"radial\"".into(), "\"angular\"");
    }
    if spec.media_scan.mode != MediaScanMode::None {
        return refuse("media_scan.mode", "a scan of the medium".into(), "\"none\"");
    }
    if spec.cache.write_on_arrival {
        return refuse("cache.write_on_arrival", "true".into(), "false");
    }
    let units = spec.dash.stacks > 1 || parallel.arm_share == ArmShare::OwnShare;
    if p.initial_blocks > 0 && units {
        return refuse("mapping.initial_blocks", format!("{} with several stacks or shares", p.initial_blocks), "0");
    }
    Ok(())
}
