//! Flushes: how those of several processes share one flush of the device.
//!
//! # Model
//! One flush of a queue is on its way at a time: dispatched, or about to be. Flushes that come meanwhile wait. When it has
//! ended, one flush is dispatched for all that wait, and its end is the end of each. Each of them holds a place. So the
//! writes that have ended before a flush came are on the medium when it ends.
//! # Source
//! Linux 2.6.39 to 6.x, `block/blk-flush.c`: a pending and a running list, which change places when a flush is issued.
//! # Validity
//! Write-through requests go to the device as they are, as in Linux at a device with FUA. At one without, Linux follows
//! them with a flush. A write that is to be preceded by a flush is not known here: it is a flush and a write.

use super::{HostQueue, Queue};
use crate::layer::Flow;
use headstack_units::Time;
use std::collections::VecDeque;

/// The flushes of a queue.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    /// One is dispatched, or about to be.
    is_on_its_way: bool,
    /// The group of those that come meanwhile.
    waiting: Option<u32>,
}

impl Flushes {
    /// The first flush of a group: it is on its way, or waits for the one that is.
    pub fn add(&mut self, slot: u32, ahead: &mut VecDeque<u32>) {
        match std::mem::replace(&mut self.is_on_its_way, true) {
            true => self.waiting = Some(slot),
            false => ahead.push_back(slot),
        }
    }

    /// A flush has ended: those that wait are on their way.
    fn ended(&mut self, ahead: &mut VecDeque<u32>) {
        self.is_on_its_way = self.waiting.is_some();
        ahead.extend(self.waiting.take());
    }
}

impl HostQueue {
    /// An admitted flush joins those that wait; false if none does.
    pub(super) fn joins_flush(&mut self, q: usize, child: u32, flow: &mut Flow) -> bool {
        let Some(slot) = self.queues[q].flushes.waiting else { return false };
        let group = &mut self.groups[slot as usize];
        group.run.segments += 1;
        let last = std::mem::replace(&mut group.last, child);
        flow[last].next = child;
        self.counts.merged_flushes += 1;
        true
    }
}

impl Queue {
    /// A flush has ended, and with it `n` submitted ones, of which each but the last one frees its place here.
    pub(super) fn flush_ends(&mut self, now: Time, n: u32) {
        self.flushes.ended(&mut self.ahead);
        for _ in 1..n {
            self.places.release(now, true, &mut self.woken);
        }
    }
}
