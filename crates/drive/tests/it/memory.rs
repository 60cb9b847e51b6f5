//! Memory grows with what a drive holds, not with how long a command is.

use headstack_drive::spec::Destage;
use headstack_drive::{Command, Drive, DriveOptions};
use headstack_testkit::commands;
use headstack_testkit::memory::peak_bytes;
use headstack_testkit::{alone, shipped};
use headstack_units::Time;

/// One write of 550 GB (a time for each sector would take 8 GB) through buffers of 2 MiB.
#[test]
fn a_write_of_half_a_terabyte_takes_little_memory() {
    alone("memory::a_write_of_half_a_terabyte_takes_little_memory", || {
        let mut spec = shipped::drive("exos-x18");
        for (write_back, destage) in [(false, Destage::Immediate), (true, Destage::Immediate), (true, Destage::Idle)] {
            spec.cache.write_back = write_back;
            spec.cache.destage = destage;
            let mut drive = Drive::builtin(&spec, &DriveOptions::default()).expect("a drive");
            let before = peak_bytes();
            let request = commands::command(0, Command::Write, 0, (550_000_000_000u64 / 512) as u32);
            drive.submit(Time(0), request);
            let mut end = 0;
            drive.advance(Time::NEVER, &mut |c| end = c.completion.0);
            // At 270 MB/s or less.
            assert!(end > 2_000_000_000_000, "{end} ns");
            let Some((before, after)) = before.zip(peak_bytes()) else {
                eprintln!("skipped: the system does not tell how much memory is used");
                return;
            };
            let more = (after - before) >> 20;
            println!("write_back {write_back}, {destage:?}: {more} MiB");
            assert!(more < 128, "{more} MiB more");
        }
    });
}
