//! Where the current copy of each block lies.
//!
//! # Model
//! The map has an entry for each block, packed into as many bits as the number of slots needs: 16 to 40. It is divided
//! into pages. A page takes memory when one of its blocks is first written.

use super::initial::InOrder;

/// Number of blocks of a page.
pub const PAGE: u64 = 1024;

/// The slot of each block.
#[derive(Debug)]
pub struct BlockMap {
    bits: u32,
    pub pages: Box<[Option<Box<[u64]>>]>,
    initial: InOrder,
    /// Where a block lies until it is written.
    first: fn(&InOrder, u64) -> Option<u64>,
}

impl BlockMap {
    /// A map of `blocks` blocks to `slots` slots.
    pub fn new(blocks: u64, slots: u64, initial: InOrder) -> BlockMap {
        BlockMap {
            bits: BlockMap::bits_for(slots),
            pages: vec![None; blocks.div_ceil(PAGE) as usize].into_boxed_slice(),
            initial,
            first: InOrder::slot,
        }
    }

    /// The reverse map: `blocks` blocks by slot.
    pub fn by_slot(slots: u64, blocks: u64, initial: InOrder) -> BlockMap {
        let first = InOrder::block;
        BlockMap { first, ..BlockMap::new(slots, blocks, initial) }
    }

    /// Bits of an entry for this many slots.
    pub fn bits_for(slots: u64) -> u32 {
        (u64::BITS - slots.leading_zeros()).max(16)
    }

    /// The slot of a block; `None` if it was never written.
    #[inline]
    pub fn get(&self, block: u64) -> Option<u64> {
        match &self.pages[(block / PAGE) as usize] {
            // An entry is the number of the slot plus one.
            Some(page) => entry(page, self.bits, block % PAGE).checked_sub(1),
            None => (self.first)(&self.initial, block),
        }
    }

    /// Sets the slot of a block.
    #[inline]
    pub fn set(&mut self, block: u64, slot: u64) {
        self.put(block, slot + 1);
    }

    /// Forgets the slot of a block.
    pub fn clear(&mut self, block: u64) {
        self.put(block, 0);
    }

    /// Sets the entry of a block.
    #[inline]
    fn put(&mut self, block: u64, entry: u64) {
        let bits = self.bits;
        let page = self.pages[(block / PAGE) as usize].get_or_insert_with(|| {
            let first = block / PAGE * PAGE;
            let words = (PAGE * u64::from(bits)).div_ceil(64) as usize;
            let mut page = vec![0; words].into_boxed_slice();
            for b in first..first + PAGE {
                if let Some(slot) = (self.first)(&self.initial, b) {
                    put(&mut page, bits, b - first, slot + 1);
                }
            }
            page
        });
        put(page, bits, block % PAGE, entry);
    }

    /// A number of blocks from `block` on, at most `most`, that were never written or lie in the slots of their
    /// numbers. Only blocks of pages that take no memory are counted, so that no entry has to be read.
    #[inline]
    pub fn untouched(&self, block: u64, most: u64) -> u64 {
        match self.pages[(block / PAGE) as usize] {
            None if self.initial.is_dense() => {
                let end = (block / PAGE + 1) * PAGE;
                most.min(end - block)
            }
            _ => 0,
        }
    }
}

/// The word and the bit at which entry `i` begins.
#[inline]
fn position(bits: u32, i: u64) -> (usize, u32) {
    let at = i * u64::from(bits);
    ((at / 64) as usize, (at % 64) as u32)
}

#[inline]
fn entry(page: &[u64], bits: u32, i: u64) -> u64 {
    let (word, at) = position(bits, i);
    let mut value = page[word] >> at;
    if at + bits > 64 {
        value |= page[word + 1] << (64 - at);
    }
    value & (u64::MAX >> (64 - bits))
}

#[inline]
fn put(page: &mut [u64], bits: u32, i: u64, value: u64) {
    let (word, at) = position(bits, i);
    let mask = u64::MAX >> (64 - bits);
    page[word] = page[word] & !(mask << at) | value << at;
    if at + bits > 64 {
        let up = 64 - at;
        page[word + 1] = page[word + 1] & !(mask >> up) | value >> up;
    }
}
