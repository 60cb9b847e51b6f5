//! Requests that touch each other become one.
//!
//! # Model
//! A new request joins a waiting one of the same operation: behind it, if that ends where it begins; else
//! before it, if that begins where it ends. The grown request is then tried against its neighbour there. The
//! whole is no longer than `max_request` and of no more parts than `max_segments` (each request that was
//! submitted counts as one).
//! # Source
//! Linux, `block/elevator.c`, `blk-merge.c`.

use std::collections::BTreeSet;

/// A run of blocks that waits, of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub slot: u32,
    pub write: bool,
    pub lba: u64,
    pub blocks: u64,
    /// Requests that it is made of.
    pub segments: u32,
    /// When it began to wait, as a number that only grows.
    pub order: u64,
}

impl Run {
    pub fn end(&self) -> u64 {
        self.lba + self.blocks
    }
}

/// Where waiting requests begin and end.
#[derive(Debug, Default)]
pub(crate) struct Edges {
    starts: BTreeSet<(bool, u64, u64, u32)>,
    ends: BTreeSet<(bool, u64, u64, u32)>,
}

impl Edges {
    pub fn add(&mut self, run: &Run) {
        self.starts
            .insert((run.write, run.lba, run.order, run.slot));
        self.ends
            .insert((run.write, run.end(), run.order, run.slot));
    }

    pub fn remove(&mut self, run: &Run) {
        self.starts
            .remove(&(run.write, run.lba, run.order, run.slot));
        self.ends
            .remove(&(run.write, run.end(), run.order, run.slot));
    }

    /// The newest that ends at a block.
    pub fn ending_at(&self, write: bool, block: u64) -> Option<u32> {
        newest(&self.ends, write, block)
    }

    /// The newest that begins at a block.
    pub fn starting_at(&self, write: bool, block: u64) -> Option<u32> {
        newest(&self.starts, write, block)
    }
}

fn newest(set: &BTreeSet<(bool, u64, u64, u32)>, write: bool, block: u64) -> Option<u32> {
    let here = (write, block, 0, 0)..=(write, block, u64::MAX, u32::MAX);
    set.range(here).next_back().map(|e| e.3)
}

/// What may become one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Nothing is merged.
    pub never: bool,
    /// New requests are joined before waiting ones, too.
    pub front: bool,
    pub blocks: u64,
    pub segments: u32,
}

impl Limits {
    pub fn allow(&self, a: &Run, b: &Run) -> bool {
        !self.never
            && a.write == b.write
            && a.blocks + b.blocks <= self.blocks
            && a.segments + b.segments <= self.segments
    }
}
