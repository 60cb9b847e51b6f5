//! Tests of single parts of the crate.

mod limits;
mod sense;
mod tasks;
