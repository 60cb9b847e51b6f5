//! The deadline elevator of blk-mq.
//!
//! # Model
//! As `deadline`, except that the next request of a batch is looked up when it is taken, from the address of
//! the last request of that direction. So a request that arrives ahead of that address is served in order,
//! and reads continue at their old address after a batch of writes. The first batch is of writes, if there
//! are any. From Linux 5.14 to 6.4 the next request of each direction is the successor of the last one, known as soon as that
//! is taken: `in_advance`. If there was none, the next batch of that direction begins with its oldest request.
//! # Source
//! Linux 6.18, and 6.1 for `in_advance`, `block/mq-deadline.c`.
//! # Validity
//! One priority class. `async_depth` has its present default, which limits nothing.

use super::sorted::{BatchDirection, Parameters, Sorted, READ, WRITE};
use super::{Elevator, Queued};
use headstack_schema::Table;
use headstack_units::{Span, Time};

#[derive(Table)]
#[table(
    model = "sorted batches from the last address on, deadlines between them (blk-mq)",
    example = "writes_starved = 4",
    build = |own, _| {
        let next = if own.in_advance { Next::Successor } else { Next::LookedUp };
        Ok(Box::new(MqDeadline::new(own.each, next)))
    }
)]
pub(super) struct OfKernel {
    #[param(flatten)]
    each: Parameters,
    /// Whether the next request of a batch is known when the one before is taken, as in Linux 5.14 to 6.4.
    #[param(default = false)]
    in_advance: bool,
}

/// What the next request of a batch is.
#[derive(PartialEq)]
pub(crate) enum Next {
    /// The first one from the address of the last request of its direction on.
    LookedUp,
    /// That behind the last request of its direction, as known when that was taken.
    Successor,
    /// The same, forgotten when a request of the other direction is taken.
    SuccessorOfLast,
}

/// The elevators with deadlines; the `ranges` elevator has one for each range.
pub(crate) struct MqDeadline {
    parameters: Parameters,
    waiting: Sorted,
    /// Address of the last request taken, for each direction.
    latest: [u64; 2],
    next: Next,
    /// The request behind it, for each direction, as known when it was taken.
    successor: [Option<u32>; 2],
    last_direction: usize,
    batch: u32,
    direction: BatchDirection,
}

impl MqDeadline {
    pub fn new(parameters: Parameters, next: Next) -> MqDeadline {
        MqDeadline {
            waiting: Sorted::new(parameters.read_expire, parameters.write_expire),
            direction: BatchDirection::new(&parameters),
            parameters,
            latest: [0; 2],
            next,
            successor: [None; 2],
            last_direction: WRITE,
            batch: 0,
        }
    }

    fn next(&self, direction: usize) -> Option<u32> {
        match self.next {
            Next::LookedUp => self.waiting.at_or_behind(direction, self.latest[direction]),
            Next::Successor | Next::SuccessorOfLast => self.successor[direction],
        }
    }

    /// The earliest deadline of all waiting requests.
    pub fn first_deadline(&self) -> Time {
        let oldest = [READ, WRITE].into_iter().filter_map(|d| self.waiting.oldest(d));
        oldest.map(|(deadline, _)| deadline).min().unwrap_or(Time::NEVER)
    }
}

impl Elevator for MqDeadline {
    fn add(&mut self, now: Time, request: &Queued) {
        self.waiting.add(now, request);
    }

    fn take(&mut self, now: Time) -> Option<u32> {
        let goes_on = self.batch < self.parameters.fifo_batch;
        let slot = match self.next(self.last_direction).filter(|_| goes_on) {
            Some(slot) => slot,
            None => {
                let direction = self.direction.choose(&self.waiting)?;
                let (deadline, oldest) = self.waiting.oldest(direction)?;
                self.last_direction = direction;
                self.batch = 0;
                let next = self.next(direction).filter(|_| now < deadline);
                next.unwrap_or(oldest)
            }
        };
        self.batch += 1;
        if let Some((direction, lba, behind)) = self.waiting.remove(slot) {
            if self.next == Next::SuccessorOfLast {
                self.successor = [None; 2];
            }
            (self.latest[direction], self.successor[direction]) = (lba, behind);
        }
        Some(slot)
    }

    fn resort(&mut self, request: &Queued) {
        self.waiting.resort(request);
    }

    fn absorb(&mut self, survivor: u32, gone: u32) {
        if let Some(direction) = self.successor.iter().position(|s| *s == Some(gone)) {
            self.successor[direction] = self.waiting.successor(gone);
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
