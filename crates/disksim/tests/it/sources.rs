//! Tests which files a parameter file may name.

use headstack_disksim::{FileLoader, Loader, Sources};
use std::path::{Path, PathBuf};

/// A folder with files inside and outside, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("headstack-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inside/below")).unwrap();
        for file in ["outside", "inside/beside", "inside/below/deep"] {
            std::fs::write(folder.join(file), file).unwrap();
        }
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn load(loader: &FileLoader, name: &str, from: &Path) -> Result<String, String> {
    loader.load(name, Some(from)).map(|(_, text)| text)
}

#[test]
fn files_outside_are_read_only_if_that_is_allowed() {
    let folder = Folder::new("sources");
    let from = folder.0.join("inside/x.parv");
    let outside = folder.0.join("outside").display().to_string();
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
    let searched = FileLoader { search: vec![folder.0.clone()], ..FileLoader::default() };
    assert_eq!(load(&searched, "outside", &from).as_deref(), Ok("outside"));
    assert_eq!(load(&inside, "absent", &from), Err("no such file".to_string()));
}
