//! The requests to members that carry out a request to the volume, as data. A test executes plans on members
//! with real contents.

use headstack_drive::Command;
use std::ops::Range;

/// What the blocks of a piece are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Content {
    /// Blocks of the volume that the request reads or writes. Where a written unit is covered in part, the
    /// rest of it is what was read before.
    Data,
    /// Blocks that are read to compute others.
    Old,
    /// Parity, computed from the old parity, the old data and the new data.
    ReadModifyWrite,
    /// Parity, computed from all data of the row.
    ReconstructWrite,
    /// As [`Content::ReconstructWrite`]; the old data of the unreadable member are the exclusive or of all
    /// other members.
    RebuildAndWrite,
    /// What a stale range should hold, computed from the other members.
    Repair,
}

/// A run of blocks of one member with the same kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The member.
    pub member: u32,
    /// First 512-byte block on the member.
    pub lba: u64,
    /// Number of 512-byte blocks.
    pub blocks: u32,
    /// What the blocks hold.
    pub content: Content,
}

impl Piece {
    /// So many blocks of a member.
    pub fn new(member: u32, lba: u64, blocks: u64, content: Content) -> Piece {
        Piece { member, lba, blocks: blocks as u32, content }
    }
}

/// One request to one member. Its blocks may belong to several pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io {
    /// The member.
    pub member: u32,
    /// First 512-byte block on the member.
    pub lba: u64,
    /// Number of 512-byte blocks.
    pub blocks: u32,
}

/// One step of a plan, reported when its request is submitted to the member.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Number of the volume's request; `None` for a rebuild, and for rows that writes have joined.
    pub request: Option<u64>,
    /// Rows of the member that writes have joined: which requests' blocks are written in them now.
    pub writers: Vec<(Range<u64>, u64)>,
    /// A number that all steps of one request or rebuild share while it is in progress.
    pub operation: u32,
    /// Number of the request to the member.
    pub id: u64,
    /// The command to the member.
    pub command: Command,
    /// The member and the blocks.
    pub io: Io,
    /// What the blocks hold.
    pub pieces: Vec<Piece>,
}

/// Requests to members, in ascending order of address for each member.
#[derive(Debug, Default)]
pub struct Transfers {
    /// The requests.
    pub ios: Vec<Io>,
    /// Filled only if there is a listener.
    pub pieces: Vec<Piece>,
    /// For each member, the index in `ios` of its last request; valid only if that request is the member's.
    last: Vec<u32>,
}

impl Transfers {
    /// Takes all away, but keeps the memory.
    pub fn clear(&mut self) {
        self.ios.clear();
        self.pieces.clear();
    }

    /// Adds a run of blocks. If it overlaps or follows the member's last request, that request is extended.
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
        self.ios.push(Io { member: piece.member, lba: piece.lba, blocks: piece.blocks });
    }
}

/// The plan of one request; kept for reuse.
#[derive(Debug, Default)]
pub struct Plan {
    /// Whether a listener needs the pieces.
    pub listening: bool,
    /// Requests to members that read.
    pub reads: Transfers,
    /// Requests to members that write, after all reads.
    pub writes: Transfers,
    /// Ranges of members that should be written but cannot be.
    pub unwritten: Vec<(u32, Range<u64>)>,
    /// The range to lock while blocks are reconstructed: nothing may be written there meanwhile.
    pub lock: Option<Range<u64>>,
    /// Number of rows whose parity is updated by read-modify-write.
    pub read_modify_writes: u64,
    /// Number of rows whose parity is updated by reconstruct-write.
    pub reconstruct_writes: u64,
}

impl Plan {
    /// Takes all away, but keeps the memory.
    pub fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.unwritten.clear();
        self.lock = None;
        self.read_modify_writes = 0;
        self.reconstruct_writes = 0;
    }

    /// Locks this range, too, and what lies between it and what is locked already.
    pub fn lock_also(&mut self, range: Range<u64>) {
        let lock = self.lock.get_or_insert(range.clone());
        lock.start = lock.start.min(range.start);
        lock.end = lock.end.max(range.end);
    }

    /// Reads blocks of a member.
    pub fn read(&mut self, member: u32, lba: u64, blocks: u64, content: Content) {
        self.read_piece(Piece::new(member, lba, blocks, content));
    }

    /// Reads a piece.
    pub fn read_piece(&mut self, piece: Piece) {
        self.reads.push(self.listening, piece);
    }

    /// Writes blocks of a member.
    pub fn write(&mut self, member: u32, lba: u64, blocks: u64, content: Content) {
        let piece = Piece::new(member, lba, blocks, content);
        self.writes.push(self.listening, piece);
    }
}
