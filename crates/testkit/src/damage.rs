//! What clients of a server send: sessions as the fuzzers begin with them, and damage to bytes.

use crate::XorShift;

/// The files of a fuzzer's corpus, by name.
pub fn corpus(fuzzer: &str) -> Vec<(String, Vec<u8>)> {
    let folder = format!("{}/../../fuzz/corpus/{fuzzer}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).expect("the corpus is part of the repository");
    let read = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, std::fs::read(&path).expect("a file"))
    };
    let mut all: Vec<_> = entries.map(|entry| read(entry.expect("an entry").path())).collect();
    all.sort();
    all
}

/// Changes some of the bytes, drops some, `most` at a time, or repeats some.
pub fn damage(bytes: &mut Vec<u8>, most: usize, rng: &mut XorShift) {
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len() as u64) as usize;
        match rng.below(5) {
            0 => bytes[at] = rng.below(256) as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => bytes.truncate(at + 1),
            3 => bytes.extend_from_within(at..bytes.len().min(at + 1000)),
            _ => drop(bytes.drain(at..bytes.len().min(at + most))),
        }
    }
}
