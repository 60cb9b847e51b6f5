//! The barrier that keeps requests and the rebuild of a whole volume apart, as in md's RAID-10.

use std::collections::VecDeque;

/// Requests and windows of the rebuild take turns.
///
/// # Model
/// A window raises the barrier: it begins when all requests under way have completed. Requests that arrive while the
/// barrier is up wait, and begin one after another when the window is done. More windows join the first only while no request
/// waits. Flushes pass.
/// # Source
/// Linux md, `raise_barrier` and `wait_barrier` of `raid10.c`. There the barrier is one for the array; RAID-1 has one for
/// each 64 MiB, which random requests seldom share with the rebuild.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    /// Requests under way.
    pending: u64,
    up: bool,
    /// Windows under way behind the barrier, or runs of them.
    windows: u32,
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

    /// A window wants to begin. Returns false if it has to wait: until [`Barrier::is_drained`], or until the windows under
    /// way are done.
    pub fn raise(&mut self) -> bool {
        let begins = match self.windows {
            0 => self.pending == 0,
            _ => self.waiting.is_empty(),
        };
        self.up = true;
        self.windows += u32::from(begins);
        begins
    }

    /// Whether requests wait.
    pub fn is_waited_for(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether a window waits and may begin now.
    pub fn is_drained(&self) -> bool {
        self.up && self.windows == 0 && self.pending == 0
    }

    /// A window is done. Returns whether it was the last: the requests that waited then follow by [`Barrier::next`].
    pub fn lower(&mut self) -> bool {
        self.windows -= 1;
        self.abandon()
    }

    /// The window that waits is not wanted any more. Returns whether the barrier is down now, and was not.
    pub fn abandon(&mut self) -> bool {
        let was_up = std::mem::replace(&mut self.up, self.windows > 0);
        was_up && !self.up
    }

    /// The next of the requests that waited for the barrier that is down now; it has entered.
    pub fn next(&mut self) -> Option<u32> {
        let op = self.waiting.pop_front()?;
        self.pending += 1;
        Some(op)
    }
}
