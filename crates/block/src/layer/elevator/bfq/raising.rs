//! Weights of processes that start, or that ask for little at regular times, are raised (`low_latency`).
//!
//! # Model
//! *Interactive*: a process that had no requests for 2 s, or that is new, has 30 times its weight for as long as a drive of
//! this rate needs to start a large program (3 to 25 s), or until it has got 120,000 sectors.
//!
//! *Soft real time*: a process that does not ask again before the time at which 7,000 sectors per second would have served
//! what it got, and 24 ms have passed, has 3,000 times its weight for 300 ms.
//!
//! *Bursts*: eight new processes or more, each within 180 ms of the one before, are parts of one program, and none of them
//! is raised. A process of a burst may be raised again when it had no requests for 10 s.
//!
//! While a process is raised its turns are as much longer as its weight is higher.

use super::habits::Habits;
use super::rate::PeakRate;
use headstack_units::Time;

const INTERACTIVE: u64 = 30;
const SOFT_REAL_TIME: u64 = 100 * INTERACTIVE;
const SOFT_REAL_TIME_NS: u64 = 300_000_000;
/// Sectors per second that a soft real-time process asks for at most.
const SOFT_RATE: u64 = 7_000;
/// What follows a request sooner than this, after `slice_idle`, follows at once.
const AT_ONCE_NS: u64 = 16_000_000;
/// A process without requests for so long may be interactive.
const LONG_IDLE_NS: u64 = 2_000_000_000;
/// A process without requests for so long belongs to no burst any more.
const BURST_IDLE_NS: u64 = 10_000_000_000;
/// An asynchronous queue is raised at most this often.
const ASYNC_NS: u64 = 500_000_000;
/// Sectors after which a process is no longer interactive.
const MOST_SECTORS: u64 = 120_000;
const BURST_NS: u64 = 180_000_000;
const LARGE_BURST: usize = 8;

/// Why a weight is raised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Interactive,
    /// With the time at which it was interactive before, if it was.
    SoftRealTime(Option<Time>),
}

/// How a queue is raised.
#[derive(Debug, Clone, Default)]
pub struct Raise {
    reason: Option<Reason>,
    /// Since when it is raised; of a queue that is not, when its last request came.
    since: Time,
    for_ns: u64,
    /// Sectors that it got while it was raised.
    sectors: u64,
    /// Not before this time it may be soft real time.
    soft_from: Time,
    /// That time is to be computed when its requests have ended.
    pub is_soft_pending: bool,
    /// Since when it has requests, and the sectors that it got since.
    backlogged: Time,
    backlog_sectors: u64,
    pub in_burst: bool,
    /// Since when it has no requests, neither waiting nor at the drive; `None`: it never had any.
    pub empty_since: Option<Time>,
}

/// What a request finds that comes to a queue without waiting requests.
pub struct Arrival<'a> {
    pub now: Time,
    pub is_sync: bool,
    /// Whether it is the first one of its queue.
    pub is_first: bool,
    /// Requests of the queue at the drive.
    pub at_drive: u32,
    pub habits: &'a Habits,
    pub rate: &'a PeakRate,
}

impl Raise {
    pub fn new(now: Time) -> Raise {
        Raise { since: now, soft_from: now, backlogged: now, ..Raise::default() }
    }

    /// By how much its weight is multiplied.
    pub fn factor(&self) -> u64 {
        match self.reason {
            None => 1,
            Some(Reason::Interactive) => INTERACTIVE,
            Some(Reason::SoftRealTime(_)) => SOFT_REAL_TIME,
        }
    }

    pub fn is_raised(&self) -> bool {
        self.reason.is_some()
    }

    /// By how much its turns are longer.
    pub fn turn_factor(&self) -> u64 {
        match self.reason {
            Some(Reason::Interactive) => INTERACTIVE,
            _ => 1,
        }
    }

    /// Whether it had no requests for more than this time.
    fn was_idle_for(&self, now: Time, at_drive: u32, ns: u64) -> bool {
        let over = |since: Time| now.0 > since.0.saturating_add(ns);
        at_drive == 0 && self.empty_since.is_none_or(over)
    }

    /// A request comes to a queue that had none waiting: it may become raised, or otherwise raised. Returns whether it is
    /// interactive.
    pub fn arrives(&mut self, a: &Arrival) -> bool {
        let idle = self.was_idle_for(a.now, a.at_drive, LONG_IDLE_NS);
        let interactive = !self.in_burst && idle;
        let soft = !self.in_burst && a.at_drive == 0 && a.now > self.soft_from && !a.habits.is_totally_seeky();
        if !a.is_first && self.was_idle_for(a.now, a.at_drive, BURST_IDLE_NS) {
            self.in_burst = false;
        }
        match self.reason {
            None if a.is_sync && interactive => {
                self.sectors = 0;
                self.raise(Reason::Interactive, a.rate);
            }
            None if a.is_sync && soft => self.raise(Reason::SoftRealTime(None), a.rate),
            Some(_) if interactive => self.raise(Reason::Interactive, a.rate),
            Some(_) if self.in_burst => self.reason = None,
            Some(reason) if soft => {
                let before = match reason {
                    Reason::Interactive => Some(self.since),
                    Reason::SoftRealTime(before) => before,
                };
                self.raise(Reason::SoftRealTime(before), a.rate);
                self.since = a.now;
            }
            _ => {}
        }
        (self.backlogged, self.backlog_sectors) = (a.now, 0);
        self.is_soft_pending = false;
        interactive
    }

    fn raise(&mut self, reason: Reason, rate: &PeakRate) {
        self.reason = Some(reason);
        self.for_ns = match reason {
            Reason::Interactive => rate.start_ns(),
            Reason::SoftRealTime(_) => SOFT_REAL_TIME_NS,
        };
    }

    /// An asynchronous request comes to a queue that has requests.
    pub fn async_arrives(&mut self, now: Time, rate: &PeakRate) {
        if self.reason.is_none() && now.0 > self.since.0 + ASYNC_NS {
            self.raise(Reason::Interactive, rate);
        }
    }

    /// After a request has come, to a queue that was raised before or not.
    pub fn note_arrival(&mut self, now: Time, was_raised: bool, interactive: bool) {
        if !was_raised || !self.is_raised() || interactive {
            self.since = now;
        }
    }

    /// The turn of a queue is over that is not raised.
    pub fn note_turn(&mut self, now: Time) {
        if !self.is_raised() {
            self.since = now;
        }
    }

    /// It was served so many sectors.
    pub fn serve(&mut self, sectors: u64) {
        if self.is_raised() {
            self.sectors += sectors;
        }
        self.backlog_sectors += sectors;
    }

    /// Ends the raise if it is over; at each request of a turn.
    pub fn update(&mut self, now: Time, rate: &PeakRate) {
        let Some(reason) = self.reason else { return };
        if self.in_burst {
            return self.end(now);
        }
        if now.0 > self.since.0.saturating_add(self.for_ns) {
            match reason {
                // It was interactive before, and that time is not over.
                Reason::SoftRealTime(Some(before)) if now.0 <= before.0.saturating_add(rate.start_ns()) => {
                    self.raise(Reason::Interactive, rate);
                    self.since = before;
                }
                _ => return self.end(now),
            }
        }
        if self.reason == Some(Reason::Interactive) && self.sectors > MOST_SECTORS {
            self.end(now);
        }
    }

    /// It is raised no longer.
    pub fn end(&mut self, now: Time) {
        self.reason = None;
        self.since = now;
    }

    /// Its requests have ended, and it asks for no more at present: says when it may be soft real time.
    pub fn set_soft_from(&mut self, now: Time, slice_idle: u64) {
        let served = self.backlog_sectors.saturating_mul(1_000_000_000) / SOFT_RATE;
        let by_rate = self.backlogged.0.saturating_add(served);
        let by_time = now.0 + slice_idle + AT_ONCE_NS;
        self.soft_from = Time(self.soft_from.0.max(by_rate).max(by_time));
        self.is_soft_pending = false;
    }
}

/// The burst of new processes.
#[derive(Debug, Default)]
pub struct Bursts {
    last: Option<Time>,
    /// Its processes, until it is large.
    members: Vec<u32>,
    is_large: bool,
}

impl Bursts {
    /// A new queue has its first request. Returns the queues that are now known to belong to a large burst.
    pub fn comes(&mut self, now: Time, queue: u32) -> Vec<u32> {
        let last = self.last.replace(now);
        if last.is_none_or(|last| now.0 > last.0 + BURST_NS) {
            self.is_large = false;
            self.members.clear();
        }
        if self.is_large {
            return vec![queue];
        }
        self.members.push(queue);
        if self.members.len() < LARGE_BURST {
            return Vec::new();
        }
        self.is_large = true;
        std::mem::take(&mut self.members)
    }
}
