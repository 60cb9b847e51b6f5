//! The simulated devices: the very layers and drives of a simulation, driven by requests as they come.

use headstack_array::layer::{ErrorKind, LayerCompletion, Request, Tree, ANYONE};
use headstack_array::Member;
use headstack_drive::Command;
use headstack_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Bytes of a block of a drive.
pub const BLOCK: u64 = 512;

/// A unit of a layer, as a device.
#[derive(Debug, Clone, Copy)]
struct Unit {
    root: usize,
    unit: u32,
    blocks: u64,
}

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
    roots: Vec<Tree>,
    units: Vec<Unit>,
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
    /// The devices of these trees: each unit of each tree, in order.
    pub fn new(roots: Vec<Tree>) -> Devices {
        let mut units = Vec::new();
        for (root, layer) in roots.iter().enumerate() {
            let of_root = layer.logical_units().into_iter().enumerate();
            units.extend(of_root.map(|(unit, blocks)| Unit {
                root,
                unit: unit as u32,
                blocks,
            }));
        }
        Devices {
            roots,
            units,
            announced: Announced::new(),
            count: 0,
        }
    }

    /// Size of each device in bytes.
    pub fn bytes(&self) -> Vec<u64> {
        self.units.iter().map(|u| u.blocks * BLOCK).collect()
    }

    /// Carries out what happens before `now`.
    pub fn advance(&mut self, now: Time) {
        let (announced, count) = (&mut self.announced, &mut self.count);
        let mut announce = |c: &LayerCompletion| {
            *count += 1;
            announced.push(Reverse(Announcement {
                order: (c.completion, *count),
                id: c.id,
                error: c.error,
            }));
        };
        for root in &mut self.roots {
            if root.next_event() < now {
                root.advance(now, &mut announce);
            }
        }
    }

    /// Submits a request for bytes of a device; it must be inside, and numbers of requests at one time different. The
    /// device must have been advanced to `now`.
    pub fn submit(&mut self, now: Time, device: usize, id: u64, command: Command, bytes: Bytes) {
        let unit = self.units[device];
        let (first, last) = (
            bytes.offset / BLOCK,
            (bytes.offset + bytes.length).div_ceil(BLOCK),
        );
        let request = Request {
            id,
            command,
            unit: unit.unit,
            lba: first,
            blocks: (last - first) as u32,
            submitter: ANYONE,
        };
        self.roots[unit.root].submit_to(now, request);
    }

    /// The next request that ended at `now` or before.
    pub fn ended(&mut self, now: Time) -> Option<Ended> {
        let Reverse(first) = *self.announced.peek()?;
        let at = first.order.0;
        (at <= now).then(|| {
            self.announced.pop();
            Ended {
                id: first.id,
                at,
                error: first.error,
            }
        })
    }

    /// When something happens next; [`Time::NEVER`] if nothing is outstanding.
    pub fn next_event(&self) -> Time {
        let announced = self
            .announced
            .peek()
            .map_or(Time::NEVER, |Reverse(a)| a.order.0);
        // A layer carries out what happens *before* the time to which it is advanced.
        let inside = self.roots.iter().map(|r| match r.next_event() {
            Time::NEVER => Time::NEVER,
            at => Time(at.0 + 1),
        });
        inside.fold(announced, Time::min)
    }
}

/// Bytes of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes {
    /// The first.
    pub offset: u64,
    /// Their number.
    pub length: u64,
}
