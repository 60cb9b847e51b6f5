//! The drives that come with the project.

use headstack_drive::shipped::FILES;
use headstack_drive::DriveSpec;
use std::path::PathBuf;

/// The folder `drives/`.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives"))
}

/// All drive files in order of their names: path, text, parsed description.
pub fn files() -> Vec<(PathBuf, String, DriveSpec)> {
    assert!(FILES.len() > 10, "{} drives", FILES.len());
    let path = |name: &str| folder().join(format!("{name}.toml"));
    let read = |(name, text): &(&str, &str)| (path(name), text.to_string(), parsed(name, text));
    FILES.iter().map(read).collect()
}

/// The descriptions of all drives, in order of the file names.
pub fn drives() -> Vec<DriveSpec> {
    files().into_iter().map(|file| file.2).collect()
}

/// The description of one drive, by the stem of its file name.
pub fn drive(name: &str) -> DriveSpec {
    let text = headstack_drive::shipped::text(name).unwrap_or_else(|| panic!("no drive {name}"));
    parsed(name, text)
}

fn parsed(name: &str, text: &str) -> DriveSpec {
    toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"))
}
