//! How a long run tells how far it is, and how it is asked to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Shared between a run and whoever watches it. Clones share the same counters.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    cancel: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
}

impl Progress {
    /// Nothing done, not cancelled.
    pub fn new() -> Progress {
        Progress::default()
    }
    /// Asks the run to stop soon and to return what it has.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
    /// Adds to the number of requests done.
    pub fn add(&self, n: u64) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }
    /// Requests done so far, over all jobs of the run.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}
