//! How many requests of other processes are at the drive while it is kept for one.
//!
//! # Model
//! While a process thinks, the drive may serve others without making it wait much longer. Each queue has a limit: with so
//! many requests at the drive, no other queue is asked. The time from a request that comes to an idle turn until its end is
//! the measure. Its base is that time with no other request. If with others it is half as long again, the limit goes down by
//! one, otherwise up by one. After a second without a step down the limit and its base are found anew.
//! # Source
//! Linux 6.12, `block/bfq-iosched.c` (`bfq_choose_bfqq_for_injection`, `bfq_update_inject_limit`).

use headstack_units::Time;

pub const MS: u64 = 1_000_000;
/// Base and limit are found anew after this time without a step down.
const RENEW_NS: u64 = 1_000 * MS;
/// No measure begins sooner after a step down.
const PAUSE_NS: u64 = 10 * MS;
/// A limit of zero is tried with one request after this time without a step down.
const TRY_NS: u64 = 100 * MS;

/// The limit of a queue.
#[derive(Debug, Clone, Default)]
pub struct Limit {
    limit: u32,
    /// Time of a request without others; 0: not known.
    base_ns: u64,
    /// When it last went down, or was found anew.
    lowered: Time,
}

impl Limit {
    /// Nothing is known yet.
    pub fn new(now: Time, limit: u32) -> Limit {
        Limit { limit, base_ns: 0, lowered: now }
    }

    fn is_older_than(&self, now: Time, ns: u64) -> bool {
        now.0 >= self.lowered.0.saturating_add(ns)
    }

    /// The limit, if `always` others may be served although it is not known how much that delays the process.
    pub fn at(&self, now: Time, always: bool) -> u32 {
        let unknown = self.limit == 0 && self.base_ns == 0;
        match unknown && (always || self.is_older_than(now, TRY_NS)) {
            true => 1,
            false => self.limit,
        }
    }
}

/// The request whose time is measured.
#[derive(Debug, Default)]
pub struct Injection {
    /// Since when, and whether the next request of the queue in service is the one.
    since: Time,
    begins: bool,
    slot: Option<u32>,
    /// Whether requests of other queues were served meanwhile.
    pub has_injected: bool,
    /// The most requests at the drive so far.
    most: u32,
}

impl Injection {
    /// A request comes to a queue that has no other, waiting or at the drive. `in_turn`: the queue is in service.
    pub fn arrives(&mut self, now: Time, limit: &mut Limit, in_turn: bool, at_drive: u32, has_short_think_time: bool) {
        if limit.is_older_than(now, RENEW_NS) {
            *limit = Limit::new(now, u32::from(!has_short_think_time));
            self.slot = None;
        }
        let is_measurable = at_drive == 0 || (limit.base_ns > 0 && self.has_injected);
        if in_turn && is_measurable && limit.is_older_than(now, PAUSE_NS) {
            (self.since, self.begins) = (now, true);
            if at_drive == 0 {
                self.has_injected = false;
            }
        }
    }

    /// A request of the queue in service is dispatched.
    pub fn dispatched(&mut self, slot: u32) {
        if std::mem::take(&mut self.begins) {
            self.slot = Some(slot);
        }
    }

    /// So many requests are at the drive.
    pub fn see(&mut self, at_drive: u32) {
        self.most = self.most.max(at_drive);
    }

    /// A request ends; `at_drive` counts it.
    pub fn ended(&mut self, now: Time, slot: u32, limit: &mut Limit, at_drive: u32) {
        if self.slot != Some(slot) {
            return;
        }
        self.slot = None;
        let took = now.0 - self.since.0;
        let before = limit.limit;
        if limit.base_ns > 0 && self.has_injected {
            if took >= limit.base_ns * 3 / 2 {
                if before > 0 {
                    limit.limit -= 1;
                    limit.lowered = now;
                }
            } else if before <= self.most {
                limit.limit += 1;
            }
        }
        if (limit.base_ns == 0 && at_drive == 1) || took < limit.base_ns {
            if limit.base_ns == 0 {
                limit.limit = before.max(1);
            }
            limit.base_ns = took;
        } else if !self.has_injected && at_drive == 1 {
            limit.base_ns = took;
        }
        self.has_injected = false;
    }
}
