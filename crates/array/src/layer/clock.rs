//! State that all layers with their own queues have: a clock, and completed requests that are not yet
//! delivered.

use super::{ErrorKind, LayerCompletion, Request, Statistics};
use headstack_units::Time;

/// A layer's clock, its completions that are not yet delivered, and its statistics.
#[derive(Default)]
pub(crate) struct LayerClock {
    now: Time,
    ready: Vec<LayerCompletion>,
    pub statistics: Statistics,
}

/// The next event.
pub(crate) enum NextEvent {
    /// An event of the layer itself, at this time.
    Own(Time),
    /// An event of a layer below.
    LowerLayers,
}

impl LayerClock {
    /// The layer's current time.
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sets the clock to `now`, unless it is already later.
    #[inline]
    pub fn reach(&mut self, now: Time) {
        self.now = self.now.max(now);
    }

    /// Counts a completed request and stores it for delivery.
    pub fn finish(&mut self, done: LayerCompletion) {
        self.statistics.add_done(&done);
        self.ready.push(done);
    }

    /// Completes a request with [`ErrorKind::OutOfRange`] at `now`: it is empty or not inside a unit.
    pub fn refuse(&mut self, request: &Request, now: Time) {
        let error = Some(ErrorKind::OutOfRange);
        self.finish(LayerCompletion::at_once(request.id, now, error));
    }

    /// Time of the next event. `work` is the earliest event of the layer's own work and of the layers below.
    /// Completions that wait for delivery come first.
    #[inline]
    pub fn next_event(&self, work: Time) -> Time {
        match self.ready.is_empty() {
            true => work,
            false => self.now,
        }
    }

    /// Delivers completions, then moves the clock to the next event before `until` and returns its kind. `own`
    /// and `below` are the next events of the layer and of those below; at equal times the layer's own event is
    /// first. `None`: no event before `until`.
    pub fn step(
        &mut self,
        (own, below): (Time, Time),
        until: Time,
        sink: &mut dyn FnMut(&LayerCompletion),
    ) -> Option<NextEvent> {
        if self.now < until && !self.ready.is_empty() {
            self.ready.iter().for_each(&mut *sink);
            self.ready.clear();
        }
        let time = own.min(below);
        if time >= until {
            return None;
        }
        self.reach(time);
        Some(match below < own {
            true => NextEvent::LowerLayers,
            false => NextEvent::Own(own),
        })
    }
}
