//! The places of a drive's command queue: the one home of its depth.
//!
//! # Model
//! A command holds a tag from when the drive takes it until the host is told that it is done, as with
//! native command queueing; commands beyond the depth wait outside, in order of arrival. Where
//! `queue.counts = "waiting"` (DiskSim's meaning) a tag is free as soon as the command's service begins.

use crate::command::DriveRequest;
use crate::spec::{QueueCounts, QueueSpec};
use headstack_units::Time;
use std::collections::VecDeque;

/// A command for which the queue has no place yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outside {
    pub unit: usize,
    pub arrival: Time,
    pub request: DriveRequest,
}

/// Tags of one queue.
#[derive(Debug)]
pub(crate) struct Tags {
    depth: usize,
    counts: QueueCounts,
    /// Commands that wait in the queue.
    waiting: usize,
    /// When the commands in service free their tags.
    frees: Vec<u64>,
    /// Commands that wait for a tag, in order of arrival.
    outside: VecDeque<Outside>,
}

/// The most that may hold a tag: 0 means all.
fn limit(depth: u32) -> usize {
    match depth {
        0 => usize::MAX,
        n => n as usize,
    }
}

impl Tags {
    pub fn new(spec: &QueueSpec) -> Tags {
        Tags {
            depth: limit(spec.depth),
            counts: spec.counts,
            waiting: 0,
            frees: Vec::new(),
            outside: VecDeque::new(),
        }
    }

    /// Whether every command has a place.
    #[inline]
    pub fn unlimited(&self) -> bool {
        self.depth == usize::MAX
    }

    /// Commands that wait for a tag.
    #[inline]
    pub fn outside(&self) -> usize {
        self.outside.len()
    }

    /// Whether a command that arrives at `now` gets a tag at once: those outside go first.
    pub fn admits(&mut self, now: u64) -> bool {
        self.outside.is_empty() && self.has_room(now)
    }

    fn has_room(&mut self, now: u64) -> bool {
        self.frees.retain(|at| *at > now);
        self.waiting + self.frees.len() < self.depth
    }

    /// A command waits for a tag.
    pub fn wait(&mut self, command: Outside) {
        self.outside.push_back(command);
    }

    /// When the next command from outside can come in: at an end of service, if that frees a tag.
    pub fn next_admission(&self) -> Option<u64> {
        if self.outside.is_empty() || self.waiting >= self.depth {
            return None;
        }
        self.frees.iter().copied().min()
    }

    /// The next command from outside that has a tag at `now`; it takes it.
    pub fn admit(&mut self, now: u64) -> Option<Outside> {
        if self.outside.is_empty() || !self.has_room(now) {
            return None;
        }
        self.waiting += 1;
        self.outside.pop_front()
    }

    /// A command takes a tag.
    #[inline]
    pub fn take(&mut self) {
        self.waiting += 1;
    }

    /// A command has left the queue without being served.
    pub fn give_back(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Takes the first of a name out of those that wait for a tag; it and its time of arrival.
    pub fn take_outside(&mut self, id: u64) -> Option<(DriveRequest, Time)> {
        let at = self.outside.iter().position(|o| o.request.id == id)?;
        self.outside.remove(at).map(|o| (o.request, o.arrival))
    }

    /// Sets the number of tags; commands that have one keep it.
    pub fn set_depth(&mut self, depth: u32) {
        self.depth = limit(depth);
    }

    /// Says what holds tags, where nobody has counted so far.
    pub fn count(&mut self, waiting: usize, ends: Vec<u64>) {
        self.waiting = waiting;
        self.frees = match self.counts {
            QueueCounts::Tags => ends,
            QueueCounts::Waiting => Vec::new(),
        };
    }

    /// A command's service has begun and ends at `end`.
    #[inline]
    pub fn serve(&mut self, end: u64) {
        self.waiting -= 1;
        if self.counts == QueueCounts::Tags && !self.unlimited() {
            self.frees.push(end);
        }
    }
}
