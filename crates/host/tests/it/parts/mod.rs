//! Tests of single parts of the crate.

mod burst;
mod meter;
mod stat;
mod watched;
