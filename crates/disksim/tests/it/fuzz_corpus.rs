//! Replays the corpus of the parser's fuzz target, and a number of random mutations of it.

use headstack_disksim::{parse, MemoryLoader};
use headstack_drive::layout::{build, PLUGINS};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::Path;

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/disksim_parser");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(p).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() >= 5, "corpus is missing");
    files
}

fn run(main: &[u8], beside: &[(String, Vec<u8>)]) {
    let mut loader = MemoryLoader::default();
    for (name, bytes) in beside {
        loader.files.insert(name.clone(), String::from_utf8_lossy(bytes).into_owned());
    }
    loader.files.insert("main".into(), String::from_utf8_lossy(main).into_owned());
    match parse(Path::new("main"), &loader).and_then(|d| d.disks(&loader)) {
        // The contents of a layout map may be inconsistent; the layout checks them.
        Ok(imports) => {
            for import in imports {
                let _ = build(&import.spec.geometry, &PLUGINS);
            }
        }
        // Every error has a place and states what is needed.
        Err(e) => assert!(e.to_string().contains(", need "), "{e}"),
    }
}

#[test]
fn corpus_never_panics() {
    let corpus = corpus();
    for (_, bytes) in &corpus {
        run(bytes, &corpus);
    }
}

#[test]
fn mutated_corpus_never_panics() {
    let seed = std::env::var("HEADSTACK_FUZZ_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(7);
    println!("seed {seed} (set HEADSTACK_FUZZ_SEED for another)");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let corpus = corpus();
    let pieces: [&[u8]; 14] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"=",
        b" .. ",
        b" source main ",
        b"-9223372036854775808",
        b"99999999999999999999",
        b"1e308",
        b"\xff\xfe",
        b"instantiate",
        b"-0x8000000000000000",
    ];
    for _ in 0..4000 {
        let mut files = corpus.clone();
        let which = random.random_range(0..files.len());
        for _ in 0..random.random_range(1..6) {
            let text = &mut files[which].1;
            let at = random.random_range(0..=text.len());
            match random.random_range(0..4) {
                0 => {
                    let end = (at + random.random_range(0..40)).min(text.len());
                    text.drain(at..end);
                }
                1 => {
                    let piece = pieces[random.random_range(0..pieces.len())];
                    text.splice(at..at, piece.iter().copied());
                }
                2 => {
                    let end = (at + random.random_range(0..200)).min(text.len());
                    let copy = text[at..end].to_vec();
                    text.splice(at..at, copy);
                }
                _ => {
                    if let Some(byte) = text.get_mut(at) {
                        *byte = random.random();
                    }
                }
            }
        }
        // Tables are read through a drive that names them.
        let main = files[which].1.clone();
        run(&main, &files);
        let drive = files.iter().find(|f| f.0 == "table.model").unwrap().1.clone();
        run(&drive, &files);
    }
}
