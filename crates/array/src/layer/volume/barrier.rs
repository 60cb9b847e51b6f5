//! The barrier that keeps requests and the rebuild of a whole volume apart, as in md's RAID-10.

use std::collections::VecDeque;

/// Requests and windows of the rebuild take turns.
///
/// # Model
/// A window raises the barrier: it begins when all requests under way have completed. Requests that arrive while the
/// barrier is up wait, and begin together when the window is done. Flushes pass.
/// # Source
/// Linux md, `raise_barrier` and `wait_barrier` of `raid10.c`. There the barrier is one for the array; RAID-1 has one for
/// each 64 MiB, which random requests seldom share with the rebuild.
/// # Validity
/// One window at a time. While nobody asks for anything, md has up to 32 of them under way.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    /// Requests under way.
    pending: u64,
    up: bool,
    /// Whether a window is under way behind the barrier.
    window: bool,
    /// Requests that wait, in order of arrival.
    waiting: VecDeque<u32>,
}

impl Barrier {
    /// A request (`op`) arrives. Returns false if it has to wait.
    pub fn enter(&mut self, op: u32) -> bool {
        match self.up {
            true => self.waiting.push_back(op),
            false => self.pending += 1,
        }
        !self.up
    }

    /// A request that has entered is done.
    pub fn exit(&mut self) {
        self.pending -= 1;
    }

    /// A window wants to begin. Returns false if it has to wait until [`Barrier::is_drained`].
    pub fn raise(&mut self) -> bool {
        self.up = true;
        self.window = self.pending == 0;
        self.window
    }

    /// Whether a window waits and may begin now.
    pub fn is_drained(&self) -> bool {
        self.up && !self.window && self.pending == 0
    }

    /// The window is done, or not needed any more. The requests that waited follow by [`Barrier::next`].
    pub fn lower(&mut self) {
        (self.up, self.window) = (false, false);
    }

    /// The next of the requests that waited for the barrier that is down now; it has entered.
    pub fn next(&mut self) -> Option<u32> {
        let op = self.waiting.pop_front()?;
        self.pending += 1;
        Some(op)
    }
}
