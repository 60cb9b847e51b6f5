//! The parameters of `model = "media-cache"`.

use crate::bounds::MOST_PAUSE;
use crate::mapping::beside::BESIDE;
use crate::mapping::zoned::Initial;
use crate::spec::{ArmShare, DriveSpec, MediaScanMode};
use headstack_schema::{read_beside, Choice, SpecError, Table};
use headstack_units::{Bytes, Span};

/// The parameters of a drive-managed shingled drive.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults, check = MediaCacheParameters::check_extents)]
pub struct MediaCacheParameters {
    /// Size of the media cache, less than half of the medium. It is not offered as capacity.
    #[param(default = Bytes(25_000_000_000), range = Bytes(1 << 20)..=Bytes(1 << 40))]
    pub cache_size: Bytes,
    /// The largest number of extents in the map of the cache, 8 or more; 0: no limit. The cache is full when its
    /// sectors or its extents are used up.
    pub cache_extents: u64,
    /// Size of a band, which is written as a whole. The last one may be smaller.
    #[param(default = Bytes(30 << 20), range = Bytes(1 << 16)..=Bytes(1 << 30))]
    pub band_size: Bytes,
    /// When bands are cleaned.
    pub cleaning: When,
    /// With `aggressive`: how long the drive must have been idle before it cleans.
    #[param(default = Span::from_ms(1200.0), range = Span::ZERO..=MOST_PAUSE)]
    pub clean_after: Span,
    /// Whether the bands are written at the start.
    pub initial: Initial,
}

/// When bands are cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum When {
    /// Whenever the drive is idle, and when the cache is full.
    #[default]
    Aggressive,
    /// When the cache is full.
    Lazy,
}

/// The parameters of a description; `None` if it has another mapping.
///
/// # Errors
/// Unknown keys, numbers outside their bounds, and settings of the drive that cannot be combined with a media cache, by
/// dotted key.
pub fn read(spec: &DriveSpec) -> Result<Option<MediaCacheParameters>, SpecError> {
    let named = spec.mapping.get("model").and_then(|m| m.as_str());
    if named != Some("media-cache") {
        return Ok(None);
    }
    let within = |e: SpecError| e.within("mapping");
    let p: MediaCacheParameters = read_beside(BESIDE, &spec.mapping).map_err(within)?;
    let sector = spec.geometry.sector_size;
    if p.band_size.0 % sector.0 != 0 {
        let need = format!("a multiple of the sector size, {sector}");
        return Err(within(SpecError::new("band_size", p.band_size, need)));
    }
    check_drive(spec)?;
    Ok(Some(p))
}

impl MediaCacheParameters {
    fn check_extents(&self) -> Result<(), SpecError> {
        match self.cache_extents {
            n @ 1..8 => Err(SpecError::new("cache_extents", n, "0, or 8 or more")),
            _ => Ok(()),
        }
    }
}

/// Refuses what is not supported together with a media cache.
fn check_drive(spec: &DriveSpec) -> Result<(), SpecError> {
    let refuse = |key: &str, got: String, need: &str| {
        let need = format!("{need}: this is not supported with mapping.model = \"media-cache\"");
        Err(SpecError::new(key, got, need))
    };
    let (dash, parallel) = (&spec.dash, &spec.parallelism);
    if dash.arms > 1 || dash.stacks > 1 || dash.heads > 1 {
        return refuse("dash", format!("{dash}"), "D1A1S1H1");
    }
    if parallel.arm_share == ArmShare::OwnShare {
        return refuse("parallelism.arm_share", "\"own-share\"".into(), "\"all\"");
    }
    if !parallel.faults.is_empty() {
        let got = format!("{} faults", parallel.faults.len());
        return refuse("parallelism.faults", got, "none");
    }
    if spec.media_scan.mode != MediaScanMode::None {
        return refuse("media_scan.mode", "a scan of the medium".into(), "\"none\"");
    }
    if spec.cache.write_on_arrival {
        return refuse("cache.write_on_arrival", "true".into(), "false");
    }
    Ok(())
}
