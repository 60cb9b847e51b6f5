//! Damage to what a parser reads: the only mutator of tests, and the corpora that it begins with.

use crate::XorShift;
use std::ops::Range;

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
    assert!(all.len() >= 4, "{fuzzer}: {} files", all.len());
    all
}

/// Changes bytes one to four times: alters one, fills, drops or repeats up to `most`, puts in one of `pieces` that mean
/// something to the parser, or cuts off the rest.
pub fn damage(bytes: &mut Vec<u8>, most: usize, pieces: &[&[u8]], rng: &mut XorShift) {
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len() as u64) as usize;
        let some = at..bytes.len().min(at + 1 + rng.below(most as u64) as usize);
        match rng.below(if pieces.is_empty() { 7 } else { 9 }) {
            0 => bytes[at] = rng.below(256) as u8,
            1 => bytes[at] ^= 1 << rng.below(8),
            2 => bytes.truncate(at + 1),
            3 => bytes.extend_from_within(at..bytes.len().min(at + 1000)),
            4 => drop(bytes.drain(some)),
            5 => bytes[some].fill([0, 0xff][rng.below(2) as usize]),
            6 => drop(bytes.splice(at..at, bytes[some].to_vec())),
            _ => drop(bytes.splice(at..at, pieces[rng.below(pieces.len() as u64) as usize].iter().copied())),
        }
    }
}

/// Drops, repeats or moves one of the records that begin at `starts`, of which the last is the end of all, or gives one of
/// its `fields` another number.
pub fn damage_record(bytes: &mut Vec<u8>, starts: &[usize], fields: &[Range<usize>], rng: &mut XorShift) {
    let Some(n) = (starts.len() as u64).checked_sub(1).filter(|n| *n > 0) else { return };
    let nth = rng.below(n) as usize;
    let (from, to) = (starts[nth], starts[nth + 1]);
    let record = bytes[from..to].to_vec();
    match rng.below(16) {
        0 => drop(bytes.drain(from..to)),
        1 => drop(bytes.splice(to..to, record)),
        2 => {
            bytes.drain(from..to);
            let at = starts[rng.below(n) as usize].min(bytes.len());
            bytes.splice(at..at, record);
        }
        _ => {
            let field = &fields[rng.below(fields.len() as u64) as usize];
            let value = [0, u64::MAX, 1 << rng.below(64), rng.draw()][rng.below(4) as usize];
            let place = (from + field.start).min(to)..(from + field.end).min(to);
            for (i, byte) in bytes[place].iter_mut().enumerate() {
                *byte = value.to_be_bytes()[i % 8];
            }
        }
    }
}
