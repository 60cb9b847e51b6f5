//! Elevators: the order in which a host queue dispatches requests to the layer below.
//!
//! # Contract
//! - Every request that was added is taken exactly once, or leaves by [`Elevator::absorb`].
//! - [`Elevator::take`] returns a request whenever one waits, unless the elevator keeps the device idle for one that is to
//!   come: then until a request that was taken ends, one is added, or the time of [`Elevator::resumes_at`] comes.
//! - A request is identified by its slot. A slot is used again only after its request has ended.
//! - The same calls give the same order.
//!
//! To add one: write `crates/block/src/layer/elevator/NAME.rs` with a function `plugin`, add `NAME` to the list. A program
//! adds its own in the inputs of a run.

#[doc(hidden)]
pub mod sorted;

use headstack_drive::Hint;
use headstack_schema::plugins;
use headstack_units::{Span, Time};

/// A waiting request: one that was submitted, or several merged ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queued {
    /// The slot that identifies it.
    pub slot: u32,
    /// Whether it is a write.
    pub write: bool,
    /// First 512-byte block.
    pub lba: u64,
    /// Number of 512-byte blocks.
    pub blocks: u64,
    /// Whether a process waits for it: reads, and writes that are not left to the host. Of the first one in it.
    pub sync: bool,
    /// The process that submitted it, or [`ANYONE`](super::ANYONE).
    pub submitter: u32,
    /// Number of submitted requests in it.
    pub segments: u32,
    /// Order of arrival: a number that grows with each request.
    pub order: u64,
    /// What the host asks for its turn at the drive.
    pub hint: Hint,
}

impl Queued {
    /// The block after its last one.
    pub fn end(&self) -> u64 {
        self.lba + self.blocks
    }

    /// Its last block.
    pub fn last(&self) -> u64 {
        self.lba + self.blocks.saturating_sub(1)
    }
}

/// The order in which waiting requests are dispatched.
pub trait Elevator: Send {
    /// A request begins to wait at `now`.
    fn add(&mut self, now: Time, request: &Queued);
    /// Removes and returns the request to dispatch at `now`; `None` if none waits, or the device is kept idle.
    fn take(&mut self, now: Time) -> Option<u32>;
    /// Until when the device is kept idle for a request that is to come; [`Time::NEVER`] if it is not.
    fn resumes_at(&self) -> Time {
        Time::NEVER
    }
    /// A waiting request has grown at its front; `request` has its new address and length.
    fn resort(&mut self, request: &Queued);
    /// A waiting request has grown at its back; `request` has its new length.
    fn grown(&mut self, _request: &Queued) {}
    /// Request `gone` was merged into `survivor`, which keeps the earlier deadline of the two.
    fn absorb(&mut self, survivor: u32, gone: u32);
    /// A request that was taken has completed at `now`.
    fn ended(&mut self, _now: Time, _slot: u32) {}
    /// Whether two requests may be merged.
    fn may_join(&self, _request: &Queued, _other: &Queued) -> bool {
        true
    }
    /// Number of waiting requests.
    fn len(&self) -> usize;
    /// Whether no request waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Which waiting requests a new one may be merged with. `None`: any that touches it. `Some`: only these,
    /// the newest first.
    fn newest(&self) -> Option<Vec<u32>> {
        None
    }
    /// The time from a read's arrival to its deadline; `None` if reads have no deadline.
    fn read_expire(&self) -> Option<Span> {
        None
    }
    /// Sets the time to the deadline of reads that are added from now on; those that wait keep their deadline, as
    /// in Linux (`/sys/block/DEVICE/queue/iosched/read_expire`). An elevator without deadlines ignores it.
    fn set_read_expire(&mut self, _expire: Span) {}
}

// An elevator is built for a unit of this size in 512-byte blocks.
plugins! {
    dyn Elevator = "elevator", for<'a> u64;
    none: First, deadline: Deadline, mq_deadline: OfKernel, ranges: OfRanges, bfq: Parameters
}
