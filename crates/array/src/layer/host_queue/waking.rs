//! Processes that were woken and have not submitted yet.
//!
//! # Model
//! A woken process submits when `wake_time` has passed. Until then its place is kept free, so that no process that has
//! not waited takes it.
//! # Source
//! Linux 3.0, `block/blk-core.c`: a woken process must be scheduled before it submits.

use super::admission::{Process, LAST_NAMED};
use super::HostQueue;
use headstack_units::{Span, Time};

impl HostQueue {
    /// When the next woken process submits, and to which queue.
    pub(super) fn next_waking(&self) -> (Time, usize) {
        let mut first = (Time::NEVER, 0);
        if self.wake_time > Span::ZERO {
            for (q, queue) in self.queues.iter().enumerate() {
                if let Some((time, _)) = queue.waking.front().filter(|w| w.0 < first.0) {
                    first = (*time, q);
                }
            }
        }
        first
    }

    /// Whether all free places for such requests (`sync` or not) are kept for woken processes. A request waits for such
    /// a place only if the end of another request with such a place will wake its process.
    pub(super) fn is_kept(&self, q: usize, sync: bool) -> bool {
        let queue = &self.queues[q];
        let (waking, taken) = (queue.waking.len() as u32, queue.places.taken_of(sync));
        if waking == 0 || taken + waking < queue.places.limit() {
            return false;
        }
        let is_shared = !queue.places.has_two_pools();
        let wakes = |w: &(Time, Process)| is_shared || self.wants(q, w.1) == Some(sync);
        taken > 0 || queue.waking.iter().any(wakes)
    }

    /// Whether a process that waits, or was woken, wants a place for a synchronous request.
    fn wants(&self, q: usize, process: Process) -> Option<bool> {
        let child = match process > LAST_NAMED {
            true => (process - LAST_NAMED - 1) as u32,
            false => *self.queues[q].blocked.get(&process)?.front()?,
        };
        Some(self.is_sync(self.submitted[child as usize].request.command))
    }
}
