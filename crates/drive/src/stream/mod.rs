//! Streams: how long a sequential read takes at the medium, without serving it request by request.
//!
//! # Model
//! A stream reads addresses in order, from the first byte of the drive on, and loses no time but what the
//! mechanics need: each track takes a turn, and between two tracks stand the movement and the wait until the
//! next track's first sector passes. `turns(x)` is when byte `x` has passed, counted from the moment at which
//! the first sector begins. It has a closed form in the tables of zones, surfaces and bands:
//!
//! `turns(x) = start(zone) + cycle·time(cycle) + start(surface) + switches(track) + r / (bytes of a track)`
//!
//! where a *cycle* is the bands after which the order of surfaces repeats, one or (with heads in alternate
//! order) two. Angles are integers in units of 2^-64 turn, like [`Turn`]. The times between tracks are the
//! angles between their first sectors, and as many whole turns as [`Mechanics::position`] says. Times are
//! rounded to nanoseconds once.
//! # Source
//! Krevat, Tucek and Ganger, "Disks are like snowflakes", CMU-PDL-11-102, measures such sweeps.
//! # Validity
//! Reads at the rate of the medium: the drive reads ahead or its requests are large, and neither link nor
//! overhead delay it. Layout `adaptive`.

use crate::design::DriveDesign;
use crate::layout::adaptive::{step_of, Adaptive, Band, Zone};
use crate::layout::{Layout, Place};
use crate::mechanics::{Arm, Mechanics};
use headstack_engine::SpecError;
use headstack_units::{Divisor, Rotation, Time, Turn};

mod fleet;
mod sweep;

pub use fleet::Fleet;
pub use sweep::{Damage, Noise, Sweep};

/// A turn, in units of 2^-64 turn.
const TURN: u128 = 1 << 64;

/// The times of one drive's sequential reads; see the description of this module.
#[derive(Debug)]
pub struct Stream {
    zones: Box<[StreamZone]>,
    /// How the platter turns.
    pub rotation: Rotation,
    sector_bytes: u64,
    /// Bytes that the drive offers.
    pub capacity: u64,
    /// Bytes that the surfaces hold.
    pub held: u64,
}

/// A zone: equal cycles, then the bands that are left.
#[derive(Debug)]
struct StreamZone {
    /// First sector, and the time at which it begins.
    first: u64,
    start: u128,
    cycles: u64,
    cycle: Bands,
    /// Time from the beginning of the zone to the beginning of the rest.
    rest_start: u128,
    rest: Bands,
    /// Time from the beginning of the zone to the end of its last sector.
    length: u128,
    sectors: u64,
}

/// Successive bands.
#[derive(Debug, Default)]
struct Bands {
    sectors: u64,
    /// Time to the beginning of the same bands if they follow again; to the end of the last track otherwise.
    time: u128,
    spans: Vec<Span>,
}

/// The tracks of a surface in a band.
#[derive(Debug)]
struct Span {
    /// Sectors and time before it in its bands.
    sectors_before: u64,
    start: u128,
    sectors_per_track: u32,
    tracks: u32,
    width: u32,
    outward: bool,
    /// Time from the beginning of a track to the beginning of the next over the shorter of the two radial
    /// distances that occur, and how much more it is over the longer.
    near: u128,
    far: i128,
}

impl Span {
    /// When track `track` begins, from the beginning of the span.
    fn begins(&self, track: u32) -> u128 {
        let time = u128::from(track) * self.near;
        if self.far == 0 {
            return time;
        }
        // Every movement is over `shortest` or `shortest + 1` steps.
        let band = |t: u32| u64::from(step_of(t, self.tracks, self.width));
        let moved = match self.outward {
            false => band(track) - band(0),
            true => band(self.tracks - 1) - band(self.tracks - 1 - track),
        };
        let shortest = u64::from(self.width / self.tracks);
        let longer = moved - u64::from(track) * shortest;
        time.wrapping_add_signed(i128::from(longer) * self.far)
    }

    /// When its last track ends, from the beginning of the span.
    fn length(&self) -> u128 {
        self.begins(self.tracks - 1) + TURN
    }
}

/// What a stream is computed from.
struct Source<'a> {
    mechanics: &'a Mechanics,
    layout: &'a Adaptive,
}

impl Source<'_> {
    /// Time from the end of a track to the beginning of the track `to`; `from` is the first track's place.
    fn switch(&self, from: &Place, to: &Place) -> u128 {
        let m = self.mechanics;
        let arm = Arm { cylinder: from.cylinder, head: from.head, angle: Turn(0) };
        // A track ends at the angle at which it begins; at `at` its end is under the head.
        let begin = from.angle.0.wrapping_sub(self.into(from));
        let next = to.angle.0.wrapping_sub(self.into(to));
        let to = Place { angle: Turn(next), ..*to };
        let at = Time::ZERO.after(m.rotation.time_for(Turn(begin).since(m.rotation.angle_at(Time::ZERO))));
        let taken = m.position(&arm, &to, false, at).total().0 as f64 / m.rotation.period_ns;
        let angle = Turn(next).since(Turn(begin));
        let turns = (taken - angle.as_turns()).round().max(0.0);
        u128::from(angle.0) + (turns as u128) * TURN
    }

    /// The angle of a place from the first sector of its track.
    fn into(&self, place: &Place) -> u64 {
        let sectors = Divisor::new(place.sectors_per_track);
        sectors.inverse().wrapping_mul(u64::from(place.sector))
    }

    /// Time from the end of the track before a sector, which begins a track, to the sector.
    fn switch_at(&self, sector: u64) -> u128 {
        let layout = self.layout;
        self.switch(&layout.place(sector - 1), &layout.place(sector))
    }

    /// The bands from number `first` of a zone on, up to `past`.
    fn bands(&self, zone: &Zone, first: u64, past: u64) -> Bands {
        let mut bands = Bands::default();
        let from = zone.first_address + first * zone.full.sectors;
        for index in first..past {
            let band = zone.band(index);
            for i in 0..band.parts.len() {
                let head = self.layout.head_at(index, i);
                let at = from + bands.sectors;
                if bands.sectors > 0 {
                    bands.time += self.switch_at(at);
                }
                let span = Span { sectors_before: bands.sectors, start: bands.time, ..self.span(zone, band, head, at) };
                bands.time += span.length();
                bands.sectors += u64::from(span.tracks) * u64::from(span.sectors_per_track);
                bands.spans.push(span);
            }
        }
        bands
    }

    /// The tracks of a surface in a band; `at` is the first of its sectors.
    fn span(&self, zone: &Zone, band: &Band, head: usize, at: u64) -> Span {
        let (tracks, width) = (band.parts[head].tracks, band.width);
        let sectors_per_track = zone.formats[head].get();
        let (mut near, mut far) = (TURN, 0);
        if tracks > 1 {
            let from = self.layout.place(at);
            let next = self.layout.place(at + u64::from(sectors_per_track));
            let over = |distance: u32| {
                let to = Place { cylinder: from.cylinder + distance, ..next };
                TURN + self.switch(&from, &to)
            };
            near = over(width / tracks);
            // If all distances are equal there is no longer one.
            if width % tracks > 0 {
                far = over(width / tracks + 1) as i128 - near as i128;
            }
        }
        Span {
            sectors_before: 0,
            start: 0,
            sectors_per_track,
            tracks,
            width,
            outward: self.layout.outward(head),
            near,
            far,
        }
    }

    fn zone(&self, zone: &Zone) -> StreamZone {
        let period = if self.layout.alternate { 2 } else { 1 };
        let cycles = zone.bands / period;
        let all = zone.bands + u64::from(zone.last.sectors > 0);
        let mut cycle = self.bands(zone, 0, if cycles > 0 { period } else { 0 });
        let rest = self.bands(zone, cycles * period, all);
        let mut length = 0;
        if cycles > 0 {
            length = cycle.time;
        }
        if cycles > 1 {
            cycle.time += self.switch_at(zone.first_address + cycle.sectors);
            length += u128::from(cycles - 1) * cycle.time;
        }
        let mut rest_start = length;
        if rest.sectors > 0 {
            if cycles > 0 {
                rest_start += self.switch_at(zone.first_address + cycles * cycle.sectors);
            }
            length = rest_start + rest.time;
        }
        StreamZone {
            first: zone.first_address,
            start: 0,
            cycles,
            cycle,
            rest_start,
            rest,
            length,
            sectors: zone.past_address - zone.first_address,
        }
    }
}

impl StreamZone {
    /// When `part` of `parts` of sector `r` of the zone have passed, from the beginning of the zone.
    fn ends(&self, r: u64, part: u128, parts: u128) -> u128 {
        let cycle = match self.cycle.sectors {
            0 => 0,
            n => (r / n).min(self.cycles),
        };
        let r = r - cycle * self.cycle.sectors;
        let (bands, start) = if cycle < self.cycles {
            (&self.cycle, u128::from(cycle) * self.cycle.time)
        } else {
            (&self.rest, self.rest_start)
        };
        let past = bands.spans.partition_point(|s| s.sectors_before <= r);
        let span = &bands.spans[past.saturating_sub(1)];
        let r = r - span.sectors_before;
        let sectors = u64::from(span.sectors_per_track);
        let (track, sector) = ((r / sectors) as u32, r % sectors);
        // The part of the track that has passed, rounded down to 2^-64 turn.
        let passed = (u128::from(sector) * parts + part) << 64;
        start + span.start + span.begins(track) + passed / (u128::from(sectors) * parts)
    }
}

impl Stream {
    /// The streams of a drive's design.
    ///
    /// # Errors
    /// A layout other than `adaptive`; several units (stacks, or assemblies with surfaces of their own);
    /// scaled rotational latencies.
    pub fn new(design: &DriveDesign) -> Result<Stream, SpecError> {
        let spec = &design.common.spec;
        let refuse = |key, got: String, need| Err(SpecError::new(key, got, need));
        let [(_, mechanics)] = &design.units[..] else {
            let need = "one unit: streams over several stacks or shares are not supported";
            return refuse("dash", spec.dash.to_string(), need);
        };
        if mechanics.scales_rotation() {
            let got = spec.positioning.rotation_scale.to_string();
            let need = "1: streams with scaled latencies are not supported";
            return refuse("positioning.rotation_scale", got, need);
        }
        let Some(layout) = mechanics.layout.adaptive() else {
            let got = format!("{:?}", spec.geometry.layout);
            let need = "\"adaptive\": streams over other layouts are not supported";
            return refuse("geometry.layout", got, need);
        };
        Ok(Stream::of(mechanics, layout, spec.geometry.sector_size.0))
    }

    fn of(mechanics: &Mechanics, layout: &Adaptive, sector_bytes: u64) -> Stream {
        let source = Source { mechanics, layout };
        let mut zones: Vec<StreamZone> = layout.zones.iter().map(|z| source.zone(z)).collect();
        for z in 1..zones.len() {
            let end = zones[z - 1].start + zones[z - 1].length;
            zones[z].start = end + source.switch_at(zones[z].first);
        }
        Stream {
            zones: zones.into(),
            rotation: mechanics.rotation,
            sector_bytes,
            capacity: layout.capacity() * sector_bytes,
            held: layout.held * sector_bytes,
        }
    }

    /// When the first `bytes` bytes have passed, in units of 2^-64 turn from the beginning of the first
    /// sector; 0 for none. Grows strictly. Beyond what the surfaces hold, the end of the last sector.
    pub fn turns(&self, bytes: u64) -> u128 {
        let bytes = bytes.min(self.held);
        let Some(last) = bytes.checked_sub(1) else { return 0 };
        let sector = last / self.sector_bytes;
        let z = self.zones.partition_point(|z| z.first <= sector) - 1;
        let zone = &self.zones[z];
        let part = bytes - sector * self.sector_bytes;
        zone.start + zone.ends(sector - zone.first, part.into(), self.sector_bytes.into())
    }

    /// As [`Stream::turns`], in nanoseconds, rounded to the nearest.
    pub fn ns(&self, bytes: u64) -> u64 {
        self.rotation.time_of(self.turns(bytes)).0 as u64
    }

    /// Number of zones.
    pub fn zones(&self) -> usize {
        self.zones.len()
    }

    /// The bytes of a zone, whether the drive offers them or not.
    pub fn zone_bytes(&self, zone: usize) -> std::ops::Range<u64> {
        let z = &self.zones[zone];
        z.first * self.sector_bytes..(z.first + z.sectors) * self.sector_bytes
    }

    /// Mean rate in a zone, in bytes per second: its bytes over the time from the beginning of its first
    /// sector to the end of its last.
    pub fn zone_rate(&self, zone: usize) -> f64 {
        let z = &self.zones[zone];
        let turns = z.length as f64 / TURN as f64;
        (z.sectors * self.sector_bytes) as f64 / (turns * self.rotation.period_ns * 1e-9)
    }
}
