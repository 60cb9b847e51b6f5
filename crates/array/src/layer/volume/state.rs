//! What a volume knows of its members.

use rangemap::RangeSet;
use std::ops::Range;

/// One member of a volume.
#[derive(Debug, Default)]
pub(crate) struct MemberState {
    /// It is gone: nothing is read from it or written to it.
    pub gone: bool,
    /// What it holds there is not what was written last, or cannot be read.
    pub stale: RangeSet<u64>,
    /// Requests that it has and that have not ended.
    pub pending: u32,
    /// The block behind the last request that it was given.
    pub head: u64,
    /// It comes back when nothing is pending any more: with its data (false), or empty.
    pub returns: Option<bool>,
}

/// All members.
#[derive(Debug)]
pub(crate) struct State {
    pub members: Vec<MemberState>,
    /// Members that are gone or have stale ranges, in ascending order.
    pub troubled: Vec<u32>,
}

impl State {
    pub fn new(members: usize) -> State {
        State {
            members: (0..members).map(|_| MemberState::default()).collect(),
            troubled: Vec::new(),
        }
    }

    /// Whether what was written last to these blocks can be read from the member.
    #[inline]
    pub fn is_fresh(&self, member: u32, lba: u64, blocks: u64) -> bool {
        if self.troubled.is_empty() {
            return true;
        }
        let m = &self.members[member as usize];
        !m.gone && !m.stale.overlaps(&(lba..lba + blocks))
    }

    #[inline]
    pub fn is_gone(&self, member: u32) -> bool {
        self.members[member as usize].gone
    }

    /// These blocks of a member do not hold what was written last.
    pub fn set_stale(&mut self, member: u32, range: Range<u64>) {
        if !range.is_empty() {
            self.members[member as usize].stale.insert(range);
            self.note(member);
        }
    }

    /// These blocks of a member hold what was written last.
    pub fn set_fresh(&mut self, member: u32, range: Range<u64>) {
        let m = &mut self.members[member as usize];
        if !range.is_empty() && !m.stale.is_empty() {
            m.stale.remove(range);
            self.note(member);
        }
    }

    /// A member leaves or comes back.
    pub fn set_gone(&mut self, member: u32, gone: bool) {
        self.members[member as usize].gone = gone;
        self.note(member);
    }

    fn note(&mut self, member: u32) {
        let m = &self.members[member as usize];
        let trouble = m.gone || !m.stale.is_empty();
        match (self.troubled.binary_search(&member), trouble) {
            (Err(i), true) => self.troubled.insert(i, member),
            (Ok(i), false) => {
                self.troubled.remove(i);
            }
            _ => {}
        }
    }
}
