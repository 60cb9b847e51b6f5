//! Where the blocks lie that were written before the run, computed without a list of them.

use std::ops::Range;

/// The first blocks, in the order of their numbers: one slot after the other from the first slot on, or with
/// the free slots spread evenly over the disk.
#[derive(Debug, Clone, Copy)]
pub struct InOrder {
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
        let Some(mut slot) = self.slot(block) else { return };
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
