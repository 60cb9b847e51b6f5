//! First come, first served.
//!
//! # Model
//! A new request is merged with one of the newest eight that wait, or waits behind all others. There are no
//! parameters.
//! # Source
//! Linux blk-mq without an elevator.
//! # Validity
//! One list for all processors; Linux has one for each.

use super::{Elevator, Queued};
use headstack_schema::{NoParameters, Plugin};
use headstack_units::Time;
use std::collections::VecDeque;

/// The entry of the list.
pub fn plugin() -> Plugin<dyn Elevator> {
    let summary = "first come, first served";
    Plugin::<dyn Elevator>::new("none", summary, "", |NoParameters {}, _| Ok(Box::<First>::default()))
}

/// How many requests a new one is compared with.
const COMPARED: usize = 8;

#[derive(Default)]
struct First(VecDeque<u32>);

impl Elevator for First {
    fn add(&mut self, _now: Time, request: &Queued) {
        self.0.push_back(request.slot);
    }
    fn take(&mut self, _now: Time) -> Option<u32> {
        self.0.pop_front()
    }
    fn resort(&mut self, _request: &Queued) {}
    fn absorb(&mut self, survivor: u32, gone: u32) {
        let place = |slot| self.0.iter().position(|s| *s == slot);
        if let (Some(kept), Some(left)) = (place(survivor), place(gone)) {
            self.0[kept.min(left)] = survivor;
            self.0.remove(kept.max(left));
        }
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn newest(&self) -> Option<Vec<u32>> {
        Some(self.0.iter().rev().take(COMPARED).copied().collect())
    }
}
