//! What cleaning needs to know: how the blocks are spread over the cylinders, and which block lies in a slot.
//!
//! # Model
//! Kept only if the log is cleaned. The reverse map has the same form as the map, so its pages take memory when a slot
//! in them is first used.

use super::cylinder::Class;
use super::initial::InOrder;
use super::map::BlockMap;
use crate::mechanics::Mechanics;
use headstack_units::Time;
use std::ops::Range;

/// Blocks by slot, and counts by cylinder.
#[derive(Debug)]
pub struct Segments {
    pub blocks: BlockMap,
    cylinders: Box<[Counts]>,
    /// Number of cylinders that have slots, all of them free.
    pub empty: u32,
    /// Number of cylinders with slots.
    pub cylinders_used: u32,
    /// Number of free whole slots in the cylinders that are not empty.
    holes: u64,
}

/// What is known of a cylinder.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    pub slots: u32,
    /// Number of slots that are not free.
    pub used: u32,
    /// Number of free whole slots.
    pub open: u32,
    /// When a block was last written into it, in nanoseconds.
    pub changed: Time,
}

impl Segments {
    /// The state of a disk with this many slots and blocks, and with these initial blocks. Only the first `offered`
    /// slots take blocks.
    pub fn new(m: &Mechanics, shift: u32, (slots, blocks, offered): (u64, u64, u64), initial: InOrder) -> Segments {
        let mut cylinders = vec![Counts::default(); m.seek.positions() as usize];
        let block = 1u64 << shift;
        let (mut at, mut slot) = (0, 0);
        while let Some(place) = m.layout.locate(at) {
            let past = at + u64::from(place.run.max(1));
            let c = &mut cylinders[place.cylinder as usize];
            // The slots that begin in this run, and those that also end in it.
            let all = slot..past.div_ceil(block).min(offered).max(slot);
            let whole = slot..(past / block).clamp(slot, all.end);
            let taken = |r: &Range<u64>| initial.before(r.end) - initial.before(r.start);
            c.slots += (all.end - all.start) as u32;
            c.used += taken(&all) as u32;
            c.open += (whole.end - whole.start - taken(&whole)) as u32;
            slot = all.end;
            at = past;
        }
        let empty = cylinders.iter().filter(|c| c.slots > 0 && c.used == 0);
        let partial = cylinders.iter().filter(|c| c.used > 0);
        Segments {
            blocks: BlockMap::by_slot(slots, blocks, initial),
            empty: empty.count() as u32,
            cylinders_used: cylinders.iter().filter(|c| c.slots > 0).count() as u32,
            holes: partial.map(|c| u64::from(c.open)).sum(),
            cylinders: cylinders.into(),
        }
    }

    /// A block lies in `slot` from now on, and no longer in `old`.
    pub fn moves(&mut self, block: u64, old: Option<u64>, slot: u64) {
        if let Some(old) = old {
            self.blocks.clear(old);
        }
        self.blocks.set(slot, block);
    }

    /// A slot was taken by a write at `at`. For a moved block, `at` is the time of its old cylinder.
    pub fn took(&mut self, cylinder: u32, class: Class, at: Time) {
        let c = &mut self.cylinders[cylinder as usize];
        c.changed = c.changed.max(at);
        if c.used == 0 {
            self.empty -= 1;
            self.holes += u64::from(c.open);
        }
        c.used += 1;
        if class == Class::Whole {
            c.open -= 1;
            self.holes -= 1;
        }
    }

    /// A slot became free.
    pub fn freed(&mut self, cylinder: u32, class: Class) {
        let c = &mut self.cylinders[cylinder as usize];
        c.used -= 1;
        if class == Class::Whole {
            c.open += 1;
            self.holes += 1;
        }
        if c.used == 0 {
            self.empty += 1;
            self.holes -= u64::from(c.open);
        }
    }

    /// A cylinder.
    pub fn of(&self, cylinder: u32) -> &Counts {
        &self.cylinders[cylinder as usize]
    }

    /// The cylinders with slots, and their numbers.
    pub fn all(&self) -> impl Iterator<Item = (u32, &Counts)> {
        let all = (0..).zip(&self.cylinders);
        all.filter(|(_, c)| c.slots > 0)
    }

    /// Whether the holes of other cylinders can take all blocks of this one.
    pub fn fits_elsewhere(&self, c: &Counts) -> bool {
        u64::from(c.used) <= self.holes - u64::from(c.open)
    }

    /// The empty cylinder that is nearest to `here`, the lower one of two.
    pub fn nearest_empty(&self, here: u32) -> Option<u32> {
        let empty = self.all().filter(|(_, c)| c.used == 0 && c.open > 0);
        empty.map(|(n, _)| n).min_by_key(|n| here.abs_diff(*n))
    }

    /// The fullest cylinder that has a hole, except `but`; of equal ones the lowest.
    pub fn fullest_with_hole(&self, but: u32) -> Option<u32> {
        let holed = self.all().filter(|(n, c)| c.used > 0 && c.open > 0 && *n != but);
        // Shares are compared by cross products, so cylinders of unequal size are compared exactly.
        holed
            .min_by(|a, b| {
                let left = u64::from(a.1.used) * u64::from(b.1.slots);
                let right = u64::from(b.1.used) * u64::from(a.1.slots);
                right.cmp(&left)
            })
            .map(|(n, _)| n)
    }
}
