//! What is no drive is refused, with the reason.

use headstack_probe::{open, Options};
use std::path::Path;

fn refusal(path: &Path) -> String {
    open(&path.display().to_string(), &Options::default()).err().map(|e| e.to_string()).unwrap_or_default()
}

#[test]
fn files_are_refused_in_words() {
    // Not below the folder for temporary files, which may be in memory.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path();
    let (full, sparse) = (folder.join("probe-full"), folder.join("probe-sparse"));
    std::fs::write(&full, vec![1; 1 << 16]).unwrap();
    std::fs::File::create(&sparse).unwrap().set_len(1 << 30).unwrap();
    assert!(refusal(&full).contains("the page cache"), "{}", refusal(&full));
    assert!(refusal(&sparse).contains("a sparse file"), "{}", refusal(&sparse));
    assert!(refusal(folder).contains("neither a file nor a block device"));
    assert!(refusal(&folder.join("absent")).contains("no such file"));
    let shared = Path::new("/dev/shm");
    if !shared.is_dir() {
        return println!("skipped: no tmpfs at /dev/shm");
    }
    let memory = tempfile::NamedTempFile::new_in(shared).unwrap();
    std::fs::write(&memory, "1").unwrap();
    let said = refusal(memory.path());
    assert!(said.contains("tmpfs"), "{said}");
}
