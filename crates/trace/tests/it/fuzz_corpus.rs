//! Replays the fuzzer's corpus, and the corpus with seeded random damage, on any toolchain.

use headstack_testkit::{damage, first_seed, XorShift};
use headstack_trace::{fuzzing::read_hostile, reader::PLUGINS};
use std::time::{Duration, Instant};

const SEED: u64 = 20_240_601;
const ROUNDS: usize = 300;
const SLOW: Duration = Duration::from_secs(5);

fn corpus() -> Vec<Vec<u8>> {
    let examples = PLUGINS.iter().enumerate().map(|(i, format)| {
        let mut bytes = vec![i as u8];
        bytes.extend((format.facts.sample)());
        bytes
    });
    examples.chain(damage::corpus("trace_reader").into_iter().map(|file| file.1)).collect()
}

#[test]
fn no_reader_breaks_its_contract_on_damaged_traces() {
    let seed = first_seed(SEED);
    println!("seed {seed}");
    let mut rng = XorShift::seeded(seed);
    let pieces = [b",", b".", b" ", b"\n", b"-", b"9", b"R", b"w"].map(|piece| &piece[..]);
    for (number, original) in corpus().iter().enumerate() {
        for round in 0..ROUNDS {
            let mut bytes = original.clone();
            // Round 0 replays it without damage.
            (0..round.min(1 + round % 3)).for_each(|_| damage::damage(&mut bytes, 8, &pieces, &mut rng));
            let begun = Instant::now();
            let result = std::panic::catch_unwind(|| read_hostile(&bytes));
            assert!(result.is_ok(), "seed {seed}, input {number}, round {round}: {bytes:?}");
            assert!(begun.elapsed() < SLOW, "seed {seed}, input {number}, round {round}: too slow");
        }
    }
}
