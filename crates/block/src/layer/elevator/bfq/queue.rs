//! The queue of a process, and what the elevator keeps of it.

use super::habits::Habits;
use super::injection::Limit;
use super::raising::Raise;
use headstack_units::Time;

/// The queue of a process, or that of all asynchronous requests. Its share of the service is in
/// [`Order`](super::order::Order).
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub is_sync: bool,
    /// Requests that wait, and those at the drive.
    pub waiting: u32,
    pub at_drive: u32,
    /// The request that is served next.
    pub next: Option<u32>,
    /// Sectors of its next turn.
    pub max_budget: u64,
    /// Whether it waits for its turn or has it.
    pub is_busy: bool,
    /// In its turn it was looked at whether its oldest request is late.
    pub has_seen_age: bool,
    /// Its last turn ended because it had no more requests.
    pub ended_empty: bool,
    /// It has had no request yet.
    pub is_new: bool,
    pub habits: Habits,
    pub limit: Limit,
    pub raise: Raise,
}

impl Queue {
    pub fn new(now: Time, is_sync: bool, max_budget: u64) -> Queue {
        Queue {
            is_sync,
            max_budget,
            is_new: true,
            habits: Habits::new(now),
            limit: Limit::new(now, 0),
            raise: Raise::new(now),
            ..Queue::default()
        }
    }
}
