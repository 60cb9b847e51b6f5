//! Tests of single parts of the crate.

mod address;
mod session;
