//! Processes that wait for a place, or have waited, and their requests.

use super::admission::{Process, UNKNOWN};
use super::NONE;
use crate::layer::Flow;
use rustc_hash::FxHashMap;

/// The processes of a queue that a place was not free for. Each has a number of the queue's own, so that what is known of
/// it stands in tables; a process that never waited has none.
#[derive(Default)]
pub(super) struct Processes {
    numbers: FxHashMap<u32, u32>,
    /// By number: the first and the last of the requests that wait, or [`NONE`]. Each knows the next
    /// ([`Entry::next`](crate::layer::flow::Entry::next)).
    waiting: Vec<[u32; 2]>,
}

impl Processes {
    /// The number of a submitter; [`UNKNOWN`] if it has none yet.
    #[inline]
    pub fn find(&self, submitter: u32) -> Process {
        let found = self.numbers.get(&submitter);
        found.map_or(UNKNOWN, |number| Process::from(*number))
    }

    /// The number of a submitter, which gets one if it has none yet.
    pub fn name(&mut self, submitter: u32) -> Process {
        let new = self.waiting.len() as u32;
        let number = *self.numbers.entry(submitter).or_insert(new);
        if number == new {
            self.waiting.push([NONE; 2]);
        }
        Process::from(number)
    }

    /// The first request of a process that waits.
    #[inline]
    pub fn first(&self, process: Process) -> Option<u32> {
        let [first, _] = *self.waiting.get(process as usize)?;
        (first != NONE).then_some(first)
    }

    /// Adds a request behind those of its process that wait.
    pub fn add(&mut self, process: Process, request: u32, flow: &mut Flow) {
        let [first, last] = &mut self.waiting[process as usize];
        match *first {
            NONE => *first = request,
            _ => flow[*last].next = request,
        }
        *last = request;
    }

    /// The first request of a process waits no more; the one behind it is first now.
    #[inline]
    pub fn remove_first(&mut self, process: Process, next: u32) {
        self.waiting[process as usize][0] = next;
    }
}
