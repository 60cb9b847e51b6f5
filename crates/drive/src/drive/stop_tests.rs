//! When choices expect that read-ahead has stopped is when it stops.

use crate::command::{Command, DriveRequest};
use crate::drive::Drive;
use crate::options::DriveOptions;
use crate::spec::DriveSpec;
use headstack_units::{Lba, Time};

/// A drive of 100 sectors of 100 us a turn with two arm assemblies, of which one moves at a time.
fn spec(in_sector: bool) -> DriveSpec {
    let text = r#"
        name = "two assemblies"
        dash = "D1A2S1H1"
        [geometry]
        rotation_speed = "6000 rpm"
        surfaces = 2
        cylinders = 300
        zones = [{ first_cylinder = 0, last_cylinder = 299, sectors_per_track = 100, track_skew = 10.0, cylinder_skew = 20.0 }]
        [seek]
        model = "constant"
        time = "2 ms"
        [positioning]
        head_switch = "1 ms"
        [cache]
        enabled = true
        segments = 4
        segment_sectors = 400
        read_ahead = "limit"
        [parallelism]
        arms_in_motion = 1
    "#;
    let mut spec: DriveSpec = toml::from_str(text).expect("a drive");
    spec.cache.stop_read_ahead_in_sector = in_sector;
    spec
}

/// The drive at time `until`, after a read of sectors 0 to 7 at time 0, and when that read ended.
fn after_a_read(in_sector: bool, until: impl Fn(u64) -> u64) -> (Drive, u64) {
    let mut drive = Drive::builtin(&spec(in_sector), &DriveOptions::default()).expect("a drive");
    drive.submit(
        Time(0),
        DriveRequest {
            command: Command::Read,
            lba: Lba(0),
            blocks: 8,
            ..DriveRequest::default()
        },
    );
    let mut end = 0;
    // The service is computed when it begins.
    drive.advance(Time(1), &mut |c| end = c.completion.0);
    assert!(end > 0);
    drive.units[0].server_mut().run_background(until(end));
    (drive, end)
}

#[test]
fn choices_expect_read_ahead_to_stop_when_it_does() {
    let mut later = 0;
    for in_sector in [false, true] {
        // From the end of the read over more than three turns, in steps that begin with the very end.
        for step in 0..1_000 {
            let (mut drive, end) = after_a_read(in_sector, |end| end + step * 33_331);
            let now = end + step * 33_331;
            let server = drive.units[0].server_mut();
            let expected = server.earliest_moves(now).0;
            let stopped = server.stop_read_ahead(now).max(now);
            assert_eq!(
                expected, stopped,
                "in a sector: {in_sector}, {step} steps after the end"
            );
            later += u64::from(stopped > now);
        }
    }
    assert!(later > 500, "read-ahead had to be awaited {later} times");
}

/// A run begins when the command before it ends. A command at that very time finds that it has not begun.
#[test]
fn a_run_that_would_begin_at_the_time_of_a_command_does_not_begin() {
    let (mut drive, end) = after_a_read(false, |end| end);
    let server = drive.units[0].server_mut();
    assert_eq!(server.earliest_moves(end).0, end);
    assert_eq!(server.stop_read_ahead(end), 0);
}
