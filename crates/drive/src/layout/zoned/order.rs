//! Track orders: the track of each physical index of a zone.

use super::{div_rem, Format, Zone};

/// The order of the heads in successive cylinders.
#[derive(Debug, Clone, Copy)]
pub(in crate::layout) enum HeadOrder {
    CylinderMajor,
    SerpentineZone,
    SerpentineDisk,
}

/// The place of a physical index, and the number of skews before its track.
pub(in crate::layout) struct Split {
    pub cylinder: u32,
    pub head: u32,
    pub sector: u32,
    pub format: Format,
    pub track_skews: u64,
    pub cylinder_skews: u64,
}

/// Maps the physical indices of a zone to tracks.
pub(in crate::layout) trait TrackOrder: Send + Sync {
    fn split(&self, zone: &Zone, index: u64) -> Split;
    /// The inverse of `split`; the cylinder is counted from the start of the zone.
    fn join(&self, zone: &Zone, cylinder: u32, head: u32, sector: u32) -> u64;
    /// Whether addresses use all heads of a cylinder before the next cylinder. Only such orders support
    /// spares and slips inside cylinders or tracks.
    fn is_cylinder_major(&self) -> bool;
}

/// All heads of a cylinder, then the next cylinder.
pub(in crate::layout) struct StackOrder(pub HeadOrder);

impl StackOrder {
    #[inline]
    fn reversed(&self, zone: &Zone, cylinder: u32) -> bool {
        match self.0 {
            HeadOrder::CylinderMajor => false,
            HeadOrder::SerpentineZone => cylinder % 2 == 1,
            HeadOrder::SerpentineDisk => (cylinder + zone.first_cylinder) % 2 == 1,
        }
    }

    /// Cylinder, head by rank, sector and format of a physical index, if surfaces have formats of their own.
    #[inline(never)]
    fn split_unlike(&self, zone: &Zone, index: u64) -> (u32, u32, u32, Format) {
        let surfaces = zone.surfaces.get();
        let (cylinder, mut rest) = div_rem(index, zone.cylinder_sectors);
        let cylinder = cylinder as u32;
        let mut rank = 0;
        loop {
            let physical = if self.reversed(zone, cylinder) { surfaces - 1 - rank } else { rank };
            let tracks = zone.per_surface[physical as usize];
            let here = tracks.sectors.get() as u64;
            if rest < here || rank + 1 == surfaces {
                return (cylinder, rank, rest as u32, tracks);
            }
            rest -= here;
            rank += 1;
        }
    }
}

impl TrackOrder for StackOrder {
    #[inline(always)]
    fn split(&self, zone: &Zone, index: u64) -> Split {
        let surfaces = zone.surfaces.get();
        let (cylinder, logical, sector, format) = match zone.same {
            Some(same) => {
                let (track, sector) = same.sectors.div_rem(index);
                let (cylinder, logical) = zone.surfaces.div_rem(track);
                (cylinder as u32, logical, sector, same)
            }
            None => self.split_unlike(zone, index),
        };
        let head = if self.reversed(zone, cylinder) { surfaces - 1 - logical } else { logical };
        Split {
            cylinder,
            head,
            sector,
            format,
            track_skews: logical as u64 + (surfaces as u64 - 1) * cylinder as u64,
            cylinder_skews: cylinder as u64,
        }
    }

    fn join(&self, zone: &Zone, cylinder: u32, head: u32, sector: u32) -> u64 {
        let reversed = self.reversed(zone, cylinder);
        let before: u64 = (0..zone.surfaces.get())
            .filter(|h| if reversed { *h > head } else { *h < head })
            .map(|h| zone.sectors_on(h) as u64)
            .sum();
        cylinder as u64 * zone.cylinder_sectors + before + sector as u64
    }

    fn is_cylinder_major(&self) -> bool {
        true
    }
}

/// A band of cylinders on one surface, then the same band on the next surface.
pub(in crate::layout) struct BandOrder {
    /// Cylinders per band; the last band of a zone may be narrower.
    pub width: u32,
}

impl BandOrder {
    /// First cylinder and width of a band.
    fn band(&self, zone: &Zone, band: u64) -> (u32, u32) {
        let first = band as u32 * self.width;
        (first, self.width.min(zone.cylinders - first))
    }
}

impl TrackOrder for BandOrder {
    fn split(&self, zone: &Zone, index: u64) -> Split {
        let full = zone.cylinder_sectors * self.width as u64;
        let last_band = (zone.cylinders - 1) as u64 / self.width as u64;
        let band = (index / full).min(last_band);
        let (first, width) = self.band(zone, band);
        let mut rest = index - band * full;
        let mut head = 0;
        while head + 1 < zone.surfaces.get() && rest >= zone.sectors_on(head) as u64 * width as u64 {
            rest -= zone.sectors_on(head) as u64 * width as u64;
            head += 1;
        }
        let format = zone.per_surface[head as usize];
        let (step, sector) = format.sectors.div_rem(rest);
        let step = step as u32;
        let within = if head % 2 == 1 { width.saturating_sub(1 + step) } else { step };
        let surfaces = zone.surfaces.get() as u64;
        let switches = band * surfaces + head as u64;
        let tracks = band * self.width as u64 * surfaces + head as u64 * width as u64 + step as u64;
        Split {
            cylinder: first + within,
            head,
            sector,
            format,
            track_skews: switches,
            cylinder_skews: tracks - switches.min(tracks),
        }
    }

    fn join(&self, zone: &Zone, cylinder: u32, head: u32, sector: u32) -> u64 {
        let band = (cylinder / self.width) as u64;
        let (first, width) = self.band(zone, band);
        let before: u64 = (0..head).map(|h| zone.sectors_on(h) as u64 * width as u64).sum();
        let within = cylinder - first;
        let step = if head % 2 == 1 { width - 1 - within } else { within };
        band * zone.cylinder_sectors * self.width as u64
            + before
            + step as u64 * zone.sectors_on(head) as u64
            + sector as u64
    }

    fn is_cylinder_major(&self) -> bool {
        false
    }
}
