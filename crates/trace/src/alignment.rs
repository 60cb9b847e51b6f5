//! How requests lie in sectors of 4 KiB.

use crate::request::{Command, Request};

/// Blocks of 512 bytes in a sector of 4 KiB.
pub const SECTOR_BLOCKS: u64 = 8;

/// Counts of requests by their place in sectors of 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Alignment {
    /// Reads and writes by their first block, modulo [`SECTOR_BLOCKS`].
    pub offsets: [u64; SECTOR_BLOCKS as usize],
    pub writes: u64,
    /// Writes that do not cover whole sectors.
    pub partial_writes: u64,
    /// Writes without forced unit access.
    pub plain_writes: u64,
}

impl Alignment {
    /// Counts a request.
    #[inline]
    pub fn add(&mut self, r: &Request) {
        let place = r.lba.0 % SECTOR_BLOCKS;
        let partial = (r.lba.0 | u64::from(r.blocks)) % SECTOR_BLOCKS != 0;
        let writes = r.op.writes();
        self.offsets[place as usize] += u64::from(r.op != Command::Flush);
        self.writes += u64::from(writes);
        self.partial_writes += u64::from(writes && partial);
        self.plain_writes += u64::from(r.op == Command::Write);
    }

    /// Counts many requests. If all of them cover whole sectors, which is the usual case, only operations are counted.
    pub fn add_all(&mut self, requests: &[Request]) {
        let (mut bits, mut by_operation) = (0, [0u64; 5]);
        for r in requests {
            bits |= r.lba.0 | u64::from(r.blocks);
            by_operation[r.op as usize] += 1;
        }
        if bits % SECTOR_BLOCKS != 0 {
            return requests.iter().for_each(|r| self.add(r));
        }
        let of = |op: Command| by_operation[op as usize];
        self.offsets[0] += requests.len() as u64 - of(Command::Flush);
        self.writes += of(Command::Write) + of(Command::WriteThrough);
        self.plain_writes += of(Command::Write);
    }

    /// Adds the counts of other requests.
    pub fn absorb(&mut self, other: &Alignment) {
        for (sum, more) in self.offsets.iter_mut().zip(other.offsets) {
            *sum += more;
        }
        self.writes += other.writes;
        self.partial_writes += other.partial_writes;
        self.plain_writes += other.plain_writes;
    }

    /// The offset from the beginnings of sectors, in blocks, that more than half of the reads and writes share,
    /// and their share; `None` if there is none, or if it is 0.
    pub fn shared_offset(&self) -> Option<(u64, f64)> {
        let all: u64 = self.offsets.iter().sum();
        let (offset, most) = (0..SECTOR_BLOCKS).zip(self.offsets).max_by_key(|&(_, n)| n)?;
        (offset != 0 && 2 * most > all).then(|| (offset, most as f64 / all as f64))
    }
}
