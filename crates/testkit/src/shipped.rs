//! The drives that come with the project.

use headstack_drive::DriveSpec;
use std::path::PathBuf;

/// The folder `drives/`.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../drives"))
}

/// All drive files in order of their names: path, text, parsed description.
pub fn files() -> Vec<(PathBuf, String, DriveSpec)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("drives/ exists")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    paths.sort();
    assert!(paths.len() > 10, "{} files in drives/", paths.len());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let spec = toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        (path, text, spec)
    };
    paths.into_iter().map(read).collect()
}

/// The descriptions of all drives, in order of the file names.
pub fn drives() -> Vec<DriveSpec> {
    files().into_iter().map(|file| file.2).collect()
}

/// The description of one drive, by the stem of its file name.
pub fn drive(name: &str) -> DriveSpec {
    let path = folder().join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    toml::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
