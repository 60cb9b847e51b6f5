//! Helpers for the tests of several crates. Used as a dev-dependency only.

// A test whose preparation fails must fail.
#![allow(clippy::expect_used, clippy::panic)]

mod alone;
pub mod checks;
pub mod commands;
pub mod damage;
pub mod disk;
pub mod iscsi;
pub mod memory;
pub mod nbd;
pub mod noise;
pub mod plugins;
pub mod rig;
pub mod shipped;
mod smaller;
mod takes;
pub mod world;

pub use alone::alone;
pub use noise::{Lcg, SplitMix, XorShift};
pub use smaller::smaller;
pub use takes::Takes;

/// The number of seeds or cases of a test: `usual` times `HEADSTACK_THOROUGH`, which is 1 unless set, but at least one.
pub fn cases(usual: u64) -> u64 {
    let factor = of_environment("HEADSTACK_THOROUGH").unwrap_or(1);
    usual.saturating_mul(factor).max(1)
}

/// The first seed of a random test: `HEADSTACK_SEED`, or `usual`.
pub fn first_seed(usual: u64) -> u64 {
    of_environment("HEADSTACK_SEED").unwrap_or(usual)
}

fn of_environment(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name}: got {text:?}, need a whole number, 0 or more")))
}
