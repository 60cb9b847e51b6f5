//! Room for the data of writes that are under way, of all sessions together, in bytes.
//!
//! # Model
//! Room is given as data come: each request for data (R2T) gets room for what it asks for. Every session has a
//! [share](share_of_writes) of a common part, so none can take all of it. A write that its share does not hold takes the other part, which has
//! room for the longest write, so one of those always goes on; the others wait for it.

use crate::clients::{share_of_writes, ALL_WRITTEN};
use crate::iscsi::shelf::Owner;
use headstack_scsi::{BLOCK, MOST_BLOCKS};

/// Bytes of the part that one write has.
const WHOLE: usize = MOST_BLOCKS as usize * BLOCK as usize;
/// Bytes of data at most.
pub const MOST_BUFFERED: usize = ALL_WRITTEN + WHOLE;
/// Less than this is not asked for, unless less is left.
pub const LEAST_BURST: usize = 8 << 10;

/// The room.
#[derive(Debug, Default)]
pub struct Room {
    /// Sessions and those that may become some.
    pub sessions: usize,
    /// Somebody had to wait since this was last set.
    pub is_short: bool,
    taken: usize,
    whole: Option<Owner>,
}

impl Room {
    /// Gives room for `wanted` bytes or for fewer to a session that has `held` already; 0 if there is too little.
    pub fn take(&mut self, held: &mut usize, wanted: usize) -> usize {
        let left = share_of_writes(self.sessions, self.taken - *held).saturating_sub(*held);
        // Parts are whole blocks.
        let given = if wanted <= left { wanted } else { left - left % BLOCK as usize };
        if given < wanted.min(LEAST_BURST) {
            return 0;
        }
        *held += given;
        self.taken += given;
        given
    }

    /// Gives the other part to a write; false if another one has it.
    pub fn take_whole(&mut self, owner: Owner) -> bool {
        *self.whole.get_or_insert(owner) == owner
    }

    /// What a write has taken is free again.
    pub fn free(&mut self, owner: Owner, held: &mut usize, bytes: usize) {
        *held -= bytes;
        self.taken -= bytes;
        self.whole = self.whole.filter(|o| *o != owner);
    }

    /// Bytes that are taken, of which a write in the other part counts all.
    pub fn bytes(&self) -> usize {
        self.taken + self.whole.map_or(0, |_| WHOLE)
    }
}
