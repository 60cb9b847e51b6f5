//! Threads that the systems of an experiment share.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Threads for the parts of a system, as far as they are not busy with other systems. What is done on which thread has
/// no effect on results. The default is one thread, that of the caller.
#[derive(Clone, Default)]
pub struct Crew(Option<Arc<Shared>>);

struct Shared {
    threads: usize,
    /// Threads that simulate systems.
    busy: AtomicUsize,
    /// Those that help them, started when they are first needed; none if they cannot be started.
    helpers: OnceLock<Option<ThreadPool>>,
}

impl fmt::Debug for Crew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.0.as_ref().map_or(1, |s| s.threads);
        write!(f, "Crew({threads})")
    }
}

impl Crew {
    /// So many threads, of which `busy` simulate systems.
    pub fn new(threads: usize, busy: usize) -> Crew {
        let shared = Shared { threads, busy: AtomicUsize::new(busy), helpers: OnceLock::new() };
        Crew((threads > 1).then(|| Arc::new(shared)))
    }

    /// A thread has no more systems to simulate, and can help others.
    pub fn leave(&self) {
        if let Some(shared) = &self.0 {
            shared.busy.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Does the work on every item, on this thread and on those that are not busy.
    pub fn each<T: Send>(&self, items: &mut [T], work: impl Fn(&mut T) + Sync) {
        let Some((helpers, n)) = self.helpers(items.len()) else {
            return items.iter_mut().for_each(work);
        };
        let left = Mutex::new(items.iter_mut());
        let take = || left.lock().ok()?.next();
        let go = || {
            while let Some(item) = take() {
                work(item);
            }
        };
        helpers.in_place_scope(|scope| {
            (0..n).for_each(|_| scope.spawn(|_| go()));
            go();
        });
    }

    /// The threads that can help now with so many items, and their number.
    fn helpers(&self, items: usize) -> Option<(&ThreadPool, usize)> {
        let shared = self.0.as_ref()?;
        let idle = shared.threads.saturating_sub(shared.busy.load(Ordering::Relaxed).max(1));
        let n = idle.min(items.saturating_sub(1));
        if n == 0 {
            return None;
        }
        let start = || ThreadPoolBuilder::new().num_threads(shared.threads - 1).build().ok();
        let pool = shared.helpers.get_or_init(start).as_ref()?;
        Some((pool, n))
    }
}
