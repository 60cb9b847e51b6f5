//! What a request becomes on the members, as data: a test with real contents carries it out.

use headstack_drive::Command;
use std::ops::Range;

/// What a request of a volume has to do with the blocks of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Content {
    /// Blocks of the volume: those that the request reads; or those that it writes, where it does not reach
    /// what was read before.
    Data,
    /// Blocks that are read to work out others.
    Old,
    /// Parity from the old parity, and from what is written and what was there before.
    ReadModifyWrite,
    /// Parity from all data of the row: what is written, and what was read.
    ReconstructWrite,
    /// As [`Content::ReconstructWrite`]; the old data of a member that is not readable are the exclusive or of
    /// all other members.
    RebuildAndWrite,
    /// What the other members say should be there.
    Repair,
}

/// A run of blocks of one member with one kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The member.
    pub member: u32,
    /// First block on the member.
    pub lba: u64,
    /// Number of blocks.
    pub blocks: u32,
    /// What the blocks are.
    pub content: Content,
}

/// One request to one member: pieces that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// The member.
    pub member: u32,
    /// First block on the member.
    pub lba: u64,
    /// Number of blocks.
    pub blocks: u32,
}

/// One step of a plan, told when it is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The volume's request; `None` for a rebuild.
    pub request: Option<u64>,
    /// A number that all steps of one request or rebuild share while it is under way.
    pub operation: u32,
    /// The name under which the member gets it.
    pub id: u64,
    /// What the member is asked.
    pub command: Command,
    /// Where.
    pub io: Io,
    /// What its blocks are.
    pub pieces: Vec<Piece>,
}

/// Reads and writes of members, in ascending order for each member.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    pub ios: Vec<Io>,
    /// Filled only where somebody listens.
    pub pieces: Vec<Piece>,
    /// Of each member its last one in `ios`, and one; valid if that is its own.
    last: Vec<u32>,
}

impl Transfers {
    pub fn clear(&mut self) {
        self.ios.clear();
        self.pieces.clear();
    }

    /// Adds a run of blocks; what overlaps or follows the member's last one is joined to it.
    pub fn push(&mut self, listening: bool, piece: Piece) {
        let m = piece.member as usize;
        if listening {
            self.pieces.push(piece);
        }
        if m >= self.last.len() {
            self.last.resize(m + 1, 0);
        }
        let (from, to) = (piece.lba, piece.lba + u64::from(piece.blocks));
        if let Some(io) = self.ios.get_mut(self.last[m] as usize) {
            let end = io.lba + u64::from(io.blocks);
            if io.member == piece.member && from >= io.lba && from <= end {
                io.blocks = (to.max(end) - io.lba) as u32;
                return;
            }
        }
        self.last[m] = self.ios.len() as u32;
        self.ios.push(Io {
            member: piece.member,
            lba: piece.lba,
            blocks: piece.blocks,
        });
    }
}

/// What one request becomes; kept and reused.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Somebody wants to know the pieces.
    pub listening: bool,
    /// First these are read,
    pub reads: Transfers,
    /// then these are written.
    pub writes: Transfers,
    /// What should be written and cannot be.
    pub unwritten: Vec<(u32, Range<u64>)>,
    /// The reads work out blocks that no member can give: nothing may be written there meanwhile.
    pub lock: Option<Range<u64>>,
    /// Rows whose parity was updated by each way, for statistics.
    pub read_modify_writes: u64,
    /// See `read_modify_writes`.
    pub reconstruct_writes: u64,
}

impl Plan {
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.unwritten.clear();
        self.lock = None;
        self.read_modify_writes = 0;
        self.reconstruct_writes = 0;
    }

    pub fn read(&mut self, member: u32, lba: u64, blocks: u64, content: Content) {
        let piece = Piece {
            member,
            lba,
            blocks: blocks as u32,
            content,
        };
        self.reads.push(self.listening, piece);
    }

    pub fn write(&mut self, member: u32, lba: u64, blocks: u64, content: Content) {
        let piece = Piece {
            member,
            lba,
            blocks: blocks as u32,
            content,
        };
        self.writes.push(self.listening, piece);
    }
}
