//! A long list of numbers that change smoothly, in a quarter of the memory.
//!
//! A drive of today has half a million cylinders. Its seek times as plain numbers of four bytes do not fit into a
//! core's second-level cache, and random seeks then wait for memory. Here all but the first numbers are one byte each:
//! the difference from a straight line through their block. The numbers are the same.

use std::sync::Arc;

/// Lists up to this length stay plain.
pub const PLAIN: usize = 32_768;
/// So many numbers at the beginning are always plain: seek times bend most over short distances.
const NEAR: usize = 4096;
/// Length of a block, a power of two.
const BLOCK: usize = 128;
/// The slope of a line is in units of 2^-12.
const FRACTION: u32 = 12;

/// A list that does not change.
#[derive(Debug, Clone)]
pub struct CompressedSeekTable {
    pub near: Arc<[u32]>,
    far: Arc<Far>,
}

/// What follows the plain numbers.
#[derive(Debug, Default)]
struct Far {
    lines: Vec<Line>,
    /// Of each number, how much it is above the line of its block.
    above: Vec<u8>,
}

/// A straight line through a block.
#[derive(Debug, Clone, Copy)]
struct Line {
    base: u32,
    slope: i32,
}

impl Line {
    /// The line's rise from the beginning of the block.
    #[inline]
    fn rise(slope: i32, within: usize) -> i64 {
        (i64::from(slope) * within as i64) >> FRACTION
    }

    /// The line just below all numbers of a block; `None` if one of them is too far above it.
    fn below(block: &[u32], above: &mut Vec<u8>) -> Option<Line> {
        let (first, last) = (i64::from(*block.first()?), i64::from(*block.last()?));
        let steps = (block.len() as i64 - 1).max(1);
        let slope = i32::try_from(((last - first) << FRACTION) / steps).ok()?;
        let numbers = block.iter().enumerate();
        let rest = |(i, n): (usize, &u32)| i64::from(*n) - Line::rise(slope, i);
        let base = numbers.clone().map(rest).min()?;
        for number in numbers {
            above.push(u8::try_from(rest(number) - base).ok()?);
        }
        let base = u32::try_from(base).ok()?;
        Some(Line { base, slope })
    }
}

impl Far {
    /// `None` if the numbers do not change smoothly enough.
    fn new(numbers: &[u32]) -> Option<Far> {
        let mut above = Vec::with_capacity(numbers.len());
        let blocks = numbers.chunks(BLOCK);
        let lines = blocks.map(|block| Line::below(block, &mut above));
        let lines = lines.collect::<Option<Vec<Line>>>()?;
        Some(Far { lines, above })
    }

    #[inline]
    fn get(&self, i: usize) -> Option<u32> {
        let above = *self.above.get(i)?;
        let line = self.lines.get(i / BLOCK)?;
        let rise = Line::rise(line.slope, i % BLOCK);
        // The sum fits, but a falling line may be below zero.
        let on_line = line.base.wrapping_add(rise as u32);
        Some(on_line.wrapping_add(u32::from(above)))
    }
}

impl CompressedSeekTable {
    /// The list of `numbers`, at least one.
    pub fn new(numbers: &[u32]) -> CompressedSeekTable {
        let split = match numbers.len() {
            0..=PLAIN => numbers.len(),
            _ => NEAR,
        };
        let (near, rest) = numbers.split_at(split);
        match Far::new(rest) {
            Some(far) => CompressedSeekTable { near: near.into(), far: Arc::new(far) },
            None => CompressedSeekTable { near: numbers.into(), far: Arc::default() },
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.near.len() + self.far.above.len()
    }

    /// The number at `i`, or the last one if the list is shorter.
    #[inline]
    pub fn at(&self, i: usize) -> u32 {
        match self.near.get(i) {
            Some(number) => *number,
            None => self.beyond(i),
        }
    }

    // Not inlined: the code of short lists, which is in the innermost loops, stays small.
    #[inline(never)]
    fn beyond(&self, i: usize) -> u32 {
        match self.far.get(i - self.near.len()) {
            Some(number) => number,
            None => self.last(),
        }
    }

    #[cold]
    fn last(&self) -> u32 {
        let far = self.far.above.len();
        let last = far.checked_sub(1).and_then(|i| self.far.get(i));
        last.or(self.near.last().copied()).unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).map(|i| self.at(i))
    }
}
