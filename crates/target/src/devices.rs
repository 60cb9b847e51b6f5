//! The simulated devices: the very layers and drives of a simulation, driven by requests as they come.

use headstack_block::layer::{ErrorKind, LayerCompletion};
use headstack_drive::{Command, DriveRequest, Hint};
use headstack_experiment::LiveSystem;
use headstack_units::{Lba, Time};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

/// Bytes of a block of a drive.
pub const BLOCK: u64 = 512;

/// What was announced, in order of time, then of announcement.
type Announced = BinaryHeap<Reverse<Announcement>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Announcement {
    /// Time, then number: the order.
    order: (Time, u64),
    id: u64,
    error: Option<ErrorKind>,
}

impl Ord for Announcement {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.cmp(&other.order)
    }
}

impl PartialOrd for Announcement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// All devices of a system.
pub struct Devices {
    /// The system.
    pub system: LiveSystem,
    announced: Announced,
    count: u64,
}

/// A request that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// The number with which it was submitted.
    pub id: u64,
    /// When it ended.
    pub at: Time,
    /// Why it failed; `None` if it did not.
    pub error: Option<ErrorKind>,
}

impl Devices {
    /// The devices of a system.
    pub fn new(system: LiveSystem) -> Devices {
        Devices { system, announced: Announced::new(), count: 0 }
    }

    /// Puts another system in the place of this one, at `now`: what is outstanding is forgotten.
    pub fn replace(&mut self, now: Time, mut system: LiveSystem) {
        system.advance(now, &mut |_| {});
        (self.system, self.announced) = (system, Announced::new());
    }

    /// Size of each device in bytes.
    pub fn bytes(&self) -> Vec<u64> {
        let blocks = self.system.devices().into_iter();
        blocks.map(|blocks| blocks * BLOCK).collect()
    }

    /// Carries out what happens before `now`.
    pub fn advance(&mut self, now: Time) {
        let (announced, count) = (&mut self.announced, &mut self.count);
        let mut announce = |c: &LayerCompletion| {
            *count += 1;
            announced.push(Reverse(Announcement { order: (c.completion, *count), id: c.id, error: c.error }));
        };
        if self.system.next_event() < now {
            self.system.advance(now, &mut announce);
        }
    }

    /// Submits a request for bytes of a device; it must be inside, and numbers of requests at one time different. The
    /// device must have been advanced to `now`.
    pub fn submit(&mut self, now: Time, device: usize, id: u64, asked: Asked, bytes: Bytes) {
        let blocks = bytes.blocks();
        let request = DriveRequest {
            id,
            command: asked.command,
            lba: Lba(blocks.start),
            blocks: (blocks.end - blocks.start) as u32,
            hint: asked.hint,
        };
        self.system.submit(now, device, request);
    }

    /// The host has no more use for a request. Its end is told as usual, perhaps sooner. The device must have been advanced to
    /// `now`.
    pub fn abort(&mut self, now: Time, id: u64) {
        if !self.announced.iter().any(|Reverse(a)| a.id == id) {
            self.system.abort(now, id);
        }
    }

    /// The next request that ended at `now` or before.
    pub fn ended(&mut self, now: Time) -> Option<Ended> {
        let Reverse(first) = *self.announced.peek()?;
        let at = first.order.0;
        (at <= now).then(|| {
            self.announced.pop();
            Ended { id: first.id, at, error: first.error }
        })
    }

    /// Those that drives have refused or failed at `now` or before, which are at no drive any more.
    pub fn failed(&mut self, now: Time) -> Vec<Ended> {
        self.advance(Time(now.0 + 1));
        let mut failed = Vec::new();
        self.announced.retain(|Reverse(a)| {
            let stays = a.error.is_none() || a.order.0 > now;
            failed.extend((!stays).then_some(Ended { id: a.id, at: a.order.0, error: a.error }));
            stays
        });
        failed
    }

    /// When something happens next; [`Time::NEVER`] if nothing is outstanding.
    pub fn next_event(&self) -> Time {
        let announced = self.announced.peek().map_or(Time::NEVER, |Reverse(a)| a.order.0);
        // The system carries out what happens *before* the time to which it is advanced.
        let inside = match self.system.next_event() {
            Time::NEVER => Time::NEVER,
            at => Time(at.0 + 1),
        };
        announced.min(inside)
    }
}

/// What a device is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked {
    /// The command.
    pub command: Command,
    /// What is asked for its turn at a drive.
    pub hint: Hint,
}

/// Bytes of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    /// The first.
    pub offset: u64,
    /// Their number.
    pub length: u64,
}

impl Bytes {
    /// The blocks in which they lie.
    pub fn blocks(&self) -> Range<u64> {
        self.offset / BLOCK..(self.offset + self.length).div_ceil(BLOCK)
    }
}
