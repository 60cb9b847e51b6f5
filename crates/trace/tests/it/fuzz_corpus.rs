//! Replays the fuzzer's corpus, and the corpus with seeded random damage, on any toolchain.

use headstack_engine::random::stream;
use headstack_trace::{formats, fuzzing::read_hostile};
use rand::Rng;
use std::time::{Duration, Instant};

const SEED: u64 = 20_240_601;
const ROUNDS: usize = 300;
const SLOW: Duration = Duration::from_secs(5);

fn corpus() -> Vec<Vec<u8>> {
    let formats = formats();
    let examples = formats.iter().enumerate().map(|(i, format)| {
        let mut bytes = vec![i as u8];
        bytes.extend((format.example)());
        bytes
    });
    let mut all: Vec<Vec<u8>> = examples.collect();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/trace_reader");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus is part of the repository")
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    all.extend(files.iter().map(|file| std::fs::read(file).unwrap()));
    all
}

#[test]
fn no_reader_breaks_its_contract_on_damaged_traces() {
    let seed = std::env::var("HEADSTACK_FUZZ_SEED").map_or(SEED, |s| s.parse().unwrap());
    println!("seed {seed} (HEADSTACK_FUZZ_SEED)");
    let mut random = stream(seed, "fuzz");
    for (number, original) in corpus().iter().enumerate() {
        for round in 0..ROUNDS {
            let mut bytes = original.clone();
            // Round 0 replays it without damage.
            for _ in 0..round.min(1 + round % 8) {
                let at = random.random_range(0..bytes.len());
                match random.random_range(0..6) {
                    0 => bytes[at] = random.random(),
                    1 => bytes[at] ^= 1 << random.random_range(0..8),
                    2 => bytes.truncate(at.max(1)),
                    3 => bytes.insert(at, *b",. \n-9Rw"[..].get(random.random_range(0..8)).unwrap()),
                    4 => {
                        let end = (at + 8).min(bytes.len());
                        bytes[at..end].fill(0xff);
                    }
                    _ => {
                        let part = bytes[at..].to_vec();
                        bytes.extend(part);
                        bytes.truncate(1 << 16);
                    }
                }
            }
            let begun = Instant::now();
            let result = std::panic::catch_unwind(|| read_hostile(&bytes));
            assert!(result.is_ok(), "seed {seed}, input {number}, round {round}: {bytes:?}");
            assert!(begun.elapsed() < SLOW, "seed {seed}, input {number}, round {round}: too slow");
        }
    }
}
