//! Arbitrary text as a DiskSim parameter file: errors are fine, panics and blow-ups are not.
//! `cargo +nightly fuzz run disksim_parser`; CI replays the corpus without it
//! (`crates/disksim/tests/it/fuzz_corpus.rs`).
#![no_main]

use headstack_disksim::{parse, MemoryLoader};
use headstack_drive::layout::{build, PLUGINS};
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
        for import in document.disks(&loader).unwrap_or_default() {
            let _ = build(&import.spec.geometry, &PLUGINS);
        }
    }
});
