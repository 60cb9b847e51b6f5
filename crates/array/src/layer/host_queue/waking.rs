//! Processes that were woken and have not submitted yet.
//!
//! # Model
//! Until `wake_time` has passed, the free places are kept for them, so that they go to those that have waited.
//! # Source
//! Linux 3.0, `block/blk-core.c`: a woken process needs a turn of the scheduler before it submits.

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

    /// Whether all free places of such requests are kept for processes that were woken. A request waits only if the
    /// end of another one with such a place will wake its process.
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
