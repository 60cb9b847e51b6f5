//! Commands for tests, and quantities of their completions.

use headstack_drive::{Command, Completion, DriveRequest};
use headstack_units::Lba;

/// A command with this number, address and length, in 512-byte blocks.
pub fn command(id: u64, command: Command, lba: u64, blocks: u32) -> DriveRequest {
    DriveRequest { id, command, lba: Lba(lba), blocks, ..DriveRequest::default() }
}

/// A read of 512-byte blocks.
pub fn read(id: u64, lba: u64, blocks: u32) -> DriveRequest {
    command(id, Command::Read, lba, blocks)
}

/// Response time in nanoseconds.
pub fn response(c: &Completion) -> u64 {
    c.completion.0 - c.arrival.0
}

/// Sum of the shares in nanoseconds, which must equal the response time.
pub fn shares(c: &Completion) -> u64 {
    let s = &c.components;
    s.queue + s.overhead + s.seek + s.rotation + s.transfer + s.bus
}

/// Checks that commands numbered from 0 to `count` complete once each and without error, and that the shares of their
/// times add up. `what` names the case.
pub fn check_completions(done: &[Completion], count: u64, what: &str) {
    let mut ids: Vec<u64> = done.iter().map(|c| c.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..count).collect::<Vec<u64>>(), "{what}");
    for c in done {
        assert!(!c.error, "{what}: {c:?}");
        assert_eq!(shares(c), response(c), "{what}: {c:?}");
    }
}
