//! The drives that come with the project, as they are in `drives/`.

/// Name and text (TOML) of each, in order of the names.
pub const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The text of the drive of this name.
pub fn text(name: &str) -> Option<&'static str> {
    let found = FILES.iter().find(|file| file.0 == name);
    found.map(|file| file.1)
}
