//! Ranges of numbers that do not overlap, each with something: a range that is put in takes the place of what was there.
//! What an operation costs depends on the ranges that it meets, not on their lengths.

use std::collections::BTreeMap;
use std::ops::Range;

/// What a range has. A part of the range has a part of it.
pub trait Part: Clone {
    /// What is left of it after the first `n` numbers of its range.
    fn beyond(&self, n: u64) -> Self;
}

/// Nothing but that the range is there.
#[derive(Debug, Clone)]
pub struct There;

impl Part for There {
    fn beyond(&self, _: u64) -> There {
        There
    }
}

/// The ranges, by their first numbers.
#[derive(Debug)]
pub struct Extents<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for Extents<T> {
    fn default() -> Extents<T> {
        Extents(BTreeMap::new())
    }
}

impl<T: Part> Extents<T> {
    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges that have something in common with `range`, whole and in order.
    pub fn over(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, &T)> {
        let before = self.0.range(..range.start).next_back();
        let before = before.filter(|(_, (end, _))| *end > range.start);
        let all = before.into_iter().chain(self.0.range(range));
        all.map(|(start, (end, value))| (*start..*end, value))
    }

    /// Puts a range in the place of what was there.
    pub fn put(&mut self, range: Range<u64>, value: T) {
        self.take(range.clone());
        self.0.insert(range.start, (range.end, value));
    }

    /// Takes out what lies in `range`, in order.
    pub fn take(&mut self, range: Range<u64>) -> Vec<(Range<u64>, T)> {
        self.cut(range.start);
        self.cut(range.end);
        let starts: Vec<u64> = self.0.range(range).map(|(start, _)| *start).collect();
        let taken = starts.into_iter().filter_map(|start| {
            let (end, value) = self.0.remove(&start)?;
            Some((start..end, value))
        });
        taken.collect()
    }

    /// All ranges, in order.
    pub fn into_all(self) -> Vec<(Range<u64>, T)> {
        let all = self.0.into_iter();
        all.map(|(start, (end, value))| (start..end, value)).collect()
    }

    /// The range in which `at` lies becomes two.
    fn cut(&mut self, at: u64) {
        let Some((start, (end, value))) = self.0.range_mut(..at).next_back() else { return };
        if *end > at {
            let rest = (*end, value.beyond(at - start));
            *end = at;
            self.0.insert(at, rest);
        }
    }
}

impl Extents<There> {
    /// Adds a range; with those that it touches it becomes one.
    pub fn join(&mut self, range: Range<u64>) {
        let near = range.start.saturating_sub(1)..range.end + 1;
        let all = self.over(near).fold(range, |all, (other, There)| all.start.min(other.start)..all.end.max(other.end));
        self.put(all, There);
    }
}
