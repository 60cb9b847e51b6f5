//! What is known of a request while it is in flight, and when it has ended.

use headstack_units::Time;

/// A request in flight.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub arrival: Time,
    pub blocks: u32,
    pub parts: u32,
    /// The thread or client that waits for it; in a free slot of the table of requests, the next free one.
    pub thread: u32,
    /// Index in `OPERATIONS`.
    pub kind: u8,
    /// [`Request::class`](headstack_trace::Request::class).
    pub class: u8,
    pub measured: bool,
    /// Measured, of one part, without log, threads and power cap.
    pub quick: bool,
}

// There may be many: two and a half in a line of the cache.
const _: () = assert!(size_of::<Asked>() == 24);

/// The times of a request that ended, which are counted in the order of the whole system.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Response times from submission, and without the time in the queues of drives.
    pub response_ns: u64,
    pub service_ns: u64,
    pub kind: u8,
    pub class: u8,
    /// Whether they count: it was measured, and succeeded.
    pub counts: bool,
}
