//! Events in the order of (time, priority, sequence).

use headstack_units::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

struct Entry<E> {
    /// Time, priority and sequence as one number, from the highest bits down: comparing it takes no branch.
    key: u128,
    event: E,
}

impl<E> Entry<E> {
    fn time(&self) -> Time {
        Time((self.key >> 64) as u64)
    }
}
impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    // Reversed, so that the greatest entry of the heap is the earliest event.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

/// Future events. The earliest comes first; events at equal times in order of priority (0 first), then in the
/// order in which they were pushed.
///
/// # Example
/// ```
/// use headstack_engine::EventQueue;
/// use headstack_units::Time;
/// let mut queue = EventQueue::new();
/// queue.push(Time(5), 1, "late");
/// queue.push(Time(5), 0, "urgent");
/// queue.push(Time(2), 9, "early");
/// let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, e)| e).collect();
/// assert_eq!(order, ["early", "urgent", "late"]);
/// ```
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    sequence: u64,
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { heap: BinaryHeap::new(), sequence: 0 }
    }
}

impl<E> EventQueue<E> {
    /// An empty queue.
    pub fn new() -> Self {
        Self::default()
    }
    /// Adds an event.
    pub fn push(&mut self, time: Time, priority: u8, event: E) {
        let rest = u64::from(priority) << 56 | self.sequence;
        let key = u128::from(time.0) << 64 | u128::from(rest);
        self.sequence += 1;
        self.heap.push(Entry { key, event });
    }
    /// Removes and returns the first event and its time.
    pub fn pop(&mut self) -> Option<(Time, E)> {
        self.heap.pop().map(|e| (e.time(), e.event))
    }
    /// The first event and its time.
    pub fn peek(&self) -> Option<(Time, &E)> {
        self.heap.peek().map(|e| (e.time(), &e.event))
    }
    /// The time of the first event; [`Time::NEVER`] if there is none.
    pub fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |e| e.time())
    }
    /// Number of events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }
    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_stable_sort() {
        let mut queue = EventQueue::new();
        let mut list = Vec::new();
        let mut x = 12345u64;
        for i in 0..2000 {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let (time, priority) = (Time((x >> 33) % 50), ((x >> 20) % 3) as u8);
            queue.push(time, priority, i);
            list.push((time, priority, i));
        }
        list.sort_by_key(|e| (e.0, e.1));
        for expected in list {
            assert_eq!(queue.pop(), Some((expected.0, expected.2)));
        }
        assert!(queue.is_empty());
        assert_eq!(queue.next_time(), Time::NEVER);
    }
}
