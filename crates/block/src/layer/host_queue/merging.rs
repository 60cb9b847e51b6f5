//! Merging of requests whose blocks are contiguous.
//!
//! # Model
//! A new request is merged with a waiting one of the same operation and priority that ends where it begins (back merge),
//! otherwise with one that begins where it ends (front merge). The merged request is then tried against its
//! new neighbour on that side. A merged request is at most `max_request` long and has at most `max_segments`
//! parts; each submitted request counts as one.
//! # Source
//! Linux, `block/elevator.c`, `blk-merge.c`.

use crate::layer::elevator::Queued;
use std::collections::BTreeSet;

/// The waiting requests by their first block, and by the block after their last. Where nothing is merged they are
/// not kept.
#[derive(Debug)]
pub(crate) struct Edges {
    kept: bool,
    starts: BTreeSet<(bool, u64, u64, u32)>,
    ends: BTreeSet<(bool, u64, u64, u32)>,
}

impl Edges {
    pub fn new(limits: &Limits) -> Edges {
        Edges { kept: !limits.never, starts: BTreeSet::new(), ends: BTreeSet::new() }
    }

    pub fn add(&mut self, run: &Queued) {
        if !self.kept {
            return;
        }
        self.starts.insert((run.write, run.lba, run.order, run.slot));
        self.ends.insert((run.write, run.end(), run.order, run.slot));
    }

    pub fn remove(&mut self, run: &Queued) {
        if !self.kept {
            return;
        }
        self.starts.remove(&(run.write, run.lba, run.order, run.slot));
        self.ends.remove(&(run.write, run.end(), run.order, run.slot));
    }

    /// The newest waiting request that ends before `block`.
    pub fn ending_at(&self, write: bool, block: u64) -> Option<u32> {
        newest(&self.ends, write, block)
    }

    /// The newest waiting request that begins at `block`.
    pub fn starting_at(&self, write: bool, block: u64) -> Option<u32> {
        newest(&self.starts, write, block)
    }
}

fn newest(set: &BTreeSet<(bool, u64, u64, u32)>, write: bool, block: u64) -> Option<u32> {
    let here = (write, block, 0, 0)..=(write, block, u64::MAX, u32::MAX);
    set.range(here).next_back().map(|e| e.3)
}

/// What may be merged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Nothing is merged.
    pub never: bool,
    /// Front merges are allowed.
    pub front: bool,
    pub blocks: u64,
    pub segments: u32,
}

impl Limits {
    pub fn allow(&self, a: &Queued, b: &Queued) -> bool {
        !self.never
            && a.write == b.write
            && a.hint == b.hint
            && a.blocks + b.blocks <= self.blocks
            && a.segments + b.segments <= self.segments
    }
}
