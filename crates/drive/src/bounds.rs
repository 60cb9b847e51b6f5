//! Bounds of the numbers of a description, one function for each table.
//!
//! The bounds are wider than any disk needs. They are narrow enough that no sum or product during a run
//! overflows: a command takes minutes at most, a run of 10^8 commands stays below the 584 years of 64 bits of
//! nanoseconds, and an address in blocks fits 50 bits. Each function names every field of its table, so that
//! none is forgotten. Plug-ins check their own parameters.

use crate::parallelism::Dash;
use crate::spec::{
    AfterPrevious, CacheSpec, DriveSpec, ExtraDisconnect, GeometrySpec, LinkSpec, MediaScan,
    MediaScanMode, OverheadSpec, PerSurface, PositioningSpec, QueueSpec,
};
use headstack_engine::SpecError;
use headstack_units::{Bandwidth, Bytes, Rpm, Span};
use std::fmt::Display;
use std::ops::RangeInclusive;

const NS_PER_S: i64 = 1_000_000_000;

/// Controller overhead of one command.
pub(crate) const MOST_OVERHEAD: Span = Span(10 * NS_PER_S);
/// One seek, head switch or settling.
pub(crate) const MOST_MOVEMENT: Span = Span(NS_PER_S);
/// Transfer of one physical sector over the link: some kilobytes per second.
const MOST_SECTOR: Span = Span(NS_PER_S / 10);
/// How long a command or data may be left waiting.
const MOST_WAIT: Span = Span(24 * 3600 * NS_PER_S);
/// A recovery or a spin-up.
pub(crate) const MOST_PAUSE: Span = Span(3600 * NS_PER_S);
/// When a part may fail: a hundred years of 365 days.
pub(crate) const MOST_LIFE: Span = Span(100 * 365 * 24 * 3600 * NS_PER_S);
/// Mean time to failure; the 2.5 million hours of data sheets are 285 years.
pub(crate) const MOST_MEAN_LIFE: Span = Span(290 * 365 * 24 * 3600 * NS_PER_S);
/// Sectors of a segment, of read-ahead or of a threshold.
const MOST_SECTORS: u32 = 1 << 24;
/// The year of the IBM 350, the first disk drive.
const FIRST_DISK: u32 = 1956;
const LATEST_DISK: u32 = 2100;
/// Extents among which destaging chooses.
const MOST_WINDOW: u32 = 1024;
const MOST_SEGMENTS: u32 = 65_536;
pub(crate) const MOST_COMMANDS: u32 = 1 << 20;
/// Cylinders of a disk.
pub(crate) const MOST_CYLINDERS: u32 = 50_000_000;
/// Recording surfaces of a stack.
pub(crate) const MOST_SURFACES: u32 = 1024;
/// Sectors of a track, summed over surfaces that work at once.
pub(crate) const MOST_TRACK: u32 = 10_000_000;
/// 512-byte blocks of a stack: 36 PB.
pub(crate) const MOST_BLOCKS: u64 = 1 << 46;
/// Blocks that a scan of the medium keeps track of.
pub(crate) const MOST_SCANNED: u128 = 1 << 32;

/// `value`, or an error at `key` if it is outside `range` or not a number.
pub(crate) fn bounded<T: PartialOrd + Display>(
    key: impl Into<String>,
    value: T,
    range: RangeInclusive<T>,
) -> Result<T, SpecError> {
    if range.contains(&value) {
        return Ok(value);
    }
    let need = format!("{} to {}", range.start(), range.end());
    Err(SpecError::new(key, value, need))
}

impl DriveSpec {
    /// Checks every number against its bound, except the parameters of plug-ins.
    ///
    /// # Errors
    /// The dotted key, the value and its bound.
    pub fn check(&self) -> Result<(), SpecError> {
        let DriveSpec {
            name: _,
            title: _,
            description: _,
            year,
            dash,
            parallelism,
            geometry,
            seek: _,
            positioning,
            mapping: _,
            media_scan,
            cache,
            overhead,
            link,
            queue,
            power: _,
            cost: _,
            sources: _,
        } = self;
        let Dash {
            stacks,
            arms,
            surfaces,
            heads,
        } = dash;
        for degree in [stacks, arms, surfaces, heads] {
            bounded("dash", *degree, 1..=Dash::MOST)?;
        }
        if let Some(year) = year {
            bounded("year", *year, FIRST_DISK..=LATEST_DISK)?;
        }
        geometry.check()?;
        parallelism.check(*dash, geometry)?;
        positioning.check().map_err(|e| e.within("positioning"))?;
        media_scan
            .check(geometry)
            .map_err(|e| e.within("media_scan"))?;
        cache
            .check(geometry.sector_size)
            .map_err(|e| e.within("cache"))?;
        overhead.check().map_err(|e| e.within("overhead"))?;
        link.check(geometry.sector_size)
            .map_err(|e| e.within("link"))?;
        queue.check().map_err(|e| e.within("queue"))
    }
}

impl GeometrySpec {
    /// Checks the geometry and the number of sectors of each zone's tracks. Layouts check the rest of a zone
    /// against its size.
    pub(crate) fn check(&self) -> Result<(), SpecError> {
        let GeometrySpec {
            rotation_speed,
            surfaces,
            cylinders,
            sector_size,
            layout: _,
            skew_unit: _,
            sparing: _,
            sparing_range_cylinders,
            zones,
            capacity_blocks,
            layout_parameters: _,
            derived: _,
        } = self;
        bounded("geometry.surfaces", *surfaces, 1..=MOST_SURFACES)?;
        bounded("geometry.cylinders", *cylinders, 1..=MOST_CYLINDERS)?;
        bounded(
            "geometry.rotation_speed",
            *rotation_speed,
            Rpm(1.0)..=Rpm(1e6),
        )?;
        if !matches!(sector_size.0, 512 | 4096) {
            return Err(SpecError::new(
                "geometry.sector_size",
                sector_size,
                "512 B or 4 KiB",
            ));
        }
        bounded(
            "geometry.sparing_range_cylinders",
            *sparing_range_cylinders,
            0..=MOST_CYLINDERS,
        )?;
        if zones.is_empty() || zones.len() > u16::MAX as usize {
            return Err(SpecError::new(
                "geometry.zones",
                zones.len(),
                "1 to 65535 zones",
            ));
        }
        for (i, zone) in zones.iter().enumerate() {
            let sectors = match &zone.sectors_per_track {
                PerSurface::Same(n) => std::slice::from_ref(n),
                PerSurface::Each(list) => list,
            };
            for n in sectors {
                let key = format!("geometry.zones[{i}].sectors_per_track");
                bounded(key, *n, 1..=MOST_TRACK)?;
            }
        }
        if let Some(blocks) = capacity_blocks {
            bounded("geometry.capacity_blocks", *blocks, 1..=MOST_BLOCKS)?;
        }
        Ok(())
    }
}

impl PositioningSpec {
    fn check(&self) -> Result<(), SpecError> {
        let PositioningSpec {
            head_switch,
            write_settle,
            settle_after_head_switch: _,
            settle_before_every_write: _,
            minimum_write,
            minimum_read_after_read,
            minimum_read_after_write,
            seek_constant,
            seek_scale,
            rotation_scale,
        } = self;
        for (key, span) in [
            ("head_switch", head_switch),
            ("minimum_write", minimum_write),
            ("minimum_read_after_read", minimum_read_after_read),
            ("minimum_read_after_write", minimum_read_after_write),
        ] {
            bounded(key, *span, Span::ZERO..=MOST_MOVEMENT)?;
        }
        for (key, span) in [
            ("write_settle", write_settle),
            ("seek_constant", seek_constant),
        ] {
            bounded(key, *span, Span(-MOST_MOVEMENT.0)..=MOST_MOVEMENT)?;
        }
        bounded("seek_scale", *seek_scale, 0.0..=4.0)?;
        bounded("rotation_scale", *rotation_scale, 0.0..=4.0)?;
        Ok(())
    }
}

impl MediaScan {
    fn check(&self, geometry: &GeometrySpec) -> Result<(), SpecError> {
        let MediaScan { mode, block } = self;
        bounded("block", *block, Bytes(512)..=Bytes(1 << 30))?;
        if *mode == MediaScanMode::None {
            return Ok(());
        }
        let tracks = u128::from(geometry.cylinders) * u128::from(geometry.surfaces);
        let longest = |z: &crate::spec::ZoneSpec| {
            (0..geometry.surfaces)
                .map(|h| z.sectors_per_track.of(h))
                .max()
        };
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
    fn check(&self, sector: Bytes) -> Result<(), SpecError> {
        let CacheSpec {
            enabled,
            segments,
            segment_sectors,
            write_segments,
            separate_write_segment,
            hit_check: _,
            read_ahead: _,
            read_ahead_trigger: _,
            read_ahead_sectors,
            read_ahead_minimum,
            read_ahead_on_idle_hit: _,
            discard_requested: _,
            keep_passing_sectors: _,
            keep_whole_track: _,
            read_on_arrival: _,
            write_on_arrival: _,
            stop_read_ahead_in_sector: _,
            almost_hits: _,
            write_back,
            read_hits_on_written: _,
            append_writes: _,
            destage: _,
            destage_after,
            destage_age,
            dirty_limit,
            destage_window,
            partial_wait,
            read_watermark,
            watermark_of_request: _,
        } = self;
        let least = |needed: bool| u32::from(needed);
        bounded("segments", *segments, least(*enabled)..=MOST_SEGMENTS)?;
        if *enabled && *separate_write_segment && *segments < 2 {
            return Err(SpecError::new(
                "segments",
                segments,
                "2 or more, one of which is for writes (separate_write_segment)",
            ));
        }
        bounded(
            "segment_sectors",
            *segment_sectors,
            least(*enabled)..=MOST_SECTORS,
        )?;
        bounded(
            "write_segments",
            *write_segments,
            least(*write_back)..=MOST_SEGMENTS,
        )?;
        bounded("read_ahead_sectors", *read_ahead_sectors, 0..=MOST_SECTORS)?;
        bounded("read_ahead_minimum", *read_ahead_minimum, 0..=MOST_SECTORS)?;
        bounded("destage_after", *destage_after, Span::ZERO..=MOST_WAIT)?;
        bounded("destage_age", *destage_age, Span::ZERO..=MOST_WAIT)?;
        bounded("partial_wait", *partial_wait, Span::ZERO..=MOST_WAIT)?;
        bounded("destage_window", *destage_window, 1..=MOST_WINDOW)?;
        bounded("read_watermark", *read_watermark, 0.0..=1.0)?;
        let buffer = u64::from(*segments) * u64::from(*segment_sectors) * sector.0;
        let fits = |limit: &Bytes| limit.0 >= sector.0 && (limit.0 <= buffer || !enabled);
        if let Some(limit) = dirty_limit.filter(|l| !fits(l)) {
            let need = format!("a sector to the whole buffer, {}", Bytes(buffer));
            return Err(SpecError::new("dirty_limit", limit, need));
        }
        Ok(())
    }
}

/// Checks both values of a pair.
fn pair(key: &str, pair: &AfterPrevious) -> Result<(), SpecError> {
    let AfterPrevious {
        after_read,
        after_write,
    } = pair;
    for (after, span) in [("after_read", after_read), ("after_write", after_write)] {
        bounded(format!("{key}.{after}"), *span, Span::ZERO..=MOST_OVERHEAD)?;
    }
    Ok(())
}

impl OverheadSpec {
    fn check(&self) -> Result<(), SpecError> {
        let OverheadSpec {
            per_request,
            read_hit,
            read_miss,
            write_hit,
            write_miss,
            read_completion,
            write_completion,
            data_preparation,
            first_reselect,
            other_reselect,
            read_disconnect,
            write_disconnect,
            extra_write_disconnect,
        } = self;
        for (key, span) in [
            ("per_request", per_request),
            ("read_completion", read_completion),
            ("write_completion", write_completion),
            ("data_preparation", data_preparation),
            ("first_reselect", first_reselect),
            ("other_reselect", other_reselect),
            ("write_disconnect", write_disconnect),
        ] {
            bounded(key, *span, Span::ZERO..=MOST_OVERHEAD)?;
        }
        pair("read_hit", read_hit)?;
        pair("read_miss", read_miss)?;
        pair("write_hit", write_hit)?;
        pair("write_miss", write_miss)?;
        pair("read_disconnect", read_disconnect)?;
        match extra_write_disconnect {
            Some(extra) => extra
                .check()
                .map_err(|e| e.within("extra_write_disconnect")),
            None => Ok(()),
        }
    }
}

impl ExtraDisconnect {
    fn check(&self) -> Result<(), SpecError> {
        let ExtraDisconnect {
            command,
            disconnect,
            pause,
            second_disconnect,
            seek_delay,
            buffered_sectors,
            long_request_sectors,
            buffered_sectors_long,
        } = self;
        for (key, span) in [
            ("command", command),
            ("disconnect", disconnect),
            ("pause", pause),
            ("second_disconnect", second_disconnect),
            ("seek_delay", seek_delay),
        ] {
            bounded(key, *span, Span::ZERO..=MOST_OVERHEAD)?;
        }
        for (key, sectors) in [
            ("buffered_sectors", buffered_sectors),
            ("long_request_sectors", long_request_sectors),
            ("buffered_sectors_long", buffered_sectors_long),
        ] {
            bounded(key, *sectors, 0..=MOST_SECTORS)?;
        }
        Ok(())
    }
}

impl LinkSpec {
    fn check(&self, sector: Bytes) -> Result<(), SpecError> {
        let LinkSpec {
            rate,
            read_sector_time,
            write_sector_time,
            never_disconnect: _,
        } = self;
        if let Some(rate) = rate {
            let least = sector.0 as f64 * 1e9 / MOST_SECTOR.0 as f64;
            bounded("rate", *rate, Bandwidth(least)..=Bandwidth(1e12))?;
        }
        for (key, span) in [
            ("read_sector_time", read_sector_time),
            ("write_sector_time", write_sector_time),
        ] {
            if let Some(span) = span {
                bounded(key, *span, Span::ZERO..=MOST_SECTOR)?;
            }
        }
        Ok(())
    }
}

impl QueueSpec {
    fn check(&self) -> Result<(), SpecError> {
        let QueueSpec {
            depth,
            counts: _,
            scheduler: _,
            scheduler_parameters: _,
            age_limit,
        } = self;
        bounded("depth", *depth, 0..=MOST_COMMANDS)?;
        bounded("age_limit", *age_limit, Span::ZERO..=MOST_WAIT)?;
        Ok(())
    }
}
