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
use headstack_schema::Table;
use headstack_units::Time;
use std::collections::VecDeque;

/// How many requests a new one is compared with.
const COMPARED: usize = 8;

#[derive(Table)]
#[table(model = "first come, first served")]
pub(super) struct First {
    #[param(skip)]
    waiting: VecDeque<u32>,
}

impl Elevator for First {
    fn add(&mut self, _now: Time, request: &Queued) {
        self.waiting.push_back(request.slot);
    }
    fn take(&mut self, _now: Time) -> Option<u32> {
        self.waiting.pop_front()
    }
    fn resort(&mut self, _request: &Queued) {}
    fn absorb(&mut self, survivor: u32, gone: u32) {
        let place = |slot| self.waiting.iter().position(|s| *s == slot);
        if let (Some(kept), Some(left)) = (place(survivor), place(gone)) {
            self.waiting[kept.min(left)] = survivor;
            self.waiting.remove(kept.max(left));
        }
    }
    fn len(&self) -> usize {
        self.waiting.len()
    }
    fn newest(&self) -> Option<Vec<u32>> {
        Some(self.waiting.iter().rev().take(COMPARED).copied().collect())
    }
}
