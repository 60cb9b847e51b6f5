//! When choices expect that read-ahead has stopped is when it stops.

use crate::parts::service;
use headstack_drive::command::{Command, DriveRequest};
use headstack_drive::drive::Drive;
use headstack_drive::spec::{DriveSpec, ReadAhead};
use headstack_drive::DriveOptions;
use headstack_units::{Lba, Time};

/// A drive with two arm assemblies, of which one moves at a time, that reads ahead.
fn spec(in_sector: bool) -> DriveSpec {
    let mut spec = service::spec();
    spec.dash.arms = 2;
    spec.parallelism.arms_in_motion = 1;
    spec.cache.segment_sectors = 400;
    spec.cache.read_ahead = ReadAhead::Limit;
    spec.cache.stop_read_ahead_in_sector = in_sector;
    spec
}

/// The drive `later` nanoseconds after the end of a read of sectors 0 to 7, and that time.
fn after_a_read(in_sector: bool, later: u64) -> (Drive, u64) {
    let mut drive = Drive::builtin(&spec(in_sector), &DriveOptions::default()).expect("a drive");
    drive.submit(Time(0), DriveRequest { command: Command::Read, lba: Lba(0), blocks: 8, ..DriveRequest::default() });
    let mut end = 0;
    // The service is computed when it begins.
    drive.advance(Time(1), &mut |c| end = c.completion.0);
    assert!(end > 0);
    let now = end + later;
    (drive, now)
}

#[test]
fn choices_expect_read_ahead_to_stop_when_it_does() {
    let mut later = 0;
    for in_sector in [false, true] {
        // From the end of the read over more than three turns, in steps that begin with the very end.
        for step in 0..1_000 {
            let (mut drive, now) = after_a_read(in_sector, step * 33_331);
            let (expected, stopped) = drive.stops_read_ahead(Time(now));
            let stopped = stopped.0.max(now);
            assert_eq!(expected.0, stopped, "in a sector: {in_sector}, {step} steps after the end");
            later += u64::from(stopped > now);
        }
    }
    assert!(later > 500, "read-ahead had to be awaited {later} times");
}

/// A run begins when the command before it ends. A command at that very time finds that it has not begun.
#[test]
fn a_run_that_would_begin_at_the_time_of_a_command_does_not_begin() {
    let (mut drive, end) = after_a_read(false, 0);
    assert_eq!(drive.stops_read_ahead(Time(end)), (Time(end), Time(0)));
}
