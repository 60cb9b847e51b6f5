//! Where waiting commands lie across the cylinders, so that a positional scheduler looks only at
//! those near an arm.
//!
//! # Model
//! Cylinders fall into buckets of equal width; a bitmap says which hold commands. From a given
//! bucket the next occupied one in either direction is a few word operations away.

/// Most buckets; a narrower bucket than this prunes no better, because several commands share one.
const BUCKETS: u32 = 2048;

/// Positions of the queue by bucket of cylinders.
#[derive(Debug)]
pub struct Index {
    width: u32,
    buckets: Vec<Vec<u32>>,
    occupied: Vec<u64>,
    /// Of each position: its bucket and its place in it.
    places: Vec<(u32, u32)>,
}

impl Index {
    /// An index over cylinders below `cylinders`.
    pub fn new(cylinders: u32) -> Index {
        let width = cylinders.div_ceil(BUCKETS).max(1);
        let n = cylinders.div_ceil(width).max(1) as usize;
        Index {
            width,
            buckets: vec![Vec::new(); n],
            occupied: vec![0; n.div_ceil(64)],
            places: Vec::new(),
        }
    }

    /// Cylinders per bucket.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// The bucket of a cylinder; cylinders beyond the last bucket count to it.
    #[inline]
    pub fn bucket_of(&self, cylinder: u32) -> u32 {
        (cylinder / self.width).min(self.buckets.len() as u32 - 1)
    }

    /// Positions in a bucket, in no particular order.
    #[inline]
    pub fn bucket(&self, bucket: u32) -> &[u32] {
        &self.buckets[bucket as usize]
    }

    /// The first occupied bucket from `from` upwards.
    #[inline]
    pub fn up(&self, from: u32) -> Option<u32> {
        if from as usize >= self.buckets.len() {
            return None;
        }
        let mut word = (from / 64) as usize;
        let mut bits = self.occupied[word] & (u64::MAX << (from % 64));
        loop {
            if bits != 0 {
                return Some(word as u32 * 64 + bits.trailing_zeros());
            }
            word += 1;
            bits = *self.occupied.get(word)?;
        }
    }

    /// The first occupied bucket below `before`, downwards.
    #[inline]
    pub fn down(&self, before: u32) -> Option<u32> {
        if before == 0 {
            return None;
        }
        let from = before - 1;
        let mut word = (from / 64) as usize;
        let mut bits = self.occupied[word] & (u64::MAX >> (63 - from % 64));
        loop {
            if bits != 0 {
                return Some(word as u32 * 64 + 63 - bits.leading_zeros());
            }
            word = word.checked_sub(1)?;
            bits = self.occupied[word];
        }
    }

    /// The command at the next position lies on this cylinder.
    #[inline]
    pub(super) fn push(&mut self, cylinder: u32) {
        let b = self.bucket_of(cylinder);
        let position = self.places.len() as u32;
        let bucket = &mut self.buckets[b as usize];
        self.places.push((b, bucket.len() as u32));
        bucket.push(position);
        self.occupied[(b / 64) as usize] |= 1 << (b % 64);
    }

    /// The command at a position leaves; the last position takes its number.
    #[inline]
    pub(super) fn swap_remove(&mut self, position: usize) {
        let (b, at) = self.places[position];
        let bucket = &mut self.buckets[b as usize];
        bucket.swap_remove(at as usize);
        if let Some(moved) = bucket.get(at as usize) {
            self.places[*moved as usize].1 = at;
        }
        if bucket.is_empty() {
            self.occupied[(b / 64) as usize] &= !(1 << (b % 64));
        }
        self.places.swap_remove(position);
        if let Some((b, at)) = self.places.get(position) {
            self.buckets[*b as usize][*at as usize] = position as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random pushes and removals against a plain list.
    #[test]
    fn finds_what_a_plain_list_holds() {
        let cylinders = 10_000;
        let mut index = Index::new(cylinders);
        let mut model: Vec<u32> = Vec::new();
        let mut state = 5u64;
        println!("seed 5");
        for _ in 0..4_000 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let draw = (state >> 33) as u32;
            if model.is_empty() || draw % 5 < 3 && model.len() < 60 {
                model.push(draw / 7 % cylinders);
                index.push(model[model.len() - 1]);
            } else {
                let i = draw as usize / 7 % model.len();
                model.swap_remove(i);
                index.swap_remove(i);
            }
            let mut want: Vec<(u32, u32)> = (0..)
                .zip(&model)
                .map(|(i, c)| (c / index.width(), i))
                .collect();
            want.sort_unstable();
            let mut got = Vec::new();
            let mut at = 0;
            while let Some(b) = index.up(at) {
                got.extend(index.bucket(b).iter().map(|i| (b, *i)));
                at = b + 1;
            }
            got.sort_unstable();
            assert_eq!(got, want);
            let mut down = Vec::new();
            let mut at = index.bucket_of(cylinders - 1) + 1;
            while let Some(b) = index.down(at) {
                down.push(b);
                at = b;
            }
            down.reverse();
            let mut buckets: Vec<u32> = want.iter().map(|w| w.0).collect();
            buckets.dedup();
            assert_eq!(down, buckets);
        }
    }
}
