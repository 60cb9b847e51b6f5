//! Folders of plug-ins: one file each.

use std::path::Path;

/// The files of `folder` (below the crate's folder) and the list `names` name the same plug-ins, and each file
/// has the sections Model, Source and Validity. `shared` are the files that are no plug-ins, without ending.
///
/// # Panics
/// Otherwise, with the file and what it lacks.
pub fn folder_matches(crate_folder: &str, folder: &str, shared: &[&str], names: &[&str]) {
    let path = Path::new(crate_folder).join(folder);
    let mut found = 0;
    for entry in std::fs::read_dir(&path).expect("the folder exists") {
        let file = entry.expect("a readable folder").path();
        let stem = file.file_stem().expect("a name").to_string_lossy();
        let is_source = file.extension() == Some("rs".as_ref());
        if !is_source || shared.contains(&stem.as_ref()) {
            continue;
        }
        let name = stem.replace('_', "-");
        assert!(
            names.contains(&name.as_str()),
            "{folder}/{stem}.rs: got no entry {name:?}, need the word {stem} in the list of {folder}/mod.rs"
        );
        let text = std::fs::read_to_string(&file).expect("a readable file");
        for section in ["# Model", "# Source", "# Validity"] {
            assert!(
                text.lines().any(|l| l == format!("//! {section}")),
                "{folder}/{stem}.rs: got module docs without it, need {section:?}"
            );
        }
        found += 1;
    }
    assert_eq!(found, names.len(), "{folder}: names repeat or lack a file");
}

#[cfg(test)]
mod tests {
    use super::folder_matches;
    use std::panic::catch_unwind;

    /// Whether a folder with one plug-in file of this text matches the list.
    fn matches(names: &'static [&'static str], text: &str) -> bool {
        let root = tempfile::tempdir().expect("a folder");
        let crate_folder = root.path();
        std::fs::create_dir_all(crate_folder.join("p")).expect("a folder");
        std::fs::write(crate_folder.join("p/a_b.rs"), text).expect("a file");
        std::fs::write(crate_folder.join("p/mod.rs"), "").expect("a file");
        let folder = crate_folder.to_string_lossy().to_string();
        catch_unwind(|| folder_matches(&folder, "p", &["mod"], names)).is_ok()
    }

    #[test]
    fn a_file_needs_its_name_in_the_list_and_three_sections() {
        let whole = "//! # Model\n//! # Source\n//! # Validity\n";
        assert!(matches(&["a-b"], whole));
        assert!(!matches(&["a"], whole));
        assert!(!matches(&["a-b", "c"], whole));
        assert!(!matches(&["a-b"], "//! # Model\n//! # Source\n"));
    }
}
