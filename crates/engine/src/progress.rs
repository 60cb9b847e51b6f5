//! How a long run tells how far it is, and how it is asked to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;

/// Shared between a run and whoever watches it. Clones share the same counters.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    cancel: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    /// Zero while it is unknown.
    total: Arc<AtomicU64>,
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
    /// States, as far as is known by now, how many requests all jobs of the run will do.
    pub fn set_total(&self, requests: u64) {
        self.total.store(requests, Ordering::Relaxed);
    }
    /// What [`Progress::set_total`] said last, and never less than what is done; `None` until
    /// anything is known.
    pub fn total(&self) -> Option<u64> {
        let total = self.total.load(Ordering::Relaxed);
        (total > 0).then(|| total.max(self.done()))
    }
}
