//! Positions of the waiting commands, in columns that a positional scheduler scans.
//!
//! # Model
//! The commands are divided into chunks ([`Chunk`]) of at most 64. A chunk is not sorted, but the chunks are
//! in order of cylinder and angle, like the leaves of a B+ tree; its inner level is one sorted list. A short
//! queue is one chunk. The commands near an arm are in one or two chunks.

use super::Link;
use headstack_units::{Time, Turn};

/// Most commands in a chunk.
pub const CHUNK: usize = 64;

/// Angles are stored in units of 2^-11 turn, rounded down. Bounds of positioning times then fit 16 bits.
pub const ANGLE_BITS: u32 = 11;

/// What marks a write in [`Chunk::angle`]: a bit that no angle has.
pub const WRITE: u16 = 1 << 15;

/// The cylinder of a row that holds no command: farther from every arm than any cylinder.
pub const VACANT: u32 = i32::MAX as u32;

/// Times of arrival are stored in units of 2^12 ns, rounded down, modulo 2^32.
pub const SINCE_BITS: u32 = 12;

/// A chunk with at most this many commands is merged with a neighbour.
const FEW: usize = CHUNK / 4;

/// Commands of neighbouring cylinders, with one column for each property. Rows from `len` on are `VACANT`; their
/// other entries have no meaning.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// Number of commands.
    pub len: usize,
    /// Cylinder of the first sector; `VACANT` from `len` on.
    pub cylinder: [u32; CHUNK],
    /// Angle of the first sector, in units of 2^-11 turn; for a write the bit [`WRITE`] is set besides.
    pub angle: [u16; CHUNK],
    /// When the command arrived, in units of 2^12 ns, modulo 2^32.
    pub since: [u32; CHUNK],
    /// The command's number in the queue.
    pub number: [u32; CHUNK],
}

impl Chunk {
    const EMPTY: Chunk =
        Chunk { len: 0, cylinder: [VACANT; CHUNK], angle: [0; CHUNK], since: [0; CHUNK], number: [0; CHUNK] };

    /// Adds the entry in row `from` of another chunk.
    fn take(&mut self, other: &Chunk, from: usize) {
        let at = self.len;
        self.cylinder[at] = other.cylinder[from];
        self.angle[at] = other.angle[from];
        self.since[at] = other.since[from];
        self.number[at] = other.number[from];
        self.len += 1;
    }

    fn key(&self, row: usize) -> u64 {
        key(self.cylinder[row], u32::from(self.angle[row] & !WRITE))
    }
}

/// When a command arrived, as chunks store it.
#[inline(always)]
pub fn since(arrival: Time) -> u32 {
    (arrival.0 >> SINCE_BITS) as u32
}

/// What a chunk stores of a command.
pub(super) struct Entry {
    pub cylinder: u32,
    pub angle: Turn,
    pub write: bool,
    pub since: u32,
}

/// The key by which chunks are ordered.
fn key(cylinder: u32, angle: u32) -> u64 {
    u64::from(cylinder) << ANGLE_BITS | u64::from(angle)
}

/// All chunks.
#[derive(Debug, Default)]
pub struct Positions {
    chunks: Vec<Chunk>,
    /// Numbers of chunks that are not in use.
    vacant: Vec<u32>,
    /// The chunks in order: a lower bound of the keys of each, and its number. The bound is also an upper
    /// bound for the chunk before.
    pub order: Vec<(u64, u32)>,
}

impl Positions {
    /// The chunk at position `rank` in the order.
    #[inline]
    pub fn piece(&self, rank: usize) -> &Chunk {
        &self.chunks[self.order[rank].1 as usize]
    }

    /// A lower bound of the cylinders and angles of the chunk at position `rank`; beyond the last chunk, the
    /// largest values.
    #[inline]
    pub fn least(&self, rank: usize) -> (u32, u32) {
        let key = self.order.get(rank).map_or(u64::MAX >> (32 - ANGLE_BITS), |o| o.0);
        let angle = key as u32 & ((1 << ANGLE_BITS) - 1);
        ((key >> ANGLE_BITS) as u32, angle)
    }

    /// Number of bytes allocated.
    #[doc(hidden)]
    pub fn memory(&self) -> usize {
        self.chunks.capacity() * std::mem::size_of::<Chunk>() + self.vacant.capacity() * 4 + self.order.capacity() * 16
    }

    /// The position of the chunk to which a command at this cylinder and angle belongs.
    #[inline]
    pub fn rank_of(&self, cylinder: u32, angle: u32) -> usize {
        let key = key(cylinder, angle);
        self.order.partition_point(|o| o.0 <= key).max(1) - 1
    }

    #[inline(always)]
    pub(super) fn insert(&mut self, i: u32, entry: Entry, links: &mut [Link]) {
        let cylinder = entry.cylinder;
        let angle = (entry.angle.0 >> (64 - ANGLE_BITS)) as u32;
        let mut rank = 0;
        if self.order.len() != 1 {
            rank = self.rank_for_one_more(cylinder, angle);
        }
        let mut number = self.order[rank].1;
        if self.chunks[number as usize].len == CHUNK {
            self.split(rank, links);
            rank = self.rank_of(cylinder, angle);
            number = self.order[rank].1;
        }
        let chunk = &mut self.chunks[number as usize];
        let at = chunk.len % CHUNK;
        chunk.cylinder[at] = cylinder;
        chunk.angle[at] = angle as u16 | if entry.write { WRITE } else { 0 };
        chunk.since[at] = entry.since;
        chunk.number[at] = i;
        chunk.len += 1;
        let link = &mut links[i as usize];
        (link.chunk, link.at) = (number, at as u32);
    }

    #[inline(never)]
    fn rank_for_one_more(&mut self, cylinder: u32, angle: u32) -> usize {
        if self.order.is_empty() {
            let number = self.vacant_chunk();
            self.order.push((0, number));
            return 0;
        }
        self.rank_of(cylinder, angle)
    }

    fn vacant_chunk(&mut self) -> u32 {
        self.vacant.pop().unwrap_or_else(|| {
            self.chunks.push(Chunk::EMPTY);
            self.chunks.len() as u32 - 1
        })
    }

    /// Removes row `at` of chunk `number`. The chunk's last row takes its place.
    #[inline(always)]
    pub(super) fn remove(&mut self, number: u32, at: u32, links: &mut [Link]) {
        let chunk = &mut self.chunks[number as usize];
        let last = (chunk.len - 1) % CHUNK;
        let at = at as usize % CHUNK;
        let key = chunk.key(at);
        let moved = chunk.number[last];
        chunk.cylinder[at] = chunk.cylinder[last];
        chunk.angle[at] = chunk.angle[last];
        chunk.since[at] = chunk.since[last];
        chunk.number[at] = moved;
        chunk.cylinder[last] = VACANT;
        chunk.len = last;
        links[moved as usize].at = at as u32;
        if self.order.len() > 1 && last <= FEW && last % 4 == 0 {
            self.join(number, key, links);
        }
    }

    /// Splits a full chunk in two.
    #[inline(never)]
    fn split(&mut self, rank: usize, links: &mut [Link]) {
        let number = self.order[rank].1;
        let new = self.vacant_chunk();
        let full = self.chunks[number as usize].clone();
        let mut rows: Vec<(u64, usize)> = (0..full.len).map(|r| (full.key(r), r)).collect();
        rows.sort_unstable();
        let (low, high) = rows.split_at(full.len / 2);
        for (to, rows) in [(number, low), (new, high)] {
            let chunk = &mut self.chunks[to as usize];
            *chunk = Chunk::EMPTY;
            for (_, row) in rows {
                let link = &mut links[full.number[*row] as usize];
                (link.chunk, link.at) = (to, chunk.len as u32);
                chunk.take(&full, *row);
            }
        }
        self.order.insert(rank + 1, (high[0].0, new));
    }

    /// Merges a chunk that has become small with a neighbour, if both fit into one. `key` is the lower bound
    /// that the chunk had.
    #[inline(never)]
    fn join(&mut self, number: u32, key: u64, links: &mut [Link]) {
        let mut rank = self.order.partition_point(|o| o.0 <= key).max(1) - 1;
        // Several chunks may have equal bounds.
        while self.order[rank].1 != number {
            rank -= 1;
        }
        for low in [rank.wrapping_sub(1), rank] {
            if low >= self.order.len() - 1 {
                continue;
            }
            let (to, from) = (self.order[low].1, self.order[low + 1].1);
            let rest = &self.chunks[from as usize];
            if self.chunks[to as usize].len + rest.len > CHUNK * 5 / 8 {
                continue;
            }
            let rest = rest.clone();
            let chunk = &mut self.chunks[to as usize];
            for row in 0..rest.len {
                let link = &mut links[rest.number[row] as usize];
                (link.chunk, link.at) = (to, chunk.len as u32);
                chunk.take(&rest, row);
            }
            self.chunks[from as usize] = Chunk::EMPTY;
            self.vacant.push(from);
            self.order.remove(low + 1);
            break;
        }
        if self.order.len() == 1 {
            // A long queue has become short: memory is released.
            let only = self.chunks[self.order[0].1 as usize].clone();
            for number in &only.number[..only.len] {
                links[*number as usize].chunk = 0;
            }
            self.chunks = vec![only];
            self.vacant = Vec::new();
            self.order = vec![(0, 0)];
        }
    }
}
