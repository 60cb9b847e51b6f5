//! Tests of the crate from outside, in one program: many would take longer to link than to run.
//! What changes or measures the whole process stands beside this folder.

mod compressed;
mod fuzz_corpus;
mod parts;
mod real_traces;
