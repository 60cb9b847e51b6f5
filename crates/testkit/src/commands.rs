//! Commands for tests, and quantities of their completions.

use headstack_drive::{Command, Completion, Components, Drive, DriveRequest};
use headstack_units::{Lba, Span, Time};

/// A command with this number, address and length, in 512-byte blocks.
pub fn command(id: u64, command: Command, lba: u64, blocks: u32) -> DriveRequest {
    DriveRequest { id, command, lba: Lba(lba), blocks, ..DriveRequest::default() }
}

/// A read of 512-byte blocks.
pub fn read(id: u64, lba: u64, blocks: u32) -> DriveRequest {
    command(id, Command::Read, lba, blocks)
}

/// Gives a drive these commands at their times in nanoseconds, and lets it end them.
pub fn run(drive: &mut Drive, commands: &[(u64, DriveRequest)]) -> Vec<Completion> {
    let mut done = Vec::new();
    for (at, request) in commands {
        drive.advance(Time(*at), &mut |c| done.push(*c));
        drive.submit(Time(*at), *request);
    }
    drive.advance(Time::NEVER, &mut |c| done.push(*c));
    done
}

/// Response time in nanoseconds.
pub fn response(c: &Completion) -> u64 {
    c.completion.0 - c.arrival.0
}

/// Sum of the shares in nanoseconds, which must equal the response time.
pub fn shares(c: &Completion) -> u64 {
    sum(&c.components)
}

/// Sum of shares in nanoseconds, of which none is negative.
pub fn sum(s: &Components) -> u64 {
    let all = [s.queue, s.overhead, s.seek, s.rotation, s.transfer, s.bus];
    assert!(all.iter().all(|share| *share >= Span::ZERO), "{s:?}");
    all.into_iter().sum::<Span>().non_negative()
}
