//! The state of a volume's members.

use rangemap::RangeSet;
use std::ops::Range;

/// One member of a volume.
#[derive(Debug, Default)]
pub struct MemberState {
    /// The member is gone: it is neither read nor written.
    pub gone: bool,
    /// It is gone because it was taken out, and not because it failed.
    pub removed: bool,
    /// Blocks whose content is outdated or cannot be read.
    pub stale: RangeSet<u64>,
    /// Requests submitted to the member that have not ended.
    pub pending: u32,
    /// The block after the member's last completed request.
    pub head: u64,
    /// The block after the last read submitted to the member.
    pub next: u64,
    /// Set while the member waits for its last requests to end before it comes back: with its data (`false`)
    /// or as a new member (`true`).
    pub returns: Option<bool>,
}

/// All members.
#[derive(Debug)]
pub struct State {
    pub members: Vec<MemberState>,
    /// Members that are gone or have stale ranges, in ascending order.
    pub degraded: Vec<u32>,
}

impl State {
    pub fn new(members: usize) -> State {
        State { members: (0..members).map(|_| MemberState::default()).collect(), degraded: Vec::new() }
    }

    /// Whether all these blocks of a member are readable and up to date.
    #[inline]
    pub fn is_fresh(&self, member: u32, lba: u64, blocks: u64) -> bool {
        if self.degraded.is_empty() {
            return true;
        }
        let m = &self.members[member as usize];
        !m.gone && !m.stale.overlaps(&(lba..lba + blocks))
    }

    /// Members of which not all these blocks are readable and up to date.
    pub fn stale_in(&self, range: Range<u64>) -> impl Iterator<Item = u32> + Clone + '_ {
        let stale = move |m: &u32| !self.is_fresh(*m, range.start, range.end - range.start);
        self.degraded.iter().copied().filter(stale)
    }

    #[inline]
    pub fn is_gone(&self, member: u32) -> bool {
        self.members[member as usize].gone
    }

    /// Marks blocks of a member as stale.
    pub fn set_stale(&mut self, member: u32, range: Range<u64>) {
        if !range.is_empty() {
            self.members[member as usize].stale.insert(range);
            self.note(member);
        }
    }

    /// Marks blocks of a member as up to date.
    pub fn set_fresh(&mut self, member: u32, range: Range<u64>) {
        let m = &mut self.members[member as usize];
        if !range.is_empty() && !m.stale.is_empty() {
            m.stale.remove(range);
            self.note(member);
        }
    }

    /// Marks a member as gone or present.
    pub fn set_gone(&mut self, member: u32, gone: bool) {
        self.members[member as usize].gone = gone;
        self.note(member);
    }

    fn note(&mut self, member: u32) {
        let m = &self.members[member as usize];
        let degraded = m.gone || !m.stale.is_empty();
        match (self.degraded.binary_search(&member), degraded) {
            (Err(i), true) => self.degraded.insert(i, member),
            (Ok(i), false) => {
                self.degraded.remove(i);
            }
            _ => {}
        }
    }
}
