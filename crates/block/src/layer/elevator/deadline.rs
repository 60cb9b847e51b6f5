//! The deadline elevator of Linux 3.x.
//!
//! # Model
//! Reads and writes are kept apart, each sorted by address, and each request has a deadline. Requests are
//! dispatched in batches of one direction, in order of address. When a request is taken, its successor becomes
//! the next one of the batch; deadlines are not checked inside a batch. A new batch is of reads, unless
//! `writes_starved` batches of reads have gone before waiting writes. It begins with the oldest request if that
//! is past its deadline or if the direction has changed; otherwise where the last batch stopped.
//!
//! Parameters: `read_expire` (500 ms), `write_expire` (5 s), `fifo_batch` (16), `writes_starved` (2).
//! # Source
//! Linux 3.x, `block/deadline-iosched.c`.
//! # Validity
//! Front merges are always tried; Linux can switch them off.

use super::sorted::{BatchDirection, Parameters, Sorted};
use super::{Elevator, Queued};
use headstack_schema::Plugin;
use headstack_units::{Span, Time};

/// The entry of the list.
pub fn plugin() -> Plugin<dyn Elevator> {
    let summary = "sorted batches, deadlines between them (Linux 3.x)";
    let example = "fifo_batch = 4\nread_expire = \"100 ms\"";
    Plugin::<dyn Elevator>::new("deadline", summary, example, |p, _| Ok(Box::new(Deadline::new(p))))
}

struct Deadline {
    parameters: Parameters,
    waiting: Sorted,
    /// The next request of the batch.
    next: Option<u32>,
    batch: u32,
    direction: BatchDirection,
}

impl Deadline {
    fn new(parameters: Parameters) -> Deadline {
        Deadline {
            waiting: Sorted::new(parameters.read_expire, parameters.write_expire),
            direction: BatchDirection::new(&parameters),
            parameters,
            next: None,
            batch: 0,
        }
    }
}

impl Elevator for Deadline {
    fn add(&mut self, now: Time, request: &Queued) {
        self.waiting.add(now, request);
    }

    fn take(&mut self, now: Time) -> Option<u32> {
        let goes_on = self.next.filter(|_| self.batch < self.parameters.fifo_batch);
        let slot = match goes_on {
            Some(slot) => slot,
            None => {
                let direction = self.direction.choose(&self.waiting)?;
                let (deadline, oldest) = self.waiting.oldest(direction)?;
                let ahead = self.next.filter(|n| self.waiting.direction(*n) == Some(direction));
                self.batch = 0;
                ahead.filter(|_| now < deadline).unwrap_or(oldest)
            }
        };
        self.batch += 1;
        self.next = self.waiting.remove(slot).and_then(|(.., behind)| behind);
        Some(slot)
    }

    fn resort(&mut self, request: &Queued) {
        self.waiting.resort(request);
    }

    fn absorb(&mut self, survivor: u32, gone: u32) {
        if self.next == Some(gone) {
            self.next = self.waiting.successor(gone);
        }
        self.waiting.absorb(survivor, gone);
    }

    fn len(&self) -> usize {
        self.waiting.len()
    }

    fn read_expire(&self) -> Option<Span> {
        Some(self.waiting.read_expire())
    }

    fn set_read_expire(&mut self, expire: Span) {
        self.waiting.set_read_expire(expire);
    }
}
