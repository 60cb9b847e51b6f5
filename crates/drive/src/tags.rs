//! The tags of a drive's command queue. The depth of the queue is enforced here and nowhere else.
//!
//! # Model
//! A command holds a tag from its admission until its completion is reported to the host, as with native
//! command queueing. Commands beyond the depth wait awaiting, in order of arrival. With `queue.counts =
//! "waiting"` (DiskSim's meaning) a tag is freed when the service of its command begins.

use crate::command::DriveRequest;
use crate::spec::{QueueCounts, QueueSpec};
use headstack_units::Time;
use std::collections::VecDeque;

/// A command that waits for a tag.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AwaitingTag {
    pub unit: usize,
    pub arrival: Time,
    pub request: DriveRequest,
}

/// Tags of one queue.
#[derive(Debug)]
pub(crate) struct Tags {
    depth: usize,
    counts: QueueCounts,
    /// Number of commands that wait in the queue, with a tag.
    waiting: usize,
    /// When the commands in service free their tags.
    frees: Vec<Time>,
    /// Commands that wait for a tag, in order of arrival.
    pub awaiting: VecDeque<AwaitingTag>,
}

/// The number of tags for a depth; 0 means no limit.
fn limit(depth: u32) -> usize {
    match depth {
        0 => usize::MAX,
        n => n as usize,
    }
}

impl Tags {
    pub fn new(spec: &QueueSpec) -> Tags {
        Tags { depth: limit(spec.depth), counts: spec.counts, waiting: 0, frees: Vec::new(), awaiting: VecDeque::new() }
    }

    /// Whether the number of tags is not limited.
    #[inline]
    pub fn unlimited(&self) -> bool {
        self.depth == usize::MAX
    }

    /// The depth that was set; 0 means no limit.
    pub fn depth(&self) -> u32 {
        match self.unlimited() {
            true => 0,
            false => self.depth as u32,
        }
    }

    /// Whether a command that arrives at `now` gets a tag at once. Commands that wait already go first.
    pub fn admits(&mut self, now: Time) -> bool {
        self.awaiting.is_empty() && self.has_room(now)
    }

    fn has_room(&mut self, now: Time) -> bool {
        self.frees.retain(|at| *at > now);
        self.waiting + self.frees.len() < self.depth
    }

    /// When the next command gets a tag because one in service frees it; `None` if that is not to be
    /// expected.
    pub fn next_admission(&self) -> Option<Time> {
        if self.awaiting.is_empty() || self.waiting >= self.depth {
            return None;
        }
        self.frees.iter().copied().min()
    }

    /// Gives a tag to the first waiting command, if one is free at `now`.
    pub fn admit(&mut self, now: Time) -> Option<AwaitingTag> {
        if self.awaiting.is_empty() || !self.has_room(now) {
            return None;
        }
        self.waiting += 1;
        self.awaiting.pop_front()
    }

    /// Records that a command in the queue holds a tag.
    #[inline]
    pub fn take(&mut self) {
        self.waiting += 1;
    }

    /// Frees the tag of a command that left the queue without being served.
    pub fn give_back(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
    }

    /// Number of commands called `id` that wait for a tag.
    pub fn count_outside(&self, id: u64) -> usize {
        self.awaiting.iter().filter(|o| o.request.id == id).count()
    }

    /// Removes the first command called `id` from those that wait for a tag. Returns it with its arrival
    /// time.
    pub fn take_outside(&mut self, id: u64) -> Option<(DriveRequest, Time)> {
        let at = self.awaiting.iter().position(|o| o.request.id == id)?;
        self.awaiting.remove(at).map(|o| (o.request, o.arrival))
    }

    /// Sets the number of tags. Commands that hold one keep it.
    pub fn set_depth(&mut self, depth: u32) {
        self.depth = limit(depth);
    }

    /// Sets the count when it begins, after an unlimited depth: waiting commands, and completion times of
    /// those in service.
    pub fn count(&mut self, waiting: usize, ends: Vec<Time>) {
        self.waiting = waiting;
        self.frees = match self.counts {
            QueueCounts::Tags => ends,
            QueueCounts::Waiting => Vec::new(),
        };
    }

    /// Records that the service of a command has begun and ends at `end`.
    #[inline]
    pub fn serve(&mut self, end: Time) {
        self.waiting -= 1;
        if self.counts == QueueCounts::Tags && !self.unlimited() {
            self.frees.push(end);
        }
    }
}
