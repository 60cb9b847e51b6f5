//! What a log is told of a request.

use headstack_block::layer::{ErrorKind, Waits};
use headstack_drive::Components;
use headstack_trace::Request;
use headstack_units::Time;

/// One finished request, for a log.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// Number in the workload, from 0.
    pub id: u64,
    /// The request, with the time at which it reached the array.
    pub request: Request,
    /// Completion of the last part.
    pub completion: Time,
    /// Components of the last part.
    pub components: Components,
    /// Where it waited above the drives.
    pub waits: Waits,
    /// The drive of the last part.
    pub drive: u32,
    /// Whether every part was served from a buffer.
    pub cache_hit: bool,
    /// Seek distance of the last part, cylinders.
    pub seek_distance: u32,
    /// Arm of the last part.
    pub arm: u8,
    /// Why it failed, if it did.
    pub error: Option<ErrorKind>,
}

/// Receives finished requests after the warm-up; an error ends the run.
pub type Log<'a> = dyn FnMut(&Record) -> Result<(), String> + Send + 'a;
