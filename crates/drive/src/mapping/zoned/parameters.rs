//! The parameters of `model = "zoned"`.

use crate::bounds::bounded;
use crate::plugin::params_beside;
use crate::spec::DriveSpec;
use headstack_engine::SpecError;
use headstack_units::Bytes;
use serde::{Deserialize, Serialize};

/// The parameters of a drive with host-managed zones.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Zoned {
    /// Size of a zone: a power of two, 64 KiB to 1 TiB. The last zone may be smaller.
    pub zone_size: Bytes,
    /// Number of conventional zones, which come first. Absent: one in a hundred, rounded up.
    pub conventional_zones: Option<u64>,
    /// The largest number of zones with a write pointer that may be open at once; 0: no limit.
    pub max_open_zones: u32,
    /// Whether reads may cross zones and pass write pointers (URSWRZ).
    pub unrestricted_reads: bool,
    /// The condition of the zones with a write pointer at the start.
    pub initial: Initial,
}

/// The condition of zones at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Initial {
    /// Nothing is written.
    #[default]
    Empty,
    /// Everything is written.
    Full,
}

impl Default for Zoned {
    fn default() -> Self {
        Zoned {
            zone_size: Bytes(256 << 20),
            conventional_zones: None,
            max_open_zones: 128,
            unrestricted_reads: false,
            initial: Initial::Empty,
        }
    }
}

impl Zoned {
    /// Number of conventional zones of a drive of `count` zones.
    pub(super) fn conventional(&self, count: u64) -> Result<u64, SpecError> {
        match self.conventional_zones {
            None => Ok(count.div_ceil(100)),
            Some(n) if n <= count => Ok(n),
            Some(n) => Err(SpecError::new(
                "mapping.conventional_zones",
                n,
                format!("at most the {count} zones of the drive"),
            )),
        }
    }
}

/// The zones of a description; `None` if it has none.
///
/// # Errors
/// Unknown keys and numbers outside their bounds, by dotted key.
pub(crate) fn read(spec: &DriveSpec) -> Result<Option<Zoned>, SpecError> {
    let named = spec.mapping.get("model").and_then(|m| m.as_str());
    if named != Some("zoned") {
        return Ok(None);
    }
    let within = |e: SpecError| e.within("mapping");
    let p: Zoned = params_beside(&["model"], &spec.mapping).map_err(within)?;
    bounded("zone_size", p.zone_size, Bytes(1 << 16)..=Bytes(1 << 40)).map_err(within)?;
    if !p.zone_size.0.is_power_of_two() {
        let need = "a power of two";
        return Err(within(SpecError::new("zone_size", p.zone_size, need)));
    }
    if spec.parallelism.logical_units {
        let need = "false: this is not supported with mapping.model = \"zoned\"";
        return Err(SpecError::new("parallelism.logical_units", true, need));
    }
    Ok(Some(p))
}
