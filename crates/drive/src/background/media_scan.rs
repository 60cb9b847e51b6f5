//! A scan of the whole medium during foreground work: in its rotational waits, or by an arm of its own.
//!
//! # Model
//! The scan reads each block of the medium that lies on one track once, in any order.
//!
//! `freeblock`: before each foreground access the arm may stay on its track, move to the target's track early, or stop
//! at a track between them. It must still reach the target's first sector at the same time as without the detour, so
//! foreground times do not change. The track with the most unread blocks is chosen.
//!
//! `own-arm`: the last arm assembly reads track after track, each block as it passes. If there is only one
//! data channel, blocks that pass during a foreground transfer are missed until their next turn.
//! # Source
//! C. Lumb, J. Schindler, G. Ganger, D. Nagle, E. Riedel, "Towards higher disk head utilization:
//! extracting free bandwidth from busy disk drives", OSDI 2000; an idle second arm instead:
//! S. Sankar, S. Gurumurthi, M. R. Stan, "Intra-Disk Parallelism", ISCA 2008, section 5.
//! # Validity
//! Blocks that cross a track boundary are left out. As in the paper, only a few tracks between source and target are
//! considered for a detour. When all blocks have been read the scan starts again.

use super::{Activity, JobContext};
use crate::assembly::Assembly;
use crate::bounds::MOST_SCANNED;
use crate::counters::Counters;
use crate::layout::Place;
use crate::mechanics::{Arm, Mechanics};
use crate::phase::{MechanicalAccess, Track as PhaseTrack, Work};
use crate::spec::{DriveSpec, MediaScan as ScanSpec, MediaScanMode};
use headstack_engine::SpecError;
use headstack_units::{Span, Time, Turn};

/// Number of tracks between source and target that are considered before each access.
const STOPS: u32 = 8;

/// Whether the medium is scanned.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Scanning {
    No,
    /// In the rotational waits of commands.
    InWaits,
    /// By an assembly of its own.
    OwnArm,
}

impl Scanning {
    /// The last assembly of a unit gets the scan.
    pub fn new(spec: &DriveSpec, mechanics: &Mechanics, arms: &mut [Assembly]) -> Result<Scanning, SpecError> {
        let Some(scan) = Scan::new(spec, mechanics)? else { return Ok(Scanning::No) };
        let own_arm = scan.mode == MediaScanMode::OwnArm;
        if let Some(last) = arms.last_mut() {
            last.jobs.media_scan = Some(Box::new(scan));
            if own_arm {
                last.jobs.activity = Activity::Scan;
            }
        }
        Ok(if own_arm { Scanning::OwnArm } else { Scanning::InWaits })
    }
}

/// The progress of a scan.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    mode: MediaScanMode,
    block: u64,
    /// One bit for each block: read in this round.
    read: Vec<u64>,
    /// Number of blocks that lie on one track, and how many of them remain to be read in this round.
    total: u64,
    left: u64,
    /// What is counted: bytes read in all rounds.
    pub counted: Counters,
    /// Size of a block in bytes.
    block_bytes: u64,
    /// For an arm of its own: the next address, and the time up to which its work is in the timeline.
    next: u64,
    until: Time,
    one_channel: bool,
}

/// What the scan does during the wait before a foreground access.
#[derive(Debug, Default)]
struct Detour {
    /// Time of the movement to the scanned track, and from there to the target's track.
    there: Span,
    on: Span,
    distance: u32,
    /// The scanned track.
    cylinder: u32,
    head: u16,
    /// Start of the passage and number of each block, in order of time.
    blocks: Vec<(Time, u64)>,
    block_time: Span,
}

/// A track as the scan reads it.
struct Track {
    cylinder: u32,
    head: u16,
    /// Angle of the track's first address, time of one sector in nanoseconds, first whole block, number of
    /// whole blocks.
    angle: Turn,
    sector_ns: f64,
    first: u64,
    blocks: u64,
    /// Number of sectors between the track's first address and its first whole block.
    lead: u64,
    past: u64,
}

impl Scan {
    /// The scan that a description asks for, if any.
    ///
    /// # Errors
    /// A block that is not a multiple of the sector size or does not fit on a track, or a drive on which
    /// scans are not supported.
    pub fn new(spec: &DriveSpec, mechanics: &Mechanics) -> Result<Option<Scan>, SpecError> {
        let ScanSpec { mode, block } = spec.media_scan;
        let sector = spec.geometry.sector_size.0;
        if mode == MediaScanMode::None {
            return Ok(None);
        }
        Scan::check(spec, mechanics)?;
        let block = block.0 / sector;
        let capacity = mechanics.layout.capacity();
        let mut scan = Scan {
            mode,
            block,
            read: vec![0; (capacity / block) as usize / 64 + 1],
            block_bytes: block * sector,
            one_channel: spec.parallelism.channels == 1,
            ..Scan::default()
        };
        let too_long = || {
            let need = "at most half a track";
            SpecError::new("media_scan.block", spec.media_scan.block, need)
        };
        let mut at = 0;
        while let Some(track) = (at < capacity).then(|| scan.track(mechanics, at)).flatten() {
            if track.blocks == 0 && track.past < capacity {
                return Err(too_long());
            }
            scan.total += track.blocks;
            at = track.past;
        }
        if scan.total == 0 {
            return Err(too_long());
        }
        scan.left = scan.total;
        Ok(Some(scan))
    }

    /// Refuses drives and blocks that are not supported.
    fn check(spec: &DriveSpec, mechanics: &Mechanics) -> Result<(), SpecError> {
        let ScanSpec { mode, block } = spec.media_scan;
        let sector = spec.geometry.sector_size.0;
        if block.0 == 0 || block.0 % sector != 0 {
            return Err(SpecError::new(
                "media_scan.block",
                block,
                format!("a positive multiple of the sector size, {sector} B"),
            ));
        }
        let p = &spec.parallelism;
        let arms = spec.dash.arms;
        let fits = spec.dash.stacks == 1
            && spec.dash.heads == 1
            && p.arms_in_motion == 1
            && p.faults.is_empty()
            && p.arm_share == crate::spec::ArmShare::All;
        let (arms_fit, need) = match mode {
            MediaScanMode::OwnArm => (arms >= 2, "D1A2S1H1 or more arms"),
            _ => (arms == 1, "D1A1S1H1"),
        };
        if !fits || !arms_fit {
            return Err(SpecError::new(
                "media_scan.mode",
                format!("{mode:?} with {}", spec.dash),
                format!(
                    "{need}, arms_in_motion = 1, all surfaces shared and no faults; anything else is not supported"
                ),
            ));
        }
        if mechanics.scales_rotation() {
            let key = "positioning.rotation_scale";
            let need = "1: the scan reads what really passes, so others are not supported with it";
            return Err(SpecError::new(key, spec.positioning.rotation_scale, need));
        }
        let block = block.0 / sector;
        let capacity = mechanics.layout.capacity();
        if u128::from(capacity / block) > MOST_SCANNED {
            let least = (u128::from(capacity) * u128::from(sector)).div_ceil(MOST_SCANNED);
            let need = format!("at least {least} B for a medium of that size");
            return Err(SpecError::new("media_scan.block", spec.media_scan.block, need));
        }
        Ok(())
    }

    fn wanted(&self, block: u64) -> bool {
        self.read[(block / 64) as usize] >> (block % 64) & 1 == 0
    }

    fn take(&mut self, block: u64) {
        self.read[(block / 64) as usize] |= 1 << (block % 64);
        self.counted.scanned_bytes += self.block_bytes;
        self.left -= 1;
        if self.left == 0 {
            self.read.fill(0);
            self.left = self.total;
        }
    }

    /// The track that holds an address.
    fn track(&self, m: &Mechanics, sector: u64) -> Option<Track> {
        let (first, last) = m.layout.track_bounds(sector);
        let place = m.layout.locate(first)?;
        // Slipped or remapped sectors interrupt the track's run. Only its first run is scanned.
        let past = (last + 1).min(first + place.run as u64);
        let block = first.div_ceil(self.block);
        Some(Track {
            cylinder: place.cylinder,
            head: place.head,
            angle: place.angle,
            sector_ns: place.sector_ns,
            first: block,
            blocks: (past / self.block).saturating_sub(block),
            lead: block * self.block - first,
            past: last + 1,
        })
    }

    /// When a block of a track starts to pass under an arm that is on the track from `at` on.
    fn passes(&self, m: &Mechanics, arm: &Arm, track: &Track, block: u64, at: Time) -> Time {
        let sector = track.lead + (block - track.first) * self.block;
        let turns = sector as f64 * track.sector_ns / m.rotation.period_ns;
        at.after(m.wait_time(arm, track.angle.plus(Turn::from_turns(turns)), at))
    }

    fn block_time(&self, track: &Track) -> Span {
        Mechanics::pass_time(self.block as u32, track.sector_ns)
    }

    /// The unread blocks of a track that pass completely between two times: the start of each passage and the
    /// block.
    fn yields(&self, m: &Mechanics, arm: &Arm, track: &Track, from: Time, to: Time) -> Vec<(Time, u64)> {
        let length = self.block_time(track);
        if to < from.after(length) {
            return Vec::new();
        }
        (track.first..track.first + track.blocks)
            .filter(|b| self.wanted(*b))
            .map(|b| (self.passes(m, arm, track, b, from), b))
            .filter(|(at, _)| at.after(length) <= to)
            .collect()
    }

    /// The tracks considered for a detour: the target's, the arm's own, and some between them.
    fn candidates(&self, m: &Mechanics, arm: &Arm, sector: u64, cylinder: u32) -> Vec<Track> {
        let gap = i64::from(cylinder) - i64::from(arm.cylinder);
        let head = match arm.head {
            Arm::NO_HEAD => 0,
            head => u32::from(head),
        };
        // The arm's own track first, then tracks towards the target.
        let stops = (0..=STOPS).map(|i| {
            let c = i64::from(arm.cylinder) + gap * i64::from(i) / i64::from(STOPS + 1);
            m.layout.track_near(c as u32, head)
        });
        let sectors = std::iter::once(Some(sector)).chain(stops);
        sectors.filter_map(|s| s.and_then(|s| self.track(m, s))).collect()
    }

    /// The best detour before an access to `place` (which holds `sector`). The arm stands at `arm` at time
    /// `start`, and the access must start its transfer at `end`.
    fn best_detour(
        &self,
        m: &Mechanics,
        arm: &Arm,
        (sector, place, write): (u64, &Place, bool),
        start: Time,
        end: Time,
    ) -> Detour {
        let mut best = Detour::default();
        for track in self.candidates(m, arm, sector, place.cylinder) {
            let there = m.move_time(arm, track.cylinder, track.head, false);
            let stop = Arm { cylinder: track.cylinder, head: track.head, ..*arm };
            let on = m.move_time(&stop, place.cylinder, place.head, write);
            let (from, to) = (start.after(there), end.before(on));
            if to <= from {
                continue;
            }
            let mut blocks = self.yields(m, arm, &track, from, to);
            if blocks.len() > best.blocks.len() {
                blocks.sort_unstable();
                best = Detour {
                    there,
                    on,
                    distance: arm.cylinder.abs_diff(track.cylinder),
                    cylinder: track.cylinder,
                    head: track.head,
                    blocks,
                    block_time: self.block_time(&track),
                };
            }
        }
        best
    }

    /// Uses the rotational wait of the access that was just added to the timeline. `before` is where its
    /// movement started. The times of the access itself do not change.
    pub fn use_wait(&mut self, context: &mut JobContext, before: &Arm, target: (u64, &Place, bool)) {
        let access = *context.mechanism.timeline.latest();
        let m = context.mechanics;
        let detour = self.best_detour(m, before, target, access.start, access.first);
        if detour.blocks.is_empty() {
            return;
        }
        let mut parts = Vec::with_capacity(detour.blocks.len() + 1);
        let mut at = access.start;
        for (i, (pass, block)) in detour.blocks.iter().enumerate() {
            self.take(*block);
            let there = at.after(if i == 0 { detour.there } else { Span::ZERO });
            let first = there.max(*pass);
            let end = first.after(detour.block_time);
            parts.push(MechanicalAccess {
                work: Work::MediaScan,
                write: false,
                start: at,
                distance: if i == 0 { detour.distance } else { 0 },
                there,
                first,
                end,
                track: PhaseTrack { cylinder: detour.cylinder, head: detour.head, ..access.track },
            });
            at = end;
        }
        // Rounding may have made the last block a few nanoseconds late.
        let late = at.after(detour.on).since(access.first);
        if let Some(last) = parts.last_mut() {
            last.first = last.first.before(late).max(last.there);
            last.end = last.end.before(late).max(last.first);
            at = last.end;
        }
        parts.push(MechanicalAccess {
            start: at,
            there: at.after(detour.on),
            first: access.first.max(at.after(detour.on)),
            ..access
        });
        context.mechanism.timeline.replace_latest(context.times.now, &parts);
    }

    /// Lets the scan's own arm read until `until`. The foreground transfers during `busy`, which ends by
    /// `until`.
    pub fn read_on(&mut self, context: &mut JobContext, until: Time, busy: (Time, Time)) {
        let m = context.mechanics;
        while self.until < until {
            let Some(track) = self.track(m, self.next) else { return };
            let begun = self.until;
            let arm = &mut context.mechanism.arms[0];
            let distance = arm.cylinder.abs_diff(track.cylinder);
            let mut there = begun.after(m.move_time(arm, track.cylinder, track.head, false));
            arm.cylinder = track.cylinder;
            arm.head = track.head;
            let arm = *arm;
            let (mut start, mut distance) = (begun, distance);
            // The wanted block that passes next, until no block of the track is wanted.
            let length = self.block_time(&track);
            loop {
                let wanted = (track.first..track.first + track.blocks).filter(|b| self.wanted(*b));
                let next = wanted.map(|b| (self.passes(m, &arm, &track, b, there), b)).min();
                let (mut first, mut end) = (there, there);
                if let Some((at, block)) = next {
                    let transfers = self.one_channel && busy.0 < busy.1;
                    let missed = transfers && at < busy.1 && busy.0 < at.after(length);
                    (first, end) = match (at >= until, missed) {
                        (true, _) => (until.max(there), until.max(there)),
                        (false, true) => (at.after(length), at.after(length)),
                        (false, false) => (at, at.after(length)),
                    };
                    if at < until && !missed {
                        self.take(block);
                    }
                } else {
                    self.next = if track.past >= m.layout.capacity() { 0 } else { track.past };
                }
                let access = MechanicalAccess {
                    work: Work::MediaScan,
                    write: false,
                    start,
                    distance,
                    there,
                    first,
                    end,
                    track: PhaseTrack { cylinder: arm.cylinder, head: arm.head, head_set: 0 },
                };
                context.mechanism.timeline.add(context.times.now, access);
                let over = next.is_none_or(|(at, _)| at >= until);
                (start, there, distance) = (end, end, 0);
                if over {
                    break;
                }
            }
            self.until = there.max(self.until.after(Span(1)));
        }
    }
}
