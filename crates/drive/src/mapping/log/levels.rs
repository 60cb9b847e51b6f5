//! A set of integers that finds the nearest member above or below a number in a few steps.

/// A set of numbers below a limit. The lowest level has one bit for each number, the next level one bit for each 64
/// numbers, and so on up to a single word. A search takes as many steps as there are levels: 4 for ten million numbers.
#[derive(Debug)]
pub struct Levels {
    /// The words of each level. Bit `w` of a level is set if word `w` of the level before is not zero.
    words: Box<[Box<[u64]>]>,
}

impl Levels {
    /// All numbers below `limit`.
    pub fn all(limit: u32) -> Levels {
        let mut levels = Vec::new();
        let mut n = limit as usize;
        loop {
            let mut words = vec![u64::MAX; n.div_ceil(64)].into_boxed_slice();
            if let (Some(last), rest @ 1..) = (words.last_mut(), n % 64) {
                *last >>= 64 - rest;
            }
            n = words.len();
            levels.push(words);
            if n <= 1 {
                break;
            }
        }
        let words = levels.into_boxed_slice();
        Levels { words }
    }

    /// Whether `n` is a member.
    #[inline]
    pub fn contains(&self, n: u32) -> bool {
        let word = self.words[0].get(n as usize / 64);
        word.is_some_and(|w| w >> (n % 64) & 1 == 1)
    }

    /// Adds `n`, which must be below the limit.
    #[inline]
    pub fn insert(&mut self, n: u32) {
        let mut i = n as usize;
        for words in &mut self.words {
            let before = words[i / 64];
            words[i / 64] = before | 1 << (i % 64);
            if before != 0 {
                return;
            }
            i /= 64;
        }
    }

    /// Removes `n`.
    #[inline]
    pub fn remove(&mut self, n: u32) {
        let mut i = n as usize;
        for words in &mut self.words {
            words[i / 64] &= !(1 << (i % 64));
            if words[i / 64] != 0 {
                return;
            }
            i /= 64;
        }
    }

    /// The smallest member that is at least `from`.
    #[inline]
    pub fn next(&self, from: u32) -> Option<u32> {
        let mut i = from as usize;
        for (level, words) in self.words.iter().enumerate() {
            let here = words.get(i / 64)? & (u64::MAX << (i % 64));
            if here != 0 {
                let bit = |w: u64| w.trailing_zeros();
                return Some(self.member(level, i / 64 * 64 + bit(here) as usize, bit));
            }
            i = i / 64 + 1;
        }
        None
    }

    /// The largest member that is below `past`.
    #[inline]
    pub fn previous(&self, past: u32) -> Option<u32> {
        let mut past = (past as usize).min(self.words[0].len() * 64);
        for (level, words) in self.words.iter().enumerate() {
            let last = past.checked_sub(1)?;
            let here = words[last / 64] & (u64::MAX >> (63 - last % 64));
            if here != 0 {
                let bit = |w: u64| 63 - w.leading_zeros();
                return Some(self.member(level, last / 64 * 64 + bit(here) as usize, bit));
            }
            past = last / 64;
        }
        None
    }

    /// The first or last member, as `bit` says, that bit `i` of a level stands for.
    #[inline]
    fn member(&self, level: usize, mut i: usize, bit: impl Fn(u64) -> u32) -> u32 {
        for words in self.words[..level].iter().rev() {
            i = i * 64 + bit(words[i]) as usize;
        }
        i as u32
    }
}
