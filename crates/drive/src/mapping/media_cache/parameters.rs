//! The parameters of `model = "media-cache"`.

use crate::bounds::bounded;
use crate::mapping::zoned::Initial;
use crate::plugin::params_beside;
use crate::spec::{ArmShare, DriveSpec, MediaScanMode};
use headstack_engine::SpecError;
use headstack_units::{Bytes, Span};
use serde::Deserialize;

/// The parameters of a drive-managed shingled drive.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MediaCacheParameters {
    /// Size of the media cache: 1 MiB to 1 TiB, and less than half of the medium. It is not offered as capacity.
    pub cache_size: Bytes,
    /// The largest number of extents in the map of the cache, 8 or more; 0: no limit. The cache is full when its
    /// sectors or its extents are used up.
    pub cache_extents: u64,
    /// Size of a band, which is written as a whole: 64 KiB to 1 GiB. The last one may be smaller.
    pub band_size: Bytes,
    /// When bands are cleaned.
    pub cleaning: When,
    /// With `aggressive`: how long the drive must have been idle before it cleans. 0 to 1 h.
    pub clean_after: Span,
    /// Whether the bands are written at the start.
    pub initial: Initial,
}

/// When bands are cleaned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum When {
    /// Whenever the drive is idle, and when the cache is full.
    #[default]
    Aggressive,
    /// When the cache is full.
    Lazy,
}

impl Default for MediaCacheParameters {
    fn default() -> Self {
        MediaCacheParameters {
            cache_size: Bytes(25_000_000_000),
            cache_extents: 0,
            band_size: Bytes(30 << 20),
            cleaning: When::Aggressive,
            clean_after: Span::from_ms(1200.0),
            initial: Initial::Empty,
        }
    }
}

/// The parameters of a description; `None` if it has another mapping.
///
/// # Errors
/// Unknown keys, numbers outside their bounds, and settings of the drive that cannot be combined with a media cache, by
/// dotted key.
pub(crate) fn read(spec: &DriveSpec) -> Result<Option<MediaCacheParameters>, SpecError> {
    let named = spec.mapping.get("model").and_then(|m| m.as_str());
    if named != Some("media-cache") {
        return Ok(None);
    }
    let within = |e: SpecError| e.within("mapping");
    let p: MediaCacheParameters = params_beside(&["model"], &spec.mapping).map_err(within)?;
    check(&p, spec.geometry.sector_size).map_err(within)?;
    check_drive(spec)?;
    Ok(Some(p))
}

fn check(p: &MediaCacheParameters, sector: Bytes) -> Result<(), SpecError> {
    bounded("cache_size", p.cache_size, Bytes(1 << 20)..=Bytes(1 << 40))?;
    bounded("band_size", p.band_size, Bytes(1 << 16)..=Bytes(1 << 30))?;
    if p.band_size.0 % sector.0 != 0 {
        let need = format!("a multiple of the sector size, {sector}");
        return Err(SpecError::new("band_size", p.band_size, need));
    }
    if (1..8).contains(&p.cache_extents) {
        let need = "0, or 8 or more";
        return Err(SpecError::new("cache_extents", p.cache_extents, need));
    }
    let most = Span(3600 * 1_000_000_000);
    bounded("clean_after", p.clean_after, Span::ZERO..=most)?;
    Ok(())
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
