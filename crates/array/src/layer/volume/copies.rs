//! Placements with a fixed number of copies of every block: mirrors, stripes, and drives laid end to end.

use super::choice::{Choose, Copy};
use super::plan::{Content, Plan};
use super::state::State;
use super::{Placement, Repair};
use crate::layer::ErrorKind;
use crate::organisation::Joined;
use std::ops::Range;

/// Where the copies of a volume's blocks are.
pub(crate) trait CopyMap: Send {
    /// Size of the volume in 512-byte blocks.
    fn blocks(&self) -> u64;
    /// Number of copies of each block.
    fn copies(&self) -> u32;
    /// Place of copy `copy` of the volume's block `at`, and the end, in blocks of the volume, of the run that
    /// is contiguous there. The run is the same for all copies of a block.
    fn place(&self, at: u64, copy: u32) -> (Copy, u64);
    /// The volume's block that block `lba` of a member holds, if any, and the end of its run on the member.
    fn at(&self, member: u32, lba: u64) -> (Option<u64>, u64);
}

/// A space without redundancy: one copy of each block.
pub(crate) struct Single<J>(pub J);

impl<J: Joined> CopyMap for Single<J> {
    fn blocks(&self) -> u64 {
        self.0.blocks()
    }
    fn copies(&self) -> u32 {
        1
    }
    #[inline]
    fn place(&self, at: u64, _copy: u32) -> (Copy, u64) {
        let (member, lba, end) = self.0.place(at);
        (Copy { member, lba }, end)
    }
    fn at(&self, member: u32, lba: u64) -> (Option<u64>, u64) {
        (self.0.at(member, lba), lba + 1)
    }
}

/// Copies of which a policy chooses one to read; all are written.
pub(crate) struct Copies<M> {
    map: M,
    choose: Choose,
    turn: u64,
    candidates: Vec<Copy>,
}

impl<M: CopyMap> Copies<M> {
    pub fn new(map: M, choose: Choose) -> Copies<M> {
        Copies {
            map,
            choose,
            turn: 0,
            candidates: Vec::new(),
        }
    }

    /// Plans to read the first blocks of a run from one copy; returns how many blocks.
    fn read_run(
        &mut self,
        state: &State,
        at: u64,
        blocks: u64,
        plan: &mut Plan,
        content: Content,
    ) -> Result<u64, ErrorKind> {
        self.candidates.clear();
        // Considers the copies that can be read furthest without a stale block.
        let mut most = 0;
        for i in 0..self.map.copies() {
            let (copy, _) = self.map.place(at, i);
            let fresh = fresh_run(state, copy.member, copy.lba, blocks);
            if fresh > most {
                most = fresh;
                self.candidates.clear();
            }
            if fresh == most && fresh > 0 {
                self.candidates.push(copy);
            }
        }
        if self.candidates.is_empty() {
            return Err(ErrorKind::MemberLost);
        }
        let i = (self.choose)(&self.candidates, state, &mut self.turn);
        let copy = self.candidates[i.min(self.candidates.len() - 1)];
        plan.read(copy.member, copy.lba, most, content);
        Ok(most)
    }
}

/// How many of these blocks of a member can be read before the first that cannot.
fn fresh_run(state: &State, member: u32, lba: u64, blocks: u64) -> u64 {
    if state.is_fresh(member, lba, blocks) {
        return blocks;
    }
    let m = &state.members[member as usize];
    match m.gone {
        true => 0,
        false => {
            let stale = m.stale.overlapping(lba..lba + blocks).next();
            stale.map_or(blocks, |s| s.start.saturating_sub(lba))
        }
    }
}

impl<M: CopyMap> Placement for Copies<M> {
    fn blocks(&self) -> u64 {
        self.map.blocks()
    }

    fn is_redundant(&self) -> bool {
        self.map.copies() > 1
    }

    fn write_lock(&self, lba: u64, blocks: u64) -> Option<Range<u64>> {
        self.is_redundant().then(|| lba..lba + blocks)
    }

    fn read(
        &mut self,
        state: &State,
        lba: u64,
        blocks: u64,
        plan: &mut Plan,
    ) -> Result<(), ErrorKind> {
        let (mut at, end) = (lba, lba + blocks);
        while at < end {
            let (copy, run_end) = self.map.place(at, 0);
            let run = run_end.min(end) - at;
            at += if self.map.copies() == 1 {
                plan.read(copy.member, copy.lba, run, Content::Data);
                run
            } else {
                self.read_run(state, at, run, plan, Content::Data)?
            };
        }
        Ok(())
    }

    fn write(
        &mut self,
        state: &State,
        lba: u64,
        blocks: u64,
        plan: &mut Plan,
    ) -> Result<(), ErrorKind> {
        let (mut at, end) = (lba, lba + blocks);
        while at < end {
            let mut stop = end;
            let mut written = false;
            for i in 0..self.map.copies() {
                let (copy, run_end) = self.map.place(at, i);
                stop = stop.min(run_end);
                if state.is_gone(copy.member) && self.is_redundant() {
                    plan.unwritten
                        .push((copy.member, copy.lba..copy.lba + (stop - at)));
                } else {
                    plan.write(copy.member, copy.lba, stop - at, Content::Data);
                    written = true;
                }
            }
            if !written {
                return Err(ErrorKind::MemberLost);
            }
            at = stop;
        }
        Ok(())
    }

    fn is_held(&self, state: &State, member: u32, range: Range<u64>) -> bool {
        let mut lba = range.start;
        while lba < range.end {
            let (at, run_end) = self.map.at(member, lba);
            let end = run_end.min(range.end);
            let fresh = |at: u64| {
                (0..self.map.copies()).any(|i| {
                    let (copy, _) = self.map.place(at, i);
                    state.is_fresh(copy.member, copy.lba, end - lba)
                })
            };
            if !at.is_none_or(fresh) {
                return false;
            }
            lba = end;
        }
        true
    }

    fn repair(&mut self, state: &State, member: u32, range: Range<u64>, plan: &mut Plan) -> Repair {
        let (at, run_end) = self.map.at(member, range.start);
        let end = run_end.min(range.end);
        let Some(at) = at else {
            return Repair::Unused(range.start..end);
        };
        let here = range.start..end;
        match self.read_run(state, at, end - range.start, plan, Content::Old) {
            Err(_) => Repair::Impossible(here),
            Ok(blocks) => {
                plan.write(member, range.start, blocks, Content::Repair);
                plan.lock = Some(at..at + blocks);
                Repair::Planned(range.start..range.start + blocks)
            }
        }
    }
}
