//! What writes replaced, until their data are on the medium: a loss of power may undo them.
//!
//! # Model
//! Sector by sector, in the order of the writes. A write that has ended takes over what an earlier, ended one replaced
//! there: the drive's buffer has one version of a sector. At a loss of power each write that is not settled is kept, or
//! dropped, or torn: then its first sectors are kept, or any of them, each with even chances. A sector has what the
//! newest kept write wrote there, or else what was settled.
//! # Validity
//! A real drive writes each sector whole or not at all, and may stop between two. Sectors half written, which then cannot
//! be read, are not modelled; a `bad` range is.

use headstack_engine::random::stream;
use rand_xoshiro::rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a sector.
pub const SECTOR: u64 = 512;

type Sector = [u8; SECTOR as usize];

/// What one write replaced in a sector.
#[derive(Debug)]
struct Replaced {
    /// The request's number; `None` as long as it has not reached the drive.
    by: Option<u64>,
    /// Once it has ended, the number of requests that had been submitted then.
    ended: Option<u64>,
    before: Box<Sector>,
}

/// What writes replaced. Requests have numbers in the order in which they were submitted.
#[derive(Debug, Default)]
pub struct History {
    /// By sector, the oldest first.
    replaced: BTreeMap<u64, Vec<Replaced>>,
    /// Flushes that have not ended.
    flushes: u64,
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
    /// A write replaces a sector.
    pub fn replaced(&mut self, sector: u64, before: Sector) {
        let of = self.replaced.entry(sector).or_default();
        // A client that sends a sector in pieces replaces it once.
        if of.last().is_some_and(|last| last.by.is_none()) {
            return;
        }
        of.push(Replaced {
            by: None,
            ended: None,
            before: Box::new(before),
        });
    }

    /// The write that replaced these sectors reaches the drive as request `number`.
    pub fn submitted(&mut self, number: u64, sectors: Range<u64>) {
        for (_, of) in self.replaced.range_mut(sectors) {
            for one in of.iter_mut().filter(|r| r.by.is_none()) {
                one.by = Some(number);
            }
        }
    }

    /// Write `number` has ended when `submitted` requests had been submitted. If it was `forced`, it is on the medium.
    pub fn ended(&mut self, number: u64, submitted: u64, forced: bool, sectors: Range<u64>) {
        let may_merge = self.flushes == 0;
        self.each_of(sectors, |of| {
            let place = of.iter().position(|r| r.by == Some(number));
            if let Some(place) = place {
                of[place].ended = Some(submitted);
                if forced {
                    of.drain(..=place);
                }
            }
            // The buffer has one version: the newest of those that have ended. It replaces what the oldest replaced. A
            // flush under way makes an older one count.
            let ended = of.iter().take_while(|r| r.ended.is_some()).count();
            if may_merge && ended > 1 {
                (of[0].by, of[0].ended) = (of[ended - 1].by, of[ended - 1].ended);
                of.drain(1..ended);
            }
        });
    }

    /// A flush reaches the drive.
    pub fn flush_begins(&mut self) {
        self.flushes += 1;
    }

    /// Flush `number` has ended. If it is `good`, what had ended before it was submitted is on the medium.
    pub fn flush_ends(&mut self, number: u64, good: bool) {
        self.flushes -= 1;
        if good {
            self.each_of(0..u64::MAX, |of| {
                let before = |r: &&Replaced| r.ended.is_some_and(|ended| ended < number);
                let settled = of.iter().take_while(before).count();
                of.drain(..settled);
            });
        }
    }

    /// Does something with what was replaced in each of these sectors; those of which nothing is left are removed.
    fn each_of(&mut self, sectors: Range<u64>, mut each: impl FnMut(&mut Vec<Replaced>)) {
        let mut empty = Vec::new();
        for (sector, of) in self.replaced.range_mut(sectors) {
            each(of);
            if of.is_empty() {
                empty.push(*sector);
            }
        }
        for sector in empty {
            self.replaced.remove(&sector);
        }
    }

    /// What has ended in these sectors is on the medium.
    pub fn settle(&mut self, sectors: Range<u64>) {
        self.each_of(sectors, |of| {
            let ended = of.iter().take_while(|r| r.ended.is_some()).count();
            of.drain(..ended);
        });
    }

    /// These sectors are on the medium, whatever was written.
    pub fn forget(&mut self, sectors: Range<u64>) {
        let all: Vec<u64> = self.replaced.range(sectors).map(|r| *r.0).collect();
        for sector in all {
            self.replaced.remove(&sector);
        }
    }

    /// Ranges of these sectors that a loss of power may undo.
    pub fn ranges(&self, sectors: Range<u64>) -> Vec<Range<u64>> {
        let mut found: Vec<Range<u64>> = Vec::new();
        for (sector, _) in self.replaced.range(sectors) {
            match found.last_mut() {
                Some(last) if last.end == *sector => last.end += 1,
                _ => found.push(*sector..sector + 1),
            }
        }
        found
    }

    /// Whether nothing can be undone.
    pub fn is_empty(&self) -> bool {
        self.replaced.is_empty()
    }

    /// Power is lost: what each sector that loses something has then. The history is empty afterwards.
    pub fn tear(&mut self, dice: &mut Dice) -> (Vec<(u64, Box<Sector>)>, Torn) {
        let mut fates: BTreeMap<Option<u64>, Fate> = BTreeMap::new();
        let (mut undone, mut torn) = (Vec::new(), Torn::default());
        let first = |fates: &mut BTreeMap<Option<u64>, Fate>, by, dice: &mut Dice| {
            *fates.entry(by).or_insert_with(|| dice.fate())
        };
        for (sector, of) in std::mem::take(&mut self.replaced) {
            let mut lost = None;
            // From the newest write to the oldest, until one is kept.
            for one in of.into_iter().rev() {
                let fate = first(&mut fates, one.by, dice);
                let (is_kept, after) = fate.next(dice);
                fates.insert(one.by, after);
                if is_kept {
                    break;
                }
                lost = Some(one.before);
            }
            match lost {
                None => torn.kept += 1,
                Some(before) => {
                    torn.lost += 1;
                    undone.push((sector, before));
                }
            }
        }
        self.flushes = 0;
        (undone, torn)
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
    /// Whether the next sector is kept, and the fate of those after it.
    fn next(self, dice: &mut Dice) -> (bool, Fate) {
        match self {
            Fate::Kept => (true, self),
            Fate::Dropped | Fate::First(0) => (false, Fate::Dropped),
            Fate::First(n) => (true, Fate::First(n - 1)),
            Fate::Any => (dice.below(2) == 0, self),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn filled(byte: u8) -> Sector {
        [byte; SECTOR as usize]
    }

    /// Sector 0 had 1 at first; each write, with its number, puts the next byte there.
    fn written(writes: u64) -> History {
        let mut h = History::default();
        for number in 1..=writes {
            h.replaced(0, filled(number as u8));
            h.submitted(number, 0..1);
        }
        h
    }

    /// What sector 0 may have after a loss of power, over many seeds, after so many writes.
    fn outcomes(writes: u64, change: impl Fn(&mut History)) -> Vec<u8> {
        let outcome = |seed| {
            let mut h = written(writes);
            change(&mut h);
            let (undone, _) = h.tear(&mut Dice::new(seed));
            undone
                .first()
                .map_or(writes as u8 + 1, |(_, before)| before[0])
        };
        (0..200)
            .map(outcome)
            .collect::<BTreeSet<u8>>()
            .into_iter()
            .collect()
    }

    #[test]
    fn what_is_on_the_medium_stays() {
        // Under way; in the buffer; on the medium.
        assert_eq!(outcomes(1, |h| h.settle(0..9)), [1, 2]);
        assert_eq!(outcomes(1, |h| h.ended(1, 1, false, 0..1)), [1, 2]);
        let settled = |h: &mut History| {
            h.ended(1, 1, false, 0..1);
            h.settle(0..9);
            assert!(h.is_empty());
        };
        assert_eq!(outcomes(1, settled), [2]);
        assert_eq!(outcomes(1, |h| h.ended(1, 1, true, 0..1)), [2]);
        assert_eq!(outcomes(3, |h| h.forget(0..1)), [4]);
    }

    #[test]
    fn a_buffer_has_one_version_and_a_write_under_way_is_another() {
        // 1 is on the medium, 2 and then 3 in the buffer, 4 is under way.
        let in_buffer = |h: &mut History| {
            h.ended(1, 1, false, 0..1);
            h.ended(2, 2, false, 0..1);
        };
        assert_eq!(outcomes(3, in_buffer), [1, 3, 4]);
        // What was in the buffer is on the medium now: 3 is the least that is left.
        let destaged = |h: &mut History| {
            in_buffer(h);
            h.settle(0..1);
        };
        assert_eq!(outcomes(3, destaged), [3, 4]);
    }

    #[test]
    fn a_flush_settles_what_had_ended_before_it() {
        // Writes 1 and 2 end, the flush is request 3, write 4 ends while it is under way.
        let flushed = |good: bool| {
            move |h: &mut History| {
                h.ended(1, 2, false, 0..1);
                h.flush_begins();
                h.replaced(0, filled(3));
                h.submitted(4, 0..1);
                h.ended(2, 4, false, 0..1);
                h.flush_ends(3, good);
            }
        };
        // The first write had ended before the flush, the second had not; the third puts 4 there.
        let seen = |good| -> BTreeSet<u8> {
            let outcome = |seed| {
                let mut h = written(2);
                flushed(good)(&mut h);
                let (undone, _) = h.tear(&mut Dice::new(seed));
                undone.first().map_or(4, |(_, before)| before[0])
            };
            (0..200).map(outcome).collect()
        };
        assert_eq!(seen(true), [2, 3, 4].into());
        assert_eq!(seen(false), [1, 2, 3, 4].into());
    }

    #[test]
    fn a_write_may_be_torn_anywhere() {
        let mut seen = BTreeSet::new();
        for seed in 0..3000 {
            let mut h = History::default();
            (0..4).for_each(|sector| h.replaced(sector, filled(0)));
            h.submitted(1, 0..4);
            let (undone, torn) = h.tear(&mut Dice::new(seed));
            assert_eq!(torn.kept + torn.lost, 4);
            let lost: Vec<u64> = undone.iter().map(|u| u.0).collect();
            seen.insert(lost);
        }
        assert_eq!(seen.len(), 16, "every subset of four sectors");
    }
}
