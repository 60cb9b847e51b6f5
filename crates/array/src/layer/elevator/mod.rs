//! Elevators: in which order a host queue gives its requests to the layer below.
//!
//! # Contract
//! - Every request that was added is taken exactly once, or leaves by [`Elevator::absorb`].
//! - [`Elevator::take`] gives a request whenever one waits.
//! - Requests are named by slots; a slot is used again only after its request has ended.
//! - Same calls, same order.
//!
//! To add one: write `crates/array/src/layer/elevator/NAME.rs` with an `ENTRY`, add `NAME` to the list.

pub(crate) mod sorted;

use headstack_drive::spec::Params;
use headstack_engine::{did_you_mean, SpecError};
use headstack_units::Time;

/// A request that waits, as an elevator sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// Its name.
    pub slot: u32,
    /// Whether it writes.
    pub write: bool,
    /// First block.
    pub lba: u64,
    /// Number of blocks.
    pub blocks: u64,
}

/// An order of dispatch.
pub trait Elevator: Send {
    /// A request begins to wait at `now`.
    fn add(&mut self, now: Time, request: &Queued);
    /// The request that is dispatched at `now`, if one waits.
    fn take(&mut self, now: Time) -> Option<u32>;
    /// A request that waits has grown at its front; `request` says what it is now.
    fn resort(&mut self, request: &Queued);
    /// Request `gone` has become part of `survivor`, which keeps the better of both places in time.
    fn absorb(&mut self, survivor: u32, gone: u32);
    /// A request that was taken has ended.
    fn ended(&mut self, _slot: u32) {}
    /// Whether two requests that end with these blocks may be merged.
    fn may_join(&self, _last: u64, _other_last: u64) -> bool {
        true
    }
    /// Requests that wait.
    fn len(&self) -> usize;
    /// Whether none waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Which waiting requests a new one may be merged with: `None`: all that touch it; else these, the
    /// newest first.
    fn newest(&self) -> Option<Vec<u32>> {
        None
    }
}

/// What an elevator is built from.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Size of the unit that it serves, in 512-byte blocks.
    pub blocks: u64,
    /// Parameters, as the elevator's file documents.
    pub params: Params,
}

/// One entry of the registry.
pub struct Entry {
    /// The name in experiments.
    pub name: &'static str,
    /// One line for help texts.
    pub summary: &'static str,
    /// A parameter table that works, as TOML, for documentation and contract tests.
    pub example: &'static str,
    /// Makes it; unknown parameters are errors.
    pub build: fn(&Context) -> Result<Box<dyn Elevator>, SpecError>,
}

macro_rules! elevators {
    ($($file:ident),+ $(,)?) => {
        $(pub mod $file;)+
        /// Every elevator.
        pub const ENTRIES: &[Entry] = &[$($file::ENTRY),+];
    };
}
elevators! { none, deadline, mq_deadline, ranges }

/// Finds an elevator by name.
///
/// # Errors
/// Lists the names and the nearest one.
pub fn find(name: &str) -> Result<&'static Entry, SpecError> {
    ENTRIES.iter().find(|e| e.name == name).ok_or_else(|| {
        let names: Vec<&str> = ENTRIES.iter().map(|e| e.name).collect();
        let hint = did_you_mean(name, names.iter().copied());
        SpecError::new(
            "elevator",
            format!("{name:?}"),
            format!("one of {}{hint}", names.join(", ")),
        )
    })
}

#[cfg(test)]
mod tests;
