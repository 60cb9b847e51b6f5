//! Locks on ranges of blocks: only one request at a time may change a range.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Locked ranges, which never overlap, and the requests that wait for them.
///
/// # Model
/// A request whose range overlaps a locked one waits in the queue of that lock. When a lock is released, the
/// requests in its queue get their locks, first come first served, until one of them overlaps another lock: it
/// and all behind it move to that lock's queue. A release examines one request more than it grants. A new
/// request whose range is free does not wait.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: BTreeMap<u64, RangeLock>,
}

#[derive(Debug)]
struct RangeLock {
    end: u64,
    behind: VecDeque<(u32, Range<u64>)>,
}

impl Locks {
    /// Whether a part of a range is locked.
    pub fn overlap(&self, range: &Range<u64>) -> bool {
        self.meets(range).is_some()
    }

    /// Locks a range, which is not empty, for request `who`. Returns false if the range is not free; the
    /// request then waits.
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

    /// Releases the lock that begins at `start`. Requests that get their locks are added to `next`.
    pub fn release(&mut self, start: u64, next: &mut VecDeque<u32>) {
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
            next.push_back(who);
        }
    }

    fn hold(&mut self, range: Range<u64>) {
        let behind = VecDeque::new();
        let end = range.end;
        self.held.insert(range.start, RangeLock { end, behind });
    }

    /// Start of a lock that overlaps this range.
    fn meets(&self, range: &Range<u64>) -> Option<u64> {
        let (start, last) = self.held.range(..range.end).next_back()?;
        (last.end > range.start).then_some(*start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Random locks and releases: locked ranges never overlap, and every request gets its range in the end.
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
                    let mut next = VecDeque::new();
                    locks.release(wants[who as usize].start, &mut next);
                    got += next.len();
                    held.extend(next);
                }
                let list: Vec<_> = held.iter().map(|w| &wants[*w as usize]).collect();
                for (i, a) in list.iter().enumerate() {
                    for b in &list[i + 1..] {
                        assert!(a.end <= b.start || b.end <= a.start, "seed {seed}: {a:?} {b:?}");
                    }
                }
            }
            while let Some(who) = held.pop_first() {
                let mut next = VecDeque::new();
                locks.release(wants[who as usize].start, &mut next);
                got += next.len();
                held.extend(next);
            }
            assert_eq!(got, wants.len(), "seed {seed}");
        }
    }
}
