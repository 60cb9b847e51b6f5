//! The slots of one cylinder: which are free, and which of them passes under a head next.
//!
//! # Model
//! A cylinder is the tracks at one radial position ([`Place::cylinder`]). Where surfaces differ in the number of
//! tracks, not every surface has one there.
//!
//! A slot is a block's worth of consecutive addresses of the layout. It belongs to the track on which it
//! begins. A *whole* slot lies on that track without a gap. A *broken* one does not: it continues on the
//! next track, or contains a slipped or remapped sector.

use super::initial::InOrder;
use crate::layout::{Layout, Place};
use headstack_units::Turn;

/// An angle that is behind the head by at most this counts as reached, as in the mechanics.
const REACHED: u64 = crate::mechanics::REACHED;

/// Whole slots, or broken ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Whole,
    Broken,
}

/// A track of a cylinder.
#[derive(Debug, Default)]
pub(super) struct Track {
    /// Angle of the leading edge of sector 0.
    angle: Turn,
    sectors: u32,
    /// Angle of one sector, as a fraction of 2^64, rounded down.
    sector_angle: u64,
    /// Index of its first word in the bits of the cylinder.
    word: u32,
    /// Number of slots that begin on the track.
    count: u32,
    starts: Starts,
}

impl Track {
    /// A track whose bits have no place yet.
    fn new(angle: Turn, sectors: u32, count: u32, starts: Starts) -> Track {
        Track { angle, sectors, sector_angle: turn_of(1, sectors.max(2)), word: 0, count, starts }
    }
}

/// Where the slots of a track begin.
#[derive(Debug)]
enum Starts {
    /// One after the other from a sector on. All are whole except the last one, which may be broken.
    Even { slot: u64, sector: u32, whole: u32 },
    /// Each at its own angle from sector 0, in order of this angle.
    Listed(Box<[Start]>),
}

impl Default for Starts {
    fn default() -> Starts {
        Starts::Listed(Box::default())
    }
}

#[derive(Debug, Clone, Copy)]
struct Start {
    angle: u64,
    slot: u64,
    whole: bool,
}

/// A slot of a cylinder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotAt {
    pub head: u16,
    /// Its number among the slots of the track.
    pub ordinal: u32,
    pub slot: u64,
}

/// The slots of one cylinder.
#[derive(Debug)]
pub struct Cylinder {
    pub(super) tracks: Box<[Track]>,
    /// A set bit for each free slot, track by track.
    bits: Box<[u64]>,
    /// Number of free slots: whole, broken.
    free: [u32; 2],
    /// Base-2 logarithm of the sectors of a block.
    shift: u32,
}

impl Cylinder {
    /// The slots of a cylinder. All are free but those of the initial blocks.
    pub fn new(
        layout: &dyn Layout,
        cylinder: u32,
        surfaces: u32,
        (shift, slots): (u32, u64),
        initial: &InOrder,
    ) -> Cylinder {
        let mut made = Cylinder { tracks: Box::default(), bits: Box::default(), free: [0; 2], shift };
        let (mut tracks, mut bits) = (Vec::new(), Vec::new());
        for head in 0..surfaces {
            let at = (cylinder, head);
            let mut track = whole_track(layout, at, (shift, slots)).unwrap_or_else(|| {
                let (angle, sectors, starts) = starts(layout, at, (shift, slots));
                let count = starts.len() as u32;
                Track::new(angle, sectors, count, packed(starts, sectors, shift))
            });
            track.word = bits.len() as u32;
            made.add_free(&track, &mut bits, initial);
            tracks.push(track);
        }
        // Where no slot begins, nothing is kept.
        if tracks.iter().any(|t| t.count > 0) {
            (made.tracks, made.bits) = (tracks.into(), bits.into());
        }
        made
    }

    /// Adds the bits of a track: the slots that hold no initial block are free.
    fn add_free(&mut self, track: &Track, bits: &mut Vec<u64>, initial: &InOrder) {
        let first = bits.len();
        bits.resize(first + track.count.div_ceil(64) as usize, 0);
        let words = &mut bits[first..];
        match &track.starts {
            Starts::Even { slot, whole, .. } => {
                for (i, word) in words.iter_mut().enumerate() {
                    let left = track.count - 64 * i as u32;
                    *word = u64::MAX >> (64 - left.min(64));
                }
                self.free[Class::Whole as usize] += whole;
                self.free[Class::Broken as usize] += track.count - whole;
                initial.each_in(*slot..slot + u64::from(track.count), |taken| {
                    let i = (taken - slot) as u32;
                    words[i as usize / 64] &= !(1 << (i % 64));
                    self.free[class_of(i < *whole) as usize] -= 1;
                });
            }
            Starts::Listed(starts) => {
                for (i, start) in starts.iter().enumerate() {
                    if initial.block(start.slot).is_none() {
                        words[i / 64] |= 1 << (i % 64);
                        self.free[class_of(start.whole) as usize] += 1;
                    }
                }
            }
        }
    }

    /// Number of surfaces; 0 if no slot begins on any of them.
    #[inline]
    pub fn heads(&self) -> u16 {
        self.tracks.len() as u16
    }

    /// Number of free slots of a class.
    #[inline]
    pub fn free(&self, class: Class) -> u32 {
        self.free[class as usize]
    }

    /// The free slot of a surface that passes first after the angle `under` is under the heads, and how far the platter
    /// turns until then. The angle of the arm is not included in either.
    #[inline]
    pub fn first_after(&self, head: u16, under: Turn, class: Class) -> Option<(Turn, SlotAt)> {
        let track = &self.tracks[head as usize];
        let x = under.since(track.angle).0;
        let from = self.first_ordinal(track, x);
        let ordinal = match self.scan(track, from, track.count, class) {
            Some(i) => i,
            None => self.scan(track, 0, from, class)?,
        };
        let (angle, slot) = self.start(track, ordinal);
        let ahead = angle.wrapping_sub(x);
        let ahead = Turn(if ahead > REACHED { 0 } else { ahead });
        let at = SlotAt { head, ordinal, slot };
        Some((ahead, at))
    }

    /// The slot with this number, if it is free, on the surface `own` or else on the first surface that has it. The
    /// number must mean the same angle on all surfaces.
    #[inline]
    pub fn free_at(&self, ordinal: u32, class: Class, own: u16) -> Option<SlotAt> {
        let is_free = |head: u16| {
            let track = &self.tracks[usize::from(head)];
            let word = self.bits.get(track.word as usize + ordinal as usize / 64);
            let bit = word.is_some_and(|w| w >> (ordinal % 64) & 1 == 1);
            (bit && ordinal < track.count).then(|| SlotAt { head, ordinal, slot: self.start(track, ordinal).1 })
        };
        let first = (own < self.heads()).then(|| is_free(own)).flatten();
        let found = first.or_else(|| (0..self.heads()).find_map(is_free))?;
        (self.class(&found) == class).then_some(found)
    }

    /// The first slot that begins at or after the angle `x` from sector 0; the number of slots if there is none.
    #[inline]
    fn first_ordinal(&self, track: &Track, x: u64) -> u32 {
        let x = x.saturating_sub(u64::MAX - REACHED);
        match &track.starts {
            Starts::Even { sector, .. } => {
                // In sectors, with 32 fractional bits.
                let at = ((u128::from(x) * u128::from(track.sectors)) >> 32) as u64;
                let past = at.saturating_sub(u64::from(*sector) << 32);
                let block = 32 + self.shift;
                let up = (1u64 << block) - 1;
                (((past + up) >> block) as u32).min(track.count)
            }
            Starts::Listed(starts) => starts.partition_point(|s| s.angle < x) as u32,
        }
    }

    /// Angle from sector 0, and number, of a slot.
    #[inline]
    fn start(&self, track: &Track, ordinal: u32) -> (u64, u64) {
        match &track.starts {
            Starts::Even { slot, sector, .. } => {
                let sector = u64::from(*sector) + (u64::from(ordinal) << self.shift);
                (sector * track.sector_angle, slot + u64::from(ordinal))
            }
            Starts::Listed(starts) => {
                let start = &starts[ordinal as usize];
                (start.angle, start.slot)
            }
        }
    }

    /// The first free slot of a class from `from` on, below `past`.
    #[inline]
    fn scan(&self, track: &Track, from: u32, past: u32, class: Class) -> Option<u32> {
        match (&track.starts, class) {
            (Starts::Even { whole, .. }, Class::Whole) => self.next(track, from, past.min(*whole)),
            (Starts::Even { whole, .. }, Class::Broken) => self.next(track, from.max(*whole), past),
            (Starts::Listed(starts), class) => {
                let mut at = from;
                loop {
                    at = self.next(track, at, past)?;
                    if class_of(starts[at as usize].whole) == class {
                        return Some(at);
                    }
                    at += 1;
                }
            }
        }
    }

    /// The first set bit from `from` on, below `past`.
    #[inline]
    fn next(&self, track: &Track, from: u32, past: u32) -> Option<u32> {
        if from >= past {
            return None;
        }
        let first = track.word as usize;
        let mut word = from / 64;
        let mut bits = self.bits[first + word as usize] & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            if word * 64 >= past {
                return None;
            }
            bits = self.bits[first + word as usize];
        }
        let found = word * 64 + bits.trailing_zeros();
        (found < past).then_some(found)
    }

    /// The class of a slot.
    #[inline]
    fn class(&self, at: &SlotAt) -> Class {
        match &self.tracks[at.head as usize].starts {
            Starts::Even { whole, .. } => class_of(at.ordinal < *whole),
            Starts::Listed(starts) => class_of(starts[at.ordinal as usize].whole),
        }
    }

    /// The slots that are not free, surface by surface.
    pub fn taken(&self) -> Vec<SlotAt> {
        let mut all = Vec::new();
        for (head, track) in (0..).zip(&self.tracks) {
            for ordinal in 0..track.count {
                let word = self.bits[track.word as usize + ordinal as usize / 64];
                if word >> (ordinal % 64) & 1 == 0 {
                    let slot = self.start(track, ordinal).1;
                    all.push(SlotAt { head, ordinal, slot });
                }
            }
        }
        all
    }

    /// The slot of a number that begins on the track of `place`.
    pub fn find(&self, slot: u64, place: &Place) -> Option<SlotAt> {
        let ordinal = match &self.tracks.get(usize::from(place.head))?.starts {
            Starts::Even { slot: first, .. } => slot.checked_sub(*first)? as u32,
            Starts::Listed(starts) => starts.iter().position(|s| s.slot == slot)? as u32,
        };
        Some(SlotAt { head: place.head, ordinal, slot })
    }

    /// Takes or frees a slot. The numbers of free slots of its class before and after are returned.
    #[inline]
    pub fn set(&mut self, at: &SlotAt, free: bool) -> (Class, u32) {
        let class = self.class(at);
        let word = self.tracks[at.head as usize].word as usize + at.ordinal as usize / 64;
        let bit = 1u64 << (at.ordinal % 64);
        debug_assert_eq!(self.bits[word] & bit == 0, free, "slot {}", at.slot);
        if free {
            self.bits[word] |= bit;
            self.free[class as usize] += 1;
        } else {
            self.bits[word] &= !bit;
            self.free[class as usize] -= 1;
        }
        (class, self.free[class as usize])
    }
}

fn class_of(whole: bool) -> Class {
    if whole {
        Class::Whole
    } else {
        Class::Broken
    }
}

/// The angle of this many sectors of a track, as a fraction of 2^64.
#[inline]
fn turn_of(sector: u64, sectors: u32) -> u64 {
    // The sector lies on the track, so the quotient fits.
    ((u128::from(sector) << 64) / u128::from(sectors.max(1))) as u64
}

/// A track whose sectors all have consecutive addresses, without a look at each slot; `None` if it is not such a
/// track or no slot begins on it.
fn whole_track(layout: &dyn Layout, (cylinder, head): (u32, u32), (shift, slots): (u32, u64)) -> Option<Track> {
    let address = layout.address_at(cylinder, head, 0)?;
    let place = layout.locate(address)?;
    let sectors = place.sectors_per_track;
    if place.sector != 0 || place.run < sectors {
        return None;
    }
    let past = address + u64::from(sectors);
    let slot = address.div_ceil(1 << shift);
    let count = past.div_ceil(1 << shift).min(slots).checked_sub(slot)?;
    let starts = Starts::Even {
        slot,
        sector: ((slot << shift) - address) as u32,
        whole: (past >> shift).min(slots).saturating_sub(slot) as u32,
    };
    (count > 0).then(|| Track::new(place.angle, sectors, count as u32, starts))
}

/// Angle of sector 0 of a track, its sectors, and the slots that begin on it in order of their angles.
fn starts(layout: &dyn Layout, (cylinder, head): (u32, u32), (shift, slots): (u32, u64)) -> (Turn, u32, Vec<Start>) {
    let (mut origin, mut found) = (None, Vec::new());
    let (mut sector, sectors) = (0, layout.track_sectors(cylinder, head));
    while sector < sectors {
        let address = layout.address_at(cylinder, head, sector);
        let Some((address, place)) = address.and_then(|a| Some((a, layout.locate(a)?))) else {
            sector += 1;
            continue;
        };
        let first = *origin.get_or_insert_with(|| {
            let before = turn_of(u64::from(place.sector), place.sectors_per_track);
            place.angle.since(Turn(before))
        });
        let run = place.run.max(1).min(sectors.saturating_sub(sector).max(1));
        let past = address + u64::from(run);
        let block = 1u64 << shift;
        let mut slot = address.div_ceil(block);
        while slot * block < past && slot < slots {
            let inside = slot * block - address;
            let angle = turn_of(inside, place.sectors_per_track);
            found.push(Start {
                angle: place.angle.since(first).0.wrapping_add(angle),
                slot,
                whole: (slot + 1) * block <= past,
            });
            slot += 1;
        }
        sector += run;
    }
    found.sort_by_key(|s| s.angle);
    (origin.unwrap_or_default(), sectors, found)
}

/// The starts in their short form, if they are even.
fn packed(starts: Vec<Start>, sectors: u32, shift: u32) -> Starts {
    let Some(first) = starts.first().copied() else { return Starts::default() };
    // The sector of the first start.
    let sector = ((u128::from(first.angle) * u128::from(sectors) + (1 << 63)) >> 64) as u64;
    let last = starts.len() - 1;
    let even = starts.iter().enumerate().all(|(i, s)| {
        let here = sector + ((i as u64) << shift);
        s.slot == first.slot + i as u64
            && (s.whole || i == last)
            && here < u64::from(sectors)
            // Rounding of angles.
            && s.angle.abs_diff(turn_of(here, sectors)) < 1 << 26
    });
    if !even {
        return Starts::Listed(starts.into());
    }
    Starts::Even { slot: first.slot, sector: sector as u32, whole: (last + usize::from(starts[last].whole)) as u32 }
}
