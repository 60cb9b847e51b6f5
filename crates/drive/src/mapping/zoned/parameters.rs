//! The parameters of `model = "zoned"`.

use crate::mapping::beside::BESIDE;
use crate::spec::DriveSpec;
use headstack_schema::{read_beside, Choice, SpecError, Table};
use headstack_units::Bytes;

/// The parameters of a drive with host-managed zones.
#[derive(Debug, Clone, PartialEq, Table)]
#[table(defaults, check = Zoned::check_size)]
#[doc(hidden)]
pub struct Zoned {
    /// Size of a zone: a power of two. The last zone may be smaller.
    #[param(default = Bytes(256 << 20), range = Bytes(1 << 16)..=Bytes(1 << 40))]
    pub zone_size: Bytes,
    /// Number of conventional zones, which come first. Absent: one in a hundred, rounded up.
    pub conventional_zones: Option<u64>,
    /// The largest number of zones with a write pointer that may be open at once; 0: no limit.
    #[param(default = 128)]
    pub max_open_zones: u32,
    /// Whether reads may cross zones and pass write pointers (URSWRZ).
    pub unrestricted_reads: bool,
    /// The condition of the zones with a write pointer at the start.
    pub initial: Initial,
}

/// The condition of zones at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Choice)]
pub enum Initial {
    /// Nothing is written.
    #[default]
    Empty,
    /// Everything is written.
    Full,
}

impl Zoned {
    fn check_size(&self) -> Result<(), SpecError> {
        match self.zone_size.0.is_power_of_two() {
            true => Ok(()),
            false => Err(SpecError::new("zone_size", self.zone_size, "a power of two")),
        }
    }

    /// Number of conventional zones of a drive of `count` zones.
    pub(super) fn conventional(&self, count: u64) -> Result<u64, SpecError> {
        match self.conventional_zones {
            None => Ok(count.div_ceil(100)),
            Some(n) if n <= count => Ok(n),
            Some(n) => {
                Err(SpecError::new("mapping.conventional_zones", n, format!("at most the {count} zones of the drive")))
            }
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
    let p: Zoned = read_beside(BESIDE, &spec.mapping).map_err(within)?;
    if spec.parallelism.logical_units {
        let need = "false: this is not supported with mapping.model = \"zoned\"";
        return Err(SpecError::new("parallelism.logical_units", true, need));
    }
    Ok(Some(p))
}
