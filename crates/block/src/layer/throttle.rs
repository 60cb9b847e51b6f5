//! A limit on the rate of requests or bytes, above the host's queue.
//!
//! # Model
//! Requests are released first come first served, one at a time. The time between two releases is at least `1 / iops`,
//! or the bytes of the second request divided by `bandwidth`. If no request waits and this time has passed, a request
//! passes at once. Without a limit all requests pass. The time that a request is held counts as `queue`. A host queue
//! below counts its own time from the release on, because a process that is throttled sleeps before its request exists
//! there.
//!
//! One of `iops` and `bandwidth` may be given. The limit may change during a run; waiting requests are then released at the new rate.
//!
//! Statistics: `held` (requests that had to wait) and the time `held`.
//! # Source
//! `dm-throttle`, the kernel module of M. G. Khatib and Z. Bandic, FAST 2016, section 4. The paper does not say how the
//! module spaces requests. Even spacing gives the peak of power over the rate that its Figure 2b shows.
//! # Validity
//! Linux's own limits (`io.max`) release in slices of time instead.

use super::statistics::counts;
use super::{not_supported, Context, Flow, Layer, LowerCount, Setting, Statistics};
use headstack_control::RateLimit;
use headstack_schema::{OneOf, SpecError, Table};
use headstack_units::{Bandwidth, Frequency, Span, Time};
use std::collections::VecDeque;

/// The layer's name.
pub(super) const NAME: &str = "throttle";

#[derive(Table)]
#[table(
    model = "releases requests at a limited rate",
    example = "iops = \"150/s\"",
    facts = LowerCount::One, build = |own, context| Ok(Box::new(Throttle::new(context, &own)?))
)]
pub(super) struct Parameters {
    /// Requests per second; no limit if absent.
    iops: Option<Frequency>,
    /// Bytes per second, instead of `iops`.
    bandwidth: Option<Bandwidth>,
}

counts! { held; held_ns = "held" }

/// A request that is held.
struct Held {
    given: u32,
    arrival: Time,
    blocks: u32,
}

struct Throttle {
    members: Vec<u64>,
    limit: RateLimit,
    held: VecDeque<Held>,
    /// When the last request was released.
    last: Option<Time>,
    counts: Counts,
}

/// A setting of a throttle.
#[derive(Debug, Clone, PartialEq, OneOf)]
pub enum ThrottleSetting {
    /// Throttle: requests per second; 0: no limit.
    IopsLimit(Frequency),
    /// Throttle: bytes per second; 0: no limit.
    BandwidthLimit(Bandwidth),
}

impl From<RateLimit> for ThrottleSetting {
    fn from(limit: RateLimit) -> Self {
        match limit {
            RateLimit::Unlimited => ThrottleSetting::IopsLimit(Frequency(0.0)),
            RateLimit::Requests(rate) => ThrottleSetting::IopsLimit(rate),
            RateLimit::Bytes(rate) => ThrottleSetting::BandwidthLimit(rate),
        }
    }
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
            members: context.members,
            limit: check(limit)?,
            held: VecDeque::new(),
            last: None,
            counts: Counts::default(),
        })
    }

    /// When the first request that is held is released.
    fn next_release(&self) -> Time {
        let Some(first) = self.held.front() else { return Time::NEVER };
        let bytes = f64::from(first.blocks) * 512.0;
        let gap_s = match self.limit {
            RateLimit::Unlimited => return first.arrival.max(self.last.unwrap_or_default()),
            RateLimit::Requests(rate) => 1.0 / rate.0,
            RateLimit::Bytes(rate) => bytes / rate.0,
        };
        match self.last {
            None => first.arrival,
            Some(last) => first.arrival.max(last + Span((gap_s * 1e9).round() as i64)),
        }
    }

    /// Releases the requests that are due by now.
    fn release(&mut self, flow: &mut Flow) {
        let now = flow.now;
        while self.next_release() <= now {
            let Some(Held { given, arrival, .. }) = self.held.pop_front() else { return };
            self.last = Some(now);
            if flow.counts_from(arrival) {
                self.counts.held += u64::from(now > arrival);
                self.counts.held_ns += u128::from(now.0 - arrival.0);
            }
            flow.submit(flow[given].request.unit, given);
        }
    }
}

impl Layer for Throttle {
    fn name(&self) -> &str {
        NAME
    }

    fn units(&self) -> Vec<u64> {
        self.members.clone()
    }

    fn submit(&mut self, request: u32, flow: &mut Flow) {
        self.held.push_back(Held {
            given: flow.open_for(request),
            arrival: flow.now,
            blocks: flow[request].request.blocks,
        });
        self.release(flow);
    }

    fn ended(&mut self, given: u32, flow: &mut Flow) {
        let released = flow[given].done.arrival;
        let request = flow.take_over(given);
        let done = &mut flow[request].done;
        let held = released.span_from(done.arrival);
        done.components.queue += held;
        done.waits.place += held;
        flow.end(request);
    }

    fn passes_on(&self) -> bool {
        true
    }

    fn next_event(&self) -> Time {
        self.next_release()
    }

    fn happen(&mut self, flow: &mut Flow) {
        self.release(flow);
    }

    fn set(&mut self, setting: &Setting, flow: &mut Flow) -> Result<(), SpecError> {
        let limit = match setting {
            Setting::Throttle(ThrottleSetting::IopsLimit(rate)) if rate.0 > 0.0 => RateLimit::Requests(*rate),
            Setting::Throttle(ThrottleSetting::BandwidthLimit(rate)) if rate.0 > 0.0 => RateLimit::Bytes(*rate),
            Setting::Throttle(_) => RateLimit::Unlimited,
            other => return Err(not_supported("a throttle", other, &ThrottleSetting::names())),
        };
        self.limit = check(limit).map_err(|e| e.within("setting"))?;
        self.release(flow);
        Ok(())
    }

    fn reset_statistics(&mut self, _now: Time) {
        self.counts = Counts::default();
    }

    fn add_counts(&self, all: &mut Statistics) {
        self.counts.add_to(all);
    }
}
