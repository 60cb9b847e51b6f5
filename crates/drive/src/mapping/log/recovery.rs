//! How the map of a log is restored after a loss of power: checkpoints while the drive runs, and the time of the scan.
//!
//! # Model
//! Each slot has a header in spare space beside its data. It contains the number of the block and a sequence number
//! that grows with each slot that is taken. The header is written with the data and takes no time of its own. The copy
//! of a block with the highest sequence number is the current one.
//!
//! `headers`: the scan reads every track from cylinder 0 to the last one in which a slot was ever taken.
//!
//! `checkpoint`: when `every` slots have been taken, the whole map is written to the end of the disk, alternately to
//! two regions, one track at a time. The tracks written since then are listed in nonvolatile memory. The scan reads the
//! first track of both regions, the rest of the newer region, and the listed tracks. A header on these tracks is used
//! if it is newer than the map of the checkpoint; otherwise the map is used.
//!
//! A scan begins with the heads at cylinder 0 and surface 0. It reads each track in one turn and begins with the sector
//! that passes first. So its time is the sum of the movements and of one turn for each track.
//! # Source
//! M. Rosenblum, J. K. Ousterhout, "The Design and Implementation of a Log-Structured File System", ACM TOCS 10(1),
//! 1992, section 4 (two checkpoint regions, roll-forward); R. Y. Wang, T. E. Anderson, D. A. Patterson, "Virtual Log
//! Based File Systems for a Programmable Disk", OSDI 1999, section 3 (scan of the headers). The list of tracks is
//! chosen.
//! # Validity
//! A block written in place, because no slot was free, has no second copy: a loss of power in the middle of
//! that write destroys it.

use super::Log;
use crate::mapping::parameters::RecoveryModel;
use crate::mechanics::{Arm, Mechanics};
use crate::service::pass::AccessRequest;
use headstack_units::{Span, Time};
use std::collections::BTreeSet;

/// Physical sectors of one checkpoint: a sector with its sequence number, and the packed map.
pub fn checkpoint_sectors(blocks: u64, bits: u32, sector_bytes: u64) -> u64 {
    let map = u128::from(blocks) * u128::from(bits);
    1 + map.div_ceil(8 * u128::from(sector_bytes)) as u64
}

/// A track: cylinder and surface.
type Track = (u32, u16);

/// The checkpoints of a log.
#[derive(Debug, Default)]
pub struct Checkpoints {
    every: u64,
    /// First address of the two regions, and the length of each, in physical sectors.
    first: u64,
    sectors: u64,
    /// The region, 0 or 1, that is being written or will be written next.
    region: u64,
    /// How many sectors of the checkpoint in progress have been written; `None` if none is in progress.
    done: Option<u64>,
    /// Number of slots taken since the map of the latest checkpoint was fixed.
    taken: u64,
    /// The tracks in which slots were taken since the map of the latest complete checkpoint was fixed, and
    /// since that of the one in progress.
    pub since: BTreeSet<Track>,
    newer: BTreeSet<Track>,
}

impl Checkpoints {
    /// A checkpoint has just been completed.
    pub fn new(every: u64, first: u64, sectors: u64) -> Checkpoints {
        Checkpoints { every, first, sectors, region: 1, ..Checkpoints::default() }
    }

    /// A slot was taken.
    pub fn took(&mut self, cylinder: u32, head: u16) {
        self.taken += 1;
        self.since.insert((cylinder, head));
        if self.done.is_some() {
            self.newer.insert((cylinder, head));
        }
    }

    /// The latest checkpoint includes all slots taken up to now.
    pub fn restart(&mut self) {
        *self = Checkpoints::new(self.every, self.first, self.sectors);
    }

    /// The tracks of a region.
    fn tracks(&self, m: &Mechanics, region: u64) -> Vec<Track> {
        let (mut at, past) = (self.first + region * self.sectors, self.first + (region + 1) * self.sectors);
        let mut tracks = Vec::new();
        while let Some(place) = (at < past).then(|| m.layout.locate(at)).flatten() {
            let track = (place.cylinder, place.head);
            if tracks.last() != Some(&track) {
                tracks.push(track);
            }
            at += u64::from(place.run.max(1));
        }
        tracks
    }
}

impl Log {
    /// The time from which a part of a checkpoint may be written; `None` if none is due. A checkpoint begins when no
    /// block is being written.
    pub fn checkpoint_from(&self) -> Option<Time> {
        let c = self.checkpoints.as_deref()?;
        match c.done {
            Some(_) => Some(Time::ZERO),
            None if c.taken < c.every => None,
            None => Some(self.under_way.written_until),
        }
    }

    /// Whether a checkpoint is so late that it does not wait for idle time: twice `every` slots have been taken.
    pub fn checkpoint_is_late(&self) -> bool {
        let late = |c: &Checkpoints| c.taken >= 2 * c.every;
        self.checkpoints.as_deref().is_some_and(late)
    }

    /// The next part of a checkpoint, written at `at`: the rest of a track; `None` if there is nothing to write. A
    /// checkpoint begins only when no block is being written; its map is fixed then.
    #[inline]
    pub fn next_part(&mut self, m: &Mechanics, at: Time) -> Option<AccessRequest<'static>> {
        let on_the_way = self.under_way.written.iter().any(|w| w.end > at);
        let c = self.checkpoints.as_deref_mut()?;
        let done = match c.done {
            Some(done) => done,
            None if c.taken < c.every || on_the_way => return None,
            None => {
                c.taken = 0;
                0
            }
        };
        let address = c.first + c.region * c.sectors + done;
        let run = m.layout.locate(address)?.run.max(1);
        let count = u64::from(run).min(c.sectors - done);
        c.done = Some(done + count);
        Some(AccessRequest {
            write: true,
            minimum_move: self.minimum_write,
            ..AccessRequest::plain(address, count as u32, at)
        })
    }

    /// The part of a checkpoint that was written last is on the medium.
    pub fn part_ends(&mut self) {
        let Some(c) = self.checkpoints.as_deref_mut() else { return };
        if c.done == Some(c.sectors) {
            c.done = None;
            c.region = 1 - c.region;
            c.since = std::mem::take(&mut c.newer);
            self.counted.n_checkpoints += 1;
        }
    }

    /// How long the recovery scan would take after a loss of power now; `None` without a model of
    /// recovery.
    pub fn scan_time(&self, m: &Mechanics) -> Option<Span> {
        match (self.recovery, &self.checkpoints) {
            (RecoveryModel::None, _) => None,
            (RecoveryModel::Checkpoint, Some(c)) => {
                let newer = 1 - c.region;
                let first = c.tracks(m, 1 - newer).into_iter().take(1);
                let tracks = first.chain(c.tracks(m, newer));
                Some(read_tracks(m, tracks.chain(c.since.iter().copied())))
            }
            _ => {
                let heads = self.slots.surfaces as u16;
                let cylinders = 0..=self.frontier;
                let tracks = cylinders.flat_map(|c| (0..heads).map(move |h| (c, h)));
                let tracks = tracks.filter(|t| m.layout.track_sectors(t.0, t.1.into()) > 0);
                Some(read_tracks(m, tracks))
            }
        }
    }
}

/// The time to read these tracks one after the other, starting at cylinder 0 and surface 0.
fn read_tracks(m: &Mechanics, tracks: impl Iterator<Item = Track>) -> Span {
    let mut arm = Arm::default();
    let turn = Span(m.rotation.period_ns.round() as i64);
    let mut sum = Span::ZERO;
    for (cylinder, head) in tracks {
        sum += m.move_time(&arm, cylinder, head, false) + turn;
        (arm.cylinder, arm.head) = (cylinder, head);
    }
    sum
}
