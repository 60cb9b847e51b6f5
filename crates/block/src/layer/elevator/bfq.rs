//! Budget fair queueing: each process has a queue, and queues are served one at a time, in shares of the drive.
//!
//! # Model
//! Reads and synchronous writes of a process are in its queue; all asynchronous writes are in one queue, and requests of no
//! process in one for each kind. A queue has its turn until it has used its budget of sectors, or `timeout_sync` is over, or
//! it has no more requests. The next queue is chosen by virtual time (`bfq/order.rs`). A sector of an asynchronous write
//! counts as three. In its turn a queue is served in order of address from the last request on, also a little backwards; a
//! request that is late is served first, once in a turn.
//!
//! When a queue in its turn has no requests, the drive may be kept idle for `slice_idle`, so that its process can ask again
//! near its last request: if the process is sequential, or has not asked often enough to be known as a seeky one
//! (`bfq/habits.rs`), if the drive has no queue of its own, if no other process has requests, and for processes whose weight
//! is raised (`bfq/raising.rs`). Meanwhile requests of others may be served (`bfq/injection.rs`). A process that was slow is
//! charged for the time of its turn, not for its sectors (`bfq/turn.rs`).
//! # Source
//! Linux 6.12, `block/bfq-iosched.c`, `bfq-wf2q.c`, `Documentation/block/bfq-iosched.rst`.
//! # Validity
//! All processes have the same priority and no cgroups, so weights differ only where they are raised. Queues of processes
//! that read beside each other are not merged, and a process that wakes another one is not found. One queue for each process
//! also where a drive has several actuators. The limits on places of asynchronous requests are not there.

mod arrival;
#[doc(hidden)]
pub mod habits;
#[doc(hidden)]
pub mod injection;
#[doc(hidden)]
pub mod order;
mod queue;
#[doc(hidden)]
pub mod raising;
#[doc(hidden)]
pub mod rate;
mod requests;
mod turn;

use super::{Elevator, Queued};
use crate::layer::ANYONE;
use habits::is_far;
use headstack_schema::Table;
use headstack_units::{Bytes, Span, Time};
use injection::Injection;
use order::Order;
use queue::Queue;
use raising::Bursts;
use rate::{Dispatched, PeakRate};
use requests::{BackSeek, Requests};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A time from 0 on; the limit is that of simulated time.
const TIMES: RangeInclusive<Span> = Span::ZERO..=Span(Time::LATEST.0 as i64);
/// The weight of a process of usual priority.
const WEIGHT: u64 = 40;
/// A sector of an asynchronous request counts as so many.
const ASYNC_CHARGE: u64 = 3;
/// The largest budget until the rate of the drive is known, and so many turns are over.
const USUAL_BUDGET: u64 = 16_384;
const TURNS: u32 = 11;

/// The parameters, as in `/sys/block/DEVICE/queue/iosched`.
#[derive(Debug, Clone, Table)]
#[table(
    model = "a queue for each process, which have turns, and idle time between them (BFQ)",
    example = "low_latency = false",
    build = |own, _| Ok(Box::new(Bfq::new(own)))
)]
pub(super) struct Parameters {
    /// How long the drive is kept idle for a process; 0: never.
    #[param(default = Span(8_000_000), range = Span::ZERO..=Span(1_000_000_000))]
    slice_idle: Span,
    /// Most sectors in a turn; 0: what the drive transfers in `timeout_sync` at the rate that is measured.
    #[param(default, range = 0..=1 << 31)]
    max_budget: u32,
    /// Longest turn of a process.
    #[param(default = Span(125_000_000), range = Span(1_000_000)..=Span(60_000_000_000))]
    timeout_sync: Span,
    /// After this time a read or a synchronous write is late.
    #[param(default = Span(125_000_000), range = TIMES)]
    fifo_expire_sync: Span,
    /// After this time an asynchronous write is late.
    #[param(default = Span(250_000_000), range = TIMES)]
    fifo_expire_async: Span,
    /// Farthest request behind the last one that is served before those far ahead.
    #[param(default = Bytes(16 << 20))]
    back_seek_max: Bytes,
    /// How many times a distance backwards counts.
    #[param(default = 2, range = 1..=1000)]
    back_seek_penalty: u32,
    /// One request at the drive at a time, and always idling.
    #[param(default)]
    strict_guarantees: bool,
    /// Processes that start, or ask for little at regular times, get more weight.
    #[param(default = true)]
    low_latency: bool,
}

impl Parameters {
    fn fifo_expire(&self, sync: bool) -> Span {
        match sync {
            true => self.fifo_expire_sync,
            false => self.fifo_expire_async,
        }
    }

    fn back_seek(&self) -> BackSeek {
        BackSeek { most: self.back_seek_max.0 / 512, penalty: u64::from(self.back_seek_penalty) }
    }
}

/// Whether the drive has a queue of its own, as it is seen from outside.
#[derive(Debug, Default)]
struct Queueing {
    /// `None`: not known yet.
    is_present: Option<bool>,
    most: u32,
    samples: u32,
}

impl Queueing {
    /// With more requests at the drive than these it must have a queue.
    const FEW: u32 = 3;
    const SAMPLES: u32 = 32;

    fn is_absent(&self) -> bool {
        self.is_present == Some(false)
    }

    /// A request ends, of `at_drive`; `waiting` others wait. `served`: the requests of the queue in service, waiting and at
    /// the drive, if it is one for which the drive may be kept idle.
    fn see(&mut self, at_drive: u32, waiting: u32, served: Option<u32>) {
        self.most = self.most.max(at_drive);
        let is_light = at_drive + waiting <= Queueing::FEW;
        let is_held = served.is_some_and(|n| n < Queueing::FEW) && at_drive < Queueing::FEW;
        if self.is_present == Some(true) || is_light || is_held {
            return;
        }
        self.samples += 1;
        if self.samples > Queueing::SAMPLES {
            self.is_present = Some(self.most > Queueing::FEW);
            (self.most, self.samples) = (0, 0);
        }
    }
}

/// The turn that a queue has.
#[derive(Debug, Default)]
struct Turn {
    in_service: Option<u32>,
    began: Time,
    ends: Time,
    /// Until when the drive is kept idle for the queue in service; [`Time::NEVER`] if it is not.
    idle_until: Time,
    idling_since: Time,
    /// Turns so far.
    number: u32,
}

/// What is known of the requests at the drive.
#[derive(Debug, Default)]
struct AtDrive {
    at_drive: u32,
    /// The queue of each request, by slot.
    owners: Vec<u32>,
    /// The block after the last request that was dispatched.
    last_position: u64,
}

/// The elevator.
struct Bfq {
    parameters: Parameters,
    requests: Requests,
    queues: Vec<Queue>,
    /// By queue.
    submitters: Vec<u32>,
    /// By process, and whether the requests are synchronous.
    index: BTreeMap<(u32, bool), u32>,
    /// The queue of asynchronous requests.
    async_queue: Option<u32>,
    order: Order,
    turn: Turn,
    drive: AtDrive,
    /// Queues that wait for their turns or have one; of these, those whose weight is raised.
    busy: u32,
    busy_raised: u32,
    queueing: Queueing,
    rate: PeakRate,
    injection: Injection,
    bursts: Bursts,
}

impl Bfq {
    fn new(parameters: Parameters) -> Bfq {
        Bfq {
            parameters,
            requests: Requests::default(),
            queues: Vec::new(),
            submitters: Vec::new(),
            index: BTreeMap::new(),
            async_queue: None,
            order: Order::default(),
            turn: Turn { idle_until: Time::NEVER, ..Turn::default() },
            drive: AtDrive::default(),
            busy: 0,
            busy_raised: 0,
            queueing: Queueing::default(),
            rate: PeakRate::new(),
            injection: Injection::default(),
            bursts: Bursts::default(),
        }
    }

    /// The largest budget of a turn, in sectors.
    fn most_budget(&self) -> u64 {
        match self.parameters.max_budget {
            0 if self.turn.number < TURNS || !self.rate.is_measured => USUAL_BUDGET,
            0 => self.rate.sectors_in(self.parameters.timeout_sync.non_negative()).max(32),
            most => u64::from(most),
        }
    }

    fn least_budget(&self) -> u64 {
        self.most_budget() / 32
    }

    /// The queue of a request's process, which is new if this is its first request.
    fn queue_of(&mut self, now: Time, request: &Queued) -> u32 {
        // Asynchronous requests of all processes are in one queue.
        let submitter = if request.sync { request.submitter } else { ANYONE };
        let new = self.queues.len() as u32;
        let q = *self.index.entry((submitter, request.sync)).or_insert(new);
        if q == new {
            let budget = self.most_budget() * 2 / 3;
            self.queues.push(Queue::new(now, request.sync, budget));
            self.submitters.push(submitter);
            self.order.add(WEIGHT);
            if !request.sync {
                self.async_queue = Some(q);
            } else if self.parameters.low_latency {
                for member in self.bursts.comes(now, q) {
                    self.queues[member as usize].raise.in_burst = true;
                }
            }
        }
        q
    }

    /// Sectors that the next request of a queue is charged; 0 if it has none.
    fn charge_of_next(&self, q: u32) -> u64 {
        let queue = &self.queues[q as usize];
        let next = queue.next.and_then(|slot| self.requests.get(slot));
        let blocks = next.map_or(0, |w| w.blocks);
        match queue.is_sync || queue.raise.is_raised() {
            true => blocks,
            false => blocks * ASYNC_CHARGE,
        }
    }

    /// A queue is charged so many sectors.
    fn serve(&mut self, q: u32, sectors: u64) {
        self.order.serve(q, sectors);
        self.queues[q as usize].raise.serve(sectors);
    }

    /// After the raise of a queue may have changed.
    fn apply_raise(&mut self, q: u32, was_raised: bool) {
        let queue = &self.queues[q as usize];
        match (was_raised, queue.raise.is_raised()) {
            (false, true) if queue.is_busy => self.busy_raised += 1,
            (true, false) if queue.is_busy => self.busy_raised -= 1,
            _ => {}
        }
        self.update_weight(q);
    }

    fn update_weight(&mut self, q: u32) {
        let weight = WEIGHT * self.queues[q as usize].raise.factor();
        if self.order.share(q).weight != weight {
            self.order.set_weight(q, weight);
        }
    }

    /// The next request of a queue goes to the drive.
    fn dispatch(&mut self, now: Time, q: u32) -> Option<u32> {
        let slot = self.queues[q as usize].next?;
        let in_turn = self.turn.in_service == Some(q);
        let charge = self.charge_of_next(q);
        self.serve(q, charge);
        let served = self.requests.remove(slot)?;
        let request = Dispatched {
            sectors: served.blocks,
            is_far: is_far(self.drive.last_position, served.lba),
            at_drive: self.drive.at_drive,
        };
        self.rate.dispatched(now, &request);
        self.drive.last_position = served.end();
        let next = self.late_of(now, q);
        let next = next.or_else(|| self.requests.after(&served, self.parameters.back_seek()));
        let queue = &mut self.queues[q as usize];
        queue.next = next;
        queue.waiting -= 1;
        queue.at_drive += 1;
        self.drive.at_drive += 1;
        self.injection.see(self.drive.at_drive);
        if slot as usize >= self.drive.owners.len() {
            self.drive.owners.resize(slot as usize + 1, 0);
        }
        self.drive.owners[slot as usize] = q;
        if in_turn {
            self.injection.dispatched(slot);
            let raise = &mut self.queues[q as usize].raise;
            let was_raised = raise.is_raised();
            raise.update(now, &self.rate);
            self.apply_raise(q, was_raised);
        } else if self.queues[q as usize].waiting > 0 {
            self.next_changes(q);
        } else {
            self.leave(q);
            let share = self.order.share_mut(q);
            (share.budget, share.service) = (0, 0);
        }
        Some(slot)
    }

    /// The oldest request of a queue, if it is late and that was not looked at in this turn.
    fn late_of(&mut self, now: Time, q: u32) -> Option<u32> {
        let queue = &mut self.queues[q as usize];
        if std::mem::replace(&mut queue.has_seen_age, true) {
            return None;
        }
        let oldest = self.requests.oldest(q)?;
        let late = self.requests.get(oldest)?.deadline <= now;
        late.then_some(oldest)
    }
}

impl Elevator for Bfq {
    fn add(&mut self, now: Time, request: &Queued) {
        self.end_idling(now);
        let q = self.queue_of(now, request);
        self.arrive(now, q, request);
    }

    fn take(&mut self, now: Time) -> Option<u32> {
        self.end_idling(now);
        let is_held = self.parameters.strict_guarantees && self.drive.at_drive > 0;
        if is_held || self.requests.by_turn.is_empty() {
            return None;
        }
        let q = self.select(now)?;
        self.dispatch(now, q)
    }

    fn resumes_at(&self) -> Time {
        self.turn.idle_until
    }

    fn resort(&mut self, request: &Queued) {
        self.requests.reshape(request);
        let Some(waiting) = self.requests.get(request.slot) else { return };
        let q = waiting.queue;
        let (before, back) = (self.queues[q as usize].next, self.parameters.back_seek());
        let next = self.requests.nearer(before, request.slot, self.drive.last_position, back);
        self.queues[q as usize].next = Some(next);
        if before != Some(next) {
            self.next_changes(q);
        }
    }

    fn grown(&mut self, request: &Queued) {
        self.requests.reshape(request);
    }

    fn absorb(&mut self, survivor: u32, gone: u32) {
        self.requests.take_turn_of(survivor, gone);
        let Some(left) = self.requests.remove(gone) else { return };
        let queue = &mut self.queues[left.queue as usize];
        queue.waiting -= 1;
        if queue.next == Some(gone) {
            queue.next = self.requests.after(&left, self.parameters.back_seek());
            self.next_changes(left.queue);
        }
    }

    fn ended(&mut self, now: Time, slot: u32) {
        self.end_idling(now);
        let q = self.drive.owners[slot as usize];
        let waiting = self.requests.by_turn.len() as u32;
        let served = self.turn.in_service.map(|s| &self.queues[s as usize]);
        let served = served.filter(|s| s.habits.has_short_think_time);
        let served = served.map(|s| s.waiting + s.at_drive);
        self.queueing.see(self.drive.at_drive, waiting, served);
        let queue = &mut self.queues[q as usize];
        let limit = &mut queue.limit;
        self.injection.ended(now, slot, limit, self.drive.at_drive);
        self.rate.ended(now);
        self.drive.at_drive -= 1;
        queue.at_drive -= 1;
        queue.habits.last_end = now;
        if queue.at_drive == 0 && !queue.is_busy {
            queue.raise.empty_since = Some(now);
        }
        if queue.raise.is_soft_pending && queue.at_drive == 0 && queue.waiting == 0 {
            let slice_idle = self.parameters.slice_idle.non_negative();
            queue.raise.set_soft_from(now, slice_idle);
        }
        self.after_end(now, q);
    }

    fn may_join(&self, request: &Queued, other: &Queued) -> bool {
        let is_one = request.submitter == other.submitter || !request.sync;
        request.sync == other.sync && is_one
    }

    fn len(&self) -> usize {
        self.requests.by_turn.len()
    }
}
