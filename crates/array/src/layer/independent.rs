//! Lower layers side by side: the units of each are units of the whole.
//!
//! # Model
//! Unit `i` is the `i`-th unit of the layers below, counted through all of them. Nothing is added.
//! # Source
//! What a host sees of several drives.
//! # Validity
//! No limit is shared; see `link` for one.

use super::below::Below;
use super::{Context, Done, Entry, ErrorKind, Layer, Request, Setting, Stands, Statistics};
use headstack_drive::plugin::params;
use headstack_drive::DriveEnergy;
use headstack_engine::SpecError;
use headstack_units::Time;
use serde::Deserialize;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "independent",
    summary: "lower layers side by side, each with units of its own",
    example: "",
    stands: Stands::OnMany,
    build: |context| Ok(Box::new(Independent::new(context)?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoParameters {}

/// Layers side by side.
struct Independent {
    below: Below,
    now: Time,
    refused: Vec<Done>,
    statistics: Statistics,
}

impl Independent {
    fn new(context: Context) -> Result<Independent, SpecError> {
        params::<NoParameters>(&context.params)?;
        Ok(Independent {
            below: Below::new(context.below),
            now: Time::ZERO,
            refused: Vec::new(),
            statistics: Statistics::default(),
        })
    }
}

impl Layer for Independent {
    fn name(&self) -> &'static str {
        ENTRY.name
    }

    fn units(&self) -> Vec<u64> {
        self.below.member_blocks()
    }

    fn submit(&mut self, now: Time, request: Request) {
        self.now = self.now.max(now);
        if (request.unit as usize) < self.below.members() {
            self.below.submit(now, request.unit, request);
        } else {
            let error = Some(ErrorKind::OutOfRange);
            self.refused.push(Done::at_once(request.id, now, error));
        }
    }

    fn next_event(&self) -> Time {
        match self.refused.is_empty() {
            true => self.below.next_event(),
            false => self.now,
        }
    }

    fn advance(&mut self, until: Time, sink: &mut dyn FnMut(&Done)) {
        let statistics = &mut self.statistics;
        let mut tell = |done: &Done| {
            statistics.add_done(done);
            sink(done);
        };
        if self.now < until {
            self.refused.drain(..).for_each(|done| tell(&done));
        }
        while self.below.next_event() < until {
            self.now = self.now.max(self.below.next_event());
            self.below.step(&mut tell);
        }
    }

    fn set(&mut self, now: Time, path: &[u32], setting: &Setting) -> Result<(), SpecError> {
        self.now = self.now.max(now);
        self.below.set(now, path, setting)
    }

    fn meter(&mut self, until: Time) -> DriveEnergy {
        self.below.meter(until)
    }

    fn reset_statistics(&mut self, now: Time) {
        self.statistics.reset(now);
        self.below.reset_statistics(now);
    }

    fn statistics(&self) -> Statistics {
        self.statistics.clone()
    }

    fn below(&self) -> &[Box<dyn Layer>] {
        self.below.layers()
    }

    fn below_mut(&mut self) -> &mut [Box<dyn Layer>] {
        self.below.layers_mut()
    }
}
