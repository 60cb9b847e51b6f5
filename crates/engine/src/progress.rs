//! The progress of a long run, and requests to stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Shared between a run and its observers. Clones share the same counters.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    cancel: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    /// Zero while unknown.
    total: Arc<AtomicU64>,
}

impl Progress {
    /// No requests done, not cancelled.
    pub fn new() -> Progress {
        Progress::default()
    }
    /// Asks the run to stop soon and to return the results so far.
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
    /// Whether the run was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
    /// Adds `n` to the number of completed requests.
    pub fn add(&self, n: u64) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }
    /// Number of completed requests so far, over all jobs of the run.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
    /// Sets how many requests all jobs of the run will complete, as far as that is known.
    pub fn set_total(&self, requests: u64) {
        self.total.store(requests, Ordering::Relaxed);
    }
    /// The number set by [`Progress::set_total`], but at least the number completed; `None` until it is set.
    pub fn total(&self) -> Option<u64> {
        let total = self.total.load(Ordering::Relaxed);
        (total > 0).then(|| total.max(self.done()))
    }
}
