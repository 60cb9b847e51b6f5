//! Tests which files a parameter file may name.

use headstack_disksim::{FileLoader, Loader, Sources};
use std::path::Path;
use tempfile::TempDir;

/// A folder with files inside and outside.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("inside/below")).unwrap();
    for file in ["outside", "inside/beside", "inside/below/deep"] {
        std::fs::write(folder.path().join(file), file).unwrap();
    }
    folder
}

fn load(loader: &FileLoader, name: &str, from: &Path) -> Result<String, String> {
    loader.load(name, Some(from)).map(|(_, text)| text)
}

#[test]
fn files_outside_are_read_only_if_that_is_allowed() {
    let folder = folder();
    let from = folder.path().join("inside/x.parv");
    let outside = folder.path().join("outside").display().to_string();
    let inside = FileLoader::default();
    let anywhere = FileLoader { sources: Sources::Anywhere, ..FileLoader::default() };
    for name in ["beside", "below/deep", "below/../beside", "../inside/beside"] {
        assert!(load(&inside, name, &from).is_ok(), "{name}");
    }
    for name in ["../outside", "below/../../outside", &outside] {
        let error = load(&inside, name, &from).unwrap_err();
        assert!(error.starts_with("a file outside the folder"), "{error}");
        assert_eq!(load(&anywhere, name, &from).as_deref(), Ok("outside"));
    }
    // Files named by the user, and files along the search path, are always allowed.
    assert!(inside.load(&outside, None).is_ok());
    let searched = FileLoader { search: vec![folder.path().into()], ..FileLoader::default() };
    assert_eq!(load(&searched, "outside", &from).as_deref(), Ok("outside"));
    assert_eq!(load(&inside, "absent", &from), Err("no such file".to_string()));
}
