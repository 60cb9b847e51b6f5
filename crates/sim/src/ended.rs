//! What is known of a request when it has ended.

use headstack_units::Time;

/// What is known of a request when it ends.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub arrival: Time,
    pub blocks: u32,
    /// Index in `OPERATIONS`.
    pub kind: u8,
    /// [`Request::class`](headstack_trace::Request::class).
    pub class: u8,
    pub measured: bool,
    /// The thread or client that waits for it.
    pub thread: u32,
}

/// The times of a request that ended, which are counted in the order of the whole system.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// As in [`Ended`].
    pub response_ns: u64,
    pub service_ns: u64,
    pub kind: u8,
    pub class: u8,
    /// Whether they count: it was measured, and succeeded.
    pub counts: bool,
}

/// A request that ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Response times from submission, without the time in the queues of drives, and from admission to the host's queue.
    pub response_ns: u64,
    pub service_ns: u64,
    pub admitted_ns: u64,
    /// The drive that served its last part.
    pub drive: u32,
    pub blocks: u32,
    /// The number of its thread among those of all jobs, if it waits and that is of interest.
    pub thread: u32,
    /// The number of its job.
    pub job: Option<u32>,
    /// Index in `OPERATIONS`.
    pub kind: u8,
    /// [`Request::class`](headstack_trace::Request::class).
    pub class: u8,
    pub measured: bool,
    pub failed: bool,
}

impl Ended {
    /// Its times.
    #[inline]
    pub fn times(&self) -> Times {
        Times {
            response_ns: self.response_ns,
            service_ns: self.service_ns,
            kind: self.kind,
            class: self.class,
            counts: self.measured && !self.failed,
        }
    }
}
