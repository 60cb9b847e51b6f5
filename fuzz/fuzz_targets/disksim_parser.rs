//! Arbitrary text as a DiskSim parameter file: errors are fine, panics and blow-ups are not.
#![no_main]

use headstack_disksim::{parse, MemoryLoader};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data).into_owned();
    let mut loader = MemoryLoader::default();
    // The other names let `source`, seek tables and layout maps find the input itself.
    for name in ["main", "a.model", "a.seek", "a.map"] {
        loader.files.insert(name.into(), text.clone());
    }
    if let Ok(document) = parse(Path::new("main"), &loader) {
        let _ = document.disks(&loader);
    }
});
