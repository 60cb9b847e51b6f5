//! The first byte selects the format and options, the rest is the trace.
//! `cargo +nightly fuzz run trace_reader`; CI replays the corpus without it
//! (`crates/trace/tests/it/fuzz_corpus.rs`).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| headstack_trace::fuzzing::read_hostile(data));
