//! The table of the requests in flight.

use super::NO_THREAD;
use crate::ended::Asked;
use headstack_block::layer::LayerCompletion;
use headstack_drive::join::Join;
use headstack_trace::Request;
use headstack_units::Time;

/// A request in flight.
#[derive(Clone, Copy)]
pub(super) struct Slot {
    pub arrival: Time,
    pub blocks: u32,
    pub parts: u32,
    /// Index in [`OPERATIONS`](crate::outcome::OPERATIONS).
    pub kind: u8,
    /// The class of the request.
    pub class: u8,
    pub measured: bool,
    /// Measured, of one part, without log, threads and power cap.
    pub quick: bool,
    /// The next free slot, if this one is free.
    pub below: u32,
}

/// No free slot.
pub(super) const NONE: u32 = u32::MAX;

/// Requests in flight, each in a slot, and what is kept of some of them besides.
pub(super) struct InFlight {
    slots: Vec<Slot>,
    /// The first free slot.
    free: u32,
    /// By slot, for requests of several parts; shorter than the slots until a part of one ends.
    joins: Vec<Option<Join<LayerCompletion>>>,
    /// Whether something is kept of each slot: its name or its thread.
    pub is_named: bool,
    /// By slot, if there is a log: place in the workload, and the request.
    names: Vec<(u64, Request)>,
    /// By slot, the thread or client that waits for it; shorter than the slots if it is not known.
    threads: Vec<u32>,
}

impl InFlight {
    pub fn new(is_named: bool) -> InFlight {
        InFlight { slots: Vec::new(), free: NONE, joins: Vec::new(), is_named, names: Vec::new(), threads: Vec::new() }
    }

    /// Adds a request; returns its slot.
    #[inline(always)]
    pub fn add(&mut self, slot: Slot) -> usize {
        let i = self.free as usize;
        match self.slots.get_mut(i) {
            Some(free) => {
                self.free = free.below;
                *free = slot;
                i
            }
            None => self.add_slot(slot),
        }
    }

    #[cold]
    fn add_slot(&mut self, slot: Slot) -> usize {
        self.slots.push(slot);
        self.slots.len() - 1
    }

    #[inline(always)]
    pub fn slot(&self, slot: usize) -> &Slot {
        &self.slots[slot]
    }

    /// Makes a slot free.
    #[inline(always)]
    pub fn free(&mut self, slot: usize) {
        self.slots[slot].below = std::mem::replace(&mut self.free, slot as u32);
    }

    /// Removes the request of a slot.
    #[inline]
    pub fn take(&mut self, slot: usize) -> Asked {
        self.free(slot);
        let own = &self.slots[slot];
        Asked {
            arrival: own.arrival,
            blocks: own.blocks,
            kind: own.kind,
            class: own.class,
            measured: own.measured,
            thread: self.threads.get(slot).copied().unwrap_or(NO_THREAD),
        }
    }

    /// One of several parts of a request is complete; returns the answer to the whole with the last one.
    pub fn join(&mut self, part: &LayerCompletion) -> Option<LayerCompletion> {
        let i = part.id as usize;
        if self.joins.len() <= i {
            self.joins.resize_with(self.slots.len(), || None);
        }
        let whole = match &mut self.joins[i] {
            Some(join) => {
                join.add(part, part.drive);
                join.whole()
            }
            none => {
                let first = Join::of(part, part.drive, self.slots[i].parts);
                none.insert(first).whole()
            }
        };
        if whole.is_some() {
            self.joins[i] = None;
        }
        whole
    }

    /// The thread or client `thread` waits for the request of a slot.
    pub fn set_thread(&mut self, slot: usize, thread: u32) {
        if slot >= self.threads.len() {
            self.threads.resize(slot + 1, NO_THREAD);
        }
        self.threads[slot] = thread;
    }

    /// Keeps, for the log, the request of a slot and its place in the workload.
    pub fn set_name(&mut self, slot: usize, id: u64, request: Request) {
        if slot >= self.names.len() {
            self.names.resize(slot + 1, (0, Request::default()));
        }
        self.names[slot] = (id, request);
    }

    /// What was kept for the log.
    pub fn name(&self, slot: usize) -> Option<(u64, Request)> {
        self.names.get(slot).copied()
    }
}
