//! What writes that have ended left in the drive's buffer, until it is on the medium: a loss of power may undo it.
//!
//! # Model
//! Sector by sector, in the order in which the writes ended: the drive's buffer has one version of a sector, and another
//! one if a flush that is under way has to write it. At a loss of power each write that is not settled, or is still at the
//! drive, is kept, or dropped, or torn: then its first sectors are kept, or any of them, each with even chances. A sector
//! has what the newest kept write wrote there, or else what was settled.
//! # Validity
//! A real drive writes each sector whole or not at all, and may stop between two. Sectors half written, which then cannot
//! be read, are not modelled; a `bad` range is.

use crate::content::Content;
use crate::extents::{Extents, Part};
use headstack_engine::random::stream;
use rand_xoshiro::rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

/// What a write has written to sectors.
#[derive(Debug, Clone)]
pub struct Written {
    /// The request's number.
    pub by: u64,
    /// From the first of the sectors on.
    pub content: Content,
}

impl Part for Written {
    fn beyond(&self, n: u64) -> Written {
        Written { by: self.by, content: self.content.beyond(n * SECTOR) }
    }
}

/// Sectors and what was written to them, in the order in which that happened.
pub type Writes = Vec<(Range<u64>, Written)>;

/// What was written and is not settled, by sectors. Requests have numbers in the order in which they were submitted.
#[derive(Debug, Default)]
pub struct History {
    /// What had ended when a flush was submitted, with the number of that flush and without what is in those before.
    before: VecDeque<(u64, Extents<Written>)>,
    /// What has ended since.
    newest: Extents<Written>,
    /// Sectors written since somebody asked for that.
    pub n_written: u64,
}

/// What became of the writes that were not on the medium.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Torn {
    /// Sectors that kept what was written last.
    pub kept: u64,
    /// Sectors that lost it.
    pub lost: u64,
}

impl Torn {
    /// Adds another device's.
    pub fn add(&mut self, other: Torn) {
        self.kept += other.kept;
        self.lost += other.lost;
    }
}

impl History {
    /// The versions, the oldest first.
    pub fn versions(&self) -> impl DoubleEndedIterator<Item = &Extents<Written>> {
        let before = self.before.iter().map(|(_, version)| version);
        before.chain(std::iter::once(&self.newest))
    }

    /// A write has ended. It takes the place of what was in the buffer.
    pub fn ended(&mut self, sectors: Range<u64>, written: Written) {
        self.n_written += sectors.end - sectors.start;
        self.newest.put(sectors, written);
    }

    /// A flush reaches the drive as request `number`.
    pub fn flush_begins(&mut self, number: u64) {
        if !self.newest.is_empty() {
            self.before.push_back((number, std::mem::take(&mut self.newest)));
        }
    }

    /// Flush `number` has ended. If it is `good`, what had ended before it was submitted is on the medium, and is returned.
    pub fn flush_ends(&mut self, number: u64, good: bool) -> Writes {
        let mut settled = Writes::new();
        while good && self.before.front().is_some_and(|(of, _)| *of <= number) {
            let version = self.before.pop_front();
            settled.extend(version.into_iter().flat_map(|(_, v)| v.into_all()));
        }
        // A flush that failed no longer keeps two versions apart.
        if let Some(place) = self.before.iter().position(|(of, _)| *of == number) {
            let older = self.before.remove(place);
            let newer = match self.before.get_mut(place) {
                Some((_, version)) => version,
                None => &mut self.newest,
            };
            if let Some((_, older)) = older {
                let all = std::mem::replace(newer, older).into_all();
                all.into_iter().for_each(|(at, w)| newer.put(at, w));
            }
        }
        settled
    }

    /// What has ended in these sectors is on the medium, and is returned.
    pub fn settle(&mut self, sectors: Range<u64>) -> Writes {
        let mut settled = Writes::new();
        for (_, version) in &mut self.before {
            settled.extend(version.take(sectors.clone()));
        }
        settled.extend(self.newest.take(sectors));
        self.before.retain(|(_, version)| !version.is_empty());
        settled
    }

    /// These writes, the oldest, are not on the medium yet after all. The next flush settles them.
    pub fn put_back(&mut self, writes: impl Iterator<Item = (Range<u64>, Written)>) {
        let mut oldest = Extents::default();
        writes.for_each(|(at, written)| oldest.put(at, written));
        self.before.push_front((0, oldest));
    }

    /// Ranges of these sectors that a loss of power may undo.
    pub fn ranges(&self, sectors: Range<u64>) -> Vec<Range<u64>> {
        let mut found = Extents::default();
        for (at, _) in self.versions().flat_map(|v| v.over(sectors.clone())) {
            found.join(at.start.max(sectors.start)..at.end.min(sectors.end));
        }
        found.into_all().into_iter().map(|(at, _)| at).collect()
    }

    /// Whether nothing can be undone.
    pub fn is_empty(&self) -> bool {
        self.versions().all(Extents::is_empty)
    }

    /// Power is lost, with these writes at the drive, in order of their numbers. Returns what is kept, in order, and the
    /// sectors, in order, that have lost something. The history is empty afterwards.
    pub fn tear(&mut self, at_drive: Writes, dice: &mut Dice) -> (Writes, Torn, Vec<u64>) {
        let mut all = self.settle(0..u64::MAX);
        all.extend(at_drive);
        let (mut fates, mut kept, mut outcomes) = (BTreeMap::new(), Writes::new(), Vec::new());
        for (sectors, written) in all {
            let fate = fates.entry(written.by).or_insert_with(|| dice.fate());
            let own: Vec<bool> = sectors.clone().map(|_| fate.next(dice)).collect();
            let mut at = 0;
            for run in own.chunk_by(|a, b| a == b) {
                let (from, n) = (sectors.start + at, run.len() as u64);
                if run[0] {
                    kept.push((from..from + n, written.beyond(at)));
                }
                at += n;
            }
            outcomes.extend(sectors.zip(own));
        }
        // Of each sector the newest write counts.
        outcomes.sort_by_key(|(sector, _)| *sector);
        let (mut torn, mut lost) = (Torn::default(), Vec::new());
        for of in outcomes.chunk_by(|a, b| a.0 == b.0) {
            match of[of.len() - 1] {
                (_, true) => torn.kept += 1,
                (sector, false) => {
                    torn.lost += 1;
                    lost.push(sector);
                }
            }
        }
        (kept, torn, lost)
    }
}

/// What becomes of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Dropped,
    /// So many sectors are kept, the others are dropped.
    First(u32),
    /// Each sector by itself.
    Any,
}

impl Fate {
    /// Whether the next sector is kept.
    fn next(&mut self, dice: &mut Dice) -> bool {
        match self {
            Fate::Kept => true,
            Fate::Dropped | Fate::First(0) => false,
            Fate::First(n) => {
                *n -= 1;
                true
            }
            Fate::Any => dice.below(2) == 0,
        }
    }
}

/// The choices of losses of power, from a seed.
pub struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The choices of `seed`.
    pub fn new(seed: u64) -> Dice {
        Dice(stream(seed, "power loss"))
    }

    fn below(&mut self, n: u64) -> u64 {
        // The bias is below n / 2^64.
        self.0.next_u64() % n
    }

    /// Two fifths are kept, two fifths dropped, and a fifth torn.
    fn fate(&mut self) -> Fate {
        match self.below(10) {
            0..=3 => Fate::Kept,
            4..=7 => Fate::Dropped,
            8 => Fate::First(self.below(16) as u32),
            _ => Fate::Any,
        }
    }
}
