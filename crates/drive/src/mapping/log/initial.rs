//! Where the blocks lie that were written before the run, computed without a list of them.

use std::ops::Range;

/// The first blocks, in the order of their numbers: one slot after the other from the first slot on, or with
/// the free slots spread evenly over the disk.
#[derive(Debug, Clone, Copy)]
pub(in crate::mapping) struct InOrder {
    /// Number of blocks.
    count: u64,
    /// Number of slots over which they are spread; at least the number of blocks.
    slots: u64,
}

impl InOrder {
    /// This many blocks in the first slots.
    pub fn dense(count: u64) -> InOrder {
        let slots = count;
        InOrder { count, slots }
    }

    /// This many blocks spread over all the slots of a disk.
    pub fn spread(count: u64, slots: u64) -> InOrder {
        InOrder { count, slots }
    }

    /// The slot of a block; `None` if it was not written.
    #[inline]
    pub fn slot(&self, block: u64) -> Option<u64> {
        let inside = block < self.count;
        inside.then(|| match self.count == self.slots {
            true => block,
            false => (u128::from(block) * u128::from(self.slots) / u128::from(self.count)) as u64,
        })
    }

    /// Number of blocks in the slots below this one.
    #[inline]
    pub fn before(&self, slot: u64) -> u64 {
        if slot >= self.slots || self.count == self.slots {
            return self.count.min(slot);
        }
        let product = u128::from(slot) * u128::from(self.count);
        product.div_ceil(u128::from(self.slots)) as u64
    }

    /// The block in a slot; `None` if none of these blocks lies there.
    #[inline]
    pub fn block(&self, slot: u64) -> Option<u64> {
        let block = self.before(slot);
        (self.slot(block) == Some(slot)).then_some(block)
    }

    /// Calls `each` with each slot of a range in which one of the blocks lies, in order.
    pub fn each_in(&self, range: Range<u64>, mut each: impl FnMut(u64)) {
        let block = self.before(range.start);
        let Some(mut slot) = self.slot(block) else {
            return;
        };
        // The remainder of slot = block * slots / count goes up by the same amount from block to block.
        let (step, more) = (self.slots / self.count, self.slots % self.count);
        let product = u128::from(block) * u128::from(self.slots);
        let mut rest = (product % u128::from(self.count)) as u64;
        for _ in block..self.count {
            if slot >= range.end {
                return;
            }
            each(slot);
            slot += step;
            if rest >= self.count - more {
                rest -= self.count - more;
                slot += 1;
            } else {
                rest += more;
            }
        }
    }

    /// The first slot behind the last one that holds such a block.
    pub fn past(&self) -> u64 {
        match self.count.checked_sub(1).and_then(|b| self.slot(b)) {
            Some(last) => last + 1,
            None => 0,
        }
    }

    /// Whether no slot is free below [`InOrder::past`].
    pub fn is_dense(&self) -> bool {
        self.count == self.slots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Different blocks have different slots, in order; the gaps between them differ by one slot at most.
    #[test]
    fn free_slots_are_spread_evenly() {
        for (count, slots) in [(0, 10), (1, 10), (3, 10), (9, 10), (10, 10), (999, 1000), (7, 1 << 40)] {
            let initial = InOrder::spread(count, slots);
            let taken: Vec<u64> = (0..count).filter_map(|b| initial.slot(b)).collect();
            assert_eq!(taken.len() as u64, count);
            assert!(taken.is_sorted_by(|a, b| a < b) && taken.iter().all(|s| *s < slots));
            let set: BTreeSet<u64> = taken.iter().copied().collect();
            for slot in 0..slots.min(1100) {
                let block = taken.iter().position(|s| *s == slot).map(|b| b as u64);
                assert_eq!(initial.block(slot), block, "{slot} of {slots}");
                let before = set.range(..slot).count() as u64;
                assert_eq!(initial.before(slot), before, "{slot} of {slots}");
            }
            for range in [0..5, 3..8, 0..1100, 9..10, 500..501, 998..2000] {
                let mut found = Vec::new();
                initial.each_in(range.clone(), |slot| found.push(slot));
                let wanted: Vec<u64> = set.range(range).copied().collect();
                assert_eq!(found, wanted, "of {slots}");
            }
            let gaps: BTreeSet<u64> = taken.windows(2).map(|w| w[1] - w[0]).collect();
            if let (Some(least), Some(most)) = (gaps.first(), gaps.last()) {
                assert!(most - least <= 1, "{gaps:?}");
            }
            assert_eq!(initial.past(), taken.last().map_or(0, |s| s + 1));
            assert_eq!(initial.slot(count), None);
        }
        assert!((0..5).all(|s| InOrder::dense(5).slot(s) == Some(s)));
        assert_eq!(InOrder::dense(5).block(5), None);
        assert_eq!(InOrder::dense(5).block(4), Some(4));
        assert_eq!(InOrder::dense(5).before(9), 5);
    }
}
