//! One block request: readers return requests, systems serve them.

use crate::ioprio::Ioprio;
pub use headstack_engine::Command;
use headstack_units::{Lba, Time};

/// The number of the process that issued a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process(pub u32);

impl Process {
    /// The trace does not say.
    pub const UNKNOWN: Process = Process(u32::MAX);
}

impl Default for Process {
    fn default() -> Process {
        Process::UNKNOWN
    }
}

/// One request as the host issued it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Request {
    /// Time of its issue, since the beginning of the trace.
    pub time: Time,
    /// Device of the trace (SPC: ASU; MSR: disk number; ...).
    pub device: u32,
    /// The first block, in 512-byte blocks. One below zero, as a shift can give, wraps around 2^64.
    pub lba: Lba,
    /// Number of 512-byte blocks; zero only for [`Command::Flush`].
    pub blocks: u32,
    pub op: Command,
    /// Its class, for results: its number among the classes of the workload; 0 where there are none.
    pub class: u8,
    /// What its process asks for.
    pub priority: Ioprio,
    /// The process, in formats that have it.
    pub process: Process,
}

impl Request {
    /// Whether it begins below block zero.
    pub fn is_below_zero(&self) -> bool {
        self.lba.0 > i64::MAX as u64
    }
}
