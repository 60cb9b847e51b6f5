//! Memory grows with what a drive holds, not with how long a command is.

use headstack_drive::spec::{Destage, DriveSpec};
use headstack_drive::{Command, Drive, DriveOptions, DriveRequest};
use headstack_units::{Lba, Time};

/// Most memory that this process has had so far, in bytes, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// One write of 550 GB (a time for each sector would take 8 GB) through buffers of 2 MiB.
#[test]
fn a_write_of_half_a_terabyte_takes_little_memory() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives/exos-x18.toml");
    let text = std::fs::read_to_string(path).expect("a drive file");
    let mut spec: DriveSpec = toml::from_str(&text).expect("a drive");
    for (write_back, destage) in [
        (false, Destage::Immediate),
        (true, Destage::Immediate),
        (true, Destage::Idle),
    ] {
        spec.cache.write_back = write_back;
        spec.cache.destage = destage;
        let mut drive = Drive::new(&spec, &DriveOptions::default()).expect("a drive");
        let before = peak();
        let request = DriveRequest {
            id: 0,
            command: Command::Write,
            lba: Lba(0),
            blocks: (550_000_000_000u64 / 512) as u32,
        };
        drive.submit(Time(0), request);
        let mut end = 0;
        drive.advance(Time::NEVER, &mut |c| end = c.completion.0);
        // At 270 MB/s or less.
        assert!(end > 2_000_000_000_000, "{end} ns");
        let Some((before, after)) = before.zip(peak()) else {
            eprintln!("skipped: the system does not tell how much memory is used");
            return;
        };
        let more = (after - before) >> 20;
        println!("write_back {write_back}, {destage:?}: {more} MiB");
        assert!(more < 128, "{more} MiB more");
    }
}
