//! The table of the requests in flight.

use crate::ended::Asked;
use headstack_block::layer::LayerCompletion;
use headstack_drive::join::Join;
use headstack_trace::Request;

/// No free slot.
const NONE: u32 = u32::MAX;

/// Requests in flight, each in a slot, and what is kept of some of them besides.
pub(super) struct InFlight {
    slots: Vec<Asked>,
    /// The first free slot.
    free: u32,
    /// By slot, for requests of several parts; shorter than the slots until a part of one ends.
    joins: Vec<Option<Join<LayerCompletion>>>,
    /// Whether there is a log.
    pub is_named: bool,
    /// By slot, if there is a log: place in the workload, and the request.
    names: Vec<(u64, Request)>,
}

impl InFlight {
    pub fn new(is_named: bool) -> InFlight {
        InFlight { slots: Vec::new(), free: NONE, joins: Vec::new(), is_named, names: Vec::new() }
    }

    /// Adds a request; returns its slot.
    #[inline(always)]
    pub fn add(&mut self, asked: Asked) -> usize {
        let i = self.free as usize;
        match self.slots.get_mut(i) {
            Some(free) => {
                self.free = free.thread;
                *free = asked;
                i
            }
            None => self.add_slot(asked),
        }
    }

    #[cold]
    fn add_slot(&mut self, asked: Asked) -> usize {
        self.slots.push(asked);
        self.slots.len() - 1
    }

    #[inline(always)]
    pub fn slot(&self, slot: usize) -> &Asked {
        &self.slots[slot]
    }

    /// Makes a slot free.
    #[inline(always)]
    pub fn free(&mut self, slot: usize) {
        self.slots[slot].thread = std::mem::replace(&mut self.free, slot as u32);
    }

    /// Removes the request of a slot.
    #[inline]
    pub fn take(&mut self, slot: usize) -> Asked {
        let asked = self.slots[slot];
        self.free(slot);
        asked
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
