//! What several parameters of a description must keep to together. Each parameter alone is checked against the bounds
//! that its field states.

use crate::bounds::{bounded, MOST_RATE, MOST_SCANNED, MOST_SECTOR, MOST_SECTORS, MOST_SEGMENTS};
use crate::parallelism::{ArmShare, Dash, ParallelismSpec};
use crate::roles::{self, RolesSpec};
use crate::spec::{CacheSpec, DriveSpec, GeometrySpec, LinkSpec, MediaScan, MediaScanMode, ZoneSpec};
use headstack_schema::{Parameter, SpecError};
use headstack_units::{Bandwidth, Bytes};

impl DriveSpec {
    /// Checks every parameter against its bounds, and the tables against each other, except the parameters of
    /// models.
    ///
    /// # Errors
    /// The dotted key, the value and its bound.
    pub fn check(&self) -> Result<(), SpecError> {
        Parameter::check(self)?;
        let geometry = &self.geometry;
        self.parallelism.check_against(self.dash, geometry)?;
        let scan = self.media_scan.check_size(geometry);
        scan.map_err(|e| e.within("media_scan"))?;
        let link = self.link.check_rate(geometry.sector_size);
        link.map_err(|e| e.within("link"))
    }

    /// Checks the room for writes. After the geometry was built: a misspelt size of sectors is named there.
    ///
    /// # Errors
    /// As of [`DriveSpec::check`].
    pub(crate) fn check_room(&self) -> Result<(), SpecError> {
        self.cache.check_size(self.geometry.sector_size).map_err(|e| e.within("cache"))
    }
}

impl GeometrySpec {
    /// Checks every parameter against its bounds. Layouts check their own, and zones against the size.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        Parameter::check(self).map_err(|e| e.within("geometry"))
    }

    pub(crate) fn check_fields(&self) -> Result<(), SpecError> {
        if !matches!(self.sector_size.0, 512 | 4096) {
            let need = "512 B or 4 KiB";
            return Err(SpecError::new("sector_size", self.sector_size, need));
        }
        match self.zones.len() {
            1..=65_535 => Ok(()),
            n => Err(SpecError::new("zones", n, "1 to 65535 zones")),
        }
    }
}

impl MediaScan {
    fn check_size(&self, geometry: &GeometrySpec) -> Result<(), SpecError> {
        let MediaScan { mode, block } = self;
        if *mode == MediaScanMode::None {
            return Ok(());
        }
        let tracks = u128::from(geometry.cylinders) * u128::from(geometry.surfaces);
        let longest = |z: &ZoneSpec| (0..geometry.surfaces).map(|h| z.sectors_per_track.of(h)).max();
        let most = geometry.zones.iter().filter_map(longest).max().unwrap_or(0);
        let bytes = tracks * u128::from(most) * u128::from(geometry.sector_size.0);
        let least = bytes.div_ceil(MOST_SCANNED);
        if u128::from(block.0) < least {
            let need = format!("at least {least} B for a medium of that size");
            return Err(SpecError::new("block", block, need));
        }
        Ok(())
    }
}

impl CacheSpec {
    pub(crate) fn check_fields(&self) -> Result<(), SpecError> {
        let least = |needed: bool| u32::from(needed);
        let of_enabled = least(self.enabled);
        bounded("segments", self.segments, of_enabled..=MOST_SEGMENTS)?;
        if self.enabled && self.separate_write_segment && self.segments < 2 {
            let need = "2 or more, one of which is for writes (separate_write_segment)";
            return Err(SpecError::new("segments", self.segments, need));
        }
        let sectors = self.segment_sectors;
        bounded("segment_sectors", sectors, of_enabled..=MOST_SECTORS)?;
        let of_write_back = least(self.write_back);
        let segments = self.write_segments;
        bounded("write_segments", segments, of_write_back..=MOST_SEGMENTS)?;
        Ok(())
    }

    /// With `destage = "idle"`: most unwritten data in the buffer, with physical sectors of this size.
    pub fn write_room(&self, sector: Bytes) -> Bytes {
        let segment = u64::from(self.segment_sectors) * sector.0;
        let segments = Bytes(segment.saturating_mul(u64::from(self.write_segments)));
        self.dirty_limit.unwrap_or(segments)
    }

    fn check_size(&self, sector: Bytes) -> Result<(), SpecError> {
        let buffer = u64::from(self.segments) * u64::from(self.segment_sectors) * sector.0;
        let fits = |limit: &Bytes| limit.0 >= sector.0 && (limit.0 <= buffer || !self.enabled);
        if let Some(limit) = self.dirty_limit.filter(|l| !fits(l)) {
            let need = format!("a sector to the whole buffer, {}", Bytes(buffer));
            return Err(SpecError::new("dirty_limit", limit, need));
        }
        Ok(())
    }
}

impl LinkSpec {
    fn check_rate(&self, sector: Bytes) -> Result<(), SpecError> {
        if let Some(rate) = self.rate {
            let least = sector.0 as f64 * 1e9 / MOST_SECTOR.0 as f64;
            bounded("rate", rate, Bandwidth(least)..=MOST_RATE)?;
        }
        Ok(())
    }
}

impl ParallelismSpec {
    /// Checks the degrees of parallelism and these settings against each other.
    fn check_against(&self, dash: Dash, geometry: &GeometrySpec) -> Result<(), SpecError> {
        let at = |key: &str| format!("parallelism.{key}");
        if !self.arms.is_empty() && self.arms.len() as u32 != dash.arms {
            return Err(SpecError::new(
                at("arms"),
                format!("{} assemblies", self.arms.len()),
                format!("{}, as dash = \"{dash}\" says", dash.arms),
            ));
        }
        for (key, value) in [("arms_in_motion", self.arms_in_motion), ("channels", self.channels)] {
            if value > dash.arms {
                return Err(SpecError::new(
                    at(key),
                    value,
                    format!("at most the {} assemblies of a stack (0: all)", dash.arms),
                ));
            }
        }
        if let RolesSpec::Table(table) = &self.roles {
            roles::check(table, self, dash)?;
        }
        if self.arm_share == ArmShare::OwnShare && geometry.surfaces % dash.arms != 0 {
            return Err(SpecError::new(
                at("arm_share"),
                format!("{} surfaces for {} assemblies", geometry.surfaces, dash.arms),
                "an equal number of surfaces for each",
            ));
        }
        if self.stack_unit.0 % 512 != 0 {
            return Err(SpecError::new(
                at("stack_unit"),
                self.stack_unit,
                "a multiple of 512 B (0: one stack after another)",
            ));
        }
        if !self.faults.is_empty() && geometry.surfaces > 64 {
            return Err(SpecError::new(
                "geometry.surfaces",
                geometry.surfaces,
                "at most 64 where faults are described",
            ));
        }
        for (i, arm) in self.arms.iter().enumerate() {
            bounded(at(&format!("arms[{i}].start_cylinder")), arm.start_cylinder, 0..=geometry.cylinders - 1)?;
        }
        self.check_faults(dash, geometry)
    }

    /// Checks when each fault occurs, and that the drive has the part.
    fn check_faults(&self, dash: Dash, geometry: &GeometrySpec) -> Result<(), SpecError> {
        for (i, f) in self.faults.iter().enumerate() {
            let key = |k: &str| format!("parallelism.faults[{i}].{k}");
            match (f.at, f.mean_time_to_failure) {
                (Some(_), None) | (None, Some(_)) => {}
                (a, _) => {
                    let got = if a.is_some() { "both" } else { "neither" };
                    return Err(SpecError::new(key("at"), got, "one of at and mean_time_to_failure"));
                }
            }
            for (k, value, limit) in [
                ("stack", f.stack, dash.stacks),
                ("arm", f.arm, dash.arms),
                ("surface", f.surface.unwrap_or(0), geometry.surfaces),
            ] {
                if value >= limit {
                    return Err(SpecError::new(key(k), value, format!("less than {limit}: they count from 0")));
                }
            }
        }
        Ok(())
    }
}
