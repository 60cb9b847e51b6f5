//! Lower layers side by side: their units are the units of this layer.
//!
//! # Model
//! Unit `i` is the `i`-th unit of the layers below, counted through all of them. Requests pass unchanged.
//! # Source
//! The drives of a host without a volume manager.
//! # Validity
//! The layers share no bandwidth and no queue; see `link` for a shared port.

use super::below::LowerLayers;
use super::clock::LayerClock;
use super::{
    not_supported, Entry, Layer, LayerCompletion, LowerCount, Request, Setting, Statistics,
};
use crate::entry::NoParameters;
use headstack_drive::DriveEnergy;
use headstack_schema::SpecError;
use headstack_units::Time;

/// The layer's name.
pub(super) const NAME: &str = "independent";

/// The registry's entry.
pub fn entry() -> Entry {
    let summary = "lower layers side by side, each with units of its own";
    Entry::new(
        NAME,
        summary,
        LowerCount::Many,
        |context, _: NoParameters| {
            Ok(Box::new(Independent {
                below: LowerLayers::new(context.below),
                clock: LayerClock::default(),
            }))
        },
    )
}

/// Layers side by side.
struct Independent {
    below: LowerLayers,
    clock: LayerClock,
}

impl Layer for Independent {
    fn name(&self) -> &str {
        NAME
    }

    fn units(&self) -> Vec<u64> {
        self.below.member_blocks()
    }

    fn submit(&mut self, now: Time, request: Request) {
        self.clock.reach(now);
        if (request.unit as usize) < self.below.members() {
            self.below.submit(now, request.unit, request);
        } else {
            self.clock.refuse(&request, now);
        }
    }

    fn next_event(&self) -> Time {
        self.clock.next_event(self.below.next_event())
    }

    fn advance(&mut self, until: Time, sink: &mut dyn FnMut(&LayerCompletion)) {
        let times = |below: &LowerLayers| (Time::NEVER, below.next_event());
        while self.clock.step(times(&self.below), until, sink).is_some() {
            let statistics = &mut self.clock.statistics;
            self.below.step_until(until, &mut |done| {
                statistics.add_done(done);
                sink(done);
            });
        }
    }

    fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        self.clock.reach(now);
        match path {
            [] => Err(not_supported(NAME, setting, &[])),
            path => self.below.set(now, path, setting),
        }
    }

    fn meter(&mut self, until: Time) -> DriveEnergy {
        self.below.meter(until)
    }

    fn reset_statistics(&mut self, now: Time) {
        self.clock.statistics.reset(now);
        self.below.reset_statistics(now);
    }

    fn statistics(&self) -> Statistics {
        self.clock.statistics.clone()
    }

    fn below(&self) -> &[Box<dyn Layer>] {
        self.below.layers()
    }

    fn below_mut(&mut self) -> &mut [Box<dyn Layer>] {
        self.below.layers_mut()
    }
}
