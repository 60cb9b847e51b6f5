//! What the load of the drives is like: whether it fills the hosts' queues.
//!
//! # Model
//! By Little's law the mean number of requests in the hosts' queues is rate times response time. If that is less than
//! [`FULL`] of their places, all of the load is there, and its size is known. If it is more, the load may be larger than the
//! places. Two readings one after another that say otherwise change the opinion; those of the time after a change of the
//! setting do not count. A policy's own settings may make the queues full and not full in turn. So an opinion that lasted for few
//! readings doubles the number that the next change needs, and one that lasted for many halves it.

use crate::Sample;
use headstack_units::{Frequency, Time};

/// Part of the hosts' places that must be in use on average.
pub(crate) const FULL: f64 = 0.8;

/// Readings that must agree, at least and at most.
const AGREE: (u32, u32) = (2, 64);

/// The load of one drive, on average over all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    /// Whether it fills the places of the host's queue, or may.
    pub(crate) is_full: bool,
    /// Requests in the host's queue, as last seen.
    pub(crate) requests: f64,
    /// Readings that say otherwise, one after another.
    against: u32,
    /// Readings that must say otherwise, and those since the opinion has changed.
    needed: u32,
    since: u32,
    last: Option<Time>,
}

impl Load {
    /// Before any reading: it may be any.
    pub(crate) fn unknown() -> Load {
        Load { is_full: true, requests: f64::INFINITY, against: 0, needed: AGREE.0, since: u32::MAX, last: None }
    }

    /// Takes a reading of `drives` drives with so many places each on average. Returns whether the opinion has changed.
    pub(crate) fn see(&mut self, sample: &Sample, drives: f64, places: f64) -> bool {
        let is_new = self.last.is_none_or(|last| sample.time > last);
        let Some(work) = sample.work.filter(|_| is_new) else { return false };
        let Some(Frequency(rate)) = work.rate else { return false };
        let requests = rate * work.response_time.as_secs_f64() / drives;
        if !(requests.is_finite() && requests > 0.0) {
            return false;
        }
        (self.last, self.requests) = (Some(sample.time), requests);
        self.against = if (requests >= FULL * places) == self.is_full { 0 } else { self.against + 1 };
        self.since = self.since.saturating_add(1);
        if self.against < self.needed {
            return false;
        }
        if self.since < 2 * self.needed + 8 {
            self.needed = (2 * self.needed).min(AGREE.1);
        } else if self.since > 4 * self.needed + 16 {
            self.needed = (self.needed / 2).max(AGREE.0);
        }
        (self.is_full, self.against, self.since) = (!self.is_full, 0, 0);
        true
    }

    /// The least places with which all of the load is seen; 0 if its size is not known.
    pub(crate) fn least_places(&self) -> u32 {
        match self.is_full {
            true => 0,
            false => (self.requests / FULL).ceil().min(1e6) as u32,
        }
    }
}
