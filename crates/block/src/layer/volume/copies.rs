//! Placements with a fixed number of copies of every block: mirrors, stripes, and drives laid end to end.

use super::choice::{Copy, ReadPolicy};
use super::plan::{Content, Plan};
use super::state::State;
use super::{Placement, Repair, Volume};
use crate::layer::{ErrorKind, Layer};
use std::ops::Range;

/// Where the copies of a volume's blocks are.
pub trait CopyMap: Send {
    /// Size of the volume in 512-byte blocks.
    fn blocks(&self) -> u64;
    /// Number of copies of each block.
    fn copies(&self) -> u32;
    /// Place of copy `copy` of the volume's block `at`, and the end, in blocks of the volume, of the run that
    /// is contiguous there. The run is the same for all copies of a block.
    fn place(&self, at: u64, copy: u32) -> (Copy, u64);
    /// The volume's block that block `lba` of a member holds, if any, and the end of its run on the member.
    fn at(&self, member: u32, lba: u64) -> (Option<u64>, u64);
    /// How the places of copies repeat from block `lba` of a member on.
    fn pattern(&self, lba: u64) -> Pattern;
}

/// Copies of a block and of the block `period` later on a member lie on the same members, those of the second block
/// also `period` later. This holds up to block `end` of the member.
pub struct Pattern {
    pub period: u64,
    pub end: u64,
}

/// Members joined into one linear space of 512-byte blocks.
pub(crate) trait Joined: Send + Sync {
    /// Size of the space in blocks.
    fn blocks(&self) -> u64;
    /// Number of members.
    fn members(&self) -> u32;
    /// The member and block of block `at` of the space, and the end, in the space, of the run that is
    /// contiguous on that member.
    fn place(&self, at: u64) -> (u32, u64, u64);
    /// The block of the space that a member's block holds; `None` for unused space.
    fn at(&self, member: u32, lba: u64) -> Option<u64>;
}

/// A space without redundancy: one copy of each block.
struct Single<J>(J);

/// A volume without redundancy over members of these sizes, joined into one space.
pub(crate) fn single(name: &'static str, space: impl Joined + 'static, sizes: Vec<u64>) -> Box<dyn Layer> {
    let copies = Copies::new(Single(space), ReadPolicy::First);
    Box::new(Volume::new(name, Box::new(copies), sizes))
}

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
    fn pattern(&self, lba: u64) -> Pattern {
        // There are no other copies.
        Pattern { period: 1, end: lba + 1 }
    }
}

/// Copies of which a policy chooses one to read; all are written.
pub struct Copies<M> {
    map: M,
    policy: ReadPolicy,
    turn: u64,
    candidates: Vec<Copy>,
}

impl<M: CopyMap> Copies<M> {
    pub fn new(map: M, policy: ReadPolicy) -> Copies<M> {
        Copies { map, policy, turn: 0, candidates: Vec::new() }
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
        let i = self.policy.choose(&self.candidates, state, &mut self.turn);
        let copy = self.candidates[i.min(self.candidates.len() - 1)];
        plan.read(copy.member, copy.lba, most, content);
        Ok(most)
    }
}

impl<M: CopyMap> Copies<M> {
    /// The block of a member up to which no copy can be read, from the beginning of a range whose first block has none.
    fn lost_until(&self, state: &State, member: u32, range: &Range<u64>) -> u64 {
        let pattern = self.map.pattern(range.start);
        let mut until = range.end.min(pattern.end);
        let mut lba = range.start;
        // One period has all the members that hold copies. From each place on, the stale range of such a member says
        // how far at least nothing can be read.
        while lba < until && lba - range.start < pattern.period {
            let (at, run_end) = self.map.at(member, lba);
            let Some(at) = at else { return lba };
            for i in 0..self.map.copies() {
                let (copy, _) = self.map.place(at, i);
                if let Some(fresh) = next_fresh(state, copy.member, copy.lba) {
                    until = until.min(lba + (fresh - copy.lba));
                }
            }
            lba = run_end;
        }
        until
    }
}

/// The first block of a member from `lba` on that can be read; `None` if the member is gone.
fn next_fresh(state: &State, member: u32, lba: u64) -> Option<u64> {
    let m = &state.members[member as usize];
    let stale = m.stale.get(&lba);
    (!m.gone).then(|| stale.map_or(lba, |range| range.end))
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

    fn read(&mut self, state: &State, lba: u64, blocks: u64, plan: &mut Plan) -> Result<(), ErrorKind> {
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

    fn write(&mut self, state: &State, lba: u64, blocks: u64, plan: &mut Plan) -> Result<(), ErrorKind> {
        let (mut at, end) = (lba, lba + blocks);
        while at < end {
            let mut stop = end;
            let mut written = false;
            for i in 0..self.map.copies() {
                let (copy, run_end) = self.map.place(at, i);
                stop = stop.min(run_end);
                if state.is_gone(copy.member) && self.is_redundant() {
                    plan.unwritten.push((copy.member, copy.lba..copy.lba + (stop - at)));
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

    fn repair(&mut self, state: &State, member: u32, range: Range<u64>, window: u64, plan: &mut Plan) -> Repair {
        let (at, run_end) = self.map.at(member, range.start);
        let Some(at) = at else { return Repair::Unused(range.start..run_end.min(range.end)) };
        let end = run_end.min(range.end).min(range.start + window);
        match self.read_run(state, at, end - range.start, plan, Content::Old) {
            Err(_) => Repair::Impossible(range.start..self.lost_until(state, member, &range)),
            Ok(blocks) => {
                plan.write(member, range.start, blocks, Content::Repair);
                plan.lock_also(at..at + blocks);
                Repair::Planned(range.start..range.start + blocks)
            }
        }
    }
}
