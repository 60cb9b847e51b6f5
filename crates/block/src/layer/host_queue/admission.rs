//! Places for requests: how many there are, and which processes wait for one.
//!
//! # Model
//! A request holds a place from admission until it has completed at the layer below.
//!
//! *Legacy* (Linux 2.6.30 to 4.20): one pool for sync requests (reads, sync writes) and one for async
//! requests, each of `n` places. A process that finds its pool full waits, first come first served. The
//! process that took the last place, or one that was woken, is a *batcher*: it may exceed `n`, up to `3n/2`,
//! for 32 requests or 20 ms. Each completion wakes one process if there is room.
//!
//! *blk-mq*: one pool of exactly `n` places. Waiting processes are distributed over eight lists, in turn.
//! After every `wake_batch` completions that occur while a process waits, as many processes of the current
//! list are woken.
//! # Source
//! Linux 3.3, `blk-core.c`; `sbitmap.c` of 6.x.
//! # Validity
//! When the last place becomes free, waiting processes are woken without waiting for `wake_batch`
//! completions.

use headstack_units::Time;
use std::collections::VecDeque;

/// Requests that a batcher may have admitted beyond the limit.
const BATCH: u32 = 32;
/// How long a process stays a batcher, nanoseconds.
const BATCH_TIME: u64 = 20_000_000;
/// Number of blk-mq's lists of waiting processes.
const LISTS: usize = 8;

/// A process, by its number among those of the queue; numbers above `LAST_NAMED` stand for single requests that belong
/// to no process.
pub type Process = u64;

/// A process that has no number, because it never waited.
pub(crate) const UNKNOWN: Process = LAST_NAMED;

/// Largest number of a process. Numbers above it submit one request only.
pub(crate) const LAST_NAMED: Process = u32::MAX as Process;

/// One of the two pools of the legacy queue.
#[derive(Debug, Default)]
struct Pool {
    count: u32,
    full: bool,
    waiting: VecDeque<Process>,
}

/// The places of Linux 2.6.30 to 4.20.
#[derive(Debug)]
pub struct Legacy {
    n: u32,
    /// Of async requests, and of sync requests.
    pools: [Pool; 2],
    /// By process: its credits, none if it is no batcher, and the time at which it became one. A process that stands for a
    /// single request is not among them: it is a batcher if it was woken.
    batchers: Vec<(u32, Time)>,
}

/// The places of blk-mq.
#[derive(Debug)]
pub struct Tags {
    n: u32,
    count: u32,
    /// Processes that are woken at a time; `None`: as many as follow from `n`.
    batch: Option<u32>,
    /// Completions since processes were last woken.
    ends: u32,
    lists: [VecDeque<Process>; LISTS],
    deal: usize,
    current: usize,
    /// A new number of places with its `batch`, which take effect when all places are free.
    next: Option<(u32, Option<u32>)>,
}

/// The places of one queue.
#[derive(Debug)]
pub enum Places {
    Legacy(Legacy),
    Tags(Tags),
}

impl Places {
    pub fn legacy(n: u32) -> Places {
        Places::Legacy(Legacy { n, pools: Default::default(), batchers: Vec::new() })
    }

    /// `n` places; `wake_batch` is computed as in sbitmap if it is `None`.
    pub fn tags(n: u32, wake_batch: Option<u32>) -> Places {
        Places::Tags(Tags {
            n,
            count: 0,
            batch: wake_batch,
            ends: 0,
            lists: Default::default(),
            deal: 0,
            current: 0,
            next: None,
        })
    }

    /// Whether nothing is admitted or merged until all places are free.
    pub fn is_frozen(&self) -> bool {
        matches!(self, Places::Tags(Tags { next: Some(_), .. }))
    }

    /// Whether a process that gets a place now may then exceed the limit: it must not be [`UNKNOWN`].
    #[inline]
    pub fn makes_batcher(&self, sync: bool) -> bool {
        match self {
            Places::Legacy(l) => l.makes_batcher(sync),
            Places::Tags(_) => false,
        }
    }

    /// Takes a place for a request of `process`; false if there is none, so that the process has to wait. `woken`:
    /// the request waited before, and its process was woken.
    #[inline(always)]
    pub fn take(&mut self, now: Time, process: Process, sync: bool, woken: bool) -> bool {
        match self {
            Places::Legacy(l) => l.take(now, process, sync, woken),
            Places::Tags(t) => {
                let free = t.count < t.n && t.next.is_none();
                t.count += u32::from(free);
                free
            }
        }
    }

    /// Adds a process to those that wait for a place.
    pub fn wait(&mut self, process: Process, sync: bool) {
        match self {
            Places::Legacy(l) => l.pools[usize::from(sync)].waiting.push_back(process),
            Places::Tags(t) => {
                t.lists[t.deal].push_back(process);
                t.deal = (t.deal + 1) % LISTS;
            }
        }
    }

    /// A request has completed: frees its place. Processes that are woken are added to `woken`.
    #[inline(always)]
    pub fn release(&mut self, now: Time, sync: bool, woken: &mut VecDeque<Process>) {
        match self {
            Places::Legacy(l) => l.release(now, sync, woken),
            Places::Tags(t) => t.release(woken),
        }
    }

    /// Changes the number of places. Legacy queues change at once; blk-mq admits nothing until all places are
    /// free.
    pub fn resize(&mut self, now: Time, n: u32, woken: &mut VecDeque<Process>) {
        match self {
            Places::Legacy(l) => {
                l.n = n;
                for sync in [false, true] {
                    let pool = &mut l.pools[usize::from(sync)];
                    pool.full = pool.count >= n;
                    if !pool.full {
                        l.wake(now, sync, woken);
                    }
                }
            }
            Places::Tags(t) => {
                let batch = t.next.map_or(t.batch, |(_, batch)| batch);
                t.next = Some((n, batch));
                t.thaw(woken);
            }
        }
    }

    /// Of blk-mq: admits nothing until all places are free; then there are `n`, and `wake_batch` processes are woken at a
    /// time.
    pub fn replace(&mut self, n: u32, wake_batch: Option<u32>, woken: &mut VecDeque<Process>) {
        if let Places::Tags(t) = self {
            t.next = Some((n, wake_batch));
            t.thaw(woken);
        }
    }

    /// Number of places; a new number that has not taken effect yet counts.
    pub fn limit(&self) -> u32 {
        match self {
            Places::Legacy(l) => l.n,
            Places::Tags(t) => t.next.map_or(t.n, |(n, _)| n),
        }
    }

    /// Number of places taken of those that a synchronous or asynchronous request can have.
    pub fn taken_of(&self, sync: bool) -> u32 {
        match self {
            Places::Legacy(l) => l.pools[usize::from(sync)].count,
            Places::Tags(t) => t.count,
        }
    }

    /// Whether synchronous and asynchronous requests have places of their own.
    pub fn has_two_pools(&self) -> bool {
        matches!(self, Places::Legacy(_))
    }

    /// Number of places taken.
    pub fn taken(&self) -> u32 {
        match self {
            Places::Legacy(l) => l.pools.iter().map(|p| p.count).sum(),
            Places::Tags(t) => t.count,
        }
    }
}

impl Legacy {
    fn is_batcher(&self, now: Time, process: Process) -> bool {
        let known = self.batchers.get(process as usize);
        known.is_some_and(|(credits, since)| *credits == BATCH || (*credits > 0 && now.0 - since.0 < BATCH_TIME))
    }

    fn make_batcher(&mut self, now: Time, process: Process) {
        let place = process as usize;
        if place >= self.batchers.len() {
            self.batchers.resize(place + 1, (0, Time::ZERO));
        }
        self.batchers[place] = (BATCH, now);
    }

    /// Whether the next place is the last one.
    fn makes_batcher(&self, sync: bool) -> bool {
        let pool = &self.pools[usize::from(sync)];
        pool.count + 1 >= self.n && !pool.full
    }

    pub fn take(&mut self, now: Time, process: Process, sync: bool, woken: bool) -> bool {
        let single = process > LAST_NAMED;
        let batcher = if single { woken } else { self.is_batcher(now, process) };
        let becomes = self.makes_batcher(sync);
        let pool = &mut self.pools[usize::from(sync)];
        pool.full |= becomes;
        if pool.count + 1 >= self.n && !becomes && !batcher {
            return false;
        }
        // The hard limit, which also applies to batchers.
        if pool.count >= self.n.saturating_mul(3) / 2 {
            return false;
        }
        pool.count += 1;
        if single {
            return true;
        }
        if becomes {
            self.make_batcher(now, process);
        }
        if let Some((credits, _)) = self.batchers.get_mut(process as usize) {
            *credits = if batcher || becomes { *credits - 1 } else { 0 };
        }
        true
    }

    #[inline(always)]
    pub fn release(&mut self, now: Time, sync: bool, woken: &mut VecDeque<Process>) {
        let pool = &mut self.pools[usize::from(sync)];
        pool.count -= 1;
        if pool.count < self.n {
            pool.full = false;
            self.wake(now, sync, woken);
        }
        while self.pools[usize::from(sync)].count == 0 && self.wake(now, sync, woken) {}
    }

    /// Wakes one process, which becomes a batcher.
    #[inline(always)]
    fn wake(&mut self, now: Time, sync: bool, woken: &mut VecDeque<Process>) -> bool {
        let Some(process) = self.pools[usize::from(sync)].waiting.pop_front() else { return false };
        if process <= LAST_NAMED {
            self.make_batcher(now, process);
        }
        woken.push_back(process);
        true
    }
}

impl Tags {
    pub fn release(&mut self, woken: &mut VecDeque<Process>) {
        self.count -= 1;
        if self.next.is_some() {
            return self.thaw(woken);
        }
        let waiting = self.lists.iter().any(|l| !l.is_empty());
        if !waiting {
            return;
        }
        self.ends += 1;
        let batch = self.batch.unwrap_or((self.n / 8).clamp(1, 8));
        if self.ends >= batch {
            self.ends = 0;
            self.wake(batch, woken);
        }
        if self.count == 0 {
            self.wake(self.n, woken);
        }
    }

    /// Wakes up to `n` processes of the current list, or of the next one that is not empty, and moves on to
    /// the list after it.
    fn wake(&mut self, n: u32, woken: &mut VecDeque<Process>) {
        for _ in 0..LISTS {
            let list = &mut self.lists[self.current];
            self.current = (self.current + 1) % LISTS;
            if !list.is_empty() {
                let n = list.len().min(n as usize);
                woken.extend(list.drain(..n));
                return;
            }
        }
    }

    /// If all places are free, applies the new number of places and wakes all waiting processes.
    fn thaw(&mut self, woken: &mut VecDeque<Process>) {
        if self.count > 0 {
            return;
        }
        if let Some(next) = self.next.take() {
            (self.n, self.batch) = next;
            for i in 0..LISTS {
                let list = (self.current + i) % LISTS;
                woken.extend(self.lists[list].drain(..));
            }
            self.current = 0;
            self.deal = 0;
        }
    }
}
