//! A set of small numbers that finds the nearest member above or below a number, whatever its size.

/// A set of numbers below a limit: one bit for each, and one bit for each 64 of them.
#[derive(Debug)]
pub(super) struct Levels {
    words: Box<[u64]>,
    /// Bit `w` is set if word `w` is not zero.
    summary: Box<[u64]>,
}

impl Levels {
    /// All numbers below `limit`.
    pub fn all(limit: u32) -> Levels {
        let ones = |n: usize| -> Box<[u64]> {
            let mut words = vec![u64::MAX; n.div_ceil(64)].into_boxed_slice();
            if let (Some(last), rest @ 1..) = (words.last_mut(), n % 64) {
                *last >>= 64 - rest;
            }
            words
        };
        let words = ones(limit as usize);
        let summary = ones(words.len());
        Levels { words, summary }
    }

    /// Whether `n` is a member.
    #[inline]
    pub fn contains(&self, n: u32) -> bool {
        self.words
            .get(n as usize / 64)
            .is_some_and(|w| w >> (n % 64) & 1 == 1)
    }

    /// Adds `n`, which must be below the limit.
    #[inline]
    pub fn insert(&mut self, n: u32) {
        let w = n as usize / 64;
        self.words[w] |= 1 << (n % 64);
        self.summary[w / 64] |= 1 << (w % 64);
    }

    /// Removes `n`.
    #[inline]
    pub fn remove(&mut self, n: u32) {
        let w = n as usize / 64;
        self.words[w] &= !(1 << (n % 64));
        if self.words[w] == 0 {
            self.summary[w / 64] &= !(1 << (w % 64));
        }
    }

    /// The smallest member that is at least `from`.
    #[inline]
    pub fn next(&self, from: u32) -> Option<u32> {
        let w = from as usize / 64;
        let here = self.words.get(w)? & (u64::MAX << (from % 64));
        if here != 0 {
            return Some((w * 64) as u32 + here.trailing_zeros());
        }
        let mut s = (w + 1) / 64;
        let mut mask = u64::MAX << ((w + 1) % 64);
        loop {
            let bits = self.summary.get(s)? & mask;
            if bits != 0 {
                let w = s * 64 + bits.trailing_zeros() as usize;
                return Some((w * 64) as u32 + self.words[w].trailing_zeros());
            }
            (s, mask) = (s + 1, u64::MAX);
        }
    }

    /// The largest member that is below `past`.
    #[inline]
    pub fn previous(&self, past: u32) -> Option<u32> {
        let last = past.checked_sub(1)?;
        let w = last as usize / 64;
        let here = self.words.get(w).copied().unwrap_or(0) & (u64::MAX >> (63 - last % 64));
        if here != 0 {
            return Some((w * 64) as u32 + 63 - here.leading_zeros());
        }
        let last = w.checked_sub(1)?;
        let mut s = last / 64;
        let mut mask = u64::MAX >> (63 - last % 64);
        loop {
            let bits = self.summary.get(s).copied().unwrap_or(0) & mask;
            if bits != 0 {
                let w = s * 64 + 63 - bits.leading_zeros() as usize;
                return Some((w * 64) as u32 + 63 - self.words[w].leading_zeros());
            }
            (s, mask) = (s.checked_sub(1)?, u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headstack_testkit::XorShift;
    use std::collections::BTreeSet;

    /// The same answers as a sorted set, for limits around the sizes of words and of their summary.
    #[test]
    fn finds_what_a_sorted_set_finds() {
        let mut noise = XorShift::default();
        for limit in [1, 63, 64, 65, 4095, 4096, 4097, 9000] {
            let mut set = Levels::all(limit);
            let mut oracle: BTreeSet<u32> = (0..limit).collect();
            for step in 0..4000 {
                let n = noise.below(u64::from(limit)) as u32;
                // Mostly removals first, so that long gaps occur.
                if noise.below(if step < 3000 { 10 } else { 2 }) == 0 {
                    set.insert(n);
                    oracle.insert(n);
                } else {
                    for n in n..(n + 1 + noise.below(200) as u32).min(limit) {
                        set.remove(n);
                        oracle.remove(&n);
                    }
                }
                let at = noise.below(u64::from(limit) + 70) as u32;
                assert_eq!(
                    set.next(at),
                    oracle.range(at..).next().copied(),
                    "{at} of {limit}"
                );
                assert_eq!(
                    set.previous(at),
                    oracle.range(..at).next_back().copied(),
                    "{at} of {limit}"
                );
                assert_eq!(set.contains(at), oracle.contains(&at));
            }
        }
    }
}
