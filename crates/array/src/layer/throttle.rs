//! A limit on the rate of requests or bytes, above the host's queue.
//!
//! # Model
//! Requests are released first come first served, one at a time. The time between two releases is at least `1 / iops`,
//! or the bytes of the second request divided by `bandwidth`. If no request waits and this time has passed, a request
//! passes at once. Without a limit all requests pass. The time that a request is held counts as `queue`. A host queue
//! below counts its own time from the release on, because a process that is throttled sleeps before its request exists
//! there.
//!
//! | parameter | means | if absent |
//! |---|---|---|
//! | `iops` | requests per second | no limit |
//! | `bandwidth` | bytes per second | no limit |
//!
//! One of the two may be given. The limit may change during a run; waiting requests are then released at the new rate.
//!
//! Statistics: `held` (requests that had to wait) and the time `held`.
//! # Source
//! `dm-throttle`, the kernel module of M. G. Khatib and Z. Bandic, FAST 2016, section 4. The paper does not say how the
//! module spaces requests. Even spacing gives the peak of power over the rate that its Figure 2b shows.
//! # Validity
//! Linux's own limits (`io.max`) release in slices of time instead.

use super::below::LowerLayers;
use super::clock::{LayerClock, NextEvent};
use super::{
    not_supported, Context, Entry, Layer, LayerCompletion, LowerCount, Request, Setting, Statistics,
};
use headstack_control::RateLimit;
use headstack_drive::DriveEnergy;
use headstack_schema::{SpecError, Table};
use headstack_units::{Bandwidth, Frequency, Span, Time};
use slab::Slab;
use std::collections::VecDeque;

/// The layer's name.
pub(super) const NAME: &str = "throttle";

/// The registry's entry.
pub fn entry() -> Entry {
    let summary = "releases requests at a limited rate";
    Entry::new(NAME, summary, LowerCount::One, |context, p| {
        Ok(Box::new(Throttle::new(context, &p)?))
    })
    .with_example("iops = \"150/s\"")
}

#[derive(Table)]
struct Parameters {
    /// Requests per second; no limit if neither this nor `bandwidth` is given.
    iops: Option<Frequency>,
    /// Bytes per second, instead of `iops`.
    bandwidth: Option<Bandwidth>,
}

/// A request that is held, or that is in the layer below.
struct Passing {
    request: Request,
    arrival: Time,
    released: Time,
}

struct Throttle {
    below: LowerLayers,
    clock: LayerClock,
    limit: RateLimit,
    passing: Slab<Passing>,
    held: VecDeque<u32>,
    /// When the last request was released.
    last: Option<Time>,
    n_held: u64,
    held_ns: u128,
}

/// Checks that a limit is between 1e-6 and 1e12, so that it can be used as nanoseconds per request or per byte.
fn check(limit: RateLimit) -> Result<RateLimit, SpecError> {
    let (key, rate) = match limit {
        RateLimit::Unlimited => return Ok(limit),
        RateLimit::Requests(Frequency(rate)) => ("iops", rate),
        RateLimit::Bytes(Bandwidth(rate)) => ("bandwidth", rate),
    };
    match (1e-6..=1e12).contains(&rate) {
        true => Ok(limit),
        false => Err(SpecError::new(key, rate, "1e-6 to 1e12 per second")),
    }
}

impl Throttle {
    fn new(context: Context, p: &Parameters) -> Result<Throttle, SpecError> {
        let limit = match (p.iops, p.bandwidth) {
            (None, None) => RateLimit::Unlimited,
            (Some(rate), None) => RateLimit::Requests(rate),
            (None, Some(rate)) => RateLimit::Bytes(rate),
            (Some(_), Some(rate)) => {
                let need = "one of iops and bandwidth";
                return Err(SpecError::new("bandwidth", rate, need));
            }
        };
        Ok(Throttle {
            below: LowerLayers::new(context.below),
            clock: LayerClock::default(),
            limit: check(limit)?,
            passing: Slab::new(),
            held: VecDeque::new(),
            last: None,
            n_held: 0,
            held_ns: 0,
        })
    }

    /// When the first request that is held is released.
    fn next_release(&self) -> Time {
        let Some(first) = self.held.front() else {
            return Time::NEVER;
        };
        let passing = &self.passing[*first as usize];
        let bytes = f64::from(passing.request.blocks) * 512.0;
        let gap_s = match self.limit {
            RateLimit::Unlimited => return passing.arrival.max(self.last.unwrap_or_default()),
            RateLimit::Requests(rate) => 1.0 / rate.0,
            RateLimit::Bytes(rate) => bytes / rate.0,
        };
        match self.last {
            None => passing.arrival,
            Some(last) => passing
                .arrival
                .max(last + Span((gap_s * 1e9).round() as i64)),
        }
    }

    /// Releases the requests that are due by `now`.
    fn release(&mut self, now: Time) {
        while self.next_release() <= now {
            let Some(slot) = self.held.pop_front() else {
                return;
            };
            let passing = &mut self.passing[slot as usize];
            passing.released = now;
            self.last = Some(now);
            if self.clock.statistics.counts_from(passing.arrival) {
                self.n_held += u64::from(now > passing.arrival);
                self.held_ns += u128::from(now.0 - passing.arrival.0);
            }
            let request = Request {
                id: u64::from(slot),
                ..passing.request
            };
            self.below.submit(now, request.unit, request);
        }
    }

    fn step_below(&mut self, until: Time, sink: &mut dyn FnMut(&LayerCompletion)) {
        let (passing, statistics) = (&mut self.passing, &mut self.clock.statistics);
        self.below.step_until(until, &mut |done| {
            let own = passing.remove(done.id as usize);
            let mut done = LayerCompletion {
                id: own.request.id,
                arrival: own.arrival,
                ..*done
            };
            done.components.queue += own.released.0 - own.arrival.0;
            statistics.add_done(&done);
            sink(&done);
        });
    }
}

impl Layer for Throttle {
    fn name(&self) -> &str {
        NAME
    }

    fn units(&self) -> Vec<u64> {
        self.below.member_blocks()
    }

    fn submit(&mut self, now: Time, request: Request) {
        self.clock.reach(now);
        let inside = (request.unit as usize) < self.below.members()
            && request.is_inside(self.below.blocks_of(request.unit));
        if !inside {
            self.clock.refuse(&request, now);
            return;
        }
        let slot = self.passing.insert(Passing {
            request,
            arrival: now,
            released: now,
        });
        self.held.push_back(slot as u32);
        self.release(now);
    }

    fn next_event(&self) -> Time {
        let own = self.next_release().max(self.clock.now());
        let own = if self.held.is_empty() {
            Time::NEVER
        } else {
            own
        };
        self.clock.next_event(own.min(self.below.next_event()))
    }

    fn advance(&mut self, until: Time, sink: &mut dyn FnMut(&LayerCompletion)) {
        loop {
            let own = match self.held.is_empty() {
                true => Time::NEVER,
                false => self.next_release().max(self.clock.now()),
            };
            match self.clock.step((own, self.below.next_event()), until, sink) {
                None => return,
                Some(NextEvent::LowerLayers) => self.step_below(own.min(until), sink),
                Some(NextEvent::Own(now)) => self.release(now),
            }
        }
    }

    fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        self.clock.reach(now);
        match (path, setting) {
            ([], Setting::Rate(limit)) => {
                self.limit = check(*limit).map_err(|e| e.within("setting"))?;
                self.release(now);
                Ok(())
            }
            ([], other) => {
                let known = &["iops_limit", "bandwidth_limit"];
                Err(not_supported("a throttle", other, known))
            }
            (path, setting) => self.below.set(now, path, setting),
        }
    }

    fn meter(&mut self, until: Time) -> DriveEnergy {
        self.below.meter(until)
    }

    fn reset_statistics(&mut self, now: Time) {
        self.clock.statistics.reset(now);
        (self.n_held, self.held_ns) = (0, 0);
        self.below.reset_statistics(now);
    }

    fn statistics(&self) -> Statistics {
        let mut all = self.clock.statistics.clone();
        all.count("held", self.n_held);
        all.add_ns("held", self.held_ns);
        all
    }

    fn below(&self) -> &[Box<dyn Layer>] {
        self.below.layers()
    }

    fn below_mut(&mut self) -> &mut [Box<dyn Layer>] {
        self.below.layers_mut()
    }
}
