//! What tests of several crates share. A dev-dependency only: nothing that is built for use imports it.
//!
//! Unit tests of the crate `drive` may use what has none of that crate's types: for them the crate is
//! compiled a second time, and its types are others.

// A test that cannot have what it asks for fails.
#![allow(clippy::expect_used, clippy::panic)]

pub mod commands;
pub mod disk;
pub mod memory;
pub mod noise;
pub mod shipped;

pub use noise::{Lcg, SplitMix, XorShift};
