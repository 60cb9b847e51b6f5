//! Drives of one design share what does not change: each further one adds its state alone. Alone in its process,
//! because other tests would change how much memory that has.

use headstack_drive::spec::DriveSpec;
use headstack_drive::{Drive, DriveDesign, DriveOptions, Models};
use headstack_testkit::alone;
use headstack_testkit::memory::resident_bytes;

#[test]
fn a_further_drive_adds_less_than_100_kib() {
    alone("memory_of_equal_drives::a_further_drive_adds_less_than_100_kib", || {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives");
        let files = std::fs::read_dir(folder).expect("drives/ exists");
        let mut paths: Vec<_> = files
            .map(|f| f.expect("a readable folder").path())
            .filter(|p| p.extension().is_some_and(|e| e == "toml"))
            .collect();
        paths.sort();
        // Whatever was built stays, or its memory would be used again unseen.
        let mut kept: Vec<Vec<Drive>> = Vec::new();
        for path in paths {
            let text = std::fs::read_to_string(&path).expect("a readable file");
            let spec: DriveSpec = toml::from_str(&text).expect("a drive");
            let design = DriveDesign::new(&spec, &Models::builtin()).expect("a design");
            let (n, mut drives) = (500, Vec::with_capacity(500));
            let before = resident_bytes();
            for seed in 0..n {
                let options = DriveOptions { seed, ..DriveOptions::default() };
                drives.push(design.drive(&options).expect("a drive"));
            }
            let Some((before, after)) = before.zip(resident_bytes()) else {
                eprintln!("skipped: the system does not tell how much memory is used");
                return;
            };
            let each = after.saturating_sub(before) / n;
            println!("{}: {each} B", spec.name);
            assert!(each < 100 * 1024, "{}: {each} B", spec.name);
            kept.push(drives);
        }
        let last = kept.iter().filter_map(|d| d.last()).count();
        assert!(last > 10, "{last}");
    });
}
