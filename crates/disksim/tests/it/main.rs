//! Tests of the crate from outside, in one program: many would take longer to link than to run.

mod ablation;
mod experiment;
mod fuzz_corpus;
mod measured;
mod open_load;
mod parts;
mod real_drives;
mod shared_drives;
mod small_files;
mod sources;
