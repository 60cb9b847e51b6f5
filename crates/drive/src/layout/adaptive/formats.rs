//! The formats of the surfaces as densities, for tables and figures.

use super::Adaptive;
use serde::Serialize;
use std::f64::consts::PI;

const INCH_M: f64 = 0.0254;

/// The format of a surface in a zone, with its densities if the radii of the disk are known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SurfaceFormat {
    /// Tracks in a full band.
    pub tracks_per_band: u32,
    /// Sectors of a track.
    pub sectors_per_track: u32,
    /// Rate within a track, in bytes per second.
    pub rate_bytes_per_s: f64,
    /// Bits of data per inch at the inner edge of the zone, where they are densest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits_per_inch: Option<f64>,
    /// Tracks per inch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracks_per_inch: Option<f64>,
}

/// The radii of a disk in metres, and the number of cylinders between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Radii {
    pub outer: f64,
    pub inner: f64,
    pub cylinders: u32,
}

impl Radii {
    /// Distance between neighbouring nominal cylinders in metres.
    fn pitch(&self) -> f64 {
        (self.outer - self.inner) / f64::from(self.cylinders)
    }
}

impl Adaptive {
    /// The format of each surface in each zone, in order of heads and zones.
    pub fn surface_formats(&self) -> Vec<Vec<SurfaceFormat>> {
        let of = |head: usize| (0..self.zones.len()).map(move |z| self.format(head, z));
        (0..self.surfaces as usize).map(|h| of(h).collect()).collect()
    }

    fn format(&self, head: usize, zone: usize) -> SurfaceFormat {
        let zone = &self.zones[zone];
        let sectors_per_track = zone.formats[head].get();
        let tracks_per_band = zone.full.parts[head].tracks;
        let track_bytes = f64::from(sectors_per_track) * self.sector_bytes as f64;
        let steps = f64::from(super::STEPS);
        let density = self.radii.map(|r| {
            let past = f64::from(zone.first_step + zone.width()) / steps;
            let inner_edge = r.outer - past * r.pitch();
            let band = f64::from(zone.full.width) / steps * r.pitch();
            (track_bytes * 8.0 / (2.0 * PI * inner_edge / INCH_M), f64::from(tracks_per_band) / (band / INCH_M))
        });
        SurfaceFormat {
            tracks_per_band,
            sectors_per_track,
            rate_bytes_per_s: track_bytes / (self.period_ns * 1e-9),
            bits_per_inch: density.map(|d| d.0),
            tracks_per_inch: density.map(|d| d.1),
        }
    }
}
