//! Commands, and what is asked of their completions everywhere.

use headstack_drive::{Command, Completion, DriveRequest};
use headstack_units::Lba;

/// A command.
pub fn command(id: u64, command: Command, lba: u64, blocks: u32) -> DriveRequest {
    DriveRequest {
        id,
        command,
        lba: Lba(lba),
        blocks,
    }
}

/// A read.
pub fn read(id: u64, lba: u64, blocks: u32) -> DriveRequest {
    command(id, Command::Read, lba, blocks)
}

/// A response time in nanoseconds.
pub fn response(c: &Completion) -> u64 {
    c.completion.0 - c.arrival.0
}

/// The sum of its shares in nanoseconds, which is the response time.
pub fn shares(c: &Completion) -> u64 {
    let s = &c.components;
    s.queue + s.overhead + s.seek + s.rotation + s.transfer + s.bus
}
