//! Waiting requests in order of address.

/// A request in the order: by address, then by order of arrival. No two requests have the same order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub lba: u64,
    pub order: u64,
    pub slot: u32,
}

impl Key {
    /// The place in the order as one number: comparing it needs no branch.
    #[inline]
    fn rank(&self) -> u128 {
        u128::from(self.lba) << 64 | u128::from(self.order)
    }
}

/// Largest length of a chunk.
pub const MOST: usize = 128;

/// Keys in order, in chunks of at most [`MOST`]. A queue of the usual size is one chunk. In it a search and the move of
/// what lies behind take less time than in a tree.
#[derive(Debug, Default)]
pub struct ByAddress {
    /// No chunk is empty.
    pub chunks: Vec<Vec<Key>>,
}

impl ByAddress {
    /// The first place whose rank is at least `rank`: its chunk, which may be one behind the last, and its index there.
    #[inline]
    fn at_least(&self, rank: u128) -> (usize, usize) {
        let ends_below = |chunk: &Vec<Key>| chunk.last().is_some_and(|k| k.rank() < rank);
        let chunk = match &self.chunks[..] {
            [only] => usize::from(ends_below(only)),
            chunks => chunks.partition_point(ends_below),
        };
        let keys = self.chunks.get(chunk).map_or(&[][..], |c| c);
        (chunk, keys.partition_point(|k| k.rank() < rank))
    }

    pub fn insert(&mut self, key: Key) {
        let (mut chunk, mut at) = self.at_least(key.rank());
        if chunk == self.chunks.len() {
            // Behind all others: at the end of the last chunk.
            match self.chunks.last() {
                None => self.chunks.push(Vec::with_capacity(MOST)),
                Some(last) => (chunk, at) = (chunk - 1, last.len()),
            }
        }
        if self.chunks[chunk].len() == MOST {
            let mut upper = Vec::with_capacity(MOST);
            upper.extend(self.chunks[chunk].drain(MOST / 2..));
            self.chunks.insert(chunk + 1, upper);
            if at > MOST / 2 {
                (chunk, at) = (chunk + 1, at - MOST / 2);
            }
        }
        self.chunks[chunk].insert(at, key);
    }

    /// Removes a key and returns the slot of the one behind it.
    pub fn remove(&mut self, key: Key) -> Option<u32> {
        let (chunk, at) = self.at_least(key.rank());
        let keys = self.chunks.get_mut(chunk)?;
        if keys.get(at) == Some(&key) {
            keys.remove(at);
            if keys.is_empty() {
                self.chunks.remove(chunk);
            }
        }
        self.slot_at(chunk, at)
    }

    /// The slot at a place, which may be just behind the end of a chunk.
    fn slot_at(&self, chunk: usize, at: usize) -> Option<u32> {
        let here = self.chunks.get(chunk)?;
        let key = match here.get(at) {
            Some(key) => key,
            None => self.chunks.get(chunk + 1)?.first()?,
        };
        Some(key.slot)
    }

    /// The slot behind a key that is here.
    pub fn behind(&self, key: Key) -> Option<u32> {
        let (chunk, at) = self.at_least(key.rank());
        self.slot_at(chunk, at + 1)
    }

    /// The slot of the first key whose address is at least `lba`.
    pub fn at_or_behind(&self, lba: u64) -> Option<u32> {
        let (chunk, at) = self.at_least(u128::from(lba) << 64);
        self.slot_at(chunk, at)
    }
}
