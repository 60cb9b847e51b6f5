//! Ranges that one request at a time may change.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Held ranges, which never overlap, and who waits for them.
///
/// # Model
/// A request that meets a held range waits behind it. When a range is given back, those behind it are
/// let in, first come first served, up to the first that meets another range: it goes on waiting there,
/// with all behind it. So no step looks at more requests than it lets in, and one. A newcomer whose range is
/// free does not wait.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: BTreeMap<u64, Held>,
}

#[derive(Debug)]
struct Held {
    end: u64,
    behind: VecDeque<(u32, Range<u64>)>,
}

impl Locks {
    /// Takes a range that is not empty for request `who`; false: it waits.
    pub fn take(&mut self, who: u32, range: Range<u64>) -> bool {
        match self.meets(&range) {
            Some(start) => {
                if let Some(held) = self.held.get_mut(&start) {
                    held.behind.push_back((who, range));
                }
                false
            }
            None => {
                self.hold(range);
                true
            }
        }
    }

    /// Gives back the range that begins at `start`; those that now have theirs are added to `next`.
    pub fn give_back(&mut self, start: u64, next: &mut Vec<u32>) {
        let Some(mut held) = self.held.remove(&start) else {
            return;
        };
        while let Some((who, range)) = held.behind.pop_front() {
            if let Some(start) = self.meets(&range) {
                if let Some(other) = self.held.get_mut(&start) {
                    other.behind.push_back((who, range));
                    other.behind.append(&mut held.behind);
                }
                return;
            }
            self.hold(range);
            next.push(who);
        }
    }

    fn hold(&mut self, range: Range<u64>) {
        let behind = VecDeque::new();
        let end = range.end;
        self.held.insert(range.start, Held { end, behind });
    }

    /// Where a held range begins that overlaps this one.
    fn meets(&self, range: &Range<u64>) -> Option<u64> {
        let (start, last) = self.held.range(..range.end).next_back()?;
        (last.end > range.start).then_some(*start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Random takes and returns: held ranges never overlap, and everyone has its turn.
    #[test]
    fn ranges_exclude_each_other_and_nobody_is_forgotten() {
        for seed in 1..200u64 {
            let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut random = |below: u64| {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                x % below
            };
            let mut locks = Locks::default();
            let mut wants: Vec<Range<u64>> = Vec::new();
            let mut held: BTreeSet<u32> = BTreeSet::new();
            let mut got = 0;
            for _ in 0..400 {
                if random(2) == 0 || held.is_empty() {
                    let start = random(20);
                    let range = start..start + 1 + random(6);
                    let who = wants.len() as u32;
                    wants.push(range.clone());
                    if locks.take(who, range) {
                        held.insert(who);
                        got += 1;
                    }
                } else {
                    let i = random(held.len() as u64) as usize;
                    let who = *held.iter().nth(i).expect("held");
                    held.remove(&who);
                    let mut next = Vec::new();
                    locks.give_back(wants[who as usize].start, &mut next);
                    got += next.len();
                    held.extend(next);
                }
                let list: Vec<_> = held.iter().map(|w| &wants[*w as usize]).collect();
                for (i, a) in list.iter().enumerate() {
                    for b in &list[i + 1..] {
                        assert!(
                            a.end <= b.start || b.end <= a.start,
                            "seed {seed}: {a:?} {b:?}"
                        );
                    }
                }
            }
            while let Some(who) = held.pop_first() {
                let mut next = Vec::new();
                locks.give_back(wants[who as usize].start, &mut next);
                got += next.len();
                held.extend(next);
            }
            assert_eq!(got, wants.len(), "seed {seed}");
        }
    }
}
