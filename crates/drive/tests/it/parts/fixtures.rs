//! Helpers of several unit tests of this crate.

use headstack_drive::spec::DriveSpec;
use headstack_testkit::disk::Disk;

/// A drive of two surfaces, 300 cylinders, 97 sectors per track and 7000 rpm; `positioning` holds the lines
/// of its `[positioning]` table.
pub(crate) fn small_drive(positioning: &str) -> DriveSpec {
    let disk = Disk { rpm: 7000, surfaces: 2, cylinders: 300, sectors: 97, skew: Some(("sectors", 10.0, 20.0)) };
    let text = disk.text(
        r#"
        [seek]
        model = "linear"
        single = "1 ms"
        full = "9 ms"
        cylinders = 300
        [positioning]
    "#,
    );
    toml::from_str(&format!("{text}{positioning}")).expect("a drive")
}
