//! A scan of the whole medium beside the foreground: in its rotational waits, or by an idle arm.
//!
//! # Model
//! Each block of the medium that lies on one track is wanted once, in any order. `freeblock`: before
//! each access of the foreground the arm may stay on its track, go to the target's early, or call
//! at a track on the way, as long as it meets the target's first sector when it would have met it
//! anyway; of these tracks the one that yields most unread blocks is taken, so foreground times do
//! not change. `own-arm`: the last arm assembly reads track after track, each block as it
//! passes; where there is one data channel, blocks that pass while the foreground transfers are
//! missed until they pass again.
//! # Source
//! C. Lumb, J. Schindler, G. Ganger, D. Nagle, E. Riedel, "Towards higher disk head utilization:
//! extracting free bandwidth from busy disk drives", OSDI 2000; an idle second arm instead:
//! S. Sankar, S. Gurumurthi, M. R. Stan, "Intra-Disk Parallelism", ISCA 2008, section 5.
//! # Validity
//! Blocks across a track boundary are left out. Detours consider a few tracks between source and
//! target, as their planner does, not all. The scan starts anew when everything is read.

use crate::mechanics::{Arm, Mechanics};
use crate::spec::{DriveSpec, MediaScan, MediaScanMode};
use headstack_engine::SpecError;
use headstack_units::Turn;

/// Tracks on the way that are looked at before each access.
const STOPS: u32 = 8;

/// What a scan has read so far.
pub(crate) struct Scan {
    mode: MediaScanMode,
    block: u64,
    /// A bit for each block: read in this round.
    read: Vec<u64>,
    /// Blocks that lie on one track, and those of them that this round has still to read.
    total: u64,
    left: u64,
    /// Blocks read in all rounds.
    pub blocks: u64,
    /// Sectors per block times their size.
    pub block_bytes: u64,
    /// Next address of the arm of its own, and until when its time has been accounted for.
    next: u64,
    until: u64,
    one_channel: bool,
    /// Nanoseconds of the own arm.
    pub own: Spent,
}

/// Time that the scan spent, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub seek: u64,
    pub rotation: u64,
    pub transfer: u64,
}

/// A track's blocks that the scan wants.
struct Track {
    cylinder: u32,
    head: u16,
    /// Angle of sector 0's address, time of a sector, first wanted block and number of blocks.
    angle: Turn,
    sector_ns: f64,
    first: u64,
    blocks: u64,
    /// Sectors between the track's first address and the first whole block.
    lead: u64,
    past: u64,
}

impl Scan {
    /// The scan that a description asks for, if any.
    pub fn new(spec: &DriveSpec, mechanics: &Mechanics) -> Result<Option<Scan>, SpecError> {
        let MediaScan { mode, block } = spec.media_scan;
        let sector = spec.geometry.sector_size.0;
        if mode == MediaScanMode::None {
            return Ok(None);
        }
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
                format!("{need}, arms_in_motion = 1, all surfaces shared and no faults; anything else is not supported"),
            ));
        }
        let block = block.0 / sector;
        let capacity = mechanics.layout.capacity();
        let mut scan = Scan {
            mode,
            block,
            read: vec![0; (capacity / block) as usize / 64 + 1],
            total: 0,
            left: 0,
            blocks: 0,
            block_bytes: block * sector,
            next: 0,
            until: 0,
            one_channel: p.channels == 1,
            own: Spent::default(),
        };
        let mut at = 0;
        while let Some(track) = (at < capacity).then(|| scan.track(mechanics, at)).flatten() {
            if track.blocks == 0 && track.past < capacity {
                return Err(SpecError::new(
                    "media_scan.block",
                    spec.media_scan.block,
                    "at most half a track",
                ));
            }
            scan.total += track.blocks;
            at = track.past;
        }
        if scan.total == 0 {
            return Err(SpecError::new(
                "media_scan.block",
                spec.media_scan.block,
                "at most half a track",
            ));
        }
        scan.left = scan.total;
        Ok(Some(scan))
    }

    /// Whether it has an arm of its own.
    pub fn own_arm(&self) -> bool {
        self.mode == MediaScanMode::OwnArm
    }

    fn wanted(&self, block: u64) -> bool {
        self.read[(block / 64) as usize] >> (block % 64) & 1 == 0
    }

    fn take(&mut self, block: u64) {
        self.read[(block / 64) as usize] |= 1 << (block % 64);
        self.blocks += 1;
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
        // Slipped or remapped sectors break a track's run: only its first run is read.
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

    /// When a block of a track begins to pass under an arm that is there from `at` on.
    fn passes(&self, m: &Mechanics, arm: &Arm, track: &Track, block: u64, at: u64) -> u64 {
        let sector = track.lead + (block - track.first) * self.block;
        let turns = sector as f64 * track.sector_ns / m.rotation.period_ns();
        at + m.wait_ns(arm, track.angle.plus(Turn::from_turns(turns)), at)
    }

    fn block_ns(&self, track: &Track) -> u64 {
        Mechanics::pass_ns(self.block as u32, track.sector_ns)
    }

    /// Unread blocks of a track that pass an arm wholly between two times.
    fn yields(&self, m: &Mechanics, arm: &Arm, track: &Track, from: u64, to: u64) -> Vec<u64> {
        let length = self.block_ns(track);
        if to < from + length {
            return Vec::new();
        }
        (track.first..track.first + track.blocks)
            .filter(|b| self.wanted(*b))
            .filter(|b| self.passes(m, arm, track, *b, from) + length <= to)
            .collect()
    }

    /// Uses the rotational wait before an access of the foreground. The arm may move from `start`
    /// on and would wait for `cylinder`, `head` until `end`; it moves `seek` there.
    ///
    /// Returns what the wait was used for; the rest of it remains a wait.
    pub fn use_wait(
        &mut self,
        m: &Mechanics,
        arm: &Arm,
        target: (u64, u32, u16, bool),
        start: u64,
        end: u64,
    ) -> Spent {
        let (sector, cylinder, head, write) = target;
        let seek = m.move_ns(arm, cylinder, head, write);
        let slack = end.saturating_sub(start + seek);
        let mut best: (Vec<u64>, Spent) = (Vec::new(), Spent::default());
        let mut consider = |scan: &Scan, track: &Track| {
            let there = m.move_ns(arm, track.cylinder, track.head, false);
            let stop = Arm {
                cylinder: track.cylinder,
                head: track.head,
                ..*arm
            };
            let on = m.move_ns(&stop, cylinder, head, write);
            let (from, to) = (start + there, end.saturating_sub(on));
            if to <= from {
                return;
            }
            let blocks = scan.yields(m, arm, track, from, to);
            if blocks.len() > best.0.len() {
                let spent = Spent {
                    seek: (there + on).saturating_sub(seek),
                    rotation: 0,
                    transfer: blocks.len() as u64 * scan.block_ns(track),
                };
                best = (blocks, spent);
            }
        };
        if let Some(track) = self.track(m, sector) {
            consider(self, &track);
        }
        for i in 0..=STOPS {
            // From the source's track over tracks on the way.
            let gap = i64::from(cylinder) - i64::from(arm.cylinder);
            let c = i64::from(arm.cylinder) + gap * i64::from(i) / i64::from(STOPS + 1);
            let h = if arm.head == Arm::NO_HEAD {
                0
            } else {
                arm.head
            };
            let track = m
                .layout
                .address_at(c as u32, u32::from(h), 0)
                .and_then(|s| self.track(m, s));
            if let Some(track) = track {
                consider(self, &track);
            }
        }
        let (blocks, mut spent) = best;
        for b in blocks {
            self.take(b);
        }
        spent.transfer = spent.transfer.min(slack.saturating_sub(spent.seek));
        spent.rotation = spent.seek + spent.transfer;
        spent
    }

    /// Lets the arm of its own read on until `until`; the foreground transfers during `busy`, which
    /// ends by then.
    pub fn read_on(&mut self, m: &Mechanics, arm: &mut Arm, until: u64, busy: (u64, u64)) {
        while self.until < until {
            let Some(track) = self.track(m, self.next) else {
                return;
            };
            let mut now = self.until;
            let moved = m.move_ns(arm, track.cylinder, track.head, false);
            if moved > 0 {
                self.own.seek += moved;
                now += moved;
                arm.cylinder = track.cylinder;
                arm.head = track.head;
            }
            // The block that passes next of those that are wanted, until none is left.
            let length = self.block_ns(&track);
            loop {
                let wanted = (track.first..track.first + track.blocks).filter(|b| self.wanted(*b));
                let next = wanted
                    .map(|b| (self.passes(m, arm, &track, b, now), b))
                    .min();
                let Some((at, block)) = next else {
                    self.next = if track.past >= m.layout.capacity() {
                        0
                    } else {
                        track.past
                    };
                    break;
                };
                if at >= until {
                    self.own.rotation += until.saturating_sub(now);
                    now = now.max(until);
                    break;
                }
                self.own.rotation += at - now;
                now = at + length;
                let collides = self.one_channel && at < busy.1 && busy.0 < now;
                if collides {
                    self.own.rotation += length;
                } else {
                    self.own.transfer += length;
                    self.take(block);
                }
            }
            self.until = now.max(self.until + 1);
        }
    }
}
