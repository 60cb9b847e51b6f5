//! What layers with queues of their own have in common: a clock, and requests that are done but not told yet.

use super::{Done, ErrorKind, Request, Statistics};
use headstack_units::Time;
use std::collections::VecDeque;

/// How far a layer has come, what it has still to tell, and what it has counted.
#[derive(Default)]
pub(crate) struct Course {
    now: Time,
    ready: VecDeque<Done>,
    pub statistics: Statistics,
}

/// What happens next.
pub(crate) enum Next {
    /// Something in the layer itself, at this time.
    Here(Time),
    /// Something in a layer below.
    Below,
}

impl Course {
    /// The last time that the layer was given, or at which something happened.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The layer is at `now`, or further already.
    #[inline]
    pub fn reach(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// A request is done.
    pub fn finish(&mut self, done: Done) {
        self.statistics.add_done(&done);
        self.ready.push_back(done);
    }

    /// A request that is empty, or not inside a unit, ends where it arrives.
    pub fn refuse(&mut self, request: &Request, now: Time) {
        let error = Some(ErrorKind::OutOfRange);
        self.finish(Done::at_once(request.id, now, error));
    }

    /// When the layer does something next, where its own work and that below come to `work`.
    #[inline]
    pub fn next_event(&self, work: Time) -> Time {
        match self.ready.is_empty() {
            true => work,
            false => self.now,
        }
    }

    /// Tells what is done, then goes to what is next of the layer's own work and that below, if that is before
    /// `until`; of equal times the layer's own is first.
    pub fn step(
        &mut self,
        (own, below): (Time, Time),
        until: Time,
        sink: &mut dyn FnMut(&Done),
    ) -> Option<Next> {
        if self.now < until {
            self.ready.drain(..).for_each(|done| sink(&done));
        }
        let time = own.min(below);
        if time >= until {
            return None;
        }
        self.reach(time);
        Some(match below < own {
            true => Next::Below,
            false => Next::Here(own),
        })
    }
}
