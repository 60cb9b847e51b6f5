//! How requests lie in sectors of 4 KiB.

use crate::request::{Command, Request};

/// Blocks of 512 bytes in a sector of 4 KiB.
pub const SECTOR_BLOCKS: u64 = 8;

/// Counts of requests by their place in sectors of 4 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Alignment {
    /// Reads and writes by their first block, modulo [`SECTOR_BLOCKS`].
    pub offsets: [u64; SECTOR_BLOCKS as usize],
    /// Writes.
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

#[cfg(test)]
mod tests {
    use super::*;
    use headstack_testkit::XorShift;
    use headstack_units::Lba;

    fn of(requests: &[(u64, u32, Command)]) -> Alignment {
        let mut found = Alignment::default();
        for &(lba, blocks, op) in requests {
            found.add(&Request { lba: Lba(lba), blocks, op, ..Request::default() });
        }
        found
    }

    #[test]
    fn counts_by_hand() {
        use Command::{Flush, Read, Write, WriteThrough};
        let found =
            of(&[(63, 8, Write), (71, 8, Read), (64, 8, WriteThrough), (64, 4, Write), (7, 1, Read), (0, 0, Flush)]);
        assert_eq!(found.offsets, [2, 0, 0, 0, 0, 0, 0, 3]);
        let mut parts = of(&[(63, 8, Write), (71, 8, Read), (64, 8, WriteThrough)]);
        parts.absorb(&of(&[(64, 4, Write), (7, 1, Read), (0, 0, Flush)]));
        assert_eq!(parts, found);
        assert_eq!((found.writes, found.partial_writes, found.plain_writes), (3, 2, 2));
        assert_eq!(found.shared_offset(), Some((7, 0.6)));
    }

    /// Many at a time and one by one, of batches with and without requests that cover sectors in part.
    #[test]
    fn counts_many_as_one_by_one() {
        let ops = [Command::Read, Command::Write, Command::WriteThrough, Command::Flush];
        let mut noise = XorShift::default();
        for round in 0..200 {
            let batch: Vec<Request> = (0..round % 40)
                .map(|_| {
                    let x = noise.draw();
                    let odd = u64::from(round % 2 == 0 && x % 16 == 0);
                    Request {
                        lba: Lba((x >> 30) / 8 * 8 + odd * (x >> 20 & 7)),
                        blocks: 8 * (x >> 50 & 3) as u32 + (odd * (x >> 25 & 7)) as u32,
                        op: ops[(x >> 40 & 3) as usize],
                        ..Request::default()
                    }
                })
                .collect();
            let (mut many, mut each) = (Alignment::default(), Alignment::default());
            many.add_all(&batch);
            batch.iter().for_each(|r| each.add(r));
            assert_eq!(many, each, "round {round}");
        }
    }

    #[test]
    fn half_of_the_requests_share_no_offset() {
        let read = |lba| (lba, 8, Command::Read);
        assert_eq!(of(&[read(7), read(8)]).shared_offset(), None);
        assert_eq!(of(&[read(7), read(15), read(8)]).shared_offset(), Some((7, 2.0 / 3.0)));
        assert_eq!(of(&[read(16), read(8)]).shared_offset(), None);
        assert_eq!(of(&[]).shared_offset(), None);
    }
}
