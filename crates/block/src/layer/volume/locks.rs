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
pub struct Locks {
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
        let Some(mut held) = self.held.remove(&start) else { return };
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
