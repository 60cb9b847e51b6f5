//! Helpers for the tests of several crates. Used as a dev-dependency only.
//!
//! Unit tests of the crate `drive` can only use helpers without that crate's types. For those tests the crate
//! is compiled a second time, and its types differ from the ones used here.

// A test whose preparation fails must fail.
#![allow(clippy::expect_used, clippy::panic)]

pub mod commands;
pub mod disk;
pub mod memory;
pub mod noise;
pub mod plugins;
pub mod shipped;

pub use noise::{Lcg, SplitMix, XorShift};
