//! What a drive's buffer holds.

pub(crate) mod dirty;
#[cfg(test)]
mod dirty_tests;
